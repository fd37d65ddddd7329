"""The tree with the paths of source and answer; a large tree shows the rest as folded subtrees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.answer.explanation import Explanation
from counterleaf.answer.text import outcome
from counterleaf.answer.tree_text import leaf_counts
from counterleaf.model.decision import Decision
from counterleaf.model.tree import Tree
from counterleaf.plot.canvas import NORMAL, SMALL, SOURCE, headline, short, width
from counterleaf.plot.trees.conditions import condition
from counterleaf.plot.trees.placement import EDGE, MOST_LEAVES, cut, draw_node, lay_out

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def path_to(tree: Tree, leaf: int) -> list[int]:
    """Return the nodes from the root to a leaf, both included."""
    inner = np.flatnonzero(tree.left >= 0)
    parent = np.full(tree.n_nodes, -1)
    parent[tree.left[inner]] = parent[tree.right[inner]] = inner
    out = [leaf]
    while out[-1] != 0:
        out.append(int(parent[out[-1]]))
    return out[::-1]


def prune(tree: Tree, paths: Sequence[Sequence[int]], most: int) -> dict[int, tuple[int, ...]]:
    """Return the nodes to draw, parents first, with their children.

    A tree with more than ``most`` leaves keeps the paths only; subtrees off the paths have no children here.
    """
    whole = len(tree.leaves) <= most
    return cut(tree, set(range(tree.n_nodes)) if whole else {node for path in paths for node in path})


def draw_paths(answer: Explanation) -> Figure:
    """Draw splits as conditions and leaves as classes, with the path of the source dashed and that of the answer solid.

    A row that satisfies a condition goes left on the page.
    """
    from matplotlib.lines import Line2D

    assert isinstance(answer.decision, Decision)  # ``draw`` refuses ensembles
    tree = answer.decision.picture
    ends = [tree.leaf_of(answer.certificate.problem.source), *answer.certificate.findings.leaves[:1].tolist()]
    paths = [path_to(tree, leaf) for leaf in ends]
    drawn, below = prune(tree, paths, MOST_LEAVES), leaf_counts(tree)
    texts, widths = {}, {}
    for node, children in drawn.items():
        if children:
            texts[node], side = condition(tree, node, answer.schema)
            drawn[node] = children[::side]
        elif tree.left[node] < 0:
            texts[node] = short(str(tree.classes[tree.value[node]]), 18)
        else:
            texts[node] = f"{below[node]} leaves"
        widths[node] = width(texts[node], SMALL) + 12
    title = headline(answer, answer[0] if len(answer) else None)
    keys = [Line2D([], [], color=SOURCE, linestyle="--", linewidth=1.8, label=f"source: {short(outcome(answer), 18)}")]
    if len(answer):
        keys.append(Line2D([], [], color="#C68DBC", linewidth=4, label=f"answer: {short(outcome(answer, answer[0]), 18)}"))
    need = max(width(title, NORMAL, "bold"), sum(width(str(key.get_label()), SMALL) + 44 for key in keys))
    figure, page, at = lay_out(drawn, widths, 43.0, need)
    for path, key, order in zip(paths, keys, (3, 2), strict=False):
        look: dict[str, Any] = {"color": key.get_color(), "linestyle": key.get_linestyle(), "linewidth": key.get_linewidth()}
        page.plot(*zip(*(at[node] for node in path), strict=True), **look, zorder=order)
    for node, text in texts.items():
        draw_node(page, at[node], text, tree, node, bool(drawn[node]))
    wide, high = page.get_xlim()[1], page.get_ylim()[1]
    page.text(EDGE, high - 13, title, weight="bold", va="center")
    page.legend(handles=keys, loc="upper left", bbox_to_anchor=(EDGE / wide, (high - 23) / high),
                 ncols=2, frameon=False, borderaxespad=0, borderpad=0, handlelength=2.4, columnspacing=1.2)  # fmt: skip
    return figure
