"""Adapter between a user's model and the search: the tree over the schema's variables, and predictions for confirmation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from counterleaf.errors import CounterleafError, brief, flat, some
from counterleaf.model import gaps
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.gaps import Routes
from counterleaf.model.pipelines.fold import fold
from counterleaf.model.pipelines.probing import (
    columns_of_fit,
    matching_columns,
    reads_more,
    table_of,
    unused_value,
    without_refused,
)
from counterleaf.model.pipelines.steps import Survey, check_kinds, ends_in_pipeline, survey
from counterleaf.model.readers.table import as_model, category_columns, guard_of, read_model
from counterleaf.model.tree import Tree
from counterleaf.model.wrappers import Rescale, core_of, innermost, predicts_itself, rescale_of
from counterleaf.sparse import CSR
from counterleaf.table.encoding import encode_table
from counterleaf.table.features import Boolean, Categorical, Feature, Finite, Numeric
from counterleaf.table.frames import (
    column_names,
    column_types,
    columns,
    copy_of,
    is_frame,
    is_series,
    kind_of,
    levels_by_name,
    make_frame,
    narrow_columns,
    numbers_of,
    row_of_categories,
    rows_within,
    stacked,
    with_columns,
)
from counterleaf.table.infer import guess, with_cents, without_feature
from counterleaf.table.row_types import in_types_of, table_like
from counterleaf.table.schema import Schema
from counterleaf.types import Array

if TYPE_CHECKING:
    from counterleaf.table.rows import TableRows

_GUARD = 1e-12  # a pipeline scales before it sums, a folded tree does both at once


@dataclass(frozen=True, slots=True, eq=False)
class ModelAdapter:
    """A model that takes columns of numbers."""

    model: Any  # the model, with a ``predict`` method
    schema: Schema  # the features of the table
    tree: Tree | Ensemble  # the model's tree, or its trees, over the variables of the schema
    names: list[Any] | None  # the names of the model's columns, if it knows them by name
    columns: CSR | None  # the (columns, variables) matrix from variables to the model's columns, None if they are the same
    guard: float  # the relative error of an oblique split's sum, if the model adds its terms in another way than the tree
    rescale: Rescale | None = None  # from the linear outputs of a regression tree, or the values of an ensemble, to the model's
    # where missing numbers go, by node of tree.splits; None if the model has no route for them
    routes: Routes | None = field(default=None, kw_only=True)
    # (N,) array: for each node of a tree or an ensemble that was expanded for missing numbers, the node before
    origin: Array | None = field(default=None, kw_only=True)
    types: Mapping[str, Any] = field(default_factory=dict, kw_only=True)  # the dtype of each column of a pandas table, by name

    takes_rows: ClassVar[bool] = False  # whether predictions need the user's rows, or the points alone

    def _predict(self, points: Array, rows: Sequence[Any], method: str) -> Any:
        """Return what a method of the model makes of some points; ``rows`` are the same points as rows of the user's table."""
        if self.model is self.tree and not np.isnan(points).any():
            return getattr(self.tree, method)(points)
        points = self.schema.without_gaps(points)
        X = points if self.columns is None else (self.columns @ points.T).T
        return getattr(self.model, method)(X if self.names is None else make_frame(X, names=self.names))

    def _predict_many(self, sheet: TableRows, at: Any, codes: tuple[Array, Array], method: str) -> Any:
        """Return what a method of the model makes of some rows of a sheet; ``codes`` are those before and after."""
        return self._predict(codes[1] if self.schema.numeric else self.schema.spread(codes[1]), [], method)

    def predictions(self, points: Array, rows: list[Any], output: int = -1) -> Array:
        """Return what the model predicts for each point."""
        return _one_each(lambda method: self._predict(points, rows, method), len(points), output)

    def predictions_many(self, sheet: TableRows, at: Any, codes: tuple[Array, Array], output: int = -1) -> Array:
        """Return what the model predicts for each of some rows of a batch."""
        return _one_each(lambda method: self._predict_many(sheet, at, codes, method), len(codes[1]), output)

    @property
    def labels_sources(self) -> bool:
        """Whether the model itself has to label a source: its tree may say something else."""
        return self.takes_rows or predicts_itself(self.model)

    @property
    def leaves_out(self) -> bool:
        """Whether an answer may leave out a number that the row has."""
        return self.routes is not None and any(feature.missing == "allowed" for feature in self.schema)

    def with_features(self, features: Iterable[Feature]) -> ModelAdapter:
        """Return the same model and tree with some features replaced by others of the same name.

        No split of the tree depends on the bounds or the grid of a number, or on what a change costs, so the model need not
        be read again.
        """
        new: dict[str, Feature] = {}
        for feature in features:
            if not isinstance(feature, Feature):
                raise CounterleafError(f"with_features got {brief(feature)}; expected features such as Numeric('age', 18, 90)")
            if feature.name in new:
                raise CounterleafError(f"with_features got feature {feature.name!r} twice; pass it once")
            new[feature.name] = feature
            old = self.schema.features[self.schema.index(feature.name)]
            if type(feature) is not type(old):
                raise CounterleafError(
                    f"feature {feature.name!r} is {type(feature).__name__} and was {type(old).__name__}; "
                    f"with_features keeps the kind: pass schema= to Explainer"
                )
            if isinstance(feature, Numeric) or isinstance(old, Numeric):
                continue
            if (feature.values, feature.missing) != (old.values, old.missing):
                raise CounterleafError(
                    f"feature {feature.name!r} has {_listed(feature)} and had {_listed(old)}; "
                    f"with_features keeps the values: pass schema= to Explainer"
                )
        schema = self.schema.replace(*new.values())
        gaps.check_allowed(schema, self.routes)
        return replace(self, schema=schema)

    def spread_codes(self, data: Any) -> Array:
        """Return the data as one number per cell, NaN where a value is missing."""
        codes = encode_table(self.schema, data)
        for d, feature in enumerate(self.schema):
            if not isinstance(feature, Numeric):
                codes[codes[:, d] == len(feature.values), d] = np.nan
        return codes


