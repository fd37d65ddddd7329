"""``ArrowStep``: one query as a picklable function from rows of pyarrow to their answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypedDict

from counterleaf.batch.alternatives import written
from counterleaf.batch.batch import Batch, Columns, run, workers
from counterleaf.errors import CounterleafError, brief, flat, not_installed, some
from counterleaf.question.query import Probability, Value, known_options, read_target
from counterleaf.question.question import Question
from counterleaf.table.arrow.output import output_schema
from counterleaf.table.arrow.rows import ArrowRows

if TYPE_CHECKING:
    import pyarrow as pa


class Options(TypedDict, total=False):
    """The further options of ``Explainer.arrow``; see there."""

    time_limit: float | None
    max_nodes: int | None
    support: int | None


_OF_FRAMES = ("count", "distinct", "shares", "digits", "chunk_size", "progress")  # options of explain_many alone


def known(call: str, options: Any) -> Any:
    """Check the names of the options of a step."""
    refused = [name for name in _OF_FRAMES if name in options]
    if refused:
        raise CounterleafError(
            f"{call} writes one answer for each row, with all digits, and does not take {refused[0]}; use explain_many"
        )
    return known_options(call, options, Options)


class ArrowStep:
    """A query as a function from a batch of rows to a batch of answers; made by ``Explainer.arrow``.

    Attributes
    ----------
    schema : pyarrow.Schema
        The columns of the answers: those that are kept, then those that ``Explainer.arrow`` lists.
    answers : pyarrow.Schema
        The columns of the answers alone.
    target : tuple, Probability, Value or None
        The classes to reach, or the interval of a probability or a value; None for any class but the row's.
    is_batched : bool
        Whether the core answers many rows in one call; otherwise they are answered one by one, mostly in Python.
    """

    def __init__(self, explainer: Any, question: Question, keep: Any, words: Any, n_jobs: Any) -> None:
        try:
            import pyarrow as pa
        except ImportError:
            raise not_installed("arrow", "pyarrow") from None
        if question.count != 1 or question.distinct is not None:
            known("arrow", {"count": question.count})
        if keep is not None and not isinstance(keep, pa.Schema):
            raise CounterleafError(f"keep is {brief(keep)}; expected a pyarrow.Schema of the columns to pass on, or None")
        self.explainer, self.question, self.keep, self.words = explainer, question, keep, words
        self.n_jobs, self._threads, self._columns = n_jobs, workers(n_jobs), Columns.read(words=words)
        self._set_up()

    def _set_up(self) -> None:
        """Check the query, and find the columns of the answers."""
        import pyarrow as pa

        explainer = self.explainer
        self._query = explainer.lower(self.question)
        empty = pa.RecordBatch.from_pydict({name: pa.array([], pa.float64()) for name in explainer.schema.names})
        solver = explainer.solver(ArrowRows(empty, explainer.schema, pa.schema([])), self._query, self._threads)
        self.target = self.question.target
        if self.target is not None and not isinstance(self.target, (Probability, Value)):
            self.target = tuple(solver.model.classes[list(read_target(self.target, solver.model.classes, -1))].tolist())
        self.is_batched = not solver.alone
        self.answers = output_schema(
            explainer.schema,
            solver.model.classes,
            regression=solver.model.is_regression,
            probability=solver.decision.predicted >= 0,
            words=self._columns.words,
        )
        kept = [] if self.keep is None else list(self.keep)
        names = [*(field.name for field in kept), *self.answers.names]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise CounterleafError(f"two columns of the result are named {twice!r}; rename the column that is kept")
        self.schema = pa.schema([*kept, *self.answers])

    def __getstate__(self) -> dict[str, Any]:
        """Return the query as it was passed; the rest is computed again in milliseconds."""
        names = ("explainer", "question", "keep", "words", "n_jobs")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]  # the state is what the constructor takes

    def __call__(self, batch: Any) -> Any:
        """Return the answers for the rows of a RecordBatch or a Table, one line per row, with the columns of ``schema``."""
        import pyarrow as pa

        if isinstance(batch, pa.Table):
            empty = pa.RecordBatch.from_pylist([], schema=batch.schema)
            parts = batch.to_batches() or [empty]
            return pa.Table.from_batches([self._answered(part) for part in parts], schema=self.schema)
        if not isinstance(batch, pa.RecordBatch):
            raise CounterleafError(f"the rows are a {type(batch).__name__}; expected a pyarrow.RecordBatch or a pyarrow.Table")
        return self._answered(batch)

    def explain(self, row: Any) -> Any:
        """Return the explanation of one row, a dict, with its proof."""
        return self.explainer.explain(row, self.question)

    @property
    def is_limited(self) -> bool:
        """Whether a search may end before it has a proof, so that two searches for one row may differ."""
        return self.question.time_limit is not None or self.question.max_nodes is not None

    def write(self, batch: pa.RecordBatch, explanations: Iterable[Any]) -> pa.RecordBatch:
        """Return the answers for the rows of a batch as explanations, or errors in their place, have them, without a search."""
        rows = ArrowRows(batch, self.explainer.schema, self.answers)
        solver = self.explainer.solver(rows, self._query, self._threads)
        return self._with_kept(batch, written(solver, explanations, self._columns))

    def _answered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = ArrowRows(batch, self.explainer.schema, self.answers)
        solver = self.explainer.solver(rows, self._query, self._threads)
        return self._with_kept(batch, run(Batch(solver, self._columns), None, False))

    def _with_kept(self, batch: pa.RecordBatch, answers: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa

        kept = [_kept(batch, field) for field in self.keep or ()]
        return pa.RecordBatch.from_arrays([*kept, *answers.columns], schema=self.schema)


def _kept(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    """Return a column that is passed on, in the type that was announced."""
    import pyarrow as pa

    there = batch.schema.get_all_field_indices(field.name)
    if len(there) != 1:
        found = f"has {len(there)} columns" if there else f"has the columns [{some(batch.schema.names, 8)}] and none"
        raise CounterleafError(f"keep names the column {field.name!r}; the batch {found} of that name")
    column = batch.column(there[0])
    if column.type == field.type:
        return column
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise CounterleafError(
            f"keep has the column {field.name!r} as {field.type}, and the batch has {column.type} ({flat(error)})"
        ) from None
