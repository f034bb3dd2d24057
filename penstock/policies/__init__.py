"""What to do: one module per policy."""
