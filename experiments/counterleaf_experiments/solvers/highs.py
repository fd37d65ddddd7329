"""HiGHS, through its package highspy or through the copy in SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from counterleaf.types import Array
from counterleaf_experiments.solvers.program import Program, Question, SolverError, SolverTimeoutError


class Highs:
    """Linear programs with or without 0/1 columns, gap 0; quadratic programs without; ``seconds`` is the limit for each."""

    name = "HiGHS"

    def __init__(self, seconds: float = 1e9) -> None:
        import highspy

        self._module: Any = highspy
        self._seconds = seconds

    def refuses(self, question: Question) -> str:
        """The reason why the solver cannot solve the programs of a question; empty if it can."""
        return "no squares with 0/1 columns" if question.power == 2 and question.spans else ""

    def solve(self, program: Program) -> Array | None:
        """The best y; None if there is none."""
        highspy = self._module
        h, lp = highspy.Highs(), highspy.HighsLp()
        h.silent()
        h.setOptionValue("mip_rel_gap", 0.0)
        h.setOptionValue("mip_abs_gap", 0.0)
        h.setOptionValue("time_limit", self._seconds)
        if program.power == 1:
            linear = program.linear()
            rows, cost, low, high = np.vstack([linear.A, linear.sums]), linear.cost, linear.lower, linear.upper
            bottom = np.concatenate([linear.r, np.ones(len(linear.sums))])
            top = np.concatenate([np.full(len(linear.r), np.inf), np.ones(len(linear.sums))])
            if linear.whole.any():
                kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
                lp.integrality_ = [kinds[int(whole)] for whole in linear.whole]
        else:
            rows, cost, low, high = program.A, np.zeros(len(program.start)), program.lower, program.upper
            bottom, top = program.r, np.full(len(program.r), np.inf)
        lp.num_col_, lp.num_row_ = len(cost), len(bottom)
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, low, high
        lp.row_lower_, lp.row_upper_ = bottom, top
        G = sparse.csc_array(rows)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = G.indptr, G.indices, G.data
        h.passModel(lp)
        if program.power == 2:
            n = len(cost)
            order = np.arange(n + 1)
            h.passHessian(n, n, int(highspy.HessianFormat.kTriangular), order, order[:-1], 2.0 * program.weight)
        h.run()
        status = h.getModelStatus()
        if status == highspy.HighsModelStatus.kOptimal:
            z = np.array(h.getSolution().col_value)
            return program.point(z) if program.power == 1 else z
        if status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible):  # bounded below
            return None
        if status == highspy.HighsModelStatus.kTimeLimit:
            raise SolverTimeoutError("HiGHS: out of time")
        raise SolverError(f"HiGHS ended with: {h.modelStatusToString(status)}")


class ScipyHighs:
    """Linear programs, with or without 0/1 columns; needs only SciPy."""

    name = "HiGHS"

    def refuses(self, question: Question) -> str:
        """The reason why the solver cannot solve the programs of a question; empty if it can."""
        return "no squares" if question.power == 2 else ""

    def solve(self, program: Program) -> Array | None:
        """The best y; None if there is none."""
        lp = program.linear()
        rows = [LinearConstraint(lp.A, lp.r), *([LinearConstraint(lp.sums, 1.0, 1.0)] if len(lp.sums) else [])]
        bounds = Bounds(lp.lower, lp.upper)
        found = milp(lp.cost, constraints=rows, bounds=bounds, integrality=lp.whole, options={"mip_rel_gap": 0.0})
        if found.status == 2:
            return None
        if found.status != 0:
            raise SolverError(f"HiGHS ended with: {found.message}")
        return program.point(found.x)
