"""Python runs this file when it starts with this folder on PYTHONPATH, as under ``make sanitize``.

``counterleaf._core`` is then the module at COUNTERLEAF_CORE, in tests and in the processes that they start.
"""

import os
import sys
from importlib.util import spec_from_file_location


class Instrumented:
    """Finds one module."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        return spec_from_file_location(name, os.environ["COUNTERLEAF_CORE"]) if name == "counterleaf._core" else None


sys.meta_path.insert(0, Instrumented)
