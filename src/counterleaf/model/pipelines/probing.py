"""Made-up rows sent through the fitted steps of a pipeline, and what the tree behind the steps sees of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, some
from counterleaf.model.cuts import number_at, rank_of
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.pipelines.steps import UNFITTED, Survey
from counterleaf.model.readers.shared.leaf_probes import quiet
from counterleaf.model.tree import Tree
from counterleaf.table.features import Categorical, Feature, Numeric, Ordinal
from counterleaf.table.frames import (
    cells_of,
    column_names,
    columns,
    copy_of,
    is_frame,
    make_frame,
    matrix_of,
    select,
    take,
    with_columns,
)
from counterleaf.table.row_types import repeat_row, table_like
from counterleaf.table.schema import Schema
from counterleaf.types import Array, is_missing

_ENOUGH = 50  # rows of the data to compare
TOP = 2.0**500  # far beyond any table, and still finite when scaled up or down


class Probe:
    """Made-up rows and what a pipeline makes of them; columns and features are numbered as in the pipeline."""

    def __init__(self, found: Survey, schema: Schema, data: Any) -> None:
        self.found, self.schema, self.data = found, schema, data
        places = _places(found, schema)
        self.features: list[Feature] = [
            # of a column that the pipeline drops: one value, of the kind that the data has there
            Categorical(found.names[k], [unused_value(found.names[k], data)]) if d is None else schema.features[d]
            for k, d in enumerate(places)
        ]
        # the first variable of each feature, -1 if the pipeline drops it
        self.starts = [-1 if d is None else int(schema.starts[d]) for d in places]
        self.usual = [self._usual(k) for k in range(len(places))]  # a row that the pipeline accepts
        self._usual_row: tuple[list[Any], Any] | None = None  # as a table
        # the raw columns on which each column that the tree sees depends; set by ``Study`` if a step must be probed
        self.raws: list[tuple[int, ...]] = [(column.raw,) for column in found.columns or ()]

    def _usual(self, k: int) -> Any:
        feature, name = self.features[k], self.found.names[k]
        if not isinstance(feature, Numeric):
            known = self.found.known.get(name, feature.values)
            return next((value for value in feature.values if value in known), feature.values[0])
        if name in self.found.finite:
            raise CounterleafError(
                f"feature {feature.name!r} is a number in the schema, but the pipeline encodes its values; make it Categorical"
            )
        if name in self.found.marks:
            mark = self.found.marks[name]
            raise CounterleafError(
                f"feature {feature.name!r} is a number, but an imputer takes {mark!r} for missing; make that NaN beforehand"
            )
        return float(min(max(0.0, feature.lower), feature.upper))

    def row(self, k: int, value: Any) -> list[Any]:
        """Return the usual row with another value in column ``k``."""
        return [*self.usual[:k], value, *self.usual[k + 1 :]]

    def rows_of(self, codes: list[list[float]]) -> list[list[Any]]:
        """Return the rows with these codes: a number, or the place of a value, and of a missing one after the last."""
        return [
            [c if isinstance(f, Numeric) else (*f.values, None)[int(c)] for f, c in zip(self.features, line, strict=True)]
            for line in codes
        ]

    def variables_of(self, codes: Array) -> Array:
        """Return rows of codes as variables of the schema."""
        x = np.zeros((len(codes), self.schema.width))
        for k, (start, feature) in enumerate(zip(self.starts, self.features, strict=True)):
            if isinstance(feature, Numeric):
                x[:, start] = codes[:, k]
            elif start >= 0:  # otherwise the pipeline drops it
                x[np.arange(len(codes)), start + codes[:, k].astype(int)] = 1.0
        return x

    def encode(self, rows: list[list[Any]]) -> tuple[Array, Array | None]:
        """Return what the tree sees of the rows, and the leaves that they reach if the model numbers them."""
        made = transform(self.found.steps, frame_of(rows, self.found, self.data))
        return self._numbers(made), leaves(self.found.tree, made)

    def seen(self, rows: Any) -> Array:
        """Return what the tree sees of a table of raw rows."""
        return self._numbers(transform(self.found.steps, rows))

    def _numbers(self, made: Any) -> Array:
        """Return what the tree sees of rows that the steps made."""
        return dense(made) if self.found.codes is None else self.found.codes.numbers(made)

    def numbers(self, values: Mapping[int, Array]) -> Array:
        """Return what the tree sees of the usual row with other numbers in some columns, one row per entry of the arrays."""
        if self._usual_row is None or self._usual_row[0] is not self.usual:
            self._usual_row = (self.usual, frame_of([self.usual], self.found, self.data))
        return self.seen(repeat_row(self._usual_row[1], values))

    def numbers_at(self, raw: Array, column: Array, slot: Array, x: Array) -> Array:
        """Return what the tree sees in some columns of (n, m) numbers to try in raw columns, by ``slots``."""
        count = int(slot.max()) + 1
        values = {k: np.full((count, x.shape[1]), self.usual[k]) for k in np.unique(raw).tolist()}
        for k, numbers in values.items():
            numbers[slot[raw == k]] = x[raw == k]
        made = self.numbers({k: numbers.ravel() for k, numbers in values.items()})
        return np.asarray(made.reshape(count, x.shape[1], -1)[slot, :, column])

    def safely(self, k: int, numbers: Array) -> Array:
        """Return what the tree sees of the usual row with each of the numbers in column ``k``, NaN where the steps fail."""
        try:
            return self.numbers({k: numbers})
        except Exception:  # a step may raise anything, for all rows because of one
            failed = np.full((len(numbers), self.found.read.n_features), np.nan)
        half = len(numbers) // 2
        if half == 0 or (half > 4 and np.isnan([self.safely(k, numbers[[at]]) for at in (0, half, -1)]).all()):
            return failed  # the numbers are in order
        return np.concatenate([self.safely(k, numbers[:half]), self.safely(k, numbers[half:])])

    def settle(self) -> None:
        """Replace the usual row by one of which the steps make finite numbers: a row of the data, or one of zeros or ones."""
        error: Exception | None = None
        for row in self._candidates():
            try:
                made, _ = self.encode([row])
            except Exception as problem:  # the next row may do better
                if type(problem).__name__ == "NotFittedError":
                    raise CounterleafError(UNFITTED) from None
                error = error or problem
                continue
            if np.isfinite(made).all():
                self.usual = row
                return
        reason = "they make NaN or infinity of it" if error is None else first_line(error)
        if error is not None and self._takes(slice(0, None)):
            alone = self._takes(slice(0, 1))
            fails = "made-up rows like those of the data" if alone else "a row of the data alone"
            needs = "read nothing but the values of a row" if alone else "treat each row alone"
            instead = "not its index or the width of its numbers" if alone else "as OneHotEncoder does in place of get_dummies"
            raise CounterleafError(
                f"the steps of the pipeline ({self.found.title}) fail on {fails} ({reason}); "
                f"expected steps that {needs}, {instead}"
            )
        raise CounterleafError(
            f"the steps of the pipeline fail on every row that was tried ({reason}); pass data= with typical rows"
        )

    def _takes(self, rows: slice) -> bool:
        """Whether the pipeline takes some rows of the data as they are."""
        if self.data is None:
            return False
        try:
            leaves(self.found.tree, transform(self.found.steps, copy_of(take(self.data, rows))))
        except Exception:  # a step may raise anything
            return False
        return True

    def _candidates(self) -> Iterator[list[Any]]:
        """Yield rows that the pipeline may accept."""
        by_name = dict(columns(self.data)) if self.data is not None else {}
        found = [cells_of(column[:50]) for column in by_name.values()]
        table = dict(zip(by_name if self.found.named else self.found.names, found, strict=False))
        for r in range(len(found[0]) if found else 0):
            row = list(self.usual)
            for k, (feature, name) in enumerate(zip(self.features, self.found.names, strict=True)):
                value: Any = table[name][r] if name in table else None
                if isinstance(feature, Numeric):
                    row[k] = value if is_missing(value) else float(value)
                elif is_missing(value) or value in feature.values:
                    row[k] = value
            if not any(map(is_missing, row)):
                yield row
        for start in (0.0, 1.0, 0.5, 10.0):
            yield [
                float(min(max(start, feature.lower), feature.upper)) if isinstance(feature, Numeric) else usual
                for feature, usual in zip(self.features, self.usual, strict=True)
            ]

    def choices(self) -> dict[int, Array]:
        """Return {raw column: (values, columns)}, what the tree sees of each value of a finite feature, a missing one last."""
        tried: list[tuple[int, Any]] = []
        for k, feature in enumerate(self.features):
            if not isinstance(feature, Numeric):
                tried += [(k, value) for value in feature.values]
            elif self.found.columns is not None:
                tried.append((k, self.usual[k] + 1.0))
        rows = [self.row(k, value) for k, value in tried]
        try:
            (usual, *seen), _ = self.encode([self.usual, *rows])
        except Exception as error:
            for k, value in tried:
                self._try(k, value)
            raise CounterleafError(f"the pipeline fails on rows of the schema: {first_line(error)}") from None
        out: dict[int, list[Array]] = {}
        for (k, _), line in zip(tried, seen, strict=True):
            out.setdefault(k, []).append(line)
            if self.found.columns is None:
                continue
            raw = np.array(self.raws, np.int64).reshape(-1)
            strange = ~np.isclose(line, usual, rtol=0, atol=0, equal_nan=True) & (raw != k)
            if strange.any():
                other = self.found.names[raw[strange.argmax()]]
                raise CounterleafError(
                    f"column {self.found.names[k]!r} changes what the steps make of {other!r}; report your scikit-learn version"
                )
        for k, feature in enumerate(self.features):
            if not isinstance(feature, Numeric) and feature.missing:
                out[k].append(self._try(k, None))
        return {k: np.array(lines) for k, lines in out.items() if not isinstance(self.features[k], Numeric)}

    def takes(self, k: int, value: Any) -> bool:
        """Return whether the pipeline takes a value in a column."""
        with contextlib.suppress(CounterleafError):
            self._try(k, value)
            return True
        return False

    def _try(self, k: int, value: Any) -> Array:
        """Return what the tree sees of one value, or raise an error that names the value."""
        rows = frame_of([self.row(k, value)], self.found, self.data)
        try:
            made = transform(self.found.steps, rows)
            leaves(self.found.tree, made)
            return np.asarray(self._numbers(made)[0])
        except Exception as error:
            raise self._refusal(k, value, error) from None

    def _refusal(self, k: int, value: Any, error: Exception) -> CounterleafError:
        """Return the error for a value on which the pipeline fails."""
        name = self.found.names[k]
        if value is None:
            return CounterleafError(
                f"feature {name!r} may be missing, but the pipeline refuses that ({first_line(error)}); add a SimpleImputer"
            )
        row = dict(zip(self.found.names, self.row(k, value), strict=True))
        for other in (name, *self.found.known):  # the cause may be another column none of whose values is known
            odd = row[other]
            if "unknown categor" in str(error) and odd not in self.found.known.get(other, [odd]):
                return CounterleafError(
                    f"category {odd!r} of column {other!r} is unseen by the encoder; leave it out, fit the pipeline "
                    f"on it, or give the encoder handle_unknown='ignore'"
                )
        return CounterleafError(f"the pipeline fails on {value!r} in column {name!r}: {first_line(error)}")

    def fills(self) -> dict[str, float]:
        """Return the number by which an imputer replaces a missing one, if the steps make the same of both."""
        out = {}
        for k, feature in enumerate(self.features):
            for value in self.found.statistics.get(self.found.names[k], []) if isinstance(feature, Numeric) else []:
                with contextlib.suppress(Exception):  # the pipeline may have no route for a missing number
                    missing, filled = (self.encode([self.row(k, cell)])[0] for cell in (None, float(value)))
                    if np.array_equal(missing, filled):
                        out[feature.name] = float(value)
        return out


def without_refused(schema: Schema, found: Survey, data: Any) -> Schema:
    """Return a schema inferred from data without the categories that the pipeline refuses: it was not fitted on them.

    A model that takes categories as they are would accept a level that no row of the data has, and never saw it.
    """
    finite = {feature.name: feature for feature in schema if not isinstance(feature, Numeric)}
    unknown = {name: set(finite[name].values) - set(known) for name, known in found.known.items() if name in finite}
    unseen = {}
    if found.codes is not None:
        levels = {
            name: set(f.values)
            for name, f in finite.items()
            if isinstance(f, Ordinal) and (name in found.known or found.columns is None)
        }
        unseen = {name: levels[name] - set(cells_of(column)) for name, column in columns(data) if name in levels}
    if not any(unknown.values()) and not any(unseen.values()):
        return schema
    probe = Probe(found, schema, data)
    if found.columns is None:
        probe.settle()
    features = list(schema)
    for k, name in enumerate(found.names):
        refused = {value for value in unknown.get(name, ()) if not probe.takes(k, value)} | unseen.get(name, set())
        if refused:
            old: Any = schema.features[schema.index(name)]
            kind = Ordinal if isinstance(old, Ordinal) else Categorical
            kept = [value for value in old.values if value not in refused]
            features[schema.index(name)] = kind(name, kept, missing=old.missing)
    return replace(schema, features=features)


def frame_of(rows: list[list[Any]], survey: Survey, data: Any) -> Any:
    """Return rows of raw values, in the order of ``survey.names``, as a table that the pipeline accepts, like ``data``."""
    by_column = [[row[k] for row in rows] for k in range(len(survey.names))]
    return table_like(data, by_column, survey.names, survey.named, survey.gaps)


def transform(steps: Sequence[Any], rows: Any) -> Any:
    """Return what a tree behind the fitted ``steps`` sees."""
    with quiet():  # encoders warn about unknown categories, which are expected here
        for step in steps:
            rows = step.transform(rows)
    return rows


def dense(rows: Any) -> Array:
    """Return a frame, array or sparse matrix as float64, the missing cells of nullable columns as NaN."""
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    return matrix_of(rows)


def leaves(model: Any, rows: Any) -> Array | None:
    """Return the leaf of each row that the steps made, None if the model does not number its leaves."""
    tree = model if isinstance(model, Tree) else getattr(model, "tree_", None)
    if isinstance(tree, Tree):
        return tree.apply(dense(rows))
    if isinstance(model, Ensemble):
        return None
    with quiet():
        if any(c.__module__.startswith("sklearn.tree.") for c in type(model).__mro__):
            return np.asarray(model.apply(rows))
        model.predict(rows)  # which checks them
        return None


def slots(raw: Array) -> Array:
    """Return the made-up row that serves each split on a raw column: one row serves one split of each raw column."""
    slot = np.zeros(len(raw), np.int64)
    for k in np.unique(raw).tolist():
        slot[raw == k] = np.arange((raw == k).sum())
    return slot


def first(holds: Callable[[Array], Array], size: int, points: int) -> Array:
    """Return the (size,) least numbers at which monotone conditions hold: inf where one never does, -inf where it always does.

    ``holds`` takes (size, points) numbers and returns whether the condition of their row holds.
    """
    ends = np.repeat([[-TOP, 0.0, TOP]], size, axis=0)
    at_ends = np.concatenate([holds(ends[:, [k] * points])[:, :1] for k in range(3)], axis=1)
    low = np.where(at_ends[:, 1], ends[:, 0], ends[:, 1])
    high = np.where(at_ends[:, 1], ends[:, 1], ends[:, 2])
    found = first_between(holds, low, high, points)
    return np.where(at_ends[:, 0], -np.inf, np.where(at_ends[:, 2], found, np.inf))


def first_between(holds: Callable[[Array], Array], low: Array, high: Array, points: int) -> Array:
    """Return the (size,) numbers, between ``low`` and ``high``, at which conditions hold and before which they do not."""
    low, high = rank_of(low), rank_of(high)
    each = np.arange(len(low))
    while (high - low > 1).any():
        step = -(-(high - low) // (points + 1))
        tried = np.minimum(low[:, None] + step[:, None] * np.arange(1, points + 1), high[:, None])
        there = holds(number_at(tried)) | (tried == high[:, None])
        at = np.where(there.any(axis=1), there.argmax(axis=1), points)
        around = np.concatenate([low[:, None], tried, high[:, None]], axis=1)
        low, high = around[each, at], around[each, at + 1]
    return np.asarray(number_at(high))


def _places(found: Survey, schema: Schema) -> list[int | None]:
    """Return the position in the schema of each raw column, None if the pipeline drops it.

    Columns are matched by name if the pipeline knows names, else by their order.
    """
    described, known = set(schema.names), set(found.names)
    fits = known - found.unused <= described <= known if found.named else len(schema) == len(found.names)
    if not fits:
        raise CounterleafError(
            f"the schema has the features {some(schema.names)}; the pipeline was fitted on the columns {some(found.names)}"
        )
    if not found.named:
        return list(range(len(schema)))
    return [schema.index(name) if name in described else None for name in found.names]


def unused_value(name: str, data: Any) -> Any:
    """Return a value for a column that the pipeline drops, of the kind that the data has there."""
    values = [] if data is None else cells_of(dict(columns(data)).get(name, np.empty(0)))
    return next((value for value in values if not is_missing(value)), 0.0)


def first_line(error: Exception) -> str:
    """Return the first line of an error's message."""
    return str(error).strip().split("\n")[0]


