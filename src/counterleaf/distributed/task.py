"""The work of one task: a query that is pickled once, and the columns that it reads and passes on."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterleaf.batch.arrow.step import ArrowStep, Options
from counterleaf.errors import CounterleafError, brief, near, some, with_article
from counterleaf.explainer import Explainer
from counterleaf.question.query import known_options
from counterleaf.table.arrow.output import batch_of, frame_with
from counterleaf.table.arrow.rows import check_columns

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 65_536  # of a batch; larger ones are cut, because their columns no longer fit into the processor's caches
_LOADED = 8  # queries that a worker keeps ready


class FrameOptions(Options, total=False):
    """The further arguments of ``spark``, ``dask`` and ``ray``; see there."""

    target: Any
    cost: Any
    constraints: Any
    margin: Any
    words: bool
    n_jobs: int | None


@functools.lru_cache(_LOADED)
def _load(payload: bytes) -> ArrowStep:
    """Return the query of a pickle; a worker process reads it once and not for every task."""
    step: ArrowStep = pickle.loads(payload)
    return step


@dataclass(frozen=True, slots=True)
class FrameTask:
    """A query as it is sent to the workers."""

    payload: bytes  # the pickle of an ``ArrowStep``
    reads: tuple[str, ...]  # the columns that the query reads
    keep: tuple[str, ...]  # the columns that are passed on, in front of the answers

    @property
    def columns(self) -> list[str]:
        """The columns that a worker needs, in the order of the frame."""
        return list(dict.fromkeys([*self.keep, *self.reads]))

    def batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the kept columns and the answers of record batches."""
        import pyarrow as pa

        step = _load(self.payload)
        for batch in batches:
            for start in range(0, max(batch.num_rows, 1), ROWS):
                part = batch.slice(start, ROWS)
                kept = part.select(self.keep)
                answers = step(part)
                fields = [*kept.schema, *answers.schema]
                yield pa.RecordBatch.from_arrays([*kept.columns, *answers.columns], schema=pa.schema(fields))

    def unnamed_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the same for batches whose columns are those of ``columns`` by position."""
        import pyarrow as pa

        return self.batches(pa.RecordBatch.from_arrays(batch.columns, names=self.columns) for batch in batches)

    def table(self, table: pa.Table) -> pa.Table:
        """Return the kept columns and the answers of a table."""
        import pyarrow as pa

        empty = pa.RecordBatch.from_pylist([], schema=table.schema)
        return pa.Table.from_batches(self.batches(table.to_batches() or [empty]))

    def frame(self, frame: Any) -> Any:
        """Return the kept columns and the answers of a pandas frame, with its index."""
        import pyarrow as pa

        step = _load(self.payload)
        parts = (frame.iloc[start : start + ROWS] for start in range(0, max(len(frame), 1), ROWS))
        answers = pa.Table.from_batches([step(batch_of(part, self.reads)) for part in parts])
        return frame_with(frame, self.keep, answers)


def make_task(
    call: str, explainer: Any, names: Sequence[str], question: Any, keep: Any, options: FrameOptions
) -> tuple[FrameTask, ArrowStep]:
    """Check the arguments of ``spark``, ``dask`` or ``ray`` before anything runs."""
    if not isinstance(explainer, Explainer):
        raise CounterleafError(f"explainer is {with_article(type(explainer).__name__)}; expected a counterleaf.Explainer")
    known_options(call, options, FrameOptions)
    step = explainer.arrow(question, **options)
    check_columns(list(names), explainer.schema, "the frame")
    kept = _kept(names, keep)
    clash = [name for name in kept if name in step.answers.names]
    if clash:
        raise CounterleafError(
            f"the frame and the answers both have the column {clash[0]!r}; rename it, or list the columns to keep without it"
        )
    wanted = {*explainer.schema.names, *explainer.schema.columns}
    return FrameTask(pickle.dumps(step), tuple(name for name in names if name in wanted), kept), step


def _kept(names: Sequence[str], keep: Any) -> tuple[str, ...]:
    """Return the names of the columns to keep."""
    if keep is None:
        return ()
    if isinstance(keep, str) and keep == "all":
        kept = list(names)
    elif isinstance(keep, (list, tuple)) and all(isinstance(name, str) for name in keep):
        kept = list(keep)
    else:
        raise CounterleafError(f'keep is {brief(keep)}; expected a list of column names, "all" or None')
    for name in kept:
        if name not in names:
            raise CounterleafError(f"keep names the column {name!r}; the frame has [{some(names, 8)}]{near(name, names)}")
        if kept.count(name) > 1 or list(names).count(name) > 1:
            raise CounterleafError(f"the column {name!r} would be kept twice; names must differ")
    return tuple(kept)