@dataclass(frozen=True, slots=True, eq=False)
class PipelineAdapter(ModelAdapter):
    """A pipeline, whose predictions are for rows of the table itself."""

    found: Survey = None  # type: ignore[assignment]  # always passed; a default, because it follows fields with one
    data: Any = None  # a table whose types the rows for the pipeline have
    whole: frozenset[str] = frozenset()  # features whose whole numbers were tried one by one: the tree holds for these only
    takes_rows: ClassVar[bool] = True

    def _predict(self, points: Array, rows: Sequence[Any], method: str) -> Any:
        """Return what a method of the pipeline makes of rows of any type, just as they are if they are frames or arrays."""
        frames, first = is_frame(rows[0]), rows[0]
        if frames:
            tables = [copy_of(table) for table in stacked(rows)]  # a step may write to what it is given
        elif isinstance(first, np.ndarray) and not (self.found.named or is_frame(self.data)):
            alike = len({row.dtype for row in rows}) == 1
            tables = [np.stack(rows)] if alike else [row[None] for row in rows]
        else:
            return self._predict_untyped(rows, method)
        return np.concatenate([np.asarray(self._predict_table(table, method)) for table in tables])

    def _predict_untyped(self, rows: Sequence[Any], method: str) -> Array:
        """Return what a method makes of rows without types of their own, each as a table in those that hold it."""
        table = self._table(rows)
        groups = narrow_columns(table, column_types(self.data)) if is_frame(table) else [(np.arange(len(rows)), table)]
        parts = [np.asarray(self._predict_table(part, method)) for _, part in groups]
        return np.concatenate(parts)[np.argsort(np.concatenate([at for at, _ in groups]))]

    def _predict_table(self, table: Any, method: str) -> Any:
        """Return what a method makes of all columns of a table, or of those of the fit if it refuses the others."""
        predict = getattr(self.model, method)
        if not is_frame(table):
            return predict(table)
        own, order = column_names(table), self._order
        own = order if set(own) == set(order) else own
        *others, fitted = dict.fromkeys(map(tuple, (own, order, self.found.names if self.found.named else order)))
        for names in others:
            with contextlib.suppress(Exception):  # the steps may refuse columns that they do not know
                return predict(with_columns(table, names, lambda name: unused_value(name, self.data)))
        return predict(with_columns(table, fitted, lambda name: unused_value(name, self.data)))

    @property
    def _order(self) -> list[str]:
        """The columns of the user's table."""
        if is_frame(self.data):
            return column_names(self.data)
        return self.found.names if self.found.named else list(self.schema.columns or self.schema.names)

    def _table(self, rows: Sequence[Any]) -> Any:
        """Return rows without types of their own as a table in the types of the user's."""
        order = self._order if self.found.named else self.found.names
        cells = [self._cells(row, order) for row in rows]
        by_column = [[row[k] for row in cells] for k in range(len(order))]
        return table_like(self.data, by_column, order, self.found.named, self.found.gaps)

    def _cells(self, row: Any, order: list[str]) -> list[Any]:
        """Return the values of a row in the order of the table's columns; those that the pipeline drops may be absent."""
        names = list(self.schema.columns or self.schema.names)
        if isinstance(row, Mapping) or is_series(row):
            by_name = {str(name): value for name, value in row.items()}
        else:
            by_name = dict(zip(names, row.tolist() if isinstance(row, np.ndarray) else row, strict=True))
        if not self.found.named:
            return [by_name[name] for name in names]
        return [by_name[name] if name in by_name else unused_value(name, self.data) for name in order]

    def with_features(self, features: Iterable[Feature]) -> ModelAdapter:
        """Return the same model and tree with some features replaced, as in ``ModelAdapter``."""
        new = list(features)
        for feature in new:
            if isinstance(feature, Numeric) and feature.name in self.whole and not feature.integer:
                raise CounterleafError(
                    f"feature {feature.name!r} is not whole, and the pipeline was read for its whole numbers only; "
                    f"use integer=True"
                )
        return ModelAdapter.with_features(self, new)

    def spread_codes(self, data: Any) -> Array:
        """Return the features of the data as one number per cell, NaN where a value is missing."""
        data = matching_columns(data, self.found)
        if self.schema.inferred:  # without the rows that the pipeline refuses
            data = rows_within(data, {f.name: f.values or () for f in self.schema if f.name in self.found.known})
        return ModelAdapter.spread_codes(self, data)

    def _predict_many(self, sheet: TableRows, at: Any, codes: tuple[Array, Array], method: str) -> Any:
        """Return what a method makes of the rows, group by group of rows whose columns have the same types."""
        before, after = codes
        groups = sheet.groups(before, after)
        if len(groups) == 1:
            return self._predict_group(sheet, at, codes, method)
        lines = np.arange(sheet.n)[at]
        parts = [np.asarray(self._predict_group(sheet, lines[g], (before[g], after[g]), method)) for g in groups]
        out = np.empty((len(after), *parts[0].shape[1:]), parts[0].dtype if method == "predict_proba" else object)
        for group, part in zip(groups, parts, strict=True):
            out[group] = part
        return out

    def _predict_group(self, sheet: TableRows, at: Any, codes: tuple[Array, Array], method: str) -> Any:
        rows = sheet.rewritten(at, *codes)
        rows = rows if sheet.typed else in_types_of(rows, self.data, self.schema.names, self.found.gaps)
        if sheet.named or not self.found.named:
            return self._predict_table(rows, method)
        return self._predict(codes[1], list(rows), method)


