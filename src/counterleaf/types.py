"""The array type of annotations, and what counts as a missing value."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or the NA of pandas."""
    if value is None:
        return True
    if isinstance(value, (float, np.floating)):
        return bool(math.isnan(value))
    return type(value).__name__ in ("NAType", "NaTType")
