"""Other people's tools on the same axis-aligned trees and rows; none of them reads oblique splits.

Each is asked through its own documented call, in units in which its cost is ours where it has one: numbers from 0 to 1, a
change of category 1. One that is not installed is absent, one that raises has failed; neither stops the run.
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

from counterleaf.experiments.benchmark.cases import Case
from counterleaf.experiments.benchmark.line import Line, ask, one_line
from counterleaf.types import Array
from counterleaf.table.encoding import encode_table

Propose = Callable[[int], Array | None]  # the place of a row among those asked about -> the columns proposed
_OUTCOME = "outcome of the model"  # the column that DiCE wants beside the features


def in_process(case: Case, name: str, rows: int, budget: float) -> Line:
    """The line of a tool that is a package of this environment."""
    try:
        with _quiet():
            propose = PEERS[name](case, budget)
    except ImportError:
        return Line(case.title, name, note="absent")
    except Exception as error:
        return Line(case.title, name, note=f"failed: {one_line(error)}")

    def answer(k: int) -> tuple[float, Array | None]:
        with _quiet():
            return math.nan, propose(k)

    return ask(case, name, rows, budget, answer)


@contextlib.contextmanager
def _quiet() -> Any:
    """Warnings, bars and prints of others are not ours to show."""
    aside = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(aside), contextlib.redirect_stderr(aside):
        warnings.simplefilter("ignore")
        yield


def _treecf(case: Case, budget: float) -> Propose:
    """treecf's exact backend; it reads forests, so the tree goes in as a forest of one."""
    import treecf
    from sklearn.ensemble import RandomForestClassifier

    subject = case.subject
    forest = RandomForestClassifier(n_estimators=1)
    forest.estimators_, forest.classes_ = [subject.model], subject.model.classes_
    forest.n_classes_, forest.n_features_in_ = len(subject.model.classes_), subject.tree.n_features
    spans = subject.ground.spans
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
    """DiCE's random method: one row, its defaults."""
    import dice_ml

    subject, schema = case.subject, case.subject.ground.schema
    ground = subject.ground
    frame = pd.DataFrame(ground.X, columns=schema.names) if ground.frame is None else ground.frame
    known = frame.iloc[ground.train].assign(**{_OUTCOME: subject.model.predict(ground.X[ground.train])})
    places = {label: k for k, label in enumerate(subject.model.classes_.tolist())}
    known[_OUTCOME] = known[_OUTCOME].map(places)
    numbers = [name for name in schema.names if frame[name].dtype.kind == "f"]
    data = dice_ml.Data(dataframe=known, continuous_features=numbers, outcome_name=_OUTCOME)
    tool = dice_ml.Dice(data, dice_ml.Model(model=_Worded(case), backend="sklearn"), method="random")

    def propose(k: int) -> Array | None:
        row = frame.iloc[[subject.places[k]]]
        wanted = places[subject.targets[k]]
        found = tool.generate_counterfactuals(row, total_CFs=1, desired_class=wanted, random_seed=0, verbose=False)
        rows = found.cf_examples_list[0].final_cfs_df
        if rows is None or not len(rows):
            return None
        given = rows[schema.names].iloc[[0]].astype(dict.fromkeys(numbers, float))
        return np.asarray(schema.spread(encode_table(schema, given))[0])

    return propose


class _Worded:
    """A tree over columns as a model of the user's table, which is what DiCE asks."""

    def __init__(self, case: Case) -> None:
        self._model, self._schema = case.subject.model, case.subject.ground.schema
        self.classes_ = np.arange(len(self._model.classes_))

    def predict_proba(self, frame: pd.DataFrame) -> Array:
        numbers = {f: float for f in frame.columns if f in self._schema.names and _is_number(frame[f])}
        return np.asarray(self._model.predict_proba(self._schema.spread(encode_table(self._schema, frame.astype(numbers)))))

    def predict(self, frame: pd.DataFrame) -> Array:
        return np.asarray(self.predict_proba(frame).argmax(axis=1))


def _is_number(column: Any) -> bool:
    return bool(pd.to_numeric(column, errors="coerce").notna().all())


PEERS: dict[str, Callable[[Case, float], Propose]] = {"treecf": _treecf, "DiCE": _dice}