def _one_each(predict: Callable[[str], Any], n: int, output: int) -> Array:
    """Return one prediction for each of n rows; some models return them as an (n, 1) array."""
    method = "predict" if output < 0 else "predict_proba"
    try:
        found = np.asarray(predict(method))
    except CounterleafError:
        raise
    except Exception as error:  # a model may raise anything
        raise CounterleafError(f"the model's {method} raised {type(error).__name__}: {flat(error)}") from error
    if output >= 0 and found.ndim == 2 and found.shape[0] == n and output < found.shape[1]:
        return np.asarray(found[:, output])
    if found.shape == (n, 1):
        return found[:, 0]
    if found.shape != (n,):
        one = "label" if output < 0 else "probability per class"
        raise CounterleafError(
            f"the model's {method} returned an array of shape {found.shape}; expected one {one} for each of {n} rows"
        )
    return found


def _listed(feature: Finite) -> str:
    return f"the values {some(feature.values)}" + ", or none" * feature.missing


def adapt(model: Any, data: Any, schema: Schema | None, bounds: bool) -> ModelAdapter:
    """Match a model with the table."""
    if ends_in_pipeline(model):
        found = survey(model, table=table_of(data, schema, True), data=data)
        if reads_more(model, found, data):
            found = survey(model, names=column_names(data), data=data)
        made = _adapt_pipeline(model, found, data, schema, bounds)
    else:
        core = core_of(model)
        read = read_model(core, data)
        takes_categories = isinstance(read, Ensemble) and category_columns(innermost(core), read, data)
        if takes_categories or _lacks_booleans(data, schema):
            table = table_of(data, schema, True)
            found = survey(model, bare=True, names=_known_names(model, data), table=table, data=data)
            predicts = as_model(model)  # a Booster takes tables of its own
            found = replace(found, source=predicts, tree=as_model(found.tree))
            made = _adapt_pipeline(predicts, found, data, schema, bounds)
        else:
            made = _adapt_columns(model, core, read, data, schema, bounds)
    return replace(made, types=column_types(data))


