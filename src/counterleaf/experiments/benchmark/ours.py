"""counterleaf's own lines: whole calls one by one, a batch, and the search without what is around it."""

from __future__ import annotations

import functools
import math
import statistics
from typing import Any

import numpy as np
import pandas as pd

from counterleaf import _core
from counterleaf.experiments.benchmark.cases import Case
from counterleaf.experiments.benchmark.line import ONE, OURS, SEARCH, Answer, Line, timed
from counterleaf.question.constraint import listed
from counterleaf.question.target import read_target
from counterleaf.types import Array
from counterleaf.table.encoding import encode_table

_REPEATS = 3


def one_by_one(case: Case, rows: int) -> tuple[Line, Line]:
    """Whole ``explain`` calls, and their searches alone; each row is asked once before, untimed, as in a running service."""
    explainer, calls, searches, optima = case.subject.explainer, [], [], []
    for k in range(min(rows, len(case.subject.places))):
        row = case.row(k)
        question = {"target": case.subject.targets[k], "cost": case.cost, "constraints": case.constraints}
        explainer.explain(row, **question)
        answer, ms = timed(functools.partial(explainer.explain, row, **question))
        _, alone = timed(*_search(case, k))
        x = explainer.schema.encode(answer[0].row) if len(answer) else None
        cost, claimed = case.judge(k, x), answer[0].cost if len(answer) else math.inf
        calls.append(Answer(ms, cost, claimed))
        searches.append(Answer(alone, cost, claimed))
        optima.append(answer.lower_bound)
    bounds = tuple(optima)
    return Line(case.title, ONE, tuple(calls), optima=bounds), Line(case.title, SEARCH, tuple(searches), optima=bounds)


def _search(case: Case, k: int) -> tuple[Any, ...]:
    """The core's search for one row, and its arguments."""
    explainer = case.subject.explainer
    search = explainer._search
    source = search.locate(case.row(k))
    query = explainer._query(case.subject.targets[k], case.cost, case.constraints)
    target = query.classes(explainer.tree.classes, source.label)
    _, limits = search.limits(query.constraints, source.vector)
    arguments = source.vector, source.leaf, query.prices.core, search.aim(target, 0.0).core, limits, _core.Patience(1)
    return search.ready(0.0).core.find, *arguments


def batch(case: Case) -> Line:
    """``explain_many`` over all rows, by one worker: milliseconds per row, the median of several calls."""
    subject = case.subject
    table = subject.ground.table(subject.places)

    asked = {"target": subject.target, "cost": case.cost, "constraints": case.constraints, "progress": False}
    found = subject.explainer.explain_many(table, **asked)  # prepares the tree
    times = [timed(subject.explainer.explain_many, table, **asked)[1] / len(subject.places) for _ in range(_REPEATS)]
    rows = _rows(case, found)
    answers = tuple(
        Answer(math.nan, case.judge(k, rows[k] if math.isfinite(cost) else None), cost if math.isfinite(cost) else math.inf)
        for k, cost in enumerate(found["cost"].tolist())
    )
    bounds = tuple(found["lower_bound"].tolist())
    return Line(case.title, OURS, answers, per_row=statistics.median(times), optima=bounds)


def _rows(case: Case, found: pd.DataFrame) -> Array:
    """(rows, columns) what a batch answered: the source with the columns that changed written over."""
    ground, places = case.subject.ground, case.subject.places
    schema = ground.schema
    if ground.frame is None:
        X = ground.X[places].copy()
        for d, name in enumerate(schema.names):
            if name in found:
                X[:, d] = np.where(found[name].isna(), X[:, d], found[name])
        return X
    frame = ground.frame.iloc[places].copy()
    for name in schema.names:
        if name in found:
            frame[name] = found[name].where(found[name].notna(), frame[name])
    return schema.spread(encode_table(schema, frame))
