"""The steps of a fitted scikit-learn pipeline: whether they can be folded, and which raw column each output comes from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from counterleaf.errors import CounterleafError
from counterleaf.model.readers.refusals import refusal
from counterleaf.model.readers.table import is_known, read_core
from counterleaf.model.tree import Tree
from counterleaf.model.wrappers import around, innermost, is_pipeline, is_sampler, unwrap
from counterleaf.table.features import is_missing

_SCALERS = ("StandardScaler", "MinMaxScaler", "RobustScaler", "MaxAbsScaler")
_ENCODERS = ("OneHotEncoder", "OrdinalEncoder")
_MIXERS = ("PCA", "TruncatedSVD", "PolynomialFeatures", "Normalizer", "KNNImputer", "IterativeImputer")


@dataclass(frozen=True, slots=True)
class Column:
    """A column on its way through the steps: the raw column it comes from, and the steps applied to it."""

    raw: int  # position in the table
    encoded: bool = False
    scaled: bool = False
    clipped: bool = False


@dataclass(slots=True)
class _Notes:
    """Findings about the raw columns, by position."""

    names: list[str]
    finite: set[int] = field(default_factory=set)
    known: dict[int, list[Any]] = field(default_factory=dict)
    gaps: dict[int, Any] = field(default_factory=dict)
    marks: dict[int, Any] = field(default_factory=dict)
    statistics: dict[int, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Survey:
    """What a pipeline does to each raw column.

    Parameters
    ----------
    names : list of str
        The raw columns in the order of the fit.
    named : bool
        Whether the pipeline was fitted on a table with column names.
    finite : frozenset of str
        The columns that an encoder takes.
    unused : frozenset of str
        The columns that never reach the tree.
    known : dict
        The categories of a column that all its encoders know.
    tree : object
        The model at the end of the pipeline.
    read : Tree
        Its tree.
    steps : tuple
        The steps before it.
    columns : tuple of Column
        The columns that the tree sees.
    gaps : mapping
        The value that marks a missing one for the encoders of a finite column.
    marks : mapping
        The value other than NaN that an imputer takes for a missing one.
    statistics : mapping
        The fill values of the imputers, in raw units.
    """

    names: list[str]
    named: bool
    finite: frozenset[str]
    unused: frozenset[str]
    known: dict[str, list[Any]]
    tree: Any
    read: Tree = field(repr=False)
    steps: tuple[Any, ...] = field(repr=False)
    columns: tuple[Column, ...] = field(repr=False)
    gaps: Mapping[str, Any] = field(repr=False)
    marks: Mapping[str, Any] = field(repr=False)
    statistics: Mapping[str, list[Any]] = field(repr=False)


def survey(pipeline: Any) -> Survey:
    """Walk through the steps of a fitted pipeline and find where each column of its tree comes from.

    Parameters
    ----------
    pipeline : Pipeline
        A fitted scikit-learn pipeline.

    Returns
    -------
    Survey
        What the steps do to each raw column.

    Raises
    ------
    CounterleafError
        If the pipeline is not fitted, does not end with a tree, or has a step that cannot be folded into the tree.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = pd.DataFrame({"age": [20, 61], "job": ["cook", "clerk"]})
    >>> steps = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["job"]))
    >>> found = survey(make_pipeline(steps, DecisionTreeClassifier()).fit(X, [0, 1]))
    >>> found.names, found.known
    (['age', 'job'], {'job': ['clerk', 'cook']})
    """
    if not ends_in_pipeline(pipeline):
        raise CounterleafError(f"got a {type(pipeline).__name__}; expected a fitted scikit-learn Pipeline")
    *front, (label, core) = list(_unwrapped("", pipeline)) or [("", None)]
    tree, model = _tree(label, core), innermost(core)
    entry = next((step for _, step in front if _width(step) is not None), model)
    width = _width(entry) or tree.n_features
    names = [str(name) for name in getattr(entry, "feature_names_in_", [])]
    notes = _Notes(names or [f"x{k}" for k in range(width)])
    columns = [Column(k) for k in range(width)]
    for step_label, step in front:
        columns = _walk(step_label, step, columns, notes)
    if len(columns) != tree.n_features:
        raise CounterleafError(
            f"the steps make {len(columns)} columns but the tree takes {tree.n_features}; fit the pipeline as a whole"
        )

    def named(found: dict[int, Any]) -> dict[str, Any]:
        return {notes.names[k]: value for k, value in sorted(found.items())}

    return Survey(
        names=notes.names,
        named=bool(names),
        finite=frozenset(notes.names[k] for k in notes.finite),
        unused=frozenset(notes.names) - {notes.names[column.raw] for column in columns},
        known=named(notes.known),
        tree=model,
        read=tree,
        steps=tuple(step for _, step in front),
        columns=tuple(columns),
        gaps=named({k: notes.gaps.get(k, math.nan) for k in notes.finite}),
        marks=named(notes.marks),
        statistics=named(notes.statistics),
    )


def ends_in_pipeline(model: Any) -> bool:
    """Whether a model is a pipeline, or a wrapper around one."""
    while not is_pipeline(model):
        model = unwrap(model)
        if model is None:
            return False
    return True


def _flat(pipeline: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the steps of a pipeline and of the pipelines within it; ``__`` joins their names as in ``set_params``."""
    for name, step in pipeline.steps:
        if step is not None and not (isinstance(step, str) and step == "passthrough") and not is_sampler(step):
            yield from _unwrapped(f"{path}{name}", step)


