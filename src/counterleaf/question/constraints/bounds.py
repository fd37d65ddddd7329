"""Constraints on numbers and ordered features: bounds on values, and on how far they may move."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from counterleaf.errors import CounterleafError, brief, number, some
from counterleaf.question.constraints.kinds import (
    NAME,
    NAMES,
    VALUE,
    Boxed,
    Part,
    call_text,
    feature_name,
    feature_names,
    is_number,
    name_out,
    only,
    present,
    short,
    single_value,
    verb,
)
from counterleaf.question.constraints.lowering import Box, Interval
from counterleaf.table.features import Categorical, Finite, Numeric, Ordinal
from counterleaf.table.schema import Schema
from counterleaf.table.words import word
from counterleaf.types import Array

ROUNDING = 1e-9  # of its size: a number that is this near to a grid is on it
_OF_A_STEP = 1e-6  # the most that counts as rounding
_MINUS = "\N{MINUS SIGN}"
_PERCENT = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*%", re.ASCII)
_END = Part("a number or a level", lambda part: part is None or isinstance(part, str) or is_number(part))
_DISTANCE = Part("a number, or a percentage such as '10%'", _END.fits)
_DIRECTED = {"by": _DISTANCE, "at_most": _DISTANCE}


@dataclass(frozen=True, slots=True, repr=False)
class Percent:
    """A distance from the source's number, as a percentage of its absolute value."""

    value: float

    def __repr__(self) -> str:
        return repr(f"{short(self.value)}%")

    def of(self, source: Any) -> Any:
        """The distance from a source's number, or from several."""
        return self.value / 100.0 * np.abs(source)


