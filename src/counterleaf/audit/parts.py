"""The work on one part: read its rows, find the answers, write them atomically. Every engine runs the same task."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from counterleaf.audit.checking.proofs import PROOF_SCHEMA, explain_rows, proofs_of
from counterleaf.audit.folder import KEY, Folder, replacing
from counterleaf.audit.inputs import Input
from counterleaf.audit.plan import PLACE, Part, Unit
from counterleaf.audit.reading.source import Content, Form, batches, read
from counterleaf.batch.arrow.step import ArrowStep
from counterleaf.core.stopping import StoppedError
from counterleaf.table.arrow.output import with_problems
from counterleaf.table.features import Feature

COUNTS = ("rows", "already", "can", "cannot", "open", "invalid", "unconfirmed")
_ENCODED = ("file", "leaf", "n_changed")  # columns with few different values, in addition to text


@dataclass(frozen=True, slots=True)
class PartRecord:
    """What a finished part reports: its number, and its rows by the kind of their answer."""

    number: int
    counts: dict[str, int]


@dataclass(frozen=True)
class Task:
    """All that a worker needs to do any part of an audit; it can be pickled.

    Parameters
    ----------
    folder : str
        The folder of the audit.
    run : str
        The hash of the run.
    step : ArrowStep
        The question.
    inputs : tuple of Input
        The files.
    forms : tuple of Form
        Their columns.
    proofs : bool
        Whether the proofs are kept.
    """

    folder: str
    run: str
    step: ArrowStep
    inputs: tuple[Input, ...]
    forms: tuple[Form, ...]
    proofs: bool = False

    def do(self, unit: Unit, stopped: Callable[[], bool] = lambda: False) -> Iterator[PartRecord]:
        """Do the parts of a unit, and yield a record for each once its file is complete.

        Parameters
        ----------
        unit : Unit
            The parts.
        stopped : callable, optional
            Whether the work is no longer needed.
        """
        for part, content in self.contents(unit):
            yield self.finish(part, content, stopped)

    def contents(self, unit: Unit) -> Iterator[tuple[Part, Content]]:
        """Yield the parts of a unit with their rows as they are read.

        Parameters
        ----------
        unit : Unit
            The parts.
        """
        source = self.inputs[unit.parts[0].file]
        by_row = {part.span.row: part for part in unit.parts}
        for span, content in read(source, [part.span for part in unit.parts], list(self.wanted)):
            yield by_row[span.row], content

    def finish(self, part: Part, content: Content, stopped: Callable[[], bool] = lambda: False) -> PartRecord:
        """Find the answers for the rows of a part and write them.

        Parameters
        ----------
        part : Part
            The part.
        content : object
            Its rows, from ``contents``.
        stopped : callable, optional
            Whether the work is no longer needed; it is called after each batch of rows.

        Raises
        ------
        StoppedError
            If it is not.
        """
        answers, proofs, row = [], [], part.span.row
        for batch, problems in batches(self.inputs[part.file], self.forms[part.file], part.span, content, self.wanted):
            texts: dict[int, str] = {}
            same = self.proofs and self.step.is_limited  # two searches may differ: the answer is that of the proof
            found = self.answered(batch, problems, explain_rows(self.step, batch, texts) if same else None)
            if self.proofs:
                proofs.append(proofs_of(self.step, batch, found, texts, (part.file, row)))
            place = [_same(part.file, batch.num_rows), pa.array(np.arange(row, row + batch.num_rows))]
            answers.append(pa.RecordBatch.from_arrays([*place, *found.columns], schema=self.schema))
            row += batch.num_rows
            if stopped():
                raise StoppedError
        table = pa.Table.from_batches(answers, self.schema)
        record, folder = PartRecord(part.number, count(table)), Folder(self.folder)
        if self.proofs:
            self._write(folder.proofs(part.number), pa.Table.from_batches(proofs, PROOF_SCHEMA), record)
        self._write(folder.part(part.number), table, record)
        return record

    def answered(self, batch: Any, problems: dict[int, str], explained: Iterable[Any] | None = None) -> Any:
        """Return the answers for some rows: all columns of a part but their place.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
            The rows.
        problems : dict
            The reasons for those that cannot be read, by position.
        explained : iterable, optional
            Their explanations, see ``ArrowStep.write``; by default they are explained now.
        """
        found = self.step(batch) if explained is None else self.step.write(batch, explained)
        return with_problems(found, problems, len(self.step.schema) - len(self.step.answers)) if problems else found

    def _write(self, path: Any, table: pa.Table, record: PartRecord) -> None:
        about = {"run": self.run, "part": record.number, "counts": record.counts}
        table = table.replace_schema_metadata({KEY: json.dumps(about, sort_keys=True)})
        encoded = [field.name for field in table.schema if field.name in _ENCODED or _is_text(field)]
        with replacing(path) as part:
            parquet.write_table(
                table,
                part,
                row_group_size=max(1, len(table)),
                compression="zstd" if "proof" in table.schema.names else "snappy",
                use_dictionary=encoded,
                column_encoding={"row": "DELTA_BINARY_PACKED"},
                write_statistics=False,
                write_page_checksum=True,
            )

    @property
    def schema(self) -> pa.Schema:
        """The columns of a part."""
        return pa.schema([*PLACE, *self.step.schema])

    @property
    def wanted(self) -> dict[str, Feature | None]:
        """The columns to read: the features, then other columns that are kept."""
        features: dict[str, Feature | None] = {feature.name: feature for feature in self.step.explainer.schema}
        return {**features, **{name: None for name in (self.step.keep or pa.schema([])).names if name not in features}}


def _is_text(field: pa.Field) -> bool:
    """Whether a column holds text of which there are few, unlike proofs."""
    return bool(pa.types.is_string(field.type)) and field.name != "proof"


def _same(value: int, n: int) -> pa.Array:
    return pa.array(np.full(n, value, np.int32))


def count(table: Any) -> dict[str, int]:
    """Return how many answers of a part are of each kind.

    Parameters
    ----------
    table : pyarrow.Table
        The answers.

    Returns
    -------
    dict
        ``already``: rows that have the target; ``can`` and ``cannot`` reach it, both proved; ``open``: the search stopped
        before it had a proof; ``invalid`` rows; ``unconfirmed``: answers that the model does not confirm.
    """
    from pyarrow import compute

    found = table["status"].value_counts().to_pylist()
    kinds = {one["values"]: one["counts"] for one in found}
    same = compute.equal(table["n_changed"], 0)
    if "probability" not in table.schema.names:  # constraints may demand a change of a row that has the target
        same = compute.or_(same, compute.fill_null(compute.equal(table["source_label"], table["label"]), False))
    same = compute.and_(compute.equal(table["status"], "optimal"), same)
    already = int(compute.sum(same.cast(pa.int64())).as_py() or 0)
    unconfirmed = int(compute.sum(compute.invert(table["confirmed"]).cast(pa.int64())).as_py() or 0)
    return {
        "rows": len(table),
        "already": already,
        "can": kinds.get("optimal", 0) - already,
        "cannot": kinds.get("infeasible", 0),
        "open": kinds.get("limit", 0),
        "invalid": kinds.get("invalid", 0),
        "unconfirmed": unconfirmed,
    }
