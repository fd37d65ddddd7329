"""Numbers, shares and differences in words, for the printed report and for the page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from counterleaf.report.cases import State
from counterleaf.report.figures import Figures
from counterleaf.report.measures.comparisons import COST, MIN_ROWS, Comparison
from counterleaf.report.measures.differences import SHARES, Difference
from counterleaf.report.measures.group import Group

MINUS = "\N{MINUS SIGN}"
MEASURES = {
    "share_has": "already have the target",
    "share_can": "can reach the target",
    "share_cannot": "provably cannot reach the target",
    "share_reaching": "can reach the target, of those without it",
    "cost_median": "median cost",
    "cost_mean": "mean cost",
    "changes_mean": "mean number of changes",
    "half_without_target": "cost at which half of those without the target reach it",
}


def percent(share: float) -> str:
    """Return a share as a percentage that is 0 or 100 only if the share is."""
    if math.isnan(share):
        return "-"
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    return f"{100 * share:.1f} %"


def as_number(value: float) -> str:
    """Return a number with four digits, in full where that is short."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "not reachable"
    if value == 0:
        return "0"
    size = abs(value)
    text = f"{size:,.0f}" if size >= 1000 else f"{size:.4g}" if size >= 1e-4 else f"{size:.3g}"
    return f"{MINUS}{text}" if value < 0 else text


def signed(value: float) -> str:
    """Return a number with its sign."""
    return f"+{as_number(value)}" if value > 0 and math.isfinite(value) else as_number(value)


def points(share: float) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    value = round(100 * share, 1) + 0.0
    return f"{'+' if value > 0 else MINUS if value < 0 else ''}{abs(value):.1f}"


def summary(figures: Figures) -> str:
    """Return the first sentence: of all rows, how many have the target, can reach it, and cannot."""
    group, target = figures.whole, figures.provenance.target
    parts = [f"{percent(group.has / group.rows)} already have the target ({target})"]
    parts.append(f"{percent(group.can / group.rows)} can reach it within the constraints")
    parts.append(f"{percent(group.cannot / group.rows)} provably cannot")
    if group.open:
        parts.append(f"{percent(group.open / group.rows)} are open, because a limit stopped the search")
    if group.invalid:
        parts.append(f"{percent(group.invalid / group.rows)} could not be explained")
    return f"Of {group.rows:,} {'row' if group.rows == 1 else 'rows'}, {', '.join(parts[:-1])} and {parts[-1]}."


def half(group: Group) -> str:
    """Return what is needed for half of the rows without the target."""
    if not group.affected:
        return "nobody needs a change"
    cost = group.cost_for(0.5)
    if math.isnan(cost):
        return "open"
    return "not reachable" if math.isinf(cost) else as_number(cost)


def in_words(one: Difference) -> str:
    """Return a difference as a sentence: "sex = f needs 0.12 more than sex = m; 95 % interval 0.08 more to 0.15 more"."""
    if math.isinf(one.value) or math.isinf(one.other_value):
        what = MEASURES[one.measure]
        values = ", ".join(
            f"{as_number(value)} for {_named(one, label)}"
            for label, value in ((one.group, one.value), (one.other, one.other_value))
        )
        return f"{what[0].upper()}{what[1:]}: {values}."
    return _share_sentence(one) if one.measure in SHARES else _cost_sentence(one)


def _named(one: Difference, label: str) -> str:
    return f"{one.by} = {label}"


def _share_sentence(one: Difference) -> str:
    first, second = _named(one, one.group), _named(one, one.other)
    more = "more" if one.difference >= 0 else "fewer"
    points = f"{abs(100 * one.difference):.1f} percentage points {more}{_interval(one, 100, ('fewer', 'more'))}."
    if one.measure == "share_reaching":
        values = f"{percent(one.value)} with {first} can reach it, against {percent(one.other_value)} with {second}"
        return f"Of the rows without the target, {values}: {points}"
    what, rest = MEASURES[one.measure], f"against {percent(one.other_value)} with {second}"
    return f"{percent(one.value)} of the rows with {first} {what}, {rest}: {points}"


def _cost_sentence(one: Difference) -> str:
    first, second = _named(one, one.group), _named(one, one.other)
    unit = " changes" if one.measure == "changes_mean" else ""
    typical = {"cost_median": "in the median", "half_without_target": "for half of the rows without the target"}
    where = typical.get(one.measure, "on average")
    if one.difference == 0:
        both = f"{first} and {second} need the same {where} ({as_number(one.value)}{unit})"
        return f"{both}{_interval(one, 1, ('less', 'more'))}."
    more = "more" if one.difference > 0 else "less"
    values = f"{as_number(one.value)} against {as_number(one.other_value)}"
    size = three_digits(abs(one.difference))
    return f"{first} needs {size}{unit} {more} than {second} {where} ({values}){_interval(one, 1, ('less', 'more'))}."


