"""Ordinary Spark jobs, with nothing of Penstock in them: each is run as a script."""
