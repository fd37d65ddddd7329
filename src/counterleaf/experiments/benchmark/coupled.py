"""A quadratic cost that couples neighbouring pixels, as in the paper's digits: free, ink added only, ink erased only."""

from __future__ import annotations

import math
import statistics
import time
from typing import Any

import numpy as np

from counterleaf.experiments.benchmark.cases import Subject
from counterleaf.experiments.benchmark.line import apart, timed
from counterleaf.experiments.benchmark.table import line, number
from counterleaf.question.constraint import only_decrease, only_increase
from counterleaf.question.cost import Quadratic
from counterleaf.experiments.paper.figures import neighbours
from counterleaf.types import Array
from counterleaf.experiments.solvers import PiqpCoupled

WAYS = ("both ways", "ink added only", "ink erased only")


def measure(subject: Subject, way: str, rows: int, budget: float) -> str:
    """The line of one way: whole calls, their proofs re-checked, against PIQP's sparse solver on every target leaf."""
    assert subject.ground.shape is not None
    Q, names = neighbours(subject.ground.shape), subject.ground.schema.names
    cost, solver = Quadratic(Q), PiqpCoupled(Q)
    limits: list[Any] = [] if way == WAYS[0] else [(only_increase if way == WAYS[1] else only_decrease)(*names)]
    ours, theirs, ratios, proved, off = [], [], [], 0, 0.0
    subject.explainer.explain(subject.ground.X[subject.places[0]], target=subject.targets[0], cost=cost, constraints=limits)  # prepares the tree
    until = time.perf_counter() + budget
    for k in range(min(rows, len(subject.places))):
        source, target = subject.ground.X[subject.places[k]], subject.targets[k]
        subject.explainer.explain(source, target=target, cost=cost, constraints=limits)  # the first call prepares what later ones share
        answer, ms = timed(subject.explainer.explain, source, target, cost, limits)
        ours.append(ms)
        proved += answer.certificate.check()
        if k == 0 or time.perf_counter() < until:
            best, slow = timed(_least, solver, subject, source, target, way)
            theirs.append(slow)
            ratios.append(slow / ms)
            off = max(off, apart(best, answer.lower_bound))
    title = f"{subject.title}, neighbours coupled, {way}"
    cells = [title, f"{len(ours)} ({len(theirs)})", number(statistics.median(ours)), number(max(ours))]
    cells += [f"{proved} of {len(ours)}", number(statistics.median(theirs)), number(statistics.median(ratios))]
    return line([*cells, f"{off:.0e}"])


def _least(solver: PiqpCoupled, subject: Subject, source: Array, target: Any, way: str) -> float:
    lower = source if way == WAYS[1] else np.zeros(len(source))
    upper = source if way == WAYS[2] else np.ones(len(source))
    regions = subject.leaves.by_label.get(target, [])
    return min((solver.cost(region, source, lower, upper) for region in regions), default=math.inf)
