"""Numbers, shares and differences in words, for the printed report and for the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from counterleaf.audit.measures.comparisons import COST, HAS, Comparison
from counterleaf.audit.measures.differences import SHARES, TOO_FEW, Difference
from counterleaf.audit.measures.group import Group
from counterleaf.audit.measures.searches import NO_CONSTRAINT
from counterleaf.audit.report.cases import State
from counterleaf.audit.report.figures import Figures
from counterleaf.plot.canvas import short_names
from counterleaf.question.words import constraint_words

MINUS = "\N{MINUS SIGN}"
_LISTED = 5  # groups that differ most, and conflicts
MEASURES = {
    "share_has": "already have the target",
    "share_can": "can reach the target",
    "share_cannot": "provably cannot reach the target",
    "share_reaching": "can reach the target, of those without it",
    "cost_median": "median cost",
    "cost_mean": "mean cost",
    "changes_mean": "mean number of changes",
    "half_without_target": "cost for half of those without the target",
}

_FIGURES = {  # of the sentences at the top
    "share_has": "the share with the target",
    "share_reaching": "the share of the others that can reach it",
    "cost_median": "the median cost",
}


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a percentage that is 0 or 100 only if the share is."""
    if math.isnan(share):
        return "-"
    least = 0.1**digits
    if 0 < 100 * share < least:
        return f"< {least:.{digits}f} %"
    if 100 - least < 100 * share < 100:
        return f"> {100 - least:.{digits}f} %"
    return f"{100 * share:.{digits}f} %"


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
    """Return a difference of shares in percentage points, with its sign; it is 0 only if the difference is."""
    return f"{'+' if share > 0 else MINUS if share < 0 else ''}{size_in_points(share)}"


def size_in_points(share: float) -> str:
    """Return the size of a difference of shares in percentage points."""
    size = abs(100 * share)
    return f"{size:.1f}" if size >= 0.05 or not size else f"{size:.1g}"


def summary(figures: Figures) -> str:
    """Return the first sentence: of all rows, how many have the target, can reach it, and cannot."""
    group, target = figures.whole, figures.provenance.target
    parts = [f"{percent(group.has / group.rows)} already have the target ({target})"]
    parts.append(f"{percent(group.can / group.rows)} can reach it within the constraints")
    parts.append(f"{percent(group.cannot / group.rows)} provably cannot")
    if group.open:
        parts.append(f"{percent(group.open / group.rows)} are open, because {_why_open(figures)}")
    if group.invalid:
        parts.append(f"{percent(group.invalid / group.rows)} could not be explained")
    return f"Of {group.rows:,} {'row' if group.rows == 1 else 'rows'}, {', '.join(parts[:-1])} and {parts[-1]}."


def _why_open(figures: Figures) -> str:
    refuted = figures.cases.unconfirmed
    reasons = ["a limit stopped the search"] * (figures.whole.open > refuted)
    return " or ".join(reasons + ["the model does not confirm the change"] * (refuted > 0))


def half(group: Group) -> str:
    """Return what is needed for half of the rows without the target."""
    if not group.affected:
        return "nobody needs a change"
    cost = group.cost_for(0.5)
    return "open" if math.isnan(cost) else as_number(cost)


def cost_cells(group: Group) -> list[str]:
    """Return the cells of a group about the costs and the numbers of its changes."""
    quartiles = f"{as_number(group.quantile(0.25))} to {as_number(group.quantile(0.75))}" if group.can else "-"
    return [as_number(group.quantile(0.5)), quartiles, as_number(group.mean_changes), half(group)]


def in_words(one: Difference) -> str:
    """Return a difference as a sentence: "the median cost is 0.081 with sex = f, against 0.076 with sex = m: 0.005 more"."""
    first, second = (f"{one.by} = {label}" for label in (one.group, one.other))
    share = one.measure in SHARES
    shown = percent if share else as_number
    value, other = shown(one.value), shown(one.other_value)
    gap = "" if math.isnan(one.difference) or math.isinf(one.difference) else f": {_gap(one, one.difference)}{_interval(one)}"
    if one.measure == "share_reaching":
        return f"of the rows without the target, {value} with {first} can reach it, against {other} with {second}{gap}."
    if share:
        return f"{value} of the rows with {first} {MEASURES[one.measure]}, against {other} with {second}{gap}."
    return f"the {MEASURES[one.measure]} is {value} with {first}, against {other} with {second}{gap}."