@dataclass(frozen=True, slots=True, repr=False)
class Limit(Boxed):
    """lower <= x_d <= upper for each named feature.

    ``from_lower`` and ``from_upper`` mean that a bound is a distance from the source's value: a number to add to it, or a
    percentage of it.
    """

    names: tuple[Any, ...]
    lower: Any = -math.inf
    upper: Any = math.inf
    from_lower: bool = False
    from_upper: bool = False

    @property
    def relative(self) -> bool:  # type: ignore[override]  # of one constraint, not of its kind
        """Whether a bound is a distance from the row's value."""
        return self.from_lower or self.from_upper

    @property
    def is_frozen(self) -> bool:
        """Whether the features keep the row's values."""
        return self.from_lower and self.from_upper and size_of(self.lower) == size_of(self.upper) == 0

    def about(self) -> tuple[Any, ...]:
        return self.names

    def by_feature(self) -> list[Self]:
        if len(self.names) == 1:
            return [self]
        made = self.words.partition("(")[0]
        rest = self.words[len(call_text(made, *self.names)) - 1 :]  # other arguments
        return [replace(self, names=(name,), words=call_text(made, name)[:-1] + rest) for name in self.names]

    def check(self, schema: Schema) -> None:
        """Refuse limits on a change that are smaller than a step of the feature: a share that was meant as a percentage."""
        low, high = self.lower, self.upper
        absolute = isinstance(low, float) and isinstance(high, float)
        if not (self.from_lower and self.from_upper and absolute and (low or high)):
            return
        for feature in (schema.features[schema.index(name)] for name in self.names):
            step = feature.grid if isinstance(feature, Numeric) else 1 if isinstance(feature, Ordinal) else None
            if step is not None and -step < low <= 0.0 <= high < step:
                kind = "changes in levels" if isinstance(feature, Ordinal) else f"has steps of {float(step):g}"
                raise CounterleafError(
                    f"{self} leaves {feature.name!r}, which {kind}, only the value that it has; for a share of the value pass "
                    f"a percentage such as '10%', to keep it pass freeze({feature.name!r})"
                )

    def box(self, schema: Schema, sources: Array) -> Box:
        out: Box = []
        for name in self.names:
            d = schema.index(name)
            feature, at = schema.features[d], schema.span(d)
            if self.from_lower and self.from_upper and self.lower == self.upper == 0:
                out += [Interval(v, sources[:, v], sources[:, v]) for v in range(at.start, at.stop)]
            elif isinstance(feature, Numeric):
                out += self._number_box(feature, at, sources)
            elif not self.relative and self.lower == self.upper:
                out += only(feature, at.start, [self.place(feature, self.lower)])
            elif isinstance(feature, Categorical):
                raise CounterleafError(f"{self}: feature {feature.name!r} has categories without an order; use allow or forbid")
            else:
                out += self._level_box(feature, at.start, sources[:, at].argmax(axis=1))
        return out

    def _number_box(self, feature: Numeric, at: slice, sources: Array) -> Box:
        """The bounds of a number; it must not be missing, unless it has nothing to increase or decrease and stays missing.

        A percentage of a missing number is 0, so that it stays missing.
        """
        for end in (self.lower, self.upper):
            if isinstance(end, (str, bytes)):
                raise CounterleafError(f"{self}: feature {feature.name!r} is a number; {end!r} is not")
        value = sources[:, at.start]
        low = _from(feature, self.lower, value) if self.from_lower else float(self.lower)
        high = _from(feature, self.upper, value) if self.from_upper else float(self.upper)
        if at.stop == at.start + 1:
            return [Interval(at.start, low, high)]
        gap = sources[:, at.start + 1]
        if not self.relative or not gap.any():
            return [Interval(at.start, low, high), Interval(at.start + 1, 0.0, 0.0)]
        if any(not isinstance(end, Percent) and end > 0 for end in (self.lower, opposite(self.upper))):
            raise CounterleafError(
                f"{self}: feature {feature.name!r} of the row is missing, so it has no number to compare with; use between"
            )
        lower, upper = np.where(gap > 0, -math.inf, low), np.where(gap > 0, math.inf, high)
        return [Interval(at.start, lower, upper), Interval(at.start + 1, gap, gap)]

    def _level_box(self, feature: Finite, start: int, source_level: Array) -> Box:
        """Rule out the levels of an ordered feature beyond the bounds, for each source."""
        count = len(feature.values)
        for end in (self.lower, self.upper):
            if isinstance(end, Percent):
                raise CounterleafError(
                    f"{self}: feature {feature.name!r} has levels, so {end!r} is not defined; give a number of levels"
                )
        if (source_level == count).any():
            raise CounterleafError(
                f"{self}: feature {feature.name!r} of the row is missing, so it has no level to compare with; use allow"
            )
        first = source_level + self.lower if self.from_lower else self._level(feature, self.lower)
        last = source_level + self.upper if self.from_upper else self._level(feature, self.upper)
        if not self.relative and first > last:
            raise CounterleafError(f"{self}: no level lies between; the levels are {some(feature.values)}")
        out: Box = []
        for k in range(feature.size):
            left = np.broadcast_to((first <= k) & (k <= last) & (k < count), len(source_level))
            if not left.all():
                out.append(Interval(start + k, 0.0, np.where(left, 1.0, 0.0)))
        return out

    def _level(self, feature: Finite, end: Any) -> float:
        """The position of a level, or infinity for an open side."""
        return end if isinstance(end, float) and math.isinf(end) else float(self.place(feature, end))

    def to_json(self) -> dict[str, Any]:
        name = name_out(self.names)
        if not self.relative:
            if self.lower == self.upper:
                return {"fix": name, "value": short(self.lower)}
            ends = {key: end for key, end in (("lower", self.lower), ("upper", self.upper)) if not _is_open(end)}
            if not ends:
                raise ValueError("it has no bound")
            return {"between": name, **short(ends)}
        if self.from_lower and self.from_upper and self.lower == self.upper == 0:
            return {"freeze": name}
        low = _distance_out(self.lower) if self.from_lower else None
        high = _distance_out(self.upper) if self.from_upper else None
        if self.words.startswith("within("):
            return {"within": name, **present({"from": low, "to": high})}
        if self.from_lower and size_of(self.lower) >= 0:
            return {"only_increase": name, **present({"by": low or None, "at_most": high})}
        most = _distance_out(opposite(self.lower)) if self.from_lower else None
        return {"only_decrease": name, **present({"by": _distance_out(opposite(self.upper)) or None, "at_most": most})}

    def in_words(self, schema: Schema) -> str:
        names = ", ".join(self.features(schema))
        if self.is_frozen:
            return f"unchanged: {names}" if len(self.names) > 1 else f"{names} must not change"
        if not self.relative:
            if self.lower == self.upper:
                return f"{names} must be {value_words(self.lower)}"
            ends = [f"at least {value_words(self.lower)}"] * (self.lower != -math.inf)
            ends += [f"at most {value_words(self.upper)}"] * (self.upper != math.inf)
            return f"{names} must be {' and '.join(ends)}"
        low = size_of(self.lower) if self.from_lower else -math.inf
        high = size_of(self.upper) if self.from_upper else math.inf
        if low >= 0:
            return _direction(names, "rise", (self.lower, low), (self.upper, high))
        if high <= 0:
            return _direction(names, "fall", (self.upper, -high), (self.lower, -low))
        ends = [f"fall by at most {_size(self.lower)}"] * (low > -math.inf)
        ends += [f"rise by at most {_size(self.upper)}"] * (high < math.inf)
        return f"{names} may {' or '.join(ends)}"


def _direction(names: str, verb: str, least: tuple[Any, float], most: tuple[Any, float]) -> str:
    limits = [f"by at least {_size(least[0])}"] * (least[1] > 0) + [f"by at most {_size(most[0])}"] * (most[1] < math.inf)
    start = f"{names} must {verb}" if least[1] > 0 else f"{names} may only {verb}"
    return start + (f", {' and '.join(limits)}" if limits else "")


