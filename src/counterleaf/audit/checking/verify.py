"""Check the folder of an audit again: its files, and all proofs that it keeps, or else a sample of its rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from counterleaf.audit.checking.comparison import check_kept
from counterleaf.audit.checking.proofs import PROOF_SCHEMA
from counterleaf.audit.checking.sample import SampleResult, check_sample, input_rows
from counterleaf.audit.folder import Folder, open_folder, read_metadata
from counterleaf.audit.local import run_units
from counterleaf.audit.manifest import Manifest, read_explainer, read_manifest
from counterleaf.audit.parts import Task, count
from counterleaf.audit.plan import PLACE, Part, Unit
from counterleaf.batch.batch import workers
from counterleaf.errors import CounterleafError, flat

Failure = tuple[int, int, str]  # file, row and reason


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """The result of a check.

    Parameters
    ----------
    rows : int
        The number of rows of the audit.
    checked : int
        The number of rows whose proofs were checked.
    proofs : bool
        Whether the folder keeps all proofs.
    with_inputs : bool
        Whether the rows were compared with the inputs.
    failures : list
        File, row and reason of each failure.
    """

    rows: int
    checked: int
    proofs: bool
    with_inputs: bool
    failures: list[Failure]


def verify_audit(
    path: str | os.PathLike[str], jobs: int = -1, advance: Callable[[int], None] = lambda rows: None
) -> AuditCheck:
    """Check an audit: every file is intact and belongs to it, and the proofs hold and are about its rows and its question.

    Parameters
    ----------
    path : str or path-like
        The folder.
    jobs : int, default=-1
        The number of workers; -1 for every core.
    advance : callable, optional
        Called with the number of further rows that are done.

    Returns
    -------
    AuditCheck
        The result.

    Raises
    ------
    CounterleafError
        If the folder does not hold a complete audit, or a file of it is damaged.
    """
    folder, threads = open_folder(path), workers(jobs)
    manifest = read_manifest(folder)
    explainer, plan = read_explainer(folder, manifest), manifest.plan
    missing = [part.number for part in plan.parts if not folder.part(part.number).exists()]
    if missing:
        raise CounterleafError(
            f"{folder.path} is not complete: {len(missing):,} of {len(plan.parts):,} parts are missing; run the audit again"
        )
    with_inputs = any(os.path.exists(source.path) for source in plan.inputs)
    for source in plan.inputs if with_inputs else ():
        source.check()
    try:
        step = explainer.arrow(**manifest.arguments)
    except (TypeError, ValueError) as error:
        raise CounterleafError(f"{folder.manifest} has a question that does not fit its model ({flat(error)})") from None
    task = Task(str(folder.path), manifest.run, step, plan.inputs, plan.forms, manifest.settings.proofs)
    if manifest.settings.proofs:
        checker = ProofChecker(task, with_inputs)
        failures: list[Failure] = []
        checked = 0
        for done, found in run_units(checker, plan.units({part.number for part in plan.parts}), threads):
            failures += found
            checked += done
            advance(done)
        return AuditCheck(plan.rows, checked, True, with_inputs, sorted(failures))
    if not with_inputs:
        raise CounterleafError(f"{folder.path} keeps no proofs, and its inputs are not there: {plan.inputs[0].path}")
    return _check_sample(task, manifest, threads, advance)


def _check_sample(task: Task, manifest: Manifest, threads: int, advance: Callable[[int], None]) -> AuditCheck:
    folder = Folder(task.folder)
    for part in manifest.plan.parts:
        read_part(folder, part, task.run)
        advance(part.span.rows)
    found: SampleResult = check_sample(task, manifest, threads)
    return AuditCheck(manifest.plan.rows, len(found.rows), False, True, sorted(found.failures))


class ProofChecker:
    """Checks the proofs of some parts; it can be pickled.

    Parameters
    ----------
    task : Task
        The audit.
    with_inputs : bool
        Whether the inputs are at hand.
    """

    def __init__(self, task: Task, with_inputs: bool) -> None:
        self.task, self.with_inputs = task, with_inputs

    def do(self, unit: Unit) -> Iterator[tuple[int, list[Failure]]]:
        """Check the parts of a unit, and yield the number of rows and the failures of each.

        Parameters
        ----------
        unit : Unit
            The parts.
        """
        every = {part.number: list(range(part.span.rows)) for part in unit.parts}
        rows: Any = input_rows(self.task, unit, every) if self.with_inputs else ((part, None) for part in unit.parts)
        for part, sources in rows:
            yield part.span.rows, self._failures(part, sources)

    def _failures(self, part: Part, sources: list[Any] | None) -> list[Failure]:
        folder = Folder(self.task.folder)
        answers = read_part(folder, part, self.task.run)
        lines = answers.to_pylist()
        kept = _read_proofs(folder, part, self.task.run)
        if [line["row"] for line in lines if line["status"] != "invalid"] != list(kept):
            return [(part.file, part.span.row, f"{folder.proofs(part.number)} does not have one proof for each answer")]
        out = []
        for k, line in enumerate(lines):
            source = None if sources is None else sources[k]
            failure = self._failure(line, kept.get(line["row"]), source)
            out += [(part.file, line["row"], failure)] if failure else []
        return out

    def _failure(self, line: dict[str, Any], proof: str | None, source: Any) -> str:
        if proof is not None:
            if isinstance(source, str):
                return f"the row cannot be read ({source}), and the audit has an answer"
            return check_kept(self.task.step, proof, source, line)
        if source is None or isinstance(source, str):
            return ""
        try:
            self.task.step.explain(source)
        except CounterleafError:
            return ""
        return "the row is valid, and the audit says that it is invalid"


def read_part(folder: Folder, part: Part, run: str) -> Any:
    """Read the answers of a part, and check that the file is intact and belongs to the audit.

    Raises
    ------
    CounterleafError
        If it is not.
    """
    path = folder.part(part.number)
    table = _read(path, part, run)
    expected = np.arange(part.span.row, part.span.row + part.span.rows)
    names = {*PLACE.names, "status", "n_changed", "confirmed"}
    try:
        same = names <= set(table.schema.names) and np.array_equal(table["row"].to_numpy(), expected)
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


def _read_proofs(folder: Folder, part: Part, run: str) -> dict[int, str]:
    path = folder.proofs(part.number)
    if not path.exists():
        raise CounterleafError(f"{folder.path} is not complete: {path} is missing; run the audit again")
    table = _read(path, part, run)
    if table.schema.remove_metadata() != PROOF_SCHEMA or table["proof"].null_count:
        raise CounterleafError(f"{path} was changed after it was written; remove it and run the audit again")
    return dict(zip(table["row"].to_pylist(), table["proof"].to_pylist(), strict=True))
