"""The report as plain text, as ``print`` shows it."""

from __future__ import annotations

from collections.abc import Sequence

from counterleaf.plot.canvas import short_names
from counterleaf.report.figures import Figures
from counterleaf.report.measures.comparisons import MIN_ROWS
from counterleaf.report.measures.group import Group
from counterleaf.report.page import words

_LISTED = 5  # groups that differ most, and conflicts


def text(figures: Figures) -> str:
    """Return the report as ``print`` shows it."""
    groups = [figures.whole, *(group for column in figures.groups.values() for group in column)]
    parts = [words.summary(figures), "", *_table(groups)]
    sentences = spoken(figures)
    if sentences:
        parts += ["", *sentences]
    parts += _compared(figures)
    parts += _conflicts(figures)
    notes = words.remarks(figures)
    if notes:
        parts += ["", *(f"Note: {note}" for note in notes)]
    return "\n".join(parts)


def _table(groups: Sequence[Group]) -> list[str]:
    head = ["", "rows", "has target", "can", "cannot", "median cost", "quartiles", "changes", "half at"]
    some_open = any(group.open or group.invalid for group in groups)
    head = [*head[:5], "open", "invalid", *head[5:]] if some_open else head
    lines = [head]
    names = short_names([" ".join(group.name.splitlines()) for group in groups])
    for name, group in zip(names, groups, strict=True):
        n = group.rows
        shares = [group.has, group.can, group.cannot] + [group.open, group.invalid] * some_open
        quartiles = f"{words.as_number(group.quantile(0.25))} to {words.as_number(group.quantile(0.75))}" if group.can else "-"
        cells = [name, f"{n:,}", *(words.percent(k / n) for k in shares)]
        cells += [words.as_number(group.quantile(0.5)), quartiles, words.as_number(group.mean_changes), words.half(group)]
        lines.append(cells)
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return [
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))]).rstrip()
        for line in lines
    ]


def spoken(figures: Figures) -> list[str]:
    """Return the largest differences of each column in sentences."""
    out = []
    for name, groups in figures.groups.items():
        mine = [one for one in figures.differences if one.by == name]
        for measure in ("share_has", "share_reaching", "cost_median"):
            found = words.largest(mine, groups, measure)
            if found is not None:
                out.append(words.in_words(found))
    return [" ".join(sentence.splitlines()) for sentence in out]


def counted(figures: Figures) -> str:
    """Return how many comparisons were made, and how many of them are significant."""
    found = figures.comparisons
    clear = sum(one.clear for one in found)
    return (
        f"{len(found):,} comparisons of groups and pairs of groups with the rest, with at least {figures.settings.min_rows:,} "
        f"rows on both sides: {clear:,} {'is' if clear == 1 else 'are'} significant after Holm's correction for all of them "
        "(5 % level)."
    )


def _compared(figures: Figures) -> list[str]:
    if not figures.searched or not figures.comparisons:
        return [] if not figures.searched else ["", f"No group had {MIN_ROWS} rows to compare with the rest."]
    clear = [one for one in figures.comparisons if one.clear][:_LISTED]
    return ["", counted(figures), *(f"  {' '.join(words.compared(one).splitlines())}" for one in clear)]


def _conflicts(figures: Figures) -> list[str]:
    lines = [line for line in figures.conflict_lines if not line["by"]]
    if not lines:
        return []
    examined = lines[0]["examined"]
    out = ["", f"In the way of the rows without recourse ({examined:,} examined):"]
    out += [f"  {line['rows']:,}  {' '.join(line['constraints'].splitlines())}" for line in lines[:_LISTED]]
    return out + [f"  and {len(lines) - _LISTED:,} other sets of constraints"] * (len(lines) > _LISTED)
