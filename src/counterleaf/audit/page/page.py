"""The report as one page that needs no other file, and as part of a notebook."""

from __future__ import annotations

from collections.abc import Sequence

from counterleaf.audit.measures.group import Group
from counterleaf.audit.page import pictures, tables
from counterleaf.audit.page.definitions import LIMITS, REFERENCES, definitions
from counterleaf.audit.page.html import bullets, clean, details, pairs, paragraph, section
from counterleaf.audit.page.style import STYLE
from counterleaf.audit.page.words import counted, findings, remarks, summary
from counterleaf.audit.report.figures import Figures


def page(figures: Figures) -> str:
    """Return the whole page."""
    title = figures.settings.title or f"Recourse report: {figures.provenance.target}"
    note = paragraph(figures.settings.note) if figures.settings.note else ""
    said = remarks(figures)
    notes = f'<div class="note"><strong>Notes</strong>{bullets(said)}</div>' if said else ""
    sections = _sections(figures)
    links = "".join(f'<li><a href="#{anchor}">{clean(name)}</a></li>' for anchor, name, _ in sections)
    content = "".join(section(anchor, name, body) for anchor, name, body in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{clean(title)}</title><style>{STYLE}</style></head>\n<body><header><h1>{clean(title)}</h1>"
        f"{note}{paragraph(summary(figures), 'lead')}{_said(figures)}{notes}</header>"
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>\n<main>{content}</main></body></html>\n'
    )


def fragment(figures: Figures) -> str:
    """Return the report for a notebook: the summary and the table of groups."""
    groups = [figures.whole, *(group for column in figures.groups.values() for group in column)]
    table = tables.of_groups("All rows and the groups", groups, True)
    return f"<div>{paragraph(summary(figures))}{table}{_said(figures)}</div>"


def _said(figures: Figures) -> str:
    sentences = findings(figures)
    return bullets(sentences) if sentences else ""


def _sections(figures: Figures) -> list[tuple[str, str, str]]:
    out = [("question", "The question", _question(figures)), ("all", "All rows", _whole(figures))]
    for k, (name, groups) in enumerate(figures.groups.items()):
        out.append((f"by-{k}", f"By {name}", _column(figures, name, groups)))
    if figures.pairs:
        body = "".join(
            details(f"Pairs of {name} ({len(groups):,})", tables.of_groups(f"Pairs of {name}", groups, False))
            for name, groups in figures.pairs.items()
        )
        out.append(("pairs", "Pairs of groups", body))
    if figures.searched:
        out.append(("search", "The groups that differ most", _search(figures)))
    out.append(("conflicts", "What is in the way", _conflicts(figures)))
    terms = pairs(definitions(of_folder=bool(figures.provenance.files)))
    out.append(("definitions", "Definitions", f"{terms}<h3>References</h3>{bullets(REFERENCES)}"))
    out.append(("limits", "What this report does not show", bullets(LIMITS)))
    out.append(("origin", "Origin", _origin(figures)))
    return out


def _question(figures: Figures) -> str:
    asks = (
        "For every row: what is the cheapest change after which the model says the target, within the values and constraints "
        "below? A row that provably cannot reach the target cannot do so within these."
    )
    code = "".join(f"<li><code>{clean(one)}</code></li>" for one in figures.provenance.code)
    parts = [paragraph(asks), pairs((name.capitalize(), text) for name, text in figures.provenance.question)]
    parts += [details("Cost and constraints as they are written in Python", f"<ul>{code}</ul>"), tables.of_features(figures)]
    return "".join(parts) + bullets(_about_features(figures))


def _about_features(figures: Figures) -> list[str]:
    """Return remarks on the table of features."""
    out = ['A cost of "1 per 5" means that a change by 5, in the units of the table, costs 1. Costs of several changes add up.']
    if figures.schema.inferred:
        out.append(
            "The values are those of the data of the explainer, unless others were given. A row beyond them may keep its own."
        )
    used = {line["feature"]: line["used"] for line in figures.inputs}
    how = {True: "a feature that the model uses", False: "a feature that the model does not use", None: "not a feature"}
    if figures.by:
        out.append("Groups: " + "; ".join(f"{one.name} is {how[used.get(one.name)]}" for one in figures.by) + ".")
    return out


