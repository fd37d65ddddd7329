"""Independent optima: leaf by leaf, as in the paper, without the search, its bounds or its cuts.

``BruteForce`` solves an axis-aligned tree in closed form from scikit-learn's own arrays; ``Enumeration`` hands every leaf of
an oblique tree to a solver.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from counterleaf.features import Numeric
from counterleaf.schema import Array, Schema
from counterleaf.tree import Tree

_GUROBI_LINEAR, _GUROBI_QUADRATIC = 900, 200  # columns that the licence which comes with the package allows


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
        self.spans = spans(schema)
        self.bounds = schema.bounds()
        self.leaves: dict[Any, list[tuple[Array, Array]]] = {}
        weights = tree.weights.toarray()
        stack: list[tuple[int, list[Array], list[float]]] = [(0, [], [])]
        while stack:
            node, A, r = stack.pop()
            if tree.left[node] < 0:
                region = np.array(A).reshape(-1, tree.n_features), np.array(r)
                self.leaves.setdefault(tree.classes.tolist()[tree.value[node]], []).append(region)
                continue
            stack.append((tree.left[node], [*A, -weights[node]], [*r, float(tree.bias[node])]))
            stack.append((tree.right[node], [*A, weights[node]], [*r, -float(tree.bias[node])]))
        self.gurobi = _gurobi()

    def solver(self, power: int) -> str:
        """The name of the solver for a power of the distance, empty if there is none."""
        width = len(self.bounds[0])
        if self.gurobi is not None and width <= (_GUROBI_LINEAR if power == 1 else _GUROBI_QUADRATIC):
            return "Gurobi"
        return "HiGHS" if power == 1 else "" if self.spans else "PIQP"

    def cost(self, source: Array, target: Any, frozen: Array, power: int) -> float:
        """The least cost over the leaves of a class, infinity if there is none; ``frozen`` tells which columns stay."""
        lower, upper = (np.where(frozen, source, end) for end in self.bounds)
        solve = {"Gurobi": self._gurobi, "HiGHS": self._highs, "PIQP": self._piqp}[self.solver(power)]
        return min(solve(A, r, source, lower, upper, power) for A, r in self.leaves[target])

    def _gurobi(self, A: Array, r: Array, source: Array, lower: Array, upper: Array, power: int) -> float:
        import gurobipy

        kinds = np.full(len(source), "C")
        for span in self.spans:
            kinds[span] = "B"
        origin = np.where(kinds == "C", source, 0.0)  # numbers as changes: large ones would eat up the tolerances
        with gurobipy.Model(env=self.gurobi) as model:
            x = model.addMVar(len(source), lb=lower - origin, ub=upper - origin, vtype=kinds)
            model.addConstr(A @ x >= r - A @ origin)
            for span in self.spans:
                model.addConstr(x[span].sum() == 1)
            change = x - (source - origin)
            if power == 1:
                size = model.addMVar(len(source))
                model.addConstr(change <= size)
                model.addConstr(-change <= size)
                model.setObjective(size.sum())
            else:
                model.setObjective((change * change).sum())
            model.optimize()
            if model.Status == gurobipy.GRB.OPTIMAL:
                return float(model.ObjVal)
            if model.Status in (gurobipy.GRB.INFEASIBLE, gurobipy.GRB.INF_OR_UNBD):  # bounded below by 0
                return math.inf
            raise RuntimeError(f"Gurobi ended with status {model.Status}")

    def _highs(self, A: Array, r: Array, source: Array, lower: Array, upper: Array, _: int) -> float:
        """Over how far each column rises and falls."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        n, whole = len(source), np.zeros(len(source))
        rows = [LinearConstraint(np.hstack([A, -A]), r - A @ source)]
        for span in self.spans:
            whole[span] = 1
            line = np.zeros(n)
            line[span] = 1.0
            rows.append(LinearConstraint(np.concatenate([line, -line]), 0.0, 0.0))
        room = Bounds(np.zeros(2 * n), np.concatenate([upper - source, source - lower]))
        found = milp(np.ones(2 * n), constraints=rows, bounds=room, integrality=np.tile(whole, 2), options={"mip_rel_gap": 0.0})
        if found.status == 2:
            return math.inf
        if found.status != 0:
            raise RuntimeError(f"HiGHS ended with: {found.message}")
        return float(found.fun)

    def _piqp(self, A: Array, r: Array, source: Array, lower: Array, upper: Array, _: int) -> float:
        """Over the change of the columns that may move; HiGHS tells first whether the leaf can be reached at all."""
        import piqp
        from scipy.optimize import linprog

        moves = lower < upper
        A, r, low, high = A[:, moves], r - A @ source, (lower - source)[moves], (upper - source)[moves]
        if linprog(np.zeros(moves.sum()), -A, -r, bounds=np.stack([low, high], axis=1)).status == 2:
            return math.inf
        cost = 1.0
        for _ in range(2):  # the second time in units in which the answer has length 1: the tolerances are absolute
            unit = math.sqrt(max(cost, 1e-12))
            solver = piqp.SparseSolver()
            solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
            eye, rows, top = sparse.eye(len(low), format="csc"), sparse.csc_matrix(A), np.full(len(r), np.inf)
            solver.setup(2.0 * eye, np.zeros(len(low)), None, None, rows, r / unit, top, low / unit, high / unit)
            status = solver.solve()
            if status != piqp.PIQP_SOLVED:
                raise RuntimeError(f"PIQP ended with {status}")
            cost = float(solver.result.info.primal_obj) * unit**2
        return cost


def _gurobi() -> Any:
    """Gurobi's environment, silent and exact, or None."""
    try:
        import gurobipy
    except ImportError:
        return None
    env = gurobipy.Env(empty=True)
    for setting in ("OutputFlag", "MIPGap", "MIPGapAbs"):
        env.setParam(setting, 0)
    for setting in ("FeasibilityTol", "OptimalityTol", "IntFeasTol"):
        env.setParam(setting, 1e-9)
    env.setParam("Method", 1)  # simplex: the interior point stops at 1e-4 of the cheapest answers
    try:
        env.start()
    except gurobipy.GurobiError:  # no licence
        return None
    return env
