"""Run an audit: plan it or find its plan, do the parts that are missing, check a sample of the answers."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from counterleaf.audit.checking.sample import SampleResult, check_sample, read_sample, write_sample
from counterleaf.audit.engines.dask import dask
from counterleaf.audit.engines.local import local
from counterleaf.audit.engines.ray import ray
from counterleaf.audit.engines.spark import spark
from counterleaf.audit.engines.work import Queue
from counterleaf.audit.files import is_within, place
from counterleaf.audit.finished import finished, read_part
from counterleaf.audit.folder import Folder
from counterleaf.audit.inputs import Input, find_inputs
from counterleaf.audit.manifest import Manifest, Settings, describe, read_manifest, write_manifest
from counterleaf.audit.parts import COUNTS, Task
from counterleaf.audit.plan import TOGETHER, Plan, kept_columns, make_plan
from counterleaf.batch.batch import workers
from counterleaf.errors import CounterleafError, check_whole_number, flat
from counterleaf.explainer import Explainer
from counterleaf.question.question import Question

PART_ROWS, SLOW_PART_ROWS = 1 << 17, 10_000  # rows of a part, by default; fewer where each row takes long
CLUSTERS = {"spark": spark, "dask": dask, "ray": ray}
ENGINES = ("local", *CLUSTERS)


@dataclass(frozen=True, slots=True)
class AuditSummary:
    """The result of a run."""

    counts: dict[str, int]  # rows of each kind, see ``Task.count``
    done_before: int  # rows that an earlier run has answered
    seconds: float  # for the other rows
    checking: float  # seconds for the check of the sample
    sample: SampleResult | None  # None if all proofs are kept
    checked_before: bool = False  # whether an earlier run has checked the sample
    problem: str = ""  # why the first row is invalid, if all are


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How an audit runs, which does not change its answers."""

    engine: str = "local"
    jobs: int = -1  # workers on this machine; -1 for every core
    address: str | None = None  # the cluster of another engine; by default it runs on this machine
    advance: Callable[[int, int], None] = lambda total, done: None  # gets the rows of the audit, and those that are done


def run_audit(
    explainer: Explainer,
    patterns: Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    question: Question | Mapping[str, Any],
    *,
    part_rows: int | None = None,
    settings: Settings | None = None,
    options: RunOptions | None = None,
) -> AuditSummary:
    """Answer a question about all rows of some files, and write the answers to a folder.

    ``patterns`` name files, folders or patterns such as ``rows/*.parquet``; ``out`` is a folder, or an address such as
    ``s3://bucket/audit``. If it holds a part of the same audit, only the rest is done. ``part_rows`` is the number of rows of a
    part; ``settings`` say what is written in addition to the answers, and ``options`` how the audit runs.
    """
    settings, options = settings or Settings(), options or RunOptions()
    question = question if isinstance(question, Question) else Question(**question)
    check_whole_number("part_rows", part_rows, 1)
    if options.engine not in ENGINES:
        raise CounterleafError(f"--engine is {options.engine!r}; expected {', '.join(ENGINES)}")
    if options.engine == "local" and options.address is not None:
        raise CounterleafError(
            f"--address is {options.address!r} and --engine is local; expected --engine {', '.join(CLUSTERS)}"
        )
    jobs, folder, model = workers(options.jobs), Folder(out), explainer.to_json()
    fresh = not folder.path.exists()  # which also finds a store that does not answer before any work
    explainer = Explainer.from_json(model)  # so that every run, engine and check has the same model
    batched = explainer.arrow(question).is_batched  # also finds mistakes before files are read
    inputs = find_inputs(patterns, folder.path)
    for source in inputs:  # the next run would read the answers
        if is_within(place(source.path), folder.path):
            raise CounterleafError(f"{source.path} is in the folder of the audit; pass another --out")
    folder.create()
    with contextlib.ExitStack() as refused, folder.locked():
        if fresh:
            refused.callback(folder.discard)  # if the files do not fit
        earlier = read_manifest(folder) if folder.manifest.exists() else None
        usual = PART_ROWS if batched and not settings.proofs else SLOW_PART_ROWS
        rows = part_rows or (usual if earlier is None else earlier.plan.part_rows)
        plan = _plan(explainer, inputs, earlier, rows, settings)
        if settings.keep == ("all",) and "all" not in plan.forms[0].columns:
            settings = replace(settings, keep=plan.forms[0].columns)
        manifest = describe(explainer, model, question, plan, settings)
        _check_earlier(folder, earlier, manifest)
        keep = kept_columns(plan.inputs, plan.forms, explainer.schema, settings.keep)
        step = explainer.arrow(question, keep=keep, words=settings.words)
        folder.clean()
        refused.pop_all()
        _store(folder, earlier, manifest, model)
        task = Task(str(folder.path), manifest.run, step, plan.inputs, plan.forms, settings.proofs)
        return _run(task, folder, manifest, options, jobs)


