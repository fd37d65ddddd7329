"""counterleaf: whole calls one by one, a batch, and the search alone."""

from __future__ import annotations

import functools
import math
import statistics
from typing import Any

import numpy as np
import pandas as pd

from counterleaf import _core
from counterleaf.question.question import Question
from counterleaf.table.schema import encode_table
from counterleaf.types import Array
from counterleaf_experiments.benchmark.cases import Case
from counterleaf_experiments.benchmark.measurement import BATCH, ONE_BY_ONE, SEARCH, Answer, Measurement, timed

_REPEATS = 3


def one_by_one(case: Case, rows: int) -> tuple[Measurement, Measurement]:
    """Measure whole ``explain`` calls, and their searches alone; each row is explained once before, as in a running service."""
    explainer, calls, searches, optima = case.subject.explainer, [], [], []
    for k in range(min(rows, len(case.subject.places))):
        row = case.row(k)
        query = {"target": case.subject.targets[k], "cost": case.cost, "constraints": case.constraints}
        explainer.explain(row, **query)
        answer, ms = timed(functools.partial(explainer.explain, row, **query))
        _, alone = timed(*_search(case, k))
        x = explainer.schema.encode(answer[0].row) if len(answer) else None
        cost, claimed = case.valid_cost(k, x), answer[0].cost if len(answer) else math.inf
        calls.append(Answer(ms, cost, claimed))
        searches.append(Answer(alone, cost, claimed))
        optima.append(answer.lower_bound)
    bounds = tuple(optima)
    single = Measurement(case.title, ONE_BY_ONE, tuple(calls), optima=bounds)
    return single, Measurement(case.title, SEARCH, tuple(searches), optima=bounds)


def _search(case: Case, k: int) -> tuple[Any, ...]:
    """The core's search for one row, and its arguments."""
    explainer = case.subject.explainer
    source = explainer._targets.locate(case.row(k))
    query = explainer.lower(Question(case.subject.targets[k], case.cost, case.constraints))
    prepared = explainer._targets.at(explainer._targets.goal(query, source.label))
    search, target = prepared.search, prepared.decision.target
    limits = search.run(source, query, target).core_limits
    arguments = source.vector, source.leaf, query.prices.core, search.target(target, 0.0).core, limits, _core.Budget(1)
    return search.ready(0.0).core.find, *arguments


def batch(case: Case) -> Measurement:
    """Measure ``explain_many`` over all rows with one worker: milliseconds per row, the median of several calls."""
    subject = case.subject
    table = subject.data.table(subject.places)
    query = {"target": subject.target, "cost": case.cost, "constraints": case.constraints, "words": False, "progress": False}
    found = subject.explainer.explain_many(table, **query)  # prepares the tree
    times = [timed(subject.explainer.explain_many, table, **query)[1] / len(subject.places) for _ in range(_REPEATS)]
    rows = _rows(case, found)
    answers = tuple(
        Answer(
            math.nan, case.valid_cost(k, rows[k] if math.isfinite(cost) else None), cost if math.isfinite(cost) else math.inf
        )
        for k, cost in enumerate(found["cost"].tolist())
    )
    bounds = tuple(found["lower_bound"].tolist())
    return Measurement(case.title, BATCH, answers, per_row=statistics.median(times), optima=bounds)


def _rows(case: Case, found: pd.DataFrame) -> Array:
    """The answers of a batch as an array: the source rows with the changed features replaced."""
    data, places = case.subject.data, case.subject.places
    schema = data.schema
    if data.frame is None:
        X = data.X[places].copy()
        for d, name in enumerate(schema.names):
            if name in found:
                X[:, d] = np.where(found[name].isna(), X[:, d], found[name])
        return X
    frame = data.frame.iloc[places].copy()
    for name in schema.names:
        if name in found:
            frame[name] = found[name].where(found[name].notna(), frame[name])
    return schema.spread(encode_table(schema, frame))
