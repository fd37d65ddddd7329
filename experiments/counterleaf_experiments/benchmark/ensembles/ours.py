"""counterleaf on a forest or boosted trees."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from counterleaf.explainer import Explainer
from counterleaf.question.costs.terms import L1
from counterleaf_experiments.benchmark.cases import feature_weights
from counterleaf_experiments.benchmark.ensembles.measurement import Ask, Reply
from counterleaf_experiments.benchmark.ensembles.questions import Cell

NAME = "counterleaf"


@dataclass(frozen=True, slots=True)
class Counterleaf:
    """Whole ``explain`` calls, one after another."""

    name: str = NAME
    all_rows: bool = True

    @property
    def version(self) -> str:
        """The installed version."""
        return version("counterleaf")

    @contextmanager
    def prepare(self, cell: Cell, budget: float, seed: int) -> Iterator[Ask]:
        """Make an explainer."""
        explainer = Explainer(cell.model, schema=cell.data.schema)
        cost = L1(feature_weights(cell.data.schema))

        def ask(k: int) -> Reply:
            row = cell.data.row(int(cell.places[k]))
            cpu, wall = time.process_time(), time.perf_counter()
            answer = explainer.explain(row, target=cell.targets[k], cost=cost, time_limit=budget)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            if not len(answer):
                return Reply(str(answer.status), None, math.nan, cpu, wall, False)
            x = np.asarray(explainer.schema.encode(answer[0].row), np.float64)
            return Reply(str(answer.status), x, float(answer[0].cost), cpu, wall, bool(answer[0].confirmed))

        yield ask
