"""Compile the search in processes of their own while there is other work: the first run is the slow one.

``python -m counterleaf.warm numbers batches`` asks the smallest questions of each kind; numba keeps the result. The kinds:
numbers, images and batches, which share most with numbers; tables and table-batches; learning.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np

from counterleaf.cost import L1, L2, Quadratic
from counterleaf.explain import Explainer
from counterleaf.features import Categorical, Numeric
from counterleaf.schema import Schema
from counterleaf.tree import Tree

TABLES, NUMBERS = ("tables",), ("numbers", "images")  # what one process compiles; images share most with numbers


def start(*crews: tuple[str, ...]) -> list[subprocess.Popen[bytes]]:
    """A process for each crew, by default two for everything; where all is compiled already they end at once."""
    none = subprocess.DEVNULL
    return [
        subprocess.Popen([sys.executable, "-m", __name__, *crew], stdin=none, stdout=none, stderr=none)
        for crew in crews or (TABLES, NUMBERS)
    ]


def compile_family(family: str) -> None:
    """Oblique and axis-aligned, squares and absolute values, over numbers or over a table; for images one coupled cost."""
    if family == "learning":
        _learn()
        return
    costs = [Quadratic(np.eye(3))] if family == "images" else [L2(), L1()]
    for row in ([1.0, 0.0, 0.0], [1.0, 1.0, -1.0]):
        for dtype in ("float64", "float32"):
            left, right, bias, value = np.array([[1, -1, -1], [2, -1, -1], [-1, 0, 0], [0, 0, 1]])
            tree = Tree(left, right, [row, [0] * 3, [0] * 3], bias, value, dtype=dtype)
            number = Numeric("a", -9.0, 9.0)
            table: tuple[Schema, list[Any]] = Schema([number, Categorical("b", ["no", "yes"])]), [0.0, "no"]
            numbers: tuple[Schema, list[Any]] = Schema([number, Numeric("b"), Numeric("c")]), [0.0, 0.0, 0.0]
            schema, source = table if family.startswith("table") else numbers
            explainer = Explainer(tree, schema=schema)
            for cost in costs:
                if family.endswith("batches"):
                    explainer.explain_many(np.array([source], float if schema.plain else object), target=1, cost=cost)
                else:
                    explainer.explain(source, target=1, cost=cost)


def _learn() -> None:
    from counterleaf.learn import TAOClassifier

    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]] * 5)
    for axis_aligned in (False, True):
        TAOClassifier(max_depth=2, axis_aligned=axis_aligned, random_state=0).fit(X, [0, 1, 1, 0] * 5)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        compile_family(name)
