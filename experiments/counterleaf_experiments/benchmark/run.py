"""A whole run: check the plan, learn the trees, measure every method, and write the tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from counterleaf.errors import CounterleafError
from counterleaf.storage.files import write
from counterleaf_experiments.benchmark import tables, trees
from counterleaf_experiments.benchmark.cases import Case, Subject, cases
from counterleaf_experiments.benchmark.measurement import Measurement, short_message
from counterleaf_experiments.benchmark.methods import (
    counterleaf_calls,
    coupled_pixels,
    large_batches,
    linear_leaves,
    ocean,
    other_tools,
    per_leaf,
)
from counterleaf_experiments.benchmark.scaled_data import bundled_names, load_scaled
from counterleaf_experiments.solvers import Gurobi

Job = Callable[[str, int], AbstractContextManager[Callable[[], None]]]
Echo = Callable[[str], None]
_LAST_SEED = 4_000_000_000
_BATCH_ROWS = 400  # answered by counterleaf in one call


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a run."""

    sets: tuple[str, ...]
    rows: int  # for the methods that answer them one by one
    batch: int
    budget: float  # seconds for each method on each case
    many: int  # rows for the comparison with ``predict``
    seed: int
    trees: Path | None  # a folder with the user's oblique trees
    mnist: Path | None
    ocean: Path | None  # a Python with OCEAN


def make_plan(
    quick: bool,
    sets: tuple[str, ...],
    rows: int | None,
    seed: int,
    user_trees: Path | None,
    mnist: Path | None,
    python: Path | None,
) -> Plan:
    """Check the options before any work."""
    known = [*bundled_names(), *([] if mnist is None else ["mnist"])]
    for key in sets:
        if key == "mnist" and mnist is None:
            raise CounterleafError("MNIST is not bundled; pass --mnist FOLDER with its four files")
        if key not in known:
            raise CounterleafError(f"unknown data set {key!r}; expected some of {', '.join(known)}")
    if rows is not None and rows < 1:
        raise CounterleafError(f"--rows is {rows}; expected a whole number from 1")
    if not 0 <= seed <= _LAST_SEED:
        raise CounterleafError(f"--seed is {seed}; expected a whole number from 0 to {_LAST_SEED}")
    if user_trees is not None and not user_trees.is_dir():
        raise CounterleafError(f"--trees is {user_trees}, which is not a folder; expected one with files such as letter.json")
    if user_trees is not None and not any((user_trees / f"{key}.json").exists() for key in known):
        raise CounterleafError(
            f"{user_trees} has no tree; expected files such as letter.json, named by set: {', '.join(known)}"
        )
    if python is not None and not python.exists():
        raise CounterleafError(f"--ocean-python is {python}, which does not exist; expected a Python with oceanpy installed")
    chosen = tuple(key for key in known if key in sets) or tuple(known)
    few, budget, big = (3, 0.5, 20_000) if quick else (20, 4.0, 100_000)
    return Plan(chosen, rows or few, max(_BATCH_ROWS, rows or 0), budget, big, seed, user_trees, mnist, python)


def bench(folder: Path, plan: Plan, job: Job, echo: Echo) -> bool:
    """Measure all methods; print the tables line by line, and write them and all rows to the folder.

    Returns whether the models confirmed every answer of counterleaf.
    """
    folder.mkdir(parents=True, exist_ok=True)
    python, version = ocean.find(plan.ocean)
    page: list[str] = []

    def publish(text: str) -> None:
        page.append(text)
        write(folder / "bench.md", "\n".join([*page, ""]))
        echo(text)

    publish(f"{tables.machine()}, oceanpy {version}\n")
    subjects = _subjects(folder, plan, job)
    measured: list[list[Measurement]] = []
    with_categories: list[list[Measurement]] = []
    publish(tables.table_head(tables.MAIN))
    for subject in subjects:
        for case in cases(subject):
            of_case = _measure(case, plan, job, python)
            measured.append(of_case)
            with_categories += [of_case] if subject.data.spans else []
            for text in tables.main_rows(of_case):
                publish(text)
            write(folder / "rows.csv", _rows(measured).to_csv(index=False))
    for columns, texts in (
        (tables.PAIRED, _paired(with_categories)),
        (tables.COUPLED, _coupled(subjects, plan, job)),
        (tables.LINEAR, _linear(subjects, plan, job)),
        (tables.MANY, _many(subjects, plan, job)),
    ):
        for k, text in enumerate(texts):
            publish(f"\n{tables.table_head(columns)}\n{text}" if k == 0 else text)
    publish(f"\n{tables.NOTES}")
    shares = [measurement.valid for of_case in measured for measurement in of_case[:2]]
    return all(share == 1.0 or math.isnan(share) for share in shares)


