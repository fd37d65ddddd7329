"""Rows sent through a pipeline and through the ensemble that it was folded into, to compare the two."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, flat
from counterleaf.model.cuts import cuts
from counterleaf.model.ensembles.adaptation.agreement import CLOSE, agrees
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.pipelines.probing import Probe, frame_of
from counterleaf.model.pipelines.study import Study
from counterleaf.model.readers.shared.leaf_probes import quiet
from counterleaf.table.features import Numeric
from counterleaf.table.frames import copy_of
from counterleaf.types import Array

_NARROW = float(np.finfo(np.float32).max)  # scikit-learn's trees refuse larger numbers
_ROWS = 400


def check_ensemble(probe: Probe, ensemble: Ensemble, study: Study | None) -> None:
    """Send rows through the pipeline itself, and compare its predictions with those of the folded ensemble, as ``check``.

    The numbers of the rows are on both sides of cuts and between them, in all columns at once.
    """
    codes = _codes(probe, ensemble, study)
    rows = probe.rows_of(codes.tolist())
    try:
        table = frame_of(rows, probe.found, probe.data)
        fits: Array = np.ones(len(rows), bool)
        if probe.found.read.dtype == "float32":
            fits = np.asarray(~(np.abs(probe.seen(copy_of(table))) > _NARROW).any(axis=1))
            table = frame_of([row for row, fit in zip(rows, fits.tolist(), strict=True) if fit], probe.found, probe.data)
        if not fits.any():
            return
        same = _same(probe, table, ensemble, probe.variables_of(codes)[fits])
    except CounterleafError:
        raise
    except Exception as error:  # a step or a model may raise anything
        raise CounterleafError(f"the model fails on made-up rows ({type(error).__name__}: {flat(error)})") from error
    if not same:
        raise CounterleafError("the model does not predict as its trees and the steps before them say; report the versions")


def _same(probe: Probe, table: Any, ensemble: Ensemble, points: Array) -> bool:
    """Return whether the pipeline predicts the same as the ensemble, probabilities included."""
    model, rescale = probe.found.source, probe.found.rescale
    with quiet():
        found = np.asarray(model.predict(copy_of(table))).reshape(len(points))  # a step may write to what it is given
        has = ensemble.has_probabilities and hasattr(model, "predict_proba")
        shares = np.asarray(model.predict_proba(table)) if has else None
    if shares is not None and not np.allclose(shares, ensemble.predict_proba(points), rtol=0.0, atol=CLOSE):
        return False
    return agrees(ensemble, points, found, None if rescale is None else rescale.outward)


def _codes(probe: Probe, ensemble: Ensemble, study: Study | None) -> Array:
    """Return the codes of made-up rows, in the order of the raw columns."""
    rng = np.random.default_rng(1)
    variable, _, low, high = cuts(ensemble.splits)
    cut = np.diff(ensemble.splits.weights.indptr) == 1
    out = np.zeros((_ROWS, len(probe.features)))
    for k, (start, feature) in enumerate(zip(probe.starts, probe.features, strict=True)):
        if not isinstance(feature, Numeric):
            out[:, k] = rng.permutation(np.arange(_ROWS) % feature.size)
            continue
        here = cut & (variable == start)
        out[:, k] = _numbers(rng, np.concatenate([low[here], high[here]]), float(probe.usual[k]))
        least, most = (-np.inf, np.inf) if study is None else study.domains.get(k, (-np.inf, np.inf))
        out[:, k] = np.clip(out[:, k], least, most)
        if study is not None and k in study.whole:
            out[:, k] = np.clip(np.floor(out[:, k]), np.ceil(least), None)
    return out


def _numbers(rng: np.random.Generator, edges: Array, usual: float) -> Array:
    """Return numbers at the edges of cuts, between them and beyond them."""
    edges = edges[np.isfinite(edges)]
    if not len(edges):
        return usual + rng.normal(size=_ROWS)
    wide = edges.max() - edges.min() + 1e-3 * (np.abs(edges).max() + 1.0)
    between = rng.uniform(edges.min() - 0.1 * wide, edges.max() + 0.1 * wide, _ROWS)
    return np.where(rng.random(_ROWS) < 0.6, rng.choice(edges, _ROWS), between)
