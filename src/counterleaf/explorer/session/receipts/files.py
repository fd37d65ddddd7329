"""Steps of an exploration as files: a CSV table, JSON with proofs, or an HTML page to print."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

from counterleaf.explorer.session.question import Step, scale_of
from counterleaf.explorer.session.receipts.page import write_page
from counterleaf.table.features import is_missing

_RESULT_COLUMNS = ("cost", "lower_bound", "model_says", "confirmed", "kept", "status")
_QUESTION_COLUMNS = ("table_row", "target", "cost_kind", "scale", "settings")
# a cell that begins so is a formula to a spreadsheet; the last four are the wide forms of = + - @
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def write_file(format: str, steps: list[Step]) -> dict[str, str]:
    """The name, the media type and the text of a file."""
    name = f"counterleaf-{steps[0].scene.key}"
    if format == "csv":
        return {"name": f"{name}.csv", "type": "text/csv", "text": _write_table(steps)}
    if format == "html":
        return {"name": f"{name}.html", "type": "text/html", "text": write_page(steps, name)}
    if len(steps) == 1:
        return {"name": f"{name}.json", "type": "application/json", "text": steps[0].answer.to_json()}
    text = "".join(f"{step.answer.to_json()}\n" for step in steps)
    return {"name": f"{name}.jsonl", "type": "application/jsonl", "text": text}


def _write_table(steps: list[Step]) -> str:
    """A row for each source and each option, with the exact values of the features."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    names = list(dict.fromkeys(name for step in steps for name in step.answer.schema.names))

    def write(*cells: Any) -> None:
        table.writerow([safe_cell(cell) for cell in cells])

    write("step", "row", *names, *_RESULT_COLUMNS, *_QUESTION_COLUMNS)
    for k, step in enumerate(steps, 1):
        source, status = step.answer.source_values, str(step.answer.status)
        settings, goal = "; ".join(step.settings), step.reply["goal"]["text"]
        request = step.posed.request
        question = (request.row, goal, request.cost, scale_of(request), settings)
        write(
            k, "source", *(source.get(name, "") for name in names), 0, "", step.answer.source_label, "", "", status, *question
        )
        for number, c in enumerate(step.answer, 1):
            row = {**source, **{name: new for name, (_, new) in c.changes.items()}}
            kept = "yes" if number - 1 in step.kept else ""
            result = (c.cost, c.lower_bound, c.label, "yes" if c.confirmed else "no", kept, status)
            write(k, number, *(row.get(name, "") for name in names), *result, *question)
    return out.getvalue()


def safe_cell(value: Any) -> Any:
    """A cell of a table: a missing value is empty, and text that a spreadsheet would compute begins with an apostrophe.

    >>> [safe_cell(value) for value in (-1.5, "-1.5", "=1+1", "-", "a=b", None)]
    [-1.5, '-1.5', "'=1+1", "'-", 'a=b', '']
    """
    if is_missing(value):
        return ""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) and not _is_number(value) else value


def _is_number(text: str) -> bool:
    try:
        return text.strip() == text and math.isfinite(float(text))
    except ValueError:
        return False
