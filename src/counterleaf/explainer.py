"""Explainer: from a row in the user's words to an answer in the user's words."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from counterleaf import _core
from counterleaf.answer.explanation import Counterfactual, Explanation, tell
from counterleaf.answer.margins import MarginPath
from counterleaf.core.stopping import current
from counterleaf.errors import CounterleafError, number
from counterleaf.model.adapter import View, view
from counterleaf.proof.certificate import Certificate, Status
from counterleaf.question.constraint import Constraint, listed
from counterleaf.question.cost import L1, L2, Prices, lower_cost
from counterleaf.question.target import read_target
from counterleaf.search.conflict import smallest_conflict
from counterleaf.search.search import Engine
from counterleaf.table.features import Feature
from counterleaf.table.infer import Spreads
from counterleaf.table.output import COLUMNS
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_MANY = 1 << 62  # as good as no limit


class Explainer:
    """Answers for one model: the cheapest change to a row that makes the model say something else.

    Parameters
    ----------
    model : a ``Tree``, a model that ``read`` knows or a scikit-learn ``Pipeline`` that ends with one; its own ``predict``
        confirms every answer.
    data : a frame or array of typical rows; gives names, types, categories, bounds and the spreads behind named weights.
    schema : the features, instead of those that ``data`` would give.
    bounds : False leaves the ranges seen in ``data`` out of the bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from counterleaf import Tree
    >>> tree = Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    >>> answer = Explainer(tree).explain([0.0, 0.0], target="yes")
    >>> answer[0].row, answer[0].cost, str(answer.status), answer.certificate.check()
    ([0.5, 0.5], 0.5, 'optimal', True)
    """

    def __init__(self, model: Any, data: Any = None, schema: Schema | None = None, bounds: bool = True) -> None:
        if schema is not None and not isinstance(schema, Schema):
            raise CounterleafError(f"schema is a {type(schema).__name__}; expected Schema([...])")
        matched = view(model, data, schema, bounds)
        self._settle(matched, None if data is None else Spreads.of(matched.spread_codes(data)))

    def _settle(self, matched: View, spreads: Spreads | None) -> None:
        self.model, self._view, self.spreads = matched.model, matched, spreads
        self.schema, self.tree = matched.schema, matched.tree
        self._labels: list[Any] = matched.tree.classes.tolist()
        self._engine = Engine(self.tree, self.schema, matched.guard)
        self.default_cost = L2() if spreads is None else L1("range")
        self._priced: tuple[Any, Prices] = (self.default_cost, lower_cost(self.default_cost, self.schema, self.spreads))

    def __getstate__(self) -> dict[str, Any]:
        """What a worker needs to start: the rest is made again, in milliseconds."""
        return {"view": self._view, "spreads": self.spreads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._settle(state["view"], state["spreads"])

    def __repr__(self) -> str:
        labels = [str(label) for label in self.tree.classes.tolist()]
        shown = ", ".join(labels[:6] + ["..."] * (len(labels) > 6))
        return f"<Explainer of a {type(self.model).__name__}: {len(self.schema)} features, classes {shown}>"

    @classmethod
    def _of(cls, matched: View, spreads: Spreads | None) -> Explainer:
        made = cls.__new__(cls)
        made._settle(matched, spreads)
        return made

    def replace(self, *features: Feature) -> Explainer:
        """The same model with some features, known by their names, given anew; ``schema.replace`` without reading it again.

        Numbers may get other bounds, steps and ``integer``. Features with finitely many values keep these and may get other
        costs. The spreads behind named weights stay.

        Raises
        ------
        CounterleafError
            If a feature is unknown, named twice, or of another kind or other values than before.

        Examples
        --------
        >>> from counterleaf import Numeric, Tree
        >>> tree = Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
        >>> Explainer(tree).replace(Numeric("x0", 0, 9, integer=True)).explain([0.0, 0.0], target="yes")[0].row
        [0.0, 1.0]
        """
        return self._of(self._view.replaced(features), self.spreads)

    def to_json(self) -> str:
        """All that an answer depends on as JSON: tree, features and spreads; numbers come back bit for bit.

        The model itself is not written. For a pipeline the tree is that over the table's own columns.

        Raises
        ------
        CounterleafError
            If a class or a category is neither text nor a number.
        """
        from counterleaf.storage import explainers

        return explainers.write(self._view, self.spreads)

    @classmethod
    def from_json(cls, text: str | bytes) -> Explainer:
        """The explainer that ``to_json`` wrote; its ``model`` is the tree, and it is the tree that confirms the answers.

        Raises
        ------
        CounterleafError
            If the text is anything else, or was garbled.

        Examples
        --------
        >>> from counterleaf import Tree
        >>> tree = Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
        >>> again = Explainer.from_json(Explainer(tree).to_json())
        >>> again, again.explain([0.0, 0.0], target="yes")[0].row
        (<Explainer of a Tree: 2 features, classes no, yes>, [0.5, 0.5])
        """
        from counterleaf.storage import explainers

        return cls._of(*explainers.read(text))

    def explain(
        self,
        row: Any,
        target: Any = None,
        cost: Any = None,
        constraints: Any = (),
        count: int | None = 1,
        margin: float = 0.0,
        time_limit: float | None = None,
        max_states: int | None = None,
    ) -> Explanation:
        """The cheapest rows that the model classifies as ``target``.

        Parameters
        ----------
        row : dict, Series, one-row frame or 1-D array, in the units of the table.
        target : a class, several, or {class: cost}; by default any class but the row's own.
        cost : ``L1``, ``L2``, ``Quadratic``, ``Linear`` or a sum; by default
            ``L1("range")`` where data is given, else ``L2()``.
        constraints : a list of ``freeze``, ``fix``, ``between``, ``increase``, ``decrease``, ``allow``, ``forbid``, ``linear``,
            ``at_most``, ``implies``, ``among``.
        count : how many leaves, cheapest first, each with its best row; None: every leaf.
        margin : w @ x + b stays at least this far from 0 at every split on the way.
        time_limit, max_states : seconds or search states after which to stop with status "limit"; the clock is read
            between two regions.

        Raises
        ------
        CounterleafError
            If the question makes no sense, or the model fails on the answer. "No such row" is the status "infeasible",
            with a proof.
        """
        return self._answer(row, [number(margin, "margin")], target, cost, constraints, count, time_limit, max_states)[0]

    def explain_path(
        self,
        row: Any,
        margins: Iterable[float],
        target: Any = None,
        cost: Any = None,
        constraints: Any = (),
        count: int | None = 1,
        time_limit: float | None = None,
        max_states: int | None = None,
    ) -> MarginPath:
        """The answers for each of several margins, from barely passing to safe.

        Each search goes on from the last one's, the margins taken in rising order; the limits are for each of them.
        The other parameters are those of ``explain``.

        Examples
        --------
        >>> from counterleaf import Tree
        >>> tree = Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
        >>> [round(answer[0].cost, 9) for answer in Explainer(tree).explain_path([0.0, 0.0], margins=[0.0, 1.0, 3.0])]
        [0.5, 2.0, 8.0]
        """
        if not isinstance(margins, Iterable) or isinstance(margins, (str, bytes, Mapping)):
            raise CounterleafError(f"margins is {margins!r}; expected a list of numbers such as [0.0, 0.1, 0.2]")
        steps = [number(margin, "a margin") for margin in margins]
        if not steps:
            raise CounterleafError("margins is empty; give at least one, such as [0.0]")
        found = self._answer(row, sorted(set(steps)), target, cost, constraints, count, time_limit, max_states)
        by_margin = dict(zip(sorted(set(steps)), found, strict=True))
        return MarginPath(tuple(steps), tuple(by_margin[margin] for margin in steps))

    def explain_many(
        self,
        rows: Any,
        target: Any = None,
        cost: Any = None,
        constraints: Any = (),
        margin: float = 0.0,
        time_limit: float | None = None,
        max_states: int | None = None,
        n_jobs: int | None = 1,
        chunk_size: int | None = None,
        progress: bool = True,
    ) -> Any:
        """The cheapest answer for every row of a table, as a table.

        The answers are those of ``explain`` on each row, whatever the number of workers and the size of the chunks; only their
        proofs are not kept.

        Parameters
        ----------
        rows : a frame (pandas or polars) or 2-D array, in the units of the table.
        target, cost, constraints, margin : as in ``explain``; what depends on the row (``freeze``, ``increase``, its class now)
            is taken from each row.
        time_limit, max_states : for each row.
        n_jobs : workers; -1 for every core.
        chunk_size : rows in work at a time; by default as many as fit into the processor's caches.
        progress : False: no bar on stderr, which is shown only on a terminal and only if the work takes long.

        Returns
        -------
        frame
            Of the kind of ``rows`` (pandas for an array), one line per row, with its index: ``status`` ("optimal",
            "infeasible", "limit", or "invalid" for a row that cannot be asked about), ``cost``, ``lower_bound``, ``leaf``,
            ``label``, ``n_changed``, ``verified``, and the new values of every feature that changes in some row, in the type
            of its column where that holds them. What a row has no answer for is missing. ``problem`` is there if some row
            has one: why it is invalid, or how the model failed on its answer.

        Raises
        ------
        CounterleafError
            If the question makes no sense, or the columns of the rows are not those of the table, before any work.

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
        from counterleaf.batch import batch
        from counterleaf.table.rows import Sheet

        _, time_limit, most = _limits(1, number(margin, "margin"), time_limit, max_states)
        taken = {*COLUMNS, "problem"} & set(self.schema.names)
        if taken:
            raise CounterleafError(f"features named {sorted(taken)} collide with the frame's own columns; rename them")
        if chunk_size is not None and (
            isinstance(chunk_size, bool) or not isinstance(chunk_size, (int, np.integer)) or chunk_size < 1
        ):
            raise CounterleafError(f"chunk_size is {chunk_size!r}; expected a number of rows from 1, or None")
        workers = batch.workers(n_jobs)
        owns = range(len(self.tree.classes)) if target is None else (0,)
        targets = [read_target(target, self.tree.classes, own) for own in owns]
        sheet = Sheet(rows, self.schema)
        question = batch.Batch(
            self._engine, self._view, sheet, targets, self._price(cost), listed(constraints), margin, time_limit, most, workers
        )
        return batch.run(question, chunk_size, progress)

    def _answer(
        self,
        row: Any,
        margins: list[float],
        target: Any,
        cost: Any,
        constraints: Any,
        count: Any,
        time_limit: Any,
        max_states: Any,
    ) -> list[Explanation]:
        """One answer per margin, the margins in rising order."""
        count, time_limit, most = _limits(count, margins[0], time_limit, max_states)
        source = self.schema.encode(row)
        self._engine.check_narrow(source)
        leaf = self.tree.leaf_of(source)
        own = int(self.tree.value[leaf])
        wanted = read_target(target, self.tree.classes, own)
        given = listed(constraints)
        prices = self._price(cost)
        path = len(margins) > 1

        def solve(some: list[Constraint], margin: float, leaves: int | None, until: float, earlier: Any) -> Certificate:
            left = None if until == math.inf else max(until - time.perf_counter(), 0.0)
            patience = _core.Patience(leaves, most, left, path, current())
            return self._engine.certify(source, leaf, wanted, prices, some, margin, patience, earlier)

        def clash(margin: float, until: float) -> tuple[Constraint, ...]:
            def feasible(subset: list[int]) -> bool:
                """Unless proved otherwise: a search that was stopped, or whose cost is unbounded, has not proved it."""
                stop = current()
                if time.perf_counter() >= until or (stop is not None and stop.is_set()):
                    return True
                try:
                    return solve([given[k] for k in subset], margin, 1, until, None).status is not Status.INFEASIBLE
                except CounterleafError:
                    return True

            return tuple(given[k] for k in smallest_conflict(len(given), feasible))

        row = row.copy() if hasattr(row, "copy") else row
        answers: list[Explanation] = []
        last: Any = None
        for margin in margins:
            until = math.inf if time_limit is None else time.perf_counter() + time_limit
            certificate = solve(given, margin, count, until, last)
            if last is not None and certificate.status is Status.LIMIT and time_limit is None and most is None:
                certificate = solve(given, margin, count, until, None)  # the warm start, not a limit, left it open
            conflict = clash(margin, until) if certificate.status is Status.INFEASIBLE else ()
            answers.append(self._tell(row, source, own, wanted, certificate, conflict, tuple(given), cost))
            last = certificate.findings.answer
        return answers

    def _price(self, cost: Any) -> Prices:
        """The cost as arrays; the last one is remembered, since questions come in runs."""
        cost = self.default_cost if cost is None else cost
        known, prices = self._priced
        if cost is not known:
            prices = lower_cost(cost, self.schema, self.spreads)
            self._priced = (cost, prices)
        return prices

    def _tell(
        self,
        row: Any,
        source: Array,
        own: int,
        wanted: dict[int, float],
        certificate: Certificate,
        conflict: tuple[Constraint, ...],
        given: tuple[Constraint, ...],
        cost: Any,
    ) -> Explanation:
        """Translate what was found back into the user's table; the model is asked about it now, the rest waits to be read."""
        found, labels = certificate.findings, self._labels
        rows = [self.schema.decode(x, row) for x in found.points] if self._view.takes_rows else None
        said = self._view.labels(found.points, rows or []) if len(found.leaves) else ()

        def make() -> tuple[Counterfactual, ...]:
            decoded = [self.schema.decode(x, row) for x in found.points] if rows is None else rows
            return tuple(
                tell(self.schema, self.tree, row, source, claim, new, bool(label == labels[self.tree.value[claim.leaf]]))
                for claim, new, label in zip(certificate.answers, decoded, said, strict=True)
            )

        target = tuple(labels[k] for k in wanted)
        least, asked = found.lower_bound, (conflict, given, self.default_cost if cost is None else cost)
        return Explanation(found.status, make, least, row, labels[own], target, self.schema, certificate, *asked)


def _limits(count: Any, margin: float, time_limit: Any, max_states: Any) -> tuple[int | None, float | None, int | None]:
    """The limits of a question, checked; ``margin`` is the least one."""
    if count is not None and not _is_count(count):
        raise CounterleafError(f"count is {count!r}; expected a whole number from 1, or None for every leaf")
    if margin < 0:
        raise CounterleafError(f"margin is {margin}; expected 0 or more")
    if time_limit is not None:
        time_limit = number(time_limit, "time_limit")
        if time_limit <= 0:
            raise CounterleafError(f"time_limit is {time_limit}; expected seconds above 0, or None")
    if max_states is not None and not _is_count(max_states):
        raise CounterleafError(f"max_states is {max_states!r}; expected a whole number from 1, or None")
    most = None if max_states is None else min(int(max_states), _MANY)
    return None if count is None else min(int(count), _MANY), time_limit, most


def _is_count(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 1)
