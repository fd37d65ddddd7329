"""Columns of the inputs of an audit, read again next to its answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa

from counterleaf.audit.manifest import Manifest
from counterleaf.audit.plan import TOGETHER, Part
from counterleaf.audit.reading.source import batches, read
from counterleaf.errors import CounterleafError, near, some
from counterleaf.table.features import Feature
from counterleaf.table.schema import Schema


def input_columns(
    manifest: Manifest, schema: Schema, names: Sequence[str], parts: Collection[int] | None = None
) -> Iterator[tuple[Part, pa.Table]]:
    """Yield the parts of an audit in order, each with some columns of its rows as the inputs have them."""
    plan, features = manifest.plan, {feature.name: feature for feature in schema}
    wanted: dict[str, Feature | None] = {name: features.get(name) for name in names}
    for source, form in zip(plan.inputs, plan.forms, strict=True):
        source.check()
        missing = [name for name in names if name not in form.columns]
        if missing:
            raise CounterleafError(
                f"{source.path} has no column {missing[0]!r}; its columns are [{some(form.columns, 8)}]"
                f"{near(missing[0], form.columns)}"
            )
    for unit in plan.units({part.number for part in plan.parts} if parts is None else parts, TOGETHER):
        file = unit.parts[0].file
        source, form, by_row = plan.inputs[file], plan.forms[file], {part.span.row: part for part in unit.parts}
        for span, content in read(source, [part.span for part in unit.parts], list(wanted)):
            found = [batch for batch, _ in batches(source, form, span, content, wanted)]
            yield by_row[span.row], pa.Table.from_batches(found).select(list(wanted))