def _unwrapped(label: str, step: Any) -> Iterator[tuple[str, Any]]:
    """Yield a step, or the steps within it; a wrapper around a pipeline is moved to the last step of that pipeline."""
    if is_pipeline(step):
        yield from _flat(step, f"{label}__" if label else "")
        return
    inside = unwrap(step)
    found = [] if inside is None else list(_unwrapped(label, inside))
    if not found:
        yield label, step
        return
    *front, (last, core) = found
    yield from front
    yield last, around(step, core)


def _tree(label: str, model: Any) -> Tree:
    if model is None:
        raise CounterleafError("the pipeline has no steps; expected it to end with a decision tree")
    bare = innermost(model)
    if not is_known(bare):
        reason = str(refusal(bare)).removeprefix(f"cannot read a {type(bare).__name__}").lstrip(":; ")
        raise _refusal(label, bare, reason)
    if not isinstance(getattr(bare, "tree_", bare), Tree):
        _check_fitted(bare)
    return read_core(model)


def _walk(label: str, step: Any, columns: list[Column], notes: _Notes) -> list[Column]:
    """Return the columns that a step makes of ``columns``, in order."""
    kind = type(step).__name__ if type(step).__module__.startswith("sklearn.") else ""
    choice = type(step).__module__.startswith("sklearn.feature_selection.") and hasattr(step, "get_support")
    if isinstance(step, str):
        return [] if step == "drop" else columns
    if is_pipeline(step):
        for inner_label, inner in _flat(step, f"{label}__"):
            columns = _walk(inner_label, inner, columns, notes)
        return columns
    if kind == "FunctionTransformer":
        if step.func is not None:
            raise _refusal(label, step, "its function is not the identity; transform the column beforehand")
        return columns
    if not (choice or kind in (*_SCALERS, *_ENCODERS, "SimpleImputer", "ColumnTransformer")):
        reason = "it mixes columns" if kind in _MIXERS else "only scalers, encoders, imputers and column selectors can"
        raise _refusal(label, step, f"{reason}; apply it to the table beforehand")
    _check_fitted(step)
    if len(columns) != _width(step):
        raise CounterleafError(
            f"{_title(label, step)} was fitted on {_width(step)} columns but gets {len(columns)}; fit the pipeline as a whole"
        )
    if kind == "ColumnTransformer":
        return _parts(label, step, columns, notes)
    if kind in _SCALERS:
        clips = bool(getattr(step, "clip", False))
        return [replace(column, scaled=True, clipped=column.clipped or clips) for column in columns]
    if kind == "SimpleImputer":
        return _imputed(label, step, columns, notes)
    if kind in _ENCODERS:
        return _encoded(label, step, columns, notes)
    return [columns[k] for k in step.get_support(indices=True)]


def _parts(label: str, step: Any, columns: list[Column], notes: _Notes) -> list[Column]:
    out = []
    for name, part, _ in step.transformers_:
        taken = [columns[k] for k in step._transformer_to_input_indices[name]]
        if taken:
            made = _walk(f"{label}__{name}", part, taken, notes)
            weighted = name in (step.transformer_weights or {})
            out += [replace(column, scaled=column.scaled or weighted) for column in made]
    return out


def _imputed(label: str, step: Any, columns: list[Column], notes: _Notes) -> list[Column]:
    if step.add_indicator:
        raise _refusal(
            label, step, "add_indicator=True adds columns that mark missing values; leave it out", "add_indicator=True"
        )
    out = []
    for column, value in zip(columns, step.statistics_.tolist(), strict=True):
        if not is_missing(step.missing_values):
            notes.marks[column.raw] = step.missing_values
        elif not (column.encoded or column.scaled):
            notes.gaps.setdefault(column.raw, step.missing_values)
            notes.statistics.setdefault(column.raw, []).append(value)
        if step.keep_empty_features or not is_missing(value):  # a column without any value is dropped
            out.append(column)
    return out


def _encoded(label: str, step: Any, columns: list[Column], notes: _Notes) -> list[Column]:
    dropped = getattr(step, "drop_idx_", None)
    rare = getattr(step, "infrequent_categories_", None)
    out = []
    for k, (column, categories) in enumerate(zip(columns, step.categories_, strict=True)):
        if column.scaled:
            reason = f"column {notes.names[column.raw]!r} is scaled before it; encode the column as it is"
            raise _refusal(label, step, reason)
        notes.finite.add(column.raw)
        if not column.encoded:
            values = categories.tolist()
            before = notes.known.get(column.raw, values)
            notes.known[column.raw] = [value for value in before if value in values and not is_missing(value)]
            notes.gaps.update((column.raw, value) for value in values if is_missing(value))
        width = 1
        if type(step).__name__ == "OneHotEncoder":
            width = len(categories) - (dropped is not None and dropped[k] is not None)
            width -= len(rare[k]) - 1 if rare is not None and rare[k] is not None else 0
        out += [replace(column, encoded=True)] * width
    return out


def _width(step: Any) -> int | None:
    return step.n_features if isinstance(step, Tree) else getattr(step, "n_features_in_", None)


def _title(label: str, step: Any, how: str = "") -> str:
    if type(step).__name__ == "FunctionTransformer":
        how = f"func={getattr(step.func, '__name__', step.func)}"
    return f"step {label!r} of the pipeline ({type(step).__name__}{f' with {how}' if how else ''})"


def _refusal(label: str, step: Any, reason: str, how: str = "") -> CounterleafError:
    return CounterleafError(f"{_title(label, step, how)} cannot be folded: {reason}")


def _check_fitted(step: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(step)
    except NotFittedError:
        raise CounterleafError("this Pipeline is not fitted; call fit first") from None
