"""What comes along to try things on: models as ``Explainer.to_json`` writes them, and rows to ask about."""

from __future__ import annotations

import pickle
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd

from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.storage.files import write

GIVEN = {  # what no one can change
    "german": ("age", "personal_status_and_sex", "foreign_worker"),
    "adult": ("age", "race", "sex", "native-country"),
}


def text(name: str) -> str:
    """The JSON of ``"german"``, ``"adult"`` or ``"digits"``."""
    return (resources.files(__name__) / f"{name}.json").read_text("utf-8")


def load(name: str) -> Explainer:
    """The explainer of ``"german"``, ``"adult"`` or ``"digits"``."""
    return Explainer.from_json(text(name))


def loans() -> pd.DataFrame:
    """The training rows of German Credit, with what was decided."""
    from counterleaf.datasets import load_german_credit

    X, _, y, _ = load_german_credit().split()
    table: pd.DataFrame = X.assign(decision=y.map({"good": "granted", "bad": "refused"})).reset_index(drop=True)
    return table


def applicants() -> pd.DataFrame:
    """The test rows of German Credit, undecided."""
    from counterleaf.datasets import load_german_credit

    rows: pd.DataFrame = load_german_credit().split()[1].reset_index(drop=True)
    return rows


def save(folder: Path) -> list[Path]:
    """Write the files that the examples of the command line use; returns them."""
    table = loans()
    content: dict[str, str | bytes] = {
        "loans.csv": table.to_csv(index=False),
        "applicants.csv": applicants().to_csv(index=False),
        "model.json": text("german"),
        "pipeline.pkl": pickle.dumps(_pipeline(table)),
    }
    files = {folder / name: held.encode() if isinstance(held, str) else held for name, held in content.items()}
    for path, held in files.items():
        if path.exists() and path.read_bytes() != held:
            raise CounterleafError(f"{path} is there already and holds something else; give another folder, such as --save try")
    for path, held in files.items():
        write(path, held)
    return list(files)


def _pipeline(table: pd.DataFrame) -> Any:
    """A scikit-learn pipeline as people have them."""
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    X, y = table.drop(columns="decision"), table["decision"]
    words = [name for name in X.columns if not pd.api.types.is_numeric_dtype(X[name])]
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), remainder="passthrough")
    return make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=20, random_state=0)).fit(X, y)
