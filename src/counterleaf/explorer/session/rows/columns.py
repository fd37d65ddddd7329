"""Columns of a table as the page uses them: numbers, positions of categories, null for missing values."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.audit.report.cases import stated
from counterleaf.errors import CounterleafError, some
from counterleaf.explorer.session.rows.answers import MOST_ROWS
from counterleaf.explorer.session.scene import Scene
from counterleaf.table.features import Numeric
from counterleaf.table.frames import take
from counterleaf.table.rows import TableRows


def columns_of(scene: Scene, names: list[str]) -> dict[str, Any]:
    """Return the codes of some features of all rows; a value that cannot be read is null."""
    schema, rows = scene.explainer.schema, table_of(scene)
    unknown = [name for name in names if name not in schema.names]
    if unknown:
        raise CounterleafError(f"no feature {unknown[0]!r} in {scene.title}; expected one of {some(schema.names)}")
    table = TableRows(take(rows, slice(MOST_ROWS)), schema)
    columns = {}
    for name in dict.fromkeys(names):
        d = schema.index(name)
        feature = schema.features[d]
        codes = stated(table, feature, table.columns[d])
        whole = not isinstance(feature, Numeric)
        columns[name] = [(int(x) if whole else x) if np.isfinite(x) else None for x in codes.tolist()]
    return {"columns": columns, "n_rows": table.n}


def table_of(scene: Scene) -> Any:
    """Return the rows of a data set, or raise if it has none."""
    if scene.rows is None:
        raise CounterleafError(f"{scene.title} has no table of rows; paste some with Open, or pass --data")
    return scene.rows
