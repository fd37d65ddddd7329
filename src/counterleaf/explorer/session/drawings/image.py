"""Images as grey levels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterleaf.answer.explanation import Explanation
from counterleaf.types import Array

_DIGITS = 6  # enough for a screen


def draw_image(answer: Explanation) -> dict[str, Any]:
    """The source and the answers as grey levels, with the lowest and the highest level."""
    source, points = answer.certificate.problem.source, answer.certificate.findings.points
    lower, upper = answer.schema.bounds()
    low, high = (float(x) for x in (min(lower.min(), source.min()), max(upper.max(), source.max())))
    if not (math.isfinite(low) and math.isfinite(high)) or low == high:
        low, high = float(min(source.min(), points.min(initial=0))), float(max(source.max(), points.max(initial=1)))
    return {"low": low, "high": high, "source": rounded(source), "answers": [rounded(x) for x in points]}


def rounded(numbers: Array) -> list[float]:
    """Numbers with as many digits as a screen can show."""
    return [float(f"{value:.{_DIGITS}g}") for value in np.asarray(numbers).tolist()]
