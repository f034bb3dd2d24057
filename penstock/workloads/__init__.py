"""Load and applications, made outside Spark."""