def value_words(value: Any) -> str:
    """Return a value in words; a number has thousands separators."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return word(value)
    return f"{_MINUS * (value < 0)}{_size(value)}"


def _size(value: Any) -> str:
    """A distance without its sign."""
    return f"{abs(value.value):g} %" if isinstance(value, Percent) else f"{abs(value):,.12g}"


def _is_open(end: Any) -> bool:
    return isinstance(end, float) and math.isinf(end)


def _distance_out(end: Any) -> Any:
    """A distance as a file has it: a number, or text such as ``"10%"``."""
    return f"{short(end.value)}%" if isinstance(end, Percent) else short(end)


def size_of(end: float | Percent) -> float:
    """The number of a distance, whether it is a percentage or not."""
    return end.value if isinstance(end, Percent) else end


def opposite(end: Any) -> Any:
    """The same distance in the other direction."""
    return Percent(-end.value) if isinstance(end, Percent) else -end


def _from(feature: Numeric, by: Any, source_value: Array) -> Any:
    """The numbers at distance ``by`` from the source's; if that is 0, the source's numbers bit for bit."""
    if isinstance(by, Percent):
        by = by.of(source_value)
    return np.where(by == 0, source_value, snapped(feature, by + source_value))


def snapped(feature: Numeric, at: Any) -> Any:
    """Numbers moved onto the feature's grid where only rounding separates them from it."""
    grid = feature.grid
    if grid is None:
        return at
    near = np.round(at / float(grid)) * grid.numerator / grid.denominator
    # a large number is many steps, so that a share of it may be more than a step: what counts are its last digits
    slack = np.maximum(np.minimum(ROUNDING * np.abs(at), _OF_A_STEP * float(grid)), 4.0 * np.spacing(np.abs(at)))
    return np.where(np.abs(near - at) <= slack, near, at)


def _distance(value: Any, what: str) -> float | Percent:
    """Check a distance from the source's value: a number, or a percentage such as ``"10%"``."""
    if not isinstance(value, str):
        return number(value, what)
    found = _PERCENT.fullmatch(value.strip())
    if found is None:
        raise CounterleafError(f"{what} is {brief(value)}; expected a number, or a percentage such as '10%'")
    return Percent(number(float(found[1]), what))


def _change_range(verb: str, by: Any, at_most: Any) -> tuple[Any, Any]:
    """Check the smallest and the largest change of a feature: numbers or percentages."""
    least = _distance(by, f"by= of {verb}")
    most = math.inf if at_most is None else _distance(at_most, f"at_most= of {verb}")
    if size_of(least) < 0:
        raise CounterleafError(f"by= of {verb} is {brief(by)}; expected 0 or more")
    if size_of(most) < (size_of(least) if type(most) is type(least) or at_most is None else 0.0):
        low = f"{short(least)!r}" if type(most) is type(least) else "0"
        raise CounterleafError(f"at_most= of {verb} is {brief(at_most)}; expected {low} or more")
    return least, most


@verb(NAMES)
def freeze(*names: Any) -> Limit:
    """Keep the named features at the source's values, bit for bit.

    Parameters
    ----------
    *names : str, int or list
        The features, by name or by position, one by one or in lists.

    Examples
    --------
    >>> freeze("age", "sex")
    freeze('age', 'sex')
    """
    names = feature_names("freeze", names)
    return Limit(call_text("freeze", *names), names, 0.0, 0.0, True, True)


@verb(NAME, {"value": VALUE})
def fix(name: Any, value: Any) -> Limit:
    """Set a feature to one value.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.
    value : float, str or bool
        A number, or one of the feature's values.

    Examples
    --------
    >>> fix("job", "cook")
    fix('job', 'cook')
    """
    name, value = feature_name("fix", name), single_value(value, f"the value to fix {brief(name)} to")
    return Limit(call_text("fix", name, value), (name,), value, value)


