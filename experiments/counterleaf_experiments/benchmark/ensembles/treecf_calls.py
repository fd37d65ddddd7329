"""treecf's exact backend on a forest or boosted trees, in this process."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from counterleaf_experiments.benchmark.ensembles.measurement import LIMIT, OPTIMAL, Ask, Reply
from counterleaf_experiments.benchmark.ensembles.questions import Cell

NAME = "treecf"
_ROUNDING = 1e-12, 1e-6  # of an average of votes in double precision, of a sum of leaves in single precision
_NODES = 10**12  # only the time is limited


@dataclass(frozen=True, slots=True)
class Treecf:
    """``explain`` of the exact backend, one row after another."""

    name: str = NAME
    all_rows: bool = False

    @property
    def version(self) -> str:
        """The installed version; empty if there is none."""
        try:
            import treecf  # noqa: F401  # only to test that it is installed

            return version("treecf")
        except (ImportError, PackageNotFoundError):
            return ""

    @contextmanager
    def prepare(self, cell: Cell, budget: float, seed: int) -> Iterator[Ask]:
        """Make an explainer whose distance is our cost."""
        import treecf

        if cell.data.y.max() > 1:
            raise NotImplementedError("two classes only")
        names = [f"f{j}" for j in range(cell.data.X.shape[1])]
        groups = [treecf.OneHot(tuple(names[span])) for span in cell.data.spans]
        explainer = treecf.Explainer(cell.model, constraints=groups, normalizers=1.0 / cell.data.weight)
        targets = _targets(cell, treecf.Target)

        def ask(k: int) -> Reply:
            source = cell.source(k)
            cpu, wall = time.process_time(), time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it warns if time runs out
                found: Any = explainer.explain(
                    source, targets[cell.targets[k]], backend="exact", time_budget_s=budget, node_budget=_NODES, seed=seed
                )
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            x = getattr(found, "x_cf", None)
            if x is None:
                return Reply("infeasible" if found.proof == "certified" else LIMIT, None, math.nan, cpu, wall)
            status = OPTIMAL if found.proof == "optimal" else LIMIT
            return Reply(status, np.asarray(x, np.float64), float(found.distance), cpu, wall)

        yield ask


def _targets(cell: Cell, target: Any) -> tuple[Any, Any]:
    """The interval of the model's sum for either class; a tie, up to the rounding of the sum, goes to the first."""
    forest = isinstance(cell.model, RandomForestClassifier)
    tie = 0.5 + _ROUNDING[0] if forest else 0.0
    return target.raw(op="<=", value=tie), target.raw(op=">=", value=tie if forest else _ROUNDING[1])
