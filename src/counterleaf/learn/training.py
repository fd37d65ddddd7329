"""A tree from a table without a line of code: columns to features, a size by cross-validation, figures on rows held out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.answer.tree_text import looks
from counterleaf.errors import CounterleafError, near, some
from counterleaf.explainer import Explainer
from counterleaf.table.frames import Column, Frame, concat, cross_table, number_kind

LEARNERS = ("tao", "cart")
_DEPTHS, _ALPHAS = (1, 2, 3, 4, 6, 8), (1.0, 10.0)
_FOLDS, _TRIED = 3, 6_000  # rows that settings are tried on
_LARGEST = 1e30  # larger numbers do not survive the scaling, nor scikit-learn's float32
_DATE = r"\s*(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})([T ]\d{1,2}:\d{2}.*)?\s*"
_CLASSES = 100  # more are no classes
_NAMES, _SHARE = 30, 0.5  # words that differ in so many and in so large a share of the rows tell rows apart, not kinds of them


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The columns to learn from, the classes, and what was left out and why."""

    X: Frame
    y: Column
    name: str
    left_out: dict[str, str]  # a column, or rows, and the reason
    words: list[str]  # the columns of categories


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A pipeline, the explainer of it, how it was set and what it says of the rows held out."""

    model: Any
    explainer: Explainer
    settings: dict[str, Any]
    chosen: bool
    rows: int  # that it learned from
    truth: Column
    said: Any


def prepare(frame: Frame, label: str, drop: Sequence[str], category: Sequence[str], name: str) -> Table:
    """The table without the label, and without what a tree cannot learn from."""
    for option, given in (("--drop", drop), ("--category", category)):
        if label in given:
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
    y = _classes(frame[label], label, name)
    values = y.nunique()
    if values < 2:
        raise CounterleafError(f"the label {label!r} has {values} different values in {name}; expected at least two classes")
    if values > _CLASSES:
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
        told = ", ".join(f"{column} ({reason})" for column, reason in list(left_out.items())[:4])
        raise CounterleafError(f"{name} has no column to learn from beside {label!r}{f'; left out: {told}' if told else ''}")
    words = [column for column in X.columns if column in category or not number_kind(X[column])]
    return Table(X, y, name, left_out, words)


def _classes(y: Column, label: str, name: str) -> Column:
    """The label as text, whole numbers or yes and no, which pandas reads as other numbers where rows lack it."""
    kind = number_kind(y)
    if kind == "float":
        if not (np.isfinite(y) & (y == np.floor(y)) & (y.abs() < 2**53)).all():
            strange = next(value for value in y if not float(value).is_integer())
            raise CounterleafError(
                f"the label {label!r} holds the number {strange:g} in {name}; expected classes: cut it into ranges first, or "
                f"write the classes as words"
            )
        return y.astype(np.int64)
    if kind:
        return y.astype(bool if kind == "bool" else np.int64)
    kinds = {type(value) for value in y}
    if kinds == {bool}:
        return y.astype(bool)
    if not all(issubclass(kind, str) for kind in kinds):
        told = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise CounterleafError(
            f"the label {label!r} holds values of the kind {told} in {name}; expected words or whole numbers"
        )
    return y.astype(object)


def _plain(column: Column, name: str) -> Column:
    """A column of numbers, or of yes and no, in NumPy's types."""
    gaps, kind = bool(column.isna().any()), number_kind(column)
    if kind == "bool":
        return column.astype(object).where(column.notna(), None) if gaps else column.astype(bool)
    if not isinstance(column.dtype, np.dtype):
        column = column.astype(np.float64 if gaps or kind == "float" else np.int64)
    strange = column[column.abs() > _LARGEST]
    if len(strange):
        raise CounterleafError(
            f"the column {column.name!r} of {name} holds {strange.iloc[0]:g}; expected numbers up to {_LARGEST:g}: correct it, "
            f"or leave it out with --drop"
        )
    return column


def _useless(column: Column) -> str:
    """Why a column is left out, if it is."""
    if column.isna().all():
        return "no value at all"
    if column.dtype.kind in "Mm":
        return "dates"
    if number_kind(column) == "int" and len(column) > _NAMES:
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
    return f"{count:,} different words" if count > _NAMES and count > _SHARE * len(column) else ""


def train(table: Table, learner: str, depth: int | None, alpha: float | None, test: float, seed: int) -> Trained:
    """Hold rows out, choose what was left open, learn, and write the explainer of it all."""
    from sklearn.model_selection import train_test_split

    X, y = table.X, table.y
    X_test, y_test = X.iloc[:0], y.iloc[:0]
    if test > 0:
        held = math.ceil(test * len(X))
        alone = y.map(y.value_counts()) < 2  # the one row of a class is learned from
        left = len(X) - held - int(alone.sum())
        if len(X) - held < 2 or left < 1:
            raise CounterleafError(f"{table.name} has {len(X)} rows, too few to hold some out; use --test 0")
        fair = y[~alone] if min(held, left) >= y[~alone].nunique() else None
        X, X_test, y, y_test = train_test_split(X[~alone], y[~alone], test_size=held, random_state=seed, stratify=fair)
        X, y = concat([X, table.X[alone]]), concat([y, table.y[alone]])
        lost = sorted(set(table.y) - set(y))
        if lost:
            raise CounterleafError(
                f"{table.name} has too few rows of {table.y.name} {lost[0]} to hold some out; leave them out or use --test 0"
            )
    model = _pipeline(X, table.words, learner, seed)
    settings, chosen = _settings(model, X, y, learner, depth, alpha, seed)
    model.set_params(**settings).fit(X, y)
    said = model.predict(X_test) if len(X_test) else np.empty(0)
    told = {name.rpartition("__")[2]: value for name, value in settings.items()}
    explainer = Explainer(model, data=table.X)  # with the words and ranges of the rows held out
    return Trained(model, explainer, told, chosen, len(X), y_test, said)


