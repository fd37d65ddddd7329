"""The columns that a tree sees as sums over the variables of a schema."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.pipelines.probing import Probe
from counterleaf.model.pipelines.study import Study
from counterleaf.types import Array

_FAR = 2.0**200  # a number so large that adding the offset of a scaler does not change it
_CLOSE = 1e-11  # of the terms: the rounding of a sum


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """A function of one raw number that is constant between edges."""

    raw: int  # the raw column
    edges: Array  # the first number of each piece but the lowest
    values: Array  # the value of each piece


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A weighted sum of variables, plus functions of single numbers that are made of steps."""

    weights: dict[int, float]  # the weight of each variable
    constant: float  # the constant
    steps: list[Steps]  # the other terms


class Sums:
    """The columns of a pipeline's tree as forms."""

    def __init__(self, probe: Probe, seen: dict[int, Array], study: Study | None) -> None:
        self._probe, self._seen, self._study = probe, seen, study
        self._known: dict[int, Form] = {}
        self._far: dict[int, Array] = {}
        if study is None:
            numeric = sorted({k for raws in probe.raws for k in raws if k not in seen})
            width = len(probe.raws)
            ends = probe.numbers({k: np.array([0.0, _FAR]) for k in numeric}) if numeric else np.zeros((2, width))
            far: Array = ends[1]
            self._zero: Array = ends[0]
            self._far = dict.fromkeys(numeric, far)

    def form(self, terms: Iterable[tuple[int, float]], constant: float) -> Form:
        """Return a weighted sum of columns, given as (column, weight), plus a constant."""
        weights: dict[int, float] = {}
        constants, steps = [constant], []
        for j, weight in terms:
            part = self._column(j)
            for variable, factor in part.weights.items():
                weights[variable] = weights.get(variable, 0.0) + weight * factor
            constants.append(weight * part.constant)
            steps += [Steps(one.raw, one.edges, weight * one.values) for one in part.steps]
        return Form(weights, math.fsum(constants), steps)

    def _column(self, j: int) -> Form:
        if j not in self._known:
            self._known[j] = self._known_column(j) if self._study is None else self._probed_column(j, self._study)
        return self._known[j]

    def _known_column(self, j: int) -> Form:
        probe, (k,) = self._probe, self._probe.raws[j]
        if probe.found.columns is not None and probe.found.columns[j].clipped:
            name = probe.found.names[k]
            raise CounterleafError(
                f"column {name!r} is clipped by MinMaxScaler, and the tree has oblique splits on it; use clip=False"
            )
        start = probe.starts[k]
        if k in self._seen:
            return Form({start + v: made for v, made in enumerate(self._values(k, j))}, 0.0, [])
        return Form({start: float(self._far[k][j] / _FAR)}, float(self._zero[j]), [])

    def _values(self, k: int, j: int) -> list[float]:
        values = self._seen[k][:, j]
        if not np.isfinite(values).all():
            raise CounterleafError(
                f"the steps make NaN or infinity of a value of column {self._probe.found.names[k]!r}, which the model sums up; "
                f"add a SimpleImputer"
            )
        return list(values.tolist())

    def _probed_column(self, j: int, study: Study) -> Form:
        """Return a column as a sum, checked on random rows."""
        probe, raws = self._probe, self._probe.raws[j]
        if len(raws) == 1 and raws[0] in self._seen:
            return self._known_column(j)
        if len(raws) == 1 and study.is_steps(j):
            return self._stepped(raws[0], study, j)
        numeric = [k for k in raws if k not in self._seen]
        slope = {k: float(self._slope(k)[j]) for k in numeric}
        constant = self._offset(j, slope, study)
        weights = {probe.starts[k]: a for k, a in slope.items()}
        values = {k: np.array(self._values(k, j)) - study.usual[j] for k in raws if k in self._seen}
        for k, different in values.items():
            weights |= {probe.starts[k] + v: value for v, value in enumerate(different.tolist())}
        total = np.full(len(study.picks), constant)
        terms = np.abs(total)
        for k in raws:
            part = values[k][study.picks[:, k]] if k in values else slope[k] * study.x[k][study.picks[:, k]]
            total, terms = total + part, terms + np.abs(part)
        close = np.abs(total - study.rows_made[:, j]) <= _CLOSE * terms.max()
        if len(raws) == 1 and close.all():
            x, made = study.x[raws[0]], study.made[raws[0]][:, j]
            line = slope[raws[0]] * x
            close = np.abs(line + constant - made) <= _CLOSE * (np.abs(line) + abs(constant))
        if np.isfinite(constant) and close.all():
            return Form(weights, constant, [])
        if len(raws) > 1:
            raise study.mixed(raws)
        within = self._within_bounds(raws[0], j, study)
        if within is not None:
            return within
        name = probe.found.names[raws[0]]
        raise CounterleafError(
            f"column {name!r} goes through a curve ({study.title}) before the model sums it up, which is not linear in the "
            f"column; transform the column beforehand, or list its values in the schema, as in Ordinal({name!r}, [...])"
        )

    def _within_bounds(self, k: int, j: int, study: Study) -> Form | None:
        """Return a column of one number that is a straight line within the bounds of its feature, which become its domain."""
        feature: Any = self._probe.features[k]
        low, high = max(feature.lower, study.x[k][0]), min(feature.upper, study.x[k][-1])
        if not low < high or not np.isfinite([feature.lower, feature.upper]).all():
            return None
        x = np.concatenate([[low], study.x[k][(study.x[k] > low) & (study.x[k] < high)], [high]])
        made = self._probe.safely(k, x)[:, j]
        slope = float((made[-1] - made[0]) / (high - low))
        constant = float(made[0] - slope * low)
        if not (np.abs(slope * x + constant - made) <= _CLOSE * (np.abs(slope * x) + abs(constant))).all():
            return None
        study.domains[k] = (float(low), float(high))
        return Form({self._probe.starts[k]: slope}, constant, [])

    def _stepped(self, k: int, study: Study, j: int) -> Form:
        values = study.made[k][:, j]
        at = np.flatnonzero(values[1:] != values[:-1]) + 1
        return Form({}, 0.0, [Steps(k, study.x[k][at], values[[0, *at]])])

    def _slope(self, k: int) -> Array:
        """Return how much each column changes per unit of a raw number."""
        if k not in self._far:
            with np.errstate(all="ignore"):
                self._far[k] = self._probe.safely(k, np.array([_FAR]))[0] / _FAR
        return self._far[k]

    def _offset(self, j: int, slope: dict[int, float], study: Study) -> float:
        """Return a column where its numbers are 0."""
        try:
            found = float(self._probe.numbers({k: np.zeros(1) for k in slope})[0, j]) if slope else float(study.usual[j])
        except Exception:  # the steps may not take 0
            found = math.nan
        usual = [-a * self._probe.usual[k] for k, a in slope.items()]
        return found if math.isfinite(found) else math.fsum([study.usual[j], *usual])
