"""The region around an answer of an ensemble, as a tree of one leaf: within it, every tree of the ensemble keeps its leaf."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.proof.certificate import Answer
from counterleaf.proof.problem import Problem


def region(certificate: Any, k: int) -> tuple[Problem, Answer]:
    """The problem of the rows in the region of answer k, and that answer, for rounding numbers to few digits.

    Parameters
    ----------
    certificate : EnsembleCertificate
        The proof.
    k : int
        The place of the answer.

    Returns
    -------
    tuple of Problem and Answer
        The same question with narrower bounds, so that every row within them is an answer of the same class.
    """
    answer, problem, forest = certificate.answers[k], certificate.problem, certificate.forest
    cells = forest.cells_of(answer.row[None])[0]
    low, high = np.zeros(forest.size, np.int64), np.diff(forest.first_cell) - 1
    node = forest.roots.copy()
    while len(inner := np.flatnonzero(forest.coordinate[node] >= 0)):
        at = node[inner]
        j = forest.coordinate[at]
        right = forest.goes_right(at, cells[j])
        number = ~forest.grouped[j]
        np.maximum.at(low, j[number & right], forest.cut[at][number & right] + 1)
        np.minimum.at(high, j[number & ~right], forest.cut[at][number & ~right])
        node[inner] = np.where(right, forest.right[at], forest.left[at])
    question = problem.question
    lower, upper = question.features.lower.copy(), question.features.upper.copy()
    for j in range(forest.size):
        v = int(forest.variable[j])
        if forest.grouped[j]:
            span = slice(v, v + forest.first_cell[j + 1] - forest.first_cell[j])
            lower[span] = upper[span] = answer.row[span]
            continue
        edges = forest.edges[j]
        if low[j] > 0:
            lower[v] = max(lower[v], edges[low[j] - 1])
        if high[j] < len(edges):
            upper[v] = min(upper[v], np.nextafter(edges[high[j]], -np.inf))
    narrow = question._replace(features=question.features._replace(lower=lower, upper=upper))
    nodes = narrow.nodes.copy()
    nodes["below"] = answer.cost - float(problem.cost_of(answer.row[None])[0])
    posed = narrow._replace(nodes=nodes), problem.table
    return Problem(problem.tree, problem.splits, functools.partial(_same, posed)), replace(answer, leaf=0)


def _same(posed: Any) -> Any:
    return posed
