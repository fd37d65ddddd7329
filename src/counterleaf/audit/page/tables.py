"""The tables of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from counterleaf.audit.measures import fairness as notions
from counterleaf.audit.measures.comparisons import COST, Comparison
from counterleaf.audit.measures.differences import SHARES, Difference
from counterleaf.audit.measures.group import Group
from counterleaf.audit.page.html import details, paragraph, table
from counterleaf.audit.page.words import MEASURES, as_number, conflict, cost_cells, percent, points, signed, size_in_points
from counterleaf.audit.report.figures import Figures

_SHOWN_FEATURES, _SHOWN_GROUPS, _SHOWN_CONFLICTS = 8, 20, 8
_PRINTED = ("share_has", "share_reaching", "share_cannot", "cost_median", "changes_mean")
_PLAIN = {  # what is compared, before the name of the notion
    notions.IMPACT: "Share with the target, divided by the highest one (adverse impact ratio)",
    notions.EFFECTIVENESS: "Of those without the target, can reach it (FACTS: equal effectiveness)",
    notions.CONDITIONAL: "Mean cost of those who can reach it (FACTS: equal conditional mean recourse)",
    notions.BUDGET: "Reach it at a cost of at most {} (FACTS: equal effectiveness within budget)",
    notions.COST_OF: "Cost for {} of those without the target (FACTS: equal cost of effectiveness)",
    notions.CHOICE: "Sets of features that serve {} of those without the target (FACTS: equal choice of recourse)",
}


def of_features(figures: Figures) -> str:
    """Return the table of the model's features: use, values, constraints, prices and missing values."""
    filled = {line["feature"]: line["filled"] for line in figures.features if not line["by"]}
    gaps = any(line["missing"] for line in figures.inputs)
    head = ["Feature", "Used by the model", "Values", "Constraint", "Cost of a change"]
    head += ["Missing (rows)", "Filled in (rows)"] * gaps
    rows = []
    for line in figures.inputs:
        cells = ["yes" if line["used"] else "no", line["values"], line["constraints"] or "none", line["price"]]
        counts = [f"{line['missing']:,}", f"{filled.get(line['feature'], 0):,}"] * gaps
        rows.append([line["feature"], *cells, *counts])
    return table("The features: what the model uses, what may change, and what it costs", head, rows, text=(1, 2, 3, 4))


def of_groups(caption: str, groups: Sequence[Group], full: bool) -> str:
    """Return the table of what became of the rows of each group."""
    more = any(group.open or group.invalid for group in groups)
    head = ["Group", "Rows", "Has target", "Can reach it", "Cannot (proved)", *["Open", "Invalid"] * more]
    head += ["Of those without target, can", "Median cost", "Quartiles", "Changes (mean)"]
    head.append("Cost for half of those without the target")
    lines = []
    for group in groups:
        shares = [group.has, group.can, group.cannot] + [group.open, group.invalid] * more
        reach = percent(group.can / group.affected) if group.affected else "-"
        name = group.name if full else group.label
        lines.append([name, f"{group.rows:,}", *(percent(n / group.rows) for n in shares), reach, *cost_cells(group)])
    return table(f"{caption}: what became of the rows, and the cost of the cheapest change", head, lines)


def of_differences(name: str, found: Sequence[Difference]) -> str:
    """Return the table of the clear differences, and the others folded."""
    shown = [one for one in found if one.measure in _PRINTED]
    clear, rest = [one for one in shown if one.clear], [one for one in shown if not one.clear]
    caption = f"between the groups by {name}; shares in percentage points"
    out = _difference_table(f"Clear differences {caption}", clear) if clear else paragraph("None is clear.")
    if not rest:
        return out
    folded = _difference_table(f"Differences that are not clear {caption}", rest)
    return out + details(
        f"{len(rest):,} {'difference that is' if len(rest) == 1 else 'differences that are'} not clear", folded
    )


def _difference_table(caption: str, found: Sequence[Difference]) -> str:
    lines = [[MEASURES[one.measure].capitalize(), one.group, one.other, *_difference_cells(one)] for one in found]
    head = ["Figure", "Group", "Compared with", "Group's value", "Other value", "Difference", "95 % interval"]
    return table(caption, head, lines, text=(1, 2))


