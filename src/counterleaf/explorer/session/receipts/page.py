"""One page to print: who, what the model says, the options, pictures, the proof, and where it comes from.

The page has no scripts and refers to nothing outside. Every text is escaped, and characters that could hide or reorder text
are replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from html import escape
from importlib import metadata
from typing import Any

import counterleaf as cl
from counterleaf.audit.report.provenance import model_hash, now, versions
from counterleaf.core.stopping import raise_if_stopped
from counterleaf.explorer.session.answers.describe import describe_scene
from counterleaf.explorer.session.question import Step, describe_measure
from counterleaf.explorer.session.receipts.pictures import draw_step, draw_track
from counterleaf.explorer.session.words import label_of, series, value_text
from counterleaf.question.words import constraint_words

_STYLE = """
@page { size: A4; margin: 16mm 15mm }
body { font: 14px/1.45 system-ui, sans-serif; color: #1b1d20; background: #fff; max-width: 46rem; margin: 2rem auto }
body { padding: 0 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.5rem; line-height: 1.2; margin: 0 0 .3rem } h2 { font-size: 1.2rem; margin: 1.6rem 0 .4rem }
h3 { font-size: 1rem; margin: 1.1rem 0 .3rem } p { margin: .4rem 0 }
table { border-collapse: collapse; width: 100%; table-layout: fixed; font-variant-numeric: tabular-nums }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #d5d8dc }
th { font-weight: 600 } .facts th { font-weight: 400; color: #575c63; width: 11rem } tr { break-inside: avoid }
.lead { font-size: 1.1rem } .option, figure { break-inside: avoid } .option { margin: .9rem 0 }
.new { color: #8e1b7a; font-weight: 600 } .quiet, figcaption { color: #575c63; font-size: .9em }
figure { margin: .9rem 0 } figure svg { max-width: 100%; max-height: 215mm; height: auto }
.images { display: flex; flex-wrap: wrap; gap: 12px } .images svg { border: 1px solid #d5d8dc }
code { font: .85em ui-monospace, monospace } section + section { break-before: page }
.values { columns: 2; column-gap: 2rem } .values div { display: flex; gap: .5rem; break-inside: avoid; padding: .15rem 0 }
.values div { border-bottom: 1px solid #d5d8dc } .values span:first-child { color: #575c63; flex: 0 0 45% }
td svg { max-width: 100%; height: auto; display: block }
h2, h3 { break-after: avoid }
@media print { body { max-width: none; margin: 0; padding: 0; font-size: 10.5pt } }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ud800-\udfff\ufeff]"
)
_MOST_VALUES = 200  # of a row in full
_LIMITS = (
    "What this page shows is about the model, not about the world: if the row had the new values, the model would say what is "
    "stated here. It does not show that a change is possible or advisable for a person, that it would cause anything else to "
    "change, that the model is right or fair, or that those who use the model will follow it. The proof covers the question as "
    "stated above; other settings can have other answers."
)


def write_page(steps: list[Step], name: str) -> str:
    """Write the page; ``name`` is the file name, without its suffix, of the JSON with the proofs."""
    titles = series(list(dict.fromkeys(step.scene.title for step in steps)))
    several, compared = len(steps) > 1, sum(max(1, len(step.kept)) for step in steps)
    heading = f"{titles}: {compared} answers compared" if compared > 1 else steps[0].scene.about
    parts = [f"<h1>{escape(heading)}</h1>", f'<p class="quiet">{escape(titles)}. Written by counterleaf on {now()}.</p>']
    parts += [_comparison(steps)] if compared > 1 else []
    for k, step in enumerate(steps, 1):
        raise_if_stopped()  # pictures take a moment each
        parts.append(_section(step, k if several else None))
    first: dict[Any, Step] = {}
    for step in steps:
        if step.scene.shape is None:  # images are drawn instead
            first.setdefault((step.scene.key, step.posed.request.row, *step.posed.request.edits.items()), step)
    parts += [_row(step) for step in first.values()]
    parts.append(_origin(steps, name))
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(heading)}</title><style>{_STYLE}</style>'
    )
    page = f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>'
    return _HIDDEN.sub("\ufffd", page.replace(" %", "\u00a0%"))


def _comparison(steps: list[Step]) -> str:
    """One line per option that is kept, or per question with its first option."""
    widths = (12, 14, 14, 20, 22, 18)  # per cent
    lines = [["", "Row", "It should say", "Settings", "Change", "Effort"]]
    for k, step in enumerate(steps, 1):
        ways, what = step.reply["ways"], step.who
        if len({one.scene.key for one in steps}) > 1:
            what = f"{step.scene.title}, {step.who}"
        question = [what, step.reply["goal"]["text"], "; ".join(step.settings) or "none"]
        name = f"Question {k}" if len(steps) > 1 else ""
        if not ways:
            lines.append([name, *question, "none", step.reply["proof"]["text"]])
        for at in [at for at in step.kept or (0,) if at < len(ways)]:
            option = f"{name}, option {at + 1}" if name else f"Option {at + 1}"
            lines.append([option, *question, _changes(step, ways[at]), _effort(ways[at])])
    head, *rows = lines
    cells = "".join(
        f'<th scope="col" style="width:{width}%">{escape(cell)}</th>' for cell, width in zip(head, widths, strict=True)
    )
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<h2>Comparison</h2><table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _effort(way: Any) -> str:
    doubts = ["not proved"] * (not way["proved"]) + ["NOT confirmed by the model"] * (not way["confirmed"])
    return "; ".join([way["effort"]["words"], *doubts])


def _changes(step: Step, way: Any) -> str:
    if step.scene.shape is not None:
        return f"{way['n_changes']} pixels"
    if not way["changes"]:
        return "nothing has to change"
    return "; ".join(f"{change['label']} {change['from']} → {change['to']}" for change in way["changes"])


def _section(step: Step, number: int | None) -> str:
    reply = step.reply
    heading = step.who if number is None else f"Question {number}: {step.scene.title}, {step.who}"
    out = [f"<h2>{escape(heading)}</h2>", f'<p class="lead">{escape(reply["sentence"])}</p>']
    if reply["conflict"]:
        listed = "; ".join(one["description"] for one in reply["conflict"])
        out.append(f"<p>These settings conflict: {escape(listed)}. Change at least one of them.</p>")
    n_rows = f"rows are counted from 0 to {step.scene.n_rows - 1:,}" if step.scene.rows is not None else "the only row"
    facts = [
        ("Row", f"{step.who} ({n_rows})"),
        ("Values that were edited", "; ".join(step.edits)),
        ("The model says", _outcome(reply["source"], step.scene.kind)),
        ("It should say", reply["goal"]["text"]),
        ("What may change", _freedom(step)),
        ("Best answer", describe_measure(step.posed.request)),
        ("Always required", constraint_words(step.scene.constraints, step.answer.schema)),
        ("Missing values", "; ".join(f"{_label(step, name)} counts as {text}" for name, text in reply["imputed"].items())),
    ]
    out.append(_facts(facts))
    ways = reply["ways"]
    out += [_option(step, way, k, len(ways)) for k, way in enumerate(ways)]
    out += [f"<p>{escape(reply['fewer'])}</p>"] if reply["fewer"] else []
    out += [f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>" for caption, svg in draw_step(step)]
    out.append(_proof(step))
    return f"<section>{''.join(out)}</section>"


def _freedom(step: Step) -> str:
    limits = "; ".join(step.reply["settings"])
    every = "every pixel" if step.scene.shape is not None else "every feature"
    return f"{every}, within its range" + (f", with these settings: {limits}" if limits else "")


def _label(step: Step, name: str) -> str:
    return label_of(step.answer.schema.features[step.answer.schema.index(name)])


def _facts(facts: list[tuple[str, str]]) -> str:
    rows = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>' for name, text in facts if text)
    return f'<table class="facts">{rows}</table>'


def _option(step: Step, way: Any, k: int, count: int) -> str:
    says = _outcome(way, step.scene.kind)
    confirmed = f"confirmed: the model says {says}" if way["confirmed"] else "NOT confirmed by the model"
    proved = f"{'proved' if way['proved'] else 'not proved'}: {way['proof']['claim']}"
    title = f"Option {k + 1}{' (kept)' * (k in step.kept)}" if count > 1 else "The change"
    foot = f"Effort: {way['effort']['words']} (cost {way['effort']['cost']}). {_capital(confirmed)}. {_capital(proved)}."
    body = f"<p>{escape(_capital(_changes(step, way)))}</p>"
    if step.scene.shape is None and way["changes"]:
        by_name = {feature["name"]: feature for feature in describe_scene(step.scene)["features"]}
        lines = "".join(
            f'<tr><th scope="row">{escape(change["label"])}</th><td>{escape(change["from"])}</td>'
            f'<td class="new">{escape(change["to"])}</td><td>{escape(change["share_text"])}</td>'
            f"<td>{draw_track(by_name[change['feature']], change)}</td></tr>"
            for change in way["changes"]
        )
        columns = (("Feature", 22), ("Now", 16), ("New", 16), ("By how much", 16), ("Among the data", 30))
        head = "".join(f'<th scope="col" style="width:{width}%">{text}</th>' for text, width in columns)
        body = f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
    return f'<div class="option"><h3>{title}</h3>{body}<p>{escape(foot)}</p></div>'


def _outcome(outcome: Mapping[str, Any], kind: str) -> str:
    number = outcome["number"]
    return f"{outcome['label']} ({number['text']})" if number and kind == "class" else str(outcome["label"])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _proof(step: Step) -> str:
    proof, digest = step.reply["proof"], answer_digest(step)
    bound = f" Every allowed change to the goal costs at least {proof['lower_bound']}." if proof["lower_bound"] else ""
    text = f"{_capital(proof['text'])}.{bound if not proof['proved'] else ''}"
    words = "; ".join(step.reply["question"])
    return (
        f"<h3>Proof</h3><p>{escape(text)}</p><p>Digest of the answer with its proof: <code>{escape(digest)}</code></p>"
        f"<p>The question, as <code>counterleaf verify</code> prints it: <code>{escape(words)}</code></p>"
    )


def answer_digest(step: Step) -> str:
    """The SHA-256 that the JSON of an answer ends with, or why there is none."""
    try:
        return str(json.loads(step.answer.to_json())["digest"])
    except cl.CounterleafError as error:
        return f"not available: {error}"


def _row(step: Step) -> str:
    values = step.answer.source_values
    listed = [feature for feature in step.answer.schema if feature.name in values]
    facts = [(label_of(feature), value_text(feature, values[feature.name])) for feature in listed[:_MOST_VALUES]]
    more = len(listed) - len(facts)
    facts += [(f"and {more:,} more", "")] if more else []
    lines = "".join(f"<div><span>{escape(name)}</span><span>{escape(text)}</span></div>" for name, text in facts)
    edited = ", edited" if step.edits else ""
    return f'<h3>All values of {escape(step.who)}{edited}</h3><div class="values">{lines}</div>'


def _origin(steps: list[Step], name: str) -> str:
    scenes = {step.scene.key: step for step in steps}
    facts = [("Written", now())]
    for step in scenes.values():
        described = describe_scene(step.scene)
        leaves = f"{described['model']}, {described['n_leaves']:,} leaves, {len(described['features']):,} features"
        facts.append((f"Model: {step.scene.title}", f"{leaves}; SHA-256 of its JSON: {model_hash(step.scene.explainer)}"))
    known = dict(versions()) | {"scikit-learn": "not installed"}
    with suppress(metadata.PackageNotFoundError):
        known["scikit-learn"] = metadata.version("scikit-learn")
    facts.append(("Software", ", ".join(f"{what} {version}" for what, version in known.items())))
    file = f"{name}.json" if len(steps) == 1 else f"{name}.jsonl"
    check = (
        f"Export the same question as JSON with the proof. <code>counterleaf verify {escape(file)}</code> checks the proof "
        f"again, without the search that found it; the file ends with the digest that is printed on this page."
    )
    return (
        f"<h2>Where this comes from</h2>{_facts(facts)}<h3>How to verify it</h3><p>{check}</p>"
        f"<h3>What it does not show</h3><p>{escape(_LIMITS)}</p>"
    )