def _lacks_booleans(data: Any, schema: Schema | None) -> bool:
    """Whether some boolean may be missing, which is a value of its own: the model must show where it sends that."""
    if data is None:
        return False
    features: Iterable[Any] = schema or (guess(name, one, False) for name, one in columns(data) if kind_of(one) in "bO")
    return any(isinstance(feature, Boolean) and feature.missing for feature in features)


def _adapt_pipeline(model: Any, found: Survey, data: Any, schema: Schema | None, bounds: bool) -> ModelAdapter:
    whole = data
    if data is not None:
        data = matching_columns(data, found)
        found = found if schema is not None or found.columns is not None else found.leaving(without_feature(data))
    dropped = found.unused if found.named else frozenset()
    infers = schema is None and data is not None
    if infers:
        levels = levels_by_name(data) if found.columns is None else {}  # a step of the user's may take them for categories
        schema = Schema.infer(data, bounds=bounds, finite={*found.finite, *levels}, leave=dropped)
        check_kinds(schema, found)
        schema = without_refused(schema, found, data)
    elif schema is None:
        schema = Schema(
            [
                Categorical(name, found.known[name]) if name in found.known else Numeric(name)
                for name in found.names
                if name not in dropped
            ]
        )
    if data is None and found.named and not ends_in_pipeline(model):  # a model that takes text as categories only
        data = row_of_categories(found.names, found.known)
    folded = fold(found, schema, data)
    fills = {**dict.fromkeys(set(schema.names) & found.unused, 0.0), **folded.fills}
    row_columns = () if set(schema.names) == set(found.names) or not found.named else tuple(found.names)
    aligned = infers and folded.tree.is_axis_aligned(np.repeat(np.arange(len(schema)), np.diff(schema.starts)))
    features = with_cents(schema, data) if aligned else schema.features  # a fine grid makes an oblique search hard
    schema = replace(schema, features=features, fills=fills, columns=row_columns, domains=folded.domains)
    guard = max(guard_of(model), 0.0 if folded.exact else _GUARD)
    gaps.check_allowed(schema, folded.routes)
    known = found, whole if whole is not None and is_frame(whole) else data, folded.whole
    return PipelineAdapter(model, schema, folded.tree, None, None, guard, found.rescale, *known, routes=folded.routes)


