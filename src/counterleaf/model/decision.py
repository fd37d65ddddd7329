"""What a target asks of a model: one plain tree, whose leaves either reach the target or do not; or the scores of an ensemble.

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
from counterleaf.model.cuts import preimage
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.outputs import Outputs
from counterleaf.model.tree import Tree
from counterleaf.sparse import CSR
from counterleaf.types import Array

_AWAY = 8 * 2.0**-53  # of its terms: how far the constant of a tangent is moved outwards, beyond its rounding
_WIDEST = 1e300  # odds that every row has
Cut = tuple[tuple[float, tuple[float, ...]], ...]  # a sum of tangents: the weight and the touching point of each, as outputs
_HUGE = 1e30  # beyond any score
_MOST_NODES = 500_000  # of a plain tree
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
Cuts = Mapping[int, tuple[Cut, ...]]  # leaf -> its cuts


class Reached:
    """What a model with a ``goal`` says of points, and whether that reaches the goal; for decisions of one tree and of many."""

    model: Any
    goal: Goal
    target: Any  # the classes that reach it, with their costs

    @functools.cached_property
    def wanted(self) -> tuple[Any, ...]:
        """The labels of the target, none for a range."""
        labels = self.model.classes.tolist()
        return () if isinstance(self.goal, Range) else tuple(labels[k] for k in self.target)

    def labels(self, points: Array) -> list[Any]:
        """Return the class of each point as the model computes it, or its value for regression."""
        if not len(points):
            return []
        found = self.model.predict(points)
        out: list[Any] = (self.goal.outward(found) if isinstance(self.goal, Range) and self.goal.output < 0 else found).tolist()
        return out

    def numbers(self, points: Array) -> list[float] | None:
        """Return the probability or value of each point that the goal is about; None if it is about classes."""
        if not isinstance(self.goal, Range):
            return None
        if not len(points):
            return []
        if self.goal.output < 0:
            return [float(one) for one in self.goal.outward(self.model.predict(points))]
        return [float(one) for one in self.model.predict_proba(points)[:, self.goal.output]]

    @property
    def predicted(self) -> int:
        """The output that confirms an answer: the class of a probability, -1 for the prediction itself."""
        return self.goal.output if isinstance(self.goal, Range) else -1

    def reaches(self, points: Array) -> bool:
        """Return whether the model itself reaches the goal at every one of some points."""
        if isinstance(self.goal, Range):
            return all(bool(self.goal.holds(one)) for one in self.numbers(points) or ())
        return all(label in self.wanted for label in self.labels(points))

    def confirms(self, points: Array, predicted: Any) -> list[bool]:
        """Return whether the model's predictions for some points reach the goal, and are those that we compute if classes."""
        if isinstance(self.goal, Range):
            return [bool(self.goal.holds(float(one))) for one in predicted]
        pairs = zip(predicted, self.labels(points), strict=True)
        return [bool(one == label and label in self.wanted) for one, label in pairs]


@dataclass(frozen=True, eq=False)
class Decision(Reached):
    """The plain tree of a goal."""

    model: Tree  # the tree of the model
    goal: Goal  # class index -> class cost, or a range of a probability or value
    tree: Tree  # the plain tree; its first nodes are those of the model's tree
    target: dict[int, float]  # the classes of the plain tree that reach the goal, with their costs
    origin: Array = field(repr=False)  # (N,) array: the node of the model's tree to which each node of the plain tree belongs
    # for leaves whose softmax is bounded by tangents: the outputs at which they touch
    cuts: Cuts = field(default_factory=dict, repr=False)
    closed: frozenset[int] = frozenset()  # the leaves of the model's tree that do not count as reaching the goal

    @functools.cached_property
    def same_splits(self) -> bool:
        """Whether the plain tree has the splits of the model's tree, so that both can share what is prepared."""
        return self.tree.n_nodes == self.model.n_nodes

    @property
    def sums(self) -> Array:
        """The splits that a linear leaf became."""
        return np.asarray((self.tree.left >= 0) & (self.model.left[self.origin] < 0))

    @property
    def closed_nodes(self) -> Array | None:
        """Which nodes of the plain tree belong to leaves that do not count; None if all leaves count."""
        return np.isin(self.origin, list(self.closed)) if self.closed else None

    @functools.cached_property
    def curved(self) -> bool:
        """Whether some leaf's region is bounded by tangents, which contain it."""
        return isinstance(self.goal, Range) and _is_curved(self.model, self.goal)

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
        return decide(self.model, self.goal, cuts, self.closed)

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
        return decide(self.model, self.goal, cuts, self.closed)


