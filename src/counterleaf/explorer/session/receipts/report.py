"""Steps of an exploration as files: a CSV table, JSON with proofs, or an HTML page to print."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from html import escape
from typing import Any

from counterleaf.answer.explanation import Explanation
from counterleaf.answer.text import html, least_of
from counterleaf.explorer.session.question import Question
from counterleaf.explorer.session.scene import Scene
from counterleaf.proof.certificate import Status
from counterleaf.table.features import is_missing

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
table { font-variant-numeric: tabular-nums } section { break-inside: avoid }
.row th { text-align: left; font-weight: 400; padding-right: 1.5rem }
"""
_RESULT_COLUMNS = ("cost", "lower_bound", "model_says", "confirmed", "status")
_QUESTION_COLUMNS = ("table_row", "target", "cost_kind", "scale", "settings")
_COSTS = {
    "L1": "the sum of the changes",
    "L2": "the sum of the squared changes",
    "mixed": "the sum of the changes and of their squares",
    "Q": "the squared changes and the squared differences between the changes of neighbouring pixels",
}
_SCALES = {
    "range": ", each divided by the range of its feature",
    "std": ", each in standard deviations",
    "mad": ", each in median absolute deviations",
    "none": ", each in the unit of its feature",
}


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A question with its settings, and its answer."""

    scene: Scene
    question: Question
    answer: Explanation
    settings: list[str]
    conflict: list[str]  # the settings that rule out every row together
    stopped_after: float | None  # seconds, if the time limit ended the search

    @property
    def scale(self) -> str:
        """The unit of the changes in the cost."""
        return "none" if self.question.cost == "Q" else self.question.spread

    @property
    def target(self) -> str:
        return _target_text(self.answer)

    @property
    def all_settings(self) -> list[str]:
        """The edits of the row and the settings."""
        source = self.answer.source_values
        return [f"{name} set to {_cell(source[name])}" for name in self.question.edits] + self.settings


def write_report(format: str, steps: list[Step]) -> dict[str, str]:
    """The name, the media type and the text of a file."""
    name = f"counterleaf-{steps[0].scene.key}"
    if format == "csv":
        return {"name": f"{name}.csv", "type": "text/csv", "text": _csv(steps)}
    if format == "html":
        return {"name": f"{name}.html", "type": "text/html", "text": _html(steps)}
    if len(steps) == 1:
        return {"name": f"{name}.json", "type": "application/json", "text": steps[0].answer.to_json()}
    text = "".join(f"{step.answer.to_json()}\n" for step in steps)
    return {"name": f"{name}.jsonl", "type": "application/jsonl", "text": text}


def describe_failure(answer: Explanation, stopped_after: float | None) -> str:
    """A sentence without technical terms that explains why no answer was found.

    Parameters
    ----------
    answer : Explanation
        An explanation without counterfactuals.
    stopped_after : float or None
        The time limit in seconds, if it ended the search.
    """
    target = _target_text(answer)
    if answer.status is Status.LIMIT:
        bound = f" Any such change costs at least {least_of(answer)}." if math.isfinite(answer.lower_bound) else ""
        stopped = "The search stopped" if stopped_after is None else f"The search stopped at the limit of {stopped_after:g} s"
        return f"{stopped} before it found a change that makes the model say {target}.{bound}"
    return f"No allowed change makes the model say {target}. This is proved."


def _target_text(answer: Explanation) -> str:
    return answer.target_text() or "anything else"


def _csv(steps: list[Step]) -> str:
    """A row for each source and each alternative, with the exact values of the features."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    names = list(dict.fromkeys(name for step in steps for name in step.answer.schema.names))
    table.writerow(["step", "row", *names, *_RESULT_COLUMNS, *_QUESTION_COLUMNS])
    for k, step in enumerate(steps, 1):
        source, status = step.answer.source_values, str(step.answer.status)
        question = [step.question.row, step.target, step.question.cost, step.scale, "; ".join(step.all_settings)]
        table.writerow([k, "source", *_cells(source, names), 0, "", step.answer.source_label, "", status, *question])
        for number, c in enumerate(step.answer, 1):
            row = {**source, **{name: new for name, (_, new) in c.changes.items()}}
            result = [repr(c.cost), repr(c.lower_bound), c.label, "yes" if c.confirmed else "no", status]
            table.writerow([k, number, *_cells(row, names), *result, *question])
    return out.getvalue()


def _cells(row: dict[str, Any], names: list[str]) -> list[Any]:
    return [_cell(row[name]) if name in row else "" for name in names]


def _cell(value: Any) -> Any:
    if is_missing(value):
        return ""
    return repr(value) if isinstance(value, float) else value


def _html(steps: list[Step]) -> str:
    """A self-contained page: every step with its settings, its answer and its proof, then the rows in full."""
    title = f"{' and '.join(dict.fromkeys(step.scene.title for step in steps))}: what would change the answer"
    sections = []
    for k, step in enumerate(steps, 1):
        heading = f"Step {k}: {step.scene.about}" if len(steps) > 1 else step.scene.about
        summary = (
            f"Row {step.question.row + 1} of {step.scene.n_rows:,}. "
            f"The model says {step.answer.source_label}; it should say {step.target}. "
            f"Settings: {'; '.join(step.all_settings) or 'none'}. Cost: {_COSTS[step.question.cost]}{_SCALES[step.scale]}."
        )
        sections.append(f"<section><h2>{escape(heading)}</h2><p>{escape(summary)}</p>{_answer_html(step)}</section>")
    if all(step.scene.shape is None for step in steps):
        sections += [_row_html(step) for step in _first_of_each_row(steps)]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>{''.join(sections)}</body></html>"
    )


def _first_of_each_row(steps: list[Step]) -> list[Step]:
    first: dict[Any, Step] = {}
    for step in steps:
        first.setdefault((step.question.row, tuple(step.question.edits.items())), step)
    return list(first.values())


def _row_html(step: Step) -> str:
    """All values of a row, for readers who do not have the table."""
    rows = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td>{escape(str(_cell(value)))}</td></tr>"
        for name, value in step.answer.source_values.items()
    )
    return f"<section><h2>All values of row {step.question.row + 1}</h2><table class='row'>{rows}</table></section>"


def _answer_html(step: Step) -> str:
    if len(step.answer):
        return html(step.answer)
    conflict = f" These settings conflict: {'; '.join(step.conflict)}." if step.conflict else ""
    return f"<p>{escape(describe_failure(step.answer, step.stopped_after) + conflict)}</p>"
