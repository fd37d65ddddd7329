"""A whole run: what is asked for, what is there already, and what is left to do."""

from __future__ import annotations

import json
import os
import platform
import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pandas as pd

from counterleaf.errors import CounterleafError
from counterleaf.experiments.paper import errors_table, figures, grounds, person, tables
from counterleaf.experiments.paper.files import kept_table, read_table
from counterleaf.experiments.paper.grounds import MNIST, STAND_IN, Ground
from counterleaf.experiments.paper.instances import LEVELS, NORMS, Contest
from counterleaf.experiments.paper.report import Results, page
from counterleaf.experiments.paper.trees import KINDS, OBLIQUE, Grown, grow
from counterleaf.storage.files import write

Tick = Callable[[], None]
Job = Callable[[str, int], AbstractContextManager[Tick]]  # what is done and in how many steps -> what to call after each
_OURS = ("errors", "figures", "instances", "trees")  # the folders of a run
_LAST_SEED = 4_000_000_000
_PACKAGES = ("counterleaf", "numpy", "scipy", "pandas", "scikit-learn", "piqp", "gurobipy", "matplotlib")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is asked to do; the same plan goes on where a stopped run left off."""

    sets: tuple[str, ...]
    per_class: int
    seed: int
    splits: int  # of sets without an official one, for the table of errors


def make_plan(quick: bool, seed: int, per_class: int | None, sets: tuple[str, ...], with_mnist: bool) -> Plan:
    """The sets that come along and MNIST, or the digits of scikit-learn in its place; the paper's 20 instances per class."""
    known = (MNIST if with_mnist else STAND_IN, *grounds.names())
    for key in sets:
        if key == MNIST and not with_mnist:
            raise CounterleafError("MNIST does not come along; pass --mnist FOLDER with its four files, or --download")
        if key not in known:
            raise CounterleafError(f"no data set {key!r}; expected some of {', '.join(known)}")
    if per_class is not None and per_class < 1:
        raise CounterleafError(f"--per-class is {per_class}; expected a whole number from 1")
    if not 0 <= seed <= _LAST_SEED:
        raise CounterleafError(f"--seed is {seed}; expected a whole number from 0 to {_LAST_SEED}")
    if with_mnist and sets and MNIST not in sets:
        raise CounterleafError(f"MNIST is given, but --set asks for {', '.join(sets)} only; add --set {MNIST}")
    chosen = tuple(key for key in known if key in sets) or known
    return Plan(chosen, per_class or (1 if quick else 20), seed, 1 if quick else 5)


def claim(folder: Path, plan: Plan, fresh: bool) -> list[dict[str, str]]:
    """Take a folder for a plan, an empty one or one in which it was begun; returns what was noted of earlier runs."""
    path = folder / "run.json"
    asked = {"plan": {**asdict(plan), "sets": list(plan.sets)}, "version": version("counterleaf")}
    earlier: list[dict[str, str]] = []
    if path.exists():
        try:
            begun = json.loads(path.read_text())
            earlier = begun.pop("runs")
        except (ValueError, KeyError, AttributeError):
            begun = None
        if fresh:
            earlier = []
            for name in _OURS:
                shutil.rmtree(folder / name, ignore_errors=True)
        elif begun != asked:
            raise CounterleafError(f"{folder} holds a run with other settings; name another folder with --out, or pass --fresh")
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CounterleafError(f"{folder} is not empty and holds no earlier run; name another folder with --out")
    write(path, json.dumps({**asked, "runs": earlier}, indent=1))
    return earlier


class Field:
    """A data set with its trees and contests, each made when first needed."""

    def __init__(self, key: str, seed: int, folder: Path | None, mnist: Path | None, download: bool) -> None:
        self.key, self._seed, self._folder, self._source = key, seed, folder, (mnist, download)
        self._grown: dict[str, Grown] = {}
        self._contests: dict[str, Contest] = {}

    @cached_property
    def ground(self) -> Ground:
        return grounds.load(self.key, self._seed, *self._source)

    def grown(self, kind: str) -> Grown:
        if kind not in self._grown:
            self._grown[kind] = grow(self.ground, kind, self._seed, self._folder)
        return self._grown[kind]

    def contest(self, kind: str) -> Contest:
        if kind not in self._contests:
            self._contests[kind] = Contest(self.ground, self.grown(kind))
        return self._contests[kind]

    def errors(self) -> pd.DataFrame:
        return errors_table.measure(self.ground, {kind: self.grown(kind) for kind in KINDS}, self._seed)