def decide(tree: Tree, goal: Goal, cuts: Cuts | None = None, closed: frozenset[int] = frozenset()) -> Decision:
    """Return the plain tree whose leaves reach a goal or do not."""
    try:
        return replace(_decided(tree, goal, cuts or {}), closed=closed)
    except OverflowError:
        raise CounterleafError("the outputs of a leaf are too large to compare; expected numbers up to 1e300") from None


def _decided(tree: Tree, goal: Goal, cuts: Cuts) -> Decision:
    outputs = tree.outputs
    if isinstance(goal, Range):
        return _by_range(tree, goal, cuts)
    if outputs is None or (tree.value[tree.leaves] >= 0).all():
        return Decision(tree, goal, tree, dict(goal), np.arange(tree.n_nodes))
    linear = outputs.linear
    own = np.where(tree.value < 0, outputs.intercept.argmax(axis=1), tree.value)
    plain = _Plain(tree, own)
    for leaf in tree.leaves[((tree.value < 0) & linear)[tree.leaves]].tolist():
        _contest(plain, outputs, leaf, goal)
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
            raise _too_many()
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


def _too_many() -> CounterleafError:
    return CounterleafError(
        f"this target needs more than {_MOST_NODES:,} splits at linear leaves; name one class, or all but one"
    )


def _contest(plain: _Plain, outputs: Outputs, leaf: int, goal: Mapping[int, float]) -> None:
    """Turn a leaf whose largest output wins, the first of equal ones, into splits that tell whether the goal wins."""
    wanted, others = list(goal), [k for k in range(outputs.count) if k not in goal]
    alike = len(set(goal.values())) <= 1
    if not others and alike:
        plain.value[leaf] = wanted[0]
        return
    side, rivals = (others, wanted) if alike and len(others) < len(wanted) else (wanted, others)
    linear = [k for k in side if len(outputs.row(leaf, k)[0])]
    if 2.0 ** (len(linear) - 1) * (len(rivals) + 1) > _MOST_NODES:
        raise _too_many()

    def beats(node: int, a: int, b: int) -> tuple[int | None, int | None]:
        return plain.split(node, difference(outputs, leaf, a, b), closed=a < b)

    ahead: list[tuple[int, int, int]] = [(leaf, side[0], 1)]  # leaf, best class of the side so far, classes seen
    while ahead:
        at, best, seen = ahead.pop()
        if seen < len(side):
            won, lost = beats(at, side[seen], best)
            ahead += [(node, of, seen + 1) for node, of in ((lost, best), (won, side[seen])) if node is not None]
            continue
        node: int | None = at
        for rival in rivals:
            if node is None:
                break
            won, node = beats(node, rival, best)
            if won is not None:
                plain.value[won] = rival
        if node is not None:
            plain.value[node] = best


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
    empty = goal.low > goal.high or goal.low == math.inf or goal.high == -math.inf
    for leaf in tree.leaves[linear[tree.leaves]].tolist():
        at: int | None = leaf
        plain.value[leaf] = 0
        if empty:
            continue
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
        return tangents(outputs, leaf, k, goal.low, cuts)
    low, high = goal.low, goal.high
    if k >= 0:  # the output, or the difference of two outputs, is the log odds
        low, high = preimage(_logistic, low, high, 1e4)
    rows = []
    for sign, end in ((1.0, low), (-1.0, high)):
        if math.isinf(end):
            continue
        if k >= 0 and outputs.kind == "softmax":
            a, b = (k, 1 - k) if sign > 0 else (1 - k, k)
            rows.append(difference(outputs, leaf, a, b, -sign * end))
        else:
            columns, weights, constant = outputs.row(leaf, 0)
            turned = -1.0 if k == 0 else 1.0  # the log odds of the first class are those of the second, negated
            rows.append((columns, sign * turned * weights, math.fsum([sign * turned * constant, -sign * end])))
    return rows


def _logistic(odds: Array) -> Array:
    """Return the probability that belongs to some log odds."""
    found = Outputs("logistic", [0.0]).probabilities(np.asarray(odds)[:, None])
    assert found is not None
    return np.asarray(found[:, 1])


def difference(outputs: Outputs, leaf: int, a: int, b: int, constant: float = 0.0) -> tuple[Array, Array, float]:
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


