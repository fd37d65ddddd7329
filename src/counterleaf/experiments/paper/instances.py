"""One question per instance: our answer, its checks, the baselines' answers and the independent optimum, with times."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from counterleaf.answer.explanation import Explanation
from counterleaf.errors import CounterleafError
from counterleaf.experiments.baselines import FeatureTweaking, NearestRow
from counterleaf.experiments.paper.grounds import Ground
from counterleaf.experiments.paper.referee import BruteForce, Enumeration
from counterleaf.experiments.paper.trees import AXIS, Grown
from counterleaf.explainer import Explainer
from counterleaf.question.constraint import freeze
from counterleaf.question.cost import L1, L2
from counterleaf.types import Array

NORMS = ("l2", "l1")
LEVELS = 3
_REPEATS, _LONG = 3, 50.0  # calls, and milliseconds after which one is not repeated


class Contest:
    """All methods on one tree."""

    def __init__(self, ground: Ground, grown: Grown) -> None:
        self.ground, self.grown = ground, grown
        model, schema = grown.explained, ground.schema
        rows = ground.X if ground.table is None else pd.DataFrame(ground.table)
        self.explainer = Explainer(model, schema=schema)
        self.nearest = NearestRow(model, rows, schema)
        self.axis = grown.settings["kind"] == AXIS
        self.tweaking = FeatureTweaking(model, schema=schema) if self.axis else None
        self.referee = BruteForce(grown.model, schema) if self.axis else Enumeration(grown.tree, schema)

    def draw(self, per_class: int, seed: int) -> pd.DataFrame:
        """Test rows of each class, as the tree sees them, and for each another class at random.

        As in the paper every question has an answer: a class that cannot be reached under the strictest constraints is passed
        over (``passed`` counts them, ``unproved`` those without a proof), and so is a row from which none can. Training rows
        help out where test rows are too few.
        """
        rng = np.random.default_rng(seed)
        ground, tree = self.ground, self.grown.tree
        labels = tree.classes.tolist()
        places = np.concatenate([rng.permutation(ground.test), rng.permutation(ground.train)])
        said = tree.value[tree.apply(ground.X[places])]
        lines: list[dict[str, Any]] = []
        passed = unproved = 0
        reached = sorted({int(tree.value[leaf]) for leaf in tree.leaves})
        for own in reached:
            found = 0
            for place in places[said == own].tolist():
                if found == per_class:
                    break
                for other in rng.permutation([k for k in reached if k != own]).tolist():
                    answer = self.explainer.explain(**self._question(place, labels[other], LEVELS - 1, "l2"))
                    if len(answer):
                        lines.append({"place": place, "target": labels[other], "passed": passed, "unproved": unproved})
                        found, passed, unproved = found + 1, 0, 0
                        break
                    passed, unproved = passed + 1, unproved + (not answer.certificate.check())
        if not lines:
            raise CounterleafError(f"{ground.title}: from no row does anything lead to another class; take another seed")
        lines[-1]["passed"] += passed
        lines[-1]["unproved"] += unproved
        return pd.DataFrame(lines)

    def run(self, drawn: pd.DataFrame, level: int, norm: str, tick: Callable[[], None]) -> pd.DataFrame:
        """One line per instance; ``tick`` is called after each."""
        about = {
            "set": self.ground.key,
            "title": self.ground.title,
            "tree": self.grown.settings["kind"],
            "level": level,
            "frozen": self.ground.share(level),
            "norm": norm,
        }
        labels = {str(label): label for label in self.grown.tree.classes.tolist()}  # a CSV file has lost their type
        asked = [(int(place), labels[str(target)]) for place, target in zip(drawn["place"], drawn["target"], strict=True)]
        for place, target in {target: (place, target) for place, target in asked}.values():
            self._line(place, target, level, norm, check=False)  # the first call prepares what later ones share
        lines = []
        for place, target in asked:
            lines.append(about | self._line(place, target, level, norm))
            tick()
        return pd.DataFrame(lines)

    def _question(self, place: int, target: Any, level: int, norm: str) -> dict[str, Any]:
        frozen = self.ground.levels[level]
        return {
            "row": self.ground.row(place),
            "target": target,
            "cost": L1() if norm == "l1" else L2(),
            "constraints": [freeze(*frozen)] if frozen else [],
        }

    def _line(self, place: int, target: Any, level: int, norm: str, check: bool = True) -> dict[str, Any]:
        ground, frozen = self.ground, self.ground.levels[level]
        question = self._question(place, target, level, norm)
        source = ground.X[place]
        stays = np.zeros(len(source), bool)
        for name in frozen:
            stays[ground.schema.span(ground.schema.index(name))] = True
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
        """Proof, and the word of the tree and of the estimator on the very row that was answered."""
        out: dict[str, Any] = {"proved": answer.certificate.check()}
        if not len(answer):
            return out | {"tree_agrees": None, "model_agrees": None, "constraints_hold": None, "changed": None}
        x = self.ground.schema.encode(answer[0].row)[None]
        lower, upper = self.ground.schema.bounds()
        inside = bool(((lower <= x) & (x <= upper)).all())
        return out | {
            "tree_agrees": bool(self.grown.tree.predict(x)[0] == target),
            "model_agrees": bool(self.grown.predict(x)[0] == target),
            "constraints_hold": inside and bool((x[0, stays] == source[stays]).all()),
            "changed": len(answer[0].changes),
        }


def timed(call: Callable[[], Any], repeats: int = _REPEATS) -> tuple[Any, float]:
    """What a call returns and its milliseconds; of a short call the least of three, since machines are busy."""
    least, total = math.inf, 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        out = call()
        ms = 1e3 * (time.perf_counter() - start)
        least, total = min(least, ms), total + ms
        if total > _LONG:
            break
    return out, least


def _valid_cost(answer: Explanation) -> float:
    """What a baseline's answer costs, NaN if it has none that the model confirms."""
    return answer[0].cost if len(answer) and answer[0].confirmed else math.nan
