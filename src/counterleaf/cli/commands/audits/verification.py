"""``counterleaf verify`` for the folder of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from counterleaf.audit.files import AnyPath
from counterleaf.batch.progress import shown
from counterleaf.cli.shell import FAILED, one_line
from counterleaf.errors import CounterleafError, flat, not_installed

if TYPE_CHECKING:
    from counterleaf.audit.checking.verify import AuditCheck

_LISTED = 20  # failures that are listed
_LONGEST = 600  # characters of such a line


def verify_folder(folder: AnyPath, model: Any, jobs: int) -> None:
    """Check the folder of an audit, and print the result."""
    with one_line("not all answers were checked"):
        if model is not None:
            raise CounterleafError(f"--model is {model}, and {folder} holds its own model, which is checked; omit --model")
        if jobs == 0:
            raise CounterleafError("--jobs is 0; expected a number of workers from 1, or -1 for every core")
        found = _check(folder, jobs)
        for file, row, reason in found.failures[:_LISTED]:
            line = flat(f"FAIL file {file}, row {row}: {reason}")
            typer.echo((line if len(line) <= _LONGEST else f"{line[:_LONGEST]}...").encode(errors="backslashreplace").decode())
        if len(found.failures) > _LISTED:
            typer.echo(f"FAIL and {len(found.failures) - _LISTED:,} more")
        typer.echo(f"Question: {found.question}".encode(errors="backslashreplace").decode())
        typer.echo(f"Model: SHA-256 {found.model}")
        typer.echo(f"{folder}: {_verdict(found)}")
    if found.failures:
        raise typer.Exit(FAILED)


def _check(folder: AnyPath, jobs: int) -> AuditCheck:
    try:
        from counterleaf.audit.checking.verify import verify_audit  # needs pyarrow
        from counterleaf.audit.manifest import read_manifest
    except ImportError:
        raise not_installed("an audit", "pyarrow") from None
    with shown(read_manifest(folder).plan.rows, True) as advance:
        return verify_audit(folder, jobs, advance)


def _verdict(found: AuditCheck) -> str:
    rows = f"{found.rows:,} rows"
    stopped = f"; {found.stopped:,} of the searches stopped, and prove a lower bound only" if found.stopped else ""
    if found.failures:
        return f"{rows}: {len(found.failures):,} of {found.checked:,} that were checked failed"
    if not found.proved:
        return f"{rows}: {found.checked:,} were compared; there is no proof to check, since all rows are invalid"
    if not found.with_inputs:
        unchecked = "the rows, the columns that are kept, the invalid rows, the changes in words and the division into parts"
        agree = "the answers agree with the proofs and the model"
        return (
            f"{rows}: every proof holds, and {agree}; the inputs are not there, so that {unchecked} were not checked{stopped}"
        )
    if found.proofs:
        return f"{rows}: every proof holds, and all cells agree with the proofs, the model and the inputs{stopped}"
    checked = f"{found.checked:,} random rows were explained again, their proofs hold"
    return f"{rows}, no proofs are kept: {checked}, and all of their cells agree with the model and the inputs{stopped}"
