"""Whose answers are these? A model's own tree, features and word, beside what a proof is about."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd

from counterleaf.errors import CounterleafError, flat
from counterleaf.explain import Explainer
from counterleaf.features import Numeric
from counterleaf.models import PICKLES, fitted_columns, read_estimator, read_model
from counterleaf.result import Explanation
from counterleaf.schema import Schema


class Judge:
    """The model that the proofs should be about."""

    def __init__(self, path: Path, allow_pickle: bool, trusted: list[str]) -> None:
        self.path = path
        self.beyond = 0  # answers with other bounds than the model's own
        self._own: Any = None  # the scikit-learn model, where it is one
        self._trees: dict[str, str] = {}  # of the scikit-learn model, by the features it is read with
        if path.suffix.lower() in (*PICKLES, ".skops"):
            found = read_estimator(path, allow_pickle, trusted)
            self._own = found.model if isinstance(found, Explainer) else found
            if not hasattr(self._own, "predict"):
                raise CounterleafError(f"{path} holds a {type(self._own).__name__}; expected a model with predict")
        else:
            self._read = read_model(path)

    def doubt(self, answer: Explanation) -> str:
        """Why an answer is not this model's, if it is not."""
        tree = answer.certificate.problem.tree.to_json()
        if self._own is not None:
            return self._doubt_reading(answer, tree) or self._doubt_labels(answer)
        known = self._read.tree if isinstance(self._read, Explainer) else self._read
        if tree != known.to_json():
            return f"the proof is about another tree than that of {self.path}"
        if isinstance(self._read, Explainer):
            if _kinds(self._read.schema) != _kinds(answer.schema):
                return f"the answer has other features than {self.path}, or calls them otherwise"
            self.beyond += self._read.schema.features != answer.schema.features
        return ""

    def _doubt_reading(self, answer: Explanation, tree: str) -> str:
        """The scikit-learn model, read with the answer's features, must be the tree of the proof."""
        key = str(_kinds(answer.schema))
        try:
            if key not in self._trees:
                self._trees[key] = Explainer(self._own, schema=answer.schema).tree.to_json()
        except CounterleafError as error:
            return f"{self.path} does not go with the answer's features ({error})"
        return "" if self._trees[key] == tree else f"the proof is about another tree than that of {self.path}"

    def _doubt_labels(self, answer: Explanation) -> str:
        for rank, one in enumerate(answer):
            values = {name: one.changes.get(name, (old, old))[1] for name, old in answer.source.items()}
            try:
                whole = pd.DataFrame([one.row if isinstance(one.row, dict) else values])
                whole = whole.where(whole.notna(), math.nan)  # JSON has one word for what is missing, a table another
                row = fitted_columns(self._own, whole, "the row")
                said = self._own.predict(row if hasattr(self._own, "feature_names_in_") else row.to_numpy())[0]
            except CounterleafError as error:
                return str(error)
            except Exception as error:  # the model's own, whatever it may be
                return f"{self.path} fails on alternative {rank + 1} ({type(error).__name__}: {flat(error)})"
            if said != one.label:
                return f"{self.path} says {said} for alternative {rank + 1}, not {one.label}"
        return ""


def _kinds(schema: Schema) -> list[tuple[Any, ...]]:
    """What the features are called, of which kind they are and which values they have."""
    return [(f.name, type(f).__name__, *(() if isinstance(f, Numeric) else (f.values, f.missing))) for f in schema]
