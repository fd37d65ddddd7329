"""One question per instance: our answer and its checks, the baselines' answers and an independent optimum, with times."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from counterleaf.answer.explanation import Explanation
from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.question.constraints.bounds import freeze
from counterleaf.question.costs.terms import L1, L2
from counterleaf.types import Array
from counterleaf_experiments.baselines import FeatureTweaking, NearestRow
from counterleaf_experiments.paper.data import PaperData
from counterleaf_experiments.paper.referee import BruteForce, Enumeration
from counterleaf_experiments.paper.trees import AXIS, LearnedTree

NORMS = ("l2", "l1")
LEVELS = 3
_REPEATS, _LONG_MS = 3, 50.0  # number of calls, and the milliseconds after which a call is not repeated


class MethodComparison:
    """All methods on one tree."""

    def __init__(self, data: PaperData, learned: LearnedTree) -> None:
        self.data, self.learned = data, learned
        model, schema = learned.explained, data.schema
        rows = data.X if data.table is None else pd.DataFrame(data.table)
        self.explainer = Explainer(model, schema=schema)
        self.nearest = NearestRow(model, rows, schema)
        self.axis = learned.settings["kind"] == AXIS
        self.tweaking = FeatureTweaking(model, schema=schema) if self.axis else None
        self.referee = BruteForce(learned.model, schema) if self.axis else Enumeration(learned.tree, schema)

    def draw(self, per_class: int, seed: int) -> pd.DataFrame:
        """Draw test rows of each predicted class, and for each of them another class at random as target.

        As in the paper, every question has an answer: a target that cannot be reached under the strictest constraints is
        skipped, and so is a row from which no target can be reached. The column ``passed`` counts the skipped targets,
        ``unproved`` those among them without a proof. Training rows are added if there are too few test rows.
        """
        rng = np.random.default_rng(seed)
        data, tree = self.data, self.learned.tree
        labels = tree.classes.tolist()
        places = np.concatenate([rng.permutation(data.test), rng.permutation(data.train)])
        predicted = tree.value[tree.apply(data.X[places])]
        lines: list[dict[str, Any]] = []
        passed = unproved = 0
        reached = sorted({int(tree.value[leaf]) for leaf in tree.leaves})
        for source_class in reached:
            found = 0
            for place in places[predicted == source_class].tolist():
                if found == per_class:
                    break
                for other in rng.permutation([k for k in reached if k != source_class]).tolist():
                    answer = self.explainer.explain(**self._question(place, labels[other], LEVELS - 1, "l2"))
                    if len(answer):
                        lines.append({"place": place, "target": labels[other], "passed": passed, "unproved": unproved})
                        found, passed, unproved = found + 1, 0, 0
                        break
                    passed, unproved = passed + 1, unproved + (not answer.certificate.check())
        if not lines:
            raise CounterleafError(f"{data.title}: no row can reach another class under the constraints; try another --seed")
        lines[-1]["passed"] += passed
        lines[-1]["unproved"] += unproved
        return pd.DataFrame(lines)

    def run(self, drawn: pd.DataFrame, level: int, norm: str, tick: Callable[[], None]) -> pd.DataFrame:
        """Answer the question of every instance, one line each; ``tick`` is called after each."""
        about = {
            "set": self.data.key,
            "title": self.data.title,
            "tree": self.learned.settings["kind"],
            "level": level,
            "frozen": self.data.share(level),
            "norm": norm,
        }
        labels = {str(label): label for label in self.learned.tree.classes.tolist()}  # a CSV file loses their type
        questions = [(int(place), labels[str(target)]) for place, target in zip(drawn["place"], drawn["target"], strict=True)]
        for place, target in {target: (place, target) for place, target in questions}.values():
            self._line(place, target, level, norm, check=False)  # the first call prepares data that later calls share
        lines = []
        for place, target in questions:
            lines.append(about | self._line(place, target, level, norm))
            tick()
        return pd.DataFrame(lines)

    def _question(self, place: int, target: Any, level: int, norm: str) -> dict[str, Any]:
        """The arguments of ``explain`` for an instance."""
        frozen = self.data.levels[level]
        return {
            "row": self.data.row(place),
            "target": target,
            "cost": L1() if norm == "l1" else L2(),
            "constraints": [freeze(*frozen)] if frozen else [],
        }

    def _line(self, place: int, target: Any, level: int, norm: str, check: bool = True) -> dict[str, Any]:
        """Answer one question by every method; without ``check`` only to warm up."""
        data, frozen = self.data, self.data.levels[level]
        question = self._question(place, target, level, norm)
        source = data.X[place]
        stays = np.zeros(len(source), bool)
        for name in frozen:
            stays[data.schema.span(data.schema.index(name))] = True
        answer, ms = timed(lambda: self.explainer.explain(**question))
        near, near_ms = timed(lambda: self.nearest.explain(**question))
        tweaking = None if frozen else self.tweaking
        tweak, tweak_ms = (None, math.nan) if tweaking is None else timed(lambda: tweaking.explain(**question))
        if not check:
            return {}
        line = {
            "place": place,
            "source": answer.source_label,
            "target": target,
            "status": str(answer.status),
            "cost": answer[0].cost if len(answer) else math.nan,
            "lower_bound": answer.lower_bound,
            "ms": ms,
            **self._checks(answer, source, target, stays),
            "nearest_cost": _valid_cost(near),
            "nearest_ms": near_ms,
            "tweaking_cost": math.nan if tweak is None else _valid_cost(tweak),
            "tweaking_ms": tweak_ms,
        }
        power = 1 if norm == "l1" else 2
        line["referee"] = self.referee.solver(power)
        if line["referee"]:
            optimum, optimum_ms = timed(lambda: self.referee.cost(source, target, stays, power), 1)
            line |= {"optimum": optimum, "optimum_ms": optimum_ms}
        return line

    def _checks(self, answer: Explanation, source: Array, target: Any, stays: Array) -> dict[str, Any]:
        """Check the proof, and the predictions of the tree and of the estimator for exactly the row that was answered."""
        out: dict[str, Any] = {"proved": answer.certificate.check()}
        if not len(answer):
            return out | {"tree_agrees": None, "model_agrees": None, "constraints_hold": None, "changed": None}
        x = self.data.schema.encode(answer[0].row)[None]
        lower, upper = self.data.schema.bounds()
        inside = bool(((lower <= x) & (x <= upper)).all())
        return out | {
            "tree_agrees": bool(self.learned.tree.predict(x)[0] == target),
            "model_agrees": bool(self.learned.predict(x)[0] == target),
            "constraints_hold": inside and bool((x[0, stays] == source[stays]).all()),
            "changed": len(answer[0].changes),
        }


def timed(call: Callable[[], Any], repeats: int = _REPEATS) -> tuple[Any, float]:
    """Call and measure milliseconds; a short call is repeated, and the least time counts, since machines are busy."""
    least, total = math.inf, 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        out = call()
        ms = 1e3 * (time.perf_counter() - start)
        least, total = min(least, ms), total + ms
        if total > _LONG_MS:
            break
    return out, least


def _valid_cost(answer: Explanation) -> float:
    """The cost of a baseline's answer; NaN if there is none that the model confirms."""
    return answer[0].cost if len(answer) and answer[0].confirmed else math.nan
