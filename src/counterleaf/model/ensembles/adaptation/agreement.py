"""Whether a model predicts the same as the ensemble that was read from it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.types import Array

CLOSE = 1e-6  # relative: values and probabilities in float32, or functions of them that two libraries compute


def agrees(ensemble: Ensemble, points: Array, found: Array, outward: Callable[[Array], Array] | None = None) -> bool:
    """Return whether a model predicts the same as an ensemble."""
    scoring, scores = ensemble.scoring, ensemble.scores(points)
    if ensemble.is_regression:
        values = scoring.values(scores)
        values = values if outward is None else outward(values)
        return bool(np.allclose(found, values, rtol=CLOSE, atol=CLOSE * np.abs(values).max(initial=0.0)))
    clear = (scoring.lead(scores) > 2.0 * scoring.noise) | (scoring.noise == 0.0)
    return bool((found == ensemble.classes[scoring.decide(scores)])[clear].all())
