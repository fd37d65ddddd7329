"""Learn a tree from a table, as the command ``train`` does: choose columns and tree size, and measure on rows held out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from counterleaf.answer.tree_text import looks
from counterleaf.errors import CounterleafError, near, some
from counterleaf.explainer import Explainer
from counterleaf.learn.classifier import TAOClassifier
from counterleaf.learn.regressor import TAORegressor
from counterleaf.table.frames import Column, Frame, concat, cross_table, kind_of, number_kind

LEARNERS = ("tao", "cart")
TASKS = ("auto", "classification", "regression")
LEAVES = ("constant", "linear", "softmax")
_DEPTHS, _ALPHAS = (1, 2, 3, 4, 6, 8), (1.0, 10.0)
_LEAF_DEPTHS, _LEAF_ALPHAS = (1, 2, 3, 4), (1.0, 10.0, 100.0)  # of trees with linear or softmax leaves
_WORTH = 0.01  # of the accuracy or of the variance: other leaves must gain more than this over constant ones
_ORDER = ("tree__max_depth", "tree__alpha", "tree__leaves", "tree__leaf_alpha")
_MAX_WEIGHTS = 2_000  # of one softmax leaf, beyond which softmax leaves are tried only on request
_FOLDS, _MAX_TRIED = 3, 6_000  # folds of the cross-validation, and the largest number of rows that it uses
_LARGEST = 1e30  # larger numbers overflow when scaled, and in scikit-learn's float32
_DATE = r"\s*(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})([T ]\d{1,2}:\d{2}.*)?\s*"
_MAX_CLASSES = 100  # a label with more values is treated as a number, or as an error if it is text
_MANY_NUMBERS = 10  # a label with more values, some of them fractions, is treated as a number
_MANY_WORDS, _SHARE = 30, 0.5  # a column with more different words than this, in more than this share of the rows, names rows


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The columns to learn from, the classes or numbers, and the columns and rows that were left out."""

    X: Frame
    y: Column
    name: str
    left_out: dict[str, str]  # the name of a column, or a number of rows, and the reason
    categories: list[str]  # the columns that are treated as categories
    regression: bool = False  # the label is a number


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A fitted pipeline, its explainer, its settings, and its predictions on the rows held out."""

    model: Any
    explainer: Explainer
    settings: dict[str, Any]
    chosen: bool  # cross-validation chose the settings
    rows: int  # the number of training rows
    truth: Column  # the labels of the rows held out
    predicted: Any


def prepare(frame: Frame, label: str, drop: Sequence[str], category: Sequence[str], name: str, task: str = "auto") -> Table:
    """Separate the label from the other columns, and leave out the columns that a tree cannot learn from."""
    for option, columns in (("--drop", drop), ("--category", category)):
        if label in columns:
            raise CounterleafError(f"{option} is {label!r}, which is the label; expected other columns")
    for column in (label, *drop, *category):
        if column not in frame.columns:
            raise CounterleafError(
                f"{name} has no column {column!r}; its columns are {some(frame.columns)}{near(column, frame.columns)}"
            )
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise CounterleafError(f"{name} has two columns named {twice[0]!r}; names must differ")
    left_out: dict[str, str] = {}
    known = frame[label].notna()
    if not known.all():
        left_out[f"{(~known).sum():,} rows"] = f"without {label}"
        frame = frame[known]
    regression = _is_number(frame[label], task)
    y = _numbers(frame[label], label, name) if regression else _classes(frame[label], label, name)
    values = y.nunique()
    if values < 2:
        wanted = "numbers that differ" if regression else "at least two classes"
        raise CounterleafError(f"the label {label!r} has {values} different values in {name}; expected {wanted}")
    if not regression and values > _MAX_CLASSES:
        raise CounterleafError(
            f"the label {label!r} has {values:,} different values in {name}; expected classes: cut it into ranges first"
        )
    X = frame.drop(columns=[label, *drop])
    for column in list(X.columns):
        reason = _useless(X[column])
        if reason:
            left_out[column] = reason
            X = X.drop(columns=column)
        elif number_kind(X[column]):
            X[column] = _plain(X[column], name)
    if not X.shape[1]:
        reasons = ", ".join(f"{column} ({reason})" for column, reason in list(left_out.items())[:4])
        reasons += f", ... {len(left_out) - 4} more" if len(left_out) > 4 else ""
        note = f"; left out: {reasons}" if reasons else ""
        raise CounterleafError(f"{name} has no column to learn from except the label {label!r}{note}")
    categories = [column for column in X.columns if column in category or not number_kind(X[column])]
    return Table(X, y, name, left_out, categories, regression)


def _is_number(y: Column, task: str) -> bool:
    if task != "auto" or number_kind(y) not in ("int", "float"):
        return task == "regression"
    fractions = number_kind(y) == "float" and bool((y != np.floor(y)).any())
    return bool(y.nunique() > (_MANY_NUMBERS if fractions else _MAX_CLASSES))


def _numbers(y: Column, label: str, name: str) -> Column:
    if number_kind(y) not in ("int", "float"):
        raise CounterleafError(f"the label {label!r} is not a number in {name}; expected numbers, or --task classification")
    y = y.astype(np.float64)
    strange = y[~np.isfinite(y) | (y.abs() > _LARGEST)]
    if len(strange):
        raise CounterleafError(
            f"the label {label!r} contains {strange.iloc[0]:g} in {name}; expected numbers up to {_LARGEST:g}: correct it"
        )
    return y


def _classes(y: Column, label: str, name: str) -> Column:
    """The label as text, whole numbers or booleans; pandas reads the latter as floats if some rows have no label."""
    if number_kind(y) == "float":
        if not (np.isfinite(y) & (y == np.floor(y)) & (y.abs() < 2**53)).all():
            strange = next(value for value in y if not float(value).is_integer())
            raise CounterleafError(
                f"the label {label!r} contains the number {strange:g} in {name}; expected classes: cut it into ranges "
                f"first, write the classes as words, or use --task regression"
            )
        return y.astype(np.int64)
    if number_kind(y):
        return y.astype(bool if number_kind(y) == "bool" else np.int64)
    kinds = {type(value) for value in y}
    if kinds == {bool}:
        return y.astype(bool)
    if not all(issubclass(kind, str) for kind in kinds):
        names = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise CounterleafError(
            f"the label {label!r} contains values of type {names} in {name}; expected words or whole numbers"
        )
    return y.astype(object)


def _plain(column: Column, name: str) -> Column:
    gaps = bool(column.isna().any())
    if number_kind(column) == "bool":
        return column.astype(object).where(column.notna(), None) if gaps else column.astype(bool)
    if not isinstance(column.dtype, np.dtype):
        column = column.astype(np.float64) if gaps or number_kind(column) == "float" else column.astype(np.int64)
    strange = column[column.abs() > _LARGEST]
    if len(strange):
        raise CounterleafError(
            f"the column {column.name!r} of {name} contains {strange.iloc[0]:g}; expected numbers up to {_LARGEST:g}: correct "
            f"it, or leave it out with --drop"
        )
    return column


def _useless(column: Column) -> str:
    """The reason to leave a column out; empty if a tree can learn from it."""
    if column.isna().all():
        return "no value at all"
    if kind_of(column) in "Mm":
        return "dates"
    if number_kind(column) == "int" and len(column) > _MANY_WORDS:
        numbers = column.dropna()
        dense = numbers.is_unique and numbers.max() - numbers.min() < 2 * len(column)
        return "a running number" if dense and len(numbers) == len(column) else ""
    if number_kind(column):
        return ""
    kinds = {type(value) for value in column.dropna()}
    if not all(issubclass(kind, (str, bool, int, float, np.generic)) for kind in kinds):
        return "neither words nor numbers"
    if len({issubclass(kind, str) for kind in kinds}) > 1:
        return "words among numbers"
    if issubclass(next(iter(kinds)), str) and column.dropna().str.fullmatch(_DATE).all():
        return "dates"
    count = column.nunique()
    return f"{count:,} different words" if count > _MANY_WORDS and count > _SHARE * len(column) else ""


def train(
    table: Table, learner: str, depth: int | None, alpha: float | None, test: float, seed: int, leaves: str | None = None
) -> Trained:
    """Hold rows out, choose the settings that were not passed, fit the pipeline and make its explainer."""
    kinds = leaf_kinds(table, learner)
    if leaves is not None and leaves not in kinds:
        what = "numbers" if table.regression else "classes"
        raise CounterleafError(f"--leaves is {leaves!r} for the learner {learner} and {what}; expected {' or '.join(kinds)}")
    X, y = table.X, table.y
    X_test, y_test = X.iloc[:0], y.iloc[:0]
    if test > 0:
        X, X_test, y, y_test = _hold_out(table, test, seed)
    model = _pipeline(X, table.categories, learner, seed, table.regression)
    grids = _grids(table, learner, depth, alpha, leaves)
    settings, chosen = _settings(model, X, y, grids, seed, table.regression)
    model.set_params(**settings).fit(X, y)
    predicted = model.predict(X_test) if len(X_test) else np.empty(0)
    short = {name.rpartition("__")[2]: value for name, value in settings.items()}
    explainer = Explainer(model, data=table.X)  # with the words and ranges of the rows held out
    return Trained(model, explainer, short, chosen, len(X), y_test, predicted)


def leaf_kinds(table: Table, learner: str) -> list[str]:
    """The kinds of leaves that a learner has for a table."""
    if learner == "cart":
        return ["constant"]
    return ["constant", "linear" if table.regression else "softmax"]


def _hold_out(table: Table, test: float, seed: int) -> tuple[Frame, Frame, Column, Column]:
    X, y = table.X, table.y
    size = math.ceil(test * len(X))
    alone = y.map(y.value_counts()) < (0 if table.regression else 2)  # a class that has one row keeps it for training
    left = len(X) - size - int(alone.sum())
    if len(X) - size < 2 or left < 1:
        raise CounterleafError(f"{table.name} has {len(X)} rows, too few to hold some out; use --test 0")
    stratify = y[~alone] if not table.regression and min(size, left) >= y[~alone].nunique() else None
    X, X_test, y, y_test = train_test_split(X[~alone], y[~alone], test_size=size, random_state=seed, stratify=stratify)
    X, y = concat([X, table.X[alone]]), concat([y, table.y[alone]])
    lost = [] if table.regression else sorted(set(table.y) - set(y))
    if lost:
        raise CounterleafError(
            f"{table.name} has too few rows of {table.y.name} {lost[0]} to hold some out; leave them out or use --test 0"
        )
    return X, X_test, y, y_test


def _pipeline(X: Frame, categories: list[str], learner: str, seed: int, regression: bool = False) -> Any:
    """One-hot categories, imputed numbers (standardised for TAO), and the learner."""
    flags = [name for name in X.columns if number_kind(X[name]) == "bool" and name not in categories]
    numbers = [name for name in X.columns if name not in categories and name not in flags]
    fill = SimpleImputer(strategy="median")
    steps = [
        ("words", OneHotEncoder(handle_unknown="ignore"), categories),
        ("flags", "passthrough", flags),
        ("numbers", make_pipeline(fill, StandardScaler()) if learner == "tao" else fill, numbers),
    ]
    if learner == "tao":
        kind = TAORegressor if regression else TAOClassifier
    else:
        kind = DecisionTreeRegressor if regression else DecisionTreeClassifier
    columns = ColumnTransformer([step for step in steps if step[2]])
    return Pipeline([("columns", columns), ("tree", kind(random_state=seed))])


def _grids(
    table: Table, learner: str, depth: int | None, alpha: float | None, leaves: str | None
) -> list[dict[str, list[Any]]]:
    """The settings to choose among, for each kind of leaves; those that were passed are fixed."""
    values = 1 if table.regression else table.y.nunique()
    least = min(math.ceil(math.log2(values)), _DEPTHS[-1]) if values > 1 else 1
    depths = [d for d in _DEPTHS if d >= least] or [_DEPTHS[-1]]
    constant: dict[str, list[Any]] = {"tree__max_depth": [depth] if depth is not None else depths}
    if learner == "cart":
        return [constant]
    constant["tree__alpha"] = [alpha] if alpha is not None else sorted(_ALPHAS, reverse=True)
    computing: dict[str, list[Any]] = {
        "tree__max_depth": [depth] if depth is not None else list(_LEAF_DEPTHS),
        "tree__alpha": [alpha if alpha is not None else min(_ALPHAS)],
        "tree__leaf_alpha": list(_LEAF_ALPHAS),
    }
    _, other = leaf_kinds(table, learner)
    wide = not table.regression and values * table.X.shape[1] > _MAX_WEIGHTS
    grids = {"constant": constant, other: computing}
    if leaves is None and (wide or (depth is not None and alpha is not None)):
        leaves = "linear" if table.regression else "constant"
    kinds = [leaves] if leaves is not None else ["constant", other]
    return [{**grids[kind], "tree__leaves": [kind]} for kind in kinds]


def _settings(
    model: Any, X: Frame, y: Column, grids: list[dict[str, list[Any]]], seed: int, regression: bool
) -> tuple[dict[str, Any], bool]:
    """Choose the settings that were not passed, by cross-validation.

    Other leaves must be better than constant ones by more than a standard error and by a point. Of the settings within one
    standard error of the best, those of the smallest tree are chosen.
    """
    if len(grids) == 1 and all(len(values) == 1 for values in grids[0].values()):
        return {name: values[0] for name, values in grids[0].items()}, False
    if len(y) < 2 * _FOLDS if regression else y.value_counts().min() < _FOLDS:
        return {name: values[len(values) // 2] for name, values in grids[0].items()}, False
    if len(X) > _MAX_TRIED:
        X, _, y, _ = train_test_split(X, y, train_size=_MAX_TRIED, random_state=seed, stratify=None if regression else y)
    folds = (KFold if regression else StratifiedKFold)(_FOLDS, shuffle=True, random_state=seed)
    results = GridSearchCV(model, grids, cv=folds, refit=False).fit(X, y).cv_results_
    mean, error = results["mean_test_score"], results["std_test_score"] / math.sqrt(_FOLDS)
    settings = results["params"]
    usual = [k for k in range(len(mean)) if settings[k].get("tree__leaves", "constant") == "constant"]
    best = int(mean.argmax())
    if not usual or max(mean[usual]) < mean[best] - max(error[best], _WORTH):
        usual = [k for k in range(len(mean)) if k not in usual]
    best = max(usual, key=lambda k: mean[k])
    good = [k for k in usual if mean[k] >= mean[best] - error[best]]
    smallest = settings[min(good, key=lambda k: (settings[k]["tree__max_depth"], -mean[k]))]
    return {name: smallest[name] for name in _ORDER if name in smallest}, True


def report(table: Table, trained: Trained) -> str:
    """Describe the table, the tree and its accuracy in a few lines of text."""
    tree, schema = trained.explainer.tree, trained.explainer.schema
    y = table.y
    about = f"{y.min():g} to {y.max():g}, mean {y.mean():g}" if table.regression else _counts(y)
    lines = [f"{table.name}: {len(table.X):,} rows, {len(schema)} feature{'s' * (len(schema) != 1)}; {table.y.name}: {about}"]
    lines += [f"Left out: {name} ({reason})" for name, reason in table.left_out.items()]
    pairs, splits = looks(tree, schema.starts), len(tree.left) - len(tree.leaves)
    used = len(np.unique(pairs[:, 1]))
    kind = type(trained.model[-1]).__name__
    how = ", ".join(f"{name} {value}" if isinstance(value, str) else f"{name} {value:g}" for name, value in _said(trained))
    lines.append(
        f"Learned from {trained.rows:,} rows: {kind}, {how}{' by cross-validation' if trained.chosen else ''}; "
        f"{len(tree.leaves)} leaves, {used} feature{'s' * (used != 1)} used, {len(pairs) / max(splits, 1):.1f} a split"
    )
    if len(tree.leaves) == 1 and tree.value[0] >= 0:
        lines.append(f"The tree has one leaf: it predicts {tree.classes[tree.value[0]]} for every row")
    if len(trained.truth):
        lines += _held_out_numbers(trained) if table.regression else _held_out_classes(table, trained)
    return "\n".join(lines)


def reachable(table: Table, trained: Trained) -> float:
    """A high number that the tree predicts for some rows, rounded down to four digits, as an example of a target."""
    value = float(np.quantile(trained.model.predict(table.X), 0.75, method="lower"))
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - 3) if value else 1.0
    return math.floor(value / unit) * unit


def _said(trained: Trained) -> list[tuple[str, Any]]:
    """The settings in the report: constant leaves are the usual kind, and they have no penalty."""
    usual = trained.settings.get("leaves", "constant") == "constant"
    return [(name, value) for name, value in trained.settings.items() if not (usual and name in ("leaves", "leaf_alpha"))]


def _counts(y: Column) -> str:
    counts = y.value_counts()
    classes = ", ".join(f"{label} ({count:,})" for label, count in counts.head(8).items())
    return classes + (f", {len(counts) - 8} more" if len(counts) > 8 else "")


def _held_out_numbers(trained: Trained) -> list[str]:
    truth = trained.truth.to_numpy()
    error = float(np.sqrt(np.mean((trained.predicted - truth) ** 2)))
    usual = float(np.std(truth))
    lines = [
        f"On the {len(truth):,} rows held out: root mean squared error {error:.4g}; always predicting their mean would give "
        f"{usual:.4g}"
    ]
    if error >= usual:
        lines.append("The tree is not better: these columns may not determine the label, or there are too few rows")
    return lines


def _held_out_classes(table: Table, trained: Trained) -> list[str]:
    """The accuracy on the rows held out, and which classes are taken for which."""
    accuracy = float(np.mean(trained.predicted == trained.truth.to_numpy()))
    common = trained.truth.value_counts(normalize=True)
    lines = [
        f"On the {len(trained.truth):,} rows held out: {accuracy:.1%} correct; always predicting {common.index[0]} "
        f"would give {common.iloc[0]:.1%}"
    ]
    if accuracy <= common.iloc[0]:
        lines.append("The tree is not better: these columns may not separate the classes, or there are too few rows")
    if table.y.nunique() <= 8:
        lines += ["", str(cross_table(trained.truth.to_numpy(), trained.predicted, ("truth", "predicted"))), ""]
    return lines
