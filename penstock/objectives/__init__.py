"""What was promised: latency, throughput, juice; and what keeping it is worth."""
