"""A random sample of the rows of an audit, explained again from the inputs and checked by the independent checker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.audit.checking.comparison import check_row
from counterleaf.audit.engines.local import run_units
from counterleaf.audit.files import write_whole
from counterleaf.audit.finished import read_part
from counterleaf.audit.folder import Folder
from counterleaf.audit.manifest import Manifest
from counterleaf.audit.parts import Task, explain_rows
from counterleaf.audit.plan import TOGETHER, Part, Unit
from counterleaf.audit.reading.cells import Problems
from counterleaf.audit.reading.source import batches
from counterleaf.table.arrow.rows import records_of

SIZE = 1000  # rows


@dataclass(frozen=True, slots=True)
class SampleResult:
    """The rows of a sample, as (file, row), the failures among them, as (file, row, reason), and the number of proofs."""

    rows: list[tuple[int, int]]
    failures: list[tuple[int, int, str]]
    proved: int = 0


def choose(manifest: Manifest) -> dict[int, list[int]]:
    """Return the rows to check by part, as positions within the part; they follow from the hash of the run alone."""
    plan = manifest.plan
    chosen = np.arange(plan.rows)
    if plan.rows > SIZE:
        chosen = np.sort(np.random.default_rng(int(manifest.run[:16], 16)).choice(plan.rows, SIZE, replace=False))
    starts = np.cumsum([0, *(part.span.rows for part in plan.parts)])
    places = np.searchsorted(starts, chosen, side="right") - 1
    out: dict[int, list[int]] = {}
    for place, row in zip(places.tolist(), chosen.tolist(), strict=True):
        out.setdefault(place, []).append(row - int(starts[place]))
    return out


def check_sample(task: Task, manifest: Manifest, jobs: int) -> SampleResult:
    """Explain the rows of the sample again, check their proofs, and compare them with the parts, which are complete."""
    chosen = choose(manifest)
    units = manifest.plan.units(chosen, TOGETHER)
    found = sorted(run_units(_SampleChecker(task, chosen), units, jobs, in_processes=False))
    failures = [(file, row, failure) for file, row, failure, _ in found if failure]
    return SampleResult([(file, row) for file, row, *_ in found], failures, sum(proved for *_, proved in found))


@dataclass(frozen=True)
class _SampleChecker:
    """Explains rows again and compares them with an audit: those that are ``chosen``, by part."""

    task: Task
    chosen: dict[int, list[int]]

    def do(self, unit: Unit, stopped: Any = None) -> Iterator[tuple[int, int, str, bool]]:
        """Yield file and row of each chosen row, the failure or "", and whether there was a proof to check."""
        task, folder = self.task, Folder(self.task.folder)
        for part, pieces in input_rows(task, unit, self.chosen):
            places = self.chosen[part.number]
            lines = iter(zip(places, read_part(folder, part, task).take(places).to_pylist(), strict=True))
            for batch, problems in pieces:
                fresh = list(explain_rows(task.step, batch))
                again = task.answered(batch, problems).to_pylist()
                rows = records_of(batch, task.step.explainer.schema, list(range(batch.num_rows)))
                for row, one, expected, (at, line) in zip(rows, fresh, again, lines, strict=False):
                    proved = line["status"] != "invalid"
                    yield part.file, part.span.row + at, check_row(task.step, row, one, (line, expected)), proved


def input_rows(task: Task, unit: Unit, chosen: dict[int, list[int]]) -> Iterator[tuple[Part, list[tuple[Any, Problems]]]]:
    """Yield the parts of a unit with the chosen rows of the inputs, in batches, and why some of these cannot be read."""
    for part, content in task.contents(unit):
        wanted, out, begin = chosen[part.number], [], 0
        for batch, problems in batches(task.inputs[part.file], task.forms[part.file], part.span, content, task.wanted):
            here = [k - begin for k in wanted if begin <= k < begin + batch.num_rows]
            if here:
                out.append((batch.take(here), {k: problems[at] for k, at in enumerate(here) if at in problems}))
            begin += batch.num_rows
        yield part, out


def write_sample(folder: Folder, manifest: Manifest, found: SampleResult) -> None:
    """Write ``sample.json``."""
    content = {
        "run": manifest.run,
        "checked": len(found.rows),
        "proofs": found.proved,
        "failed": len(found.failures),
        "rows": [list(one) for one in found.rows],
        "failures": [{"file": file, "row": row, "problem": problem} for file, row, problem in found.failures],
    }
    write_whole(folder.sample, json.dumps(content).encode())


def read_sample(folder: Folder, manifest: Manifest) -> SampleResult | None:
    """Read ``sample.json``, None if it is not there, is damaged, or belongs to another run."""
    try:
        content = json.loads(folder.sample.read_bytes())
        rows = [(int(file), int(row)) for file, row in content["rows"]]
        failures = [(int(one["file"]), int(one["row"]), str(one["problem"])) for one in content["failures"]]
        expected = [
            (manifest.plan.parts[part].file, manifest.plan.parts[part].span.row + row)
            for part, some in choose(manifest).items()
            for row in some
        ]
        found = SampleResult(rows, failures, int(content["proofs"]))
        return found if content["run"] == manifest.run and rows == expected else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
