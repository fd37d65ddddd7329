"""A whole run: check the plan, skip the steps whose files exist, do the others, and write the report."""

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
from typing import Any

import pandas as pd

from counterleaf.errors import CounterleafError
from counterleaf.storage.files import write
from counterleaf.table.files import exact_numbers
from counterleaf_experiments.paper import figures, tables
from counterleaf_experiments.paper.data import MNIST, STAND_IN, PaperData, bundled_names, load_data
from counterleaf_experiments.paper.instances import LEVELS, NORMS, MethodComparison
from counterleaf_experiments.paper.report import Results, page
from counterleaf_experiments.paper.trees import KINDS, OBLIQUE, LearnedTree, learn_tree

Tick = Callable[[], None]
Job = Callable[[str, int], AbstractContextManager[Tick]]  # a title and a number of steps -> a function to call after each step
_FOLDERS = ("errors", "figures", "instances", "trees")  # made by a run
_LAST_SEED = 4_000_000_000
_PACKAGES = ("counterleaf", "numpy", "scipy", "pandas", "scikit-learn", "piqp", "gurobipy", "matplotlib")


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a run; the same plan continues a run that was stopped."""

    sets: tuple[str, ...]
    per_class: int
    seed: int
    splits: int  # number of random splits for the table of errors, for sets without an official split


def make_plan(quick: bool, seed: int, per_class: int | None, sets: tuple[str, ...], with_mnist: bool) -> Plan:
    """Check the options; the default is all bundled sets, MNIST or digits, and the paper's 20 instances per class."""
    known = (MNIST if with_mnist else STAND_IN, *bundled_names())
    for key in sets:
        if key == MNIST and not with_mnist:
            raise CounterleafError("MNIST is not bundled; pass --mnist FOLDER with its four files, or --download")
        if key not in known:
            raise CounterleafError(f"unknown data set {key!r}; expected some of {', '.join(known)}")
    if per_class is not None and per_class < 1:
        raise CounterleafError(f"--per-class is {per_class}; expected a whole number from 1")
    if not 0 <= seed <= _LAST_SEED:
        raise CounterleafError(f"--seed is {seed}; expected a whole number from 0 to {_LAST_SEED}")
    if with_mnist and sets and MNIST not in sets:
        raise CounterleafError(f"MNIST is selected, but --set names only {', '.join(sets)}; add --set {MNIST}")
    chosen = tuple(key for key in known if key in sets) or known
    return Plan(chosen, per_class or (1 if quick else 20), seed, 1 if quick else 5)


def claim(folder: Path, plan: Plan, fresh: bool) -> list[dict[str, str]]:
    """Use a folder for a plan: an empty one, or one with a run of the same plan. Returns the facts about earlier runs."""
    path = folder / "run.json"
    request = {"plan": {**asdict(plan), "sets": list(plan.sets)}, "version": version("counterleaf")}
    earlier: list[dict[str, str]] = []
    if path.exists():
        try:
            begun = json.loads(path.read_text())
            earlier = begun.pop("runs")
        except (ValueError, KeyError, AttributeError):
            begun = None
        if fresh:
            earlier = []
            for name in _FOLDERS:
                shutil.rmtree(folder / name, ignore_errors=True)
        elif begun != request:
            raise CounterleafError(
                f"{folder} contains a run with other settings; name another folder with --out, or pass --fresh"
            )
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CounterleafError(f"{folder} is not empty and contains no earlier run; name another folder with --out")
    write(path, json.dumps({**request, "runs": earlier}, indent=1))
    return earlier


class Experiment:
    """A data set with its trees and comparisons, each made on first use."""

    def __init__(self, key: str, seed: int, folder: Path | None, mnist: Path | None, download: bool) -> None:
        self.key, self._seed, self._folder, self._source = key, seed, folder, (mnist, download)
        self._learned: dict[str, LearnedTree] = {}
        self._comparisons: dict[str, MethodComparison] = {}

    @cached_property
    def data(self) -> PaperData:
        """The data set."""
        return load_data(self.key, self._seed, *self._source)

    def learned(self, kind: str) -> LearnedTree:
        """The oblique or axis-aligned tree."""
        if kind not in self._learned:
            self._learned[kind] = learn_tree(self.data, kind, self._seed, self._folder)
        return self._learned[kind]

    def comparison(self, kind: str) -> MethodComparison:
        """All methods on one of the trees."""
        if kind not in self._comparisons:
            self._comparisons[kind] = MethodComparison(self.data, self.learned(kind))
        return self._comparisons[kind]

    def errors(self) -> pd.DataFrame:
        """The errors of the trees and of a forest."""
        return tables.measure_errors(self.data, {kind: self.learned(kind) for kind in KINDS}, self._seed)


def reproduce(
    folder: Path, plan: Plan, job: Job, command: str, mnist: Path | None = None, download: bool = False, fresh: bool = False
) -> Results:
    """Run a plan in a folder, or continue it, and write tables, figures and the report; returns the tables."""
    start = time.perf_counter()
    experiments = [Experiment(key, plan.seed, folder / "trees", mnist, download) for key in plan.sets]
    if plan.sets[0] == MNIST:
        _ = experiments[0].data  # errors in its files are reported before anything is written
    runs = [*claim(folder, plan, fresh), _facts(command, "stopped")]
    _note(folder, runs)
    errors = _errors(folder, plan, experiments, job)
    drawn, instances = _instances(folder, plan, experiments, job)
    digits, person = _figures(folder, plan, experiments, job), _person(folder, experiments, job)
    comparisons = {kind: tables.comparison_table(instances, kind) for kind in KINDS}
    runs[-1] = _facts(command, f"{time.perf_counter() - start:.0f} seconds")
    results = Results(
        person=person,
        comparisons=comparisons,
        errors=tables.error_table(errors),
        digits=digits,
        verdicts=tables.verdicts(instances, drawn, comparisons, digits, person),
        drawn=(len(drawn), int(drawn["passed"].sum())),
        stand_in=STAND_IN in plan.sets,
        settings={"seed": str(plan.seed), "instances per class": str(plan.per_class), "data sets": ", ".join(plan.sets)},
        runs=runs,
    )
    for name, table in results.files().items():
        write(folder / name, table.to_csv(index=False))
    write(folder / "report.html", page(results, folder / "figures"))
    _note(folder, runs)
    return results


