"""The kinds of column a table can have: numbers, whole numbers, grids, ordered levels, categories, yes or no."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, brief, some
from counterleaf.table.frames import nested
from counterleaf.types import is_missing as is_missing

MISSING = "(missing)"


@dataclass(frozen=True, slots=True)
class Numeric:
    """A number in [lower, upper]; whole if ``integer``, a multiple of ``step`` if that is given.

    A row that already stands off the grid may stay where it is; whatever moves, moves to the grid.

    Examples
    --------
    >>> Numeric("hours", 0, 100, step=5).grid
    Fraction(5, 1)
    """

    name: str
    lower: float = -math.inf
    upper: float = math.inf
    integer: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        for end in (self.lower, self.upper):
            if isinstance(end, (str, bytes)) or not hasattr(end, "__float__"):
                raise CounterleafError(f"feature {self.name!r}: a bound is {brief(end)}; expected a number")
        if math.isnan(self.lower) or math.isnan(self.upper) or self.lower > self.upper:
            raise CounterleafError(
                f"feature {self.name!r}: lower is {self.lower} and upper is {self.upper}; expected lower <= upper"
            )
        if self.lower == math.inf or self.upper == -math.inf:
            raise CounterleafError(f"feature {self.name!r}: no finite number lies in [{self.lower}, {self.upper}]")
        if self.step is not None:
            step = self.step
            if isinstance(step, (str, bytes, bool)) or not hasattr(step, "__float__") or not 1e-100 < step < 1e100:
                raise CounterleafError(f"feature {self.name!r}: step is {brief(step)}; expected a number above 0")
            if self.integer and not float(step).is_integer():
                raise CounterleafError(f"feature {self.name!r}: step {step!r} and integer=True; expected a whole step")

    @property
    def size(self) -> int:
        """How many variables the solver has for it."""
        return 1

    @property
    def grid(self) -> Fraction | None:
        """The step as written in decimals, so that three steps of 0.1 are 0.3; None where any number will do."""
        if self.step is not None:
            return Fraction(repr(float(self.step)))
        return Fraction(1) if self.integer else None


@dataclass(frozen=True, slots=True)
class _Finite:
    """A feature with finitely many values; the solver has a 0/1 variable for each, of which exactly one is 1."""

    name: str
    values: tuple[Any, ...]
    costs: Any = None
    missing: bool = False  # rows may lack a value: one more choice, to stay at but not to move to
    _places: dict[Any, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_name(self.name)
        if isinstance(self.values, (str, bytes)) or not isinstance(self.values, Iterable):
            raise CounterleafError(
                f"feature {self.name!r}: its values are {brief(self.values)}; expected a list such as ['a', 'b']"
            )
        values = tuple(v.item() if isinstance(v, np.generic) else v for v in self.values)
        places: dict[Any, int] = {}
        for k, value in enumerate(values):
            if is_missing(value):
                raise CounterleafError(f"feature {self.name!r}: a value is {brief(value)}; leave it out and set missing=True")
            try:
                twice = value in places
            except TypeError:
                raise CounterleafError(f"feature {self.name!r}: a value is {brief(value)}; expected text or numbers") from None
            if twice:
                raise CounterleafError(f"feature {self.name!r} lists {brief(value)} twice; values must differ")
            places[value] = k
        if not values:
            raise CounterleafError(f"feature {self.name!r} has no values; expected at least one")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "_places", places)
        if self.costs is not None:
            object.__setattr__(self, "costs", _from_to(self.costs, self))

    @property
    def size(self) -> int:
        """How many variables the solver has for it."""
        return len(self.values) + self.missing

    @property
    def ordered(self) -> bool:
        return not isinstance(self, Categorical)

    def place(self, value: Any) -> int:
        """The place of a value; the last one is that of a missing value."""
        if is_missing(value):
            if self.missing:
                return len(self.values)
            raise CounterleafError(
                f"feature {self.name!r} of the row is missing and the model has no route for that: fill it in"
            )
        try:
            found = self._places.get(value)
        except TypeError:
            found = None
        if found is None:
            raise CounterleafError(f"feature {self.name!r} is {value!r}; expected one of {some(self.values)}")
        return found

    def column(self, k: int) -> str:
        """The name of a value's 0/1 variable."""
        return f"{self.name}={self.values[k] if k < len(self.values) else MISSING}"