def _whole(figures: Figures) -> str:
    group = figures.whole
    lines = [line for line in figures.features if not line["by"]]
    parts = [pictures.bars([group]), tables.of_groups("All rows", [group], False), pictures.curves([group], group)]
    return "".join(parts) + tables.of_changes("All rows", lines)


def _column(figures: Figures, name: str, groups: Sequence[Group]) -> str:
    parts = [pictures.bars(groups), tables.of_groups(f"Groups by {name}", groups, False)]
    labels = [group.label for group in groups]
    curve = pictures.curves([group for group in groups if group.affected >= figures.settings.min_rows], figures.whole)
    parts += ["<h3>Cost</h3>" + curve] if curve else []
    mine = [one for one in figures.differences if one.by == name]
    if mine:
        parts.append("<h3>Differences</h3>" + tables.of_differences(name, mine))
    lines = [line for line in figures.fairness if line["by"] == name]
    if lines and len(groups) > 1:
        parts.append("<h3>Recourse fairness</h3>" + tables.of_fairness(figures, name, labels, lines))
    ways = [line for line in figures.choice_lines if line["by"] == name]
    if ways:
        folded = details("The share of each group that reaches the target in each way", tables.of_ways(name, labels, ways))
        parts.append("<h3>Ways to the target</h3>" + folded)
    elif figures.whole.can:
        parts.append(paragraph("Ways to the target and equal choice of recourse are not determined for ensembles.", "quiet"))
    features = [line for line in figures.features if line["by"] == name]
    parts += ["<h3>What has to change</h3>" + tables.of_changes(f"By {name}", features)] if features else []
    return "".join(parts)


def _search(figures: Figures) -> str:
    if not figures.comparisons:
        return paragraph(f"No group has {figures.settings.min_rows:,} rows to compare with the rest.")
    clear = [one for one in figures.comparisons if one.clear]
    return paragraph(counted(figures)) + (tables.of_comparisons(clear) if clear else "")


def _conflicts(figures: Figures) -> str:
    found = figures.conflicts
    if figures.whole.cannot == 0:
        return paragraph("Every row without the target can reach it, as far as the searches were completed.")
    if found is None or not len(found.rows):
        return paragraph("The constraints in the way of the rows without recourse were not determined.")
    every = "each of them" if not found.is_sample else f"each of a random sample of {len(found.rows):,} of them"
    start = (
        f"{found.total:,} rows provably cannot reach the target. For {every}, a smallest set of constraints that leaves no "
        "way to the target was determined; if several are equally small, it is one of them. A constraint on several features "
        "counts as one for each feature."
    )
    return paragraph(start) + tables.of_conflicts(figures)


def _origin(figures: Figures) -> str:
    origin = figures.provenance
    versions = ", ".join(f"{name} {version}" for name, version in origin.versions)
    files = [f"{name} ({fingerprint[:16]}...)" for name, fingerprint in origin.files[:8]]
    more = len(origin.files) - len(files)
    listed = ", ".join(files) + (f" and {more:,} more" if more else "")
    about = "a SHA-256 of the size of the file, its first and its last 1,048,576 bytes; in full in the table of the origin"
    return pairs(
        [
            ("Model", origin.model),
            ("SHA-256 of the converted model, which counterleaf reads as JSON", origin.model_hash),
            ("Rows", origin.origin),
            *[("Input files with the beginning of their fingerprints", f"{listed}. A fingerprint is {about}.")] * bool(files),
            ("Proofs", origin.checked),
            ("Versions", versions),
            ("Seed", f"{figures.settings.seed}, for samples and bootstrap"),
            ("Date", origin.date),
        ]
    )
