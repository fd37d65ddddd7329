"""Leaves that compute: whole calls compared with one program per leaf and target, solved by Gurobi."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes

from counterleaf import _core
from counterleaf.explainer import Explainer
from counterleaf.learn.classifier import TAOClassifier
from counterleaf.learn.regressor import TAORegressor
from counterleaf.question.costs.terms import L1, L2
from counterleaf.question.query import read_goal, value
from counterleaf.question.question import Question as Asked
from counterleaf.search.tree import TreeTarget
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array
from counterleaf_experiments.benchmark.measurement import relative_difference, timed
from counterleaf_experiments.benchmark.scaled_data import ScaledData
from counterleaf_experiments.benchmark.tables import number, table_row
from counterleaf_experiments.solvers import Gurobi, Leaves, Question, enumerate_leaves

_DEPTHS = {"letter": 8, "breast": 2, "spambase": 3}


def subjects(data: list[ScaledData], seed: int) -> Iterator[tuple[str, Any, Array, Any]]:
    """Yield a title, a model, rows to explain and a target, for each tree: softmax leaves, and linear ones for numbers."""
    for one in data:
        if one.key not in _DEPTHS:
            continue
        model = TAOClassifier(max_depth=_DEPTHS[one.key], leaves="softmax", random_state=seed)
        model.fit(one.X[one.train], one.y[one.train])
        target = model.classes_[len(model.classes_) // 2]
        rows = one.X[one.test if len(one.test) else one.train]
        yield f"{one.title}, softmax leaves", model, rows[model.predict(rows) != target], target
    X, y = load_diabetes(return_X_y=True)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    model = TAORegressor(max_depth=4, leaves="linear", random_state=seed).fit(X, y)
    least = float(np.quantile(y, 0.8))
    yield "Diabetes, linear leaves", model, X[model.predict(X) < least], value(at_least=least)


def measure(subject: tuple[str, Any, Array, Any], power: int, rows: int, budget: float) -> str:
    """Compare whole calls with Gurobi on every leaf that can reach the target; returns a table line."""
    title, model, sources, target = subject
    tree = model.tree_
    explainer = Explainer(tree, schema=Schema([Numeric(f"x{d}", 0.0, 1.0) for d in range(tree.n_features)]))
    cost = (L1 if power == 1 else L2)()
    prepared = explainer._targets.at(read_goal(target, tree, 0))
    plain = prepared.decision.tree
    labels = [plain.classes.tolist()[k] for k in prepared.decision.target]
    regions = [region for label in labels for region in Leaves(plain).by_label.get(label, [])]
    none, one = np.zeros(tree.n_features), np.ones(tree.n_features)
    solver = Gurobi(budget)
    explainer.explain(sources[0], target=target, cost=cost)  # prepares the tree
    ours: list[float] = []
    theirs: list[float] = []
    searches: list[float] = []
    proved, difference = 0, 0.0
    until = time.perf_counter() + budget
    for source in sources[:rows]:
        answer, ms = timed(explainer.explain, source, target=target, cost=cost)
        ours.append(ms)
        searches.append(timed(*_search(explainer, prepared, source, cost))[1])
        proved += answer.certificate.check() and all(found.confirmed for found in answer)
        if not theirs or time.perf_counter() < until:
            (best, _), slow = timed(enumerate_leaves, solver, regions, Question(source, none, one, one, power))
            theirs.append(slow)
            difference = max(difference, relative_difference(best, answer.lower_bound))
    name = f"{title}, {len(tree.leaves)} leaves, {tree.n_features} columns, L{power}"
    cells = [name, f"{len(ours)} ({len(theirs)})", number(statistics.median(ours)), number(statistics.median(searches))]
    cells += [f"{proved} of {len(ours)}", number(statistics.median(theirs))]
    cells += [
        number(statistics.median(slow / fast for slow, fast in zip(theirs, some, strict=False))) for some in (ours, searches)
    ]
    return table_row([*cells, f"{difference:.0e}"])


def _search(explainer: Explainer, prepared: TreeTarget, source: Array, cost: L1 | L2) -> tuple[Any, ...]:
    """The core's search for one row, and its arguments."""
    search, query = prepared.search, explainer.lower(Asked(None, cost))
    begin = prepared.source(explainer._targets.locate(source))
    limits = search.run(begin, query, prepared.decision.target).core_limits
    target = search.target(prepared.decision.target, 0.0).core
    return search.ready(0.0).core.find, begin.vector, begin.leaf, query.prices.core, target, limits, _core.Budget(1)
