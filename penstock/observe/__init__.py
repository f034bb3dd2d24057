"""What was seen: snapshots, histories, latency."""
