"""Penstock keeps service level objectives for Spark Structured Streaming."""

__version__ = "0.1.0"
