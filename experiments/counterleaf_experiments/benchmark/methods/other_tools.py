"""Other tools (treecf, DiCE) on the same axis-aligned trees and rows; none of them supports oblique splits.

Each is called through its documented interface, in units in which its cost, if it has one, equals ours: numbers from 0 to 1, a
change of category costs 1. The table reports a tool as absent or failed; neither stops the run.
"""

from __future__ import annotations

import contextlib
import io
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from counterleaf.table.schema import encode_table
from counterleaf.types import Array
from counterleaf_experiments.benchmark.cases import Case
from counterleaf_experiments.benchmark.measurement import Measurement, measure_rows, short_message

Propose = Callable[[int], Array | None]  # the index of a row in the case -> the proposed columns
_OUTCOME = "outcome of the model"  # the column that DiCE needs in addition to the features


def measure(case: Case, name: str, rows: int, budget: float) -> Measurement:
    """Measure a tool that is installed in this environment."""
    try:
        with _quiet():
            propose = TOOLS[name](case, budget)
    except ImportError:
        return Measurement(case.title, name, note="absent")
    except Exception as error:
        return Measurement(case.title, name, note=f"failed: {short_message(error)}")

    def answer(k: int) -> tuple[float, Array | None]:
        with _quiet():
            return math.nan, propose(k)

    return measure_rows(case, name, rows, budget, answer)


@contextlib.contextmanager
def _quiet() -> Any:
    """Hide the warnings, progress bars and prints of a tool."""
    sink = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
        warnings.simplefilter("ignore")
        yield


def _treecf(case: Case, budget: float) -> Propose:
    """treecf's exact backend; it explains forests, so the tree is passed as a forest of one tree."""
    import treecf

    subject = case.subject
    forest = RandomForestClassifier(n_estimators=1)
    forest.estimators_, forest.classes_ = [subject.model], subject.model.classes_
    forest.n_classes_, forest.n_features_in_ = len(subject.model.classes_), subject.tree.n_features
    spans = subject.data.spans
    names = [f"f{j}" for j in range(subject.tree.n_features)]
    groups = [treecf.OneHot(tuple(names[span])) for span in spans]
    explainer = treecf.Explainer(forest, constraints=groups, normalizers=1.0 / case.weight)
    first = subject.model.classes_.tolist()[0]
    # a tie goes to the first class
    below, above = treecf.Target.raw(op="<=", value=0.5), treecf.Target.raw(op=">=", value=math.nextafter(0.5, 1.0))

    def propose(k: int) -> Array | None:
        target = below if subject.targets[k] == first else above
        found = explainer.explain(case.source(k), target, backend="exact", time_budget_s=budget, seed=0)
        x = getattr(found, "x_cf", None)
        return None if x is None else np.asarray(x)

    return propose


def _dice(case: Case, budget: float) -> Propose:
    """DiCE's random method with its defaults, one row at a time."""
    import dice_ml

    subject, data, schema = case.subject, case.subject.data, case.subject.data.schema
    frame = pd.DataFrame(data.X, columns=schema.names) if data.frame is None else data.frame
    known = frame.iloc[data.train].assign(**{_OUTCOME: subject.model.predict(data.X[data.train])})
    places = {label: k for k, label in enumerate(subject.model.classes_.tolist())}
    known[_OUTCOME] = known[_OUTCOME].map(places)
    numbers = [name for name in schema.names if frame[name].dtype.kind == "f"]
    table = dice_ml.Data(dataframe=known, continuous_features=numbers, outcome_name=_OUTCOME)
    tool = dice_ml.Dice(table, dice_ml.Model(model=_TableModel(case), backend="sklearn"), method="random")

    def propose(k: int) -> Array | None:
        row = frame.iloc[[subject.places[k]]]
        wanted = places[subject.targets[k]]
        found = tool.generate_counterfactuals(row, total_CFs=1, desired_class=wanted, random_seed=0, verbose=False)
        rows = found.cf_examples_list[0].final_cfs_df
        if rows is None or not len(rows):
            return None
        proposed = rows[schema.names].iloc[[0]].astype(dict.fromkeys(numbers, float))
        return np.asarray(schema.spread(encode_table(schema, proposed))[0])

    return propose


class _TableModel:
    """A tree over columns as a model of the original table, which DiCE expects."""

    def __init__(self, case: Case) -> None:
        self._model, self._schema = case.subject.model, case.subject.data.schema
        self.classes_ = np.arange(len(self._model.classes_))

    def predict_proba(self, frame: pd.DataFrame) -> Array:
        """The probability of each class."""
        numbers = {f: float for f in frame.columns if f in self._schema.names and _is_number(frame[f])}
        return np.asarray(self._model.predict_proba(self._schema.spread(encode_table(self._schema, frame.astype(numbers)))))

    def predict(self, frame: pd.DataFrame) -> Array:
        """The index of the most probable class."""
        return np.asarray(self.predict_proba(frame).argmax(axis=1))


def _is_number(column: Any) -> bool:
    """Whether every value of a column is a number."""
    return bool(pd.to_numeric(column, errors="coerce").notna().all())


TOOLS: dict[str, Callable[[Case, float], Propose]] = {"treecf": _treecf, "DiCE": _dice}
