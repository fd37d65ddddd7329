"""The method of the paper: one program per leaf of the target with a general solver, and the best of the results."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from counterleaf.types import Array
from counterleaf_experiments.benchmark.cases import Case
from counterleaf_experiments.benchmark.measurement import Measurement, OutOfTimeError, measure_rows, short_message
from counterleaf_experiments.paper.referee import BruteForce
from counterleaf_experiments.solvers import (
    Daqp,
    Gurobi,
    Highs,
    Piqp,
    Program,
    Question,
    Scip,
    Solver,
    SolverTimeoutError,
    enumerate_leaves,
)

SOLVERS: dict[str, Callable[[float], Solver]] = {  # from the seconds for each program, if the solver has a limit
    "Gurobi": Gurobi,
    "HiGHS": Highs,
    "SCIP": Scip,
    "PIQP": lambda _: Piqp(),
    "DAQP": lambda _: Daqp(),
}
_MAX_COLUMNS = {"DAQP": 100, "SCIP": 200}  # with more columns one quadratic program takes longer than any budget


class _WithBudget:
    """A solver that stops between two programs when the budget is used up."""

    def __init__(self, solver: Solver, seconds: float) -> None:
        self.name, self._solver, self._until = solver.name, solver, time.perf_counter() + seconds

    def refuses(self, question: Question) -> str:
        """The reason why the solver cannot solve the programs of a question; empty if it can."""
        return self._solver.refuses(question)

    def solve(self, program: Program) -> Array | None:
        """The best y; None if there is none."""
        if time.perf_counter() > self._until:
            raise OutOfTimeError
        try:
            return self._solver.solve(program)
        except SolverTimeoutError:
            raise OutOfTimeError from None


def with_solver(case: Case, name: str, rows: int, budget: float) -> Measurement | None:
    """Measure a solver on a case; None if it cannot solve such programs."""
    method = f"every target leaf with {name}"
    wide = case.power == 2 and case.subject.tree.n_features > _MAX_COLUMNS.get(name, 10**9)
    try:
        solver = SOLVERS[name](budget)
    except ImportError:
        return Measurement(case.title, method, note="absent")
    except Exception as error:
        return Measurement(case.title, method, note=f"failed: {short_message(error)}")
    first = case.question(0)
    if reason := solver.refuses(first):
        return Measurement(case.title, method, note=reason) if "licence" in reason else None
    if wide:
        return Measurement(case.title, method, note="too many columns")
    leaves, targets = case.subject.leaves.by_label, case.subject.targets
    with contextlib.suppress(Exception):  # reported below if it happens again
        solver.solve(first.program(leaves[targets[0]][0]))  # the first call of a library loads modules and checks licences
    with_budget = _WithBudget(solver, budget)

    def answer(k: int) -> tuple[float, Array | None]:
        return enumerate_leaves(with_budget, leaves.get(targets[k], []), case.question(k))

    return measure_rows(case, method, rows, budget, answer)


def with_numpy(case: Case, rows: int, budget: float) -> Measurement:
    """Measure brute force: every box of an axis-aligned tree in closed form, with the thresholds of the model."""
    model: Any = case.subject.model
    boxes = BruteForce(model, case.subject.data.schema, category=1.0)

    def answer(k: int) -> tuple[float, Array | None]:
        return boxes.best(case.source(k), case.subject.targets[k], case.frozen_columns, case.power)

    return measure_rows(case, "every target leaf with NumPy", rows, budget, answer)