def reproduce(
    folder: Path, plan: Plan, job: Job, command: str, mnist: Path | None = None, download: bool = False, fresh: bool = False
) -> Results:
    """Do what is left of a plan in a folder, write the tables, pictures and the report, and return them."""
    start = time.perf_counter()
    fields = [Field(key, plan.seed, folder / "trees", mnist, download) for key in plan.sets]
    if plan.sets[0] == MNIST:
        _ = fields[0].ground  # what is wrong with its files is said before anything is written
    runs = [*claim(folder, plan, fresh), _facts(command, "stopped")]
    _note(folder, runs)
    errors = _errors(folder, plan, fields, job)
    drawn, instances = _instances(folder, plan, fields, job)
    digits, table1 = _figures(folder, plan, fields, job), _person(folder, fields, job)
    comparisons = {kind: tables.comparison(instances, kind) for kind in KINDS}
    runs[-1] = _facts(command, f"{time.perf_counter() - start:.0f} seconds")
    results = Results(
        person=table1,
        comparisons=comparisons,
        errors=errors_table.table(errors),
        digits=digits,
        verdicts=tables.verdicts(instances, drawn, comparisons, digits, table1),
        drawn=(len(drawn), int(drawn["passed"].sum())),
        stand_in=STAND_IN in plan.sets,
        asked={"seed": str(plan.seed), "instances per class": str(plan.per_class), "data sets": ", ".join(plan.sets)},
        runs=runs,
    )
    for name, table in results.files().items():
        write(folder / name, table.to_csv(index=False))
    write(folder / "report.html", page(results, folder / "figures"))
    _note(folder, runs)
    return results


def _note(folder: Path, runs: list[dict[str, str]]) -> None:
    path = folder / "run.json"
    write(path, json.dumps({**json.loads(path.read_text()), "runs": runs}, indent=1))


def _facts(command: str, took: str) -> dict[str, str]:
    """How a run was made; where one went on after a stop there are several."""
    return {
        "command": command,
        "took": took,
        "versions": ", ".join(f"{name} {_version(name)}" for name in _PACKAGES),
        "machine": f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _errors(folder: Path, plan: Plan, fields: list[Field], job: Job) -> pd.DataFrame:
    parts = []
    for field in fields:
        with job(f"{field.key}: trees and errors", plan.splits) as tick:
            for seed in range(plan.seed, plan.seed + plan.splits):
                other = field if seed == plan.seed else Field(field.key, seed, None, None, False)
                if other is not field and field.ground.official:
                    break
                parts.append(kept_table(folder / "errors" / f"{field.key}-{seed}.csv", other.errors))
                tick()
    return pd.concat(parts, ignore_index=True)


def _instances(folder: Path, plan: Plan, fields: list[Field], job: Job) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The instances drawn, and one line for each under every level of constraints and each distance."""
    draws, parts = [], []
    for field in fields:
        for kind in KINDS:
            drawn, asked = _ask(folder / "instances", plan, field, kind, job)
            draws.append(drawn)
            parts += asked
    return pd.concat(draws, ignore_index=True), pd.concat(parts, ignore_index=True)


def _ask(folder: Path, plan: Plan, field: Field, kind: str, job: Job) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """All questions to one tree, a file for each level of constraints and each distance."""
    stem = f"{field.key}-{kind}"
    drawn = kept_table(folder / f"{stem}-drawn.csv", lambda: field.contest(kind).draw(plan.per_class, plan.seed))
    paths = {(level, norm): folder / f"{stem}-{level}-{norm}.csv" for level in range(LEVELS) for norm in NORMS}
    left = sum(not path.exists() for path in paths.values())
    with job(f"{field.key}: {kind} tree, {len(drawn)} instances", len(drawn) * left) as tick:

        def run(level: int, norm: str) -> pd.DataFrame:
            return field.contest(kind).run(drawn, level, norm, tick)

        return drawn, [kept_table(path, run, *which) for which, path in paths.items()]


def _person(folder: Path, fields: list[Field], job: Job) -> pd.DataFrame | None:
    adult = next((field for field in fields if field.key == "adult"), None)
    if adult is None:
        return None
    with job("Table 1", 1) as tick:
        found = kept_table(folder / "instances" / "person.csv", lambda: person.illustrate(adult.grown(OBLIQUE).tree))
        tick()
    return found


def _figures(folder: Path, plan: Plan, fields: list[Field], job: Job) -> pd.DataFrame | None:
    with job("Figures 1 and 2", 2) as tick:
        for name, plane in (("figure1", figures.axis_plane), ("figure2", figures.oblique_plane)):
            if not (folder / "figures" / f"{name}-plane.png").exists():
                answer = plane(plan.seed)
                write(folder / "figures" / f"{name}-tree.png", figures.png(answer.plot(kind="tree")))
                write(folder / "figures" / f"{name}-plane.png", figures.png(answer.plot(kind="regions")))
            tick()
    field = next((field for field in fields if field.key in (MNIST, STAND_IN)), None)
    if field is None:
        return None
    picture, table = folder / "figures" / "digits.png", folder / "instances" / "digits.csv"
    if not (picture.exists() and table.exists()):
        digits = figures.Digits(field.ground, field.grown(OBLIQUE), plan.seed)
        with job(f"{field.key}: figure of digits", digits.size) as tick:
            write(picture, figures.png(digits.draw(kept_table(table, lambda: digits.run(tick)))))
    return read_table(table).drop(columns="pixels")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
