"""Parquet files that carry the hash of all of their bytes, so that the change of any byte is noticed.

The SHA-256 of a file is between its rows and its footer. A reader of Parquet finds the footer from the end of the file and
the rows by the footer, and never looks there.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from counterleaf.audit.files import write_whole
from counterleaf.audit.folder import KEY
from counterleaf.errors import CounterleafError, flat

_END = 8  # bytes after the footer: its length, and a mark


class DamagedError(CounterleafError):
    """A file of an audit whose bytes are not those that were written."""


def write_sealed(path: Any, table: pa.Table, about: dict[str, Any]) -> None:
    """Write a table and what it says about itself, as one row group."""
    table = table.replace_schema_metadata({KEY: json.dumps(about, sort_keys=True)})
    is_proof = "proof" in table.schema.names
    sink = pa.BufferOutputStream()
    parquet.write_table(
        table,
        sink,
        row_group_size=max(1, len(table)),
        compression="zstd" if is_proof else "snappy",
        use_dictionary=[field.name for field in table.schema if _has_few_values(field)],
        column_encoding={"row": "DELTA_BINARY_PACKED"},
        write_statistics=False,
    )
    content = sink.getvalue().to_pybytes()
    at = _footer(content)
    write_whole(path, b"".join((content[:at], hashlib.sha256(content).digest(), content[at:])))


def open_sealed(path: Any) -> tuple[parquet.ParquetFile, dict[str, Any]]:
    """Return a file that is intact, and what it says about itself."""
    content = path.read_bytes()
    at = _footer(content)
    seal = content[max(0, at - 32) : max(0, at)]
    found = hashlib.sha256(memoryview(content)[: max(0, at - 32)])
    found.update(memoryview(content)[max(0, at) :])
    if found.digest() != seal:
        raise DamagedError(f"{path} is damaged; remove it and run the audit again")
    try:
        file = parquet.ParquetFile(pa.BufferReader(content))
        about = json.loads((file.metadata.metadata or {})[KEY])
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise DamagedError(f"{path} is damaged ({flat(error)}); remove it and run the audit again") from None
    return file, about


def written_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns as Parquet gives them back; it has no seconds, for instance."""
    sink = pa.BufferOutputStream()
    parquet.write_table(schema.empty_table(), sink)
    return parquet.read_schema(pa.BufferReader(sink.getvalue())).remove_metadata()


def _has_few_values(field: pa.Field) -> bool:
    """Whether a column has few different values, as text has, unlike proofs."""
    return field.name in ("file", "leaf", "n_changed") or (bool(pa.types.is_string(field.type)) and field.name != "proof")


def _footer(content: bytes) -> int:
    """Return where the footer begins, as the end of the file says."""
    return len(content) - _END - int.from_bytes(content[-_END:-4], "little")
