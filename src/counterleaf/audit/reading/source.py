"""One input file: its columns, its division into parts, and the rows of a part."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from counterleaf.audit.inputs import CSV, PARQUET, Input
from counterleaf.audit.reading import csv_rows, json_rows, parquet_rows
from counterleaf.audit.reading.cells import Problems, cell_type
from counterleaf.audit.reading.records import DAMAGED, cut, guarded, open_binary, read_ranges, record_ends
from counterleaf.errors import CounterleafError, flat
from counterleaf.table.features import Feature


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a file: its first row, its number of rows, and where they are.

    ``begin`` and ``end`` are positions in bytes, or row groups of a Parquet file, whose first ``skip`` rows are in other parts.
    """

    row: int
    rows: int
    begin: int
    end: int
    skip: int = 0


@dataclass(frozen=True, slots=True)
class Form:
    """The columns of a file, and the separator and decimal mark of a CSV file."""

    columns: tuple[str, ...]
    separator: str = ","
    decimal: str = "."


Content = bytes | list[pa.RecordBatch]  # the rows of a part as they are read


def survey(source: Input, features: Mapping[str, Feature], part_rows: int) -> tuple[Form, list[Span]]:
    """Read the columns of a file and divide it into parts; a text file is read to its end."""
    if source.kind == PARQUET:
        file = parquet_rows.open_parquet(source.path)
        names = file.schema_arrow.names
        return Form(tuple(names)), _spans(parquet_rows.divide(parquet_rows.row_groups(file), part_rows))
    try:
        if source.kind == CSV:
            columns, separator, begin = csv_rows.read_header(source.path)
            mark = csv_rows.decimal_mark(source.path, begin, separator, columns, features)
            form = Form(tuple(columns), separator, mark)
        else:
            form, begin = Form(tuple(json_rows.read_columns(source.path))), 0
        with open_binary(source.path) as opened:
            opened.seek(begin)
            if source.kind == CSV:
                check = functools.partial(csv_rows.swallowed, form=form)
                ends = record_ends(opened, begin, form.separator.encode(), check)
            else:
                ends = record_ends(opened, begin, None)
            return form, _spans(cut(ends, begin, part_rows))
    except DAMAGED as error:
        raise guarded(source.path, error) from None
    except CounterleafError as error:
        raise error if str(error).startswith(source.path) else CounterleafError(f"{source.path}: {error}") from None


def _spans(pieces: Any) -> list[Span]:
    out, row = [], 0
    for rows, *where in pieces:
        out.append(Span(row, rows, *where))
        row += rows
    return out


def column_type(source: Input, name: str, feature: Feature | None) -> pa.DataType:
    """Return the type in which a column of a file is kept."""
    if source.kind != PARQUET:
        return cell_type(feature)
    columns = parquet_rows.open_parquet(source.path).schema_arrow
    if len(columns.get_all_field_indices(name)) > 1:
        raise CounterleafError(f"{source.path} has two columns named {name!r}; names must differ")
    found = columns.field(name).type
    return found.value_type if pa.types.is_dictionary(found) else found


def read(source: Input, spans: Sequence[Span], names: Sequence[str]) -> Iterator[tuple[Span, Content]]:
    """Yield the parts of a file with their content; those of a Parquet file lie in the same row groups."""
    if source.kind == PARQUET:
        yield from parquet_rows.read(source.path, spans, names)
    else:
        contents = read_ranges(source.path, [(span.begin, span.end) for span in spans])
        yield from zip(spans, contents, strict=True)


def batches(
    source: Input, form: Form, span: Span, content: Content, wanted: Mapping[str, Feature | None]
) -> Iterator[tuple[pa.RecordBatch, Problems]]:
    """Yield the rows of a part, with the reasons for those that cannot be read; a column without a feature is only kept."""
    if not isinstance(content, bytes):
        for batch in content:
            yield batch, {}
        return
    try:
        if source.kind == CSV:
            yield csv_rows.parse(content, span.rows, form, wanted)
        else:
            yield json_rows.parse(content, span.rows, wanted)
    except CounterleafError as error:
        raise CounterleafError(f"{source.path}: {flat(error)}") from None