def _difference_cells(one: Difference) -> list[str]:
    share = one.measure in SHARES
    value = percent if share else as_number

    def gap(x: float) -> str:
        return points(x) if share else signed(float(f"{x:.3g}"))

    ends = "too few rows" if math.isnan(one.low) else f"{gap(one.low)} to {gap(one.high)}"
    return [value(one.value), value(one.other_value), gap(one.difference), ends]


def of_fairness(figures: Figures, name: str, labels: Sequence[str], lines: Sequence[dict[str, Any]]) -> str:
    """Return the table of the notions of fairness, one line each."""
    least = figures.settings.min_rows
    keys = dict.fromkeys((line["notion"], _key(line["parameter"])) for line in lines if line["notion"] != notions.TRADE_OFF)
    rows = []
    for notion, parameter in keys:
        same = [line for line in lines if (line["notion"], _key(line["parameter"])) == (notion, parameter)]
        values = {line["group"]: _value(line) for line in same}
        enough = [line["value"] for line in same if line["rows"] >= least]
        cells = [values.get(label, "-") for label in labels]
        shown = "" if parameter is None else as_number(parameter) if notion == notions.BUDGET else f"{100 * parameter:g} %"
        rows.append([_PLAIN[notion].format(shown), *cells, _spread(notion, enough)])
    out = table(f"Recourse fairness for the groups by {name}", ["Figure", *labels, "Largest difference"], rows, wide=(0,))
    return out + _trade_offs([line for line in lines if line["notion"] == notions.TRADE_OFF and line["rows"] >= least])


def _key(parameter: float) -> float | None:
    return None if math.isnan(parameter) else parameter


def _value(line: dict[str, Any]) -> str:
    if line["notion"] == notions.IMPACT:
        return f"{line['value']:.2f}"
    if line["notion"] == notions.CHOICE:
        low, high = line["low"], line["high"]
        return f"{low:g}" if low == high else "too few rows" if math.isnan(low) else f"{low:g} to {high:g}"
    return percent(line["value"]) if line["notion"] in (notions.EFFECTIVENESS, notions.BUDGET) else as_number(line["value"])


def _spread(notion: str, values: Sequence[float]) -> str:
    """Return the largest difference between groups with enough rows."""
    finite = [value for value in values if not math.isnan(value)]
    if len(finite) < 2 or notion == notions.CHOICE:  # counts with their uncertainty are not subtracted
        return "-"
    if any(map(math.isinf, finite)):
        return "-" if all(map(math.isinf, finite)) else "not reachable for some"
    gap = max(finite) - min(finite)
    if notion == notions.IMPACT:
        return f"{gap:.2f}"
    return f"{size_in_points(gap)} points" if notion in (notions.EFFECTIVENESS, notions.BUDGET) else as_number(gap)


def _trade_offs(lines: Sequence[dict[str, Any]]) -> str:
    if not lines:
        return ""
    most = max(lines, key=lambda line: abs(line["value"]))
    first, second = (most["group"], most["other"]) if most["value"] >= 0 else (most["other"], most["group"])
    start = "Distance of the curves (FACTS: fair effectiveness-cost trade-off)"
    if not most["value"]:
        return paragraph(f"{start}: the curves of all groups are the same.")
    return paragraph(
        f"{start}: the largest one is {size_in_points(most['value'])} percentage points. At a cost of "
        f"{as_number(most['parameter'])}, that many more of {first} than of {second} reach the target."
    )


def of_ways(name: str, labels: Sequence[str], lines: Sequence[dict[str, Any]]) -> str:
    """Return the table of the sets of features that reach the target."""
    shares = {(line["features"], line["group"]): line for line in lines}
    sets = dict.fromkeys(line["features"] for line in lines)
    examined = {line["group"]: line["examined"] for line in lines}
    rows = [[one, *(_way(shares.get((one, label))) for label in labels)] for one in sets]
    head = ["Only these features change", *(f"{label} ({examined.get(label, 0):,} examined)" for label in labels)]
    caption = f"By {name}: the share of the rows without the target that reach it in this way, with its 95 % interval"
    return table(caption, head, rows)


def _way(line: dict[str, Any] | None) -> str:
    if line is None or math.isnan(line["low"]):
        return "too few rows"
    return f"{percent(line['share'])} ({100 * line['low']:.0f} to {100 * line['high']:.0f})"


