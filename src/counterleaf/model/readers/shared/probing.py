"""Rows that are sent through the installed model and through its ensemble, whose scores and predictions must be the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import cuts
from counterleaf.model.ensembles.ensemble import Ensemble, catalogue
from counterleaf.model.readers.shared.leaf_probes import quiet
from counterleaf.table.features import Feature, Numeric
from counterleaf.types import Array

_ROWS = 400
_SPLITS = 4000  # that are sampled for rows on their two sides
CLOSE = 1e-6  # relative: values and probabilities in float32, or functions of them that two libraries compute
Ask = Callable[[Array], Any]


def takes_gaps(predict: Ask, width: int) -> bool:
    """Return whether a model predicts for a row of missing values."""
    try:
        with quiet():
            predict(np.full((1, width), np.nan))
    except Exception:  # every library has an error of its own
        return False
    return True


def probe_rows(ensemble: Ensemble, codes: dict[int, int], n: int = _ROWS) -> Array:
    """Return rows between the thresholds, rows exactly on both sides of them and, if the model takes them, missing values."""
    rng = np.random.default_rng(0)
    tree, width = ensemble.splits, ensemble.n_features
    some = np.flatnonzero(np.diff(tree.weights.indptr) == 1)
    some = np.setdiff1d(some, list(ensemble.subsets))
    some = rng.permutation(some)[:_SPLITS]
    column, threshold = tree.weights.indices[tree.weights.indptr[some]], -tree.bias[some]
    _, _, low, high = cuts(catalogue(column, threshold, width, tree.closed, tree.dtype))
    rows = rng.normal(size=(n, width))
    for d in range(width):
        here = np.flatnonzero(column == d)
        if d in codes:
            rows[:, d] = rng.integers(0, max(codes[d], 1), n)
        elif len(here):
            spread = threshold[here].std() + 1e-3 * (1.0 + abs(threshold[here]).max())
            edges = np.append(low[: len(some)][here], high[: len(some)][here])
            edges = edges[np.isfinite(edges)]
            rows[:, d] = rng.choice(threshold[here], n) + 0.5 * spread * rows[:, d]
            exact = rng.random(n) < np.repeat([0.0, 1.0, 0.5], [n // 4, n // 4, n - 2 * (n // 4)])
            rows[:, d] = np.where(exact & (len(edges) > 0), rng.choice(edges if len(edges) else [0.0], n), rows[:, d])
    if ensemble.gap_right is not None:
        rows[n // 2 :][rng.random((n - n // 2, width)) < 0.25] = np.nan
    return np.asarray(np.clip(rows, -1e30, 1e30))


def codes_at_cuts(ensemble: Ensemble, features: Sequence[Feature], starts: Sequence[int], n: int) -> Array:
    """Return made-up rows as codes: numbers around the cuts of an ensemble over variables, and all values of the others."""
    rng, rows = np.random.default_rng(1), probe_rows(ensemble, {}, n)
    places = np.arange(n)
    return np.column_stack(
        [
            rows[:, start] if isinstance(feature, Numeric) else rng.permutation(places % feature.size)
            for feature, start in zip(features, starts, strict=True)
        ]
    ).astype(float)


def settled(
    candidates: Iterable[Ensemble], kind: str, predict: Ask, scores: Ask | None = None, codes: dict[int, int] | None = None
) -> Ensemble:
    """Return the first ensemble whose scores are those of a model bit for bit.

    If there is none, it is the first whose scores differ by no more than rounding can explain, with that bound as its noise.
    ``predict`` takes rows to labels or values, ``scores`` to the (n, K) scores if the model shows them; ``codes`` are the
    numbers of categories of the categorical columns.
    """
    choices = list(candidates)
    rows = probe_rows(choices[0], codes or {})
    chosen = choices[0]
    if scores is not None:
        with quiet():
            found = np.asarray(scores(rows), np.float64).reshape(len(rows), -1)
        leaves = chosen.apply(rows)
        ours = [one.scoring.add(one.start, one.value, one.output, leaves) for one in choices]
        exact = [k for k, one in enumerate(ours) if np.array_equal(one, found)]
        if exact:
            chosen = choices[exact[0]]
        else:
            bounds = [one.rounding for one in choices]
            near = [k for k, one in enumerate(ours) if one.shape == found.shape and np.abs(one - found).max() <= bounds[k]]
            if not near:
                raise _unlike(kind)
            chosen = with_noise(choices[near[0]], bounds[near[0]])
    with quiet():
        said = np.ravel(np.asarray(predict(rows)))
    if chosen.scoring.link == "exp" and not np.array_equal(chosen.predict(rows), said):
        # the library's exp differs from NumPy's in the last digits: relative to the value, so like a change of the exponent
        chosen = with_noise(chosen, 4.0 * float(np.finfo(chosen.scoring.dtype).eps) + chosen.rounding)
    if not _predicts_same(chosen, rows, said):
        raise _unlike(kind)
    return chosen


def with_noise(ensemble: Ensemble, noise: float) -> Ensemble:
    """Return an ensemble whose scores may differ from those of the model by that much more."""
    return replace(ensemble, scoring=replace(ensemble.scoring, noise=ensemble.scoring.noise + noise))


def agrees(ensemble: Ensemble, points: Array, found: Array, outward: Callable[[Array], Array] | None = None) -> bool:
    """Return whether a model predicts the same as an ensemble."""
    scoring, scores = ensemble.scoring, ensemble.scores(points)
    if ensemble.is_regression:
        values = scoring.values(scores)
        values = values if outward is None else outward(values)
        return bool(np.allclose(found, values, rtol=CLOSE, atol=CLOSE * np.abs(values).max(initial=0.0)))
    return _same_classes(ensemble, scores, found, 2.0)


def _predicts_same(ensemble: Ensemble, rows: Array, said: Array) -> bool:
    """Return whether an ensemble predicts what the model predicts, wherever the noise of its scores does not decide."""
    scoring, scores = ensemble.scoring, ensemble.scores(rows)
    if ensemble.is_regression:
        if scoring.noise == 0.0 and scoring.link == "identity":
            return np.array_equal(scoring.values(scores), said)
        # exp of two libraries differs in the last digits, and the noise of a score in the exponent is relative to the value
        slack = 4.0 * float(np.finfo(scoring.dtype).eps) + 2.0 * scoring.noise
        value = scoring.values(scores)
        return bool((np.abs(value - said) <= slack * np.maximum(np.abs(value), 1.0)).all())
    several = scoring.kind == "largest" and scores.shape[1] > 1  # two of them have noise
    return _same_classes(ensemble, scores, said, 2.0 if several else 1.0)


def _same_classes(ensemble: Ensemble, scores: Array, said: Array, times: float) -> bool:
    scoring = ensemble.scoring
    clear = (scoring.lead(scores) > times * scoring.noise) | (scoring.noise == 0.0)
    return bool((said == ensemble.classes[scoring.decide(scores)])[clear].all())


def _unlike(kind: str) -> CounterleafError:
    return CounterleafError(f"this {kind} does not route rows as its thresholds say; report the version of its library")
