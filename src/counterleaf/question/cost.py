"""The cost of a change: terms that add up to one convex function of the change."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from counterleaf import _core
from counterleaf.errors import CounterleafError, brief, number, some
from counterleaf.question.arrays import SeparableCost
from counterleaf.question.coupling import Coupling, couple, make_convex, read_matrix, without
from counterleaf.question.variables import moves
from counterleaf.table.features import Categorical, Numeric
from counterleaf.table.frames import axis_names, by_name
from counterleaf.table.infer import SPREADS, Spreads
from counterleaf.table.schema import Schema
from counterleaf.types import Array


class _Term:
    """Arithmetic of costs: ``+`` adds two costs, and a number scales one."""

    __slots__ = ()

    def parts(self) -> tuple[tuple[float, L1 | L2 | LinearCost | Quadratic], ...]:
        """The terms of the sum, each with its factor."""
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
        """The call that makes the cost, with long arrays shortened."""
        return " + ".join(f"{'' if factor == 1 else f'{factor:g} * '}{_call(term)}" for factor, term in self.parts())


def _call(term: L1 | L2 | LinearCost | Quadratic) -> str:
    kind = type(term).__name__
    if isinstance(term, Quadratic):
        return f"{kind}(a matrix of {term.Q.shape[0]} rows)"
    values = {one.name: getattr(term, one.name) for one in fields(term)}
    arguments = [
        brief(value.tolist() if isinstance(value, np.ndarray) else value)
        if name in ("weights", "coef")
        else f"{name}={brief(value)}"
        for name, value in values.items()
        if value is not None
    ]
    return f"{kind}({', '.join(arguments)})"


@dataclass(frozen=True, slots=True, eq=False)
class L1(_Term):
    """Weighted sum of absolute changes, ``sum_d w_d abs(x_d - source_d)``.

    A change of category costs twice its weight, once for the category that is left and once for the new one (under a named
    weight, 1). An ordered feature pays for each level that it moves.

    Parameters
    ----------
    weights : float, array-like, dict, Series or {"range", "std", "mad"}, optional
        The weights: a number for all features, one number per feature, or numbers by feature name (1 for the others). A
        name means one over that spread of each feature in the data. By default every weight is 1.
    up, down : float, array-like, dict, Series or {"range", "std", "mad"}, optional
        The weights of increases and of decreases, instead of ``weights``.
    multiplier : array-like, dict or Series, optional
        Factors of at least 0 by which the weights are multiplied (1 for features that are not named).

    Raises
    ------
    CounterleafError
        If ``weights`` is combined with ``up`` or ``down``, or a name is unknown.

    See Also
    --------
    L2 : Squared changes.
    LinearCost : Costs with a sign.

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
    """Weighted sum of squared changes, ``sum_d w_d (x_d - source_d)^2``.

    Parameters
    ----------
    weights : float, array-like, dict, Series or {"range", "std", "mad"}, optional
        The weights, as in ``L1``. A name means one over the square of that spread.
    up, down : float, array-like, dict, Series or {"range", "std", "mad"}, optional
        The weights of increases and of decreases, instead of ``weights``.
    multiplier : array-like, dict or Series, optional
        Factors of at least 0 by which the weights are multiplied. They are not squared.

    Raises
    ------
    CounterleafError
        If ``weights`` is combined with ``up`` or ``down``, or a name is unknown.

    See Also
    --------
    L1 : Absolute changes.
    Quadratic : Squared changes with products of features.

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
    """Linear cost of changes, ``sum_d c_d (x_d - source_d)``: one direction costs, the other one earns.

    Parameters
    ----------
    coef : array-like, dict or Series
        One coefficient per feature, or coefficients by name (0 for the others). In a table with categories the names are
        needed, with ``"feature=value"`` for a category.

    See Also
    --------
    L1 : Costs that do not depend on the sign.
    linear : A constraint on a weighted sum.

    Examples
    --------
    >>> print(L1() + LinearCost({"income": -0.5}))
    L1() + LinearCost({'income': -0.5})
    """

    coef: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "coef", copy.copy(self.coef))


@dataclass(frozen=True, slots=True, eq=False)
class Quadratic(_Term):
    """Quadratic form of changes, ``sum_{d,e} Q_de (x_d - source_d) (x_e - source_e)``.

    Changes that are made together can cost less, or more, than each of them alone. A change of category, level or yes-or-no
    feature costs what the ``L1`` and ``L2`` terms of the same sum charge for it. In a sum without either, it costs what
    ``L2()`` charges, times the factor of the Quadratic.

    Parameters
    ----------
    Q : array-like, sparse matrix or DataFrame of shape (n_numeric, n_numeric)
        A symmetric positive semidefinite matrix with one row and column per numeric feature, in the order of the table. The
        rows and columns of a DataFrame are matched by name.

    Raises
    ------
    CounterleafError
        If Q is not a symmetric positive semidefinite matrix of finite numbers.

    See Also
    --------
    L2 : The case of a diagonal matrix.

    Notes
    -----
    If some changes cost nothing (Q v = 0), the answer is the best row of least norm. The diagonal of a Q that is singular, or
    so nearly singular that rounding hides it, is raised until Q is provably convex: by 1e-14 of itself for ten features, by
    1e-10 for eight hundred.

    Examples
    --------
    >>> print(Quadratic([[1.0, -0.5], [-0.5, 1.0]]) + 0.1 * L1())
    Quadratic(a matrix of 2 rows) + 0.1 * L1()
    """

    Q: Any
    names: tuple[str, ...] | None = field(init=False)  # the names of the rows of a frame

    def __post_init__(self) -> None:
        rows, columns = axis_names(self.Q) or (None, None)
        if rows != columns:
            raise CounterleafError("Q is a frame whose rows and columns are named differently; expected the same names")
        object.__setattr__(self, "names", columns)
        object.__setattr__(self, "Q", read_matrix(self.Q))

    def matrix(self, schema: Schema) -> Any:
        """Q over the variables of the schema, in their order; 0/1 variables have no entries.

        Parameters
        ----------
        schema : Schema
            The features of the table.

        Returns
        -------
        sparse array
            The matrix, of the kind of ``Q``.

        Raises
        ------
        CounterleafError
            If Q does not have one row per numeric feature, or names others.
        """
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
                    f"Q and the table differ in the names [{some(unknown, 8)}]; expected a row for each feature by its name"
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
        """The terms of the sum, each with its factor."""
        return self.terms


# Any cost: L1, L2, LinearCost, Quadratic, or a weighted sum of them. Use it in annotations, as in
# ``def price(data) -> cl.Cost``.
Cost = L1 | L2 | LinearCost | Quadratic | Sum


def _check_weights(term: L1 | L2) -> None:
    kind = type(term).__name__
    if term.weights is not None and (term.up is not None or term.down is not None):
        raise CounterleafError(f"{kind} got weights and up= or down=; give one or the other")
    for name in ("weights", "up", "down", "multiplier"):
        value = copy.copy(getattr(term, name))  # the user's array may change, the cost may not
        object.__setattr__(term, name, value)
        if name != "multiplier" and isinstance(value, str) and value not in SPREADS:
            raise CounterleafError(f'{kind} weights are {value!r}; expected "range", "std", "mad" or numbers')


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
        return _core.Prices(self.rows, self.size, list(self.moves), self.curved, self.flat, self.runs, coupling)


def lower_cost(cost: Any, schema: Schema, spreads: Spreads | None) -> Prices:
    """Translate a cost into arrays.

    Raises
    ------
    CounterleafError
        If the cost does not fit the schema, is not convex, or needs the spreads of data that are not available.
    """
    if not isinstance(cost, _Term):
        raise CounterleafError(f"cost is {cost!r}; expected L1, L2, Quadratic, LinearCost or a sum of them")
    lowering = _Lowering(schema, spreads, any(isinstance(term, (L1, L2)) for _, term in cost.parts()))
    for factor, term in cost.parts():
        lowering.add(factor, term)
    return lowering.prices()


class _Lowering:
    """The arrays of a cost, to which its terms are added one by one."""

    def __init__(self, schema: Schema, spreads: Spreads | None, priced: bool) -> None:
        self.schema, self.spreads = schema, spreads
        self.priced = priced  # whether L1 or L2 terms price the changes of category, so that Quadratic does not
        self.finite = [(d, feature) for d, feature in enumerate(schema) if not isinstance(feature, Numeric)]
        self.of_numbers = [d for d, feature in enumerate(schema) if isinstance(feature, Numeric)]
        self.numbers = schema.starts[self.of_numbers]
        self.gaps = [(schema.index(name), filled is not None) for name, filled in schema.gaps.items()]
        self.separable = SeparableCost(*np.zeros((4, schema.width)))
        self.moves = [np.zeros((feature.size, feature.size)) for _, feature in self.finite]
        self.Q: Any = None

    def add(self, factor: float, term: L1 | L2 | LinearCost | Quadratic) -> None:
        if isinstance(term, LinearCost):
            self._add_linear(factor, term)
            return
        if factor < 0:
            raise CounterleafError(f"{type(term).__name__} has the factor {factor}; expected 0 or more: a cost must be convex")
        if isinstance(term, Quadratic):
            self._add_quadratic(factor, term)
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

    def _price_gap(self, d: int, price: float) -> None:
        """Charge for filling in a gap, or for making one, what a change of category costs."""
        v = self.schema.starts[d] + 1
        self.separable.slope_up[v] += price
        self.separable.slope_down[v] -= price

    def _free_numbers(self) -> None:
        """Remove the prices of numbers that the source lacks: a gap is filled in with any number at the same cost."""
        free = [int(self.schema.starts[d]) for d, missing in self.gaps if missing]
        for line in self.separable:
            line[free] = 0.0
        if self.Q is not None and free:
            self.Q = without(self.Q, free)

    def prices(self) -> Prices:
        self._free_numbers()
        cost, numbers, tables = self.separable, self.numbers, tuple(self.moves)
        curve = np.maximum(cost.curve_up, cost.curve_down)
        slope = np.maximum(np.abs(cost.slope_up), np.abs(cost.slope_down))
        runs = bool((cost.slope_up < 0).any() or (cost.slope_down > 0).any())
        if self.Q is None or not self.Q.nnz:
            size = np.where(curve > 0, np.sqrt(2.0 * curve), slope)
            curved = bool(not self.gaps and cost.curve_up[numbers].all() and cost.curve_down[numbers].all())
            return Prices(cost, size, curved, not curve.any(), runs, None, tables)
        Q = make_convex(self.Q)
        curve = curve + Q.diagonal()
        size = np.where(curve > 0, np.sqrt(2.0 * curve), slope)
        return Prices(cost, size, False, False, runs, couple(Q, size, numbers), tables)


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
        each = number(value, f"LinearCost coef of {name!r}")
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
