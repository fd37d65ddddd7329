"""Rows sent through a pipeline and through the tree or ensemble that it was folded into, to compare the two."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, flat
from counterleaf.model.cuts import cuts
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.pipelines import probing
from counterleaf.model.pipelines.probing import Probe, frame_of
from counterleaf.model.pipelines.study import Study
from counterleaf.model.readers.shared.leaf_probes import quiet
from counterleaf.model.readers.shared.probing import CLOSE, agrees, codes_at_cuts
from counterleaf.model.tree import Tree
from counterleaf.table.features import Numeric
from counterleaf.table.frames import copy_of
from counterleaf.types import Array

_NARROW = float(np.finfo(np.float32).max)  # scikit-learn's trees refuse larger numbers
_CELLS = 2_000_000  # of an encoded table of probes
_CLOSE = 1e-8  # of the terms of a split
_ROWS = 400


def check(probe: Probe, model: Tree | Ensemble, origin: Any, exact: bool, study: Study | None) -> None:
    """Send rows through the pipeline itself, and compare what it predicts with the folded tree or ensemble."""
    if isinstance(model, Ensemble):
        _check_ensemble(probe, model, study)
    else:
        _check_tree(probe, model, origin, exact, study)


def _check_tree(probe: Probe, tree: Tree, origin: Array, exact: bool, study: Study | None) -> None:
    """Check a tree, on whose nodes the rows depend.

    If the tree is ``exact``, they are the last row left and the first one right of every split. Otherwise they are made up at
    random, and may differ close to a split.
    """
    codes = _rows_at_splits(probe, tree) if exact else _random_rows(probe, study)
    if not len(codes):
        return
    codes = _within_domains(codes, study)
    rows = probe.rows_of(codes.tolist())
    seen = probing.dense(probing.transform(probe.found.steps, frame_of(rows, probe.found, probe.data)))
    fit = np.flatnonzero(~(np.abs(seen) > _NARROW).any(axis=1))
    if not len(fit):
        return
    made = probing.transform(probe.found.steps, frame_of([rows[r] for r in fit], probe.found, probe.data))
    x = probe.variables_of(codes[fit])
    reached = probing.leaves(probe.found.tree, made) if exact else None
    if reached is not None:
        same = origin[tree.apply(x)] == reached
    else:
        expected = tree.predict(x)
        if probe.found.rescale is not None:
            expected = probe.found.rescale.outward(expected)
        same = _predicted(probe.found.core, made, expected) | (_close(tree, x) & (not exact))
    if not same.all():
        raise CounterleafError("the pipeline does not route rows as its steps say; report your scikit-learn version")


def _check_ensemble(probe: Probe, ensemble: Ensemble, study: Study | None) -> None:
    """Check an ensemble: all that the pipeline predicts, probabilities included."""
    codes = _within_domains(codes_at_cuts(ensemble, probe.features, probe.starts, _ROWS), study)
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


def _predicted(model: Any, rows: Any, expected: Array) -> Array:
    """Return whether the model predicts what is expected of each row that the steps made."""
    if isinstance(model, Tree):
        rows = probing.dense(rows)
    with quiet():
        found = np.asarray(model.predict(rows)).reshape(len(expected))
    if expected.dtype.kind == "f" and found.dtype.kind == "f":
        return np.asarray(np.isclose(found, expected, rtol=_CLOSE, atol=_CLOSE * np.abs(expected).max(initial=0.0)))
    return np.asarray(found == expected)


def _close(tree: Tree, x: Array) -> Array:
    """Return whether each row is close to some split of the tree, or to a tie of two classes at its leaf."""
    scores = tree.weights @ x.T + tree.bias[:, None]
    terms = abs(tree.weights) @ np.abs(x).T + np.abs(tree.bias)[:, None]
    out = (np.abs(scores) <= _CLOSE * terms)[tree.left >= 0].any(axis=0)
    if tree.outputs is not None and tree.outputs.count > 1:
        made = np.sort(tree.outputs.at(tree.apply(x), x), axis=1)
        out |= made[:, -1] - made[:, -2] <= _CLOSE * np.abs(made).max(axis=1)
    return np.asarray(out)


def _within_domains(codes: Array, study: Study | None) -> Array:
    """Return rows of codes, moved to numbers for which the findings hold."""
    if study is not None:
        for k, ends in study.domains.items():
            codes[:, k] = np.clip(codes[:, k], *ends)
        for k in study.whole:
            codes[:, k] = np.clip(np.floor(codes[:, k]), np.ceil(study.domains[k][0]), None)
    return codes


def _random_rows(probe: Probe, study: Study | None) -> Array:
    """Return the codes of made-up rows."""
    rng, out = np.random.default_rng(1), []
    domains = {} if study is None else study.domains
    for k, feature in enumerate(probe.features):
        if isinstance(feature, Numeric):
            low, high = domains.get(k, (-np.inf, np.inf))
            low, high = max(low, feature.lower), min(high, feature.upper)
            usual = probe.usual[k]
            low, high = low if low > -np.inf else usual - 100.0, high if high < np.inf else usual + 100.0
            numbers = np.clip(rng.uniform(low, high, _ROWS), low, high)
            out.append(np.clip(np.floor(numbers), np.ceil(low), None) if feature.integer else numbers)
        else:
            out.append(rng.integers(0, feature.size, _ROWS).astype(float))
    return np.column_stack(out)


def _rows_at_splits(probe: Probe, tree: Tree) -> Array:
    """Return the codes of a row on either side of every split; a number that is split on is the closest one to the split."""
    _, swapped, low_side, high_side = cuts(tree)
    features = probe.features
    feature_of = {start + v: k for k, start in enumerate(probe.starts) for v in range(features[k].size)}
    codes: list[list[float]] = []
    stack: list[tuple[int, dict[int, Any]]] = [(0, {})]  # a node and its region: intervals of numbers, sets of values
    while stack and len(codes) * len(probe.raws) < _CELLS:
        node, box = stack.pop()
        columns, data = tree.weights.row(node)
        for right, child in ((False, int(tree.left[node])), (True, int(tree.right[node]))):
            if child < 0 or (not len(columns) and right != (tree.bias[node] > 0)):
                continue
            within = dict(box)
            if len(columns):
                k = feature_of[int(columns[0])]
                if not isinstance(features[k], Numeric):
                    within[k] = box.get(k, True) & ((data > 0) == right)
                    possible = within[k].any()
                else:
                    low, high = box.get(k, (-np.inf, np.inf))
                    upper = right != swapped[node]
                    low, high = (max(low, high_side[node]), high) if upper else (low, min(high, low_side[node]))
                    within[k], possible = (low, high), low <= high
                if not possible:
                    continue
                codes.append([_code(probe, j, within.get(j)) for j in range(len(features))])
                if isinstance(features[k], Numeric):
                    codes[-1][k] = within[k][0 if upper else 1]
            stack.append((child, within))
    return np.array(codes)


def _code(probe: Probe, k: int, box: Any) -> float:
    """Return a value of a feature within an interval or a set."""
    feature = probe.features[k]
    if isinstance(feature, Numeric):
        low, high = box or (-np.inf, np.inf)
        return float(min(max(probe.usual[k], low), high))
    return float(feature.place(probe.usual[k]) if box is None else box.argmax())
