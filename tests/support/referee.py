"""A slow, independent oracle: one LP or QP per target leaf by HiGHS, Clarabel or PIQP. It never imports the search."""

import math

import clarabel
import highspy
import numpy as np
import piqp
from scipy import sparse


def leaf_paths(tree):
    """leaf -> [(node, side)] with side 1 for right, -1 for left."""
    paths, stack = {}, [(0, [])]
    while stack:
        node, path = stack.pop()
        if tree.left[node] < 0:
            paths[node] = path
        else:
            stack.append((int(tree.left[node]), [*path, (node, -1)]))
            stack.append((int(tree.right[node]), [*path, (node, 1)]))
    return paths


def user_limits(case):
    """(lower, upper, rows) with rows as (coef, relation, rhs), read from the fields of the constraints."""
    lower, upper = case.schema.bounds()
    names = case.schema.names
    rows = []
    for c in case.constraints:
        if hasattr(c, "relation"):
            coef = np.zeros(len(names))
            for name, a in c.coef.items():
                coef[names.index(name)] = a
            rows.append((coef, c.relation, c.rhs))
            continue
        for name in c.names:
            d = names.index(name)
            low = case.row[d] + c.lower if c.from_lower else c.lower
            high = case.row[d] + c.upper if c.from_upper else c.upper
            lower[d], upper[d] = max(lower[d], low), min(upper[d], high)
    return lower, upper, rows


def leaf_optima(case):
    """leaf -> least cost over its closed region (inf if empty), class cost included; and the leaves too thin to judge."""
    tree = case.tree
    lower, upper, rows = user_limits(case)
    weights = tree.weights.toarray()
    optima, thin = {}, set()
    for leaf, path in leaf_paths(tree).items():
        label = int(tree.classes[tree.value[leaf]])
        if label not in case.target:
            continue
        A, r, equal = [], [], []
        for coef, relation, rhs in rows:
            sign = -1.0 if relation == "<=" else 1.0
            A.append(sign * coef)
            r.append(sign * rhs)
            equal.append(relation == "==")
        for node, side in path:
            A.append(side * weights[node])
            r.append(case.margin - side * tree.bias[node])
            equal.append(False)
        A = np.array(A).reshape(-1, tree.n_features)
        best, room = solve(
            A, np.array(r), np.array(equal, bool), len(rows), lower, upper, case.row, case.curve, case.slope, case.Q
        )
        optima[leaf] = best + case.target[label]
        if abs(room) <= 1e-9:
            thin.add(leaf)
    return optima, thin


def solve(A, r, equal, users, lower, upper, source, curve, slope, Q=None):
    """(optimum, room): room is how far the path's rows can all be moved inwards (rows of unit size), -inf if nowhere."""
    if (lower > upper).any():
        return math.inf, -math.inf
    diagonal = curve.max(axis=0) if Q is None else curve.max(axis=0) + Q.diagonal()
    size = np.maximum(np.sqrt(diagonal), np.abs(slope).max(axis=0))
    priced = np.abs(A / np.where(size > 0, size, np.inf)).max(axis=1, initial=0.0)
    free = (np.abs(A) / np.where(priced > 0, priced, 1.0)[:, None]).max(axis=0, initial=0.0)
    size = np.where(size > 0, size, np.where(free > 0, free, 1.0))
    A = A / size
    r = r - A @ (source * size)
    low, high = (lower - source) * size, (upper - source) * size
    curve, slope = curve / size**2, slope / size
    norm = np.abs(A).max(axis=1, initial=0.0)
    norm = np.where(norm > 0, norm, 1.0)
    A, r = A / norm[:, None], r / norm
    path = np.arange(len(r)) >= users
    room = _room(A, r, equal, path, low, high)
    if room < -1e-9:
        return math.inf, room
    # where phi has a kink, d = up - down with both in the parts of the box on their side: phi is convex, so the split is free
    kink = np.flatnonzero((curve[0] != curve[1]) | (slope[0] != slope[1]))
    T = np.hstack([np.eye(len(low)), -np.eye(len(low))[:, kink]])
    box_low, box_high = low.copy(), high.copy()
    box_low[kink], box_high[kink] = np.maximum(low, 0)[kink], np.maximum(high, 0)[kink]
    box_low = np.concatenate([box_low, np.maximum(-high, 0)[kink]])
    box_high = np.concatenate([box_high, np.maximum(-low, 0)[kink]])
    P = np.diag(np.concatenate([curve[0], curve[1][kink]]))
    if Q is not None:
        P = P + T.T @ (Q / size / size[:, None]) @ T
    c = np.concatenate([slope[0], -slope[1][kink]])
    if not P.any():
        return _linear(A @ T, r, equal, box_low, box_high, c), room
    return _quadratic(P, c, A @ T, r, equal, box_low, box_high), room


def _room(A, r, equal, path, low, high):
    """max t <= 1 with A d - t >= r on the path's rows."""
    n = A.shape[1]
    G = np.hstack([A, -path[:, None].astype(float)])
    value = _linear(G, r, equal, np.append(low, -1e6), np.append(high, 1.0), np.append(np.zeros(n), -1.0))
    return -value


def _linear(G, r, equal, low, high, c):
    h = highspy.Highs()
    h.silent()
    for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        h.setOptionValue(option, 1e-10)
    lp = highspy.HighsLp()
    m, n = G.shape
    lp.num_col_, lp.num_row_ = n, m
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = c, low, high
    lp.row_lower_, lp.row_upper_ = r, np.where(equal, r, np.inf)
    matrix = sparse.csc_array(G)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    h.passModel(lp)
    h.run()
    status = h.getModelStatus()
    if status == highspy.HighsModelStatus.kOptimal:
        return h.getInfo().objective_function_value
    if status == highspy.HighsModelStatus.kInfeasible:
        return math.inf
    if status in (highspy.HighsModelStatus.kUnbounded, highspy.HighsModelStatus.kUnboundedOrInfeasible):
        return -math.inf
    raise RuntimeError(f"HiGHS: {status}")


def _quadratic(P, c, G, r, equal, low, high):
    n = len(P)
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    eye = sparse.eye_array(n, format="csr")
    blocks = [sparse.csr_array(G[equal]), sparse.csr_array(-G[~equal]), -eye[has_low], eye[has_high]]
    b = np.concatenate([r[equal], -r[~equal], -low[has_low], high[has_high]])
    cones = [clarabel.ZeroConeT(int(equal.sum())), clarabel.NonnegativeConeT(int(len(b) - equal.sum()))]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    settings.max_iter = 400
    A = sparse.csc_matrix(sparse.vstack(blocks))
    solution = clarabel.DefaultSolver(sparse.csc_matrix(np.triu(2 * P)), c, A, b, cones, settings).solve()
    if "Solved" in str(solution.status):
        return solution.obj_val
    if "Infeasible" in str(solution.status):
        return math.inf if "Primal" in str(solution.status) else -math.inf
    return _second_opinion(P, c, G, r, equal, low, high)


def _second_opinion(P, c, G, r, equal, low, high):
    """PIQP, where Clarabel gives up."""
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = 1e-10
    solver.settings.max_iter = 1000
    P, A, G = (np.asfortranarray(M) for M in (2 * P, G[equal], G[~equal]))
    free = np.full(len(G), np.inf)
    solver.setup(P, c, A, r[equal], G, r[~equal], free, low, high)
    status = solver.solve()
    if status == piqp.PIQP_SOLVED:
        return solver.result.info.primal_obj
    if status == piqp.PIQP_PRIMAL_INFEASIBLE:
        return math.inf
    raise RuntimeError(f"PIQP: {status}")