def tangents(outputs: Outputs, leaf: int, k: int, p: float, cuts: tuple[Cut, ...]) -> list[tuple[Array, Array, float]]:
    """Return rows that hold wherever the softmax of a class is at least a number.

    With s_j = z_j - z_k, the softmax of class k is at least p where sum_j exp(s_j) <= 1 / p - 1. Each exponential alone is then
    at most as large; and it lies above its tangents, g (1 + s - log g), whose sum is at most as large too.
    """
    if p <= 0.0:
        return []
    others = [j for j in range(outputs.count) if j != k]
    room = (1.0 - p + 2.0**-53) / p  # a probability that is rounded up to p counts as well
    if room > _WIDEST:
        return []
    rows = []
    for j in others:
        columns, weights, constant = difference(outputs, leaf, k, j, math.log(room))
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
            columns, weights, constant = difference(outputs, leaf, k, j)
            parts.append((g, columns, weights))
            terms.append(g * constant)
        away = _AWAY * len(terms) * (sum(map(abs, terms)) + 1e-300)
        rows.append(_sum(parts, math.fsum([*terms, away])))
    return rows


@dataclass(frozen=True, slots=True)
class ScoreGoal:
    """Scores that reach a target: one class wins, or scores lie in intervals; ``cost`` is that of the class."""

    winner: int  # -1 for none
    intervals: tuple[tuple[int, float, float], ...]  # output, low, high
    cost: float = 0.0


@dataclass(frozen=True, eq=False)
class ScoreDecision(Reached):
    """A goal of an ensemble, with the methods of ``Decision``."""

    model: Ensemble  # the ensemble over the variables of the schema
    goal: Goal  # class index -> class cost, or a range of a probability or value
    # the leaves that do not count as reaching the goal, by node
    closed: frozenset[int] = field(default_factory=frozenset, repr=False)

    curved = False
    same_splits = True
    origin = np.zeros(1, np.int64)  # an ensemble has no single leaf: all answers have the leaf 0

    @property
    def target(self) -> dict[int, float]:  # a field of Decision
        """The classes that reach the goal, with their costs; one for a range."""
        return {0: 0.0} if isinstance(self.goal, Range) else dict(self.goal)

    @functools.cached_property
    def goals(self) -> tuple[ScoreGoal, ...]:
        """The scores that reach the goal, one for each class, the cheapest class first."""
        scoring = self.model.scoring
        if isinstance(self.goal, Range):
            return (ScoreGoal(-1, (_interval(self.model, self.goal),)),)
        out = []
        for label, cost in sorted(self.goal.items(), key=lambda item: (item[1], item[0])):
            if scoring.kind == "largest":
                out.append(ScoreGoal(label, (), cost))
            else:
                below = float(np.nextafter(np.dtype(scoring.dtype).type(scoring.cut), -np.inf))
                out.append(ScoreGoal(-1, ((0, scoring.cut, math.inf) if label else (0, -math.inf, below),), cost))
        return tuple(out)

    @functools.cached_property
    def noise(self) -> float:
        """A bound on the difference between the scores of the ensemble and those by which the model decides.

        Around a forest, a threshold looks at the share of one class. The share of the other class is 1 minus that only up to
        the rounding of both sums and of the shares that they add.
        """
        scoring = self.model.scoring
        other = isinstance(self.goal, Range) and self.goal.output == 0
        if other and scoring.kind == "threshold" and scoring.link == "share":
            return scoring.noise + 3.0 * self.model.rounding
        return scoring.noise


def _interval(model: Ensemble, goal: Range) -> tuple[int, float, float]:
    """The scores whose probability or value is in a range."""
    scoring, ends = model.scoring, (goal.low, goal.high)
    if goal.output < 0:
        return 0, *(ends if scoring.link in ("identity", "none") else preimage(scoring.linked, *ends, _HUGE))
    if scoring.link == "softmax":
        raise CounterleafError(
            "the probabilities of this ensemble are a softmax of several sums, whose range is not supported; "
            "name the class itself"
        )
    if scoring.link == "share" and (goal.output or scoring.kind == "largest"):
        return goal.output if scoring.kind == "largest" else 0, *ends

    def probability(scores: Array) -> Array:
        return np.asarray(scoring.probabilities(scores[:, None])[:, goal.output])

    if goal.output:
        return 0, *preimage(probability, *ends, _HUGE)
    return 0, *preimage(lambda scores: -probability(scores), -goal.high, -goal.low, _HUGE)  # it falls as the score rises
