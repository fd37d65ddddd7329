"""General solvers, asked leaf by leaf: the paper's way, to measure against and to check with.

``program.py`` states the problem of one leaf; each other file hands it to one solver. A solver is imported when it is made.
"""

from counterleaf.experiments.solvers.gurobi import Gurobi
from counterleaf.experiments.solvers.highs import Highs, ScipyHighs
from counterleaf.experiments.solvers.program import (
    Leaves,
    Program,
    Question,
    Solver,
    SolverError,
    SolverTimeoutError,
    enumerate_leaves,
)
from counterleaf.experiments.solvers.quadratic import Daqp, Piqp, PiqpCoupled
from counterleaf.experiments.solvers.scip import Scip

__all__ = [
    "Daqp",
    "Gurobi",
    "Highs",
    "Leaves",
    "Piqp",
    "PiqpCoupled",
    "Program",
    "Question",
    "Scip",
    "ScipyHighs",
    "Solver",
    "SolverError",
    "SolverTimeoutError",
    "enumerate_leaves",
]