def three_digits(value: float) -> str:
    """Return a difference with three digits."""
    return as_number(float(f"{value:.3g}"))


def _interval(one: Difference, scale: int, ways: tuple[str, str]) -> str:
    """Return the interval in words; each end says in which direction it lies if the two differ."""
    if math.isnan(one.low) or math.isnan(one.high):
        return "; no interval"
    ends = [one.low * scale, one.high * scale]
    texts = [f"{abs(end):.1f}" if scale == 100 else three_digits(abs(end)) for end in ends]
    if ends[0] < 0 < ends[1]:
        return f"; 95 % interval {texts[0]} {ways[0]} to {texts[1]} {ways[1]}, so the direction is not certain"
    low, high = texts if ends[0] >= 0 else reversed(texts)
    return f"; 95 % interval {low} to {high}"


def largest(differences: Sequence[Difference], groups: Sequence[Group], measure: str) -> Difference | None:
    """Return the largest difference between two groups of a column with enough rows; None if they are equal."""
    enough = {group.label for group in groups if group.rows >= MIN_ROWS}
    found = [one for one in differences if one.measure == measure and {one.group, one.other} <= enough]
    found = [one for one in found if one.difference and not math.isnan(one.difference)]
    return max(found, key=lambda one: abs(one.difference), default=None)


def compared(one: Comparison) -> str:
    """Return one comparison as a sentence."""
    p = "p < 0.0001" if one.adjusted < 1e-4 else f"p = {one.adjusted:.2g}"
    if one.figure == COST:
        dearer = "more" if one.effect > 0 else "less"
        medians = f"median {as_number(one.value)} against {as_number(one.rest_value)}"
        return f"{one.name}: recourse costs {dearer} than for the rest ({medians}; {p})"
    more = "more often" if one.effect > 0 else "less often"
    return f"{one.name}: no recourse {more} than the rest ({percent(one.value)} against {percent(one.rest_value)}; {p})"


def remarks(figures: Figures) -> list[str]:
    """Return what a reader has to know about the figures: groups, limits, samples, small groups."""
    out, whole, conflicts = list(figures.notes), figures.whole, figures.conflicts
    if whole.counts[State.FOUND]:
        out.append(
            f"{int(whole.counts[State.FOUND]):,} rows reach the target by a change that is not proved to be the cheapest, "
            "because a limit stopped the search: their costs are upper bounds."
        )
    if whole.open:
        out.append(
            f"{whole.open:,} rows are open: the search stopped before it found a change or a proof that there is none. "
            "Shares of rows that reach the target count them as not reaching it."
        )
    if figures.cases.unconfirmed:
        out.append(f"{figures.cases.unconfirmed:,} answers were not confirmed by the model's own prediction.")
    if figures.cases.outside:
        out.append(
            f"{figures.cases.outside:,} rows count as having the target, because the model says it, although the question "
            "would change them: they are outside of the constraints or within the margin, or a change would gain something."
        )
    if figures.cases.kept < 1:
        out.append(
            f"The sizes of the changes come from a random {percent(figures.cases.kept)} of the rows that change; the numbers "
            "of these rows are exact."
        )
    if conflicts is not None and conflicts.is_sample:
        out.append(
            f"The constraints in the way were determined for {len(conflicts.rows):,} of the {conflicts.total:,} rows without "
            "recourse, a random sample."
        )
    small = [group.name for groups in figures.groups.values() for group in groups if group.rows < MIN_ROWS]
    if small:
        listed = ", ".join(small[:6]) + (f" and {len(small) - 6} more" if len(small) > 6 else "")
        out.append(f"Fewer than {MIN_ROWS} rows: {listed}. Figures of such groups say little.")
    if whole.invalid:
        reasons = "; ".join(f"{text} ({count:,})" for text, count in figures.cases.problems)
        out.append(f"{whole.invalid:,} rows could not be explained. The most frequent reasons: {reasons or 'not known'}.")
    if whole.invalid == whole.rows:
        out.append("No row could be explained, so there is nothing to report.")
    elif not whole.affected:
        out.append("Nobody needs a change: all rows that could be explained already have the target.")
    elif not whole.can and not whole.has:
        out.append("No row has the target, and none was found to reach it.")
    for name, groups in figures.groups.items():
        if len(groups) == 1:
            out.append(f"{name} has one group only, so there is nothing to compare.")
    return out
