"""A whole run on ensembles: check the plan, fit the models, measure every method, and write the tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from counterleaf.errors import CounterleafError
from counterleaf.storage.files import write
from counterleaf_experiments.benchmark import tables
from counterleaf_experiments.benchmark.ensembles import models, report
from counterleaf_experiments.benchmark.ensembles.measurement import Measurement, Method, Store, measure
from counterleaf_experiments.benchmark.ensembles.models import EnsembleData, Recipe
from counterleaf_experiments.benchmark.ensembles.ocean_process import Ocean
from counterleaf_experiments.benchmark.ensembles.ours import Counterleaf
from counterleaf_experiments.benchmark.ensembles.questions import Cell, draw
from counterleaf_experiments.benchmark.ensembles.report import CellReport
from counterleaf_experiments.benchmark.ensembles.treecf_calls import Treecf
from counterleaf_experiments.benchmark.methods import ocean

Job = Callable[[str, int], AbstractContextManager[Callable[[], None]]]
Echo = Callable[[str], None]
_QUICK_SETS = ("german", "breast", models.WDBC)
_QUICK_MODELS = ("forest 50 x 4", "XGBoost 100 x 4")
_LAST_SEED = 4_000_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a run."""

    sets: tuple[str, ...]
    recipes: tuple[Recipe, ...]
    methods: tuple[str, ...]
    rows: int
    budget: float  # seconds for each question
    seed: int
    ocean: Path | None  # a Python with OCEAN


def make_plan(
    quick: bool,
    sets: tuple[str, ...],
    chosen: tuple[str, ...],
    methods: tuple[str, ...],
    rows: int | None,
    budget: float | None,
    seed: int,
    python: Path | None,
) -> Plan:
    """Check the options before any work."""
    titles = tuple(recipe.title for recipe in models.RECIPES)
    for name, values, known in (
        ("data set", sets, models.SETS),
        ("model", chosen, titles),
        ("method", methods, report.METHODS),
    ):
        for value in values:
            if value not in known:
                raise CounterleafError(f"unknown {name} {value!r}; expected some of {', '.join(known)}")
    if rows is not None and rows < 1:
        raise CounterleafError(f"--rows is {rows}; expected a whole number from 1")
    if budget is not None and not 0 < budget < float("inf"):
        raise CounterleafError(f"--budget is {budget:g}; expected seconds above 0")
    if not 0 <= seed <= _LAST_SEED:
        raise CounterleafError(f"--seed is {seed}; expected a whole number from 0 to {_LAST_SEED}")
    if python is not None and not python.exists():
        raise CounterleafError(f"--ocean-python is {python}, which does not exist; expected a Python with oceanpy installed")
    sets = tuple(key for key in models.SETS if key in (sets or (_QUICK_SETS if quick else models.SETS)))
    chosen = chosen or (_QUICK_MODELS if quick else titles)
    recipes = tuple(recipe for recipe in models.RECIPES if recipe.title in chosen and set(recipe.sets) & set(sets))
    if not recipes:
        raise CounterleafError(f"no such model is fitted to {', '.join(sets)}; choose other values of --set and --model")
    methods = tuple(name for name in report.METHODS if name in (methods or report.METHODS))
    few, seconds = (3, 2.0) if quick else (20, 60.0)
    return Plan(sets, recipes, methods, rows or few, budget or seconds, seed, python)


def bench(folder: Path, plan: Plan, job: Job, echo: Echo) -> bool:
    """Measure all methods; print the table line by line, and write it and all answers to the folder.

    The answers of other tools are kept in the folder, and a second run with the same settings uses them again; those of
    counterleaf are always measured. Returns whether the models confirmed every answer of counterleaf.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = Ocean(*ocean.find(plan.ocean)) if Ocean("", "").name in plan.methods else Ocean("", "not used")
    methods: list[Method] = [method for method in (Counterleaf(), found, Treecf()) if method.name in plan.methods]
    page: list[str] = []

    def publish(text: str) -> None:
        page.append(text)
        write(folder / "ensembles.md", "\n".join([*page, ""]))
        echo(text)

    publish(f"{tables.machine(report.PACKAGES)}, oceanpy {found.found}; {plan.budget:g} s per question, seed {plan.seed}\n")
    publish(tables.table_head(report.COLUMNS))
    cells: list[CellReport] = []
    for cell in _cells(folder, plan, methods, job):
        cells.append(cell)
        for text in report.cell_rows(cell):
            publish(text)
        write(folder / "ensembles.csv", report.answers(cells).to_csv(index=False))
    publish("\n".join(["", *report.summary(cells), "", report.NOTES]))
    return all(one.confirmed for cell in cells for one in cell.measured if one.method == Counterleaf().name)


def _cells(folder: Path, plan: Plan, methods: Sequence[Method], job: Job) -> Iterator[CellReport]:
    """Fit every model, and measure the methods on it."""
    for key in plan.sets:
        data = models.load(key, plan.seed)
        for recipe in plan.recipes:
            if key in recipe.sets:
                with job(f"{data.title}, {recipe.title}", len(methods) * plan.rows) as tick:
                    yield _cell(folder, plan, methods, data, recipe, tick)


def _cell(
    folder: Path, plan: Plan, methods: Sequence[Method], data: EnsembleData, recipe: Recipe, tick: Callable[[], None]
) -> CellReport:
    """Fit one model, and measure the methods on it."""
    try:
        model = recipe.fit(data, plan.seed)
    except ImportError as error:
        return CellReport(f"{data.title}, {recipe.title}", note=f"absent: {error}")
    cell = draw(data, recipe.title, model, plan.rows, plan.seed)
    measured = tuple(_measure(folder, plan, method, cell, tick) for method in methods)
    return CellReport(cell.title, models.size(model), measured)


def _measure(folder: Path, plan: Plan, method: Method, cell: Cell, tick: Callable[[], None]) -> Measurement:
    """Measure a method, with the answers of an earlier run if it is another tool."""
    if method.name == Counterleaf().name or not method.version:
        return measure(method, cell, plan.budget, plan.seed, None, tick)
    name = re.sub(r"\W+", "-", f"{cell.data.key} {cell.recipe} {method.name}").lower()
    store = Store.open(
        folder / "answers" / f"{name}.json",
        model=cell.digest,
        method=method.name,
        version=method.version,
        budget=plan.budget,
        seed=plan.seed,
    )
    return measure(method, cell, plan.budget, plan.seed, store, tick)