def _subjects(folder: Path, plan: Plan, job: Job) -> list[Subject]:
    """Learn or read the trees, and draw the rows."""
    out: list[Subject] = []
    with job("Trees", len(plan.sets)) as tick:
        for key in plan.sets:
            data = load_scaled(key, plan.seed, plan.mnist)
            oblique = trees.oblique(data, plan.seed, folder / "trees", plan.trees)
            out.append(Subject(data, oblique, plan.batch, plan.seed))
            if data.shape is None:
                out.append(Subject(data, trees.axis_aligned(data, plan.seed), plan.batch, plan.seed))
            tick()
    return out


def _measure(case: Case, plan: Plan, job: Job, python: str) -> list[Measurement]:
    """Measure all methods on a case; the optima are the lower bounds that counterleaf certifies."""
    rows, budget, axis = plan.rows, plan.budget, case.subject.axis
    with_tools = axis and case.power == 1 and not case.frozen  # the cost and the questions that other tools support
    steps = 2 + axis + len(per_leaf.SOLVERS) + with_tools * (len(other_tools.TOOLS) + 1)
    measured: list[Measurement | None] = []
    with job(case.title, steps) as tick:
        together = counterleaf_calls.batch(case)
        tick()
        single, search = counterleaf_calls.one_by_one(case, rows)
        tick()
        if axis:
            measured.append(per_leaf.with_numpy(case, rows, budget))
            tick()
        for name in per_leaf.SOLVERS:
            measured.append(per_leaf.with_solver(case, name, rows, budget))
            tick()
        for name in other_tools.TOOLS if with_tools else ():
            measured.append(other_tools.measure(case, name, rows, budget))
            tick()
        if with_tools:
            measured.append(ocean.measure(case, python, rows, budget, plan.seed))
            tick()
    others = [one.with_optima(single.optima) for one in measured if one is not None]
    return [together, single, search, *others]


def _paired(measured: list[list[Measurement]]) -> Iterator[str]:
    """Our search and Gurobi row by row, for tables with categories, where the search branches on categories."""
    for of_case in measured:
        text = tables.paired_row(of_case)
        if text is not None:
            yield text


def _coupled(subjects: list[Subject], plan: Plan, job: Job) -> Iterator[str]:
    """Costs that couple neighbouring pixels, for images."""
    for subject in subjects:
        if subject.data.shape is None:
            continue
        for direction in coupled_pixels.DIRECTIONS:
            with job(f"{subject.title}, neighbours coupled, {direction}", 1) as tick:
                text = coupled_pixels.measure(subject, direction, plan.rows, plan.budget)
                tick()
            yield text


def _linear(subjects: list[Subject], plan: Plan, job: Job) -> Iterator[str]:
    """Leaves that compute; nothing if Gurobi is absent."""
    try:
        Gurobi(plan.budget)
    except Exception as error:  # not installed, or without a licence
        yield tables.table_row([f"Gurobi: {short_message(error)}", *[""] * (len(tables.LINEAR) - 1)])
        return
    data = list({subject.data.key: subject.data for subject in subjects}.values())
    for subject in linear_leaves.subjects(data, plan.seed):
        for power in (1, 2):
            with job(f"{subject[0]}, L{power}", 1) as tick:
                text = linear_leaves.measure(subject, power, plan.rows, plan.budget)
                tick()
            yield text


def _many(subjects: list[Subject], plan: Plan, job: Job) -> Iterator[str]:
    """A large batch compared with ``predict``, if Letter is part of the run."""
    letter = next((subject.data for subject in subjects if subject.data.key == "letter"), None)
    for leaves in large_batches.LEAVES if letter is not None else ():
        assert letter is not None
        with job(f"{plan.many:,} rows, {leaves} leaves", 1) as tick:
            text = large_batches.measure(letter, leaves, plan.many, plan.seed)
            tick()
        yield text


def _rows(measured: list[list[Measurement]]) -> pd.DataFrame:
    """Every answer behind the tables, one row each."""
    return pd.DataFrame(
        [
            {
                "tree and cost": measurement.title,
                "method": measurement.method,
                "row": k,
                "ms": answer.ms if measurement.per_row is None else measurement.per_row,
                "valid cost": answer.cost,
                "claimed optimum": answer.claimed,
                "optimum": best,
                "error": answer.error,
            }
            for of_case in measured
            for measurement in of_case
            for k, (answer, best) in enumerate(zip(measurement.answers, measurement.optima, strict=False))
        ]
    )
