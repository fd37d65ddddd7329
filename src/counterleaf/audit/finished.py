"""The parts of an audit that are finished, read again and checked: their pages, rows, columns and counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from counterleaf.audit.checking.proofs import PROOF_SCHEMA
from counterleaf.audit.folder import Folder, read_metadata
from counterleaf.audit.parts import Task, count
from counterleaf.audit.plan import Part
from counterleaf.errors import CounterleafError, flat


def finished(task: Task, part: Part) -> dict[str, int] | None:
    """Return the counts of a part that is complete, None if it has to be done, or done again because it is damaged.

    Raises
    ------
    CounterleafError
        If the part belongs to another audit.
    """
    folder = Folder(task.folder)
    if not folder.has_part(part.number, task.run, task.proofs):
        return None
    try:
        table = read_part(folder, part, task)
        if task.proofs:
            rows = zip(table["row"].to_pylist(), table["status"].to_pylist(), strict=True)
            if list(read_proofs(folder, part, task.run)) != [row for row, status in rows if status != "invalid"]:
                raise CounterleafError("the proofs are those of other rows")
    except CounterleafError:
        folder.part(part.number).unlink()
        return None
    return count(table)


def read_part(folder: Folder, part: Part, task: Task) -> Any:
    """Read the answers of a part, and check that the file is intact and belongs to the audit.

    Raises
    ------
    CounterleafError
        If it is not.
    """
    path = folder.part(part.number)
    table = _read(path, part, task.run)
    expected = np.arange(part.span.row, part.span.row + part.span.rows)
    try:
        names = [name for name in table.schema.names if name in task.schema.names]  # without inputs, not those that are kept
        same = (
            names == task.schema.names
            and len(set(table.schema.names)) == len(table.schema.names)
            and np.array_equal(table["row"].to_numpy(), expected)
        )
        same = same and bool((table["file"].to_numpy() == part.file).all())
        same = same and count(table) == (read_metadata(path) or {}).get("counts")
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise CounterleafError(f"{path} is damaged ({flat(error)}); remove it and run the audit again") from None
    if not same:
        raise CounterleafError(f"{path} was changed after it was written; remove it and run the audit again")
    return table


def _read(path: Any, part: Part, run: str) -> Any:
    about = read_metadata(path)
    if about is None:
        raise CounterleafError(f"{path} is damaged; remove it and run the audit again")
    if about.get("run") != run or about.get("part") != part.number:
        raise CounterleafError(f"{path} belongs to another audit; remove it and run the audit again")
    try:
        return parquet.ParquetFile(path, page_checksum_verification=True).read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CounterleafError(f"{path} is damaged ({flat(error)}); remove it and run the audit again") from None


def read_proofs(folder: Folder, part: Part, run: str) -> dict[int, str]:
    """Read the proofs of a part by row, and check that the file is intact and belongs to the audit.

    Raises
    ------
    CounterleafError
        If it is not.
    """
    path = folder.proofs(part.number)
    if not path.exists():
        raise CounterleafError(f"{folder.path} is not complete: {path} is missing; run the audit again")
    table = _read(path, part, run)
    if table.schema.remove_metadata() != PROOF_SCHEMA or table["proof"].null_count:
        raise CounterleafError(f"{path} was changed after it was written; remove it and run the audit again")
    return dict(zip(table["row"].to_pylist(), table["proof"].to_pylist(), strict=True))
