"""Independent optima, computed leaf by leaf as in the paper, without the search, its bounds or its cuts.

``BruteForce`` solves an axis-aligned tree in closed form from scikit-learn's arrays; ``Enumeration`` passes every leaf of an
oblique tree to a solver.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterleaf.model.tree import Tree
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array
from counterleaf_experiments.solvers import Gurobi, Leaves, Piqp, Question, ScipyHighs, Solver, SolverError, enumerate_leaves


def spans(schema: Schema) -> list[slice]:
    """The columns of each category of a table without ordered features."""
    return [schema.span(d) for d, feature in enumerate(schema) if not isinstance(feature, Numeric)]


class BruteForce:
    """The leaves of a scikit-learn tree as boxes of float64 numbers; a change of category costs ``category``."""

    def __init__(self, model: Any, schema: Schema, category: float = 2.0) -> None:
        self.spans, self.category = spans(schema), category
        self.bounds = schema.bounds()
        tree, width, classes = model.tree_, schema.width, model.classes_.tolist()
        found: dict[Any, list[tuple[Array, Array]]] = {label: [] for label in classes}
        stack = [(0, np.full(width, -np.inf), np.full(width, np.inf))]
        while stack:
            node, low, high = stack.pop()
            if tree.children_left[node] < 0:
                found[classes[int(tree.value[node][0].argmax())]].append((low, high))
                continue
            column = int(tree.feature[node])
            last, first = _sides(float(tree.threshold[node]))
            stack.append((tree.children_left[node], low, _with(high, column, min(high[column], last))))
            stack.append((tree.children_right[node], _with(low, column, max(low[column], first)), high))
        self.boxes: dict[Any, Array] = {label: np.array(boxes).reshape(-1, 2, width) for label, boxes in found.items()}

    def solver(self, power: int) -> str:
        """The name of the method."""
        return "brute force"

    def cost(self, source: Array, target: Any, frozen: Array, power: int) -> float:
        """The least cost over the leaves of a class, infinity if there is none; ``frozen`` marks the columns that stay."""
        return self.best(source, target, frozen, power)[0]

    def best(self, source: Array, target: Any, frozen: Array, power: int) -> tuple[float, Array | None]:
        """The least cost and its row."""
        boxes = self.boxes[target]
        lower, upper = (np.where(frozen, source, end) for end in self.bounds)
        low, high = np.maximum(boxes[:, 0], lower), np.minimum(boxes[:, 1], upper)
        points = np.clip(source, low, high)
        costs = np.abs(points - source) ** power
        possible = low <= high
        for span in self.spans:  # one column is 1 and the others are 0
            ones, zeros = low[:, span] <= 1, low[:, span] <= 0
            ones, zeros = ones & (high[:, span] >= 1), zeros & (high[:, span] >= 0)
            missed = (~zeros).sum(axis=1)[:, None] - ~zeros  # the other columns that cannot be 0
            category = ones & (missed == 0)
            source_value = source[span].argmax()
            stays = category[:, source_value]
            costs[:, span] = 0.0
            costs[:, span.start] = np.where(stays, 0.0, self.category)
            possible[:, span] = category.any(axis=1)[:, None]
            points[:, span] = 0.0
            points[np.arange(len(points)), span.start + np.where(stays, source_value, category.argmax(axis=1))] = 1.0
        totals = np.where(possible.all(axis=1), costs.sum(axis=1), math.inf)
        least = float(totals.min(initial=math.inf))
        return least, points[totals.argmin()] if math.isfinite(least) else None


def _with(bounds: Array, column: int, value: float) -> Array:
    """A copy of the bounds with another value in one column."""
    out = bounds.copy()
    out[column] = value
    return out


def _sides(threshold: float) -> tuple[float, float]:
    """The last float64 that scikit-learn sends left, and the next; scikit-learn rounds to float32 and tests <= threshold."""
    narrow = np.float32(threshold)
    if float(narrow) > threshold:  # as float64: next to a float32 a Python float would be rounded first
        narrow = np.nextafter(narrow, np.float32(-np.inf))
    middle = (float(narrow) + float(np.nextafter(narrow, np.float32(np.inf)))) / 2
    if float(np.float32(middle)) <= threshold:
        return middle, math.nextafter(middle, math.inf)
    return math.nextafter(middle, -math.inf), middle


class Enumeration:
    """One linear or quadratic program per leaf of the target, with 0/1 columns for categories: the method of the paper.

    Gurobi solves them, as in the paper, if it is installed and its licence allows the size; otherwise HiGHS solves the linear
    ones, and PIQP the quadratic ones without categories.
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
        """The least cost over the leaves of a class, infinity if there is none; ``frozen`` marks the columns that stay."""
        question = self._question(source, frozen, power)
        solver = self._solver(question)
        if solver is None:
            raise SolverError("no solver is installed for squares with 0/1 columns; install gurobipy")
        return enumerate_leaves(solver, self.leaves.by_label[target], question)[0]

    def _question(self, source: Array, frozen: Array, power: int) -> Question:
        """The question in the form of the solvers."""
        lower, upper = (np.where(frozen, source, end) for end in self.bounds)
        return Question(source, lower, upper, np.ones(len(source)), power, self.spans)

    def _solver(self, question: Question) -> Solver | None:
        """The first solver that can solve the programs of a question."""
        known: list[Solver] = [*([] if self.gurobi is None else [self.gurobi]), ScipyHighs(), Piqp(tight=True)]
        return next((solver for solver in known if not solver.refuses(question)), None)


def _gurobi() -> Gurobi | None:
    """Gurobi with tight tolerances; None if it is not installed or has no licence."""
    try:
        return Gurobi(tight=True)
    except (ImportError, SolverError):
        return None
