"""Gurobi, as in the paper; the free licence bundled with its package is sufficient for most trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.types import Array
from counterleaf_experiments.solvers.program import Program, Question, SolverError, SolverTimeoutError

_MAX_LINEAR, _MAX_QUADRATIC = 900, 200  # columns that the bundled licence allows


class Gurobi:
    """Linear and quadratic programs with or without 0/1 columns, gap 0.

    Parameters
    ----------
    seconds : float, default=1e9
        Time limit for each program.
    tight : bool, default=False
        Use tolerances of 1e-9.

    Raises
    ------
    ImportError
        If gurobipy is not installed.
    SolverError
        If there is no licence.
    """

    name = "Gurobi"

    def __init__(self, seconds: float = 1e9, tight: bool = False) -> None:
        import gurobipy

        self._module: Any = gurobipy
        self._env: Any = gurobipy.Env(empty=True)
        for setting in ("OutputFlag", "MIPGap", "MIPGapAbs"):
            self._env.setParam(setting, 0)
        self._env.setParam("TimeLimit", seconds)
        if tight:
            for setting in ("FeasibilityTol", "OptimalityTol", "IntFeasTol"):
                self._env.setParam(setting, 1e-9)
            self._env.setParam(
                "Method", 1
            )  # simplex: the interior point method has relative errors of 1e-4 on the cheapest answers
        try:
            self._env.start()
        except gurobipy.GurobiError as error:
            raise SolverError(f"Gurobi: {error}") from None

    def refuses(self, question: Question) -> str:
        """The reason why the solver cannot solve the programs of a question; empty if it can."""
        most = _MAX_LINEAR if question.power == 1 else _MAX_QUADRATIC
        return "too large for its free licence" if len(question.source) > most else ""

    def solve(self, program: Program) -> Array | None:
        """The best y; None if there is none."""
        gurobipy = self._module
        with gurobipy.Model(env=self._env) as model:
            if program.power == 1:
                lp = program.linear()
                z: Any = model.addMVar(len(lp.cost), lb=lp.lower, ub=lp.upper, vtype=np.where(lp.whole, "B", "C"), obj=lp.cost)
                model.addConstr(lp.A @ z >= lp.r)
                if len(lp.sums):
                    model.addConstr(lp.sums @ z == 1)
            else:
                kinds = np.where(program.whole, "B", "C")
                z = model.addMVar(len(program.start), lb=program.lower, ub=program.upper, vtype=kinds)
                model.addConstr(program.A @ z >= program.r)
                for span in program.spans:
                    model.addConstr(z[span].sum() == 1)
                d = np.flatnonzero(~program.whole)
                squares = (program.weight[d] * z[d] * z[d]).sum() if len(d) else 0.0
                model.setObjective(squares + program.slopes @ z)
            model.optimize()
            if model.Status == gurobipy.GRB.OPTIMAL:
                return program.point(z.X) if program.power == 1 else np.asarray(z.X)
            if model.Status in (gurobipy.GRB.INFEASIBLE, gurobipy.GRB.INF_OR_UNBD):  # bounded below
                return None
            if model.Status == gurobipy.GRB.TIME_LIMIT:
                raise SolverTimeoutError("Gurobi: out of time")
            raise SolverError(f"Gurobi ended with status {model.Status}")
