"""The paper's way: one program per leaf of the target with a general solver, and the best of them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from counterleaf.experiments.benchmark.cases import Case
from counterleaf.experiments.benchmark.line import Line, OutOfTimeError, ask, one_line
from counterleaf.experiments.paper.referee import BruteForce
from counterleaf.types import Array
from counterleaf.experiments.solvers import Daqp, Gurobi, Highs, Piqp, Program, Question, Scip, Solver, SolverTimeoutError, enumerate_leaves

SOLVERS: dict[str, Callable[[float], Solver]] = {  # seconds for each program, where a solver can be told
    "Gurobi": Gurobi,
    "HiGHS": Highs,
    "SCIP": Scip,
    "PIQP": lambda _: Piqp(),
    "DAQP": lambda _: Daqp(),
}
_TOO_WIDE = {"DAQP": 100, "SCIP": 200}  # columns beyond which one quadratic program takes longer than any budget


class _Hurried:
    """A solver that gives up between two programs when the time is over."""

    def __init__(self, solver: Solver, seconds: float) -> None:
        self.name, self._solver, self._until = solver.name, solver, time.perf_counter() + seconds

    def refuses(self, question: Question) -> str:
        return self._solver.refuses(question)

    def solve(self, program: Program) -> Array | None:
        if time.perf_counter() > self._until:
            raise OutOfTimeError
        try:
            return self._solver.solve(program)
        except SolverTimeoutError:
            raise OutOfTimeError from None


def with_solver(case: Case, name: str, rows: int, budget: float) -> Line | None:
    """The line of a solver; None if it is not made for the case."""
    method = f"every target leaf with {name}"
    wide = case.power == 2 and case.subject.tree.n_features > _TOO_WIDE.get(name, 10**9)
    try:
        solver = SOLVERS[name](budget)
    except ImportError:
        return Line(case.title, method, note="absent")
    except Exception as error:
        return Line(case.title, method, note=f"failed: {one_line(error)}")
    first = case.question(0)
    if reason := solver.refuses(first):
        return Line(case.title, method, note=reason) if "licence" in reason else None
    if wide:
        return Line(case.title, method, note="too many columns")
    leaves, targets = case.subject.leaves.by_label, case.subject.targets
    with contextlib.suppress(Exception):  # told below, if it happens again
        solver.solve(first.program(leaves[targets[0]][0]))  # the first call of a library loads and checks
    hurried = _Hurried(solver, budget)

    def answer(k: int) -> tuple[float, Array | None]:
        return enumerate_leaves(hurried, leaves.get(targets[k], []), case.question(k))

    return ask(case, method, rows, budget, answer)


def with_numpy(case: Case, rows: int, budget: float) -> Line:
    """Every box of an axis-aligned tree in closed form, with the model's own cuts."""
    model: Any = case.subject.model
    boxes = BruteForce(model, case.subject.ground.schema, category=1.0)

    def answer(k: int) -> tuple[float, Array | None]:
        return boxes.best(case.source(k), case.subject.targets[k], case.stays, case.power)

    return ask(case, "every target leaf with NumPy", rows, budget, answer)
