"""A slow, independent oracle for tables: one mixed-integer program per target leaf by Gurobi or HiGHS, and brute force.

It never imports the search. A feature with finitely many values is a choice: one 0/1 variable per value; so is a grid
whose source is off the grid. Any other number moves up or down by two separate variables, in whole steps on a grid.
What the solver chose is then fixed and the rest solved again by the referee for plain numbers, so that an optimum is as
precise as a small LP or QP can be.
"""

import math
from dataclasses import dataclass
from itertools import product

import gurobipy as gp
import highspy
import numpy as np
from scipy import sparse
from support import referee
from support.table_cases import meaning
from support.table_codes import columns, on, place, values_of

import counterleaf as cl

SHIFT = 1e-7  # faces are moved by this much, rows of unit size, to see whether the answer depends on their exact place
REACH = 1e5  # the largest move of an unbounded number, in units of its size; without it, branching may not end


@dataclass
class Program:
    """min c @ v + v @ (diag(q) + Q) @ v over lower <= v <= upper, rows A @ v >= r; ``only``: v[i] = 0 unless v[k] = 1."""

    lower: list
    upper: list
    whole: list
    c: list
    q: list
    rows: list  # (dict from variable to coefficient, rhs, is equation)
    only: list  # (i, k)
    Q: np.ndarray = None  # of the first variables

    def add(self, lower, upper, whole, c=0.0, q=0.0):
        for array, value in ((self.lower, lower), (self.upper, upper), (self.whole, whole), (self.c, c), (self.q, q)):
            array.append(value)
        return len(self.c) - 1


