"""The parts of an audit that are finished, read again and checked: their bytes, rows, columns and counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyarrow import parquet

from counterleaf.audit.checking.sealed import DamagedError, open_sealed
from counterleaf.audit.folder import Folder
from counterleaf.audit.parts import PROOF_SCHEMA, Task
from counterleaf.audit.plan import Part
from counterleaf.errors import CounterleafError


def finished(task: Task, part: Part) -> dict[str, int] | None:
    """Return the counts of a part that is complete, None if it has to be done, or done again because it is damaged."""
    folder = Folder(task.folder)
    if not folder.part(part.number).exists() or (task.proofs and not folder.proofs(part.number).exists()):
        return None
    try:
        table = read_part(folder, part, task)
        if task.proofs:
            rows = zip(table["row"].to_pylist(), table["status"].to_pylist(), strict=True)
            if list(read_proofs(folder, part, task.run)) != [row for row, status in rows if status != "invalid"]:
                raise DamagedError("the proofs are those of other rows")
    except DamagedError:
        folder.part(part.number).unlink()
        return None
    return task.count(table)


def open_part(path: Any, part: Part, run: str) -> tuple[parquet.ParquetFile, dict[str, Any]]:
    """Return a file of a part, intact and of this audit, and what it says about itself."""
    file, about = open_sealed(path)
    if about.get("run") != run or about.get("part") != part.number:
        raise CounterleafError(f"{path} belongs to another audit; remove it and run the audit again")
    return file, about


def read_part(folder: Folder, part: Part, task: Task) -> Any:
    """Read the answers of a part, and check that the file is intact and belongs to the audit."""
    path = folder.part(part.number)
    file, about = open_part(path, part, task.run)
    columns = [(one.name, one.type) for one in file.schema_arrow]
    expected = [(one.name, one.type) for one in task.written]
    names = {name for name, _ in expected}
    columns = [one for one in columns if one[0] in names or one[0] not in task.kept]
    if columns != expected or file.metadata.num_rows != part.span.rows:
        raise _other(path)
    table = file.read(use_threads=False)
    rows = np.arange(part.span.row, part.span.row + part.span.rows)
    same = np.array_equal(table["row"].to_numpy(), rows) and bool((table["file"].to_numpy() == part.file).all())
    if not same or task.count(table) != about.get("counts"):
        raise _other(path)
    return table


def read_proofs(folder: Folder, part: Part, run: str) -> dict[int, str]:
    """Read the proofs of a part by row, and check that the file is intact and belongs to the audit."""
    path = folder.proofs(part.number)
    if not path.exists():
        raise CounterleafError(f"{folder.path} is not complete: {path} is missing; run the audit again")
    table = open_part(path, part, run)[0].read(use_threads=False)
    if table.schema.remove_metadata() != PROOF_SCHEMA or table["proof"].null_count:
        raise _other(path)
    return dict(zip(table["row"].to_pylist(), table["proof"].to_pylist(), strict=True))


def _other(path: Any) -> DamagedError:
    """Return the error for a file that is intact and does not hold the rows and columns of its part."""
    return DamagedError(f"{path} was changed after it was written; remove it and run the audit again")
