"""``Explainer``: counterfactual explanations for one model, in the units of the user's table; ``explain``, in one call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, overload

from counterleaf.answer.answering import Answering
from counterleaf.answer.explanation import Explanation
from counterleaf.answer.front import Front, FrontPath
from counterleaf.answer.margins import MarginPath, read_margins
from counterleaf.batch import batch
from counterleaf.batch.alternatives import run_query
from counterleaf.batch.arrow import step
from counterleaf.batch.ensembles import make_solver
from counterleaf.batch.solving import Solver
from counterleaf.errors import CounterleafError, MissingNumbersError, not_installed, with_article
from counterleaf.model.adapter import ModelAdapter, PipelineAdapter, adapt
from counterleaf.model.gaps import adapter_with_gaps, count_rows
from counterleaf.question.constraints.bounds import Limit
from counterleaf.question.costs.prices import Prices, default_cost, lower_cost
from counterleaf.question.posing import Basis
from counterleaf.question.query import Options, Query, known_options, read_margin
from counterleaf.question.question import Question, ask
from counterleaf.search.forest import targets_of
from counterleaf.search.targets import RecentValues, Source
from counterleaf.table.features import Feature
from counterleaf.table.infer import Spreads
from counterleaf.table.row_types import typical_rows
from counterleaf.table.rows import TableRows
from counterleaf.table.schema import Schema
from counterleaf.types import Array

if TYPE_CHECKING:
    from counterleaf.audit.audit import Audit, AuditOptions
    from counterleaf.explorer.notebook.exploration import Exploration
    from counterleaf.question.constraints.kinds import Constraint


class Explainer:
    """Find the cheapest change to a row that makes a model predict another class.

    Parameters
    ----------
    model : Tree, estimator or Pipeline
        A ``Tree``, a model that ``read_tree`` can read, a forest, boosted trees, or a scikit-learn ``Pipeline`` that ends with
        one of them. Its ``predict`` confirms every answer.
    data : DataFrame or array-like, optional
        Typical rows, from which names, types, categories, bounds and the spreads behind named weights are inferred.
    schema : Schema, optional
        The features, in place of those inferred from ``data``.
    infer_bounds : bool, default=True
        Whether answers must stay within the ranges seen in ``data``.

    Examples
    --------
    >>> from counterleaf.datasets import example_tree
    >>> answer = Explainer(example_tree()).explain([0.0, 0.0], target="yes")
    >>> answer[0].row, answer[0].cost, str(answer.status), answer.certificate.check()
    ([0.5, 0.5], 0.5, 'optimal', True)
    """

    def __init__(self, model: Any, data: Any = None, schema: Schema | None = None, infer_bounds: bool = True) -> None:
        if schema is not None and not isinstance(schema, Schema):
            raise CounterleafError(f"schema is a {type(schema).__name__}; expected Schema([...])")
        adapter = adapt(model, data, schema, infer_bounds)
        codes = None if data is None else adapter.spread_codes(data)
        self._set_up(adapter, *((None, None) if codes is None else (Spreads.of(codes), count_rows(adapter, codes))))

    def _set_up(self, adapter: ModelAdapter, spreads: Spreads | None, counts: Array | None) -> None:
        self.model, self._adapter, self.spreads = adapter.model, adapter, spreads
        self._counts = counts  # the rows of the data that reach each leaf
        self.schema = adapter.schema
        self.tree: Any = adapter.tree  # a Tree or an Ensemble
        self._targets: Any = targets_of(adapter, counts)
        self._answering = Answering(adapter, self._targets, Basis(spreads, adapter.guard))
        self._variants = RecentValues()  # the explainers of rows with missing numbers
        self.default_cost = default_cost(spreads)
        self._priced: tuple[Any, Prices] = (self.default_cost, lower_cost(self.default_cost, self.schema, self.spreads))

    def __getstate__(self) -> dict[str, Any]:
        """Return the parts that a worker process needs; the rest is rebuilt there in milliseconds."""
        return {"adapter": _without_data(self._adapter), "spreads": self.spreads, "counts": self._counts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set_up(state["adapter"], state["spreads"], state.get("counts"))

    def __repr__(self) -> str:
        labels = list(map(str, self.tree.classes.tolist()))
        shown = ", ".join(labels[:6] + ["..."] * (len(labels) > 6))
        says = "predicts numbers" if self.tree.is_regression else f"classes {shown}"
        return f"<Explainer of {with_article(type(self.model).__name__)}: {len(self.schema)} features, {says}>"

    @classmethod
    def _of(cls, adapter: ModelAdapter, spreads: Spreads | None, counts: Array | None) -> Explainer:
        made = cls.__new__(cls)
        made._set_up(adapter, spreads, counts)
        return made

    def with_features(self, *features: Feature) -> Explainer:
        """Return an explainer for the same model with other bounds, steps or costs for some features.

        The model is not read again. A number may get other bounds, another step and another ``integer``. A feature with
        finitely many values keeps them and may get other costs. The spreads behind named weights do not change.

        Parameters
        ----------
        *features : Feature
            The new features; each replaces the feature of the same name.

        Returns
        -------
        Explainer
            A new explainer; this one does not change.

        Raises
        ------
        CounterleafError
            If a feature is unknown, is named twice, or has another kind or other values than before.

        Examples
        --------
        >>> from counterleaf import Numeric
        >>> from counterleaf.datasets import example_tree
        >>> Explainer(example_tree()).with_features(Numeric("x0", 0, 9, integer=True)).explain([0.0, 0.0], target="yes")[0].row
        [0.0, 1.0]
        """
        return self._of(self._adapter.with_features(features), self.spreads, self._counts)

    def to_json(self) -> str:
        """Write the tree, the features, the spreads and the rows per leaf as JSON, which is all that an answer depends on.

        Numbers are read back bit for bit. The model itself is not written; for a pipeline, the tree is the one over the
        columns of the table.

        Returns
        -------
        str
            The JSON text.

        Raises
        ------
        CounterleafError
            If a class or a category is neither text nor a number.
        """
        from counterleaf.storage import explainers  # a later package, see counterleaf.answer

        return explainers.write(self._adapter, self.spreads, self._counts)

    @classmethod
    def from_json(cls, text: str | bytes) -> Explainer:
        """Read an explainer that ``to_json`` wrote; its ``model`` is the tree, which also confirms the answers.

        A model that XGBoost saved as JSON is read too, without XGBoost: the trees in the file confirm the answers.

        Parameters
        ----------
        text : str or bytes
            The JSON text.

        Returns
        -------
        Explainer
            An explainer with the same answers, bit for bit.

        Raises
        ------
        CounterleafError
            If the text is anything else, or was changed after it was written.

        Examples
        --------
        >>> from counterleaf.datasets import example_tree
        >>> again = Explainer.from_json(Explainer(example_tree()).to_json())
        >>> again, again.explain([0.0, 0.0], target="yes")[0].row
        (<Explainer of a Tree: 2 features, classes no, yes>, [0.5, 0.5])
        """
        from counterleaf.storage import explainers  # a later package

        return cls._of(*explainers.read(text))

    def explain(
        self,
        row: Any,
        question: Question | None = None,
        *,
        target: Any = None,
        cost: Any = None,
        constraints: Any = (),
        count: int | None = 1,
        distinct: Any = None,
        margin: Any = 0.0,
        **options: Unpack[Options],
    ) -> Explanation:
        """Find the cheapest rows that the model classifies as ``target``.

        Parameters
        ----------
        row : dict, Series, DataFrame or array-like
            One row, in the units of the table.
        question : Question, optional
            The target, the cost and everything else in one value, instead of the other arguments.
        target : class, list, dict, Probability or Value, optional
            The class or classes that the model should predict; a dict adds a cost to each class. By default any class except
            that of the row. ``cl.probability(...)`` and ``cl.value(...)`` are intervals; regression needs a value.
        cost : Cost, optional
            ``L1``, ``L2``, ``Quadratic`` (not for ensembles), ``LinearCost``, ``Changes`` or a sum of them. By default
            ``L1("range")`` if the explainer has data, else ``L2()``.
        constraints : Constraint or list of Constraint, default=()
            Constraints made by ``freeze``, ``fix``, ``between``, ``within``, ``only_increase``, ``only_decrease``, ``allow``,
            ``forbid``, ``becomes``, ``stays``, ``linear``, ``max_changes``, ``implies``, ``among``, ``near``.
        count : int or None, default=1
            The number of answers, cheapest first; None for all of them, which is refused for ensembles.
        distinct : {"features", "leaves"} or dict, optional
            How the answers differ. With "features", the default if ``count`` is more than 1, each next one is the cheapest that
            does not change all the features that an earlier one changes; with ``{"features": 2}``, at least two of these (or
            all, if there are fewer) keep their values. With "leaves", the default for None, each is the cheapest of its leaf.
        margin : float, dict or str, default=0.0
            How far an answer stays from every split on its path: as a number, w @ x + b is at least that far from 0, or for an
            ensemble the score (a forest's share of votes) from that of the other classes; a dict gives distances by feature in
            its units, ``"1%"`` shares of each feature's range: every feature may then move by less than its distance.
        **options : optional
            Further options. ``time_limit`` is the number of seconds, ``max_nodes`` the number of search nodes, after which the
            search stops with the status "limit". ``support=20`` leaves out leaves that fewer than 20 rows of ``data`` reach.

        Returns
        -------
        Explanation
            The answers with their proof. If no row satisfies the constraints, its status is "infeasible" and it is empty.

        Raises
        ------
        CounterleafError
            If an argument does not fit, or the model fails on the answer.

        Examples
        --------
        >>> from counterleaf import freeze
        >>> from counterleaf.datasets import example_tree
        >>> answer = Explainer(example_tree()).explain([0.0, 0.0], target="yes", constraints=freeze("x1"))
        >>> answer[0].changes, answer[0].cost
        ({'x0': (0.0, 1.0)}, 1.0)
        """
        parts = {"target": target, "cost": cost, "constraints": constraints, "margin": margin, "count": count}
        wanted = ask("explain", question, distinct=distinct, **parts, **known_options("explain", options))
        answering, source, query = self._posed(row, self.lower(wanted))
        return answering.answers(row, source, query, None)[0]

    def explain_margins(
        self,
        row: Any,
        question: Question | None = None,
        *,
        margins: Iterable[float],
        target: Any = None,
        cost: Any = None,
        constraints: Any = (),
        count: int | None = 1,
        **options: Unpack[Options],
    ) -> MarginPath:
        """Find the answers for each of several margins, from barely passing to safe.

        The margins are solved in increasing order, and each search continues the one before.

        Parameters
        ----------
        row, question : optional
            As in ``explain``.
        margins : list of float
            The margins; each is 0 or more.
        target, cost, constraints, count, **options : optional
            As in ``explain``, for each margin.

        Returns
        -------
        MarginPath
            One explanation per margin.

        Examples
        --------
        >>> from counterleaf.datasets import example_tree
        >>> tree = example_tree()
        >>> [round(answer[0].cost, 9) for answer in Explainer(tree).explain_margins([0.0, 0.0], margins=[0.0, 1.0, 3.0])]
        [0.5, 2.0, 8.0]
        """
        values = read_margins(margins)
        increasing = sorted(set(values))
        parts = {"target": target, "cost": cost, "constraints": constraints, **known_options("explain_margins", options)}
        wanted = _without_margin("explain_margins", ask("explain_margins", question, count=count, **parts))
        answering, source, query = self._posed(row, self.lower(replace(wanted, margin=increasing[0])))
        found = answering.answers(row, source, query, increasing)
        by_margin = dict(zip(increasing, found, strict=True))
        return MarginPath(tuple(values), tuple(by_margin[margin] for margin in values))

    @overload
    def explain_front(
        self, row: Any, question: Question | None = ..., *, margins: Iterable[float], **options: Any
    ) -> FrontPath: ...
    @overload
    def explain_front(self, row: Any, question: Question | None = ..., **options: Any) -> Front: ...
    def explain_front(
        self,
        row: Any,
        question: Question | None = None,
        *,
        target: Any = None,
        cost: Any = None,
        constraints: Any = (),
        margins: Iterable[float] | None = None,
        **options: Any,
    ) -> Front | FrontPath:
        """Find the cheapest answer with one change, with two, and so on, until further changes gain nothing.

        Each point of the front is strictly cheaper than the one before, which changes fewer features. The last point is the
        answer of ``explain``. A ``max_changes`` among the constraints ends the front earlier.

        Parameters
        ----------
        row, question, target, cost, constraints : optional
            As in ``explain``, for one answer.
        margins : list of float, optional
            Several margins, each 0 or more, for one front each.
        **options : optional
            As in ``explain``, for each number of changes; without ``margins`` also ``margin``.

        Returns
        -------
        Front
            The counterfactuals, fewest changes first, each with its proof; a ``FrontPath`` of fronts if there are margins.

        Examples
        --------
        >>> from counterleaf.datasets import example_tree
        >>> front = Explainer(example_tree()).explain_front([0.0, 0.0], target="yes")
        >>> [(len(point.changes), point.cost) for point in front], front.check()
        ([(1, 1.0), (2, 0.5)], True)
        """
        margin = options.pop("margin", 0.0) if margins is None else 0.0
        parts = {"target": target, "cost": cost, "constraints": constraints, **known_options("explain_front", options)}
        wanted, fronts = ask("explain_front", question, margin=margin, **parts), []
        if wanted.count != 1:
            raise CounterleafError(f"explain_front got a question with count={wanted.count}; a front has one answer per change")
        values: list[Any] = [wanted.margin]
        if margins is not None:
            wanted, values = _without_margin("explain_front", wanted), read_margins(margins)
        for margin in values:
            answering, source, query = self._posed(row, self.lower(replace(wanted, margin=margin)))
            fronts.append(answering.front(row, source, query))
        return fronts[0] if margins is None else FrontPath(tuple(values), tuple(fronts))

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
        question, target, cost, constraints, margin : optional
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

        def answer(row: Any) -> Explanation:
            answering, source, posed = self._posed(row, query)
            return answering.answers(row, source, posed, None)[0]

        how = chunk_size, progress
        return run_query(lambda part: self.solver(part, query, threads), table, answer, columns, how)

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
        question, target, cost, constraints, margin : optional
            As in ``explain_many``, for one answer per row.
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

        Examples
        --------
        >>> import pyarrow as pa
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
        question, target : optional
            As in ``explain``, for each row.
        by : str, list or dict, optional
            The columns whose values are groups, such as ``["sex", "age:25,40,60"]``: numbers are cut at bounds.
        **options : optional
            The rest of the question and of the report, as in ``Audit``.

        Returns
        -------
        Audit
            The report, which can be printed, plotted and saved as a page.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from counterleaf.datasets import example_tree
        >>> rows = pd.DataFrame({"x0": np.arange(8) / 4, "x1": 0.0, "sex": list("ffffmmmm")})
        >>> Explainer(example_tree()).audit(rows, target="yes", by=["sex"])
        <Audit: 8 rows, 4 can reach the target, 0 cannot, by sex>
        """
        from counterleaf.audit.audit import Audit  # a later package

        return Audit(self, rows, question=question, target=target, by=by, **options)

    def explore(
        self,
        row: Any = None,
        *,
        rows: Any = None,
        target: Any = None,
        constraints: Iterable[Constraint] | Constraint = (),
        time_limit: float = 2.0,
        height: int = 720,
    ) -> Exploration:
        """Open the explorer: a page on which to change a row, lock features and compare the answers.

        In a notebook with anywidget the page is shown below the cell. Elsewhere a browser opens it. The model in memory, not a
        copy, confirms the answers. This needs ``pip install "counterleaf[notebook]"``.

        Parameters
        ----------
        row : int, dict, Series, DataFrame or array-like, optional
            One row, in the units of the table, or the position of a row in ``rows``. By default the first of ``rows``, or a row
            in the middle of the bounds.
        rows : DataFrame or array-like, optional
            Rows to choose from on the page.
        target : class, Probability or Value, optional
            The goal at first: a class, or what ``probability`` or ``value`` returns. By default any class except that of the
            row, or a value above that of the row.
        constraints : list of Constraint or Constraint, default=()
            Constraints that hold in every answer.
        time_limit : float, default=2.0
            Seconds for each answer.
        height : int, default=720
            The height of the page in a notebook, in pixels; its lower edge can be dragged.

        Returns
        -------
        Exploration
            The page, which the notebook shows. ``url`` is an address for any browser of this machine, and ``close()`` ends it.
        """
        try:
            from counterleaf.explorer.notebook.exploration import explore  # a later package
        except ImportError:
            raise not_installed("the explorer", "fastapi", "uvicorn") from None

        return explore(self, row, rows, target, constraints, time_limit, height)

    def lower(self, question: Question) -> Query:
        """Return a question as the searches read it.

        Parameters
        ----------
        question : Question
            The question.

        Returns
        -------
        Query
            Its cost as prices, its margin for every feature, and its constraints.
        """
        cost = self.default_cost if question.cost is None else question.cost
        margin = read_margin(question.margin, self.schema, self.spreads)
        prices, rules = self._prices(cost), question.rules
        for one in rules:
            if isinstance(one, Limit):
                one.check(self.schema)
        return Query(question, cost, prices, margin, rules, question.count)

    def solver(self, rows: TableRows, query: Query, threads: int) -> Solver:
        """Return the batch of a query about many rows.

        Parameters
        ----------
        rows : TableRows
            The rows.
        query : Query
            The question as ``lower`` returns it.
        threads : int
            The number of threads.

        Returns
        -------
        Solver
            The batch.
        """
        return make_solver(self._targets, self._adapter, rows, query, threads, self._with_gaps)

    def _prices(self, cost: Any) -> Prices:
        """Return the cost as arrays; those of the last cost are reused, since many queries share one."""
        last_cost, prices = self._priced
        if cost is not last_cost:
            prices = lower_cost(cost, self.schema, self.spreads)
            self._priced = (cost, prices)
        return prices

    def _with_gaps(self, missing: tuple[str, ...]) -> Explainer:
        def make() -> Explainer:
            adapter = adapter_with_gaps(self._adapter, missing)
            return self._of(adapter, self.spreads, None if self._counts is None else self._counts[adapter.origin])

        return self._variants.get(missing, make)

    @property
    def adapter(self) -> ModelAdapter:
        """The model over the variables of the schema, as the searches read it."""
        return self._adapter

    def located(self, row: Any) -> tuple[Explainer, Source]:
        """Return the explainer of the numbers that a row lacks, and the row as that one reads it.

        Parameters
        ----------
        row : dict, Series, DataFrame or array-like
            One row, in the units of the table.

        Returns
        -------
        tuple of Explainer and Source
            This explainer unless numbers may be missing, and the row as a vector of variables.

        Raises
        ------
        CounterleafError
            If the row does not fit.
        """
        try:
            source = self._targets.locate(row)
        except MissingNumbersError as error:
            if self._adapter.routes is None:
                raise
            return self._with_gaps(error.names).located(row)
        return self._with_gaps(()).located(row) if self._adapter.leaves_out else (self, source)

    def _posed(self, row: Any, query: Query) -> tuple[Answering, Source, Query]:
        """Return the row as the explainer of its missing numbers reads it, and the query with the prices of that explainer."""
        variant, source = self.located(row)
        if (prices := variant._prices(query.cost)) is not query.prices:
            query = replace(query, prices=prices)
        return variant._answering, source, query


def explain(
    model: Any,
    row: Any,
    *,
    data: Any = None,
    schema: Schema | None = None,
    target: Any = None,
    cost: Any = None,
    constraints: Any = (),
    **options: Any,
) -> Explanation:
    """Find the cheapest rows that a model classifies as ``target``, in one call.

    It makes an ``Explainer`` and calls its method ``explain``. For several rows, make the explainer once.

    Parameters
    ----------
    model : Tree, estimator or Pipeline
        A tree, a forest, boosted trees or another model, as in ``Explainer``.
    row : dict, Series, DataFrame or array-like
        One row, in the units of the table.
    data, schema : optional
        As in ``Explainer``.
    target, cost, constraints : optional
        As in ``Explainer.explain``.
    **options : optional
        Further options: ``infer_bounds`` of ``Explainer``; ``count``, ``margin``, ``time_limit`` and ``max_nodes`` of
        ``Explainer.explain``.

    Returns
    -------
    Explanation
        The answers with their proof.

    Raises
    ------
    CounterleafError
        If the model cannot be read, an argument does not fit, or the model fails on the answer.

    Examples
    --------
    >>> from counterleaf import explain
    >>> from counterleaf.datasets import example_tree
    >>> explain(example_tree(), [0.0, 0.0], target="yes").best.changes
    {'x0': (0.0, 0.5), 'x1': (0.0, 0.5)}
    """
    explainer = Explainer(model, data, schema, options.pop("infer_bounds", True))
    return explainer.explain(row, target=target, cost=cost, constraints=constraints, **options)


def _without_margin(call: str, question: Question) -> Question:
    """Refuse a question with a margin of its own for a call that lists the margins."""
    if not isinstance(question.margin, (int, float)) or question.margin != 0:
        raise CounterleafError(f"{call} got margins= and a question with a margin; leave the margin out of the question")
    return question


def _without_data(adapter: ModelAdapter) -> ModelAdapter:
    """Return an adapter that keeps only those rows of the data that show its types."""
    if not isinstance(adapter, PipelineAdapter) or adapter.data is None:
        return adapter
    return replace(adapter, data=typical_rows(adapter.data))
