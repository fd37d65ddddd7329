"""A tree with computing leaves and a target as one plain tree, whose leaves either reach the target or do not.

A leaf that computes linear outputs reaches the target where some linear rows hold: one per rival class, one or two for an
interval of a value. Each such leaf becomes a short chain of splits, one per row, so that the search, the proof, the text and
the plots see ordinary splits. Constant leaves stay as they are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.outputs import Outputs
from counterleaf.model.tree import Tree
from counterleaf.sparse import CSR
from counterleaf.types import Array

_MOST_NODES = 500_000  # of a plain tree
_AWAY = 8 * 2.0**-53  # of its terms: how far the constant of a tangent is moved outwards, beyond its rounding
_LIGHT = 1e-14  # a tangent of a smaller share is left out of a sum
LABELS = ("other", "target")  # the classes of a plain tree whose target is a range


@dataclass(frozen=True, slots=True)
class Range:
    """The target that the probability of a class, or the value if ``output`` is -1, lies between two numbers.

    If the model transforms the outputs of its tree into values, ``rescale`` is that map, and ``values`` is the range of the
    values that belongs to the range of the outputs.
    """

    output: int
    low: float
    high: float
    rescale: Any = None
    values: tuple[float, float] | None = None

    def holds(self, numbers: Any) -> Any:
        """Whether a probability or a value is in the range, or each of several."""
        low, high = (self.low, self.high) if self.values is None else self.values
        return (low <= numbers) & (numbers <= high)

    def outward(self, values: Array) -> Array:
        """Return the model's values for some outputs of its tree."""
        return values if self.rescale is None else np.asarray(self.rescale.outward(values))


Goal = Mapping[int, float] | Range  # class index -> class cost, or a range
Cut = tuple[tuple[float, tuple[float, ...]], ...]  # a sum of tangents: the weight and the touching point of each, as outputs
Cuts = Mapping[int, tuple[Cut, ...]]  # leaf -> its cuts


@dataclass(frozen=True, eq=False)
class Decision:
    """The plain tree of a goal.

    Parameters
    ----------
    model : Tree
        The tree of the model.
    goal : dict or Range
        Class index -> class cost, or a range of a probability or value.
    tree : Tree
        The plain tree; its first nodes are those of the model's tree.
    target : dict
        The classes of the plain tree that reach the goal, with their costs.
    origin : (N,) array
        The node of the model's tree to which each node of the plain tree belongs.
    cuts : dict
        For leaves whose softmax is bounded by tangents: the outputs at which they touch.
    """

    model: Tree
    goal: Goal
    tree: Tree
    target: dict[int, float]
    origin: Array = field(repr=False)
    cuts: Cuts = field(default_factory=dict, repr=False)

    @functools.cached_property
    def same_splits(self) -> bool:
        """Whether the plain tree has the splits of the model's tree, so that both can share what is prepared."""
        return self.tree.n_nodes == self.model.n_nodes

    @property
    def sums(self) -> Array:
        """The splits that a linear leaf became."""
        return np.asarray((self.tree.left >= 0) & (self.model.left[self.origin] < 0))

    @functools.cached_property
    def curved(self) -> bool:
        """Whether some leaf's region is bounded by tangents, which contain it."""
        return isinstance(self.goal, Range) and _is_curved(self.model, self.goal)

    def labels(self, points: Array) -> list[Any]:
        """Return the class of each point as the model's tree computes it, or its value for regression."""
        if not len(points):
            return []
        found = self.model.predict(points)
        out: list[Any] = (self.goal.outward(found) if isinstance(self.goal, Range) and self.goal.output < 0 else found).tolist()
        return out

    @functools.cached_property
    def wanted(self) -> tuple[Any, ...]:
        """The labels of the target."""
        labels = self.model.classes.tolist()
        return tuple(labels[k] for k in self.target)

    def numbers(self, points: Array) -> list[float] | None:
        """Return the probability or value of each point that the goal is about; None if it is about classes."""
        if not isinstance(self.goal, Range):
            return None
        if not len(points):
            return []
        if self.goal.output < 0:
            return [float(one) for one in self.goal.outward(self.model.predict(points))]
        return [float(one) for one in self.model.predict_proba(points)[:, self.goal.output]]

    @functools.cached_property
    def picture(self) -> Tree:
        """The plain tree with a label at each leaf that holds for all of its rows: a class, or whether it is the target."""
        if self.tree is self.model or isinstance(self.goal, Range):
            return self.tree
        reached = np.isin(self.tree.value, list(self.target)).astype(int)
        return replace(self.tree, value=reached, classes=LABELS)

    @property
    def extremes(self) -> tuple[float, float]:
        """The lowest and the highest probability or value of the goal among the constant leaves."""
        outputs, goal = self.model.outputs, self.goal
        assert outputs is not None
        assert isinstance(goal, Range)
        found = outputs.intercept if goal.output < 0 else outputs.probabilities(outputs.intercept)
        assert found is not None
        numbers = goal.outward(found[self.model.leaves, max(goal.output, 0)])
        return float(numbers.min()), float(numbers.max())

    @property
    def predicted(self) -> int:
        """The output that confirms an answer: the class of a probability, -1 for the prediction itself."""
        return self.goal.output if isinstance(self.goal, Range) else -1

    def confirms(self, points: Array, predicted: Any) -> list[bool]:
        """Return whether the model's predictions for some points reach the goal, and are those of its tree if classes."""
        if isinstance(self.goal, Range):
            return [bool(self.goal.holds(float(one))) for one in predicted]
        pairs = zip(predicted, self.labels(points), strict=True)
        return [bool(one == label and label in self.wanted) for one, label in pairs]

    def with_tangents(self, points: Array, prices: list[Array]) -> Decision:
        """Return the decision with a tangent at each of some points that miss the goal, so that they are cut off.

        ``prices`` are the multipliers of the cuts at each point's leaf; those that are 0 do not hold the point back, and are
        left out.
        """
        outputs = self.model.outputs
        assert outputs is not None
        leaves, cuts = self.model.apply(points), dict(self.cuts)
        for leaf, made, price in zip(leaves.tolist(), outputs.at(leaves, points).tolist(), prices, strict=True):
            known = cuts.get(leaf, ())
            if len(price) == len(known):
                known = tuple(cut for cut, one in zip(known, price.tolist(), strict=True) if one > 0.0)
            cuts[leaf] = (*known, ((1.0, tuple(made)),))
        return decide(self.model, self.goal, cuts)

    def summed(self, leaves: list[int], prices: list[Array]) -> Decision:
        """Return the decision with one cut at each of some leaves: the sum of its cuts, weighted by their multipliers.

        It proves the same bound, and rounding disturbs one cut less than several that are nearly parallel.
        """
        cuts = dict(self.cuts)
        for leaf, price in zip(leaves, prices, strict=True):
            known, total = cuts.get(leaf, ()), float(price.sum())
            if len(price) == len(known) and total > 0.0:
                parts = [(float(p) / total * c, at) for p, cut in zip(price, known, strict=True) for c, at in cut]
                cuts[leaf] = (tuple((c, at) for c, at in parts if c > _LIGHT),)
        return decide(self.model, self.goal, cuts)


