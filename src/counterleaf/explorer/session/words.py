"""Names, numbers and counts as the page writes them: labels, units, thousands separators, percent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import counterleaf as cl
from counterleaf.answer.short_numbers import plain, round_down
from counterleaf.answer.tree_text import one_line
from counterleaf.table.features import is_missing
from counterleaf.table.words import date_of, grouped, word

_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def label_of(feature: cl.Feature) -> str:
    """The label of a feature, or its name with spaces."""
    return feature.label or (" ".join(feature.name.split()) or feature.name).replace("_", " ")


def one_line_label(feature: cl.Feature) -> str:
    """The label of a feature in one line."""
    return one_line(label_of(feature))


def number_text(value: float, digits: int = 15) -> str:
    """A number with thousands separators and at most this many digits.

    >>> number_text(0.1 + 0.2), number_text(21400.04, 6), number_text(1234567.0, 4)
    ('0.3', '21,400', '1,234,567')
    """
    short = plain(f"{value:.{digits}g}")
    return grouped(short if abs(value) < 10.0**digits else plain(f"{value:.0f}"))


def with_unit(text: str, unit: str | None) -> str:
    """A text with its unit, if there is one."""
    return f"{text} {unit}" if unit else text


def value_text(feature: cl.Feature, value: Any) -> str:
    """A value of a feature with thousands separators and its unit."""
    if isinstance(feature, cl.Numeric) and not is_missing(value):
        return feature_number(feature, plain(f"{float(value):.15g}"))
    return word(value)


def filled_text(feature: cl.Numeric, value: float) -> str:
    """The value that a missing number counts as, which is often a mean, with few digits."""
    few = f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return feature_number(feature, plain(few))


def feature_number(feature: cl.Numeric, digits: str) -> str:
    """The digits of a number of a feature with thousands separators and the unit, or the date; years have no separators."""
    if feature.unit == "date":
        return date_of(float(digits)) or digits
    is_year = "year" in feature.name.lower() and feature.lower >= 1000 and feature.upper < 3000
    return with_unit(digits if is_year else grouped(digits), feature.unit)


def percent(share: float) -> str:
    """A share in percent with two digits; never 0 % or 100 % unless it is that exactly.

    >>> percent(0.026), percent(0.7149), percent(0.0004), percent(0.9996), percent(1.3), percent(0.0)
    ('2.6 %', '71 %', 'under 0.1 %', 'over 99.9 %', '130 %', '0 %')
    """
    if 0.0 < share < 0.001:
        return "under 0.1 %"
    if 0.999 < share < 1.0:
        return "over 99.9 %"
    hundredths = 100.0 * share
    near_end = hundredths < 9.95 or 99.0 < hundredths < 100.0
    return f"{plain(f'{hundredths:.1f}' if near_end else f'{hundredths:.0f}')} %"


def percent_at_most(share: float) -> str:
    """A share in percent with two digits, rounded up.

    >>> percent_at_most(0.714), percent_at_most(0.000349)
    ('72 %', '0.035 %')
    """
    return f"{plain(-round_down(-100.0 * share, 2))} %"


def percent_apart(share: float, ends: Sequence[float | None]) -> str:
    """A share in percent with two digits, or with as many as show on which side of each end it is.

    >>> percent_apart(0.7761, [0.77641]), percent_apart(0.7761, [0.5]), percent_apart(0.8, [0.8]), percent_apart(0.8, [])
    ('77.6 %', '78 %', '80 %', '80 %')
    """
    known = [100.0 * end for end in ends if end is not None]
    is_near_end = share < 0.001 or share > 0.999
    if not is_near_end or not any(abs(100.0 * share - end) < 0.2 for end in known):
        short = percent(share)
        if is_near_end or _is_apart(float(short[:-2]), 100.0 * share, known):
            return short
    written = (f"{100.0 * share:.{digits}f}" for digits in range(1, 14))
    found = next((text for text in written if _is_apart(float(text), 100.0 * share, known)), f"{100.0 * share!r}")
    return f"{plain(found)} %"


def number_apart(value: float, ends: Sequence[float | None] = (), digits: int = 5) -> str:
    """A number with this many digits, or with as many as show on which side of each end it is.

    >>> number_apart(21399.96, [21400.0]), number_apart(21399.96, [20000.0, None])
    ('21,399.96', '21,400')
    """
    known = [end for end in ends if end is not None]
    more = (n for n in range(digits, 16) if _is_apart(float(f"{value:.{n}g}"), value, known))
    return number_text(value, next(more, 15))


def _is_apart(written: float, exact: float, ends: Sequence[float]) -> bool:
    """Whether a written number is on the same side of each end as the exact one; both sides are equal up to rounding."""

    def side(number: float, end: float) -> int:
        tolerance = 1e-12 * max(abs(number), abs(end))
        return (number > end + tolerance) - (number < end - tolerance)

    return all(side(written, end) == side(exact, end) for end in ends)


def count_text(count: int) -> str:
    """A small number as a word.

    >>> count_text(2), count_text(13)
    ('two', '13')
    """
    return _COUNTS[count] if count < len(_COUNTS) else f"{count:,}"


def series(parts: list[str], last: str = "and") -> str:
    """Some texts as an enumeration.

    >>> series(["age", "job", "purpose"]), series(["yes", "no"], "or")
    ('age, job and purpose', 'yes or no')
    """
    return f" {last} ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
