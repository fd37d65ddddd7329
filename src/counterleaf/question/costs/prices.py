"""A cost as arrays: the prices of changes."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterleaf import _core
from counterleaf.errors import CounterleafError, brief, number
from counterleaf.question.arrays import SeparableCost
from counterleaf.question.costs.coupling import Coupling, couple, make_convex, without
from counterleaf.question.costs.terms import L1, L2, Changes, LinearCost, Part, Quadratic, Term
from counterleaf.question.variables import moves
from counterleaf.table.features import Categorical, Numeric
from counterleaf.table.frames import by_name
from counterleaf.table.infer import Spreads
from counterleaf.table.schema import Schema
from counterleaf.types import Array


@dataclass(frozen=True, eq=False)
class Prices:
    """A cost as arrays: the separable part, the coupled part, and the cost of each change of a finite feature."""

    separable: SeparableCost  # of each variable; 0 for 0/1 variables
    size: Array  # (D,) how steep or curved: the scale in which features look alike; 0 for a feature that costs nothing
    curved: bool  # every number, in both directions
    flat: bool  # no number is curved
    runs: bool  # some number earns by moving away
    coupling: Coupling | None = None
    moves: tuple[Array, ...] = ()  # for each feature with finitely many values, the cost of each change, from by to
    charges: Array = field(default_factory=lambda: np.empty(0))  # (F,) of changing a number at all; empty if all are 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "core"}  # made again when it is needed

    @property
    def rows(self) -> Array:
        """(4, D) the separable part as the core reads it: curve up, slope up, curve down, slope down."""
        return np.stack(self.separable)

    @functools.cached_property
    def core(self) -> _core.Prices:
        """The same arrays, as the core reads them."""
        coupling = None if self.coupling is None else self.coupling.core()
        flags = self.curved, self.flat, self.runs
        return _core.Prices(self.rows, self.size, list(self.moves), self.charges, *flags, coupling)


def default_cost(spreads: Spreads | None) -> L1 | L2:
    """The cost of a question that names none."""
    return L2() if spreads is None else L1("range")


def lower_cost(cost: Any, schema: Schema, spreads: Spreads | None) -> Prices:
    """Translate a cost into arrays."""
    if not isinstance(cost, Term):
        raise CounterleafError(f"cost is {brief(cost)}; expected L1, L2, Quadratic, LinearCost, Changes or a sum of them")
    lowering = _Lowering(schema, spreads, any(isinstance(term, (L1, L2, Changes)) for _, term in cost.parts()))
    for factor, term in cost.parts():
        lowering.add(factor, term)
    return lowering.prices()


class _Lowering:
    """The arrays of a cost, to which its terms are added one by one."""

    def __init__(self, schema: Schema, spreads: Spreads | None, priced: bool) -> None:
        self.schema, self.spreads = schema, spreads
        self.priced = priced  # whether L1, L2 or Changes terms price the changes of category, so that Quadratic does not
        self.finite = [(d, feature) for d, feature in enumerate(schema) if not isinstance(feature, Numeric)]
        self.of_numbers = [d for d, feature in enumerate(schema) if isinstance(feature, Numeric)]
        self.numbers = schema.starts[self.of_numbers]
        self.gaps = [(schema.index(name), filled is not None) for name, filled in schema.gaps.items()]
        self.separable = SeparableCost(*np.zeros((4, schema.width)))
        self.moves = [np.zeros((feature.size, feature.size)) for _, feature in self.finite]
        self.charges = np.zeros(len(schema))  # of numbers
        self.Q: Any = None

    def add(self, factor: float, term: Part) -> None:
        if isinstance(term, LinearCost):
            self._add_linear(factor, term)
            return
        if factor < 0:
            raise CounterleafError(f"{type(term).__name__} has the factor {factor}; expected 0 or more: a cost must be convex")
        if isinstance(term, Quadratic):
            self._add_quadratic(factor, term)
        elif isinstance(term, Changes):
            self._add_charges(factor, term)
        else:
            self._add_norm(factor, term)

    def _add_linear(self, factor: float, term: LinearCost) -> None:
        coef = factor * _linear(term.coef, self.schema)
        self.separable.slope_up[self.numbers] += coef[self.numbers]
        self.separable.slope_down[self.numbers] += coef[self.numbers]
        for table, (d, _) in zip(self.moves, self.finite, strict=True):
            span = self.schema.span(d)
            table += coef[span][None, :] - coef[span][:, None]

    def _add_quadratic(self, factor: float, term: Quadratic) -> None:
        part = factor * term.matrix(self.schema)
        self.Q = part if self.Q is None else self.Q + part
        if not self.priced:
            for table, (_, feature) in zip(self.moves, self.finite, strict=True):
                table += moves(feature, factor, factor, 2, None)
            for d, _ in self.gaps:
                self._price_gap(d, 2.0 * factor)

    def _add_norm(self, factor: float, term: L1 | L2) -> None:
        power = 1 if isinstance(term, L1) else 2
        named = isinstance(term.weights, str) or isinstance(term.up, str) or isinstance(term.down, str)
        multiplier = factor * _factors(term.multiplier, self.schema, f"{type(term).__name__} multiplier")
        up, down = (
            multiplier * _weights(term, one if term.weights is None else term.weights, power, self.schema, self.spreads)
            for one in (term.up, term.down)
        )
        if power == 1:
            self.separable.slope_up[self.numbers] += up[self.of_numbers]
            self.separable.slope_down[self.numbers] -= down[self.of_numbers]
        else:
            self.separable.curve_up[self.numbers] += up[self.of_numbers]
            self.separable.curve_down[self.numbers] += down[self.of_numbers]
        for table, (d, feature) in zip(self.moves, self.finite, strict=True):
            table += moves(feature, float(up[d]), float(down[d]), power, float(multiplier[d]) if named else None)
        for d, _ in self.gaps:
            self._price_gap(d, float(multiplier[d] if named else up[d] + down[d]))

    def _add_charges(self, factor: float, term: Changes) -> None:
        """Charge each change: of a number by itself, of a category as part of the price of every new value."""
        charges = factor * _factors(term.charges, self.schema, "the charge")
        for table, (d, _) in zip(self.moves, self.finite, strict=True):
            table += charges[d] * (1.0 - np.eye(len(table)))
        self.charges[self.of_numbers] += charges[self.of_numbers]

    def _price_gap(self, d: int, price: float) -> None:
        """Charge for filling in a number, or for leaving one out, what a change of category costs."""
        v = self.schema.starts[d] + 1
        self.separable.slope_up[v] += price
        self.separable.slope_down[v] -= price

    def _free_numbers(self) -> None:
        """Remove the prices of numbers that the source misses: any number fills one in at the same cost."""
        free = [int(self.schema.starts[d]) for d, missing in self.gaps if missing]
        for line in self.separable:
            line[free] = 0.0
        if self.Q is not None and free:
            self.Q = without(self.Q, free)

    def _check_gaps(self) -> None:
        """Refuse a cost that is lower away from the source for a number that an answer may leave out.

        A number that is left out has no price; in the search it would still have one, which must be least where it does not
        move.
        """
        for d, missing in self.gaps:
            v = int(self.schema.starts[d])
            earns = self.separable.slope_up[v] < 0 or self.separable.slope_down[v] > 0
            if not missing and (earns or (self.Q is not None and self.Q[[v]].nnz > (self.Q[v, v] != 0))):
                raise CounterleafError(
                    f"feature {self.schema.names[d]!r} may be left out, and a change of it can lower the cost; remove "
                    f"missing='allowed', or price it by L1 or L2 alone"
                )

    def prices(self) -> Prices:
        self._check_gaps()
        self._free_numbers()
        cost, numbers, tables = self.separable, self.numbers, tuple(self.moves)
        curve = np.maximum(cost.curve_up, cost.curve_down)
        slope = np.maximum(np.abs(cost.slope_up), np.abs(cost.slope_down))
        charges = self.charges if self.charges.any() else np.empty(0)
        runs = bool((cost.slope_up < 0).any() or (cost.slope_down > 0).any())
        if self.Q is None or not self.Q.nnz:
            size = np.where(curve > 0, np.sqrt(2.0 * curve), slope)
            curved = bool(not self.gaps and cost.curve_up[numbers].all() and cost.curve_down[numbers].all())
            return Prices(cost, size, curved, not curve.any(), runs, None, tables, charges)
        Q = make_convex(self.Q)
        curve = curve + Q.diagonal()
        size = np.where(curve > 0, np.sqrt(2.0 * curve), slope)
        return Prices(cost, size, False, False, runs, couple(Q, size, numbers), tables, charges)


def _linear(coef: Any, schema: Schema) -> Array:
    """One coefficient per variable, from a dict by name or ``feature=value``, or from one number per feature."""
    out = np.zeros(schema.width)
    coef = by_name(coef)
    if not isinstance(coef, Mapping):
        if any(isinstance(feature, Categorical) for feature in schema):
            raise CounterleafError(
                "LinearCost got an array for a table with categories; expected a dict such as {'job=cook': 1.0}"
            )
        coef = dict(zip(schema.names, schema.vector(coef, "LinearCost coef", 0.0).tolist(), strict=True))
    for name, value in coef.items():
        each = number(value, f"LinearCost coef of {brief(name)}")
        for d, share in schema.terms(name).items():
            out[d] += each * share
    return out


def _weights(term: L1 | L2, weights: Any, power: int, schema: Schema, spreads: Spreads | None) -> Array:
    kind = type(term).__name__
    if isinstance(weights, str):
        if spreads is None:
            raise CounterleafError(f'{kind}("{weights}") needs data to measure; pass data= to Explainer or give numbers')
        return np.asarray(getattr(spreads, weights) ** -float(power))
    return _factors(weights, schema, f"{kind} weight")


def _factors(factors: Any, schema: Schema, what: str) -> Array:
    """One number of at least 0 per feature; all 1 for None."""
    if factors is None:
        return np.ones(len(schema))
    out = schema.vector(factors, f"{what}s", 1.0)
    for wrong, expected in ((~np.isfinite(out), "a finite number"), (out < 0, "0 or more")):
        if wrong.any():
            bad = int(np.flatnonzero(wrong)[0])
            raise CounterleafError(f"{what} of {schema.names[bad]!r} is {out[bad]}; expected {expected}")
    return out
