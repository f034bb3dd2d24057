"""What runs topologies: the port and what stands behind it."""
