"""What holds for all tests: one processor for each process that runs them, and how many examples Hypothesis tries."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads of a learner wait for each other on a busy machine

from hypothesis import settings
from support.seeds import share

settings.register_profile("counterleaf", max_examples=share(100))
settings.load_profile("counterleaf")