def _pipeline(X: Frame, words: list[str], learner: str, seed: int) -> Any:
    """Categories as 0/1 columns, numbers filled in and, for TAO, on one scale."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline, make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    from counterleaf.learn import TAOClassifier

    flags = [name for name in X.columns if number_kind(X[name]) == "bool" and name not in words]
    numbers = [name for name in X.columns if name not in words and name not in flags]
    fill = SimpleImputer(strategy="median")
    steps = [
        ("words", OneHotEncoder(handle_unknown="ignore"), words),
        ("flags", "passthrough", flags),
        ("numbers", make_pipeline(fill, StandardScaler()) if learner == "tao" else fill, numbers),
    ]
    tree = TAOClassifier(random_state=seed) if learner == "tao" else DecisionTreeClassifier(random_state=seed)
    return Pipeline([("columns", ColumnTransformer([step for step in steps if step[2]])), ("tree", tree)])


def _settings(
    model: Any, X: Frame, y: Column, learner: str, depth: int | None, alpha: float | None, seed: int
) -> tuple[dict[str, Any], bool]:
    """What was given, and for the rest the smallest tree within one standard error of the best in cross-validation."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split

    least = min(math.ceil(math.log2(y.nunique())), _DEPTHS[-1])
    grid: dict[str, list[Any]] = {
        "tree__max_depth": [depth] if depth is not None else [d for d in _DEPTHS if d >= least] or [_DEPTHS[-1]]
    }
    if learner == "tao":
        grid["tree__alpha"] = [alpha] if alpha is not None else sorted(_ALPHAS, reverse=True)
    first = {name: values[0] for name, values in grid.items()}
    if all(len(values) == 1 for values in grid.values()):
        return first, False
    if y.value_counts().min() < _FOLDS:
        return {name: values[len(values) // 2] for name, values in grid.items()}, False
    if len(X) > _TRIED:
        X, _, y, _ = train_test_split(X, y, train_size=_TRIED, random_state=seed, stratify=y)
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    found = GridSearchCV(model, grid, cv=folds, refit=False).fit(X, y).cv_results_
    mean, error = found["mean_test_score"], found["std_test_score"] / math.sqrt(_FOLDS)
    best = int(mean.argmax())
    near = [k for k in range(len(mean)) if mean[k] >= mean[best] - error[best]]
    settings = found["params"]
    smallest = min(near, key=lambda k: (settings[k]["tree__max_depth"], -mean[k]))
    return {name: settings[smallest][name] for name in grid}, True


def report(table: Table, trained: Trained) -> str:
    """What was learned from what, and how often it is right."""
    tree, schema = trained.explainer.tree, trained.explainer.schema
    counts = table.y.value_counts()
    classes = ", ".join(f"{label} ({count:,})" for label, count in counts.head(8).items())
    more = f", {len(counts) - 8} more" if len(counts) > 8 else ""
    lines = [
        f"{table.name}: {len(table.X):,} rows, {len(schema)} feature{'s' * (len(schema) != 1)}; {table.y.name}: {classes}{more}"
    ]
    lines += [f"Left out: {name} ({reason})" for name, reason in table.left_out.items()]
    pairs, splits = looks(tree, schema.starts), len(tree.left) - len(tree.leaves)
    used = len(np.unique(pairs[:, 1]))
    kind = type(trained.model[-1]).__name__
    how = ", ".join(f"{name} {value:g}" for name, value in trained.settings.items())
    lines.append(
        f"Learned from {trained.rows:,} rows: {kind}, {how}{' by cross-validation' if trained.chosen else ''}; "
        f"{len(tree.leaves)} leaves, {used} feature{'s' * (used != 1)} used, {len(pairs) / max(splits, 1):.1f} a split"
    )
    if len(tree.leaves) == 1:
        lines.append(f"The tree has one leaf: it says {tree.classes[tree.value[0]]} whatever comes")
    if len(trained.truth):
        right = float(np.mean(trained.said == trained.truth.to_numpy()))
        common = trained.truth.value_counts(normalize=True)
        lines.append(
            f"On the {len(trained.truth):,} rows held out: {right:.1%} right; always saying {common.index[0]} would be "
            f"{common.iloc[0]:.1%}"
        )
        if right <= common.iloc[0]:
            lines.append("That is no better: these columns may not tell the classes apart, or the rows are too few")
        if len(counts) <= 8:
            crossed = cross_table(trained.truth.to_numpy(), trained.said, ("truth", "said"))
            lines += ["", str(crossed), ""]
    return "\n".join(lines)
