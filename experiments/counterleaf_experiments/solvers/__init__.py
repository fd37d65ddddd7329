"""General solvers that solve one program per leaf, the method of the paper; used as references for cost and time.

``program.py`` states the problem of one leaf; every other file passes it to one solver. The package of a solver is imported
when the solver is constructed.
"""

from counterleaf_experiments.solvers.gurobi import Gurobi
from counterleaf_experiments.solvers.highs import Highs, ScipyHighs
from counterleaf_experiments.solvers.program import (
    Leaves,
    Program,
    Question,
    Solver,
    SolverError,
    SolverTimeoutError,
    enumerate_leaves,
)
from counterleaf_experiments.solvers.quadratic import Daqp, Piqp, PiqpCoupled
from counterleaf_experiments.solvers.scip import Scip

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
