"""The judge of a whole file: proofs are compared line by line, rows are put to the model all at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from counterleaf.cli.judge import Judge
from counterleaf.errors import CounterleafError, flat
from counterleaf.models import fitted_columns
from counterleaf.result import Explanation


class Panel(Judge):
    """A judge that remembers the rows of the answers it met, to ask the model about them once."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._rows: list[tuple[int, int, dict[str, Any], Any]] = []  # line, rank, row, label

    def meet(self, line: int, answer: Explanation) -> str:
        """Why the proof is not about this model, if it is not; what the model says of the rows is asked later."""
        if self._own is None:
            return self.doubt(answer)
        wrong = self._doubt_reading(answer, answer.certificate.problem.tree.to_json())
        for rank, one in enumerate(() if wrong else answer):
            values = {name: one.changes.get(name, (old, old))[1] for name, old in answer.source.items()}
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
