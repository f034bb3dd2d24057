"""Hypothesis: few examples by default, many with HYPOTHESIS_PROFILE=thorough; a shared machine has no deadlines."""

import os

from hypothesis import settings

settings.register_profile("fast", max_examples=50, deadline=None)
settings.register_profile("thorough", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))
