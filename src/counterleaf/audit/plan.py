"""The plan of an audit: its inputs, divided into parts that depend neither on the workers nor on interruptions."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from counterleaf.audit.inputs import PARQUET, Input
from counterleaf.audit.reading.source import Form, Span, column_type, survey
from counterleaf.errors import CounterleafError, near, some
from counterleaf.table.arrow.rows import check_columns
from counterleaf.table.features import Feature
from counterleaf.table.schema import Schema

PLACE = pa.schema([("file", pa.int32()), ("row", pa.int64())])  # the columns of a part that say which row a line is about
TOGETHER = 8  # parts of one row group that are read in one go, where reading takes most of the time


@dataclass(frozen=True, slots=True)
class Part:
    """Part ``number`` of an audit: some rows of the input at position ``file``."""

    number: int
    file: int
    span: Span


@dataclass(frozen=True, slots=True)
class Unit:
    """Parts that one worker does in a row.

    A unit is ``sequential`` if its file has to be read from the beginning: all parts of a compressed file.
    """

    parts: tuple[Part, ...]
    sequential: bool = False

    @property
    def rows(self) -> int:
        """The number of rows of its parts."""
        return sum(part.span.rows for part in self.parts)

    def runs(self, inputs: Sequence[Input]) -> Iterator[list[Part]]:
        """Yield the parts that are read together: those of a text file, or of the same row groups of a Parquet file."""

        def where(part: Part) -> tuple[int, ...]:
            is_parquet = inputs[part.file].kind == PARQUET
            return (part.file, part.span.begin, part.span.end) if is_parquet else (part.file,)

        for _, parts in itertools.groupby(self.parts, where):
            yield list(parts)


@dataclass(frozen=True, slots=True)
class Plan:
    """The inputs of an audit, their forms, and their parts in order."""

    inputs: tuple[Input, ...]
    forms: tuple[Form, ...]
    parts: tuple[Part, ...]
    part_rows: int

    @property
    def rows(self) -> int:
        """The number of rows of all inputs."""
        return sum(part.span.rows for part in self.parts)

    def units(self, missing: Collection[int], together: int = 1) -> Iterator[Unit]:
        """Yield the missing parts: each alone, up to ``together`` of the same row groups, or all of a compressed file."""
        waiting: list[Part] = []
        for part in self.parts:
            if part.number not in missing:
                continue
            if waiting and not self._together(waiting, part, together):
                yield self._unit(waiting)
                waiting = []
            waiting.append(part)
        if waiting:
            yield self._unit(waiting)

    def _unit(self, parts: list[Part]) -> Unit:
        return Unit(tuple(parts), self.inputs[parts[0].file].is_compressed)

    def _together(self, parts: list[Part], part: Part, most: int) -> bool:
        last, source = parts[-1], self.inputs[part.file]
        if last.file != part.file:
            return False
        same_groups = (last.span.begin, last.span.end) == (part.span.begin, part.span.end)
        return source.is_compressed or (source.kind == PARQUET and same_groups and len(parts) < most)


def make_plan(inputs: Sequence[Input], schema: Schema, part_rows: int, keep: Sequence[str]) -> Plan:
    """Read the columns of the inputs, check them, and divide the rows into parts."""
    features = {feature.name: feature for feature in schema}
    forms: list[Form] = []
    parts: list[Part] = []
    for k, source in enumerate(inputs):
        form, spans = survey(source, features, part_rows)
        check_columns(list(form.columns), schema, source.path)
        for name in keep:
            if name not in form.columns:
                raise CounterleafError(
                    f"--keep names {name!r}; {source.path} has the columns [{some(form.columns, 8)}]{near(name, form.columns)}"
                )
        forms.append(form)
        parts += [Part(len(parts) + at, k, span) for at, span in enumerate(spans)]
    if not parts:
        raise CounterleafError(f"{some([source.path for source in inputs], 3)}: there are no rows; expected at least one")
    return Plan(tuple(inputs), tuple(forms), tuple(parts), part_rows)


def kept_columns(
    inputs: Sequence[Input], forms: Sequence[Form], schema: Schema, keep: Sequence[str] | None
) -> pa.Schema | None:
    """Return the columns to pass on with their types, which must be the same in all files."""
    if not keep:
        return None
    features: Mapping[str, Feature] = {feature.name: feature for feature in schema}
    fields = []
    for name in keep:
        if name in PLACE.names:
            raise CounterleafError(f"--keep names {name!r}, which is the name of a column of the audit; rename it in the files")
        kinds = {source.path: column_type(source, name, features.get(name)) for source in inputs}
        first, *others = kinds.items()
        odd = next(((path, kind) for path, kind in others if kind != first[1]), None)
        if odd is not None:
            raise CounterleafError(
                f"column {name!r} is {first[1]} in {first[0]} and {odd[1]} in {odd[0]}; expected one type in all files"
            )
        fields.append(pa.field(name, first[1]))
    return pa.schema(fields)