def matching_columns(data: Any, found: Survey) -> Any:
    """Return the columns of the data that the pipeline was fitted on, checked to be complete and in its order.

    An array for a pipeline that knows its columns by name becomes a frame with these names.
    """
    names = [name for name, _ in columns(data)]
    if not (found.named and is_frame(data)):
        if len(names) != len(found.names):
            raise CounterleafError(f"data has {len(names)} columns; the pipeline needs {len(found.names)}")
        return make_frame(np.asarray(data), names=found.names) if found.named else data
    return columns_of_fit(data, found.names, "pipeline", found.unused, ": pass data[list(model.feature_names_in_)]")


def columns_of_fit(data: Any, names: Sequence[str], what: str, unused: frozenset[str] = frozenset(), hint: str = "") -> Any:
    """Return the columns of a frame that a model was fitted on, checked to be there and in its order."""
    fitted, own = set(names), [name for name, _ in columns(data)]
    present = set(own)
    if missing := [name for name in names if name not in present and name not in unused]:
        raise CounterleafError(f"data lacks the columns [{some(missing)}]; the {what} was fitted on [{some(names)}]")
    own = [name for name in own if name in fitted]
    if own != [name for name in names if name in present]:
        raise CounterleafError(
            f"data has its columns in another order: [{some(own)}]; the {what} was fitted on [{some(names)}]{hint}"
        )
    return select(data, fitted)


def table_of(data: Any, schema: Schema | None, named: bool) -> tuple[list[str], bool] | None:
    """Return the columns of a table and whether they have names: those of the data, else those of the schema."""
    if data is not None:
        return [name for name, _ in columns(data)], is_frame(data)
    return None if schema is None else (list(schema.columns or schema.names), named)


def reads_more(model: Any, found: Survey, data: Any) -> bool:
    """Whether a pipeline, given all columns of a frame, predicts otherwise than from those that its first step names."""
    if not (found.named and is_frame(data)) or set(column_names(data)) <= set(found.names):
        return False
    rows = take(data, slice(0, _ENOUGH))
    with quiet():
        try:
            whole = np.asarray(model.predict(rows))
        except Exception:  # it refuses other columns
            return False
        try:
            return not np.array_equal(whole, np.asarray(model.predict(with_columns(rows, found.names, lambda name: 0.0))))
        except Exception:  # it needs them
            return True
