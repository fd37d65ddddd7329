"""Initial trees: random hyperplanes, hyperplanes between groups of classes, or a CART tree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from counterleaf._core import learn as kernels
from counterleaf.errors import CounterleafError
from counterleaf.learn.search.shape import Shape
from counterleaf.learn.search.task import SplitSettings, Task
from counterleaf.types import Array

_MIDDLE = (0.4, 0.6)  # a random split sends a share of its rows between these to the left
_RARE = 0.02  # a class with a smaller share of a node has no influence on its first split
_SPREAD = np.array([3.0, 1.0, 0.5])  # weights of the leading directions of the class means in a random mix

_ROOM = 5_000_000  # weights of a complete tree up to which nodes of one class are split too: sweeps may send other rows there
_MOST = 200_000_000  # weights of all nodes together: 1.6 GB, and a search needs three copies

Split = tuple[Array, float]


def random_start(task: Task, depth: int, rng: np.random.Generator) -> Shape:
    """Draw Gaussian directions, scaled by the columns' deviations, that split their rows near the middle."""
    rows, weight, spread = task.rows.core, task.weight, task.rows.spread(task.weight)
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)

    def choose(index: Array) -> Split:
        w = rng.standard_normal(len(scale)) * scale
        return w, _cut(rows.project(index, w), weight[index], rng.uniform(*_MIDDLE))

    return _grow(task, depth, choose)


def class_start(task: Task, depth: int, settings: SplitSettings, rng: np.random.Generator) -> Shape:
    """Separate two groups of classes at each node by sparse logistic regression.

    The groups are formed along a random mix of the leading directions of the class means.
    """
    rows, width = task.rows.core, len(task.rows.origin)
    roomy = 2 ** (depth + 1) * width <= _ROOM

    def choose(index: Array) -> Split:
        y, weight = task.y[index], task.weight[index]
        counts = np.bincount(y, weight, task.classes)
        common = np.flatnonzero(counts >= _RARE * counts.sum())
        if np.count_nonzero(counts) < 2:
            w = rng.standard_normal(width) if roomy else np.zeros(width)  # 0 makes it a leaf
            return w, _cut(rows.project(index, w), weight, 0.5)
        if len(common) < 2:
            common = np.sort(np.argsort(-counts, kind="stable")[:2])
        size = counts[common]
        group = np.full(task.classes, -1)
        group[common] = np.arange(len(common))
        used = np.flatnonzero(group[y] >= 0)
        chosen, label, label_weight = index[used], y[used], weight[used]
        means = rows.sum_groups(chosen, group[label], label_weight, len(common)) / size[:, None]
        means -= size @ means / size.sum()
        axes = _axes(means * np.sqrt(size)[:, None])
        mix = (rng.standard_normal(len(axes)) * _SPREAD[: len(axes)]) @ axes
        order = np.argsort(means @ mix, kind="stable")
        below = np.cumsum(size[order])
        half = min(int(np.searchsorted(below, below[-1] / 2)) + 1, len(common) - 1)
        side = np.zeros(task.classes)
        side[common[order[:half]]], side[common[order[half:]]] = -1.0, 1.0
        problem = kernels.Logistic(rows, chosen, side[label], label_weight)
        fit = problem.fit_narrow if settings.narrow else problem.fit_wide
        lam = kernels.strength(settings.alpha, label_weight.sum())
        w, b = fit(np.zeros(width), 0.0, lam, steps=5, passes=10, tolerance=1e-2)
        up = rows.project(index, w) + b >= 0
        return (mix, _cut(rows.project(index, mix), weight, 0.5)) if up.all() or not up.any() else (w, b)

    return _grow(task, depth, choose)


def _axes(means: Array) -> Array:
    """The leading directions of the class means, each with its largest entry positive, without those due to rounding."""
    _, length, axes = np.linalg.svd(means, full_matrices=False)
    axes = axes[length > 1e-9 * length[0]][: len(_SPREAD)]
    largest = axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)]
    return np.asarray(axes * np.sign(largest)[:, None])


def cart_start(task: Task, depth: int, varied: bool, seed: int) -> Shape:
    """Fit scikit-learn's greedy tree; a ``varied`` one considers half of the columns at each split."""
    kind = DecisionTreeClassifier if task.classes else DecisionTreeRegressor
    model = kind(max_depth=depth, max_features=0.5 if varied else None, random_state=seed)
    tree = model.fit(task.X, task.y, task.weight).tree_
    order = [0]
    for node in order:  # level by level, parents before children
        if tree.children_left[node] >= 0:
            order += [int(tree.children_left[node]), int(tree.children_right[node])]
    place = np.full(tree.node_count + 1, -1)  # the last entry serves the children of leaves, -1
    place[order] = np.arange(len(order))
    inner, feature = tree.children_left[order] >= 0, tree.feature[order]
    W, b = np.zeros((len(order), tree.n_features)), np.zeros(len(order))
    # scikit-learn sends x <= threshold left; here the boundary belongs to the right side, so the sides are swapped
    W[inner, feature[inner]] = -1.0
    b[inner] = tree.threshold[order][inner] - task.rows.origin[feature[inner]]
    return Shape(place[tree.children_right[order]], place[tree.children_left[order]], W, b)


def _grow(task: Task, depth: int, choose: Callable[[Array], Split]) -> Shape:
    """Grow a tree level by level to ``depth``, or until all rows are alike; ``choose`` proposes the split of some rows."""
    rows, width = task.rows.core, len(task.rows.origin)
    left, right, b = [], [], []
    splits: dict[int, Array] = {}
    waiting = [(np.arange(len(task.y)), 0)]
    for index, level in waiting:
        left.append(-1)
        right.append(-1)
        b.append(0.0)
        if level < depth:
            w, c = choose(index)
            up = rows.project(index, w) + c >= 0
            if up.any() and not up.all():
                left[-1], right[-1], b[-1], splits[len(left) - 1] = len(waiting), len(waiting) + 1, c, w
                waiting += [(index[~up], level + 1), (index[up], level + 1)]
        if len(waiting) * width > _MOST:
            raise CounterleafError(
                f'a start of depth {depth} over {width} columns has too many weights; lower max_depth or pass init="cart"'
            )
    W = np.zeros((len(left), width))
    for node, w in splits.items():
        W[node] = w
    return Shape(np.array(left), np.array(right), W, np.array(b))


def _cut(z: Array, weight: Array, share: float) -> float:
    """A bias that sends about ``share`` of the weight, the rows with the least z, to the left.

    Some rows go each way unless all z are equal. The cut is halfway between two neighbours, so that rounding moves no row
    to the other side.
    """
    order = np.argsort(z, kind="stable")
    heights, below = z[order], np.cumsum(weight[order])
    at = heights[min(int(np.searchsorted(below, share * below[-1], side="right")), len(z) - 1)]
    first = max(int(np.searchsorted(heights, at)), int(np.searchsorted(heights, heights[0], side="right")))
    return -float(heights[first - 1] + heights[first]) / 2 if first < len(z) else -float(at)