@dataclass(frozen=True, slots=True, init=False)
class Categorical(_Finite):
    """One of ``categories``, from any to any. ``costs``: a from-to table in place of the same cost for every change.

    Examples
    --------
    >>> Categorical("job", ["clerk", "cook"], costs={"clerk": {"cook": 1}, "cook": {"clerk": 3}}).costs
    ((0.0, 1.0), (3.0, 0.0))
    """

    def __init__(self, name: str, categories: Any, costs: Any = None, missing: bool = False) -> None:
        _set(self, name, categories, costs, missing)

    @property
    def categories(self) -> tuple[Any, ...]:
        return self.values


@dataclass(frozen=True, slots=True, init=False)
class Ordinal(_Finite):
    """One of ``levels``, in order: a change costs what it costs per level moved, or what the table ``costs`` says.

    A tree has one column for it, the number of the level from 0.
    """

    def __init__(self, name: str, levels: Any, costs: Any = None, missing: bool = False) -> None:
        _set(self, name, levels, costs, missing)

    @property
    def levels(self) -> tuple[Any, ...]:
        return self.values


@dataclass(frozen=True, slots=True, init=False)
class Boolean(_Finite):
    """False or True; a tree has one 0/1 column for it."""

    def __init__(self, name: str, costs: Any = None, missing: bool = False) -> None:
        _set(self, name, (False, True), costs, missing)


Feature = Numeric | Categorical | Ordinal | Boolean
Finite = Categorical | Ordinal | Boolean


def _set(feature: Any, name: str, values: Any, costs: Any, missing: bool) -> None:
    for field_name, value in (("name", name), ("values", values), ("costs", costs), ("missing", bool(missing))):
        object.__setattr__(feature, field_name, value)
    feature.__post_init__()


def _check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise CounterleafError(f"a feature is named {brief(name)}; expected a string")


def _from_to(given: Any, feature: _Finite) -> tuple[tuple[float, ...], ...]:
    """The cost of each change as a square table, from a nested dict, a frame or an array in the order of the values."""
    n = len(feature.values)
    given = nested(given)
    if isinstance(given, Mapping):
        out = np.full((n, n), np.nan)
        np.fill_diagonal(out, 0.0)
        for old, line in given.items():
            if not isinstance(line, Mapping):
                raise CounterleafError(f"feature {feature.name!r}: costs[{old!r}] is {line!r}; expected {{to: cost}}")
            for new, cost in line.items():
                out[feature.place(old), feature.place(new)] = _price(cost, feature)
    else:
        try:
            out = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise CounterleafError(f"feature {feature.name!r}: costs is {given!r}; expected a square table") from None
        if out.shape != (n, n):
            raise CounterleafError(f"feature {feature.name!r}: costs has shape {out.shape}; expected ({n}, {n}), from by to")
    if np.isnan(out).any():
        i, k = np.argwhere(np.isnan(out))[0]
        raise CounterleafError(
            f"feature {feature.name!r}: costs does not say what {feature.values[i]!r} to {feature.values[k]!r} costs; add it"
        )
    if not np.isfinite(out).all() or (out < 0).any() or out.diagonal().any():
        raise CounterleafError(
            f"feature {feature.name!r}: costs must be finite, 0 or more, and 0 from a value to itself; forbid rules values out"
        )
    return tuple(tuple(line) for line in out.tolist())


def _price(cost: Any, feature: _Finite) -> float:
    try:
        return float(cost)
    except (TypeError, ValueError):
        raise CounterleafError(f"feature {feature.name!r}: a cost is {cost!r}; expected a number") from None
