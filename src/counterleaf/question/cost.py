"""What a change costs: terms that add up to one convex function of the change."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from counterleaf import _core
from counterleaf.errors import CounterleafError, brief, number
from counterleaf.question.coupling import Coupling, couple, make_convex, read_matrix
from counterleaf.table.features import Categorical, Finite, Numeric
from counterleaf.table.frames import axis_names, by_name
from counterleaf.table.infer import SPREADS, Spreads
from counterleaf.table.schema import Schema
from counterleaf.types import Array


class _Term:
    """Terms and sums of terms: ``+`` joins them, a number times one scales it."""

    __slots__ = ()

    def parts(self) -> tuple[tuple[float, L1 | L2 | LinearCost | Quadratic], ...]:
        return ((1.0, self),)  # type: ignore[return-value]  # a Sum overrides this; every other kind is listed

    def __add__(self, other: Any) -> Sum:
        if not isinstance(other, _Term):
            return NotImplemented
        return Sum(self.parts() + other.parts())

    def __radd__(self, other: Any) -> _Term:
        return self if other == 0 else NotImplemented  # so that sum([...]) works

    def __mul__(self, factor: Any) -> Sum:
        scale = number(factor, "the factor of a cost")
        return Sum(tuple((scale * old, term) for old, term in self.parts()))

    __rmul__ = __mul__

    def __str__(self) -> str:
        """As one would write it, long arrays cut."""
        return " + ".join(f"{'' if factor == 1 else f'{factor:g} * '}{_call(term)}" for factor, term in self.parts())


def _call(term: L1 | L2 | LinearCost | Quadratic) -> str:
    kind = type(term).__name__
    if isinstance(term, Quadratic):
        return f"{kind}(a matrix of {term.Q.shape[0]} rows)"
    given = {one.name: getattr(term, one.name) for one in fields(term)}
    told = [
        brief(value.tolist() if isinstance(value, np.ndarray) else value)
        if name in ("weights", "coef")
        else f"{name}={brief(value)}"
        for name, value in given.items()
        if value is not None
    ]
    return f"{kind}({', '.join(told)})"


@dataclass(frozen=True, slots=True, eq=False)
class L1(_Term):
    """sum_d w_d abs(x_d - source_d).

    weights: None (all 1), a number, an array, a dict or Series by name (others 1), or "range", "std", "mad": one over
    that spread of the feature in the data. ``up`` and ``down`` instead where the two directions differ. ``multiplier``: factors
    of 0 or more, an array, or a dict or Series by name (others 1), by which all of this is multiplied.

    Examples
    --------
    >>> cost = L1("mad") + 0.1 * L2("mad")
    >>> L1(up=1.0, down={"age": 5.0}).down
    {'age': 5.0}
    >>> L1("range", multiplier={"age": 5}).multiplier  # a change of age costs five times its share of the range
    {'age': 5}
    """

    weights: Any = None
    up: Any = None
    down: Any = None
    multiplier: Any = None

    def __post_init__(self) -> None:
        _check_weights(self)


@dataclass(frozen=True, slots=True, eq=False)
class L2(_Term):
    """sum_d w_d (x_d - source_d)^2; weights and multiplier as in ``L1``, named spreads squared, multipliers as they are.

    Examples
    --------
    >>> from counterleaf import Explainer, Tree
    >>> tree = Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    >>> Explainer(tree).explain([0.0, 0.0], target="yes", cost=L2(multiplier={"x0": 3}))[0].row
    [0.25, 0.75]
    """

    weights: Any = None
    up: Any = None
    down: Any = None
    multiplier: Any = None

    def __post_init__(self) -> None:
        _check_weights(self)


@dataclass(frozen=True, slots=True, eq=False)
class LinearCost(_Term):
    """sum_d c_d (x_d - source_d): what a change earns or costs whichever way it goes; others 0 in a dict."""

    coef: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "coef", copy.copy(self.coef))


@dataclass(frozen=True, slots=True, eq=False)
class Quadratic(_Term):
    """sum_{d,e} Q_de (x_d - source_d) (x_e - source_e): changes that cost less, or more, when made together.

    Q is symmetric and positive semidefinite, dense or sparse, with one row and column per numeric feature: those of the table
    in their order, or by their names where Q is a frame. A change of category, level or yes-or-no costs what the ``L1`` and
    ``L2`` terms of the sum charge for it; in a sum without either, what ``L2()`` does, times the factor of the Quadratic.

    Where some changes cost nothing (Q v = 0), of several best rows the answer is the one of least norm. The diagonal of a Q
    that is singular, or so nearly that rounding hides it, is raised until Q is convex beyond doubt: by 1e-14 of itself for
    ten features, by 1e-10 for eight hundred.

    Examples
    --------
    >>> cost = Quadratic([[1.0, -0.5], [-0.5, 1.0]]) + 0.1 * L1()
    """

    Q: Any
    names: tuple[str, ...] | None = field(init=False)  # of the rows, where Q came as a frame

    def __post_init__(self) -> None:
        rows, columns = axis_names(self.Q) or (None, None)
        if rows != columns:
            raise CounterleafError("Q is a frame whose rows and columns are named differently; expected the same names")
        object.__setattr__(self, "names", columns)
        object.__setattr__(self, "Q", read_matrix(self.Q))

    def matrix(self, schema: Schema) -> Any:
        """Q over the variables of the schema, in their order; nothing for those that are 0/1."""
        numeric = [d for d, feature in enumerate(schema) if isinstance(feature, Numeric)]
        names, n = [schema.names[d] for d in numeric], len(numeric)
        if self.Q.shape[0] != n:
            kind = "feature" if n == len(schema) else "numeric feature"
            raise CounterleafError(f"Q has shape {self.Q.shape}; expected ({n}, {n}), one row per {kind}")
        Q = self.Q
        if self.names is not None and list(self.names) != names:
            if sorted(self.names) != sorted(names):
                unknown = sorted(set(self.names) ^ set(names))
                raise CounterleafError(
                    f"Q and the table differ in the names {unknown[:8]}; expected a row for each feature by its name"
                )
            order = [self.names.index(name) for name in names]
            Q = Q[order][:, order]
        if n == schema.width:
            return Q
        entries, at = Q.tocoo(), schema.starts[numeric]
        row, column = entries.coords
        return type(self.Q)((entries.data, (at[row], at[column])), shape=(schema.width, schema.width))


@dataclass(frozen=True, slots=True, eq=False)
class Sum(_Term):
    """A weighted sum of terms."""

    terms: tuple[tuple[float, L1 | L2 | LinearCost | Quadratic], ...]

    def parts(self) -> tuple[tuple[float, L1 | L2 | LinearCost | Quadratic], ...]:
        return self.terms


Cost = L1 | L2 | LinearCost | Quadratic | Sum


def _check_weights(term: L1 | L2) -> None:
    kind = type(term).__name__
    if term.weights is not None and (term.up is not None or term.down is not None):
        raise CounterleafError(f"{kind} got weights and up= or down=; give one or the other")
    for name in ("weights", "up", "down", "multiplier"):
        given = copy.copy(getattr(term, name))  # the user's array may change, the cost may not
        object.__setattr__(term, name, given)
        if name != "multiplier" and isinstance(given, str) and given not in SPREADS:
            raise CounterleafError(f'{kind} weights are {given!r}; expected "range", "std", "mad" or numbers')


@dataclass(frozen=True, eq=False)
class Prices:
    """A cost as arrays: phi of each variable d, convex with a kink where nothing changes, and what the solver asks about them.

    phi(d) = curve_up d^2 + slope_up d for d >= 0, curve_down d^2 + slope_down d for d <= 0, slope_down <= slope_up.
    """

    rows: Array  # (4, D): curve up, slope up, curve down, slope down; 0 for 0/1 variables
    size: Array  # (D,) how steep or curved: the scale in which features look alike; 0 where a feature costs nothing
    curved: bool  # every number, in both directions
    flat: bool  # no number at all
    runs: bool  # some number earns by moving away
    coupling: Coupling | None = None
    moves: tuple[Array, ...] = ()  # for each feature with finitely many values, what each change costs, from by to

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "core"}  # made again where it is needed

    @functools.cached_property
    def core(self) -> _core.Prices:
        """The same for the core."""
        coupling = None if self.coupling is None else self.coupling.core()
        return _core.Prices(self.rows, self.size, list(self.moves), self.curved, self.flat, self.runs, coupling)


def lower_cost(cost: Any, schema: Schema, spreads: Spreads | None) -> Prices:
    """The cost of a change as arrays."""
    if not isinstance(cost, _Term):
        raise CounterleafError(f"cost is {cost!r}; expected L1, L2, Quadratic, LinearCost or a sum of them")
    finite = [(d, feature) for d, feature in enumerate(schema) if not isinstance(feature, Numeric)]
    rows, moves = np.zeros((4, schema.width)), [np.zeros((feature.size, feature.size)) for _, feature in finite]
    of_numbers = [d for d, feature in enumerate(schema) if isinstance(feature, Numeric)]
    numbers = schema.starts[of_numbers]
    by_size = any(isinstance(term, (L1, L2)) for _, term in cost.parts())  # which then prices changes of category
    Q: Any = None
    for factor, term in cost.parts():
        if isinstance(term, LinearCost):
            coef = factor * _linear(term.coef, schema)
            rows[1, numbers] += coef[numbers]
            rows[3, numbers] += coef[numbers]
            for table, (d, _) in zip(moves, finite, strict=True):
                table += coef[schema.span(d)][None, :] - coef[schema.span(d)][:, None]
            continue
        if factor < 0:
            raise CounterleafError(f"{type(term).__name__} has the factor {factor}; expected 0 or more: a cost must be convex")
        if isinstance(term, Quadratic):
            part = factor * term.matrix(schema)
            Q = part if Q is None else Q + part
            if not by_size:
                for table, (_, feature) in zip(moves, finite, strict=True):
                    table += _moves(feature, factor, factor, 2, None)
            continue
        power = 1 if isinstance(term, L1) else 2
        named = isinstance(term.weights, str) or isinstance(term.up, str) or isinstance(term.down, str)
        multiplier = factor * _factors(term.multiplier, schema, f"{type(term).__name__} multiplier")
        up = multiplier * _weights(term, term.up if term.weights is None else term.weights, power, schema, spreads)
        down = multiplier * _weights(term, term.down if term.weights is None else term.weights, power, schema, spreads)
        if power == 1:
            rows[1, numbers] += up[of_numbers]
            rows[3, numbers] -= down[of_numbers]
        else:
            rows[0, numbers] += up[of_numbers]
            rows[2, numbers] += down[of_numbers]
        for table, (d, feature) in zip(moves, finite, strict=True):
            table += _moves(feature, float(up[d]), float(down[d]), power, float(multiplier[d]) if named else None)
    curve, slope = np.maximum(rows[0], rows[2]), np.maximum(np.abs(rows[1]), np.abs(rows[3]))
    runs = bool((rows[1] < 0).any() or (rows[3] > 0).any())
    size = np.where(curve > 0, np.sqrt(2.0 * curve), slope)
    if Q is None or not Q.nnz:
        curved = bool(rows[0, numbers].all() and rows[2, numbers].all())
        return Prices(rows, size, curved, not curve.any(), runs, None, tuple(moves))
    Q = make_convex(Q)
    curve = curve + Q.diagonal()
    size = np.where(curve > 0, np.sqrt(2.0 * curve), slope)
    return Prices(rows, size, False, False, runs, couple(Q, size, numbers), tuple(moves))


def _moves(feature: Finite, up: float, down: float, power: int, named: float | None) -> Array:
    """What each change of value costs, from by to.

    An ordered feature pays per level moved. A category pays twice, for the 0/1 that falls and the one that rises; under a
    named weight, ``named`` times 1. A table of costs takes the place of that 2, or 1, or of the levels moved.
    """
    n = len(feature.values)
    change = up + down if named is None else named
    out = np.full((feature.size, feature.size), change)  # to and from a missing value, as between categories
    if feature.costs is not None:
        out[:n, :n] = (0.5 * (up + down) if named is None else named) * np.array(feature.costs)
    elif feature.ordered:
        moved = np.arange(n)[None, :] - np.arange(n)[:, None]
        out[:n, :n] = np.where(moved > 0, up, down) * np.abs(moved) ** power
    np.fill_diagonal(out, 0.0)
    return out


def _linear(given: Any, schema: Schema) -> Array:
    """One coefficient per variable, from a dict by name or ``feature=value``, or from one number per feature."""
    out = np.zeros(schema.width)
    given = by_name(given)
    if not isinstance(given, Mapping):
        if any(isinstance(feature, Categorical) for feature in schema):
            raise CounterleafError("Linear coef must be a dict where the table has categories, as in {'job=cook': 1.0}")
        given = dict(zip(schema.names, schema.vector(given, "Linear coef", 0.0).tolist(), strict=True))
    for name, value in given.items():
        coef = number(value, f"Linear coef of {name!r}")
        for d, share in schema.terms(name).items():
            out[d] += coef * share
    return out


def _weights(term: L1 | L2, given: Any, power: int, schema: Schema, spreads: Spreads | None) -> Array:
    kind = type(term).__name__
    if isinstance(given, str):
        if spreads is None:
            raise CounterleafError(f'{kind}("{given}") needs data to measure; pass data= to Explainer or give numbers')
        return np.asarray(getattr(spreads, given) ** -float(power))
    return _factors(given, schema, f"{kind} weight")


def _factors(given: Any, schema: Schema, what: str) -> Array:
    """One number of 0 or more per feature; all 1 where none are given."""
    if given is None:
        return np.ones(len(schema))
    found = schema.vector(given, f"{what}s", 1.0)
    for wrong, expected in ((~np.isfinite(found), "a finite number"), (found < 0, "0 or more")):
        if wrong.any():
            bad = int(np.flatnonzero(wrong)[0])
            raise CounterleafError(f"{what} of {schema.names[bad]!r} is {found[bad]}; expected {expected}")
    return found
