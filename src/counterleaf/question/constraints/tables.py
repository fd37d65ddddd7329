"""Constraints that refer to a whole table: the answer is one of its rows, or near to one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, brief, number
from counterleaf.question.constraints.kinds import Constraint, Part, is_list, is_value, short, verb
from counterleaf.question.constraints.lowering import Limits
from counterleaf.strict_json import check_whole, plain
from counterleaf.table.frames import column_names, columns, copy_of, is_frame, make_frame
from counterleaf.table.schema import Schema, encode_table
from counterleaf.types import Array


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Among(Constraint):
    """x is one of the rows of a table."""

    rows: Any
    _last: list[tuple[Schema, Array]] = field(init=False, default_factory=list)  # the vectors that were computed last
    relative = False

    def add_to(self, limits: Limits, schema: Schema, sources: Array) -> None:
        """Choose from those rows that all such constraints have."""
        known = self._last[0] if self._last else None
        if known is None or known[0] is not schema:
            known = schema, aligned("among", self.rows, schema)
            self._last[:] = [known]
        rows, pool = known[1], limits.pool
        limits.pool = rows if pool is None else pool[(pool[:, None] == rows[None]).all(axis=2).any(axis=1)]

    def to_json(self) -> dict[str, Any]:
        """Return its entry in a file: the rows as lists, or as objects if they have names."""
        cells = [[plain(value) for value in row] for row in np.asarray(self.rows).tolist()]
        names = column_names(self.rows) if is_frame(self.rows) else None
        return {"among": cells if names is None else [dict(zip(names, row, strict=True)) for row in cells]}

    def in_words(self, schema: Schema) -> str:
        return f"the changed row must be one of {len(self.rows):,} given rows"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Near(Constraint):
    """x is as near to a row of its class as most rows of the data are to each other."""

    rows: Any
    quantile: float
    metric: str
    _last: list[Any] = field(init=False, default_factory=list)  # what was computed last for a schema and a tree
    relative = False

    def add_to(self, limits: Limits, schema: Schema, sources: Array) -> None:
        """Leave it to a search of its own."""
        limits.near = self

    def vectors(self, schema: Schema) -> Array:
        """The rows as variables of a schema."""
        return aligned("near", self.rows, schema)

    def to_json(self) -> dict[str, Any]:
        """Refuse to write it."""
        raise CounterleafError(
            f"{self} cannot be written, because it refers to a whole table; make it in Python with near(...)"
        )

    def in_words(self, schema: Schema) -> str:
        return f"the changed row must be as near to a row of its class as {100 * self.quantile:g} % of the data are"


def aligned(verb: str, rows: Any, schema: Schema) -> Array:
    """The rows of ``among`` or ``near`` as variables of a schema."""
    if is_frame(rows):
        names = column_names(rows)
        if sorted(names) != sorted(schema.names):
            raise CounterleafError(f"{verb} got the columns {names}; expected {schema.names}")
    elif np.shape(rows)[1] != len(schema):
        raise CounterleafError(f"{verb} got rows of {np.shape(rows)[1]} numbers; expected {len(schema)}, one per feature")
    vectors = encode_table(schema, rows)
    for d, name in enumerate(schema.names):
        if name in schema.fills:
            vectors[np.isnan(vectors[:, d]), d] = schema.fills[name]
    known = [schema.gaps.get(name) is not None for name in schema.names]
    wrong = ~(np.isfinite(vectors) | (np.isnan(vectors) & known)).all(axis=0)
    if wrong.any():
        bad = schema.names[int(np.flatnonzero(wrong)[0])]
        raise CounterleafError(f"{verb} got NaN or infinity in column {bad!r}; fill it in or drop those rows")
    return vectors if schema.numeric else schema.spread(vectors)


def _is_row(part: Any) -> bool:
    cells = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return len(cells) > 0 and getattr(part, "twice", None) is None and all(cell is None or is_value(cell) for cell in cells)


def _are_rows(part: Any) -> bool:
    shapes = {tuple(sorted(row)) if isinstance(row, dict) else len(row) for row in part} if is_list(_is_row)(part) else ()
    return len(shapes) == 1


def _read_rows(rows: list[Any]) -> Among:
    """The rows of a file: objects by name, or lists in the order of the features."""
    for row in rows:
        check_whole(row.values() if isinstance(row, dict) else row, "a value of among")
    if isinstance(rows[0], dict):
        return among(make_frame([dict(row) for row in rows]))
    return among([[math.nan if cell is None else cell for cell in row] for row in rows])


@verb(Part("a list of rows, all with the same columns; for the rows of a table file use --among", _are_rows), read=_read_rows)
def among(rows: Any) -> Among:
    """Choose the answer from the rows of a table.

    Parameters
    ----------
    rows : DataFrame or array-like of shape (n_rows, n_features)
        The candidates. They are copied.

    Examples
    --------
    >>> among([[0.0, 1.0], [2.0, 3.0]])
    among(2 rows)
    """
    columns(rows)
    return Among(f"among({len(rows)} rows)", copy_of(rows))


def near(data: Any, quantile: float = 0.99, metric: str = "L1") -> Near:
    """Keep the answer near the data: as close to a row of its class as most rows are to each other.

    Experimental: it may change in any version. It takes a single tree and constraints on single features; other parts of a
    question that it cannot be combined with are refused.

    The distance of two rows is the sum over the features of their difference, relative to the range of the feature in ``data``;
    two different categories differ by 1. The radius is a quantile, over the rows of ``data``, of the distance to the nearest
    other row to which the model assigns the same class. The distance of the answer to some row of its class is at most the
    radius.

    Parameters
    ----------
    data : DataFrame or array-like of shape (n_rows, n_features)
        Typical rows, such as the training data. They are copied.
    quantile : float, default=0.99
        The share of the rows that are as near to another row of their class as the answer has to be; above 0 and at most 1.
    metric : {"L1", "L2"}, default="L1"
        The sum of the differences, or of their squares.

    Raises
    ------
    CounterleafError
        If ``data`` is not a table, or another argument does not fit.

    Examples
    --------
    >>> near([[0.0, 1.0], [2.0, 3.0]], quantile=0.9)
    near(2 rows, quantile=0.9)
    """
    columns(data)
    share = number(quantile, "quantile= of near")
    if not 0.0 < share <= 1.0:
        raise CounterleafError(f"quantile= of near is {brief(quantile)}; expected a number above 0 and at most 1")
    if not isinstance(metric, str) or metric not in ("L1", "L2"):
        raise CounterleafError(f'metric= of near is {brief(metric)}; expected "L1" or "L2"')
    words = f"near({len(data)} rows, quantile={short(share)}" + (")" if metric == "L1" else f", metric={metric!r})")
    return Near(words, copy_of(data), share, metric)
