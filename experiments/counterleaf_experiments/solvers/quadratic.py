"""Quadratic programs without 0/1 columns: PIQP (interior point) and DAQP (active set)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from counterleaf.types import Array
from counterleaf_experiments.solvers.program import Program, Question, Region, SolverError

_FAR = 1e30  # DAQP's infinity
_DAQP_INFEASIBLE = -1


def _refuses(question: Question) -> str:
    """Both solvers need a quadratic cost and numeric columns."""
    return "squares only" if question.power == 1 else "numbers only" if question.spans else ""


class Piqp:
    """PIQP's dense solver; ``tight`` sets tolerances of 1e-10, in units in which the answer has length 1."""

    name = "PIQP"

    def __init__(self, tight: bool = False) -> None:
        import piqp

        self._module: Any = piqp
        self._tight = tight

    def refuses(self, question: Question) -> str:
        """The reason why the solver cannot solve the programs of a question; empty if it can."""
        return _refuses(question)

    def solve(self, program: Program) -> Array | None:
        """The best y; None if there is none."""
        if not self._tight:
            return self._solve(program, 1.0)
        box = np.stack([program.lower, program.upper], axis=1)
        if linprog(np.zeros(len(box)), -program.A, -program.r, bounds=box).status == 2:
            return None
        first = self._solve(program, 1.0)
        cost = 1.0 if first is None else program.cost(first)
        return self._solve(program, math.sqrt(max(cost, 1e-12)))

    def _solve(self, program: Program, unit: float) -> Array | None:
        """Solve the program with all lengths divided by ``unit``."""
        piqp, n, m = self._module, len(program.start), len(program.r)
        top, low, high = np.full(m, np.inf), program.lower / unit, program.upper / unit
        if self._tight:
            solver = piqp.SparseSolver()
            solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
            P, G = sparse.diags(2.0 * program.weight, format="csc"), sparse.csc_matrix(program.A)
            solver.setup(P, np.zeros(n), None, None, G, program.r / unit, top, low, high)
        else:
            solver = piqp.DenseSolver()
            none = np.empty((0, n), order="F"), np.empty(0)
            rows = np.asfortranarray(program.A)
            solver.setup(np.diag(2.0 * program.weight), np.zeros(n), *none, rows, program.r / unit, top, low, high)
        status = solver.solve()
        if status == piqp.PIQP_SOLVED:
            return np.asarray(solver.result.x) * unit
        if not self._tight:
            return None  # an empty leaf mostly ends at the iteration limit: a leaf that is not solved counts as empty
        raise SolverError(f"PIQP ended with {status}")


class Daqp:
    """DAQP's dense solver."""

    name = "DAQP"

    def __init__(self) -> None:
        import daqp

        self._module: Any = daqp

    def refuses(self, question: Question) -> str:
        """The reason why the solver cannot solve the programs of a question; empty if it can."""
        return _refuses(question)

    def solve(self, program: Program) -> Array | None:
        """The best y; None if there is none."""
        n, m = len(program.start), len(program.r)
        high, low = np.concatenate([program.upper, np.full(m, _FAR)]), np.concatenate([program.lower, program.r])
        P, rows, sense = np.diag(2.0 * program.weight), np.ascontiguousarray(program.A), np.zeros(n + m, np.int32)
        y, _, flag, _ = self._module.solve(P, np.zeros(n), rows, high, low, sense)
        if flag > 0:
            return np.asarray(y)
        if flag == _DAQP_INFEASIBLE:
            return None
        raise SolverError(f"DAQP ended with {flag}")


class PiqpCoupled:
    """PIQP's sparse solver for a cost that couples columns, (x - source)' Q (x - source), over numbers."""

    def __init__(self, Q: Any) -> None:
        import piqp

        self._module: Any = piqp
        self._Q = sparse.csc_matrix(Q)

    def cost(self, region: Region, source: Array, lower: Array, upper: Array) -> float:
        """The least cost within a region and bounds; infinity if there is no such row."""
        A, r = region
        solver, top = self._module.SparseSolver(), np.full(len(r), np.inf)
        rows, none = sparse.csc_matrix(A), np.zeros(len(source))
        solver.setup(2.0 * self._Q, none, None, None, rows, r - A @ source, top, lower - source, upper - source)
        return float(solver.result.info.primal_obj) if solver.solve() == self._module.PIQP_SOLVED else math.inf
