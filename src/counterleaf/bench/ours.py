"""counterleaf's own lines: whole calls one by one, a batch, and the search without what is around it."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pandas as pd

from counterleaf.bench.cases import Case
from counterleaf.bench.line import ONE, OURS, SEARCH, Answer, Line, timed
from counterleaf.schema import Array
from counterleaf.search import find
from counterleaf.tables import codes

_REPEATS = 3


def one_by_one(case: Case, rows: int) -> tuple[Line, Line]:
    """Whole ``explain`` calls, and their searches alone; each row is asked once before, untimed, as in a running service."""
    explainer, calls, searches, optima = case.subject.explainer, [], [], []
    for k in range(min(rows, len(case.subject.places))):
        asked = case.row(k), case.subject.targets[k], case.cost, case.constraints
        explainer.explain(*asked)
        answer, ms = timed(explainer.explain, *asked)
        _, alone = timed(find, answer.certificate.problem, explainer.schema.variables, 1, None, None)
        x = explainer.schema.encode(answer[0].row) if len(answer) else None
        cost, claimed = case.judge(k, x), answer[0].cost if len(answer) else math.inf
        calls.append(Answer(ms, cost, claimed))
        searches.append(Answer(alone, cost, claimed))
        optima.append(answer.lower_bound)
    bounds = tuple(optima)
    return Line(case.title, ONE, tuple(calls), optima=bounds), Line(case.title, SEARCH, tuple(searches), optima=bounds)


def batch(case: Case) -> Line:
    """``explain_many`` over all rows, by one worker: milliseconds per row, the median of several calls."""
    subject = case.subject
    table = subject.ground.table(subject.places)

    asked = {"target": subject.target, "cost": case.cost, "constraints": case.constraints, "progress": False}
    found = subject.explainer.explain_many(table, **asked)  # prepares, and compiles where needed
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
    return schema.spread(codes(frame, schema))
