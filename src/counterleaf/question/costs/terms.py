"""The cost of a change: terms that add up to one convex function of the change."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, brief, number, some
from counterleaf.question.costs.coupling import read_matrix
from counterleaf.strict_json import plain
from counterleaf.table.features import Numeric
from counterleaf.table.frames import axis_names, by_name
from counterleaf.table.infer import SPREADS
from counterleaf.table.schema import Schema


class Term:
    """Arithmetic of costs: ``+`` adds two costs, and a number scales one."""

    __slots__ = ()

    def parts(self) -> tuple[tuple[float, Part], ...]:
        """The terms of the sum, each with its factor."""
        return ((1.0, self),)  # type: ignore[return-value]  # a Sum overrides this; every other kind is listed

    def __add__(self, other: Any) -> Sum:
        if not isinstance(other, Term):
            return NotImplemented
        return Sum(self.parts() + other.parts())

    def __radd__(self, other: Any) -> Term:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that sum([...]) works

    def __mul__(self, factor: Any) -> Sum:
        scale = number(factor, "the factor of a cost")
        return Sum(tuple((scale * old, term) for old, term in self.parts()))

    __rmul__ = __mul__

    def __str__(self) -> str:
        """The call that makes the cost, with long arrays shortened."""
        return " + ".join(f"{'' if factor == 1 else f'{factor:g} * '}{_call(term)}" for factor, term in self.parts())


def numbers_out(value: Any) -> Any:
    """A number, several, or some by name, as files hold them."""
    value = by_name(value)
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)) or getattr(value, "shape", ()) != ():
        return [plain(one) for one in np.asarray(value).tolist()]
    return plain(value)


def _call(term: Part) -> str:
    kind = type(term).__name__
    if isinstance(term, Quadratic):
        return f"{kind}(a matrix of {term.Q.shape[0]} rows)"
    values = {one.name: numbers_out(getattr(term, one.name)) for one in fields(term)}
    arguments = [
        brief(value) if name in ("weights", "coef", "charges") else f"{name}={brief(value)}"
        for name, value in values.items()
        if value is not None
    ]
    return f"{kind}({', '.join(arguments)})"


@dataclass(frozen=True, slots=True, eq=False)
class _Norm(Term):
    """A weighted sum of the changes, in some power."""

    weights: Any = None
    up: Any = None
    down: Any = None
    multiplier: Any = None

    def __post_init__(self) -> None:
        kind = type(self).__name__
        if self.weights is not None and (self.up is not None or self.down is not None):
            raise CounterleafError(f"{kind} got weights and up= or down=; give one or the other")
        for name in ("weights", "up", "down", "multiplier"):
            value = _copy(getattr(self, name))
            object.__setattr__(self, name, value)
            if name != "multiplier" and isinstance(value, str) and value not in SPREADS:
                raise CounterleafError(f'{kind} weights are {brief(value)}; expected "range", "std", "mad" or numbers')


@dataclass(frozen=True, slots=True, eq=False)
class L1(_Norm):
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


@dataclass(frozen=True, slots=True, eq=False)
class L2(_Norm):
    """Weighted sum of squared changes, ``sum_d w_d (x_d - source_d)^2``.

    Parameters
    ----------
    weights, up, down, multiplier : optional
        As in ``L1``. A name means one over the square of that spread; the multipliers are not squared.

    See Also
    --------
    L1 : Absolute changes.
    Quadratic : Squared changes with products of features.

    Examples
    --------
    >>> from counterleaf import Explainer
    >>> from counterleaf.datasets import example_tree
    >>> Explainer(example_tree()).explain([0.0, 0.0], target="yes", cost=L2(multiplier={"x0": 3}))[0].row
    [0.25, 0.75]
    """


@dataclass(frozen=True, slots=True, eq=False)
class LinearCost(Term):
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
        object.__setattr__(self, "coef", _copy(self.coef))


@dataclass(frozen=True, slots=True, eq=False)
class Quadratic(Term):
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
class Changes(Term):
    """A fixed charge for every feature that changes, by however much.

    In a sum with other costs it makes answers sparse: a feature changes only if that saves more than its charge. Alone, it is
    the number of changes (or their total charge); among equally good rows, the search then chooses one.

    Parameters
    ----------
    charges : float, array-like, dict or Series, default=1.0
        The charge for each change: one number for all features, one number per feature, or numbers by feature name (1 for the
        others). A change of category is one change.

    See Also
    --------
    max_changes : A limit on the number of changes.
    L1 : Charges that grow with the change.

    Examples
    --------
    >>> print(L1("range") + Changes(0.05))
    L1('range') + Changes(0.05)
    >>> from counterleaf import Explainer
    >>> from counterleaf.datasets import example_tree
    >>> best = Explainer(example_tree()).explain([0.0, 0.0], target="yes", cost=L2() + Changes(0.6))[0]
    >>> len(best.changes), best.cost
    (1, 1.6)
    """

    charges: Any = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.charges, (str, bytes)) or self.charges is None:
            raise CounterleafError(f"Changes got {brief(self.charges)}; expected a number, one per feature, or a dict by name")
        object.__setattr__(self, "charges", _copy(self.charges))


@dataclass(frozen=True, slots=True, eq=False)
class Sum(Term):
    """A weighted sum of terms."""

    terms: tuple[tuple[float, Part], ...]

    def parts(self) -> tuple[tuple[float, Part], ...]:
        """The terms of the sum, each with its factor."""
        return self.terms


Part = L1 | L2 | LinearCost | Quadratic | Changes

# Any cost: L1, L2, LinearCost, Quadratic, Changes, or a weighted sum of them. Use it in annotations, as in
# ``def price(data) -> cl.Cost``.
Cost = Part | Sum


def _copy(value: Any) -> Any:
    """Return a copy: the user's array may change, the cost may not."""
    try:
        return copy.copy(value)
    except Exception:  # of any object, which is refused when the cost meets a table
        return value