class Question:
    """The variables of a case and the rows that hold in every leaf."""

    def __init__(self, case):
        self.case = case
        self.source, self.prices = case.source, case.prices()
        self.program = Program([], [], [], [], [], [], [])
        self.choice, self.move, self.flag = {}, {}, {}  # by feature: (first variable, values); (up, down, unit); variable
        self.sums = []  # the rows of linear rules
        for d, feature in enumerate(case.schema):
            self._feature(d, feature)
        self._couple()
        for rule in case.rules:
            self._rule(rule)
        for d, charge in enumerate([] if case.charges is None else case.charges.tolist()):
            if d in self.move and charge:  # that of a choice is part of the costs of its values
                for i, a in self.stays(d)[0].items():
                    self.program.c[i] -= charge * a

    def _feature(self, d, feature):
        p, at, per = self.program, self.source[d], self.prices[d]
        grid = None if not isinstance(feature, cl.Numeric) else feature.grid
        off = grid is not None and on(feature, round(at / float(grid))) != at
        if not isinstance(feature, cl.Numeric) or off:
            values = values_of(feature, at)
            row = np.repeat(self.source[None], len(values), axis=0)
            row[:, d] = values
            costs = self.case.alone(row)
            self.choice[d] = (len(p.c), values)
            z = [p.add(0.0, 1.0, True, cost) for cost in costs.tolist()]
            p.rows.append((dict.fromkeys(z, 1.0), 1.0, True))
            return
        unit = self.case.scale[d] if grid is None else float(grid)
        ends = []
        for room, curve, slope in ((feature.upper - at, per[0], per[2]), (at - feature.lower, per[1], per[3])):
            room = min(room, REACH * self.case.scale[d]) / unit
            room = room if grid is None else math.floor(room + 1e-9)
            ends.append(p.add(0.0, room, grid is not None, slope * unit, curve * unit**2))
        self.move[d] = (*ends, unit)

    def _couple(self):
        """What changes cost together, over the variables that make them."""
        T = np.zeros((len(self.case.schema), len(self.program.c)))
        for d, feature in enumerate(self.case.schema):
            if isinstance(feature, cl.Numeric):
                for i, a in self.number(d)[0].items():
                    T[d, i] = a
        self.program.Q = T.T @ self.case.coupling @ T

    def stays(self, d):
        """({variable: coefficient}, constant): 1 if feature d keeps its value, else 0."""
        if d in self.choice:
            start, values = self.choice[d]
            return {start + int(np.flatnonzero(values == self.source[d])[0]): 1.0}, 0.0
        if d not in self.flag:
            p = self.program
            self.flag[d] = flag = p.add(0.0, 1.0, True)
            for end in self.move[d][:2]:
                if p.upper[end] > REACH / 2:
                    p.only.append((end, flag))
                else:
                    p.rows.append(({flag: p.upper[end], end: -1.0}, 0.0, False))
        return {self.flag[d]: -1.0}, 1.0

    def number(self, d):
        """({variable: coefficient}, constant) of a feature's number or level."""
        if d in self.choice:
            start, values = self.choice[d]
            return {start + k: float(v - self.source[d]) for k, v in enumerate(values)}, self.source[d]
        up, down, unit = self.move[d]
        return {up: unit, down: -unit}, self.source[d]

    def _rule(self, rule):
        p, schema = self.program, self.case.schema
        if rule[0] in ("max_changes", "apart"):
            names, most = (schema.names, rule[1]) if rule[0] == "max_changes" else rule[1:]
            parts = [self.stays(schema.names.index(name)) for name in names]
            row = {k: a for coef, _ in parts for k, a in coef.items()}
            p.rows.append((row, len(names) - most - sum(c for _, c in parts), False))
        elif rule[0] == "linear":
            row, rhs = {}, rule[3]
            for name, a in rule[1].items():
                d, k = place(schema, name)
                coef, constant = self.number(d) if k is None else ({self.choice[d][0] + k: 1.0}, 0.0)
                rhs -= a * constant
                for i, b in coef.items():
                    row[i] = row.get(i, 0.0) + a * b
            sign = -1.0 if rule[2] == "<=" else 1.0
            self.sums.append(len(p.rows))
            p.rows.append(({i: sign * a for i, a in row.items()}, sign * rhs, rule[2] == "=="))
        elif rule[0] == "implies":
            stays = self.stays(schema.names.index(rule[1]))
            for d, allowed in meaning(rule[2], schema, self.source):
                self._limit(d, allowed, stays)
        else:
            for d, allowed in meaning(rule, schema, self.source):
                self._limit(d, allowed, ({}, 0.0))

    def _limit(self, d, allowed, unless):
        """Restrict feature d to the allowed values, unless the expression ``unless`` is 1."""
        p, (free, constant) = self.program, unless
        if d in self.choice:
            start, values = self.choice[d]
            fits = (allowed[0] <= values) & (values <= allowed[1]) if isinstance(allowed, tuple) else allowed
            row = {start + k: 1.0 for k in np.flatnonzero(fits).tolist()}
            for i, a in free.items():
                row[i] = row.get(i, 0.0) + a
            p.rows.append((row, 1.0 - constant, False))
            return
        up, down, unit = self.move[d]
        whole = p.whole[up]
        for least, there, back in ((allowed[0] - self.source[d], up, down), (self.source[d] - allowed[1], down, up)):
            steps = least / unit  # there - back >= steps: so far there, or no further back
            steps = math.ceil(steps - 1e-9) if whole and math.isfinite(steps) else steps
            if math.isinf(steps):
                continue
            if steps > 0:
                p.rows.append(({there: 1.0, **{i: steps * a for i, a in free.items()}}, steps * (1 - constant), False))
            self._at_most(back, max(-steps, 0.0), free, constant)

    def _at_most(self, i, most, free, constant):
        """v[i] <= most, unless the expression is 1."""
        p = self.program
        if not free and not constant:
            p.upper[i] = min(p.upper[i], most)
            return
        beyond = p.upper[i] - most
        if beyond <= 0:
            return
        if p.upper[i] < REACH / 2:
            row = {k: a * beyond for k, a in free.items()}
            row[i] = row.get(i, 0.0) - 1.0
            p.rows.append((row, -most - constant * beyond, False))
            return
        extra = p.add(0.0, p.upper[i], p.whole[i])  # v[i] <= most + extra, where extra = 0 unless the expression is 1
        gate = p.add(0.0, 1.0, True)
        p.rows.append(({i: -1.0, extra: 1.0}, -most, False))
        p.rows.append(({gate: -1.0, **free}, -constant, False))
        p.only.append((extra, gate))

    def path(self, path):
        """The faces of a leaf as rows over the program's variables."""
        tree, rows = self.case.tree, []
        start = np.cumsum([0, *(len(f.values) if isinstance(f, cl.Categorical) else 1 for f in self.case.schema)])
        weights = tree.weights.toarray()
        for node, side in path:
            row, rhs = {}, -side * tree.bias[node]
            for d, feature in enumerate(self.case.schema):
                w = side * weights[node, start[d] : start[d + 1]]
                if isinstance(feature, cl.Categorical):
                    row.update({self.choice[d][0] + k: a for k, a in enumerate(w.tolist()) if a})
                elif w[0]:
                    coef, constant = self.number(d)
                    row.update({i: w[0] * a for i, a in coef.items()})
                    rhs -= w[0] * constant
            rows.append((row, rhs, False))
        return rows

    def matrix(self, path, shift):
        """(A, r, equal) of the rows at unit size, faces and linear rules moved inwards by ``shift``."""
        rows = self.program.rows + path
        A = np.zeros((len(rows), len(self.program.c)))
        for i, (row, _, _) in enumerate(rows):
            A[i, list(row)] = list(row.values())
        r, equal = np.array([row[1] for row in rows]), np.array([row[2] for row in rows], bool)
        size = np.abs(A).max(axis=1, initial=0.0)
        size = np.where(size > 0, size, 1.0)
        moved = np.zeros(len(rows))
        moved[self.sums] = shift
        moved[len(self.program.rows) :] = shift
        return A / size[:, None], r / size + moved * ~equal, equal

    def polish(self, path, v):
        """The optimum with every choice as in ``v``; inf if its rows then miss by more than rounding."""
        codes, case = self.source.copy(), self.case
        for d, (start, values) in self.choice.items():
            codes[d] = values[int(np.argmax(v[start : start + len(values)]))]
        plain = []
        for d, (up, down, unit) in self.move.items():
            if not self.program.whole[up]:
                plain.append(d)
                continue
            steps = round(v[up] - v[down])
            codes[d] = on(case.schema.features[d], round(self.source[d] / unit) + steps)
        moves = {d: d not in self.flag or v[self.flag[d]] > 0.5 for d in plain}
        changed = codes != self.source
        changed[plain] = [moves[d] for d in plain]
        box = {d: (f.lower, f.upper) if moves[d] else (self.source[d],) * 2 for d, f in enumerate(case.schema) if d in plain}
        A, r, equal = [], [], []
        for rule in case.rules:
            if rule[0] == "max_changes":
                # max_changes creates the flags of all numbers, so each of them is here
                if changed.sum() > rule[1]:
                    return math.inf
                continue
            if rule[0] == "apart":
                if changed[[case.schema.names.index(name) for name in rule[1]]].sum() > rule[2]:
                    return math.inf
                continue
            if rule[0] == "linear":
                coef, rhs, size = np.zeros(len(plain)), rule[3], abs(rule[3])
                for name, a in rule[1].items():
                    d, k = place(case.schema, name)
                    if d in plain:
                        coef[plain.index(d)] = a
                    else:
                        term = a * (codes[d] if k is None else codes[d] == k)
                        rhs, size = rhs - term, size + abs(term)
                sign = -1.0 if rule[2] == "<=" else 1.0
                if coef.any():
                    A.append(sign * coef)
                    r.append(sign * rhs)
                    equal.append(rule[2] == "==")
                elif (abs(rhs) if rule[2] == "==" else sign * rhs) > 1e-12 * size:
                    return math.inf
                continue
            if rule[0] == "implies":
                if not changed[case.schema.names.index(rule[1])]:
                    continue
                rule = rule[2]
            for d, allowed in meaning(rule, case.schema, self.source):
                if d in plain:
                    box[d] = (max(box[d][0], allowed[0]), min(box[d][1], allowed[1]))
                elif isinstance(allowed, tuple):
                    if not allowed[0] <= codes[d] <= allowed[1]:
                        return math.inf
                elif not allowed[int(codes[d])]:
                    return math.inf
        users = len(A)
        start = np.cumsum([0, *(len(f.values) if isinstance(f, cl.Categorical) else 1 for f in case.schema)])
        X, weights = columns(case.schema, codes[None])[0], case.tree.weights.toarray()
        X[start[plain]] = 0.0
        for node, side in path:
            w = side * weights[node]
            rest, size = -side * case.tree.bias[node] - w @ X, np.abs(w * X).sum() + abs(case.tree.bias[node])
            if w[start[plain]].any():
                A.append(w[start[plain]])
                r.append(rest)
                equal.append(False)
            elif rest > 1e-12 * size:
                return math.inf
        base = float(case.price(codes)[0])
        if case.charges is not None:
            base += sum(case.charges[d] for d in plain if moves[d])
        if not plain:
            return base
        per = np.array([self.prices[d] for d in plain]).T
        low, high = (np.array([box[d][side] for d in plain]) for side in (0, 1))
        A, r = np.array(A).reshape(-1, len(plain)), np.array(r, float)
        curve, slope = per[:2], np.array([per[2], -per[3]])
        slope = slope + 2 * (case.coupling @ np.where(np.isin(np.arange(len(codes)), plain), 0.0, codes - self.source))[plain]
        Q = None if case.Q is None else case.coupling[np.ix_(plain, plain)]
        best, _ = referee.solve(A, r, np.array(equal, bool), users, low, high, self.source[plain], curve, slope, Q)
        return base + best


