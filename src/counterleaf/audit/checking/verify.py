"""Check the folder of an audit again: its files, and all proofs that it keeps, or else a sample of its rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from counterleaf.answer.explanation import Explanation
from counterleaf.audit.checking.comparison import check_kept, different_cell
from counterleaf.audit.checking.sample import check_sample, input_rows
from counterleaf.audit.engines.local import run_units
from counterleaf.audit.files import StorePath, place
from counterleaf.audit.finished import read_part, read_proofs
from counterleaf.audit.folder import Folder, open_folder
from counterleaf.audit.manifest import Manifest, read_explainer, read_manifest
from counterleaf.audit.parts import Task
from counterleaf.audit.plan import Part, Unit, kept_columns, make_plan
from counterleaf.audit.reading.cells import Problems
from counterleaf.batch.batch import workers
from counterleaf.errors import CounterleafError, flat
from counterleaf.explainer import Explainer
from counterleaf.table.arrow.rows import records_of

Failure = tuple[int, int, str]  # file, row and reason


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """The result of a check."""

    rows: int  # of the audit
    checked: int  # rows that were compared
    proved: int  # those with a proof, which was checked; invalid rows have none
    stopped: int  # rows whose search stopped: their proof is one of a bound
    proofs: bool  # whether the folder keeps all proofs
    with_inputs: bool  # whether the rows were compared with the inputs
    failures: list[Failure]
    question: str  # the question in words
    model: str  # the hash of the model


def verify_audit(
    path: str | os.PathLike[str] | StorePath, jobs: int = -1, advance: Callable[[int], None] = lambda rows: None
) -> AuditCheck:
    """Check an audit: every file is intact and belongs to it, and the proofs hold and are about its rows and its question."""
    folder, threads = open_folder(path), workers(jobs)
    manifest = read_manifest(folder)
    explainer, plan = read_explainer(folder, manifest), manifest.plan
    missing = [part.number for part in plan.parts if not folder.part(part.number).exists()]
    if missing:
        raise CounterleafError(
            f"{folder.path} is not complete: {len(missing):,} of {len(plan.parts):,} parts are missing; run the audit again"
        )
    with_inputs = any(place(source.path).exists() for source in plan.inputs)
    if with_inputs:
        _check_inputs(folder, manifest, explainer)
    folder.check_known({part.number for part in plan.parts}, " and verify the audit again")
    keep = kept_columns(plan.inputs, plan.forms, explainer.schema, manifest.settings.keep) if with_inputs else None
    try:
        step = explainer.arrow(**manifest.arguments, keep=keep, words=manifest.settings.words)
    except (TypeError, ValueError) as error:
        raise CounterleafError(f"{folder.manifest} has a question that does not fit its model ({flat(error)})") from None
    settings = manifest.settings
    kept = () if with_inputs else settings.keep
    task = Task(str(folder.path), manifest.run, step, plan.inputs, plan.forms, settings.proofs, kept)
    about = flat("; ".join(manifest.arguments["question"].words(explainer.default_cost))), manifest.model
    if manifest.settings.proofs:
        checker = ProofChecker(task, with_inputs)
        failures: list[Failure] = []
        proved = stopped = 0
        for rows, proofs, bounds, found in run_units(checker, plan.units({part.number for part in plan.parts}), threads):
            failures += found
            proved += proofs
            stopped += bounds
            advance(rows)
        return AuditCheck(plan.rows, plan.rows, proved, stopped, True, with_inputs, sorted(failures), *about)
    if not with_inputs:
        raise CounterleafError(f"{folder.path} keeps no proofs, and its inputs are not there: {plan.inputs[0].path}")
    stopped = 0
    for part in plan.parts:
        stopped += task.count(read_part(folder, part, task))["open"]
        advance(part.span.rows)
    sample = check_sample(task, manifest, threads)
    return AuditCheck(plan.rows, len(sample.rows), sample.proved, stopped, False, True, sorted(sample.failures), *about)


def _check_inputs(folder: Folder, manifest: Manifest, explainer: Explainer) -> None:
    """Refuse inputs that were changed, and a manifest whose columns or parts are not those of the inputs."""
    plan = manifest.plan
    for source in plan.inputs:
        source.check()
    again = make_plan(plan.inputs, explainer.schema, plan.part_rows, manifest.settings.keep)
    for what, one, other in (("columns", plan.forms, again.forms), ("parts", plan.parts, again.parts)):
        if one != other:
            raise CounterleafError(f"{folder.manifest} was changed: the {what} of the inputs are others; run the audit again")


@dataclass(frozen=True, slots=True)
class ProofChecker:
    """Checks the proofs of some parts, with the inputs or without them."""

    task: Task
    with_inputs: bool

    def do(self, unit: Unit, stopped: Any = None) -> Iterator[tuple[int, int, int, list[Failure]]]:
        """Check the parts of a unit, and yield the number of rows, of proofs, of those of a bound, and the failures of each."""
        every = {part.number: list(range(part.span.rows)) for part in unit.parts}
        rows: Any = input_rows(self.task, unit, every) if self.with_inputs else ((part, None) for part in unit.parts)
        for part, pieces in rows:
            yield part.span.rows, *self._failures(part, pieces)

    def _failures(self, part: Part, pieces: list[tuple[Any, Problems]] | None) -> tuple[int, int, list[Failure]]:
        folder = Folder(self.task.folder)
        lines = read_part(folder, part, self.task).to_pylist()
        kept = read_proofs(folder, part, self.task.run)
        if [line["row"] for line in lines if line["status"] != "invalid"] != list(kept):
            return 0, 0, [(part.file, part.span.row, f"{folder.proofs(part.number)} does not have one proof for each answer")]
        found: list[str] = []
        if pieces is None:
            texts = [kept.get(line["row"]) for line in lines]
            found = [
                check_kept(self.task.step, text, None, line) if text else "" for text, line in zip(texts, lines, strict=True)
            ]
        for batch, problems in pieces or ():
            here = lines[len(found) : len(found) + batch.num_rows]
            found += self._compared(batch, problems, here, [kept.get(line["row"]) for line in here])
        rows = [(part.file, line["row"], failure) for line, failure in zip(lines, found, strict=True) if failure]
        return len(kept), sum(line["status"] == "limit" for line in lines), rows

    def _compared(self, batch: Any, problems: Problems, lines: list[dict[str, Any]], proofs: list[str | None]) -> list[str]:
        """Return what is wrong with some lines, compared with their proofs and with all that the rows determine."""
        step, failures = self.task.step, []
        sources = records_of(batch, step.explainer.schema, list(range(batch.num_rows)))
        for k, (line, source, text) in enumerate(zip(lines, sources, proofs, strict=True)):
            if text is None:
                failures.append("")
            elif k in problems:
                failures.append(f"the row cannot be read ({problems[k]}), and the audit has an answer")
            else:
                failures.append(check_kept(step, text, source, line))

        def explained() -> Iterator[Any]:  # the proofs that hold; two searches may differ
            for failure, source, text in zip(failures, sources, proofs, strict=True):
                try:
                    yield (
                        CounterleafError(failure) if failure else Explanation.from_json(text) if text else step.explain(source)
                    )
                except CounterleafError as error:
                    yield error

        again = self.task.answered(batch, problems, explained() if step.is_limited else None).to_pylist()
        return [one or different_cell(line, other) for one, line, other in zip(failures, lines, again, strict=True)]
