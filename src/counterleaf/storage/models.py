"""Models from files: counterleaf JSON from any source, scikit-learn files only if they cannot run code or are trusted."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from counterleaf.errors import CounterleafError, flat, not_installed, some
from counterleaf.explainer import Explainer
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.readers.table import categories_of
from counterleaf.model.readers.xgboost_trees import is_xgboost
from counterleaf.model.tree import Tree
from counterleaf.model.wrappers import innermost
from counterleaf.storage.files import contents, read_frame, what_is
from counterleaf.table.features import Numeric
from counterleaf.table.frames import Frame, cells_of, column_names, copy_of, kind_of, with_categories
from counterleaf.table.schema import Schema

PICKLES = (".pkl", ".pickle", ".joblib")
# skops can call every type that it trusts: only ours and types that hold numbers; indices are checked before they are used
_TRUSTED = (
    "counterleaf.sparse.CSR",
    "counterleaf.learn.classifier.TAOClassifier",
    "counterleaf.learn.regressor.TAORegressor",
    "counterleaf.model.outputs.Outputs",
    "counterleaf.model.tree.Tree",
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "sklearn.tree._tree.Tree",
)


def read_model(path: Path) -> Explainer | Tree | Ensemble:
    """Read the JSON of ``Explainer.to_json``, ``Tree.to_json`` or ``Ensemble.to_json``, or that of XGBoost."""
    if path.suffix.lower() == ".ubj":
        path.stat()
        raise CounterleafError(f"{path} is a binary file of XGBoost; expected JSON: booster.save_model('{path.stem}.json')")
    if path.suffix.lower() in (*PICKLES, ".skops"):
        path.stat()  # a missing file is reported as such
        trust = " --allow-pickle" if path.suffix.lower() in PICKLES else ""
        raise CounterleafError(
            f"{path} is a scikit-learn file; expected counterleaf JSON: "
            f"counterleaf convert {path}{trust} --out {path.stem}.json"
        )
    return model_of(contents(path, "a model as counterleaf JSON").decode(errors="replace"), str(path))


def model_of(text: str, name: str) -> Explainer | Tree | Ensemble:
    """Read the JSON of a model from text; messages call it ``name``."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if is_xgboost(content):
        explainer = Explainer.from_json(text)
        return explainer if content["learner"].get("feature_names") else explainer.tree
    if isinstance(content, list) and content and isinstance(content[0], dict) and "nodeid" in content[0]:
        raise CounterleafError(
            f"{name} is a dump of XGBoost, which lacks the objective and the start; expected booster.save_model('model.json')"
        )
    kind = content.get("format") if isinstance(content, dict) else None
    if kind in ("counterleaf-explanation", "counterleaf-problem", "counterleaf-audit"):
        raise CounterleafError(f"{name} is {what_is(text.encode())}; expected a model: counterleaf train or convert writes one")
    if not kind:
        raise CounterleafError(
            f"{name} is not counterleaf JSON; expected the output of counterleaf train or convert, or of "
            f"Path('model.json').write_text(explainer.to_json())"
        )
    if kind == "counterleaf-ensemble":
        return Ensemble.from_json(text)
    return Tree.from_json(text) if kind == "counterleaf-tree" else Explainer.from_json(text)


def read_estimator(path: Path, allow_pickle: bool = False, trusted: Sequence[str] = ()) -> Any:
    """Read the scikit-learn model in a skops file, or in a pickle, which can run any code."""
    if path.suffix.lower() == ".skops":
        return _skops(path, trusted)
    if path.suffix.lower() not in PICKLES:
        raise CounterleafError(f"{path}: unknown file type; expected .skops, .pkl, .pickle or .joblib")
    if not allow_pickle:
        raise CounterleafError(
            f"{path} is a pickle, which can run any code when it is opened; if you trust its author, pass "
            f"--allow-pickle, or save the model with skops"
        )
    import joblib

    with path.open("rb") as file, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = joblib.load(file)
        except Exception as error:  # a pickle, or the classes in it, can raise anything
            raise _unreadable(path, "a pickle", error) from None
    _check_version(path, caught)
    return model