def _adapt_columns(
    model: Any, core: Any, tree: Tree | Ensemble, data: Any, schema: Schema | None, bounds: bool
) -> ModelAdapter:
    rescale = rescale_of(core, tree)
    found = gaps.read_routes(core, tree)
    model, guard = as_model(model), guard_of(model)
    known = _known_names(model, data)
    names = None if known is None else [str(name) for name in known]
    width = tree.n_features
    if schema is None and data is not None:
        schema = _infer_numbers(data, names, tree, bounds, found is not None)
    elif schema is None:
        schema = Schema([Numeric(name) for name in names or [f"x{k}" for k in range(width)]])
    to_columns = None if schema.numeric else schema.columns_of()
    size = len(schema) if to_columns is None else to_columns.shape[0]
    if size != width:
        described = f"{len(schema)} features" + (f" in {size} columns" if size != len(schema) else "")
        raise CounterleafError(f"the schema has {described}; the model needs {width}")
    if names is not None and size == len(schema) and schema.names != names:
        raise CounterleafError(f"the schema has the features [{some(schema.names)}]; the model was fitted on [{some(names)}]")
    routes = None if found is None else gaps.by_feature(*found, schema, data)
    gaps.check_allowed(schema, routes)
    if to_columns is not None and to_columns.is_identity:
        to_columns = None
    if to_columns is not None:
        tree = _over_variables(tree, to_columns)
    if isinstance(tree, Ensemble):
        tree = replace(tree, gap_right=None, gap_column=None)  # the routes hold them
    named = None if known is None else list(known)
    return ModelAdapter(model, schema, tree, named, to_columns, guard, rescale, routes=routes)


def _known_names(model: Any, data: Any) -> Any:
    """Return the names that a model knows its columns by; LightGBM puts underscores for the spaces of the data."""
    known = getattr(model, "feature_names_in_", None)
    known = getattr(as_model(innermost(model)), "feature_names_in_", None) if known is None else known
    if known is None or not is_frame(data):
        return known
    names = [name for name, _ in columns(data)]
    return names if [str(name).replace(" ", "_") for name in names] == [str(name) for name in known] else known


def _infer_numbers(data: Any, names: list[str] | None, tree: Tree | Ensemble, bounds: bool, routed: bool) -> Schema:
    """Return the features of the data of a model that takes numbers, and missing ones if these are ``routed``.

    ``names`` are those that it was fitted with.
    """
    if names is not None and is_frame(data):
        data = columns_of_fit(data, names, "model")
    found, width = columns(data), tree.n_features
    if len(found) != width:
        raise CounterleafError(f"data has {len(found)} columns; the model needs {width}")
    schema, by_name = Schema.infer(data, bounds=bounds), dict(found)
    for feature in schema:
        if isinstance(feature, Categorical):
            raise CounterleafError(
                f"column {feature.name!r} of the data holds text, and this model takes numbers: pass the whole pipeline"
            )
        if not routed and isinstance(feature, Numeric) and np.isnan(numbers_of(by_name[feature.name], feature.name)).any():
            raise CounterleafError(f"data has NaN or infinity in column {feature.name!r}; fill it in or drop those rows")
    if tree.is_axis_aligned():
        schema = replace(schema, features=with_cents(schema, data))
    return schema if names is None or is_frame(data) else schema.renamed(names)


def _over_variables(tree: Tree | Ensemble, to_columns: CSR) -> Tree | Ensemble:
    if isinstance(tree, Ensemble):
        return replace(tree, splits=replace(tree.splits, weights=tree.splits.weights @ to_columns))
    outputs = tree.outputs
    if outputs is not None and outputs.slope is not None:
        outputs = replace(outputs, slope=outputs.slope @ to_columns)
    return replace(tree, weights=tree.weights @ to_columns, outputs=outputs)
