"""A user's model as the search sees it: a tree over the schema's variables, and the model's own word on a row."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from counterleaf.errors import CounterleafError, flat, some
from counterleaf.model.pipeline import fold
from counterleaf.model.probing import frame_of
from counterleaf.model.readers import read_tree
from counterleaf.model.steps import Survey, is_pipeline, survey
from counterleaf.model.tree import Tree
from counterleaf.sparse import CSR
from counterleaf.table import frames
from counterleaf.table.encoding import encode_table
from counterleaf.table.features import Categorical, Feature, Finite, Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

if TYPE_CHECKING:
    from counterleaf.table.rows import Sheet

_GUARD = 1e-12  # a pipeline scales first and sums then, a folded tree does both at once


@dataclass(frozen=True, slots=True, eq=False)
class ModelAdapter:
    """A model that takes columns of numbers."""

    model: Any
    schema: Schema
    tree: Tree  # over the schema's variables
    names: list[Any] | None  # of the columns, where the model knows them by name
    columns: CSR | None  # (columns, variables), None where they are the same
    guard: float  # the share of an oblique split's terms that its sum may be off by, if the model sums in another way

    takes_rows: ClassVar[bool] = False  # whether ``ask`` looks at rows, or at points alone

    def ask(self, points: Array, rows: list[Any]) -> Any:
        """What the model says of the points; ``rows`` are the same in the user's words."""
        X = points if self.columns is None else (self.columns @ points.T).T
        if self.names is None:
            return self.model.predict(X)
        import pandas as pd

        return self.model.predict(pd.DataFrame(X, columns=self.names, copy=False))

    def ask_many(self, sheet: Sheet, at: Any, before: Array, after: Array) -> Any:
        """What the model says of some rows of a sheet whose codes ``before`` have become ``after``."""
        return self.ask(after if self.schema.numeric else self.schema.spread(after), [])

    def labels(self, points: Array, rows: list[Any]) -> Array:
        """One label for each of the points; a model that fails is an error of one line."""
        return _one_each(lambda: self.ask(points, rows), len(points))

    def labels_many(self, sheet: Sheet, at: Any, before: Array, after: Array) -> Array:
        """One label for each of the rows; a model that fails is an error of one line."""
        return _one_each(lambda: self.ask_many(sheet, at, before, after), len(after))

    def with_features(self, features: Iterable[Feature]) -> ModelAdapter:
        """The same model and tree with some features given anew.

        No cut of the tree depends on the bounds or the grid of a number, nor on what a change costs: nothing is read again.
        """
        new: dict[str, Feature] = {}
        for feature in features:
            if not isinstance(feature, Feature):
                raise CounterleafError(
                    f"with_features got {feature!r}; expected features such as Numeric('age', 18, 90), known by their names"
                )
            if feature.name in new:
                raise CounterleafError(f"with_features got feature {feature.name!r} twice; give it once")
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
                    f"feature {feature.name!r} has {_told(feature)} and had {_told(old)}; "
                    f"with_features keeps the values: pass schema= to Explainer"
                )
        return replace(self, schema=self.schema.replace(*new.values()))

    def spread_codes(self, data: Any) -> Array:
        """The data as one number per cell, NaN where a value is missing."""
        codes = encode_table(self.schema, data)
        for d, feature in enumerate(self.schema):
            if not isinstance(feature, Numeric):
                codes[codes[:, d] == len(feature.values), d] = np.nan
        return codes


@dataclass(frozen=True, slots=True, eq=False)
class PipelineAdapter(ModelAdapter):
    """A pipeline, asked about rows of the table itself."""

    found: Survey
    data: Any
    takes_rows: ClassVar[bool] = True

    def ask(self, points: Array, rows: list[Any]) -> Any:
        """What the pipeline says of the rows, as the user would write them."""
        if hasattr(rows[0], "columns"):
            return np.concatenate([np.asarray(self.model.predict(table)) for table in frames.stacked(rows)])
        names, order = self.schema.columns or self.schema.names, self.found.names
        return self.model.predict(frame_of([_cells(row, list(names), order) for row in rows], self.found, self.data))

    def ask_many(self, sheet: Sheet, at: Any, before: Array, after: Array) -> Any:
        """What the pipeline says of the rows, as the user would write them."""
        groups = sheet.groups(before, after)
        if len(groups) == 1:
            return self._ask_alike(sheet, at, before, after)
        lines = np.arange(sheet.n)[at]
        out = np.empty(len(after), object)
        for group in groups:
            asked = functools.partial(self._ask_alike, sheet, lines[group], before[group], after[group])
            out[group] = _one_each(asked, len(group))
        return out

    def _ask_alike(self, sheet: Sheet, at: Any, before: Array, after: Array) -> Any:
        rows = sheet.rewritten(at, before, after)
        if sheet.named or not self.found.named:
            return self.model.predict(rows)
        return self.ask(after, list(rows))


def _one_each(ask: Callable[[], Any], n: int) -> Array:
    """What a model says of n rows as n labels; those in a column of their own, as some models give them, count too."""
    try:
        said = np.asarray(ask())
    except CounterleafError:
        raise
    except Exception as error:  # the model's own, whatever it may be
        raise CounterleafError(f"the model's predict raised {type(error).__name__}: {flat(error)}") from error
    if said.shape == (n, 1):
        return said[:, 0]
    if said.shape != (n,):
        raise CounterleafError(
            f"the model's predict gave an array of shape {said.shape}; expected one label for each of {n} rows"
        )
    return said


def _told(feature: Finite) -> str:
    return f"the values {some(feature.values)}" + ", or none" * feature.missing


