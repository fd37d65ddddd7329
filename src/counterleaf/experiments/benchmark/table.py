"""The tables in Markdown, line by line, and the machine that they were measured on."""

from __future__ import annotations

import math
import os
import platform
import statistics
from importlib.metadata import PackageNotFoundError, version

from counterleaf.experiments.benchmark.line import OURS, SEARCH, Line

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
MANY = ("tree", "rows", "predict, seconds", "batch, one worker: seconds", "times predict", "batch, two workers: seconds",
        "times predict")  # fmt: skip
NOTES = """\
Milliseconds are for each row; a batch is answered in one call, by one worker. Valid: of the rows that have an answer, the share
with a proposed row that the model's own `predict` takes for the target and whose categories are each one of their values; a
solver closes each leaf at its faces, where the model may say otherwise. The optimum is the lower bound that counterleaf
certifies; cost over optimum is the mean over valid rows, and in brackets stands the largest relative difference between the
optimum that a method claims, whether or not its row is valid, and ours. Numbers go from 0 to 1 and cost what they move (L1) or
its square (L2); a change of category costs 1. Machines are noisy: read the ratios."""


def head(columns: tuple[str, ...]) -> str:
    """The first two lines of a table."""
    return f"{line(columns)}\n{line(('---',) * len(columns))}"


def line(cells: tuple[str, ...] | list[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def main_lines(lines: list[Line]) -> list[str]:
    """The lines of one case: its title stands in the first."""
    ours = next((one.median for one in lines if one.method == OURS and not one.note), math.nan)
    out = []
    for k, one in enumerate(lines):
        title = one.title if k == 0 else ""
        if one.note:
            out.append(line([title, one.method, one.note, *[""] * (len(MAIN) - 3)]))
            continue
        cells = [title, one.method, f"{len(one.answers)}", number(one.median), number(one.worst)]
        cells += [number(one.median / ours, 3), _percent(one.valid), _over(one)]
        out.append(line(cells))
    return out


def paired_line(lines: list[Line]) -> str | None:
    """Gurobi's programs over our searches, row by row; None where one of them has none."""
    by_method = {one.method: one for one in lines if not one.note}
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
    moved = sum(answer.category for answer in gurobi.answers)
    cells = [search.title, f"{len(theirs)}", number(statistics.median(fast)), number(statistics.median(theirs))]
    return line([*cells, *(f"{ratio:,.0f}" for ratio in ratios), f"{moved}"])


def number(value: float, digits: int = 3) -> str:
    """A few digits, without exponents where a reader would not want them; a dash for none."""
    if math.isnan(value):
        return "-"
    if value <= 0:
        return "0"
    value = value if value >= 10**digits else float(f"{value:.{digits - 1}e}")
    return f"{value:,.{max(0, digits - 1 - math.floor(math.log10(value)))}f}"


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.4g} %"


def _over(one: Line) -> str:
    over = "-" if math.isnan(one.over) else f"{one.over:.2f}" if one.over < 1e4 else f"{one.over:.0e}"
    return over if math.isnan(one.difference) else f"{over} ({one.difference:.0e})"


def machine(packages: tuple[str, ...] = PACKAGES) -> str:
    """One line on the machine and the versions of what runs on it."""
    versions = ", ".join(f"{name} {_version(name)}" for name in packages)
    kind = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    return f"{kind}; {versions}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