def decide(tree: Tree, goal: Goal, cuts: Cuts | None = None) -> Decision:
    """Return the plain tree whose leaves reach a goal or do not.

    Parameters
    ----------
    tree : Tree
        The model's tree.
    goal : dict or Range
        Class index -> class cost, or a range of a probability or value.
    cuts : dict, optional
        The outputs at which tangents touch the softmax of a leaf.

    Returns
    -------
    Decision
        The plain tree.

    Raises
    ------
    CounterleafError
        If the goal cannot be expressed by linear rows of a reasonable number.
    """
    outputs = tree.outputs
    if isinstance(goal, Range):
        return _by_range(tree, goal, cuts or {})
    if outputs is None or (tree.value[tree.leaves] >= 0).all():
        return Decision(tree, goal, tree, dict(goal), np.arange(tree.n_nodes))
    linear = outputs.linear
    own = np.where(tree.value < 0, outputs.intercept.argmax(axis=1), tree.value)
    plain = _Plain(tree, own)
    for leaf in tree.leaves[((tree.value < 0) & linear)[tree.leaves]].tolist():
        _Contest(plain, outputs, leaf, dict(goal)).hold()
    return Decision(tree, goal, plain.tree(tree.classes), dict(goal), np.array(plain.origin))


class _Plain:
    """A plain tree in the making: the nodes of a tree, some of whose leaves become chains of splits."""

    def __init__(self, tree: Tree, value: Array) -> None:
        if tree.dtype == "float32" and tree.outputs is not None and tree.outputs.slope is not None:
            raise CounterleafError("a tree with linear leaves that casts rows to float32 is not supported; use dtype='float64'")
        self.source = tree
        self.left, self.right = tree.left.tolist(), tree.right.tolist()
        self.bias, self.value = tree.bias.tolist(), value.tolist()
        self.origin = list(range(tree.n_nodes))
        self.rows: list[tuple[int, Array, Array]] = []  # node, columns, weights of the new splits

    def leaf(self, origin: int) -> int:
        """Add a leaf that belongs to a leaf of the model; its value is set later."""
        if len(self.left) >= _MOST_NODES:
            raise CounterleafError(
                f"this target needs more than {_MOST_NODES:,} splits at linear leaves; name one class, or all but one"
            )
        for column, entry in ((self.left, -1), (self.right, -1), (self.bias, 0.0), (self.value, 0)):
            column.append(entry)
        self.origin.append(origin)
        return len(self.left) - 1

    def split(self, node: int, row: tuple[Array, Array, float], closed: bool) -> tuple[int | None, int | None]:
        """Split a leaf by ``row >= 0`` (``> 0`` if not ``closed``); return the leaf where it holds and the one where it fails.

        A row without weights holds everywhere or nowhere; the other side is then None.
        """
        columns, weights, constant = row
        if not len(columns):
            holds = constant > 0 or (closed and constant == 0)
            return (node, None) if holds else (None, node)
        made = self.leaf(self.origin[node]), self.leaf(self.origin[node])
        self.left[node], self.right[node] = made
        sign = 1.0 if closed == (self.source.closed == "right") else -1.0  # the side that owns 0 must be the right one
        self.rows.append((node, columns, sign * weights))
        self.bias[node], self.value[node] = sign * constant, -1
        return made[::-1] if sign > 0 else made

    def tree(self, classes: Any) -> Tree:
        """Return the plain tree."""
        w = self.source.weights
        parts = [(w.rows, w.indices, w.data)]
        parts += [(np.full(len(columns), node), columns, weights) for node, columns, weights in self.rows]
        rows, columns, data = (np.concatenate(part) for part in zip(*parts, strict=True))
        weights = CSR.from_entries(rows, columns, data, (len(self.left), w.shape[1]))
        arrays = np.array(self.left), np.array(self.right), weights, np.array(self.bias), np.array(self.value)
        return Tree(*arrays, classes, closed=self.source.closed, dtype=self.source.dtype)