def _gap(one: Difference, gap: float) -> str:
    """Return a difference with its unit and its direction."""
    if one.measure in SHARES:
        return f"{size_in_points(gap)} percentage points {'more' if gap >= 0 else 'fewer'}"
    return f"{as_number(float(f'{abs(gap):.3g}'))} {'more' if gap >= 0 else 'less'}"


def _interval(one: Difference) -> str:
    """Return the interval in words; each end says in which direction it lies if the two differ."""
    if math.isnan(one.low) or math.isnan(one.high):
        return "; no interval"
    low, high = (_gap(one, end).replace(" percentage points", "") for end in (one.low, one.high))
    if one.high < 0 or one.low > 0:  # the direction once, the end that is nearer to 0 first
        near, far = (low, high) if one.low > 0 else (high, low)
        low, high = near.rpartition(" ")[0], far
    return f"; 95 % interval {low} to {high}"


def findings(figures: Figures) -> list[str]:
    """Return for each column its largest clear differences in sentences, and the figures without a clear difference."""
    out = []
    for name in figures.groups:
        unclear = []
        for measure in ("share_has", "share_reaching", "cost_median"):
            found = [one for one in figures.differences if (one.by, one.measure) == (name, measure) and one.method != TOO_FEW]
            clear = [one for one in found if one.clear]
            if clear:
                how_many = f"the groups of {len(clear)} of {len(found)} pairs differ clearly"
                start = f"{how_many} (not adjusted for their number), these most: " if len(found) > 1 else ""
                out.append(f"By {name}, {start}{in_words(max(clear, key=lambda one: abs(one.difference)))}")
            elif found:
                unclear.append(_FIGURES[measure])
        if unclear:
            out.append(f"By {name}, no clear difference in {_listed(unclear)}: the 95 % intervals contain 0.")
    return [" ".join(sentence.splitlines()) for sentence in out]


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"


def counted(figures: Figures) -> str:
    """Return how many comparisons were made, of what, and how many of them are significant."""
    found, least = figures.comparisons, figures.settings.min_rows
    clear = sum(one.clear for one in found)
    made = "1 comparison" if len(found) == 1 else f"{len(found):,} comparisons"
    how_many = "None" if not clear else "1" if clear == 1 else f"{clear:,}"
    return (
        f"{made} of a group or pair of groups with all other rows, if both have at least {least:,} rows: the share with the "
        f"target, the share without recourse among those without it, and the cost. {how_many} "
        f"{'are' if clear > 1 else 'is'} significant at the 5 % level after Holm's correction for the number of comparisons."
    )


def compared(one: Comparison) -> str:
    """Return one comparison as a sentence."""
    p = "p < 0.0001" if one.adjusted < 1e-4 else f"p = {one.adjusted:.2g}"
    more = "more" if one.effect > 0 else "less"
    if one.figure == COST:
        medians = f"median {as_number(one.value)} against {as_number(one.rest_value)}"
        return f"{one.name}: recourse costs {more} than for the rest ({medians}; {p})"
    what = "has the target" if one.figure == HAS else "no recourse"
    return f"{one.name}: {what} {more} often than the rest ({percent(one.value)} against {percent(one.rest_value)}; {p})"


def remarks(figures: Figures, label: Callable[[str], str] = str, divisions: bool = True) -> list[str]:
    """Return what a reader has to know about the figures: groups, limits, samples, small groups.

    ``label`` returns what a column is called; ``divisions`` says whether to describe how columns are divided into groups.
    """
    out, whole, conflicts = list(figures.notes) if divisions else [], figures.whole, figures.conflicts
    if whole.counts[State.FOUND]:
        out.append(
            f"{int(whole.counts[State.FOUND]):,} rows reach the target by a change that is not proved to be the cheapest, "
            "because a limit stopped the search: their costs are upper bounds."
        )
    if whole.open:
        out.append(
            f"{whole.open:,} rows are open, because {_why_open(figures)}: whether they can reach the target is not known. "
            "Shares of rows that reach the target count them as not reaching it."
        )
    if figures.cases.unconfirmed:
        out.append(f"{figures.cases.unconfirmed:,} answers were not confirmed by the model's own prediction, and do not count.")
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
    out += _about_gaps(figures, label) + _about_small_groups(figures, label)
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
            out.append(f"{label(name)} has one group only, so there is nothing to compare.")
    return out