def _cells(row: Any, names: list[str], order: list[str]) -> list[Any]:
    """The values of a row in the order of the pipeline's columns; ``names`` are those of a list or an array."""
    if isinstance(row, Mapping) or (hasattr(row, "index") and hasattr(row, "to_dict")):
        by_name = {str(name): value for name, value in row.items()}
    else:
        by_name = dict(zip(names, row.tolist() if isinstance(row, np.ndarray) else row, strict=True))
    return [by_name[name] for name in order] if set(order) <= by_name.keys() else list(by_name.values())


def adapt(model: Any, data: Any, schema: Schema | None, bounds: bool) -> ModelAdapter:
    """Match a model with the table: its data, its schema, or the names it was fitted with."""
    return _adapt_pipeline(model, data, schema, bounds) if is_pipeline(model) else _adapt_columns(model, data, schema, bounds)


def _adapt_pipeline(model: Any, data: Any, schema: Schema | None, bounds: bool) -> ModelAdapter:
    found = survey(model)
    if data is not None:
        given = [name for name, _ in frames.columns(data)]
        if found.named and hasattr(data, "columns"):
            fitted, there = set(found.names), set(given)
            missing = [name for name in found.names if name not in there]
            if missing:
                raise CounterleafError(f"data lacks the columns {missing}; the pipeline was fitted on {found.names}")
            given = [name for name in given if name in fitted]
            if given != found.names:
                raise CounterleafError(
                    f"data has its columns in another order: {given}; the pipeline was fitted on {found.names}: "
                    f"pass data[list(model.feature_names_in_)]"
                )
            data = data[[name for name in data.columns if str(name) in fitted]]
        elif len(given) != len(found.names):
            raise CounterleafError(f"data has {len(given)} columns; the pipeline needs {len(found.names)}")
    dropped = found.unused if found.named else frozenset()
    if schema is None and data is not None:
        schema = Schema.infer(data, bounds=bounds, finite=found.finite, leave=dropped)
        if found.named and not hasattr(data, "columns"):
            schema = schema.renamed([name for name in found.names if name not in dropped])
        _check_kinds(schema, found)
    elif schema is None:
        schema = Schema(
            [
                Categorical(name, found.known[name]) if name in found.known else Numeric(name)
                for name in found.names
                if name not in dropped
            ]
        )
    folded = fold(found, schema, data)
    fills = {**dict.fromkeys(set(schema.names) & found.unused, 0.0), **folded.fills}
    columns = () if set(schema.names) == set(found.names) else tuple(found.names)
    schema = replace(schema, fills=fills, columns=columns)
    return PipelineAdapter(model, schema, folded.tree, None, None, 0.0 if folded.exact else _GUARD, found, data)


def _check_kinds(schema: Schema, found: Survey) -> None:
    """What the data holds is what the pipeline was fitted on: numbers where it scales, known values where it encodes."""
    for feature in schema:
        if isinstance(feature, Categorical) and feature.name not in found.finite | found.unused:
            raise CounterleafError(
                f"column {feature.name!r} of the data holds {feature.values[0]!r}; the pipeline takes it for a number"
            )
        known = found.known.get(feature.name, ())
        if isinstance(feature, Categorical) and known and not set(feature.values) & set(known):
            raise CounterleafError(
                f"category {feature.values[0]!r} of column {feature.name!r} is unseen by the encoder; it knows {some(known)}"
            )


def _adapt_columns(model: Any, data: Any, schema: Schema | None, bounds: bool) -> ModelAdapter:
    tree = read_tree(model)
    known = getattr(model, "feature_names_in_", None)
    names = None if known is None else [str(name) for name in known]
    width = tree.n_features
    if data is not None and schema is None:
        found = frames.columns(data)
        if len(found) != width:
            raise CounterleafError(f"data has {len(found)} columns; the model needs {width}")
        if names is not None and hasattr(data, "columns") and [name for name, _ in found] != names:
            raise CounterleafError(f"data has the columns {[name for name, _ in found]}; the model was fitted on {names}")
        schema, by_name = Schema.infer(data, bounds=bounds), dict(found)
        for feature in schema:
            if isinstance(feature, Categorical):
                raise CounterleafError(
                    f"column {feature.name!r} of the data holds text, and this model takes numbers: pass the whole pipeline"
                )
            if isinstance(feature, Numeric) and np.isnan(frames.numbers_of(by_name[feature.name], feature.name)).any():
                raise CounterleafError(f"data has NaN or infinity in column {feature.name!r}; fill it in or drop those rows")
        if names is not None and not hasattr(data, "columns"):
            schema = schema.renamed(names)
    if schema is None:
        schema = Schema([Numeric(name) for name in names or [f"x{k}" for k in range(width)]])
    columns = None if schema.numeric else schema.columns_of()
    size = len(schema) if columns is None else columns.shape[0]
    if size != width:
        told = f"{len(schema)} features" + (f" in {size} columns" if size != len(schema) else "")
        raise CounterleafError(f"the schema has {told}; the model needs {width}")
    if names is not None and size == len(schema) and schema.names != names:
        raise CounterleafError(f"the schema has the features {schema.names}; the model was fitted on {names}")
    if columns is not None and columns.is_identity:
        columns = None
    if columns is not None:
        tree = _over_variables(tree, columns)
    return ModelAdapter(model, schema, tree, None if known is None else list(known), columns, 0.0)


def _over_variables(tree: Tree, columns: CSR) -> Tree:
    weights = tree.weights @ columns
    return Tree(tree.left, tree.right, weights, tree.bias, tree.value, tree.classes, closed=tree.closed, dtype=tree.dtype)
