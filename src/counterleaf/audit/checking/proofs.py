"""The proofs of a part: for every row that was answered, the explanation with its certificate as JSON."""

from __future__ import annotations

import pyarrow as pa

from counterleaf.batch.arrow.step import ArrowStep
from counterleaf.table.arrow.rows import records_of

PROOF_SCHEMA = pa.schema([("file", pa.int32()), ("row", pa.int64()), ("proof", pa.string())])


def proofs_of(step: ArrowStep, rows: pa.RecordBatch, answers: pa.RecordBatch, place: tuple[int, int]) -> pa.RecordBatch:
    """Return the proofs of the answers for some rows; invalid rows have none.

    Parameters
    ----------
    step : ArrowStep
        The question.
    rows, answers : pyarrow.RecordBatch
        The rows and their answers.
    place : tuple of int
        The file and the position of the first row.
    """
    file, first = place
    status = answers.column("status").to_pylist()
    lines = [k for k, one in enumerate(status) if one != "invalid"]
    texts = []
    for row in records_of(rows, step.explainer.schema, lines):
        texts.append(step.explain(row).to_json())
    places = [pa.array([file] * len(lines), pa.int32()), pa.array([first + k for k in lines], pa.int64())]
    return pa.RecordBatch.from_arrays([*places, pa.array(texts, pa.string())], schema=PROOF_SCHEMA)
