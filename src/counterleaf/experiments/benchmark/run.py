"""A whole run: what is asked for, the trees, the tables as they grow, and the files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from counterleaf.experiments.benchmark import coupled, grounds, leafwise, many, ocean, ours, peers, table, trees
from counterleaf.experiments.benchmark.cases import Case, Subject, cases
from counterleaf.experiments.benchmark.line import Line
from counterleaf.errors import CounterleafError
from counterleaf.storage.files import write

Job = Callable[[str, int], AbstractContextManager[Callable[[], None]]]
Say = Callable[[str], None]
_LAST_SEED = 4_000_000_000
_BATCH = 400  # rows that counterleaf answers together


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is asked to do."""

    sets: tuple[str, ...]
    rows: int  # for the methods that take them one by one
    batch: int
    budget: float  # seconds for each method on each case
    many: int  # rows beside ``predict``
    seed: int
    trees: Path | None  # of given oblique trees
    mnist: Path | None
    ocean: Path | None  # a Python that has OCEAN


def make_plan(
    quick: bool, sets: tuple[str, ...], rows: int | None, seed: int, given: Path | None, mnist: Path | None, python: Path | None
) -> Plan:
    """Check what is asked for before any work."""
    known = [*grounds.names(), *([] if mnist is None else ["mnist"])]
    for key in sets:
        if key == "mnist" and mnist is None:
            raise CounterleafError("MNIST does not come along; pass --mnist FOLDER with its four files")
        if key not in known:
            raise CounterleafError(f"no data set {key!r}; expected some of {', '.join(known)}")
    if rows is not None and rows < 1:
        raise CounterleafError(f"--rows is {rows}; expected a whole number from 1")
    if not 0 <= seed <= _LAST_SEED:
        raise CounterleafError(f"--seed is {seed}; expected a whole number from 0 to {_LAST_SEED}")
    if given is not None and not given.is_dir():
        raise CounterleafError(f"--trees is {given}, which is no folder; expected one with files such as letter.json")
    if given is not None and not any((given / f"{key}.json").exists() for key in known):
        raise CounterleafError(f"{given} has no tree; expected files such as letter.json, named by set: {', '.join(known)}")
    if python is not None and not python.exists():
        raise CounterleafError(f"--ocean-python is {python}, which is not there; expected a Python that has oceanpy")
    chosen = tuple(key for key in known if key in sets) or tuple(known)
    few, budget, big = (3, 0.5, 20_000) if quick else (20, 4.0, 100_000)
    return Plan(chosen, rows or few, max(_BATCH, rows or 0), budget, big, seed, given, mnist, python)


def bench(folder: Path, plan: Plan, job: Job, say: Say) -> bool:
    """Measure, saying each table line by line; the page is kept in the folder with the rows behind it.

    Returns whether the models confirmed every answer of counterleaf.
    """
    folder.mkdir(parents=True, exist_ok=True)
    python, version = ocean.find(plan.ocean)
    page: list[str] = []

    def tell(text: str) -> None:
        page.append(text)
        write(folder / "bench.md", "\n".join([*page, ""]))
        say(text)

    tell(f"{table.machine()}, oceanpy {version}\n")
    subjects = _subjects(folder, plan, job)
    measured: list[list[Line]] = []
    tables: list[list[Line]] = []
    tell(table.head(table.MAIN))
    for subject in subjects:
        for case in cases(subject):
            lines = _measure(case, plan, job, python)
            measured.append(lines)
            tables += [lines] if subject.ground.spans else []
            for text in table.main_lines(lines):
                tell(text)
            write(folder / "rows.csv", _rows(measured).to_csv(index=False))
    for columns, texts in (
        (table.PAIRED, _paired(tables)),
        (table.COUPLED, _coupled(subjects, plan, job)),
        (table.MANY, _many(subjects, plan, job)),
    ):
        for k, text in enumerate(texts):
            tell(f"\n{table.head(columns)}\n{text}" if k == 0 else text)
    tell(f"\n{table.NOTES}")
    shares = [line.valid for lines in measured for line in lines[:2]]
    return all(share == 1.0 or math.isnan(share) for share in shares)


def _subjects(folder: Path, plan: Plan, job: Job) -> list[Subject]:
    """Learn or read the trees."""
    out: list[Subject] = []
    with job("Trees", len(plan.sets)) as tick:
        for key in plan.sets:
            ground = grounds.load(key, plan.seed, plan.mnist)
            oblique = trees.oblique(ground, plan.seed, folder / "trees", plan.trees)
            out.append(Subject(ground, oblique, plan.batch, plan.seed))
            if ground.shape is None:
                out.append(Subject(ground, trees.axis_aligned(ground, plan.seed), plan.batch, plan.seed))
            tick()
    return out


def _measure(case: Case, plan: Plan, job: Job, python: str) -> list[Line]:
    """All methods on a case; the optima are the lower bounds that counterleaf certifies."""
    rows, budget, axis = plan.rows, plan.budget, case.subject.axis
    asked = axis and case.power == 1 and not case.frozen  # the cost and the questions that the peers know
    steps = 2 + axis + len(leafwise.SOLVERS) + asked * (len(peers.PEERS) + 1)
    lines: list[Line | None] = []
    with job(case.title, steps) as tick:
        together = ours.batch(case)
        tick()
        single, search = ours.one_by_one(case, rows)
        tick()
        if axis:
            lines.append(leafwise.with_numpy(case, rows, budget))
            tick()
        for name in leafwise.SOLVERS:
            lines.append(leafwise.with_solver(case, name, rows, budget))
            tick()
        for name in peers.PEERS if asked else ():
            lines.append(peers.in_process(case, name, rows, budget))
            tick()
        if asked:
            lines.append(ocean.measure(case, python, rows, budget, plan.seed))
            tick()
    others = [line.against(single.optima) for line in lines if line is not None]
    return [together, single, search, *others]


def _paired(tables: list[list[Line]]) -> Iterator[str]:
    """For tables with categories, where the search forks."""
    for lines in tables:
        text = table.paired_line(lines)
        if text is not None:
            yield text


def _coupled(subjects: list[Subject], plan: Plan, job: Job) -> Iterator[str]:
    for subject in subjects:
        if subject.ground.shape is None:
            continue
        for way in coupled.WAYS:
            with job(f"{subject.title}, neighbours coupled, {way}", 1) as tick:
                text = coupled.measure(subject, way, plan.rows, plan.budget)
                tick()
            yield text


def _many(subjects: list[Subject], plan: Plan, job: Job) -> Iterator[str]:
    letter = next((subject.ground for subject in subjects if subject.ground.key == "letter"), None)
    for leaves in many.LEAVES if letter is not None else ():
        assert letter is not None
        with job(f"{plan.many:,} rows, {leaves} leaves", 1) as tick:
            text = many.measure(letter, leaves, plan.many, plan.seed)
            tick()
        yield text


def _rows(measured: list[list[Line]]) -> pd.DataFrame:
    """Every answer: what the tables are made of."""
    return pd.DataFrame(
        [
            {
                "tree and cost": line.title,
                "method": line.method,
                "row": k,
                "ms": answer.ms if line.per_row is None else line.per_row,
                "valid cost": answer.cost,
                "claimed optimum": answer.claimed,
                "optimum": best,
                "error": answer.error,
            }
            for lines in measured
            for line in lines
            for k, (answer, best) in enumerate(zip(line.answers, line.optima, strict=False))
        ]
    )
