"""The kinds of feature a table can have: numbers, whole numbers, grids, ordered levels, categories, booleans."""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, brief, check_flag, number, real_array, single, some, values_of
from counterleaf.table.frames import nested
from counterleaf.types import is_missing as is_missing  # also for those who import it from here

MISSING = "(missing)"
_LONGEST = {"label": 80, "unit": 24, "description": 500}  # characters
_REFUSED = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of characters, separators of lines and paragraphs
_TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # change the direction of text


@dataclass(frozen=True, slots=True)
class Numeric:
    """A number within bounds, optionally whole, a multiple of a step, or one of a list.

    A row whose value is not on the grid or list may keep it; a value that changes moves to the grid or list.

    Parameters
    ----------
    name : str
        The name of the column.
    lower, upper : float, optional
        The bounds; infinite by default.
    integer : bool, default=False
        Whether the feature takes whole numbers only.
    step : float, optional
        The feature takes multiples of this number only.
    missing : bool or "allowed", default=False
        Whether the number may be missing. Wherever the model has a route for a missing number, a row can keep it missing, and
        an answer can fill it in. With "allowed", an answer can also leave out a number that the row has.
    values : list of float, optional
        The only numbers that the feature takes. They imply the bounds.
    label : str, optional
        The name that people read; by default the name of the column.
    unit : str, optional
        The unit that people read after the number, such as ``"months"``. With ``"date"``, the number is the number of days
        since 1970-01-01 and is shown as a date.
    description : str, optional
        What the feature means, in a sentence. Features that differ only in label, unit and description are equal.

    Raises
    ------
    CounterleafError
        If no number satisfies the bounds, if ``step`` is not positive or contradicts ``integer``, if ``missing`` is something
        else, if ``values`` are not different finite numbers or are combined with other bounds or a step, or if a text is not
        one short line.

    Examples
    --------
    >>> Numeric("hours", 0, 100, step=5).grid
    Fraction(5, 1)
    >>> Numeric("term", values=[36, 60]).upper
    60.0
    """

    name: str
    lower: float = -math.inf
    upper: float = math.inf
    integer: bool = False
    step: float | None = None
    missing: bool | str = False
    values: Sequence[float] | None = None
    label: str | None = field(default=None, kw_only=True, repr=False, compare=False)
    unit: str | None = field(default=None, kw_only=True, repr=False, compare=False)
    description: str | None = field(default=None, kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_name(self.name)
        if self.values is not None:
            _set_list(self)
        if not (isinstance(self.missing, (bool, np.bool_)) or (isinstance(self.missing, str) and self.missing == "allowed")):
            raise CounterleafError(
                f'feature {self.name!r}: missing is {brief(self.missing)}; expected True, False or "allowed"'
            )
        check_flag(self.integer, f"feature {self.name!r}: integer")
        for end in (self.lower, self.upper):
            number(end, f"feature {self.name!r}: a bound", infinite=True)
        if self.lower > self.upper:
            raise CounterleafError(
                f"feature {self.name!r}: lower is {self.lower} and upper is {self.upper}; expected lower <= upper"
            )
        if self.lower == math.inf or self.upper == -math.inf:
            raise CounterleafError(f"feature {self.name!r}: no finite number lies in [{self.lower}, {self.upper}]")
        if self.step is not None:
            step = math.nan if isinstance(self.step, bool) else number(self.step, f"feature {self.name!r}: step")
            if not 1e-100 < step < 1e100:
                raise CounterleafError(f"feature {self.name!r}: step is {brief(self.step)}; expected a number above 0")
            if self.integer and not float(step).is_integer():
                raise CounterleafError(f"feature {self.name!r}: step {self.step!r} and integer=True; expected a whole step")
        _check_words(self.name, self.label, self.description, self.unit)
        if self.unit == "date" and not _is_whole(self):
            raise CounterleafError(f"feature {self.name!r}: unit 'date' counts whole days; set integer=True or a whole step")

    @property
    def size(self) -> int:
        """The number of solver variables for the feature."""
        return 1

    @property
    def grid(self) -> Fraction | None:
        """The step as its decimal digits say, so that three steps of 0.1 are 0.3; None if any number is allowed."""
        if self.step is not None:
            return Fraction(repr(float(self.step)))
        return Fraction(1) if self.integer else None

    @property
    def any_number(self) -> bool:
        """Whether every number within the bounds is allowed."""
        return self.grid is None and self.values is None

    def nearest(self, number: float, low: float, high: float) -> float:
        """Return the allowed number within bounds that is nearest to another number.

        Parameters
        ----------
        number : float
            The other number, which lies within the bounds.
        low, high : float
            The bounds.
        """
        if self.values is not None:
            near = list(self.values)
        elif self.grid is None:
            return number
        else:
            k = round(number / float(self.grid))
            near = [(k + step) * self.grid.numerator / self.grid.denominator for step in (-1, 0, 1)]
        return min((one for one in near if low <= one <= high), key=lambda one: abs(one - number), default=number)


@dataclass(frozen=True, slots=True)
class _Finite:
    """A feature with finitely many values; the solver has a 0/1 variable for each, exactly one of which is 1."""

    name: str
    values: tuple[Any, ...]
    costs: Any = None
    missing: bool = False  # rows may lack a value: one more choice, which a row can keep but not change to
    label: str | None = field(default=None, repr=False, compare=False)
    description: str | None = field(default=None, repr=False, compare=False)
    _places: dict[Any, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_name(self.name)
        values, places = _distinct(self.values, self.name)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "missing", check_flag(self.missing, f"feature {self.name!r}: missing"))
        object.__setattr__(self, "_places", places)
        if self.costs is not None:
            object.__setattr__(self, "costs", _cost_table(self.costs, self))
        _check_words(self.name, self.label, self.description)

    @property
    def size(self) -> int:
        """The number of solver variables for the feature."""
        return len(self.values) + self.missing

    @property
    def ordered(self) -> bool:
        """Whether the order of the values matters."""
        return not isinstance(self, Categorical)

    def place(self, value: Any) -> int:
        """Return the position of a value, from 0.

        Parameters
        ----------
        value : object
            One of the feature's values, or a missing value, whose position is the last one.
        """
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
            raise CounterleafError(f"feature {self.name!r} is {brief(value)}; expected one of {some(self.values)}")
        return found

    def column(self, k: int) -> str:
        """Return the name of a value's 0/1 variable, as in ``"job=cook"``.

        Parameters
        ----------
        k : int
            The position of the value.
        """
        return f"{self.name}={self.values[k] if k < len(self.values) else MISSING}"


@dataclass(frozen=True, slots=True, init=False)
class Categorical(_Finite):
    """One of several categories, which can change to any other.

    Parameters
    ----------
    name : str
        The name of the column.
    categories : iterable
        The values: text, numbers or booleans.
    costs : dict of dict, DataFrame or array-like, optional
        What each change costs, from (rows) by to (columns); by default every change costs the same.
    missing : bool, default=False
        Whether rows may lack a value. A row can keep a missing value; no row changes to it.
    label, description : str, optional
        The name that people read, and what the feature means, in a sentence.

    Raises
    ------
    CounterleafError
        If a category appears twice or is a missing value, or if ``costs`` is incomplete or negative.

    Examples
    --------
    >>> Categorical("job", ["clerk", "cook"], costs={"clerk": {"cook": 1}, "cook": {"clerk": 3}}).costs
    ((0.0, 1.0), (3.0, 0.0))
    """

    def __init__(
        self,
        name: str,
        categories: Any,
        costs: Any = None,
        missing: bool = False,
        *,
        label: str | None = None,
        description: str | None = None,
    ) -> None:
        _Finite.__init__(self, name, categories, costs, missing, label, description)

    @property
    def categories(self) -> tuple[Any, ...]:
        """The values."""
        return self.values


@dataclass(frozen=True, slots=True, init=False)
class Ordinal(_Finite):
    """One of several ordered levels.

    A change costs its price per level moved, unless ``costs`` says otherwise. A tree has one column for the feature, the
    number of the level from 0.

    Parameters
    ----------
    name : str
        The name of the column.
    levels : iterable
        The values, from the lowest to the highest.
    costs : dict of dict, DataFrame or array-like, optional
        What each change costs, from (rows) by to (columns).
    missing : bool, default=False
        Whether rows may lack a value. A row can keep a missing value; no row changes to it.
    label, description : str, optional
        The name that people read, and what the feature means, in a sentence.

    Raises
    ------
    CounterleafError
        If a level appears twice or is a missing value, or if ``costs`` is incomplete or negative.

    Examples
    --------
    >>> Ordinal("school", ["basic", "high", "college"]).levels
    ('basic', 'high', 'college')
    """

    def __init__(
        self,
        name: str,
        levels: Any,
        costs: Any = None,
        missing: bool = False,
        *,
        label: str | None = None,
        description: str | None = None,
    ) -> None:
        _Finite.__init__(self, name, levels, costs, missing, label, description)

    @property
    def levels(self) -> tuple[Any, ...]:
        """The values in order."""
        return self.values


@dataclass(frozen=True, slots=True, init=False)
class Boolean(_Finite):
    """False or True; a tree has one 0/1 column for the feature.

    Parameters
    ----------
    name : str
        The name of the column.
    costs : dict of dict, DataFrame or array-like, optional
        What each change costs, from (rows) by to (columns).
    missing : bool, default=False
        Whether rows may lack a value. A row can keep a missing value; no row changes to it.
    label, description : str, optional
        The name that people read, and what the feature means, in a sentence.

    Examples
    --------
    >>> Boolean("owner").values
    (False, True)
    """

    def __init__(
        self,
        name: str,
        costs: Any = None,
        missing: bool = False,
        *,
        label: str | None = None,
        description: str | None = None,
    ) -> None:
        _Finite.__init__(self, name, (False, True), costs, missing, label, description)


Feature = Numeric | Categorical | Ordinal | Boolean
Finite = Categorical | Ordinal | Boolean


def variable_names(feature: Feature, gap: bool) -> list[str]:
    """Return the names of the solver's variables of a feature; a number with a ``gap`` has a second one."""
    if not isinstance(feature, Numeric):
        return [feature.column(k) for k in range(feature.size)]
    return [feature.name, f"{feature.name}={MISSING}"] if gap else [feature.name]


def _is_whole(feature: Numeric) -> bool:
    if feature.values is not None:
        return all(float(value).is_integer() for value in feature.values)
    return feature.grid is not None and feature.grid.denominator == 1


def _set_list(feature: Numeric) -> None:
    """Set the numbers that a feature takes, and its bounds, from the list that the user gave."""
    name, given = feature.name, feature.values
    given = values_of(given, f"the list of values of feature {name!r}", "a list of numbers such as [36, 60]")
    values = sorted(number(value, f"a value of feature {name!r}") for value in given)
    if not values:
        raise CounterleafError(f"feature {name!r} has no values; expected a list of numbers such as [36, 60]")
    twice = [one for one, other in itertools.pairwise(values) if one == other]
    if twice:
        raise CounterleafError(f"feature {name!r} lists {twice[0]:g} twice; values must differ")
    whole = all(value.is_integer() for value in values)
    for setting, came, implied in (
        ("lower", feature.lower, (-math.inf, values[0])),
        ("upper", feature.upper, (math.inf, values[-1])),
        ("integer", feature.integer, (False, whole)),
        ("step", feature.step, (None,)),
    ):
        if came not in implied:
            raise CounterleafError(f"feature {name!r}: {setting} is {brief(came)} in addition to values; pass one of the two")
    for setting, value in (("values", tuple(values)), ("lower", values[0]), ("upper", values[-1])):
        object.__setattr__(feature, setting, value)


def _check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise CounterleafError(f"a feature is named {brief(name)}; expected a string")


def _distinct(values: Any, name: str) -> tuple[tuple[Any, ...], dict[Any, int]]:
    """Return the values of a feature, checked to be different from each other, and the position of each."""
    out = values_of(values, f"feature {name!r}: the list of its values", "a list such as ['a', 'b']")
    places: dict[Any, int] = {}
    for k, value in enumerate(out):
        if is_missing(value):
            raise CounterleafError(f"feature {name!r}: a value is {brief(value)}; leave it out and set missing=True")
        out[k] = value = single(value, f"feature {name!r}: a value")
        if value in places:
            raise CounterleafError(f"feature {name!r} lists {brief(value)} twice; values must differ")
        places[value] = k
    if not out:
        raise CounterleafError(f"feature {name!r} has no values; expected at least one")
    return tuple(out), places


def _cost_table(costs: Any, feature: _Finite) -> tuple[tuple[float, ...], ...]:
    """Return the cost of each change as a square table, from a nested dict, a frame or an array in the order of the values."""
    n = len(feature.values)
    costs = nested(costs)
    if isinstance(costs, Mapping):
        out = _costs_by_value(costs, feature)
    else:
        out = real_array(costs, f"feature {feature.name!r}: costs", "a square table")
        if out.shape != (n, n):
            raise CounterleafError(f"feature {feature.name!r}: costs has shape {out.shape}; expected ({n}, {n}), from by to")
    if np.isnan(out).any():
        i, k = np.argwhere(np.isnan(out))[0]
        raise CounterleafError(
            f"feature {feature.name!r}: costs has no entry from {brief(feature.values[i])} to "
            f"{brief(feature.values[k])}; add it"
        )
    if not np.isfinite(out).all() or (out < 0).any() or out.diagonal().any():
        raise CounterleafError(
            f"feature {feature.name!r}: costs must be finite, 0 or more, and 0 from a value to itself; "
            f"use forbid() to rule values out"
        )
    return tuple(tuple(line) for line in out.tolist())


def _costs_by_value(costs: Mapping[Any, Any], feature: _Finite) -> Any:
    """Return {from: {to: cost}} as an array, NaN where an entry is absent."""
    out = np.full((len(feature.values), len(feature.values)), np.nan)
    np.fill_diagonal(out, 0.0)
    for old, line in costs.items():
        if not isinstance(line, Mapping):
            raise CounterleafError(f"feature {feature.name!r}: costs[{brief(old)}] is {brief(line)}; expected {{to: cost}}")
        for new, cost in line.items():
            out[feature.place(old), feature.place(new)] = number(cost, f"feature {feature.name!r}: a cost", infinite=True)
    return out


def _check_words(name: str, label: Any, description: Any, unit: Any = None) -> None:
    if label is None and description is None and unit is None:
        return
    for what, text in (("label", label), ("unit", unit), ("description", description)):
        if text is None:
            continue
        if not isinstance(text, str):
            raise CounterleafError(f"feature {name!r}: {what} is {brief(text)}; expected text")
        if not text.strip():
            raise CounterleafError(f"feature {name!r}: {what} is {text[:20]!r}; expected text, or leave it out")
        if len(text) > _LONGEST[what]:
            raise CounterleafError(f"feature {name!r}: {what} has {len(text)} characters; expected at most {_LONGEST[what]}")
        wrong = control_character(text)
        if wrong is not None:
            raise CounterleafError(
                f"feature {name!r}: {what} contains the control character {wrong!a}; expected one line of text"
            )


def control_character(text: str) -> str | None:
    """Return the first character that ends a line, changes the direction of the text around it or is invisible, or None."""
    if text.isprintable():
        return None
    return next((c for c in text if c in _TURNS or unicodedata.category(c) in _REFUSED), None)
