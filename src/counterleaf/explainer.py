"""``Explainer``: counterfactual explanations for one model, in the units of the user's table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, overload

from counterleaf.answer.answering import Answering
from counterleaf.answer.explanation import Explanation
from counterleaf.answer.front import Front, FrontPath
from counterleaf.answer.margins import MarginPath, read_margins
from counterleaf.errors import CounterleafError, MissingNumbersError, not_installed, with_article
from counterleaf.model.adapter import ModelAdapter, PipelineAdapter, adapt
from counterleaf.model.gaps import adapter_with_gaps, count_rows
from counterleaf.question.constraints.lowering import check_steps
from counterleaf.question.costs.prices import Prices, default_cost, lower_cost
from counterleaf.question.margin import read_margin
from counterleaf.question.posing import Basis
from counterleaf.question.query import Options, Query, known_options
from counterleaf.question.question import Question, ask
from counterleaf.search.ensembles.forest import targets_of
from counterleaf.search.prepared import RecentValues, Source
from counterleaf.table.features import Feature
from counterleaf.table.infer import Spreads
from counterleaf.table.row_types import typical_rows
from counterleaf.table.schema import Schema
from counterleaf.table_methods import TableMethods
from counterleaf.types import Array

if TYPE_CHECKING:
    from counterleaf.explorer.notebook.exploration import Exploration
    from counterleaf.question.constraints.kinds import Constraint


class Explainer(TableMethods):
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
        row : dict, Series, DataFrame or array-like
            One row, in the units of the table.
        question : Question, optional
            As in ``explain``.
        margins : list of float
            The margins; each is 0 or more.
        target, cost, constraints, count : optional
            As in ``explain``.
        **options : optional
            As in ``explain``, for each margin.

        Returns
        -------
        MarginPath
            One explanation per margin.

        Raises
        ------
        CounterleafError
            If an argument does not fit.

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
        self,
        row: Any,
        question: Question | None = ...,
        *,
        margins: Iterable[float],
        target: Any = ...,
        cost: Any = ...,
        constraints: Any = ...,
        **options: Any,
    ) -> FrontPath: ...
    @overload
    def explain_front(
        self,
        row: Any,
        question: Question | None = ...,
        *,
        target: Any = ...,
        cost: Any = ...,
        constraints: Any = ...,
        **options: Any,
    ) -> Front: ...
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
        row : dict, Series, DataFrame or array-like
            One row, in the units of the table.
        question : Question, optional
            As in ``explain``, for one answer.
        target, cost, constraints : optional
            As in ``explain``.
        margins : list of float, optional
            Several margins, each 0 or more, for one front each.
        **options : optional
            As in ``explain``, for each number of changes; without ``margins`` also ``margin``.

        Returns
        -------
        Front
            The counterfactuals, fewest changes first, each with its proof; a ``FrontPath`` of fronts if there are margins.

        Raises
        ------
        CounterleafError
            If an argument does not fit.

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

        Raises
        ------
        CounterleafError
            If an argument does not fit, or a package is not installed.
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

        Raises
        ------
        CounterleafError
            If a part does not fit the features.
        """
        cost = self.default_cost if question.cost is None else question.cost
        margin = read_margin(question.margin, self.schema, self.spreads)
        prices, rules = self._prices(cost), question.rules
        check_steps(rules, self.schema)
        limits = question.count, question.time_limit, question.max_nodes, question.apart
        return Query(question.target, cost, prices, rules, margin, *limits, question=question)

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
        if variant is not self:
            return variant._posed(row, query)
        if (prices := self._prices(query.cost)) is not query.prices:  # of an explainer with gaps
            query = replace(query, prices=prices)
        return self._answering, source, query


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
