"""Sample models and tables: a tree of one split, trees as ``Explainer.to_json`` writes them, and rows to explain."""

from __future__ import annotations

import pickle
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterleaf.datasets.bundled import load_german_credit
from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.model.tree import Tree
from counterleaf.storage.files import write

IMMUTABLE = {  # features that a person cannot change
    "german": ("age", "personal_status_and_sex", "foreign_worker"),
    "adult": ("age", "race", "sex", "native-country"),
}


def example_tree() -> Tree:
    """Return the small tree of the examples: one oblique split decides about a loan.

    The answer is "yes" if x0 + x1 >= 1, for example with income and savings in units of 100,000, and "no" otherwise.

    Returns
    -------
    Tree
        A tree with two features, one split and the classes "no" and "yes".

    Examples
    --------
    >>> from counterleaf import export_text
    >>> print(export_text(example_tree(), ["income", "savings"]))
    |--- income + savings < 1
    |   |--- class: no
    |--- income + savings >= 1
    |   |--- class: yes
    """
    return Tree(
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        weights=[[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]],
        bias=np.array([-1.0, 0.0, 0.0]),
        value=[-1, 0, 1],
        classes=["no", "yes"],
    )


def text(name: str) -> str:
    """Read the JSON of the sample ``"german"``, ``"adult"`` or ``"digits"``."""
    return (resources.files("counterleaf.datasets") / "models" / f"{name}.json").read_text("utf-8")


def load(name: str) -> Explainer:
    """Load the explainer of the sample ``"german"``, ``"adult"`` or ``"digits"``."""
    return Explainer.from_json(text(name))


def loans() -> pd.DataFrame:
    """The training rows of German Credit with the decision in a column ``decision``."""
    X, _, y, _ = load_german_credit().split()
    table: pd.DataFrame = X.assign(decision=y.map({"good": "granted", "bad": "refused"})).reset_index(drop=True)
    return table


def applicants() -> pd.DataFrame:
    """The test rows of German Credit, without a decision."""
    rows: pd.DataFrame = load_german_credit().split()[1].reset_index(drop=True)
    return rows


def save(folder: Path) -> list[Path]:
    """Write the files that the examples of the command line use, and return their paths."""
    table = loans()
    content: dict[str, str | bytes] = {
        "loans.csv": table.to_csv(index=False),
        "applicants.csv": applicants().to_csv(index=False),
        "model.json": text("german"),
        "pipeline.pkl": pickle.dumps(_pipeline(table)),
    }
    files = {folder / name: data.encode() if isinstance(data, str) else data for name, data in content.items()}
    for path, data in files.items():
        if path.exists() and path.read_bytes() != data:
            raise CounterleafError(f"{path} exists with other content; give another folder, such as --save try")
    for path, data in files.items():
        write(path, data)
    return list(files)


def _pipeline(table: pd.DataFrame) -> Any:
    """Fit a typical scikit-learn pipeline; the other samples do not need to import scikit-learn."""
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    X, y = table.drop(columns="decision"), table["decision"]
    categories = [name for name in X.columns if not pd.api.types.is_numeric_dtype(X[name])]
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), categories), remainder="passthrough")
    return make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=20, random_state=0)).fit(X, y)
