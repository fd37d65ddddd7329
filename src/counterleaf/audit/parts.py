"""The work on one part: read its rows, find the answers, write them atomically. Every engine runs the same task."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from counterleaf.answer.explanation import Explanation
from counterleaf.audit.checking.sealed import write_sealed, written_schema
from counterleaf.audit.folder import Folder
from counterleaf.audit.inputs import Input
from counterleaf.audit.plan import PLACE, Part, Unit
from counterleaf.audit.reading.source import Content, Form, batches, read
from counterleaf.batch.arrow.step import ArrowStep
from counterleaf.core.stopping import StoppedError
from counterleaf.errors import CounterleafError
from counterleaf.question.query import Value
from counterleaf.table.arrow.output import with_problems
from counterleaf.table.arrow.rows import records_of
from counterleaf.table.features import Feature

COUNTS = ("rows", "already", "can", "cannot", "open", "invalid", "answers", "unconfirmed", "outside")


@dataclass(frozen=True, slots=True)
class PartRecord:
    """What a finished part reports: its number, its rows by the kind of their answer, and the seconds that it took.

    The seconds are 0 for a part that an earlier attempt has finished.
    """

    number: int
    counts: dict[str, int]
    seconds: float = 0.0


@dataclass(frozen=True)
class Task:
    """All that a worker needs to do any part of an audit; it can be pickled."""

    folder: str
    run: str
    step: ArrowStep
    inputs: tuple[Input, ...]
    forms: tuple[Form, ...]
    proofs: bool = False  # whether they are kept
    kept: tuple[str, ...] = ()  # columns of the parts that the step lacks: their types are in inputs that are not at hand

    def do(self, unit: Unit, stopped: Callable[[], bool] = lambda: False) -> Iterator[PartRecord]:
        """Do the parts of a unit, and yield a record for each once its file is complete."""
        begun = time.perf_counter()
        for part, content in self.contents(unit):
            record = self.finish(part, content, stopped)
            begun, before = time.perf_counter(), begun
            yield replace(record, seconds=begun - before)

    def contents(self, unit: Unit) -> Iterator[tuple[Part, Content]]:
        """Yield the parts of a unit with their rows as they are read."""
        for parts in unit.runs(self.inputs):
            source, by_row = self.inputs[parts[0].file], {part.span.row: part for part in parts}
            for span, content in read(source, [part.span for part in parts], list(self.wanted)):
                yield by_row[span.row], content

    def finish(self, part: Part, content: Content, stopped: Callable[[], bool] = lambda: False) -> PartRecord:
        """Find the answers for the rows of a part and write them; ``stopped()`` after a batch ends the work."""
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
        record, folder = PartRecord(part.number, self.count(table)), Folder(self.folder)
        if self.proofs:
            self._write(folder.proofs(part.number), pa.Table.from_batches(proofs, PROOF_SCHEMA), record)
        self._write(folder.part(part.number), table, record)
        return record

    def answered(self, batch: Any, problems: dict[int, str], explained: Iterable[Any] | None = None) -> Any:
        """Return all columns of a part but their place, for some rows; ``explained`` spares the searches."""
        found = self.step(batch) if explained is None else self.step.write(batch, explained)
        return with_problems(found, problems, len(self.step.schema) - len(self.step.answers)) if problems else found

    def _write(self, path: Any, table: pa.Table, record: PartRecord) -> None:
        write_sealed(path, table, {"run": self.run, "part": record.number, "counts": record.counts})

    @property
    def schema(self) -> pa.Schema:
        """The columns of a part."""
        return pa.schema([*PLACE, *self.step.schema])

    @functools.cached_property
    def written(self) -> pa.Schema:
        """The columns of a part as its file has them."""
        return written_schema(self.schema)

    @property
    def is_slow(self) -> bool:
        """Whether most of the work is Python's, row by row."""
        return self.proofs or not self.step.is_batched

    @property
    def wanted(self) -> dict[str, Feature | None]:
        """The columns to read: the features, then other columns that are kept."""
        features: dict[str, Feature | None] = {feature.name: feature for feature in self.step.explainer.schema}
        return {**features, **{name: None for name in (self.step.keep or pa.schema([])).names if name not in features}}

    def count(self, table: Any) -> dict[str, int]:
        """Return how many answers of a part are of each kind.

        ``already``: rows that have the target; ``can`` and ``cannot`` reach it, both proved; ``open``: the search stopped
        before it had a proof; ``invalid`` rows; ``answers``, and those ``unconfirmed`` by the model; ``outside``: rows that
        have the target, and that the constraints, the margin or a gain would change.
        """
        from pyarrow import compute

        def total(mask: Any) -> int:
            return int(compute.sum(mask.cast(pa.int64())).as_py() or 0)

        same = compute.and_(compute.equal(table["status"], "optimal"), compute.equal(table["n_changed"], 0))
        same = compute.fill_null(same, False)
        settled = compute.is_in(table["status"], pa.array(["optimal", "infeasible"], table["status"].type))
        had = compute.and_(settled, compute.or_(same, self._has_target(table["source_label"])))
        found = compute.filter(table["status"], compute.invert(had)).value_counts().to_pylist()
        kinds = {one["values"]: one["counts"] for one in found}
        return {
            "rows": len(table),
            "already": total(had),
            "can": kinds.get("optimal", 0),
            "cannot": kinds.get("infeasible", 0),
            "open": kinds.get("limit", 0),
            "invalid": kinds.get("invalid", 0),
            "answers": total(compute.is_valid(table["confirmed"])),
            "unconfirmed": total(compute.invert(table["confirmed"])),
            "outside": total(compute.and_(had, compute.invert(same))),
        }

    def _has_target(self, labels: Any) -> Any:
        """Return for which rows the model already says the target, as far as their labels show it: no probability does."""
        from pyarrow import compute

        target = self.step.target
        if isinstance(target, tuple):
            labels = labels.cast(labels.type.value_type) if pa.types.is_dictionary(labels.type) else labels
            texts = pa.types.is_string(labels.type) or pa.types.is_large_string(labels.type)
            return compute.is_in(labels, pa.array([str(one) if texts else one for one in target], labels.type))
        if not isinstance(target, Value):
            return pa.chunked_array([pa.array(np.zeros(len(labels), bool))])
        low = -np.inf if target.at_least is None else target.at_least
        high = np.inf if target.at_most is None else target.at_most
        within = compute.and_(compute.greater_equal(labels, low), compute.less_equal(labels, high))
        return compute.fill_null(within, False)


def _same(value: int, n: int) -> pa.Array:
    return pa.array(np.full(n, value, np.int32))


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
