"""The Explainer: counterfactual explanations for one model, in the units of the user's table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Unpack

from counterleaf.answer.answering import Answering
from counterleaf.answer.explanation import Explanation
from counterleaf.answer.margins import MarginPath, read_margins
from counterleaf.batch import batch
from counterleaf.errors import CounterleafError, MissingNumbersError
from counterleaf.model.adapter import ModelAdapter, adapt
from counterleaf.model.gaps import adapter_with_gaps
from counterleaf.question.costs.prices import Prices, lower_cost
from counterleaf.question.costs.terms import L1, L2
from counterleaf.question.query import Options, Query, known_options
from counterleaf.search.aims import Aims
from counterleaf.search.prepared import RecentValues
from counterleaf.table.features import Feature
from counterleaf.table.infer import Spreads
from counterleaf.table.rows import TableRows
from counterleaf.table.schema import Schema


class Explainer:
    """Find the cheapest change to a row that makes a model predict another class.

    Parameters
    ----------
    model : Tree, estimator or Pipeline
        A ``Tree``, a model that ``read_tree`` can read, or a scikit-learn ``Pipeline`` that ends with one. Its ``predict``
        confirms every answer.
    data : DataFrame or array-like, optional
        Typical rows, from which names, types, categories, bounds and the spreads behind named weights are inferred.
    schema : Schema, optional
        The features, in place of those inferred from ``data``.
    infer_bounds : bool, default=True
        Whether answers must stay within the ranges seen in ``data``.

    Examples
    --------
    >>> import numpy as np
    >>> from counterleaf import Tree
    >>> tree = Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    >>> answer = Explainer(tree).explain([0.0, 0.0], target="yes")
    >>> answer[0].row, answer[0].cost, str(answer.status), answer.certificate.check()
    ([0.5, 0.5], 0.5, 'optimal', True)
    """

    def __init__(self, model: Any, data: Any = None, schema: Schema | None = None, infer_bounds: bool = True) -> None:
        if schema is not None and not isinstance(schema, Schema):
            raise CounterleafError(f"schema is a {type(schema).__name__}; expected Schema([...])")
        adapter = adapt(model, data, schema, infer_bounds)
        self._set_up(adapter, None if data is None else Spreads.of(adapter.spread_codes(data)))

    def _set_up(self, adapter: ModelAdapter, spreads: Spreads | None) -> None:
        self.model, self._adapter, self.spreads = adapter.model, adapter, spreads
        self.schema, self.tree = adapter.schema, adapter.tree
        self._aims = Aims(self.tree, self.schema, adapter.guard, adapter.rescale)
        self._answering = Answering(adapter, self._aims)
        self._variants = RecentValues()  # the explainers of rows that lack some numbers
        self.default_cost = L2() if spreads is None else L1("range")
        self._priced: tuple[Any, Prices] = (self.default_cost, lower_cost(self.default_cost, self.schema, self.spreads))

    def __getstate__(self) -> dict[str, Any]:
        """Return the parts that a worker process needs; the rest is rebuilt there in milliseconds."""
        return {"adapter": self._adapter, "spreads": self.spreads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set_up(state["adapter"], state["spreads"])

    def __repr__(self) -> str:
        labels = [str(label) for label in self.tree.classes.tolist()]
        shown = ", ".join(labels[:6] + ["..."] * (len(labels) > 6))
        says = "predicts numbers" if self.tree.is_regression else f"classes {shown}"
        return f"<Explainer of a {type(self.model).__name__}: {len(self.schema)} features, {says}>"

    @classmethod
    def _of(cls, adapter: ModelAdapter, spreads: Spreads | None) -> Explainer:
        made = cls.__new__(cls)
        made._set_up(adapter, spreads)
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
        >>> from counterleaf import Numeric, Tree
        >>> tree = Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
        >>> Explainer(tree).with_features(Numeric("x0", 0, 9, integer=True)).explain([0.0, 0.0], target="yes")[0].row
        [0.0, 1.0]
        """
        return self._of(self._adapter.with_features(features), self.spreads)

    def to_json(self) -> str:
        """Write the tree, the features and the spreads as JSON, which is all that an answer depends on.

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
        from counterleaf.storage import explainers  # a later room, see counterleaf.answer

        return explainers.write(self._adapter, self.spreads)

    @classmethod
    def from_json(cls, text: str | bytes) -> Explainer:
        """Read an explainer that ``to_json`` wrote; its ``model`` is the tree, which also confirms the answers.

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
        >>> from counterleaf import Tree
        >>> tree = Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
        >>> again = Explainer.from_json(Explainer(tree).to_json())
        >>> again, again.explain([0.0, 0.0], target="yes")[0].row
        (<Explainer of a Tree: 2 features, classes no, yes>, [0.5, 0.5])
        """
        from counterleaf.storage import explainers  # a later room

        return cls._of(*explainers.read(text))

    def explain(
        self,
        row: Any,
        *,
        target: Any = None,
        cost: Any = None,
        constraints: Any = (),
        count: int | None = 1,
        margin: float = 0.0,
        **options: Unpack[Options],
    ) -> Explanation:
        """Find the cheapest rows that the model classifies as ``target``.

        Parameters
        ----------
        row : dict, Series, DataFrame or array-like
            One row, in the units of the table.
        target : class, list, dict, Probability or Value, optional
            The class or classes that the model should predict; a dict adds a cost to each class. By default any class except
            that of the row. ``cl.probability(...)`` and ``cl.value(...)`` are intervals; regression needs a value.
        cost : Cost, optional
            ``L1``, ``L2``, ``Quadratic``, ``LinearCost`` or a sum of them. By default ``L1("range")`` if the explainer has
            data, else ``L2()``.
        constraints : Constraint or list of Constraint, default=()
            Constraints made by ``freeze``, ``fix``, ``between``, ``within``, ``only_increase``, ``only_decrease``, ``allow``,
            ``forbid``, ``becomes``, ``stays``, ``linear``, ``max_changes``, ``implies`` and ``among``.
        count : int or None, default=1
            The number of answers, cheapest first, each from a different leaf; None for one from every leaf.
        margin : float, default=0.0
            How far w @ x + b must stay from 0 at every split on the path to the leaf.
        **options : optional
            Further options. ``time_limit`` is the number of seconds, ``max_nodes`` the number of search nodes, after which the
            search stops with the status "limit".

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
        >>> from counterleaf import Tree, freeze
        >>> tree = Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
        >>> answer = Explainer(tree).explain([0.0, 0.0], target="yes", constraints=freeze("x1"))
        >>> answer[0].changes, answer[0].cost
        ({'x0': (0.0, 1.0)}, 1.0)
        """
        query = self._query(target, cost, constraints, count=count, margin=margin, **known_options("explain", options))
        return self._answers(row, query, None)[0]

    def explain_margins(
        self,
        row: Any,
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
        >>> from counterleaf import Tree
        >>> tree = Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
        >>> [round(answer[0].cost, 9) for answer in Explainer(tree).explain_margins([0.0, 0.0], margins=[0.0, 1.0, 3.0])]
        [0.5, 2.0, 8.0]
        """
        values = read_margins(margins)
        increasing = sorted(set(values))
        limits = {"count": count, "margin": increasing[0], **known_options("explain_margins", options)}
        found = self._answers(row, self._query(target, cost, constraints, **limits), increasing)
        by_margin = dict(zip(increasing, found, strict=True))
        return MarginPath(tuple(values), tuple(by_margin[margin] for margin in values))

    def explain_many(
        self,
        rows: Any,
        *,
        target: Any = None,
        cost: Any = None,
        constraints: Any = (),
        margin: float = 0.0,
        n_jobs: int | None = 1,
        **options: Unpack[batch.Options],
    ) -> Any:
        """Find the cheapest answer for every row of a table and return a table.

        The answers are those of ``explain`` for each row, for any number of threads and any chunk size, without their proofs.

        Parameters
        ----------
        rows : DataFrame or array-like
            A pandas or polars frame or a 2-D array, in the units of the table.
        target, cost : optional
            As in ``explain``. Without a target, for each row, any class except its own.
        constraints : Constraint or list of Constraint, default=()
            As in ``explain``. Constraints such as ``freeze`` and ``only_increase`` refer to the values of each row.
        margin : float, default=0.0
            As in ``explain``.
        n_jobs : int or None, default=1
            The number of threads; -1 for every core.
        **options : optional
            Further options. ``time_limit`` and ``max_nodes`` apply to each row. ``chunk_size`` is the number of rows that are
            solved at a time, by default as many as fit into the processor's caches. ``progress=False`` turns off the bar on
            stderr, which is shown only on a terminal and only if the work takes long.

        Returns
        -------
        DataFrame
            A frame of the same library as ``rows`` (pandas for an array), with one line per row and the same index. The columns
            are ``status`` ("optimal", "infeasible", "limit", or "invalid" for a row that cannot be explained), ``cost``,
            ``lower_bound``, ``leaf``, ``label``, ``n_changed``, ``confirmed``, ``probability`` if the target is one, and the
            new values of every feature that changes in some row, in the type of its column if that can represent them. They are
            missing if a row has no answer. If some row is invalid, or the model fails on its answer, the column ``problem``
            says why.

        Raises
        ------
        CounterleafError
            If an argument does not fit, or the columns of ``rows`` are not those of the table. It is raised before any search.

        Examples
        --------
        >>> import numpy as np
        >>> from counterleaf import Tree
        >>> tree = Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
        >>> out = Explainer(tree).explain_many(np.array([[0.0, 0.0], [0.0, 0.5], [2.0, 0.0]]), target="yes")
        >>> print(out[["status", "cost", "label", "n_changed", "x0", "x1"]])
            status   cost label  n_changed    x0    x1
        0  optimal  0.500   yes          2  0.50  0.50
        1  optimal  0.125   yes          2  0.25  0.75
        2  optimal  0.000   yes          0  2.00  0.00
        """
        known_options("explain_many", options, batch.Options)
        chunk_size, progress = options.pop("chunk_size", None), options.pop("progress", True)
        query = self._query(target, cost, constraints, margin=margin, **options)
        batch.check(self.schema.names, chunk_size)
        threads, table = batch.workers(n_jobs), TableRows(rows, self.schema)
        return batch.run(batch.Batch(self._aims, self._adapter, table, query, threads, self._with_gaps), chunk_size, progress)

    def _query(self, target: Any, cost: Any, constraints: Any, **limits: Any) -> Query:
        cost = self.default_cost if cost is None else cost
        return Query.read(target, cost, self._prices(cost), constraints, **limits)

    def _prices(self, cost: Any) -> Prices:
        """Return the cost as arrays; those of the last cost are reused, since many queries share one."""
        last_cost, prices = self._priced
        if cost is not last_cost:
            prices = lower_cost(cost, self.schema, self.spreads)
            self._priced = (cost, prices)
        return prices

    def _with_gaps(self, missing: tuple[str, ...]) -> Explainer:
        return self._variants.get(missing, lambda: self._of(adapter_with_gaps(self._adapter, missing), self.spreads))

    def _answers(self, row: Any, query: Query, margins: list[float] | None) -> list[Explanation]:
        """Return one explanation per margin, which increase; by default for the margin of the query."""
        try:
            source = self._aims.locate(row)
        except MissingNumbersError as error:
            if self._adapter.routes is None:
                raise
            return self._with_gaps(error.names)._answers(row, query, margins)
        if self._adapter.leaves_out:
            return self._with_gaps(())._answers(row, query, margins)
        if (prices := self._prices(query.cost)) is not query.prices:  # of an explainer with gaps
            query = replace(query, prices=prices)
        return self._answering.answers(row, source, query, margins)
