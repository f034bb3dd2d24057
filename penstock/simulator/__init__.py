"""A world of streams as arrays: pure, seeded, and far faster than the clock."""
