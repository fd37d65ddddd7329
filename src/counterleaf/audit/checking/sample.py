"""A random sample of the rows of an audit, explained again from the inputs and checked by the independent checker."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from counterleaf.audit.checking.comparison import check_row
from counterleaf.audit.folder import Folder, replacing
from counterleaf.audit.manifest import Manifest
from counterleaf.audit.parts import Task
from counterleaf.audit.plan import Part, Unit
from counterleaf.audit.reading.source import batches
from counterleaf.errors import CounterleafError, flat
from counterleaf.table.arrow.rows import records_of

SIZE = 1000  # rows


@dataclass(frozen=True, slots=True)
class SampleResult:
    """The rows of a sample, as (file, row), and the failures among them, as (file, row, reason)."""

    rows: list[tuple[int, int]]
    failures: list[tuple[int, int, str]]


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
    """Explain the rows of the sample again, check their proofs, and compare them with the parts.

    Parameters
    ----------
    task : Task
        The audit, all parts of which are complete.
    manifest : Manifest
        Its manifest.
    jobs : int
        The number of threads.
    """
    chosen, folder = choose(manifest), Folder(task.folder)

    def work(unit: Unit) -> list[tuple[int, int, str]]:
        out = []
        for part, row, failure in _checked(task, folder, unit, chosen):
            out.append((part.file, row, failure))
        return out

    with ThreadPoolExecutor(jobs) as pool:
        found = [one for each in pool.map(work, manifest.plan.units(chosen)) for one in each]
    return SampleResult([(file, row) for file, row, _ in found], [one for one in found if one[2]])


def _checked(task: Task, folder: Folder, unit: Unit, chosen: dict[int, list[int]]) -> Iterator[tuple[Part, int, str]]:
    for part, rows in input_rows(task, unit, chosen):
        lines = part_lines(folder, part, chosen[part.number])
        for at, row, line in zip(chosen[part.number], rows, lines, strict=True):
            failure = "" if isinstance(row, str) and line["status"] == "invalid" else _compare(task, row, line)
            yield part, part.span.row + at, failure


def _compare(task: Task, row: dict[str, Any] | str, line: dict[str, Any]) -> str:
    if isinstance(row, str):
        return f"the row cannot be read ({row}), and the audit has an answer"
    return check_row(task.step, row, line)


def input_rows(task: Task, unit: Unit, chosen: dict[int, list[int]]) -> Iterator[tuple[Part, list[dict[str, Any] | str]]]:
    """Yield the parts of a unit with the chosen rows of the inputs; in place of a row that cannot be read, the reason."""
    schema, features = task.step.explainer.schema, {one.name: one for one in task.step.explainer.schema}
    for part, content in task.contents(unit):
        wanted, out, begin = chosen[part.number], [], 0
        for batch, problems in batches(task.inputs[part.file], task.forms[part.file], part.span, content, features):
            here = [k - begin for k in wanted if begin <= k < begin + batch.num_rows]
            found = records_of(batch, schema, here)
            out += [problems.get(k, row) for k, row in zip(here, found, strict=True)]
            begin += batch.num_rows
        yield part, out


def part_lines(folder: Folder, part: Part, rows: Sequence[int]) -> list[dict[str, Any]]:
    """Return some lines of the answers of a part, which may hold anything."""
    path = folder.part(part.number)
    try:
        table = parquet.read_table(path, page_checksum_verification=True)
        expected = np.arange(part.span.row, part.span.row + part.span.rows)
        if len(table) != part.span.rows or not np.array_equal(table["row"].to_numpy(), expected):
            raise CounterleafError(f"{path} does not have the rows of its part; remove it and run the audit again")
        return list(table.take(pa.array(list(rows), pa.int64())).to_pylist())
    except CounterleafError:
        raise
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        raise CounterleafError(f"{path} is damaged ({flat(error)}); remove it and run the audit again") from None


def write_sample(folder: Folder, manifest: Manifest, found: SampleResult) -> None:
    """Write ``sample.json``."""
    content = {
        "run": manifest.run,
        "checked": len(found.rows),
        "failed": len(found.failures),
        "rows": [list(one) for one in found.rows],
        "failures": [{"file": file, "row": row, "problem": problem} for file, row, problem in found.failures],
    }
    with replacing(folder.sample) as part:
        part.write_text(json.dumps(content), encoding="utf-8")


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
        return SampleResult(rows, failures) if content["run"] == manifest.run and rows == expected else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
