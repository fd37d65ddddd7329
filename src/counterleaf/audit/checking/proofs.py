"""The proofs of a part: for every row that was answered, the explanation with its certificate as JSON."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from counterleaf.answer.explanation import Explanation
from counterleaf.batch.arrow.step import ArrowStep
from counterleaf.errors import CounterleafError
from counterleaf.table.arrow.rows import records_of

PROOF_SCHEMA = pa.schema([("file", pa.int32()), ("row", pa.int64()), ("proof", pa.string())])


def explain_rows(
    step: ArrowStep, rows: pa.RecordBatch, texts: dict[int, str] | None = None
) -> Iterator[Explanation | CounterleafError]:
    """Yield the explanation of each row, or the reason why there is none."""
    for k, row in enumerate(records_of(rows, step.explainer.schema, list(range(rows.num_rows)))):
        try:
            found = step.explain(row)
            if texts is not None:
                texts[k] = found.to_json()
            yield found
        except CounterleafError as error:
            yield error


def proofs_of(
    step: ArrowStep, rows: pa.RecordBatch, answers: pa.RecordBatch, texts: dict[int, str], place: tuple[int, int]
) -> pa.RecordBatch:
    """Return the proofs of the answers for some rows; invalid rows have none."""
    file, first = place
    status = answers.column("status").to_pylist()
    lines = [k for k, one in enumerate(status) if one != "invalid"]
    if not texts:
        found = records_of(rows, step.explainer.schema, lines)
        texts = {k: step.explain(row).to_json() for k, row in zip(lines, found, strict=True)}
    places = [pa.array([file] * len(lines), pa.int32()), pa.array([first + k for k in lines], pa.int64())]
    return pa.RecordBatch.from_arrays([*places, pa.array([texts[k] for k in lines], pa.string())], schema=PROOF_SCHEMA)