@verb(NAME, optional={"lower": _END, "upper": _END})
def between(name: Any, lower: Any = None, upper: Any = None) -> Limit:
    """Bound a number, or an ordered feature by its levels.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.
    lower, upper : float or str, optional
        The bounds, both included: numbers, or levels of an ordered feature. None leaves a side open, and so does infinity.

    Raises
    ------
    CounterleafError
        If both sides are open, a bound is not a number or a level, or the lower bound exceeds the upper one.

    Examples
    --------
    >>> between("age", 18, 65)
    between('age', 18, 65)
    >>> between("age", lower=18)
    between('age', lower=18)
    """
    name, what = feature_name("between", name), f"a bound of {brief(name)}"
    if lower is None and upper is None:
        raise CounterleafError(f"between({brief(name)}) has no bound; pass lower, upper or both")
    both = lower is not None and upper is not None
    texts = [isinstance(end, str) for end in (lower, upper)]
    lower, upper = (
        end if end is None or text else number(end, what, infinite=True)
        for end, text in zip((lower, upper), texts, strict=True)
    )
    words = call_text("between", name, lower, upper) if both else call_text("between", name, lower=lower, upper=upper)
    lower, upper = -math.inf if lower is None else lower, math.inf if upper is None else upper
    if any(texts):
        for end, other in ((lower, upper), (upper, lower)):
            if not isinstance(other, str) and not math.isinf(other):
                raise CounterleafError(
                    f"{what} is {brief(end)}; expected a number, because the other bound is {other:g}, or two levels"
                )
        return Limit(words, (name,), lower, upper)
    if lower > upper or lower == math.inf or upper == -math.inf:
        raise CounterleafError(f"between({brief(name)}, {lower}, {upper}): no number lies between; expected lower <= upper")
    return Limit(words, (name,), lower, upper)


def _read_within(name: Any, **ends: Any) -> Limit:
    return within(name, ends.get("from"), ends.get("to"))


@verb(NAME, optional={"from": _DISTANCE, "to": _DISTANCE}, read=_read_within)
def within(name: Any, lower: Any, upper: Any) -> Limit:
    """Bound the change of a number, or of an ordered feature in levels.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.
    lower, upper : float, str or None
        The least and the greatest change, both included: a number to add to the row's value, or a percentage of its absolute
        value, as in ``"-5%"``. For levels, a number of levels. None leaves a side open.

    Raises
    ------
    CounterleafError
        If both sides are open, an end is not a number or a percentage, or the lower end exceeds the upper one.

    Notes
    -----
    A percentage of 0 is 0. If the number is missing, it stays missing.

    Examples
    --------
    >>> within("income", "-5%", "+10%")
    within('income', '-5%', '10%')
    >>> within("age", 0, 3)
    within('age', 0, 3)
    """
    name = feature_name("within", name)
    if lower is None and upper is None:
        raise CounterleafError(f"within({brief(name)}, None, None) has no limit; pass the least change, the greatest, or both")
    ends = [None if end is None else _distance(end, f"a limit of within({brief(name)})") for end in (lower, upper)]
    low, high = ends
    if low is not None and high is not None and type(low) is type(high) and size_of(low) > size_of(high):
        came = f"within({brief(name)}, {brief(lower)}, {brief(upper)})"
        raise CounterleafError(f"{came}: no change lies between; expected lower <= upper")
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    return Limit(call_text("within", name, *ends), (name,), low, high, lower is not None, upper is not None)


@verb(NAMES, optional=_DIRECTED)
def only_increase(*names: Any, by: float | str = 0.0, at_most: float | str | None = None) -> Limit:
    """Let the named features keep their value or increase.

    Parameters
    ----------
    *names : str, int or list
        The features, by name or by position, one by one or in lists: numbers, or features with ordered levels.
    by : float or str, default 0
        The smallest increase; above 0 the features must change. A number, or a percentage of the absolute value of the row's
        number, as in ``"5%"``. For levels, a number of levels.
    at_most : float or str, optional
        The largest increase, in the same way. By default it is not limited.

    Raises
    ------
    CounterleafError
        If no feature is named, if ``by`` is negative, or if ``at_most`` is less than ``by``.

    Notes
    -----
    A percentage of 0 is 0. If the number is missing, it stays missing.

    Examples
    --------
    >>> only_increase("age", by=2, at_most=10)
    only_increase('age', by=2, at_most=10)
    >>> only_increase("income", at_most="10%")
    only_increase('income', at_most='10%')
    """
    names, (least, most) = feature_names("only_increase", names), _change_range("only_increase", by, at_most)
    shown = call_text("only_increase", *names, by=least or None, at_most=None if at_most is None else most)
    return Limit(shown, names, least, most, True, at_most is not None)


@verb(NAMES, optional=_DIRECTED)
def only_decrease(*names: Any, by: float | str = 0.0, at_most: float | str | None = None) -> Limit:
    """Let the named features keep their value or decrease.

    Parameters
    ----------
    *names : str, int or list
        The features, by name or by position, one by one or in lists: numbers, or features with ordered levels.
    by, at_most : float or str, optional
        The smallest and the largest decrease, as in ``only_increase``.

    Examples
    --------
    >>> only_decrease("debt", at_most=500)
    only_decrease('debt', at_most=500)
    """
    names, (least, most) = feature_names("only_decrease", names), _change_range("only_decrease", by, at_most)
    shown = call_text("only_decrease", *names, by=least or None, at_most=None if at_most is None else most)
    return Limit(shown, names, opposite(most), opposite(least), at_most is not None, True)
