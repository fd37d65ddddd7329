"""The report as one page that needs no other file, and as part of a notebook."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from counterleaf.report.figures import Figures
from counterleaf.report.measures import fairness as notions
from counterleaf.report.measures.comparisons import COST, Comparison
from counterleaf.report.measures.differences import SHARES, Difference
from counterleaf.report.measures.group import Group
from counterleaf.report.page import pictures
from counterleaf.report.page.definitions import DEFINITIONS, LIMITS, REFERENCES
from counterleaf.report.page.html import bullets, clean, pairs, paragraph, section, table
from counterleaf.report.page.style import STYLE
from counterleaf.report.page.text import counted, spoken
from counterleaf.report.page.words import MEASURES, as_number, half, percent, points, remarks, signed, summary

_SHOWN_FEATURES, _SHOWN_DIFFERENCES, _SHOWN_GROUPS, _SHOWN_CONFLICTS = 8, 45, 20, 12
_CURVE = "Of the rows without the target, the share that reaches it at a cost of at most the value on the axis."


def page(figures: Figures) -> str:
    """Return the whole page."""
    title = f"Recourse report: {figures.provenance.target}"
    sections = _sections(figures)
    links = "".join(f'<li><a href="#{anchor}">{clean(name)}</a></li>' for anchor, name, _ in sections)
    content = "".join(section(anchor, name, body) for anchor, name, body in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{clean(title)}</title><style>{STYLE}</style></head>\n<body>{pictures.patterns()}<header><h1>{clean(title)}</h1>"
        f"{paragraph(summary(figures), 'lead')}{_told(figures)}</header>"
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>\n<main>{content}</main></body></html>\n'
    )


def fragment(figures: Figures) -> str:
    """Return the report for a notebook: the summary and the table of groups."""
    groups = [figures.whole, *(group for column in figures.groups.values() for group in column)]
    sentences = spoken(figures)
    said = bullets(sentences) if sentences else ""
    return f"<div>{paragraph(summary(figures))}{_groups_table('All rows and the groups', groups, True)}{said}</div>"


def _told(figures: Figures) -> str:
    sentences, notes = spoken(figures), remarks(figures)
    out = bullets(sentences) if sentences else ""
    return out + (f'<div class="note"><strong>Notes</strong>{bullets(notes)}</div>' if notes else "")


def _sections(figures: Figures) -> list[tuple[str, str, str]]:
    out = [("question", "The question", _question(figures)), ("all", "All rows", _whole(figures))]
    for k, (name, groups) in enumerate(figures.groups.items()):
        out.append((f"by-{k}", f"By {name}", _column(figures, name, groups)))
    if figures.pairs:
        body = "".join(_groups_table(f"Pairs of {name}", groups, False) for name, groups in figures.pairs.items())
        out.append(("pairs", "Pairs of groups", body))
    if figures.searched:
        out.append(("search", "The groups that differ most", _search(figures)))
    out.append(("conflicts", "What is in the way", _conflicts(figures)))
    out.append(("definitions", "Definitions", _definitions()))
    out.append(("limits", "What this report does not show", bullets(LIMITS)))
    out.append(("origin", "Origin", _origin(figures)))
    return out


def _question(figures: Figures) -> str:
    asks = (
        "For every row: what is the cheapest change after which the model says the target, within the bounds and constraints?"
    )
    return paragraph(asks) + pairs((name.capitalize(), text) for name, text in figures.provenance.question)


def _whole(figures: Figures) -> str:
    group = figures.whole
    curve = pictures.curves([group], _CURVE)
    lines = [line for line in figures.features if not line["by"]]
    return pictures.bars([group]) + _groups_table("All rows", [group], False) + curve + _features("All rows", lines)


def _column(figures: Figures, name: str, groups: Sequence[Group]) -> str:
    parts = [pictures.bars(groups), _groups_table(f"Groups by {name}", groups, False)]
    curve = pictures.curves(groups, _CURVE)
    parts += ["<h3>Cost</h3>" + curve] if curve else []
    mine = [one for one in figures.differences if one.by == name]
    if mine:
        parts.append("<h3>Differences</h3>" + _differences(name, mine))
    lines = [line for line in figures.fairness if line["by"] == name]
    if lines and len(groups) > 1:
        parts.append("<h3>Recourse fairness</h3>" + _fairness(name, [group.label for group in groups], lines))
    ways = [line for line in figures.choice_lines if line["by"] == name]
    parts += ["<h3>Ways to the target</h3>" + _ways(name, [group.label for group in groups], ways)] if ways else []
    features = [line for line in figures.features if line["by"] == name]
    parts += ["<h3>What has to change</h3>" + _features(f"By {name}", features)] if features else []
    return "".join(parts)


def _groups_table(caption: str, groups: Sequence[Group], full: bool) -> str:
    more = any(group.open or group.invalid for group in groups)
    head = ["Group", "Rows", "Has target", "Can reach it", "Cannot (proved)", *["Open", "Invalid"] * more]
    head += [
        "Without target, can reach",
        "Median cost",
        "Quartiles",
        "Changes (mean)",
        "Half of those without target",
        "Half of group",
    ]
    lines = []
    for group in groups:
        shares = [group.has, group.can, group.cannot] + [group.open, group.invalid] * more
        reach = percent(group.can / group.affected) if group.affected else "-"
        quartiles = f"{as_number(group.quantile(0.25))} to {as_number(group.quantile(0.75))}" if group.can else "-"
        name = group.name if full else group.label
        cost = [as_number(group.quantile(0.5)), quartiles, as_number(group.mean_changes)]
        whole = group.cost_for(0.5, whole=True)
        lines.append(
            [name, f"{group.rows:,}", *(percent(n / group.rows) for n in shares), reach, *cost, half(group), as_number(whole)]
        )
    return table(f"{caption}: what became of the rows, and the cost of the cheapest change", head, lines)


def _differences(name: str, found: Sequence[Difference]) -> str:
    enough = [
        one for one in found if one.measure in ("share_has", "share_reaching", "share_cannot", "cost_median", "changes_mean")
    ]
    shown = enough[:_SHOWN_DIFFERENCES]
    lines = [[MEASURES[one.measure].capitalize(), one.group, one.other, *_difference_cells(one)] for one in shown]
    head = ["Figure", "Group", "Compared with", "Group's value", "Other value", "Difference", "95 % interval"]
    more = paragraph(f"{len(enough) - len(shown):,} more are in the table of differences next to this page.", "quiet")
    caption = f"Differences between the groups by {name}; shares in percentage points"
    return table(caption, head, lines, text=(1, 2)) + (more if len(enough) > len(shown) else "")


def _difference_cells(one: Difference) -> list[str]:
    share = one.measure in SHARES
    value = percent if share else as_number

    def gap(x: float) -> str:
        return points(x) if share else signed(float(f"{x:.3g}"))

    ends = "-" if math.isnan(one.low) else f"{gap(one.low)} to {gap(one.high)}"
    return [value(one.value), value(one.other_value), gap(one.difference), ends]


def _fairness(name: str, labels: Sequence[str], lines: Sequence[dict[str, Any]]) -> str:
    keys = dict.fromkeys(
        (line["notion"], line["parameter"])
        for line in lines
        if line["notion"] != notions.TRADE_OFF and line["parameter"] == line["parameter"]
    )
    plain = [(notion, math.nan) for notion in (notions.EFFECTIVENESS, notions.CONDITIONAL)]
    rows = []
    for notion, parameter in [*plain, *keys]:
        same = [
            line for line in lines if line["notion"] == notion and (parameter != parameter or line["parameter"] == parameter)
        ]
        values = {line["group"]: line["value"] for line in same}
        share = notion in (notions.EFFECTIVENESS, notions.BUDGET)
        cells = [
            ("-" if label not in values else percent(values[label]) if share else as_number(values[label])) for label in labels
        ]
        rows.append([_notion(notion, parameter), *cells, _spread(list(values.values()), share)])
    out = table(f"Notions of fairness for the groups by {name}", ["Notion", *labels, "Largest difference"], rows)
    return out + _trade_offs([line for line in lines if line["notion"] == notions.TRADE_OFF])


def _notion(notion: str, parameter: float) -> str:
    text = notion.capitalize()
    if notion == notions.BUDGET:
        return f"{text} {as_number(parameter)}"
    if notion == notions.CHOICE:
        return f"{text}: sets of features that serve {100 * parameter:g} %"
    return f"{text}, {100 * parameter:g} %" if notion == notions.COST_OF else text


def _spread(values: Sequence[float], share: bool) -> str:
    finite = [value for value in values if not math.isnan(value)]
    if len(finite) < 2:
        return "-"
    if any(map(math.isinf, finite)):
        return "-" if all(map(math.isinf, finite)) else "not reachable for some"
    gap = max(finite) - min(finite)
    return f"{100 * gap:.1f} points" if share else as_number(gap)


def _trade_offs(lines: Sequence[dict[str, Any]]) -> str:
    if not lines:
        return ""
    most = max(lines, key=lambda line: abs(line["value"]))
    first, second = (most["group"], most["other"]) if most["value"] >= 0 else (most["other"], most["group"])
    if not most["value"]:
        return paragraph("Fair effectiveness-cost trade-off: the curves of all groups are the same.")
    return paragraph(
        f"Fair effectiveness-cost trade-off: the largest distance of two curves is {abs(100 * most['value']):.1f} percentage "
        f"points. At a cost of {as_number(most['parameter'])}, that many more of {first} than of {second} reach the target."
    )


def _ways(name: str, labels: Sequence[str], lines: Sequence[dict[str, Any]]) -> str:
    shares = {(line["features"], line["group"]): line["share"] for line in lines}
    sets = dict.fromkeys(line["features"] for line in lines)
    examined = {line["group"]: line["examined"] for line in lines}
    rows = [[one, *(percent(shares.get((one, label), math.nan)) for label in labels)] for one in sets]
    head = ["Only these features change", *(f"{label} ({examined.get(label, 0):,} examined)" for label in labels)]
    return table(f"By {name}: the share of the rows without the target that reach it in this way", head, rows)


def _features(caption: str, lines: Sequence[dict[str, Any]]) -> str:
    shown: list[list[str]] = []
    counts: dict[str, int] = {}
    grouped = any(line["by"] for line in lines)
    for line in lines:
        counts[line["group"]] = counts.get(line["group"], 0) + 1
        if counts[line["group"]] > _SHOWN_FEATURES:
            continue
        number = not math.isnan(line["median"])
        middle = f"{signed(line['q25'])} to {signed(line['q75'])}" if number else "-"
        cells = [
            line["feature"],
            f"{line['rows']:,}",
            percent(line["share"]),
            signed(line["median"]) if number else "-",
            middle,
            line["new_values"] or "-",
        ]
        shown.append([line["group"], *cells] if grouped else cells)
    if not shown:
        return ""
    head = ["Feature", "Rows", "Share", "Median difference", "Quartiles", "Most frequent new values"]
    head = ["Group", *head] if grouped else head
    last = len(head) - 1
    return table(
        f"{caption}: features that change, among the rows that can reach the target",
        head,
        shown,
        wide=(last,),
        text=(1,) if grouped else (),
    )


def _search(figures: Figures) -> str:
    if not figures.comparisons:
        return paragraph(f"No group has {figures.settings.min_rows:,} rows to compare with the rest.")
    shown = figures.comparisons[:_SHOWN_GROUPS]
    head = ["Group", "Figure", "Rows", "Group's value", "Rest", "Effect", "p (Holm)", "Test", "Significant"]
    lines = [_compared_cells(one) for one in shown]
    note = (
        "The value is the share without recourse, or the median cost. The effect is the difference of the shares in percentage "
        "points; for costs, it is how much more often a row of the group is dearer than another row than cheaper, in "
        "percentage points. A pair of groups may differ because one of its columns does."
    )
    return (
        paragraph(counted(figures))
        + table("The groups that differ most from the rest", head, lines, wide=(0,), text=(1,))
        + paragraph(note, "quiet")
    )


def _compared_cells(one: Comparison) -> list[str]:
    value = as_number if one.figure == COST else percent
    p = "< 0.0001" if one.adjusted < 1e-4 else f"{one.adjusted:.2g}"
    yes = "yes" if one.clear else "no"
    return [
        one.name,
        one.figure,
        f"{one.rows:,}",
        value(one.value),
        value(one.rest_value),
        points(one.effect),
        p,
        one.test,
        yes,
    ]


def _conflicts(figures: Figures) -> str:
    found = figures.conflicts
    if figures.whole.cannot == 0:
        return paragraph("Every row without the target can reach it, as far as the searches were completed.")
    if found is None or not len(found.rows):
        return paragraph("The constraints in the way of the rows without recourse were not determined.")
    every = "all of them" if not found.is_sample else f"a random sample of {len(found.rows):,} of them"
    start = (
        f"{found.total:,} rows provably cannot reach the target. For {every}, a smallest set of constraints that leaves no row:"
    )
    lines = [
        [line["constraints"], *([line["group"]] if figures.by else []), f"{line['rows']:,}", percent(line["share"])]
        for line in _listed(figures)
    ]
    head = ["Constraints", *(["Group"] if figures.by else []), "Rows", "Share of the group's"]
    return paragraph(start) + table(
        "The smallest sets of constraints in the way", head, lines, wide=(0,), text=(1,) if figures.by else ()
    )


def _listed(figures: Figures) -> list[dict[str, Any]]:
    """Return the lines of the conflicts that are shown: the most frequent of all rows, and of each group."""
    out: list[dict[str, Any]] = []
    names = {"", *(grouping.name for grouping in figures.by)}
    counts: dict[tuple[str, str], int] = {}
    for line in figures.conflict_lines:
        key = line["by"], line["group"]
        counts[key] = counts.get(key, 0) + 1
        if line["by"] in names and counts[key] <= (_SHOWN_CONFLICTS if not line["by"] else 3):
            out.append({**line, "group": f"{line['by']} = {line['group']}" if line["by"] else line["group"]})
    return out


def _definitions() -> str:
    return pairs(DEFINITIONS) + "<h3>References</h3>" + bullets(REFERENCES)


def _origin(figures: Figures) -> str:
    origin = figures.provenance
    versions = ", ".join(f"{name} {version}" for name, version in origin.versions)
    seed = f"{figures.settings.seed}, for samples and bootstrap"
    return pairs(
        [
            ("Model", origin.model),
            ("SHA-256 of the model", origin.model_hash),
            ("Rows", origin.origin),
            ("Proofs", origin.checked),
            ("Versions", versions),
            ("Seed", seed),
            ("Date", origin.date),
        ]
    )
