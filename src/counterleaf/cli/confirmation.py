"""Whether answers are about a model: its tree and features against those of the proofs, its predictions against the labels.

Proofs are compared line by line; the model predicts the rows of a file all at once.
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
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.gaps import tree_with_gaps
from counterleaf.model.tree import Tree
from counterleaf.question.constraints.kinds import Support
from counterleaf.storage.certificates import AnyDecision
from counterleaf.storage.models import PICKLES, fitted_columns, read_estimator, read_model
from counterleaf.table.features import Numeric
from counterleaf.table.frames import make_frame
from counterleaf.table.schema import Schema
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
        self.other_bounds = 0  # answers whose bounds are not those of the model
        self._estimator: Any = None  # the scikit-learn model, if it is one
        self._trees: dict[str, str] = {}  # of the scikit-learn model, by the features it is read with
        self._rows: list[tuple[int, int, dict[str, Any], Claim]] = []  # line, rank, row and claim, to be predicted
        if path.suffix.lower() in (*PICKLES, ".skops"):
            found = read_estimator(path, allow_pickle, trusted)
            self._estimator = found.model if isinstance(found, Explainer) else found
            if not hasattr(self._estimator, "predict"):
                raise CounterleafError(f"{path} contains a {type(self._estimator).__name__}; expected a model with predict")
        else:
            self._read = read_model(path)

    def compare(self, line: int, answer: Explanation) -> str:
        """Return why the proof is not about this model, or ""; the rows are predicted later, by ``confirm``."""
        if self._estimator is None:
            return self._compare_json(answer)
        failure = self._compare_estimator(answer, answer.decision.model.to_json())
        for rank, one in enumerate(() if failure else answer):
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

    def _compare_json(self, answer: Explanation) -> str:
        """Return why an answer is not about the tree or the ensemble of a JSON file, or ""."""
        known: Tree | Ensemble | None = None if isinstance(self._read, Explainer) else self._read
        if isinstance(self._read, Explainer):
            known = tree_with_gaps(self._read._adapter, answer.schema.gaps)
        if known is None or answer.decision.model.to_json() != known.to_json():
            return f"the proof is about a different {kind_of_model(answer.decision.model)} than that of {self.path}"
        if isinstance(self._read, Explainer):
            if _kinds(self._read.schema) != _kinds(answer.schema):
                return f"the features of the answer differ from those of {self.path}, or have other names"
            least = max((one.least for one in answer.constraints if isinstance(one, Support)), default=0)
            gaps = tuple(answer.schema.gaps)
            known_leaves = (self._read._with_gaps(gaps) if gaps else self._read)._aims
            if known_leaves.counts is not None and known_leaves.closed(least) != answer.decision.closed:
                return f"the answer leaves out other leaves than those that fewer than {least} rows reach in {self.path}"
            self.other_bounds += self._read.schema.features != answer.schema.features
        return ""

    def _compare_estimator(self, answer: Explanation, tree: str) -> str:
        """Return why the scikit-learn model, read with the answer's features, is not the tree of the proof, or ""."""
        gaps = answer.schema.gaps
        key = str((_kinds(answer.schema), sorted(gaps)))
        try:
            if key not in self._trees:
                known = tree_with_gaps(Explainer(self._estimator, schema=replace(answer.schema, gaps={}))._adapter, gaps)
                self._trees[key] = "" if known is None else known.to_json()
        except CounterleafError as error:
            return f"{self.path} does not fit the features of the answer ({error})"
        kind = kind_of_model(answer.decision.model)
        return "" if self._trees[key] == tree else f"the proof is about a different {kind} than that of {self.path}"


def _kinds(schema: Schema) -> list[tuple[Any, ...]]:
    """The names, kinds and values of the features."""
    return [(f.name, type(f).__name__, *(() if isinstance(f, Numeric) else (f.values, f.missing))) for f in schema]
