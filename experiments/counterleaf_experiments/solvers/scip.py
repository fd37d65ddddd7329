"""SCIP, through PySCIPOpt."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.types import Array
from counterleaf_experiments.solvers.program import Program, Question, SolverError, SolverTimeoutError


class Scip:
    """Linear and quadratic programs with or without 0/1 columns, gap 0; ``seconds`` is the limit for each.

    SCIP's default tolerances are absolute, 1e-6, so that cheap answers are slightly inaccurate. Tighter tolerances, or scaled
    squares, give accurate results but take ten times as long or do not finish.
    """

    name = "SCIP"

    def __init__(self, seconds: float = 1e9) -> None:
        import pyscipopt

        self._module: Any = pyscipopt
        self._seconds = seconds

    def refuses(self, question: Question) -> str:
        """The reason why the solver cannot solve the programs of a question; empty if it can."""
        return ""

    def solve(self, program: Program) -> Array | None:
        """The best y; None if there is none."""
        model = self._module.Model()
        model.hideOutput()
        model.setParam("limits/gap", 0.0)
        model.setParam("limits/time", self._seconds)
        total = self._module.quicksum
        if program.power == 1:
            lp = program.linear()
            z = self._columns(model, lp.lower, lp.upper, lp.whole)
            rows, sides, sums = lp.A, lp.r, lp.sums
            model.setObjective(total(c * z[j] for j, c in enumerate(lp.cost.tolist())))
        else:
            z = self._columns(model, program.lower, program.upper, program.whole)
            rows, sides = program.A, program.r
            sums = np.zeros((len(program.spans), len(z)))
            for line, span in zip(sums, program.spans, strict=True):
                line[span] = 1.0
            # an objective of SCIP is linear: one more column bounds the squares from above
            top = model.addVar(lb=0.0, ub=None)
            numbers = np.flatnonzero(~program.whole).tolist()
            if numbers:
                model.addCons(total(float(program.weight[j]) * z[j] * z[j] for j in numbers) <= top)
            slopes = program.slopes.tolist()
            model.setObjective(top + total(slopes[j] * z[j] for j in np.flatnonzero(program.whole).tolist()))
        for line, side in zip(rows, sides.tolist(), strict=True):
            used = np.flatnonzero(line).tolist()
            if used:
                model.addCons(total(float(line[j]) * z[j] for j in used) >= side)
            elif side > 0:
                return None
        for line in sums:
            model.addCons(total(z[j] for j in np.flatnonzero(line).tolist()) == 1)
        model.optimize()
        status = model.getStatus()
        if status in ("optimal", "gaplimit"):
            found = np.array([model.getVal(column) for column in z])
            return program.point(found) if program.power == 1 else found
        if status in ("infeasible", "inforunbd"):  # bounded below
            return None
        if status == "timelimit":
            raise SolverTimeoutError("SCIP: out of time")
        raise SolverError(f"SCIP ended with: {status}")

    def _columns(self, model: Any, lower: Array, upper: Array, whole: Array) -> list[Any]:
        """Add the columns of a program to a model."""
        return [
            model.addVar(vtype="B" if b else "C", lb=None if low == -np.inf else low, ub=None if high == np.inf else high)
            for low, high, b in zip(lower.tolist(), upper.tolist(), whole.tolist(), strict=True)
        ]
