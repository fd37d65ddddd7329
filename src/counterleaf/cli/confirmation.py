"""Whether answers are about a model: proofs over the problems that it poses, and its predictions against the labels.

Proofs are checked line by line; the model predicts the rows of a file all at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from counterleaf.answer.explanation import Explanation
from counterleaf.cli.output import kind_of_model
from counterleaf.errors import CounterleafError, flat
from counterleaf.explainer import Explainer
from counterleaf.model.decision import Range
from counterleaf.model.gaps import tree_with_gaps
from counterleaf.question.posing import Basis
from counterleaf.storage.explainers import spreads_out
from counterleaf.storage.explanations import reread
from counterleaf.storage.grounds import ground_of
from counterleaf.storage.models import PICKLES, fitted_columns, read_estimator, read_model
from counterleaf.storage.problems import AnyDecision, Ground
from counterleaf.storage.schemas import schema_out
from counterleaf.table.frames import make_frame
from counterleaf.types import is_missing


@dataclass(frozen=True, slots=True)
class Claim:
    """What the model should say of a row: a label, or a probability or value within the interval of the target."""

    decision: AnyDecision
    label: Any
    target: str

    def holds(self, predicted: Any) -> bool:
        """Whether a prediction is what was claimed."""
        goal = self.decision.goal
        return goal.holds(float(predicted)) if isinstance(goal, Range) else bool(predicted == self.label)

    def __str__(self) -> str:
        return self.target if isinstance(self.decision.goal, Range) else str(self.label)


class ModelCheck:
    """The model that the proofs should be about, and the rows that it still has to predict."""

    def __init__(self, path: Path, allow_pickle: bool, trusted: list[str]) -> None:
        self.path = path
        self._estimator: Any = None  # the scikit-learn model, if it is one
        self._read: Any = None  # the explainer, the tree or the ensemble of a JSON file
        self._known: dict[str, tuple[Any, float]] = {}  # the scikit-learn model, by the features it is read with
        self._rows: list[tuple[int, int, dict[str, Any], Claim]] = []  # line, rank, row and claim, to be predicted
        if path.suffix.lower() in (*PICKLES, ".skops"):
            found = read_estimator(path, allow_pickle, trusted)
            self._estimator = found.model if isinstance(found, Explainer) else found
            self._read = found if isinstance(found, Explainer) else None
            if not hasattr(self._estimator, "predict"):
                raise CounterleafError(f"{path} contains a {type(self._estimator).__name__}; expected a model with predict")
        else:
            self._read = read_model(path)

    @property
    def trusted(self) -> str:
        """What the file of the answers says and this model does not, in words, or ""."""
        if isinstance(self._read, Explainer):
            return ""
        return "; the bounds, steps, costs of categories, spreads and fills are those of the answers' file"

    def compare(self, line: int, answer: Explanation) -> str:
        """Return why the proof is not about this model, or ""; the rows are predicted later, by ``confirm``."""
        failure = self._differs(answer)
        for rank, one in enumerate(() if failure or self._estimator is None else answer):
            values = {name: one.changes.get(name, (old, old))[1] for name, old in answer.source_values.items()}
            row = one.row if isinstance(one.row, dict) else values
            self._rows.append((line, rank, row, Claim(answer.decision, one.label, answer.target_text())))
        return failure

    def confirm(self) -> dict[int, str]:
        """Return, by line, the answers that the model does not confirm.

        The model predicts all rows in one call. A row that fails there is predicted again alone, because the columns of the
        whole table may have other types than the row.
        """
        if not self._rows:
            return {}
        try:
            labels = self._predict([row for _, _, row, _ in self._rows])
        except Exception:  # of any model; a row that is predicted alone gives its reason
            labels = None
        failures: dict[int, str] = {}
        for k, (line, rank, row, claim) in enumerate(self._rows):
            if line not in failures and (labels is None or claim.decision.predicted >= 0 or not claim.holds(labels[k])):
                failure = self._confirm_row(rank, row, claim)
                failures.update({line: failure} if failure else {})
        return failures

    def _confirm_row(self, rank: int, row: dict[str, Any], claim: Claim) -> str:
        try:
            (predicted,) = self._predict([row], claim.decision.predicted)
        except CounterleafError as error:
            return str(error)
        except Exception as error:  # of any model
            return f"{self.path} fails on alternative {rank + 1} ({type(error).__name__}: {flat(error)})"
        return "" if claim.holds(predicted) else f"{self.path} says {predicted} for alternative {rank + 1}, not {claim}"

    def _predict(self, rows: list[dict[str, Any]], output: int = -1) -> list[Any]:
        dropped = dict.fromkeys(map(str, getattr(self._estimator, "feature_names_in_", ())), math.nan)  # not among the features
        filled = [dropped | {name: math.nan if is_missing(value) else value for name, value in row.items()} for row in rows]
        table = fitted_columns(self._estimator, make_frame(filled), "the row")
        named = hasattr(self._estimator, "feature_names_in_")
        given = table if named else table.to_numpy()
        if output >= 0:
            return list(np.asarray(self._estimator.predict_proba(given))[:, output])
        labels = np.asarray(self._estimator.predict(given))
        if labels.shape not in ((len(rows),), (len(rows), 1)):
            raise ValueError(f"an array of shape {labels.shape} for {len(rows)} rows")
        return list(labels.ravel())

    def _ground(self, answer: Explanation) -> Ground:
        """The model, with the features of the answer unless it has its own."""
        if isinstance(self._read, Explainer):
            return ground_of(self._read, answer.source, answer.question.support)
        if answer.question.support is not None:
            raise CounterleafError(
                f"{self.path} cannot count the rows of leaves, and the answer has {answer.question.rules[-1]}; "
                f"verify with the explainer's JSON"
            )
        if self._estimator is None:
            return Ground(self._read, answer.schema, answer.basis)
        gaps = answer.schema.gaps
        key = str((schema_out(replace(answer.schema, gaps={}, inferred=False)), sorted(gaps)))
        if key not in self._known:
            adapter = Explainer(self._estimator, schema=replace(answer.schema, gaps={}))._adapter
            self._known[key] = tree_with_gaps(adapter, gaps), adapter.guard
        model, guard = self._known[key]
        if model is None:
            raise CounterleafError(f"{self.path} has no route for missing numbers")
        return Ground(model, answer.schema, answer.basis._replace(guard=guard))

    def _differs(self, answer: Explanation) -> str:
        """Return why the proof of an answer does not hold for the model, or ""."""
        try:
            ground = self._ground(answer)
        except CounterleafError as error:
            return f"the proof does not hold for {self.path}: {error}"
        try:
            again = reread(answer, ground)
            is_it = answer.decision.model.to_json() == ground.model.to_json()  # what a reader of the answer sees drawn
            same = [(one.label, one.number, one.changes) for one in again] == [
                (one.label, one.number, one.changes) for one in answer
            ]
            reason = "" if same else "its answers are others"
            if is_it and same and again.certificate.check():
                return ""
        except CounterleafError as error:
            reason = str(error)
        return f"the proof does not hold for {self.path}: {_difference(answer, ground) or reason or 'a part of it fails'}"


def _difference(answer: Explanation, ground: Ground) -> str:
    """Return what distinguishes the model of an answer from another one, or ""."""
    own, schema = answer.schema, ground.schema
    if [(f.name, type(f)) for f in own] != [(f.name, type(f)) for f in schema]:
        return "its features differ, or have other names"
    if answer.decision.model.to_json() != ground.model.to_json():
        return f"its {kind_of_model(answer.decision.model)} is a different one"
    if own.features != schema.features or own.domains != schema.domains:
        return "its features have other bounds, steps or values"
    if own.fills != schema.fills or own.gaps != schema.gaps:
        return "it fills in missing numbers with others"
    if answer.decision.closed != ground.closed:
        return f"other leaves are left out by {answer.question.rules[-1]}"
    if _written(answer.basis) != _written(ground.basis):
        return "its spreads, or the accuracy of its sums, are others"
    return ""


def _written(basis: Basis) -> Any:
    return spreads_out(basis.spreads), basis.guard
