"""Compile the search in processes of their own while trees are learned: the first run is the slow one.

``python -m counterleaf.reproduce.warm numbers`` (or ``tables``) asks the smallest questions of each kind; numba keeps the result.
"""

from __future__ import annotations

import subprocess
import sys

from counterleaf.cost import L1, L2
from counterleaf.explain import Explainer
from counterleaf.features import Categorical, Numeric
from counterleaf.schema import Schema
from counterleaf.tree import Tree

FAMILIES = ("tables", "numbers")


def start() -> list[subprocess.Popen[bytes]]:
    """One process per family of kernels; where all is compiled already they end at once."""
    command = [sys.executable, "-m", __name__]
    return [subprocess.Popen([*command, family], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for family in FAMILIES]


def compile_family(family: str) -> None:
    """Oblique and axis-aligned, squares and absolute values, over numbers or over a table with categories."""
    for row in ([1.0, 0.0, 0.0], [1.0, 1.0, -1.0]):
        tree = Tree([1, -1, -1], [2, -1, -1], [row, [0] * 3, [0] * 3], [-0.5, 0, 0], [0, 0, 1])
        for dtype in ("float64", "float32"):
            tree = Tree(tree.left, tree.right, tree.weights, tree.bias, tree.value, closed="right", dtype=dtype)
            number = Numeric("a", -9.0, 9.0)
            if family == "numbers":
                schema = Schema([number, Numeric("b"), Numeric("c")])
                source: list[object] = [0.0, 0.0, 0.0]
            else:
                schema, source = Schema([number, Categorical("b", ["no", "yes"])]), [0.0, "no"]
            for cost in (L2(), L1()):
                Explainer(tree, schema=schema).explain(source, target=1, cost=cost)


if __name__ == "__main__":
    compile_family(sys.argv[1])
