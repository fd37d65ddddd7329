"""The report as plain text, as ``print`` shows it."""

from __future__ import annotations

from collections.abc import Sequence

from counterleaf.audit.measures.group import Group
from counterleaf.audit.page import words
from counterleaf.audit.report.figures import Figures
from counterleaf.plot.canvas import short_names

_LISTED = 5  # groups that differ most, and conflicts


def text(figures: Figures) -> str:
    """Return the report as ``print`` shows it."""
    groups = [figures.whole, *(group for column in figures.groups.values() for group in column)]
    parts = [words.summary(figures), "", *_table(groups)]
    sentences = words.findings(figures)
    if sentences:
        parts += ["", *sentences]
    parts += _compared(figures)
    parts += _conflicts(figures)
    notes = words.remarks(figures)
    if notes:
        parts += ["", *(f"Note: {' '.join(note.splitlines())}" for note in notes)]
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
        quartiles = f"{words.as_number(group.quantile(0.25))} to {words.as_number(group.quantile(0.75))}" if group.can else "-"
        cells = [name, f"{n:,}", *(words.percent(k / n) for k in shares)]
        cells += [words.as_number(group.quantile(0.5)), quartiles, words.as_number(group.mean_changes), words.half(group)]
        lines.append(cells)
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return [
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))]).rstrip()
        for line in lines
    ]


def _compared(figures: Figures) -> list[str]:
    if not figures.searched:
        return []
    if not figures.comparisons:
        return ["", f"No group has {figures.settings.min_rows:,} rows to compare with the rest."]
    clear = [one for one in figures.comparisons if one.clear][:_LISTED]
    return ["", words.counted(figures), *(f"  {' '.join(words.compared(one).splitlines())}" for one in clear)]


def _conflicts(figures: Figures) -> list[str]:
    found = figures.conflicts
    if found is None:
        return []
    sets = found.common()
    out = ["", f"In the way of the rows without recourse ({len(found.rows):,} examined):"]
    out += [f"  {count:,}  {' '.join(words.conflict(figures, one).splitlines())}" for one, count in sets[:_LISTED]]
    more = len(sets) - _LISTED
    return out + [f"  and {more:,} other {'set' if more == 1 else 'sets'} of constraints"] * (more > 0)
