"""Steps of an exploration as files: a table, JSON with proofs, a page to print."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from html import escape
from typing import Any

from counterleaf.answer import text as words
from counterleaf.answer.explanation import Explanation
from counterleaf.explorer.question import Question
from counterleaf.explorer.scene import Scene
from counterleaf.proof.certificate import Status
from counterleaf.table.features import is_missing

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
table { font-variant-numeric: tabular-nums } section { break-inside: avoid }
.row th { text-align: left; font-weight: 400; padding-right: 1.5rem }
"""
_TOLD = ("cost", "lower_bound", "model_says", "confirmed", "status")
_COSTS = {"L1": "the sum of the changes", "L2": "the sum of the squared changes", "mixed": "the changes and their squares"}
_COSTS["Q"] = "the squared changes, and those of neighbours against each other"
_SCALES = {"range": ", each as a share of its range", "std": ", each in standard deviations"}
_SCALES |= {"mad": ", each in median deviations", "none": ", each in its own unit"}


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One question, its answer, and what was wished."""

    scene: Scene
    question: Question
    answer: Explanation
    wished: list[str]
    in_the_way: list[str]  # the wishes of which one has to give
    limit: float | None  # seconds after which the search was stopped

    @property
    def scale(self) -> str:
        """The unit in which changes are counted."""
        return "none" if self.question.cost == "Q" else self.question.spread


def export(format: str, steps: list[Step]) -> dict[str, str]:
    """A file's name, type and text."""
    name = f"counterleaf-{steps[0].scene.key}"
    if format == "csv":
        return {"name": f"{name}.csv", "type": "text/csv", "text": _csv(steps)}
    if format == "html":
        return {"name": f"{name}.html", "type": "text/html", "text": _html(steps)}
    if len(steps) == 1:
        return {"name": f"{name}.json", "type": "application/json", "text": steps[0].answer.to_json()}
    lines = "".join(f"{step.answer.to_json()}\n" for step in steps)
    return {"name": f"{name}.jsonl", "type": "application/jsonl", "text": lines}


def nothing(answer: Explanation, limit: float | None) -> str:
    """Why there is no row, in words for a person who knows no code; ``limit``: seconds, where the clock stopped the search."""
    wanted = " or ".join(map(str, answer.target)) or "anything else"
    if answer.status is Status.LIMIT:
        least = f" Whatever there is costs at least {words.least_of(answer)}." if math.isfinite(answer.lower_bound) else ""
        at = "Stopped" if limit is None else f"Stopped at the limit of {limit:g} s"
        return f"{at} before a change was found that makes the model say {wanted}.{least}"
    return f"No allowed change makes the model say {wanted}. This is proved."


def _csv(steps: list[Step]) -> str:
    """A line for each source and each alternative; features as in the table, exact."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    names = list(dict.fromkeys(name for step in steps for name in step.answer.schema.names))
    table.writerow(["step", "row", *names, *_TOLD, "table_row", "target", "cost_kind", "scale", "asked"])
    for k, step in enumerate(steps, 1):
        q, source, status = step.question, step.answer.source_values, str(step.answer.status)
        asked = [q.row, " or ".join(map(str, step.answer.target)), q.cost, step.scale, "; ".join(_wished(step))]
        table.writerow([k, "source", *_cells(source, names), 0, "", step.answer.source_label, "", status, *asked])
        for number, c in enumerate(step.answer, 1):
            row = {**source, **{name: new for name, (_, new) in c.changes.items()}}
            told = [repr(c.cost), repr(c.lower_bound), c.label, "yes" if c.confirmed else "no", status]
            table.writerow([k, number, *_cells(row, names), *told, *asked])
    return out.getvalue()


def _wished(step: Step) -> list[str]:
    """All that makes this question another one than that of the row as it is in the table."""
    source = step.answer.source_values
    return [f"{name} set to {_cell(source[name])}" for name in step.question.edits] + step.wished


def _cells(row: dict[str, Any], names: list[str]) -> list[Any]:
    return [_cell(row[name]) if name in row else "" for name in names]


def _cell(value: Any) -> Any:
    if is_missing(value):
        return ""
    return repr(value) if isinstance(value, float) else value


def _html(steps: list[Step]) -> str:
    """A page that stands alone: every step with its wishes, its sentence, its table and what is proved."""
    title = f"{' and '.join(dict.fromkeys(step.scene.title for step in steps))}: what would change the answer"
    parts = []
    for k, step in enumerate(steps, 1):
        head = f"Step {k}: " if len(steps) > 1 else ""
        asked = "; ".join(_wished(step)) or "nothing was held fixed"
        goal = " or ".join(map(str, step.answer.target)) or "anything else"
        told = (
            f"Row {step.question.row + 1} of {step.scene.size:,}. The model says {step.answer.source_label}; it should say {goal}. "
            f"Asked: {asked}. Cost: {_COSTS[step.question.cost]}{_SCALES[step.scale]}."
        )
        parts.append(f"<section><h2>{escape(head + step.scene.about)}</h2><p>{escape(told)}</p>{_answered(step)}</section>")
    if all(step.scene.shape is None for step in steps):
        parts += [_whole_row(step) for step in _first_of_each_row(steps)]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>{''.join(parts)}</body></html>"
    )


def _first_of_each_row(steps: list[Step]) -> list[Step]:
    first: dict[Any, Step] = {}
    for step in steps:
        first.setdefault((step.question.row, tuple(step.question.edits.items())), step)
    return list(first.values())


def _whole_row(step: Step) -> str:
    """The row with all its values, for the reader who was not there."""
    lines = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td>{escape(str(_cell(value)))}</td></tr>"
        for name, value in step.answer.source_values.items()
    )
    return f"<section><h2>Row {step.question.row + 1}, as it is</h2><table class='row'>{lines}</table></section>"


def _answered(step: Step) -> str:
    if len(step.answer):
        return words.html(step.answer)
    way = f" These cannot all hold: {'; '.join(step.in_the_way)}." if step.in_the_way else ""
    return f"<p>{escape(nothing(step.answer, step.limit) + way)}</p>"