def leaf_optima(case, solver=None):
    """leaf -> least cost over its closed region (inf if empty), and the leaves too thin to judge.

    Both sides of a split count as closed. Each leaf is solved with its faces moved out and moved in by ``SHIFT``: where
    the two disagree by more than such a move explains, the answer hangs on the last digits of a face.
    """
    solver = solver or gurobi
    question = Question(case)
    optima, thin = {}, set()
    for leaf, path in referee.leaf_paths(case.tree).items():
        if case.tree.classes[case.tree.value[leaf]] not in case.target:
            continue
        faces = question.path(path)
        wide = solver(question.program, *question.matrix(faces, -SHIFT))
        if wide is None:
            optima[leaf] = math.inf
            continue
        tight = solver(question.program, *question.matrix(faces, SHIFT))
        first = question.polish(path, wide[0])
        second = math.inf if tight is None else question.polish(path, tight[0])
        optima[leaf] = best = min(first, second)
        if tight is None or not math.isclose(first, second, rel_tol=1e-7, abs_tol=1e-9):
            thin.add(leaf)
        slack = 1e-6 * (1 + abs(best))
        if wide[1] > best + slack or (tight is not None and tight[1] < best - slack):
            raise RuntimeError(
                f"leaf {leaf}: {wide[1]} with faces moved out, {best} as they are, {tight and tight[1]} moved in"
            )
    return optima, thin


