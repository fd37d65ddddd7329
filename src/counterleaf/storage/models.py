"""Models from files: counterleaf JSON by anyone, scikit-learn's own files only where they cannot run code or are trusted."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterleaf.errors import CounterleafError, flat, some
from counterleaf.explainer import Explainer
from counterleaf.model.steps import is_pipeline
from counterleaf.model.tree import Tree
from counterleaf.storage.files import read_frame
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

PICKLES = (".pkl", ".pickle", ".joblib")
# skops can call whatever it trusts: single types, ours and such as hold numbers; indices are checked before they are followed
_TRUSTED = (
    "counterleaf.sparse.CSR",
    "counterleaf.learn.classifier.TAOClassifier",
    "counterleaf.model.tree.Tree",
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "sklearn.tree._tree.Tree",
)


def read_model(path: Path) -> Explainer | Tree:
    """What ``Explainer.to_json`` or ``Tree.to_json`` wrote."""
    if path.suffix.lower() in (*PICKLES, ".skops"):
        raise CounterleafError(
            f"{path} is a scikit-learn file; expected counterleaf JSON: counterleaf convert {path} --out {path.stem}.json"
        )
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        kind = json.loads(text).get("format")
    except (ValueError, AttributeError, RecursionError):
        kind = None
    if not kind:
        raise CounterleafError(
            f"{path} is no counterleaf JSON; expected what explainer.to_json() gives, as in "
            f"Path('model.json').write_text(explainer.to_json()), or what counterleaf train or convert wrote"
        )
    return Tree.from_json(text) if kind == "counterleaf-tree" else Explainer.from_json(text)


def read_estimator(path: Path, allow_pickle: bool = False, trusted: Sequence[str] = ()) -> Any:
    """The scikit-learn model of a skops file, or of a pickle, which runs whatever code it holds."""
    if path.suffix.lower() == ".skops":
        return _skops(path, trusted)
    if path.suffix.lower() not in PICKLES:
        raise CounterleafError(f"{path} has no suffix that is known; expected .skops, .pkl, .pickle or .joblib")
    if not allow_pickle:
        raise CounterleafError(
            f"{path} is a pickle, which can run any code when it is opened; if you trust whoever made it, say "
            f"--allow-pickle, or save the model with skops"
        )
    import joblib

    with path.open("rb") as file, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model = joblib.load(file)
        except Exception as error:  # whatever a pickle, or the classes in it, may raise
            raise CounterleafError(f"{path} does not open as a pickle ({type(error).__name__}: {flat(error)})") from None
    _check_version(path, told)
    return model


def _skops(path: Path, trusted: Sequence[str]) -> Any:
    """A skops file makes only objects of types that are trusted."""
    try:
        from skops import io as skops
    except ImportError:
        raise CounterleafError(f'{path}: skops files need skops; install it with: pip install "counterleaf[skops]"') from None
    content = path.read_bytes()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = skops.get_untrusted_types(data=content)
            strange = [name for name in found if name not in (*_TRUSTED, *trusted)]
            model: Any = None if strange else skops.loads(content, trusted=found)
        except Exception as error:  # whatever a garbled file may raise
            raise CounterleafError(f"{path} does not open as a skops file ({type(error).__name__}: {flat(error)})") from None
    if strange:
        raise CounterleafError(
            f"{path} holds types that could run code; if you trust whoever made it, say: "
            f"{' '.join(f'--trust {name}' for name in strange)}"
        )
    _check_version(path, told)
    last = model[-1] if is_pipeline(model) else model
    if isinstance(getattr(last, "tree_", None), Tree):
        last.tree_ = replace(last.tree_)  # skops made it without its constructor, which checks
    return model


def _check_version(path: Path, told: Sequence[warnings.WarningMessage]) -> None:
    """A model of another scikit-learn may say something else than it said there."""
    for one in told:
        if "version" in type(one.message).__name__.lower():
            raise CounterleafError(f"{path}: {flat(one.message)}; expected this machine's version: fit and save it again here")


def fitted_columns(estimator: Any, rows: pd.DataFrame, told: str) -> pd.DataFrame:
    """The columns that the model was fitted with, in its order; all of them where it does not know their names."""
    if not hasattr(estimator, "feature_names_in_"):
        return rows
    names = list(map(str, estimator.feature_names_in_))
    missing = [name for name in names if name not in rows.columns]
    if missing:
        raise CounterleafError(f"{told} lacks the columns {missing[:8]}; the model was fitted with {names[:8]}")
    return rows[names]


def read_rows(path: Path, schema: Schema) -> pd.DataFrame:
    """The features of a model among the columns of a file, words as words and numbers as numbers."""
    return fit_rows(read_table(path, text_types(schema)), schema, str(path))


def text_types(schema: Schema) -> dict[str, type]:
    """The features that are words, also where a file's words look like numbers."""
    words = (f.name for f in schema if not isinstance(f, Numeric) and all(isinstance(value, str) for value in f.values))
    return dict.fromkeys(words, str)


def fit_rows(rows: pd.DataFrame, schema: Schema, told: str) -> pd.DataFrame:
    """The columns that are features; a number that came as text becomes one."""
    missing = [name for name in schema.names if name not in rows.columns]
    if missing:
        raise CounterleafError(f"{told} lacks the columns [{some(missing, 8)}]; the model needs [{some(schema.names, 8)}]")
    rows = rows[schema.names].copy()
    for feature in schema:
        column = rows[feature.name]
        if isinstance(feature, Numeric) and column.dtype.kind not in "biuf":
            rows[feature.name] = column.astype(object).map(_number)
    return rows


def _number(cell: Any) -> Any:
    """A number that is written as text as a number; anything else is told when its own row is asked about."""
    try:
        return float(cell) if isinstance(cell, str) else cell
    except ValueError:
        return cell


def read_table(path: Path, types: dict[str, type] | None = None) -> pd.DataFrame:
    """A table with at least one row, its columns named by text."""
    rows = read_frame(path, types)
    rows.columns = rows.columns.map(str)
    if not len(rows):
        raise CounterleafError(f"{path} has no rows; expected at least one to start from")
    return rows