def of_changes(caption: str, lines: Sequence[dict[str, Any]]) -> str:
    """Return the table of the features that change."""
    grouped, finite = any(line["by"] for line in lines), any(line["new_values"] for line in lines)
    filled, removed = any(line["filled"] for line in lines), any(line["removed"] for line in lines)
    shown: list[list[str]] = []
    counts: dict[str, int] = {}
    for line in lines:
        counts[line["group"]] = counts.get(line["group"], 0) + 1
        if counts[line["group"]] > _SHOWN_FEATURES:
            continue
        number = not math.isnan(line["median"])
        middle = f"{signed(line['q25'])} to {signed(line['q75'])}" if number else "-"
        median = signed(line["median"]) if number else "-"
        cells = [line["feature"], f"{line['rows']:,}", percent(line["share"]), median, middle]
        cells += [f"{line['filled']:,}"] * filled + [f"{line['removed']:,}"] * removed + [line["new_values"] or "-"] * finite
        shown.append([line["group"], *cells] if grouped else cells)
    if not shown:
        return ""
    head = ["Group"] * grouped + ["Feature", "Rows", "Share", "Median difference", "Quartiles"]
    head += ["Missing, filled in"] * filled + ["Becomes missing"] * removed + ["Most frequent new values"] * finite
    wide = (len(head) - 1,) if finite else ()
    title = f"{caption}: features that change, among the rows that can reach the target"
    return table(title, head, shown, wide=wide, text=(1,) if grouped else ())


def of_comparisons(found: Sequence[Comparison]) -> str:
    """Return the table of the significant comparisons, the largest effects first."""
    head = ["Group", "Figure", "Rows", "Group's value", "Rest", "Effect", "p (Holm)", "Test"]
    lines = []
    for one in found[:_SHOWN_GROUPS]:
        value = as_number if one.figure == COST else percent
        cells = [one.name, one.figure, f"{one.rows:,}", value(one.value), value(one.rest_value), points(one.effect)]
        lines.append([*cells, "< 0.0001" if one.adjusted < 1e-4 else f"{one.adjusted:.2g}", one.test])
    note = (
        "The value is a share, or the median cost. The effect is the difference of the shares in percentage points; for costs, "
        "it is how much more often a row of the group is dearer than another row than cheaper, in percentage points. A pair of "
        "groups may differ because one of its columns does."
    )
    more = len(found) - _SHOWN_GROUPS
    rest = f" {more:,} more significant comparisons are in the table of the search next to this page." if more > 0 else ""
    return table("The groups that differ most from the rest", head, lines, wide=(0,), text=(1,)) + paragraph(
        note + rest, "quiet"
    )


def of_conflicts(figures: Figures) -> str:
    """Return the sets of constraints in the way under letters, and for each group the share of its rows in the way of each."""
    assert figures.conflicts is not None
    sets, total = figures.conflicts.common(), len(figures.conflicts.rows)
    letters = [chr(ord("A") + k) for k in range(min(len(sets), _SHOWN_CONFLICTS))]
    rows = [
        [letter, conflict(figures, one), f"{count:,}", percent(count / total)]
        for letter, (one, count) in zip(letters, sets, strict=False)
    ]
    out = table("The smallest sets of constraints in the way", ["Set", "Constraints", "Rows", "Share"], rows, wide=(1,))
    if more := len(sets) - len(letters):
        out += paragraph(f"{more:,} other {'set is' if more == 1 else 'sets are'} in the table next to this page.", "quiet")
    lines = [line for grouping in figures.by for line in figures.conflicts.lines(grouping)]
    lines = [line for line in lines if line["examined"] >= figures.settings.min_rows]
    if not lines:
        return out
    place = {figures.conflicts.text(one): letter for letter, (one, _) in zip(letters, sets, strict=False)}
    cells: dict[tuple[str, int], dict[str, float]] = {}
    for line in lines:
        key = f"{line['by']} = {line['group']}", line["examined"]
        letter = place.get(line["constraints"], "Other")
        cells.setdefault(key, {})[letter] = cells.get(key, {}).get(letter, 0.0) + line["share"]
    columns = letters + ["Other"] * (len(sets) > len(letters))
    body = [[name, f"{n:,}", *(percent(shares.get(one, 0.0)) for one in columns)] for (name, n), shares in cells.items()]
    head = ["Group", "Examined", *columns]
    return out + table("The share of each group's examined rows by the set in the way", head, body)
