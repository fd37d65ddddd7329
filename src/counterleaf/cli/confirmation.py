"""Whose answers are these? A model's own tree, features and word, beside what a proof is about.

Proofs are compared line by line; the rows of a file are put to the model all at once.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterleaf.answer.explanation import Explanation
from counterleaf.errors import CounterleafError, flat
from counterleaf.explainer import Explainer
from counterleaf.storage.models import PICKLES, fitted_columns, read_estimator, read_model
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema


class Judge:
    """The model that the proofs should be about."""

    def __init__(self, path: Path, allow_pickle: bool, trusted: list[str]) -> None:
        self.path = path
        self.beyond = 0  # answers with other bounds than the model's own
        self._own: Any = None  # the scikit-learn model, where it is one
        self._trees: dict[str, str] = {}  # of the scikit-learn model, by the features it is read with
        self._rows: list[tuple[int, int, dict[str, Any], Any]] = []  # line, rank, row, label: what to ask it
        if path.suffix.lower() in (*PICKLES, ".skops"):
            found = read_estimator(path, allow_pickle, trusted)
            self._own = found.model if isinstance(found, Explainer) else found
            if not hasattr(self._own, "predict"):
                raise CounterleafError(f"{path} holds a {type(self._own).__name__}; expected a model with predict")
        else:
            self._read = read_model(path)

    def meet(self, line: int, answer: Explanation) -> str:
        """Why the proof is not about this model, if it is not; what the model says of the rows is asked later."""
        if self._own is None:
            return self._doubt_tree(answer)
        wrong = self._doubt_reading(answer, answer.certificate.problem.tree.to_json())
        for rank, one in enumerate(() if wrong else answer):
            values = {name: one.changes.get(name, (old, old))[1] for name, old in answer.source_values.items()}
            self._rows.append((line, rank, one.row if isinstance(one.row, dict) else values, one.label))
        return wrong

    def ask(self) -> dict[int, str]:
        """Line by line, what the model does not confirm.

        One call for all rows. A row that it does not confirm among the others, whose columns may have another type than its
        own, is asked about again alone.
        """
        if not self._rows:
            return {}
        try:
            said = self._labels([row for _, _, row, _ in self._rows])
        except Exception:  # the model's own, whatever it may be: alone each row tells its reason
            said = None
        doubts: dict[int, str] = {}
        for k, (line, rank, row, label) in enumerate(self._rows):
            if line not in doubts and (said is None or said[k] != label):
                wrong = self._doubt_row(rank, row, label)
                doubts.update({line: wrong} if wrong else {})
        return doubts

    def _doubt_row(self, rank: int, row: dict[str, Any], label: Any) -> str:
        try:
            (said,) = self._labels([row])
        except CounterleafError as error:
            return str(error)
        except Exception as error:  # the model's own, whatever it may be
            return f"{self.path} fails on alternative {rank + 1} ({type(error).__name__}: {flat(error)})"
        return "" if said == label else f"{self.path} says {said} for alternative {rank + 1}, not {label}"

    def _labels(self, rows: list[dict[str, Any]]) -> list[Any]:
        table = pd.DataFrame(rows)
        table = table.where(table.notna(), math.nan)  # JSON has one word for what is missing, a table another
        table = fitted_columns(self._own, table, "the row")
        said = np.asarray(self._own.predict(table if hasattr(self._own, "feature_names_in_") else table.to_numpy()))
        if said.shape not in ((len(rows),), (len(rows), 1)):
            raise ValueError(f"an array of shape {said.shape} for {len(rows)} rows")
        return list(said.ravel())

    def _doubt_tree(self, answer: Explanation) -> str:
        """Why an answer is not about the tree of a JSON file, if it is not."""
        known = self._read.tree if isinstance(self._read, Explainer) else self._read
        if answer.certificate.problem.tree.to_json() != known.to_json():
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


def _kinds(schema: Schema) -> list[tuple[Any, ...]]:
    """What the features are called, of which kind they are and which values they have."""
    return [(f.name, type(f).__name__, *(() if isinstance(f, Numeric) else (f.values, f.missing))) for f in schema]