def _difference(outputs: Outputs, leaf: int, a: int, b: int, constant: float = 0.0) -> tuple[Array, Array, float]:
    """Return the row ``output a - output b + constant`` of a leaf."""
    (columns, weights, one), (others, subtracted, other) = outputs.row(leaf, a), outputs.row(leaf, b)
    return _sum([(1.0, columns, weights), (-1.0, others, subtracted)], math.fsum([one, -other, constant]))


def _sum(parts: list[tuple[float, Array, Array]], constant: float) -> tuple[Array, Array, float]:
    """Return a sum of weighted rows."""
    total: dict[int, list[float]] = {}
    for factor, columns, weights in parts:
        for column, weight in zip(columns.tolist(), weights.tolist(), strict=True):
            total.setdefault(column, []).append(factor * weight)
    sums = {column: math.fsum(terms) for column, terms in sorted(total.items())}
    kept = {column: one for column, one in sums.items() if one}
    return np.array(list(kept), np.int64), np.array(list(kept.values())), constant


@dataclass(eq=False)
class _Contest:
    """The classes of a target against all others at a leaf whose largest output wins, the first of equal ones."""

    plain: _Plain
    outputs: Outputs
    leaf: int
    goal: dict[int, float]

    def hold(self) -> None:
        """Turn the leaf into splits that tell whether a class of the target wins."""
        wanted = list(self.goal)
        others = [k for k in range(self.outputs.count) if k not in self.goal]
        alike = len(set(self.goal.values())) <= 1
        if not others and alike:
            self.plain.value[self.leaf] = wanted[0]
        elif alike and len(others) < len(wanted):
            self._champion(self.leaf, others[0], others[1:], wanted)
        else:
            self._champion(self.leaf, wanted[0], wanted[1:], others)

    def _beats(self, node: int | None, a: int, b: int) -> tuple[int | None, int | None]:
        """Split a leaf by whether class a wins against class b."""
        if node is None:
            return None, None
        return self.plain.split(node, _difference(self.outputs, self.leaf, a, b), closed=a < b)

    def _champion(self, node: int | None, best: int, rest: list[int], rivals: list[int]) -> None:
        """Find the best class of one side at a leaf, then compare it with the rivals."""
        if node is None:
            return
        if rest:
            won, lost = self._beats(node, rest[0], best)
            self._champion(won, rest[0], rest[1:], rivals)
            self._champion(lost, best, rest[1:], rivals)
            return
        for rival in rivals:
            if node is None:
                return
            won, lost = self._beats(node, rival, best)
            if won is not None:
                self.plain.value[won] = rival
            node = lost
        if node is not None:
            self.plain.value[node] = best