def _plan(explainer: Explainer, inputs: list[Input], earlier: Manifest | None, rows: int, settings: Settings) -> Plan:
    """Return the plan of the earlier run if it is about the same files and parts, else a new one."""
    if earlier is not None:
        old = {one.path: one for one in earlier.plan.inputs}
        for one in inputs:
            old.get(one.path, one).check_same(one)
        same = [(one.kind, one.fingerprint) for one in inputs] == [(one.kind, one.fingerprint) for one in earlier.plan.inputs]
        if same and rows == earlier.plan.part_rows:
            return Plan(tuple(inputs), earlier.plan.forms, earlier.plan.parts, rows)
    keep = () if settings.keep == ("all",) else settings.keep
    return make_plan(inputs, explainer.schema, rows, keep)


def _check_earlier(folder: Folder, earlier: Manifest | None, manifest: Manifest) -> None:
    if earlier is None:
        folder.check_empty()
        return
    what = earlier.difference(manifest)
    if what or earlier.run != manifest.run:
        which = f" ({flat('; '.join(earlier.words))})" if what == "another question" else ""
        raise CounterleafError(f"{folder.path} holds an audit of {what or 'another version'}{which}; pass another --out")
    folder.check_known({part.number for part in manifest.plan.parts}, ", or pass another --out")


def _store(folder: Folder, earlier: Manifest | None, manifest: Manifest, model: str) -> None:
    """Write the manifest and the model, unless an earlier run has, and the inputs are where they were."""
    if earlier is not None:
        manifest = replace(manifest, created=earlier.created, versions=earlier.versions)
        intact = folder.model.is_file() and folder.model.read_bytes() == model.encode()
        if intact and earlier.plan.inputs == manifest.plan.inputs:
            return
    write_manifest(folder, manifest, model)


def _run(task: Task, folder: Folder, manifest: Manifest, options: RunOptions, jobs: int) -> AuditSummary:
    counts: Counter[str] = Counter(dict.fromkeys(COUNTS, 0))
    missing, total = set(), manifest.plan.rows
    for part in manifest.plan.parts:
        found = finished(task, part)
        if found is None:
            missing.add(part.number)
        else:
            counts.update(found)
    before, start = counts["rows"], time.perf_counter()
    options.advance(total, before)
    if missing:
        folder.sample.unlink(missing_ok=True)
        if options.engine == "local":
            records = local(task, manifest.plan.units(missing, TOGETHER), jobs)
        else:
            queue = Queue(manifest.plan, missing, task.is_slow)
            records = CLUSTERS[options.engine](task, queue, jobs, options.address)
        for record in records:
            counts.update(record.counts)
            options.advance(total, counts["rows"])
        folder.clean()  # a worker that was killed may have left a file
        try:
            for source in manifest.plan.inputs:
                source.check()
        except CounterleafError:  # an input was changed while it was read
            for number in missing:
                folder.part(number).unlink(missing_ok=True)
            raise
    end = time.perf_counter()
    sample = None if missing or task.proofs else read_sample(folder, manifest)
    known = sample is not None
    if not known and not task.proofs:
        sample = check_sample(task, manifest, jobs)
        write_sample(folder, manifest, sample)
    problem = ""
    if counts["invalid"] == counts["rows"]:
        problem = str(read_part(folder, manifest.plan.parts[0], task)["problem"][0])
    return AuditSummary(dict(counts), before, end - start, time.perf_counter() - end, sample, known, problem)