def conflict(figures: Figures, places: Sequence[int]) -> str:
    """Return a set of constraints in the way in words."""
    assert figures.conflicts is not None
    return constraint_words([figures.conflicts.constraints[k] for k in places], figures.schema) or NO_CONSTRAINT


def _about_gaps(figures: Figures, label: Callable[[str], str]) -> list[str]:
    """Return what happened to missing values."""
    filled = [line for line in figures.features if not line["by"] and line["filled"]]
    if not filled:
        return []
    about = "at least " * (figures.cases.kept < 1)
    counts = ", ".join(f"{label(line['feature'])} in {about}{line['filled']:,} rows" for line in filled)
    fills = figures.schema.fills
    imputed = [f"{label(line['feature'])} {as_number(fills[line['feature']])}" for line in filled if line["feature"] in fills]
    text = f"Changes that fill in a missing value: {counts}. They have no old value and are left out of the sizes of changes."
    text += f" Their costs and limits count from the value that the pipeline imputes: {', '.join(imputed)}." * bool(imputed)
    return [text]


def _about_small_groups(figures: Figures, label: Callable[[str], str]) -> list[str]:
    least = figures.settings.min_rows
    small = [group for groups in figures.groups.values() for group in groups if group.affected < least]
    if not small:
        return []
    listed = ", ".join(f"{label(group.by)} = {group.label} ({group.affected:,})" for group in small[:6])
    more = f" and {len(small) - 6} more" if len(small) > 6 else ""
    return [
        f"Fewer than {least:,} rows without the target: {listed}{more}. Their figures about recourse say little: they have no "
        "intervals and do not count for the largest differences."
    ]


def text(figures: Figures) -> str:
    """Return the report as ``print`` shows it."""
    groups = [figures.whole, *(group for column in figures.groups.values() for group in column)]
    parts = [summary(figures), "", *_table(groups)]
    notes = [f"Note: {' '.join(note.splitlines())}" for note in remarks(figures)]
    for lines in (findings(figures), _compared(figures), _conflicts(figures), notes):
        parts += ["", *lines] if lines else []
    return "\n".join(parts)


def _table(groups: Sequence[Group]) -> list[str]:
    head = ["", "rows", "has target", "can", "cannot", "median cost", "quartiles", "changes", "cost for half"]
    some_open = any(group.open or group.invalid for group in groups)
    head = [*head[:5], "open", "invalid", *head[5:]] if some_open else head
    lines = [head]
    names = short_names([" ".join(group.name.splitlines()) for group in groups])
    for name, group in zip(names, groups, strict=True):
        n = group.rows
        shares = [group.has, group.can, group.cannot] + [group.open, group.invalid] * some_open
        lines.append([name, f"{n:,}", *(percent(k / n) for k in shares), *cost_cells(group)])
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return [
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))]).rstrip()
        for line in lines
    ]


def _compared(figures: Figures) -> list[str]:
    if not figures.searched:
        return []
    if not figures.comparisons:
        return [f"No group has {figures.settings.min_rows:,} rows to compare with the rest."]
    clear = [one for one in figures.comparisons if one.clear][:_LISTED]
    return [counted(figures), *(f"  {' '.join(compared(one).splitlines())}" for one in clear)]


def _conflicts(figures: Figures) -> list[str]:
    found = figures.conflicts
    if found is None:
        return []
    sets = found.common()
    out = [f"In the way of the rows without recourse ({len(found.rows):,} examined):"]
    out += [f"  {count:,}  {' '.join(conflict(figures, one).splitlines())}" for one, count in sets[:_LISTED]]
    more = len(sets) - _LISTED
    return out + [f"  and {more:,} other {'set' if more == 1 else 'sets'} of constraints"] * (more > 0)