def _is_curved(tree: Tree, goal: Range) -> bool:
    """Whether a goal needs the softmax of three or more linear outputs."""
    outputs = tree.outputs
    if goal.output < 0 or outputs is None or outputs.slope is None:
        return False
    return outputs.kind == "softmax" and outputs.count > 2


def _by_range(tree: Tree, goal: Range, cuts: Cuts) -> Decision:
    """Return the plain tree of a range of a probability or value."""
    outputs = tree.outputs
    assert outputs is not None
    if _is_curved(tree, goal) and goal.high < 1.0:
        raise CounterleafError(
            "at_most= is not supported for the softmax of three or more linear outputs, whose rows then form no convex region; "
            "use at_least= with another class"
        )
    linear = outputs.linear
    constant = outputs.intercept if goal.output < 0 else outputs.probabilities(outputs.intercept)
    assert constant is not None
    number = constant[:, max(goal.output, 0)]
    plain = _Plain(tree, ((number >= goal.low) & (number <= goal.high)).astype(int))
    for leaf in tree.leaves[linear[tree.leaves]].tolist():
        at: int | None = leaf
        for row in _rows_of_range(outputs, leaf, goal, cuts.get(leaf, ())):
            if at is not None:
                at, missed = plain.split(at, row, closed=True)
                if missed is not None:
                    plain.value[missed] = 0
        if at is not None:
            plain.value[at] = 1
    made = plain.tree(LABELS)
    return Decision(tree, goal, made, {1: 0.0}, np.array(plain.origin), cuts)


def _rows_of_range(outputs: Outputs, leaf: int, goal: Range, cuts: tuple[Cut, ...]) -> list[tuple[Array, Array, float]]:
    """Return the rows that hold where the probability or value of a linear leaf is in the range."""
    k = goal.output
    if outputs.kind == "softmax" and outputs.count > 2:
        return _tangents(outputs, leaf, goal, cuts)
    low, high = goal.low, goal.high
    if k >= 0:  # the output, or the difference of two outputs, is the log odds
        low, high = _log_odds(goal.low, up=True), _log_odds(goal.high, up=False)
    rows = []
    for sign, end in ((1.0, low), (-1.0, high)):
        if math.isinf(end):
            continue
        if k >= 0 and outputs.kind == "softmax":
            a, b = (k, 1 - k) if sign > 0 else (1 - k, k)
            rows.append(_difference(outputs, leaf, a, b, -sign * end))
        else:
            columns, weights, constant = outputs.row(leaf, 0)
            turned = -1.0 if k == 0 else 1.0  # the log odds of the first class are those of the second, negated
            rows.append((columns, sign * turned * weights, math.fsum([sign * turned * constant, -sign * end])))
    return rows


def _log_odds(probability: float, up: bool) -> float:
    """Return the least (or largest) number whose logistic function, as computed, is at least (at most) a probability."""
    if probability <= 0.0 if up else probability >= 1.0:
        return -math.inf if up else math.inf
    if probability in (0.0, 1.0):  # reached where the function rounds to it
        return math.copysign(36.75 if probability else 745.2, probability - 0.5)
    return math.log(probability) - math.log1p(-probability)


def _tangents(outputs: Outputs, leaf: int, goal: Range, cuts: tuple[Cut, ...]) -> list[tuple[Array, Array, float]]:
    """Return rows that hold wherever the softmax of a class is at least a number.

    With s_j = z_j - z_k, the softmax of class k is at least p where sum_j exp(s_j) <= 1 / p - 1. Each exponential alone is then
    at most as large; and it lies above its tangents, g (1 + s - log g), whose sum is at most as large too.
    """
    k, p = goal.output, goal.low
    if p <= 0.0:
        return []
    others = [j for j in range(outputs.count) if j != k]
    room = (1.0 - min(p, 1.0 - 2.0**-53)) / p
    rows = []
    for j in others:
        columns, weights, constant = _difference(outputs, leaf, k, j, math.log(room))
        rows.append((columns, weights, constant + _AWAY * (abs(constant) + abs(math.log(room)) + 1.0)))
    for cut in cuts:
        raised, terms = dict.fromkeys(others, 0.0), []
        for share, at in cut:
            terms.append(share * room)
            for j in others:
                g = share * math.exp(min(at[j] - at[k], 700.0))
                raised[j] += g
                terms += [-g, g * (at[j] - at[k])] if at[j] - at[k] <= 700.0 else [-g, g * 700.0]
        parts = []
        for j, g in raised.items():
            columns, weights, constant = _difference(outputs, leaf, k, j)
            parts.append((g, columns, weights))
            terms.append(g * constant)
        away = _AWAY * len(terms) * (sum(map(abs, terms)) + 1e-300)
        rows.append(_sum(parts, math.fsum([*terms, away])))
    return rows
