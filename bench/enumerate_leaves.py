"""The paper's way: one LP, QP or mixed-integer QP per target leaf with a general solver, and the best of them."""

import functools
import math

import numpy as np
from scipy import sparse


class Leaves:
    """The regions of a tree's leaves as rows A x >= r, by label."""

    def __init__(self, tree):
        self.by_label = {}
        weights = tree.weights.toarray()
        stack = [(0, [], [])]
        while stack:
            node, A, r = stack.pop()
            if tree.left[node] < 0:
                label = tree.classes[tree.value[node]]
                region = np.array(A).reshape(-1, tree.n_features), np.array(r)
                self.by_label.setdefault(label, []).append(region)
                continue
            stack.append((tree.left[node], [*A, -weights[node]], [*r, tree.bias[node]]))
            stack.append((tree.right[node], [*A, weights[node]], [*r, -tree.bias[node]]))


def best(solve, leaves, label, row, lower, upper, weight):
    """Least cost over the leaves of a label."""
    return min((solve(A, r, row, lower, upper, weight) for A, r in leaves.by_label.get(label, [])), default=math.inf)


def gurobi(norm):
    import gurobipy as gp

    env = gp.Env(empty=True)
    env.setParam("OutputFlag", 0)
    env.start()

    def solve(A, r, row, lower, upper, weight):
        with gp.Model(env=env) as model:
            x = model.addMVar(len(row), lb=lower, ub=upper)
            model.addConstr(A @ x >= r)
            if norm == 2:
                d = x - row
                model.setObjective((weight * d * d).sum())
            else:
                t = model.addMVar(len(row))
                model.addConstr(x - row <= t)
                model.addConstr(row - x <= t)
                model.setObjective(weight @ t)
            model.optimize()
            return model.ObjVal if model.Status == gp.GRB.OPTIMAL else math.inf

    return solve


def enumerate_gurobi(leaves, label, row, lower, upper, weight, groups):
    """(least cost over the leaves of a label, its point or None): sum of weight * change^2, one MIQP per leaf, zero gap.

    ``row``, ``lower``, ``upper``, ``weight`` are over the tree's columns; each slice of ``groups`` holds 0/1 columns of
    which exactly one is 1. A frozen column has lower = upper = its value.
    """
    solve, cost, point = _mixed(), math.inf, None
    for A, r in leaves.by_label.get(label, []):
        value, x = solve(A, r, row, lower, upper, weight, groups)
        if value < cost:
            cost, point = value, x
    return cost, point


@functools.cache
def _mixed():
    import gurobipy as gp

    env = gp.Env(empty=True)
    for name in ("OutputFlag", "MIPGap", "MIPGapAbs"):
        env.setParam(name, 0)
    env.start()

    def solve(A, r, row, lower, upper, weight, groups):
        with gp.Model(env=env) as model:
            kind = np.full(len(row), "C")
            for group in groups:
                kind[group] = "B"
            x = model.addMVar(len(row), lb=lower, ub=upper, vtype=kind)
            model.addConstr(A @ x >= r)
            for group in groups:
                model.addConstr(x[group].sum() == 1)
            d = x - row
            model.setObjective((weight * d * d).sum())
            model.optimize()
            if model.Status == gp.GRB.OPTIMAL:
                return model.ObjVal, x.X
            if model.Status in (gp.GRB.INFEASIBLE, gp.GRB.INF_OR_UNBD):  # bounded below by 0
                return math.inf, None
            raise RuntimeError(f"Gurobi: status {model.Status}")

    return solve


def highs(norm):
    import highspy

    def solve(A, r, row, lower, upper, weight):
        h = highspy.Highs()
        h.silent()
        n, m = len(row), len(r)
        lp = highspy.HighsLp()
        if norm == 2:
            G, cost, low, high = A, -2 * weight * row, lower, upper
        else:  # x - row = up - down
            G, cost = np.hstack([A, -A]), np.concatenate([weight, weight])
            low, high = np.zeros(2 * n), np.concatenate([np.maximum(upper - row, 0), np.maximum(row - lower, 0)])
            r = r - A @ row
        lp.num_col_, lp.num_row_ = len(cost), m
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, low, high
        lp.row_lower_, lp.row_upper_ = r, np.full(m, np.inf)
        G = sparse.csc_array(G)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = G.indptr, G.indices, G.data
        h.passModel(lp)
        if norm == 2:
            order = np.arange(n + 1)
            h.passHessian(n, n, int(highspy.HessianFormat.kTriangular), order, order[:-1], 2 * weight)
        h.run()
        if h.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return math.inf
        return h.getInfo().objective_function_value + (weight @ row**2 if norm == 2 else 0.0)

    return solve


def piqp(norm):
    import piqp

    def solve(A, r, row, lower, upper, weight):
        n, m = len(row), len(r)
        solver = piqp.DenseSolver()
        P, G = np.diag(2 * weight), np.asfortranarray(A)
        none = np.empty((0, n), order="F"), np.empty(0)
        solver.setup(P, -2 * weight * row, *none, G, r, np.full(m, np.inf), lower, upper)
        if solver.solve() != piqp.PIQP_SOLVED:
            return math.inf
        return solver.result.info.primal_obj + weight @ row**2

    return solve if norm == 2 else None


def daqp(norm):
    import daqp

    def solve(A, r, row, lower, upper, weight):
        n, m = len(row), len(r)
        high, low = np.concatenate([upper, np.full(m, 1e30)]), np.concatenate([lower, r])
        sense = np.zeros(n + m, np.int32)
        _, value, flag, _ = daqp.solve(np.diag(2 * weight), -2 * weight * row, np.ascontiguousarray(A), high, low, sense)
        return value + weight @ row**2 if flag > 0 else math.inf

    return solve if norm == 2 else None


def coupled(Q):
    """Every leaf's quadratic program, cost d' Q d, with PIQP's sparse interior point: what the search is measured against."""
    import piqp

    P = sparse.csc_matrix(2 * Q)

    def solve(A, r, row, lower, upper, _):
        solver = piqp.SparseSolver()
        top = np.full(len(r), np.inf)
        solver.setup(P, np.zeros(len(row)), None, None, sparse.csc_matrix(A), r - A @ row, top, lower - row, upper - row)
        return solver.result.info.primal_obj if solver.solve() == piqp.PIQP_SOLVED else math.inf

    return solve
