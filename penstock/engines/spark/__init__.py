"""Spark, attached from outside: the only place that knows it."""