def brute_optima(case, most=50_000):
    """leaf -> least cost, by looking at every row there is; None if there are more than ``most`` or some are no grid."""
    for f in case.schema:
        if isinstance(f, cl.Numeric) and (f.any_number or math.isinf(f.upper - f.lower)):
            return None
    values = [values_of(f, at) for f, at in zip(case.schema, case.source, strict=True)]
    if math.prod(map(len, values)) > most:
        return None
    codes = np.array(list(product(*(v.tolist() for v in values))))
    codes = codes[case.obeys(codes)]
    tree = case.tree
    optima = {leaf: math.inf for leaf in tree.leaves.tolist() if tree.classes[tree.value[leaf]] in case.target}
    if len(codes):
        reached, price = tree.apply(columns(case.schema, codes)), case.price(codes)
        for leaf in optima:
            optima[leaf] = float(price[reached == leaf].min(initial=math.inf))
    return optima


_ENV = []


def gurobi(program, A, r, equal):
    """(v, value), or None if nothing is feasible."""
    if not _ENV:
        env = gp.Env(empty=True)
        for name, value in {
            "OutputFlag": 0,
            "Threads": 1,
            "MIPGap": 0.0,
            "MIPGapAbs": 0.0,
            "FeasibilityTol": 1e-9,
            "IntFeasTol": 1e-9,
            "OptimalityTol": 1e-9,
            "DualReductions": 0,
            "TimeLimit": 60,
        }.items():
            env.setParam(name, value)
        env.start()
        _ENV.append(env)
    with gp.Model(env=_ENV[0]) as model:
        kinds = np.where(program.whole, np.where(np.array(program.upper) == 1.0, "B", "I"), "C")
        v = model.addMVar(len(kinds), lb=np.array(program.lower), ub=np.array(program.upper), vtype=kinds)
        for rows, sense in ((equal, "="), (~equal, ">")):
            if rows.any():
                model.addMConstr(sparse.csr_matrix(A[rows]), v, sense, r[rows])
        for i, k in program.only:
            model.addGenConstrIndicator(v[k].item(), False, v[i].item(), "=", 0.0)
        q = np.array(program.q)
        both = np.diag(q)
        both[: len(program.Q), : len(program.Q)] += program.Q
        model.setMObjective(sparse.csr_matrix(both) if both.any() else None, np.array(program.c), 0.0)
        model.optimize()
        if model.Status == gp.GRB.OPTIMAL:
            return v.X, model.ObjVal
        if model.Status == gp.GRB.INFEASIBLE:
            return None
        raise RuntimeError(f"Gurobi: status {model.Status}")


def highs(program, A, r, equal):
    """The same by HiGHS, for costs without squares."""
    if any(program.q) or program.Q.any():
        raise ValueError("HiGHS solves no mixed-integer program with a quadratic cost")
    upper = np.array(program.upper, float)
    for i, k in program.only:
        row = np.zeros((1, A.shape[1]))
        row[0, [i, k]] = -1.0 / program.upper[i], 1.0
        A, r, equal = np.vstack([A, row]), np.append(r, 0.0), np.append(equal, False)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = A.shape[1], len(r)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.array(program.c), np.array(program.lower), upper
    lp.row_lower_, lp.row_upper_ = r, np.where(equal, r, np.inf)
    matrix = sparse.csc_array(A)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    lp.integrality_ = [highspy.HighsVarType.kInteger if w else highspy.HighsVarType.kContinuous for w in program.whole]
    h = highspy.Highs()
    h.silent()
    for name, value in {
        "mip_rel_gap": 0.0,
        "mip_abs_gap": 0.0,
        "mip_feasibility_tolerance": 1e-9,
        "primal_feasibility_tolerance": 1e-9,
        "dual_feasibility_tolerance": 1e-9,
        "threads": 1,
        "time_limit": 60.0,
    }.items():
        h.setOptionValue(name, value)
    h.passModel(lp)
    h.run()
    status = h.getModelStatus()
    if status == highspy.HighsModelStatus.kOptimal:
        return np.array(h.getSolution().col_value), h.getInfo().objective_function_value
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    raise RuntimeError(f"HiGHS: {status}")
