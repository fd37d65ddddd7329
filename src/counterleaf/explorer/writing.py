"""Steps of an exploration as files: a table, JSON with proofs, a page to print."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from html import escape
from typing import Any

from counterleaf import words
from counterleaf.digits import plain, round_down
from counterleaf.explorer.question import Question
from counterleaf.explorer.scene import Scene
from counterleaf.features import is_missing
from counterleaf.result import Explanation
from counterleaf.search import Status

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
table { font-variant-numeric: tabular-nums } section { break-inside: avoid }
"""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One question, its answer, and what was wished."""

    scene: Scene
    question: Question
    answer: Explanation
    wished: list[str]
    in_the_way: list[str]  # the wishes of which one has to give
    limit: float  # seconds


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


def nothing(answer: Explanation, limit: float) -> str:
    """Why there is no row, in words for a person who knows no code."""
    wanted = " or ".join(map(str, answer.target)) or "anything else"
    if answer.status is Status.LIMIT:
        least = f" Whatever there is costs at least {least_of(answer)}." if math.isfinite(answer.lower_bound) else ""
        return f"Stopped at the limit of {limit:g} s before a change was found that makes the model say {wanted}.{least}"
    return f"No allowed change makes the model say {wanted}. This is proved."


def least_of(answer: Explanation) -> str:
    """What every answer costs at least, rounded down: what is written holds as well."""
    return plain(round_down(answer.lower_bound, 4))


def _csv(steps: list[Step]) -> str:
    """A line for each source and each alternative; features as in the table, exact."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    names = list(dict.fromkeys(name for step in steps for name in step.answer.schema.names))
    table.writerow(["step", "row", *names, "cost", "lower_bound", "model_says", "confirmed", "status", "asked"])
    for k, step in enumerate(steps, 1):
        source, status, asked = step.answer.source, str(step.answer.status), "; ".join(step.wished)
        table.writerow([k, "source", *_cells(source, names), 0, "", step.answer.label, "", status, asked])
        for number, c in enumerate(step.answer, 1):
            row = {**source, **{name: new for name, (_, new) in c.changes.items()}}
            told = [repr(c.cost), repr(c.lower_bound), c.label, "yes" if c.verified else "no", status, asked]
            table.writerow([k, number, *_cells(row, names), *told])
    return out.getvalue()


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
        edited = f", edited: {', '.join(step.question.edits)}" if step.question.edits else ""
        asked = "; ".join(step.wished) or "nothing was held fixed"
        told = (
            f"Row {step.question.row + 1} of {step.scene.size:,}{edited}. The model says {step.answer.label}. Asked: {asked}."
        )
        parts.append(f"<section><h2>{escape(head + step.scene.about)}</h2><p>{escape(told)}</p>{_answered(step)}</section>")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>{''.join(parts)}</body></html>"
    )


def _answered(step: Step) -> str:
    if len(step.answer):
        return words.html(step.answer)
    way = f" These cannot all hold: {'; '.join(step.in_the_way)}." if step.in_the_way else ""
    return f"<p>{escape(nothing(step.answer, step.limit) + way)}</p>"
