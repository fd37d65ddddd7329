"""The tables of the benchmark in Markdown, and a description of the machine."""

from __future__ import annotations

import math
import os
import platform
import statistics
from importlib.metadata import PackageNotFoundError, version

from counterleaf_experiments.benchmark.measurement import BATCH, SEARCH, Measurement

PACKAGES = (
    "counterleaf", "numpy", "scikit-learn", "gurobipy", "highspy", "pyscipopt", "piqp", "daqp", "treecf", "dice-ml",
)  # fmt: skip
MAIN = (
    "tree and cost", "method", "rows", "median ms", "worst ms", "times counterleaf's batch", "valid",
    "cost over optimum (largest difference between optima)",
)  # fmt: skip
PAIRED = ("tree and cost", "rows", "search, median ms", "Gurobi, median ms", "ratio of medians", "of means", "worst row",
          "rows where a category changes")  # fmt: skip
COUPLED = ("tree and cost", "rows", "explain, median ms", "worst ms", "proofs re-checked",
           "every target leaf with PIQP, median ms", "times explain", "largest difference between optima")  # fmt: skip
LINEAR = ("tree and cost", "rows (with Gurobi)", "explain, median ms", "search, median ms", "proved and confirmed",
          "every target leaf with Gurobi, median ms", "times explain", "times search", "largest difference")  # fmt: skip
MANY = ("tree", "rows", "predict, seconds", "batch, one worker: seconds", "times predict", "batch, two workers: seconds",
        "times predict")  # fmt: skip
NOTES = """\
Milliseconds are per row; a batch is answered in one call by one worker. Valid is the share of rows, among those for which an
answer exists, with a proposed row for which the model predicts the target and whose categories have one of their values; a
solver includes the boundary of each leaf, where the model may predict another class. The optimum is the lower bound that
counterleaf certifies. Cost over optimum is the mean over valid rows; the number in brackets is the largest relative difference
between our optimum and the one that a method reports, for valid and invalid rows. Numbers go from 0 to 1 and cost their change
(L1) or its square (L2); a change of category costs 1. Machines are noisy: compare the ratios."""


def table_head(columns: tuple[str, ...]) -> str:
    """The first two lines of a table."""
    return f"{table_row(columns)}\n{table_row(('---',) * len(columns))}"


def table_row(cells: tuple[str, ...] | list[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def main_rows(measurements: list[Measurement]) -> list[str]:
    """The lines of one case, with its title in the first."""
    ours = next((one.median for one in measurements if one.method == BATCH and not one.note), math.nan)
    out = []
    for k, one in enumerate(measurements):
        title = one.title if k == 0 else ""
        if one.note:
            out.append(table_row([title, one.method, one.note, *[""] * (len(MAIN) - 3)]))
            continue
        cells = [title, one.method, f"{len(one.answers)}", number(one.median), number(one.worst)]
        cells += [number(one.median / ours, 3), _percent(one.valid), _over(one)]
        out.append(table_row(cells))
    return out


def paired_row(measurements: list[Measurement]) -> str | None:
    """Compare Gurobi's times with those of our search, row by row; None if one of them is not available."""
    by_method = {one.method: one for one in measurements if not one.note}
    search, gurobi = by_method.get(SEARCH), by_method.get("every target leaf with Gurobi")
    if search is None or gurobi is None:
        return None
    theirs = [answer.ms for answer in gurobi.answers if not answer.error]
    fast = [ours.ms for ours, answer in zip(search.answers, gurobi.answers, strict=False) if not answer.error]
    ratios = (
        statistics.median(theirs) / statistics.median(fast),
        statistics.mean(theirs) / statistics.mean(fast),
        min(slow / quick for slow, quick in zip(theirs, fast, strict=True)),
    )
    changed = sum(answer.category for answer in gurobi.answers)
    cells = [search.title, f"{len(theirs)}", number(statistics.median(fast)), number(statistics.median(theirs))]
    return table_row([*cells, *(f"{ratio:,.0f}" for ratio in ratios), f"{changed}"])


def number(value: float, digits: int = 3) -> str:
    """A number in a few digits without an exponent; a dash for NaN."""
    if math.isnan(value):
        return "-"
    if value <= 0:
        return "0"
    value = value if value >= 10**digits else float(f"{value:.{digits - 1}e}")
    return f"{value:,.{max(0, digits - 1 - math.floor(math.log10(value)))}f}"


def _percent(share: float) -> str:
    """A share as a percentage; a dash for NaN."""
    return "-" if math.isnan(share) else f"{100 * share:.4g} %"


def _over(one: Measurement) -> str:
    """Cost over optimum, and the largest difference between optima in brackets."""
    over = "-" if math.isnan(one.over) else f"{one.over:.2f}" if one.over < 1e4 else f"{one.over:.0e}"
    return over if math.isnan(one.difference) else f"{over} ({one.difference:.0e})"


def machine(packages: tuple[str, ...] = PACKAGES) -> str:
    """One line on the machine and the versions of the packages."""
    versions = ", ".join(f"{name} {_version(name)}" for name in packages)
    kind = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    return f"{kind}; {versions}"


def _version(name: str) -> str:
    """The version of an installed package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
