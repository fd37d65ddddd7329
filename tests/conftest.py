"""What holds for all tests: one processor for each process that runs them, and how many examples Hypothesis tries."""

import gc
import os

# threads of a learner wait for each other on a busy machine; LightGBM counts the processors with joblib
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")

from hypothesis import settings
from support.seeds import share

settings.register_profile("counterleaf", max_examples=share(100), deadline=None, derandomize=True, database=None)
settings.load_profile("counterleaf")


def pytest_collection_finish():
    """Let the garbage collector no longer look at what is there for the whole run: modules and tests."""
    gc.freeze()