def _note(folder: Path, runs: list[dict[str, str]]) -> None:
    """Write the facts about all runs into ``run.json``."""
    path = folder / "run.json"
    write(path, json.dumps({**json.loads(path.read_text()), "runs": runs}, indent=1))


def _facts(command: str, took: str) -> dict[str, str]:
    """The command, time, versions and machine of a run."""
    return {
        "command": command,
        "took": took,
        "versions": ", ".join(f"{name} {_version(name)}" for name in _PACKAGES),
        "machine": f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _errors(folder: Path, plan: Plan, experiments: list[Experiment], job: Job) -> pd.DataFrame:
    """The errors on every set and split."""
    parts = []
    for experiment in experiments:
        with job(f"{experiment.key}: trees and errors", plan.splits) as tick:
            for seed in range(plan.seed, plan.seed + plan.splits):
                other = experiment if seed == plan.seed else Experiment(experiment.key, seed, None, None, False)
                if other is not experiment and experiment.data.official:
                    break
                parts.append(_saved_table(folder / "errors" / f"{experiment.key}-{seed}.csv", other.errors))
                tick()
    return pd.concat(parts, ignore_index=True)


def _instances(folder: Path, plan: Plan, experiments: list[Experiment], job: Job) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The instances, and one line for each of them, level of constraints and distance."""
    draws, parts = [], []
    for experiment in experiments:
        for kind in KINDS:
            drawn, answered = _compare(folder / "instances", plan, experiment, kind, job)
            draws.append(drawn)
            parts += answered
    return pd.concat(draws, ignore_index=True), pd.concat(parts, ignore_index=True)


def _compare(folder: Path, plan: Plan, experiment: Experiment, kind: str, job: Job) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """Answer all questions about one tree, with a file for each level of constraints and each distance."""
    stem = f"{experiment.key}-{kind}"
    drawn = _saved_table(folder / f"{stem}-drawn.csv", lambda: experiment.comparison(kind).draw(plan.per_class, plan.seed))
    paths = {(level, norm): folder / f"{stem}-{level}-{norm}.csv" for level in range(LEVELS) for norm in NORMS}
    left = sum(not path.exists() for path in paths.values())
    with job(f"{experiment.key}: {kind} tree, {len(drawn)} instances", len(drawn) * left) as tick:

        def run(level: int, norm: str) -> pd.DataFrame:
            return experiment.comparison(kind).run(drawn, level, norm, tick)

        return drawn, [_saved_table(path, run, *which) for which, path in paths.items()]


def _person(folder: Path, experiments: list[Experiment], job: Job) -> pd.DataFrame | None:
    """Table 1; None if Adult is not part of the run."""
    adult = next((experiment for experiment in experiments if experiment.key == "adult"), None)
    if adult is None:
        return None
    with job("Table 1", 1) as tick:
        table = _saved_table(folder / "instances" / "person.csv", lambda: tables.person_table(adult.learned(OBLIQUE).tree))
        tick()
    return table


def _figures(folder: Path, plan: Plan, experiments: list[Experiment], job: Job) -> pd.DataFrame | None:
    """Draw the figures; returns the distances of the figure of digits, None if no images are part of the run."""
    with job("Figures 1 and 2", 2) as tick:
        for name, plane in (("figure1", figures.axis_plane), ("figure2", figures.oblique_plane)):
            if not (folder / "figures" / f"{name}-plane.png").exists():
                answer = plane(plan.seed)
                write(folder / "figures" / f"{name}-tree.png", figures.png(answer.plot(kind="tree")))
                write(folder / "figures" / f"{name}-plane.png", figures.png(answer.plot(kind="regions")))
            tick()
    images = next((experiment for experiment in experiments if experiment.key in (MNIST, STAND_IN)), None)
    if images is None:
        return None
    picture, table = folder / "figures" / "digits.png", folder / "instances" / "digits.csv"
    if not (picture.exists() and table.exists()):
        digits = figures.Digits(images.data, images.learned(OBLIQUE), plan.seed)
        with job(f"{images.key}: figure of digits", digits.size) as tick:
            write(picture, figures.png(digits.draw(_saved_table(table, lambda: digits.run(tick)))))
    return _read_table(table).drop(columns="pixels")


def _saved_table(path: Path, make: Callable[..., pd.DataFrame], *arguments: Any) -> pd.DataFrame:
    """Read a table from a CSV file; make and write it first if there is no such file. This makes a run resumable."""
    if not path.exists():
        write(path, make(*arguments).to_csv(index=False))
    return _read_table(path)


def _read_table(path: Path) -> pd.DataFrame:
    """Read a CSV file with its numbers bit for bit; only an empty cell is a missing value."""
    table: pd.DataFrame = pd.read_csv(path, keep_default_na=False, na_values=[""], **exact_numbers())
    return table


def _version(name: str) -> str:
    """The version of an installed package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
