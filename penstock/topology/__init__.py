"""What runs: components, streams, groupings, substreams, assignments, hosts."""
