"""Steps as a CSV table with the exact values, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

from counterleaf.explorer.session.receipts.step import Step
from counterleaf.table.features import is_missing

_RESULT_COLUMNS = ("cost", "lower_bound", "model_says", "confirmed", "kept", "status")
_QUESTION_COLUMNS = ("table_row", "target", "cost_kind", "scale", "settings")
# a cell that begins so is a formula to a spreadsheet; the last four are the wide forms of = + - @
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def write_table(steps: list[Step]) -> str:
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
        question = (step.question.row, goal, step.question.cost, step.scale, settings)
        write(k, "source", *_values(source, names), 0, "", step.answer.source_label, "", "", status, *question)
        for number, c in enumerate(step.answer, 1):
            row = {**source, **{name: new for name, (_, new) in c.changes.items()}}
            kept = "yes" if number - 1 in step.kept else ""
            result = (c.cost, c.lower_bound, c.label, "yes" if c.confirmed else "no", kept, status)
            write(k, number, *_values(row, names), *result, *question)
    return out.getvalue()


def _values(row: dict[str, Any], names: list[str]) -> list[Any]:
    return [row.get(name, "") for name in names]


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
