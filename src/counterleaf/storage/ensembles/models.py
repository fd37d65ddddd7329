"""The ensembles and goals of an answer's file: each is read once, also if several searches share it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.decision import Range
from counterleaf.model.ensembles.decision import ScoreDecision
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.tree import Tree
from counterleaf.packed_arrays import Unpacker, pack
from counterleaf.proof.ensembles.steps import ForestProof
from counterleaf.question.cells import CellForest
from counterleaf.question.splits import Margin
from counterleaf.question.variables import Variables
from counterleaf.search.ensembles.cells import cell_forest
from counterleaf.storage.ensembles.proofs import proof_in
from counterleaf.storage.ensembles.splits import check_splits
from counterleaf.strict_json import number_out
from counterleaf.table.schema import Schema

_WHAT = "the answer's JSON"
_MISFIT = "the answer's JSON has a target that does not fit its ensemble; write it again with to_json"


def goal_out(decision: ScoreDecision) -> dict[str, Any]:
    """Write the goal of an ensemble, and the leaves that do not count."""
    goal = decision.goal
    return {
        "class_costs": [] if isinstance(goal, Range) else [[label, number_out(cost)] for label, cost in goal.items()],
        "range": [goal.output, number_out(goal.low), number_out(goal.high)] if isinstance(goal, Range) else None,
        **({"closed": pack(np.array(sorted(decision.closed), np.int64))} if decision.closed else {}),
    }


class EnsembleReader:
    """Reads the parts of an answer's file that are about an ensemble.

    Parameters
    ----------
    schema : Schema
        The features of the answer.
    unpacker : Unpacker
        The reader of the file's arrays.
    """

    def __init__(self, schema: Schema, unpacker: Unpacker) -> None:
        self.schema, self.unpacker = schema, unpacker
        self.variables = Variables.of(schema)
        self.stump = Tree([-1], [-1], np.zeros((1, schema.width)), [0.0], [0])  # type: ignore[arg-type]  # lists, as elsewhere
        self._known: dict[Any, Any] = {}

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def decision(self, content: dict[str, Any]) -> ScoreDecision:
        """Return the ensemble and the goal of a certificate."""
        ensemble: Ensemble = self._once(("ensemble", id(content["ensemble"])), lambda: self._ensemble(content["ensemble"]))
        closed: frozenset[int] = frozenset()
        if "closed" in content:
            nodes = self.unpacker.whole("closed", content["closed"], None)
            if not ((nodes >= 0) & (nodes < len(ensemble.left))).all() or (ensemble.left[nodes] >= 0).any():
                raise CounterleafError(
                    "the answer's JSON leaves out leaves that its ensemble lacks; write it again with to_json"
                )
            closed = frozenset(nodes.tolist())
        goal = self._goal(content, ensemble)
        key = tuple(goal.items()) if isinstance(goal, dict) else goal
        made: ScoreDecision = self._once(("decision", id(ensemble), key, closed), lambda: ScoreDecision(ensemble, goal, closed))
        return made

    def forest(self, decision: ScoreDecision, margin: Margin) -> CellForest:
        """Return the ensemble as cells, cut again for a margin."""
        by_feature = margin if isinstance(margin, tuple) and any(margin) else 0.0

        def make() -> CellForest:
            shut = None
            if decision.closed:
                shut = np.zeros(len(decision.model.left), bool)
                shut[list(decision.closed)] = True
            return cell_forest(decision.model, self.variables, by_feature, shut)

        made: CellForest = self._once(("forest", id(decision.model), by_feature, decision.closed), make)
        return made

    def proofs(self, content: dict[str, Any], forest: CellForest) -> tuple[ForestProof, ...]:
        """Return the proofs of a certificate, one per class of the target."""
        return tuple(proof_in(one, forest, self.unpacker) for one in content["proofs"])

    def _ensemble(self, content: Any) -> Ensemble:
        ensemble = Ensemble.from_content(content, self.unpacker)
        if self.schema.width != ensemble.n_features:
            raise CounterleafError(
                f"the answer's JSON has {self.schema.width} columns for an ensemble of {ensemble.n_features}; "
                f"write it again with to_json"
            )
        check_splits(ensemble, self.schema, _WHAT)
        return ensemble

    def _goal(self, content: dict[str, Any], ensemble: Ensemble) -> dict[int, float] | Range:
        """Return class costs, or a range of a probability or value, that fit the ensemble."""
        count, span = len(ensemble.classes), content["range"]
        if span is None:
            pairs = [(label, float(cost)) for label, cost in content["class_costs"]]
            known = all(type(label) is int and 0 <= label < count for label, _ in pairs)
            if not known or not np.isfinite([cost for _, cost in pairs]).all() or ensemble.is_regression:
                raise CounterleafError(_MISFIT)
            return dict(pairs)
        output, low, high = span[0], float(span[1]), float(span[2])
        sound = type(output) is int and -1 <= output < count and (output < 0) == ensemble.is_regression and low <= high
        if not sound or (output >= 0 and not ensemble.has_probabilities):
            raise CounterleafError(_MISFIT)
        return Range(output, low, high)