def _skops(path: Path, trusted: Sequence[str]) -> Any:
    """Read a skops file, which creates only objects of trusted types."""
    try:
        from skops import io as skops
    except ImportError:
        raise not_installed(f"{path}: skops files", "skops") from None
    content = path.read_bytes()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = skops.get_untrusted_types(data=content)
            untrusted = [name for name in found if name not in (*_TRUSTED, *trusted)]
            model: Any = None if untrusted else skops.loads(content, trusted=found)
        except Exception as error:  # a garbled file can raise anything
            raise _unreadable(path, "a skops file", error) from None
    if untrusted:
        raise CounterleafError(
            f"{path} contains types that could run code; if you trust its author, pass: "
            f"{' '.join(f'--trust {name}' for name in untrusted)}"
        )
    _check_version(path, caught)
    last = innermost(model)
    if isinstance(getattr(last, "tree_", None), Tree):
        # skops bypasses the constructors, which check the tree and its outputs
        outputs = getattr(last.tree_, "outputs", None)
        last.tree_ = replace(last.tree_, outputs=None if outputs is None else replace(outputs))
    return model


def _unreadable(path: Path, kind: str, error: Exception) -> CounterleafError:
    reason = f"{type(error).__name__}: {flat(error)}"
    return CounterleafError(f"{path} cannot be opened as {kind} ({reason}); save the model again with the installed versions")


def _check_version(path: Path, caught: Sequence[warnings.WarningMessage]) -> None:
    """Refuse a model of another scikit-learn version, whose predictions may differ here."""
    for warning in caught:
        if "version" in type(warning.message).__name__.lower():
            raise CounterleafError(f"{path}: {flat(warning.message)}; fit and save the model again with the installed version")


def fitted_columns(estimator: Any, rows: Frame, origin: str) -> Frame:
    """Select the columns that the model was fitted with, in its order; all columns if the model does not know their names."""
    if not hasattr(estimator, "feature_names_in_"):
        return rows
    names = list(map(str, estimator.feature_names_in_))
    missing = [name for name in names if name not in rows.columns]
    if missing:
        raise CounterleafError(f"{origin} lacks the columns [{some(missing, 8)}]; the model was fitted with [{some(names, 8)}]")
    known = categories_of(estimator, rows[names]) if estimator is innermost(estimator) else {}
    return with_categories(rows[names], {names[d]: values for d, values in known.items() if values})


def read_rows(path: Path, schema: Schema) -> Frame:
    """Read the columns of a file that are features of a model, text as text and numbers as numbers."""
    return fit_rows(read_table(path, text_types(schema)), schema, str(path))


def text_types(schema: Schema) -> dict[str, type]:
    """The features with values of text, even if the text in a file looks like numbers."""
    names = (f.name for f in schema if not isinstance(f, Numeric) and all(isinstance(value, str) for value in f.values))
    return dict.fromkeys(names, str)


def fit_rows(rows: Frame, schema: Schema, origin: str) -> Frame:
    """Select the columns that are features; text that is a number becomes one."""
    missing = [name for name in schema.names if name not in rows.columns]
    if missing:
        raise CounterleafError(f"{origin} lacks the columns [{some(missing, 8)}]; the model needs [{some(schema.names, 8)}]")
    rows = copy_of(rows[schema.names])
    for feature in schema:
        column = rows[feature.name]
        if isinstance(feature, Numeric) and kind_of(column) not in "biuf":
            rows[feature.name] = [_number(cell) for cell in cells_of(column)]
    return rows


def _number(cell: Any) -> Any:
    """Text that is a number as a float; other cells stay, and are refused later with their row."""
    try:
        return float(cell) if isinstance(cell, str) and "_" not in cell else cell
    except ValueError:
        return cell


def read_table(path: Path, types: dict[str, type] | None = None) -> Frame:
    """Read a table with at least one row; the names of its columns are text."""
    rows = read_frame(path, types)
    rows.columns = column_names(rows)
    if not len(rows):
        raise CounterleafError(f"{path} has no rows; expected at least one")
    return rows
