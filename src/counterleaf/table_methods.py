"""The methods of ``Explainer`` that take a whole table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from counterleaf.answer.answering import Answering
from counterleaf.answer.explanation import Explanation
from counterleaf.batch import batch
from counterleaf.batch.alternatives import run_query
from counterleaf.batch.arrow import step
from counterleaf.batch.ensembles import make_solver
from counterleaf.batch.solving import Solver
from counterleaf.model.adapter import ModelAdapter
from counterleaf.question.query import Query, known_options
from counterleaf.question.question import Question, ask
from counterleaf.search.prepared import Source
from counterleaf.table.rows import TableRows
from counterleaf.table.schema import Schema

if TYPE_CHECKING:
    from counterleaf.audit.audit import Audit, AuditOptions


class TableMethods:
    """The part of ``Explainer`` that answers one query about many rows."""

    schema: Schema
    _adapter: ModelAdapter
    _targets: Any

    def explain_many(
        self,
        rows: Any,
        question: Question | None = None,
        *,
        target: Any = None,
        cost: Any = None,
        constraints: Any = (),
        margin: Any = 0.0,
        n_jobs: int | None = 1,
        **options: Unpack[batch.Options],
    ) -> Any:
        """Find the cheapest answer for every row of a table and return a table.

        The answers are those of ``explain`` for each row, for any number of threads and any chunk size, without their proofs.

        Parameters
        ----------
        rows : DataFrame or array-like
            A pandas or polars frame or a 2-D array, in the units of the table.
        question : Question, optional
            As in ``explain``, for each row.
        target, cost, constraints, margin : optional
            As in ``explain``, for each row: without a target, any class except its own; ``freeze`` means its own values.
        n_jobs : int or None, default=1
            The number of threads; -1 for every core.
        **options : optional
            Further options. ``count`` is the number of answers per row, as in ``explain``; with more than one, each answer has
            its own line, and the rows are explained one by one. ``digits="short"`` writes numbers with as few digits as keep
            the row valid, so that they survive spreadsheets, JSON and rounding. ``words=False`` leaves out the column
            ``changed``, which takes most of the time of a large batch on an axis-aligned tree. ``shares=True`` adds the share
            of each changed feature in the cost. ``time_limit`` and ``max_nodes`` apply to each row; ``support`` and
            ``distinct`` are as in ``explain``. ``chunk_size`` is the number of rows that are solved at a time, by default as
            many as fit into the processor's caches.
            ``progress=False`` turns off the bar on stderr, which is shown only on a terminal and only if the work takes long.

        Returns
        -------
        DataFrame
            A frame of the same library as ``rows`` (pandas for an array), with one line per row and the same index. The columns
            are ``status`` ("optimal", "infeasible", "limit", or "invalid" for a row that cannot be explained), ``cost``,
            ``lower_bound``, ``leaf``, ``source_label``, ``label``, ``n_changed``, ``changed`` (the changes in words),
            ``confirmed``, ``probability`` if the target is one, and the new values of every feature that changes in some row,
            in the type of its column if that can represent them. They are missing if a row has no answer. If some row is
            invalid, or the model fails on its answer, the column ``problem`` says why. With ``digits="short"``, ``cost`` is the
            cost of the row as it is written, and ``digits`` is "full" where every digit matters. With several answers per row,
            ``rank`` counts them from 1, and the index repeats that of the row; a polars frame has the position of the row in
            the column ``row``.

        Raises
        ------
        CounterleafError
            If an argument does not fit, or the columns of ``rows`` are not those of the table. It is raised before any search.

        Examples
        --------
        >>> import numpy as np
        >>> from counterleaf import Explainer
        >>> from counterleaf.datasets import example_tree
        >>> out = Explainer(example_tree()).explain_many(np.array([[0.0, 0.0], [0.0, 0.5], [2.0, 0.0]]), target="yes")
        >>> print(out[["status", "cost", "label", "n_changed", "x0", "x1"]])
            status   cost label  n_changed    x0    x1
        0  optimal  0.500   yes          2  0.50  0.50
        1  optimal  0.125   yes          2  0.25  0.75
        2  optimal  0.000   yes          0  2.00  0.00
        """
        known_options("explain_many", options, batch.Options)
        chunk_size, progress = options.pop("chunk_size", None), options.pop("progress", True)
        columns = batch.Columns.read(options.pop("digits", None), options.pop("words", True), options.pop("shares", False))
        parts = {"target": target, "cost": cost, "constraints": constraints, "margin": margin}
        query = self.lower(ask("explain_many", question, **parts, **options))
        batch.check(self.schema.names, chunk_size, columns.shares)
        threads, table = batch.workers(n_jobs), TableRows(rows, self.schema)
        return self._run(table, query, columns, (chunk_size, progress), threads)

    def arrow(
        self,
        question: Question | None = None,
        *,
        target: Any = None,
        cost: Any = None,
        constraints: Any = (),
        margin: Any = 0.0,
        keep: Any = None,
        words: bool = False,
        n_jobs: int | None = 1,
        **options: Unpack[step.Options],
    ) -> step.ArrowStep:
        """Return a query as a picklable function from a batch of pyarrow to the answers for its rows.

        The answers are those of ``explain_many``. The function is small when it is pickled and ready in milliseconds in
        another process, so that Spark, Dask, Ray or a loop over a file can apply it to any number of batches.

        Parameters
        ----------
        question : Question, optional
            As in ``explain_many``, for one answer per row.
        target, cost, constraints, margin : optional
            As in ``explain_many``.
        keep : pyarrow.Schema, optional
            Columns of the rows that are passed on unchanged, in front of the answers.
        words : bool, default=False
            Whether the changes are put into words, in the column ``changed``.
        n_jobs : int or None, default=1
            The number of threads; -1 for every core.
        **options : optional
            Further options: ``time_limit``, ``max_nodes`` and ``support``, as in ``explain``.

        Returns
        -------
        ArrowStep
            A function that takes a ``pyarrow.RecordBatch`` or a ``pyarrow.Table`` and returns one of the same kind. Its
            attribute ``schema`` holds the columns of the result, which do not depend on the rows: ``status``, ``cost``,
            ``lower_bound``, ``leaf``, ``source_label``, ``label``, ``n_changed``, ``confirmed``, ``probability`` if the target
            is one, ``changed``, ``problem`` (why a row is invalid) and, for each feature, ``new_<feature>``, which is null
            where the feature does not change. If answers may leave out numbers, ``removed`` names those that become missing.

        Raises
        ------
        CounterleafError
            If an argument does not fit, or pyarrow is not installed.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from counterleaf import Explainer
        >>> from counterleaf.datasets import example_tree
        >>> step = Explainer(example_tree()).arrow(target="yes")
        >>> out = step(pa.RecordBatch.from_pydict({"x0": [0.0, 2.0], "x1": [0.0, 0.0]}))
        >>> out.select(["cost", "n_changed", "new_x0"]).to_pylist()
        [{'cost': 0.5, 'n_changed': 2, 'new_x0': 0.5}, {'cost': 0.0, 'n_changed': 0, 'new_x0': None}]
        """
        parts = {"target": target, "cost": cost, "constraints": constraints, "margin": margin, **step.known("arrow", options)}
        return step.ArrowStep(self, ask("arrow", question, **parts), keep, words, n_jobs)

    def audit(
        self, rows: Any, question: Question | None = None, *, target: Any = None, by: Any = (), **options: Unpack[AuditOptions]
    ) -> Audit:
        """Explain every row of a table, and report who can reach the target, at what cost, and how groups differ.

        Parameters
        ----------
        rows : DataFrame or array-like
            A pandas or polars frame or a 2-D array; columns that are not features may be used for groups.
        question : Question, optional
            As in ``explain``, for each row.
        target : class, list, dict, Probability or Value, optional
            As in ``explain``.
        by : str, list or dict, optional
            The columns whose values are groups, such as ``["sex", "age:25,40,60"]``: numbers are cut at bounds.
        **options : optional
            The rest of the question and of the report, as in ``Audit``.

        Returns
        -------
        Audit
            The report, which can be printed, plotted and saved as a page.

        Raises
        ------
        CounterleafError
            If an argument does not fit, or a column does not exist.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from counterleaf import Explainer
        >>> from counterleaf.datasets import example_tree
        >>> rows = pd.DataFrame({"x0": np.arange(8) / 4, "x1": 0.0, "sex": list("ffffmmmm")})
        >>> Explainer(example_tree()).audit(rows, target="yes", by=["sex"])
        <Audit: 8 rows, 4 can reach the target, 0 cannot, by sex>
        """
        from counterleaf.audit.audit import Audit  # a later package

        return Audit(self, rows, question=question, target=target, by=by, **options)  # type: ignore[arg-type]  # an Explainer

    def _run(self, rows: TableRows, query: Query, columns: batch.Columns, how: tuple[int | None, bool], threads: int) -> Any:
        """Answer a query about all rows of a table; ``how`` is as in ``run_query``."""

        def answer(row: Any) -> Explanation:
            answering, source, posed = self._posed(row, query)
            return answering.answers(row, source, posed, None)[0]

        return run_query(lambda part: self._solver(part, query, threads), rows, answer, columns, how)

    def _solver(self, rows: TableRows, query: Query, threads: int) -> Solver:
        return make_solver(self._targets, self._adapter, rows, query, threads, self._with_gaps)

    def lower(self, question: Question) -> Query:
        """Return a question as the searches read it."""
        raise NotImplementedError

    def _with_gaps(self, missing: tuple[str, ...]) -> Any:
        raise NotImplementedError

    def _posed(self, row: Any, query: Query) -> tuple[Answering, Source, Query]:
        raise NotImplementedError
