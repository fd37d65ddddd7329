"""Independent optima: leaf by leaf, as in the paper, without the search, its bounds or its cuts.

``BruteForce`` solves an axis-aligned tree in closed form from scikit-learn's own arrays; ``Enumeration`` hands every leaf of
an oblique tree to a solver.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterleaf.features import Numeric
from counterleaf.schema import Array, Schema
from counterleaf.solvers import Gurobi, Leaves, Piqp, Question, ScipyHighs, Solver, SolverError, enumerate_leaves
from counterleaf.tree import Tree


def spans(schema: Schema) -> list[slice]:
    """The columns of each category of a table without ordered features."""
    return [schema.span(d) for d, feature in enumerate(schema) if not isinstance(feature, Numeric)]


class BruteForce:
    """The leaves of a scikit-learn tree as boxes of float64 numbers."""

    def __init__(self, model: Any, schema: Schema) -> None:
        self.spans = spans(schema)
        self.bounds = schema.bounds()
        self.classes = model.classes_.tolist()
        tree, width = model.tree_, schema.width
        self.low, self.high, self.label = [], [], []
        stack = [(0, np.full(width, -np.inf), np.full(width, np.inf))]
        while stack:
            node, low, high = stack.pop()
            if tree.children_left[node] < 0:
                self.low.append(low)
                self.high.append(high)
                self.label.append(int(tree.value[node][0].argmax()))
                continue
            column = int(tree.feature[node])
            last, first = _sides(float(tree.threshold[node]))
            stack.append((tree.children_left[node], low, _with(high, column, min(high[column], last))))
            stack.append((tree.children_right[node], _with(low, column, max(low[column], first)), high))

    def solver(self, power: int) -> str:
        return "brute force"

    def cost(self, source: Array, target: Any, frozen: Array, power: int) -> float:
        """The least cost over the leaves of a class, infinity if there is none; ``frozen`` tells which columns stay."""
        wanted = np.array(self.label) == self.classes.index(target)
        lower, upper = (np.where(frozen, source, end) for end in self.bounds)
        low = np.maximum(np.array(self.low)[wanted], lower)
        high = np.minimum(np.array(self.high)[wanted], upper)
        costs = np.abs(np.clip(source, low, high) - source) ** power
        possible = low <= high
        for span in self.spans:  # one column is 1 and the others are 0
            ones, zeros = low[:, span] <= 1, low[:, span] <= 0
            ones, zeros = ones & (high[:, span] >= 1), zeros & (high[:, span] >= 0)
            missed = (~zeros).sum(axis=1)[:, None] - ~zeros  # the other columns that cannot be 0
            category = ones & (missed == 0)
            own = source[span].argmax()
            costs[:, span] = 0.0
            costs[:, span.start] = np.where(category[:, own], 0.0, 2.0)
            possible[:, span] = category.any(axis=1)[:, None]
        costs = np.where(possible.all(axis=1), costs.sum(axis=1), math.inf)
        return float(costs.min(initial=math.inf))


def _with(bounds: Array, column: int, value: float) -> Array:
    out = bounds.copy()
    out[column] = value
    return out


def _sides(threshold: float) -> tuple[float, float]:
    """The last float64 that scikit-learn sends left, and the next one: it rounds to float32 and goes left at the threshold."""
    narrow = np.float32(threshold)
    if float(narrow) > threshold:  # as float64: a Python float beside a float32 would be rounded first
        narrow = np.nextafter(narrow, np.float32(-np.inf))
    middle = (float(narrow) + float(np.nextafter(narrow, np.float32(np.inf)))) / 2
    if float(np.float32(middle)) <= threshold:
        return middle, math.nextafter(middle, math.inf)
    return math.nextafter(middle, -math.inf), middle


class Enumeration:
    """One linear or quadratic program, with 0/1 columns where there are categories, per leaf of the target: the paper's way.

    Gurobi solves them, as in the paper, where it is installed and its licence allows the size; else HiGHS the linear ones and
    PIQP the quadratic ones without categories.
    """

    def __init__(self, tree: Tree, schema: Schema) -> None:
        self.spans = tuple(spans(schema))
        self.bounds = schema.bounds()
        self.leaves = Leaves(tree)
        self.gurobi = _gurobi()

    def solver(self, power: int) -> str:
        """The name of the solver for a power of the distance, empty if there is none."""
        source = np.zeros(len(self.bounds[0]))
        chosen = self._solver(self._question(source, np.zeros(len(source), bool), power))
        return "" if chosen is None else chosen.name

    def cost(self, source: Array, target: Any, frozen: Array, power: int) -> float:
        """The least cost over the leaves of a class, infinity if there is none; ``frozen`` tells which columns stay."""
        question = self._question(source, frozen, power)
        solver = self._solver(question)
        if solver is None:
            raise SolverError("no solver is installed for squares beside 0/1 columns")
        return enumerate_leaves(solver, self.leaves.by_label[target], question)[0]

    def _question(self, source: Array, frozen: Array, power: int) -> Question:
        lower, upper = (np.where(frozen, source, end) for end in self.bounds)
        return Question(source, lower, upper, np.ones(len(source)), power, self.spans)

    def _solver(self, question: Question) -> Solver | None:
        known = [*([] if self.gurobi is None else [self.gurobi]), ScipyHighs(), Piqp(tight=True)]
        return next((solver for solver in known if not solver.refuses(question)), None)


def _gurobi() -> Gurobi | None:
    """Gurobi with tight tolerances, None where it is not installed or has no licence."""
    try:
        return Gurobi(tight=True)
    except (ImportError, SolverError):
        return None
