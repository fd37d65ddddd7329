"""A quadratic cost that couples neighbouring pixels, as in the paper's digits: any change, only ink added, only ink erased."""

from __future__ import annotations

import math
import statistics
import time
from typing import Any

import numpy as np

from counterleaf.question.constraints.bounds import only_decrease, only_increase
from counterleaf.question.costs.terms import Quadratic
from counterleaf.types import Array
from counterleaf_experiments.benchmark.cases import Subject
from counterleaf_experiments.benchmark.measurement import relative_difference, timed
from counterleaf_experiments.benchmark.tables import number, table_row
from counterleaf_experiments.paper.figures import neighbour_matrix
from counterleaf_experiments.solvers import PiqpCoupled

DIRECTIONS = ("both ways", "ink added only", "ink erased only")


def measure(subject: Subject, direction: str, rows: int, budget: float) -> str:
    """Compare whole calls, with a check of their proofs, to PIQP's sparse solver on every target leaf; returns a table line."""
    data = subject.data
    assert data.shape is not None
    Q, names = neighbour_matrix(data.shape), data.schema.names
    cost, solver = Quadratic(Q), PiqpCoupled(Q)
    only = only_increase if direction == DIRECTIONS[1] else only_decrease
    constraints: list[Any] = [] if direction == DIRECTIONS[0] else [only(*names)]
    ours, theirs, ratios, proved, difference = [], [], [], 0, 0.0
    first = {"target": subject.targets[0], "cost": cost, "constraints": constraints}
    subject.explainer.explain(data.X[subject.places[0]], **first)  # prepares the tree
    until = time.perf_counter() + budget
    for k in range(min(rows, len(subject.places))):
        source, target = data.X[subject.places[k]], subject.targets[k]
        query = {"target": target, "cost": cost, "constraints": constraints}
        subject.explainer.explain(source, **query)  # the first call prepares data that later calls share
        answer, ms = timed(subject.explainer.explain, source, **query)
        ours.append(ms)
        proved += answer.certificate.check()
        if k == 0 or time.perf_counter() < until:
            best, slow = timed(_least_cost, solver, subject, source, target, direction)
            theirs.append(slow)
            ratios.append(slow / ms)
            difference = max(difference, relative_difference(best, answer.lower_bound))
    title = f"{subject.title}, neighbours coupled, {direction}"
    cells = [title, f"{len(ours)} ({len(theirs)})", number(statistics.median(ours)), number(max(ours))]
    cells += [f"{proved} of {len(ours)}", number(statistics.median(theirs)), number(statistics.median(ratios))]
    return table_row([*cells, f"{difference:.0e}"])


def _least_cost(solver: PiqpCoupled, subject: Subject, source: Array, target: Any, direction: str) -> float:
    """The least cost over all leaves of the target."""
    lower = source if direction == DIRECTIONS[1] else np.zeros(len(source))
    upper = source if direction == DIRECTIONS[2] else np.ones(len(source))
    regions = subject.leaves.by_label.get(target, [])
    return min((solver.cost(region, source, lower, upper) for region in regions), default=math.inf)
