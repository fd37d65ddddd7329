"""The steps of a fitted scikit-learn pipeline: whether they can be folded, and which raw column each output comes from."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, some
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.readers.table import category_columns, read_model
from counterleaf.model.tree import Tree
from counterleaf.model.wrappers import Rescale, around, innermost, is_pipeline, is_sampler, rescale_of, unwrap
from counterleaf.table.features import Categorical, is_missing
from counterleaf.table.frames import cells_of, copy_of, is_frame, numbers_of
from counterleaf.table.frames import columns as columns_of
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_SCALERS = ("StandardScaler", "MinMaxScaler", "RobustScaler", "MaxAbsScaler")
_ENCODERS = ("OneHotEncoder", "OrdinalEncoder")
UNFITTED = "this Pipeline is not fitted; call fit first"
_MIXERS = ("PolynomialFeatures", "Normalizer", "KNNImputer", "IterativeImputer")


@dataclass(frozen=True, slots=True)
class Column:
    """A column on its way through the steps: the raw column it comes from, and the steps applied to it."""

    raw: int  # position in the table
    encoded: bool = False
    scaled: bool = False
    clipped: bool = False


Columns = (
    list[Column] | frozenset[int]
)  # the columns in order; or, after a step that must be probed, the raw columns behind them


@dataclass(slots=True)
class _Notes:
    """Findings about the raw columns, by position."""

    names: list[str]
    probed: list[Any] = field(default_factory=list)
    finite: set[int] = field(default_factory=set)
    known: dict[int, list[Any]] = field(default_factory=dict)
    gaps: dict[int, Any] = field(default_factory=dict)
    marks: dict[int, Any] = field(default_factory=dict)
    statistics: dict[int, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class CategoryCodes:
    """Turns the tables that a model takes into numbers."""

    # by position of a column; the code of a category is its place in the list, NaN if it is missing or not in the list
    categories: Mapping[int, Sequence[Any]]  # if the list is empty, the column holds codes
    closed: bool = False  # whether to refuse a value that is not in the list, because it is not known where the model sends it

    def numbers(self, rows: Any) -> Array:
        """Return a frame, an array or a sparse matrix as (n, D) numbers."""
        if hasattr(rows, "toarray"):
            rows = rows.toarray()
        if not is_frame(rows):
            rows = np.asarray(rows)
        out = np.empty(rows.shape)
        for j, (name, column) in enumerate(columns_of(rows)):
            out[:, j] = self._codes(j, column) if self.categories.get(j) else numbers_of(column, name)
        return out

    def _codes(self, j: int, column: Any) -> Array:
        place = {value: float(code) for code, value in enumerate(self.categories[j]) if not is_missing(value)}
        odd = next((value for value in cells_of(column) if self.closed and not is_missing(value) and value not in place), None)
        if odd is not None:
            raise CounterleafError(f"the model does not tell where it sends {odd!r}; pass data= with rows that hold it")
        return np.array([np.nan if is_missing(value) else place.get(value, np.nan) for value in cells_of(column)])


@dataclass(frozen=True, eq=False)
class Survey:
    """What a pipeline does to each raw column."""

    names: list[str]  # the raw columns in the order of the fit
    named: bool  # whether the pipeline was fitted on a table with column names
    finite: frozenset[str]  # the columns that an encoder takes
    unused: frozenset[str]  # the columns that never reach the tree
    known: dict[str, list[Any]]  # the categories of a column that all its encoders know
    tree: Any  # the model at the end of the pipeline
    core: Any  # the same with the wrappers around it
    rescale: Rescale | None  # the map from the outputs of its tree to its values, if they differ
    read: Tree | Ensemble = field(repr=False)  # its tree or its trees
    steps: tuple[Any, ...] = field(repr=False)  # the steps before it
    # the columns that the tree sees; None if a step must be probed to find out where they come from
    columns: tuple[Column, ...] | None = field(repr=False)
    probed: tuple[Any, ...] = field(repr=False)  # the steps whose columns must be probed
    gaps: Mapping[str, Any] = field(repr=False)  # the value that marks a missing one for the encoders of a finite column
    marks: Mapping[str, Any] = field(repr=False)  # the value other than NaN that an imputer takes for a missing one
    statistics: Mapping[str, list[Any]] = field(repr=False)  # the fill values of the imputers, in raw units
    source: Any = field(default=None, repr=False)  # the pipeline itself
    # the codes of the categories that the model takes as they are; None if it takes numbers only
    codes: CategoryCodes | None = field(default=None, repr=False)
    ignored: frozenset[str] = frozenset()  # the unused columns of which no feature can be made: the steps must ignore them

    @property
    def title(self) -> str:
        """The steps that must be probed, for a message."""
        return ", ".join(dict.fromkeys(type(step).__name__ for step in self.probed))

    def leaving(self, names: frozenset[str]) -> Survey:
        """Return the same survey if the steps ignore some more columns, which is still to be seen."""
        return replace(self, unused=self.unused | names, ignored=names)


def survey(
    pipeline: Any,
    bare: bool = False,
    names: Sequence[Any] | None = None,
    table: tuple[list[str], bool] | None = None,
    data: Any = None,
) -> Survey:
    """Walk through the steps of a fitted pipeline and find where each column of its tree comes from."""
    if not bare and not ends_in_pipeline(pipeline):
        raise CounterleafError(f"got a {type(pipeline).__name__}; expected a fitted scikit-learn Pipeline")
    *front, (label, core) = list(_unwrapped("", pipeline)) or [("", None)]
    data = _made(front, data) if _takes_data(core) or not front else None  # as the model sees it
    tree, model = _tree(label, core, data), innermost(core)
    first, entry = front[0] if front else (label, model)
    own = names_of(entry) if names is None else names
    known, named = _raw_columns(first, entry if front else tree, own, table)
    notes = _Notes(known)
    columns: Columns = [Column(k) for k in range(len(known))]
    for step_label, step in front:
        columns = _walk(step_label, step, columns, notes)
    if isinstance(columns, list) and len(columns) != tree.n_features:
        raise CounterleafError(
            f"the steps make {len(columns)} columns but the tree takes {tree.n_features}; fit the pipeline as a whole"
        )

    hashed = type(model).__module__.startswith("catboost")  # it tells the sides of the categories of the data only
    codes = _native(category_columns(model, tree, data), hashed, columns, notes) if isinstance(tree, Ensemble) else None

    def by_name(found: dict[int, Any]) -> dict[str, Any]:
        return {notes.names[k]: value for k, value in sorted(found.items())}

    return Survey(
        names=notes.names,
        named=named,
        finite=frozenset(notes.names[k] for k in notes.finite),
        unused=frozenset(notes.names) - {notes.names[k] for k in _raws(columns)},
        known=by_name(notes.known),
        tree=model,
        core=core,
        rescale=rescale_of(core, tree),
        read=tree,
        steps=tuple(step for _, step in front),
        columns=tuple(columns) if isinstance(columns, list) else None,
        probed=tuple(notes.probed),
        gaps=by_name({k: notes.gaps.get(k, math.nan) for k in notes.finite}),
        marks=by_name(notes.marks),
        statistics=by_name(notes.statistics),
        source=pipeline,
        codes=codes,
    )


def _raw_columns(label: str, step: Any, own: Sequence[Any], table: tuple[list[str], bool] | None) -> tuple[list[str], bool]:
    """Return the columns that the first step takes, its ``own`` or those of the data, and whether they have names."""
    width = _width(step)
    if len(own):
        return [str(name) for name in own], True
    if width is not None:
        return table[0] if table is not None and len(table[0]) == width else [f"x{k}" for k in range(width)], False
    if type(step).__module__.startswith("sklearn."):
        _check_fitted(step)
    if table is None:
        raise CounterleafError(f"{_title(label, step)} does not tell which columns it takes; pass data= with typical rows")
    return table


def _native(found: dict[int, list[Any]], closed: bool, columns: Columns, notes: _Notes) -> CategoryCodes | None:
    """Note the raw columns whose categories the model takes as they are; None if there are none."""
    known = dict(enumerate(columns)) if isinstance(columns, list) else {}
    for column, categories in ((known[j], categories) for j, categories in found.items() if j in known):
        if column.scaled:
            continue
        if not categories or column.encoded:
            notes.finite.add(column.raw)
        else:
            _note_categories([column], [categories], notes)
    return CategoryCodes(found, closed) if found else None


def names_of(model: Any) -> list[Any]:
    """Return the names of the columns that a model or a step was fitted on, none if it was fitted on an array."""
    names = getattr(model, "feature_names_in_", None)
    if names is None and type(model).__module__.startswith("catboost"):
        names = model.feature_names_
        names = None if list(names) == [str(k) for k in range(len(names))] else names
    return [] if names is None else list(names)


def check_kinds(schema: Schema, found: Survey) -> None:
    """Check that the data has numbers where the pipeline scales them and known categories where it encodes them."""
    for feature in schema:
        taken = found.finite | found.unused
        if isinstance(feature, Categorical) and feature.name not in taken and found.columns is not None:
            raise CounterleafError(
                f"column {feature.name!r} of the data holds {feature.values[0]!r}; the pipeline takes it for a number"
            )
        known = found.known.get(feature.name, ())
        if isinstance(feature, Categorical) and known and not set(feature.values) & set(known):
            raise CounterleafError(
                f"category {feature.values[0]!r} of column {feature.name!r} is unseen by the encoder; it knows {some(known)}"
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


def _tree(label: str, model: Any, data: Any) -> Tree | Ensemble:
    if model is None:
        raise CounterleafError("the pipeline has no steps; expected it to end with a decision tree")
    try:
        return read_model(model, data)
    except CounterleafError as error:
        if "is not fitted" in str(error):
            raise CounterleafError(UNFITTED) from None
        bare = innermost(model)
        raise _refusal(label, bare, str(error).removeprefix(f"cannot read a {type(bare).__name__}: ")) from None


def _takes_data(core: Any) -> bool:
    """Whether a model may leave it to the data which columns hold categories, and which."""
    return type(innermost(core)).__module__.partition(".")[0] in ("catboost", "lightgbm", "xgboost")


def _made(front: list[tuple[str, Any]], data: Any) -> Any:
    """Return the table that the steps make of the data; None if they fail, which is found out later, or make no frame."""
    if not front or data is None:
        return data
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = copy_of(data)  # a step may write to what it is given
        for _, step in front:
            data = step.transform(data)
        return data if is_frame(data) else None
    return None


def _raws(columns: Columns) -> frozenset[int]:
    """Return the raw columns behind some columns."""
    return frozenset(column.raw for column in columns) if isinstance(columns, list) else columns


def _joined(parts: list[Columns]) -> Columns:
    """Return the columns of several parts side by side."""
    lists = [part for part in parts if isinstance(part, list)]
    if len(lists) == len(parts):
        return [column for part in lists for column in part]
    return frozenset().union(*map(_raws, parts))


def _walk(label: str, step: Any, columns: Columns, notes: _Notes) -> Columns:
    """Return the columns that a step makes of ``columns``, in order if the step is known."""
    if isinstance(step, str) or step is None:
        return [] if step == "drop" else columns
    if is_pipeline(step):
        for inner_label, inner in _flat(step, f"{label}__"):
            columns = _walk(inner_label, inner, columns, notes)
        return columns
    kind = type(step).__name__ if type(step).__module__.startswith("sklearn.") else ""
    choice = type(step).__module__.startswith("sklearn.feature_selection.") and hasattr(step, "get_support")
    if kind == "FunctionTransformer" and step.func is None:
        return columns
    if kind in _MIXERS:
        raise _refusal(label, step, "it mixes columns; apply it to the table beforehand")
    if not callable(getattr(step, "transform", None)):
        raise _refusal(label, step, "it has no method transform; expected a transformer")
    if kind == "FeatureUnion":
        parts = [(name, part, columns) for name, part in step.transformer_list]
        return _side_by_side(label, parts, step.transformer_weights, notes)
    if kind and kind != "FunctionTransformer":  # a step of another library need not have anything to fit
        _check_fitted(step)
    width = _width(step)
    if kind and isinstance(columns, list) and width is not None and len(columns) != width:
        raise CounterleafError(
            f"{_title(label, step)} was fitted on {width} columns but gets {len(columns)}; fit the pipeline as a whole"
        )
    if kind == "ColumnTransformer":
        return _parts(label, step, columns, notes)
    if not isinstance(columns, list):
        notes.probed.append(step)
        return columns
    if kind in _SCALERS:
        clips = bool(getattr(step, "clip", False))
        return [replace(column, scaled=True, clipped=column.clipped or clips) for column in columns]
    if kind == "SimpleImputer":
        return _imputed(step, columns, notes)
    if kind in _ENCODERS:
        return _encoded(label, step, columns, notes)
    return [columns[k] for k in step.get_support(indices=True)] if choice else _unknown(step, columns, notes)


def _unknown(step: Any, columns: list[Column], notes: _Notes) -> Columns:
    """Note what a step that must be probed tells about its columns: the categories it knows, or the columns it encodes."""
    notes.probed.append(step)
    categories, taken = getattr(step, "categories_", None), getattr(step, "cols", None)
    plain = [column for column in columns if not (column.encoded or column.scaled)]
    if isinstance(categories, list) and len(categories) == len(columns):
        _note_categories(columns, categories, notes)
    elif isinstance(taken, list):
        notes.finite.update(column.raw for column in plain if notes.names[column.raw] in map(str, taken))
    return _raws(columns)


def _parts(label: str, step: Any, columns: Columns, notes: _Notes) -> Columns:
    parts: list[tuple[str, Any, Columns]] = []
    for name, part, _ in step.transformers_:
        at = step._transformer_to_input_indices[name]
        if len(at):
            parts.append((name, part, [columns[k] for k in at] if isinstance(columns, list) else columns))
    return _side_by_side(label, parts, step.transformer_weights, notes)


def _side_by_side(label: str, parts: list[tuple[str, Any, Columns]], weights: Any, notes: _Notes) -> Columns:
    """Return the columns that several steps make next to each other."""
    out = []
    for name, part, taken in parts:
        made = _walk(f"{label}__{name}", part, taken, notes)
        if isinstance(made, list) and name in (weights or {}):
            made = [replace(column, scaled=True) for column in made]
        out.append(made)
    return _joined(out)


def _imputed(step: Any, columns: list[Column], notes: _Notes) -> Columns:
    out = []
    for column, value in zip(columns, step.statistics_.tolist(), strict=True):
        if not is_missing(step.missing_values):
            notes.marks[column.raw] = step.missing_values
        elif not (column.encoded or column.scaled):
            notes.gaps.setdefault(column.raw, step.missing_values)
            notes.statistics.setdefault(column.raw, []).append(value)
        if step.keep_empty_features or not is_missing(value):  # a column without any value is dropped
            out.append(column)
    if step.add_indicator:  # further columns, which mark missing values
        notes.probed.append(step)
        return _raws(columns)
    return out


def _encoded(label: str, step: Any, columns: list[Column], notes: _Notes) -> list[Column]:
    dropped = getattr(step, "drop_idx_", None)
    rare = getattr(step, "infrequent_categories_", None)
    for column in columns:
        if column.scaled:
            reason = f"column {notes.names[column.raw]!r} is scaled before it; encode the column as it is"
            raise _refusal(label, step, reason)
    _note_categories(columns, step.categories_, notes)
    out = []
    for k, (column, categories) in enumerate(zip(columns, step.categories_, strict=True)):
        width = 1
        if type(step).__name__ == "OneHotEncoder":
            width = len(categories) - (dropped is not None and dropped[k] is not None)
            width -= len(rare[k]) - 1 if rare is not None and rare[k] is not None else 0
        out += [replace(column, encoded=True)] * width
    return out


def _note_categories(columns: list[Column], categories: list[Any], notes: _Notes) -> None:
    for column, found in zip(columns, categories, strict=True):
        if column.scaled:
            continue
        notes.finite.add(column.raw)
        if not column.encoded:
            values = found if isinstance(found, list) else found.tolist()
            before = notes.known.get(column.raw, values)
            notes.known[column.raw] = [value for value in before if value in values and not is_missing(value)]
            notes.gaps.update((column.raw, value) for value in values if is_missing(value))


def _width(step: Any) -> int | None:
    return step.n_features if isinstance(step, (Tree, Ensemble)) else getattr(step, "n_features_in_", None)


def _title(label: str, step: Any) -> str:
    how = f"func={getattr(step.func, '__name__', step.func)}" if type(step).__name__ == "FunctionTransformer" else ""
    return f"step {label!r} of the pipeline ({type(step).__name__}{f' with {how}' if how else ''})"


def _refusal(label: str, step: Any, reason: str) -> CounterleafError:
    return CounterleafError(f"{_title(label, step)} cannot be folded: {reason}")


def _check_fitted(step: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(step)
    except NotFittedError:
        raise CounterleafError(UNFITTED) from None
