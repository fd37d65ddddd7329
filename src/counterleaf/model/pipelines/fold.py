"""A fitted scikit-learn pipeline that ends with a tree, folded into one tree over the variables of a schema.

A split on a column that comes from one column of the table is a split on a number of the table, or separates its categories.
To find out which side a value takes, it is sent through the fitted steps themselves instead of repeating their arithmetic: the
folded tree routes every row as the pipeline does. A split on a weighted sum of columns becomes one on a sum of raw columns.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.cuts import cuts
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.ensembles.fold import ForestFolding
from counterleaf.model.gaps import Routes
from counterleaf.model.outputs import Outputs
from counterleaf.model.pipelines import probing
from counterleaf.model.pipelines.check import check
from counterleaf.model.pipelines.gap_routes import probe_routes
from counterleaf.model.pipelines.probing import Probe
from counterleaf.model.pipelines.steps import Survey, survey
from counterleaf.model.pipelines.study import Study
from counterleaf.model.pipelines.sums import Form, Steps, Sums
from counterleaf.model.readers.table import gap_routes
from counterleaf.model.tree import Tree
from counterleaf.sparse import CSR
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_MOST_NODES = 100_000
_CHOICE = 2.0**100  # the weight of a category: it decides its split alone, and exactly
_NARROW = float(np.finfo(np.float32).max)  # scikit-learn's trees refuse larger numbers
_CELLS = 2_000_000  # of an encoded table of probes


@dataclass(frozen=True, eq=False)
class Folded:
    """A pipeline as one tree over the variables of a schema."""

    tree: Tree | Ensemble  # with the node numbers of the pipeline's tree, unless a split needs several cuts of a raw number
    fills: dict[str, float]  # the number by which the pipeline replaces a missing one, by feature
    exact: bool  # whether the tree routes every row as the pipeline does; otherwise the two agree up to rounding
    # the lowest and the highest number of a feature for which the tree is that of the pipeline, if it does not hold everywhere
    domains: dict[str, tuple[float, float]] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()  # features for which it holds for whole numbers only
    routes: Routes | None = None  # where missing numbers go, None if the tree does not have the nodes of the pipeline's tree


def fold(pipeline: Any, schema: Schema, data: Any = None) -> Folded:
    """Return the tree of a fitted pipeline over the variables of a schema."""
    found = pipeline if isinstance(pipeline, Survey) else survey(pipeline, table=probing.table_of(data, schema, True))
    probe = Probe(found, schema, data)
    if found.columns is None:
        probe.settle()
    seen = probe.choices()
    study = Study(probe, seen) if found.columns is None else None
    folding: Any = (ForestFolding if isinstance(found.read, Ensemble) else _Folding)(probe, seen, study)
    model, origin = folding.folded()
    check(probe, model, origin, folding.exact, study)
    domains = {} if study is None else {found.names[k]: ends for k, ends in study.domains.items()}
    whole = frozenset() if study is None else frozenset(found.names[k] for k in study.whole)
    return Folded(model, probe.fills(), folding.exact, domains, whole, folding.routes(origin))


class _Folding:
    """The folded splits and outputs of a pipeline's tree."""

    def __init__(self, probe: Probe, seen: dict[int, Array], study: Study | None) -> None:
        self._probe, self._seen, self._study = probe, seen, study
        assert isinstance(probe.found.read, Tree)
        self._old = probe.found.read
        w, inner = self._old.weights, self._old.left >= 0
        self._narrow, self._gap_right = self._old.dtype == "float32", np.zeros(len(inner), bool)
        self._columns, self._weights = (np.split(part, w.indptr[1:-1]) for part in (w.indices, w.data))
        found = gap_routes(probe.found.tree)
        if found is not None and len(found.feature) == len(inner):
            self._gap_right = found.right
            for i in np.flatnonzero(inner & (np.diff(w.indptr) == 0)).tolist():  # it separates the missing values
                self._columns[i], self._weights[i] = found.feature[[i]], np.zeros(1)
        self._fixed: dict[int, bool] = {}  # the side of a split that sends every row the same way
        self._chosen: dict[int, dict[int, float]] = {}  # the weights of a split on the values of one feature
        self._pieces: dict[int, Pieces] = {}
        numeric, oblique = self._sorted()
        (self._cut if study is None else self._probe_cuts)(numeric)
        linear = [] if self._old.outputs is None else np.flatnonzero(self._old.outputs.linear).tolist()
        self.exact = not (oblique or linear)
        sums = Sums(probe, seen, study) if oblique or linear else None
        self._forms: dict[int, list[Form]] = {}  # of an oblique split, or one for each output of a linear leaf
        if sums is not None:
            self._forms |= {i: [sums.form(*self._split(i))] for i in oblique}
            self._forms |= {i: self._leaf(sums, i) for i in linear}
        self._closed = self._old.closed if oblique else "left"

    def routes(self, origin: Array) -> Routes | None:
        """Return where missing numbers go in the pipeline's tree; None if the folded tree has other nodes."""
        if not np.array_equal(origin, np.arange(self._old.n_nodes)):
            return None
        splits: dict[tuple[int, ...], list[int]] = {}
        for i in np.flatnonzero(self._old.left >= 0).tolist():
            splits.setdefault(tuple(self._columns[i].tolist()), []).append(i)
        groups = {columns: np.array(nodes) for columns, nodes in splits.items()}

        def right(nodes: Array, made: Array) -> list[bool]:
            return [bool(self._right(i, made)) for i in nodes.tolist()]

        return probe_routes(self._probe, groups, right, self._old.n_nodes, "the model computes a sum with it")

    def _sides(self, nodes: Any, terms: list[tuple[Any, Array]]) -> Array:
        """Return whether the model sends rows to the right; ``terms`` are (weight, what the tree sees) in order."""
        score: Any = 0.0
        with np.errstate(over="ignore"):
            for weight, x in terms:
                score = score + weight * (np.clip(x, -_NARROW, _NARROW).astype(np.float32).astype(float) if self._narrow else x)
            score = np.asarray(score + self._old.bias[nodes])
        right = (score > 0) | ((self._old.closed == "right") & (score == 0))
        return np.asarray(np.where(np.isnan(score), self._gap_right[nodes], right))

    def _right(self, i: int, made: Array) -> Array:
        """Return whether the model sends rows, given as the tree sees them, to the right at a node."""
        return self._sides(i, [(w, made[..., j]) for j, w in zip(self._columns[i], self._weights[i], strict=True)])

    def _sorted(self) -> tuple[Array, list[int]]:
        """Return the splits on one raw number and the oblique ones; the others are settled."""
        probe, study = self._probe, self._study
        numeric, oblique = [], []
        for i in np.flatnonzero(self._old.left >= 0).tolist():
            columns = self._columns[i]
            raws = {k for j in columns for k in probe.raws[j]}
            if not raws:
                self._fixed[i] = bool(self._right(i, np.empty(0) if study is None else study.usual))
            elif len(raws) == 1 and raws <= self._seen.keys():
                k = raws.pop()
                right = self._right(i, self._seen[k])
                self._chosen[i] = {probe.starts[k] + v: _CHOICE if there else -_CHOICE for v, there in enumerate(right)}
            elif len(columns) == 1 if study is None else len(raws) == 1 and self._by_pieces(study, columns):
                numeric.append(i)
            else:
                oblique.append(i)
        return np.array(numeric, np.int64), oblique

    @staticmethod
    def _by_pieces(study: Study, columns: Array) -> bool:
        """Whether a split on columns from one raw number sends intervals of it to either side."""
        if any(j in study.loose for j in columns):
            return False
        return len(columns) == 1 or all(study.is_steps(j) for j in columns)

    def _split(self, i: int) -> tuple[list[tuple[int, float]], float]:
        """Return the terms and the constant of an oblique split."""
        columns, weights, bias = self._columns[i], self._weights[i], float(self._old.bias[i])
        if len(columns) == 1 and self._narrow:  # the model rounds the column, which moves the threshold
            _, swapped, low, high = cuts(self._old)
            edge = high[i] if (self._old.closed == "right") != swapped[i] else low[i]
            bias = float(-weights[0] * edge)
        return list(zip(columns.tolist(), weights.tolist(), strict=True)), bias

    def _leaf(self, sums: Sums, i: int) -> list[Form]:
        """Return the outputs of a linear leaf."""
        outputs = self._old.outputs
        assert outputs is not None
        rows = [outputs.row(i, k) for k in range(outputs.count)]
        return [
            sums.form(zip(columns.tolist(), weights.tolist(), strict=True), constant) for columns, weights, constant in rows
        ]

    def _probe_cuts(self, nodes: Array) -> None:
        """Find where the side of the splits on a raw number changes, between numbers that were tried."""
        study = self._study
        assert study is not None
        by_raw: dict[int, list[int]] = {}
        for i in nodes.tolist():
            for j in self._columns[i].tolist():
                study.check_shape(j)
            by_raw.setdefault(self._probe.raws[self._columns[i][0]][0], []).append(i)
        for k, mine in by_raw.items():
            made = study.made[k]
            brackets: list[tuple[int, int]] = []  # a node, and the position of the number before a change
            lowest = {}
            for i in mine:
                right = self._right(i, made)
                lowest[i] = bool(right[0])
                brackets += [(i, at) for at in np.flatnonzero(right[1:] != right[:-1]).tolist()]
            found = np.empty(0)
            if brackets:
                stepped = np.array([all(study.is_steps(j) for j in self._columns[i]) for i, _ in brackets])
                each = functools.partial(self._right_each, [i for i, _ in brackets])
                found = study.changes(k, np.array([at for _, at in brackets]), stepped, each)
            for i in mine:
                edges = np.array([edge for (node, _), edge in zip(brackets, found, strict=True) if node == i])
                if len(edges):
                    self._pieces[i] = Pieces(k, lowest[i], edges)
                else:
                    self._fixed[i] = lowest[i]

    def _right_each(self, nodes: list[int], made: Array) -> Array:
        """Return whether the model sends rows, given as the tree sees them, to the right at each of some nodes."""
        return np.array([self._right(i, made[r]) for r, i in enumerate(nodes)])

    def _cut(self, nodes: Array) -> None:
        """Fold the splits on a column that comes from a number: the steps are monotone, so each has one first number."""
        if not len(nodes):
            return
        probe = self._probe
        column = np.array([self._columns[i][0] for i in nodes])
        weight = np.array([self._weights[i][0] for i in nodes])[:, None]
        raw = np.array([probe.raws[j][0] for j in column])
        slot = probing.slots(raw)

        def right(x: Array) -> Array:
            return self._sides(nodes[:, None], [(weight, probe.numbers_at(raw, column, slot, x))])

        ends = right(np.repeat([[-probing.TOP, probing.TOP]], len(nodes), axis=0))
        falling = ends[:, 0] & ~ends[:, 1]
        points = int(np.clip(_CELLS // (len(probe.raws) * (int(slot.max()) + 1)), 1, 31))
        high = probing.first(lambda x: right(x) ^ falling[:, None], len(nodes), points)
        for i, k, first, falls, (bottom, top) in zip(nodes.tolist(), raw.tolist(), high, falling, ends, strict=True):
            if bottom == top:
                self._fixed[i] = bool(top)
            else:
                self._pieces[i] = Pieces(k, bool(falls), np.array([first]))

    def folded(self) -> tuple[Tree, Array]:
        """Return the tree over the variables, and the node of the pipeline's tree that each of its nodes comes from."""
        old, n = self._old, self._old.n_nodes
        stepped = any(form.steps for forms in self._forms.values() for form in forms)
        if several := stepped or any(len(piece.edges) > 1 for piece in self._pieces.values()):
            found = unroll(old, self._pieces, self._forms, self._fixed)
        else:
            found = Unrolled(old.left.tolist(), old.right.tolist(), list(range(n)), [None] * n, [{}] * n)
        n, origin = len(found.left), np.array(found.origin)
        lines: dict[int, dict[int, float]] = {}
        bias, forms = np.zeros(n), {}
        for node, (i, cut, within) in enumerate(zip(found.origin, found.cut, found.within, strict=True)):
            if cut is not None:
                lines[node], bias[node] = self._cut_line(*cut, False)
            elif i in self._fixed:
                bias[node] = 1.0 if self._fixed[i] else -1.0
            elif i in self._pieces:
                piece = self._pieces[i]
                lines[node], bias[node] = self._cut_line(piece.raw, float(piece.edges[0]), piece.right)
            elif i in self._chosen:
                lines[node] = self._chosen[i]
            elif i in self._forms:
                forms[node] = [_settled(form, within) if several else form for form in self._forms[i]]
                if old.left[i] >= 0:
                    lines[node], bias[node] = self._line(forms[node][0])
        value, classes = (None, None) if old.is_regression else (old.value[origin], old.classes)
        outputs = self._outputs(origin, forms)
        left, right, weights = np.array(found.left), np.array(found.right), self._matrix(lines, n)
        return Tree(left, right, weights, bias, value, classes, self._closed, outputs=outputs), origin

    def _line(self, form: Form) -> tuple[dict[int, float], float]:
        """Return the weights and the bias of a split on a sum.

        If one variable is left, the model still sums up several terms, and only splits with several variables are kept clear of
        rounding. One of the values of a finite feature is 1, so the same weight for all of them changes nothing but that.
        """
        weights = {variable: weight for variable, weight in form.weights.items() if weight}
        features = [f for f in self._probe.schema if not isinstance(f, Numeric)]
        if len(weights) != 1 or not features:
            return form.weights, form.constant
        least = min(features, key=lambda feature: feature.size)
        start = int(self._probe.schema.starts[self._probe.schema.index(least.name)])
        size = max(abs(form.constant), abs(next(iter(weights.values()))))
        evenly = {start + v: size + weights.get(start + v, 0.0) for v in range(least.size)}
        return {**weights, **evenly}, form.constant - size

    def _cut_line(self, k: int, first: float, falls: bool) -> tuple[dict[int, float], float]:
        """Return the weights and the bias of a split; numbers from ``first`` on go right, or those before it if it falls."""
        # the edge must lie on the side that includes 0
        edge = first if (self._closed == "right") != falls else float(np.nextafter(first, -np.inf))
        return {self._probe.starts[k]: -1.0 if falls else 1.0}, edge if falls else -edge

    def _matrix(self, lines: dict[int, dict[int, float]], height: int) -> CSR:
        entries = [(i, variable, weight) for i, line in lines.items() for variable, weight in line.items()]
        rows, cols, data = zip(*entries, strict=True) if entries else ((), (), ())
        return CSR.from_entries(rows, cols, data, (height, self._probe.schema.width))

    def _outputs(self, origin: Array, forms: dict[int, list[Form]]) -> Outputs | None:
        """Return the outputs of the leaves over the variables."""
        old = self._old.outputs
        if old is None:
            return None
        intercept, lines = old.intercept[origin].copy(), {}
        for node, parts in forms.items():
            if self._old.left[origin[node]] >= 0:
                continue
            for k, form in enumerate(parts):
                intercept[node, k] = form.constant
                lines[node * old.count + k] = form.weights
        return Outputs(old.kind, intercept, self._matrix(lines, intercept.size) if lines else None)


def _settled(form: Form, within: dict[int, float]) -> Form:
    """Return a sum in a region in which its terms made of steps are constant."""
    constants = [form.constant]
    for steps in form.steps:
        at = np.searchsorted(steps.edges, within[steps.raw], side="right") if len(steps.edges) else 0
        constants.append(float(steps.values[at]))
    return Form(form.weights, math.fsum(constants), [])


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """A split on one raw number: the side of the lowest numbers, and the numbers at which the side changes."""

    raw: int  # the raw column
    right: bool  # whether the lowest numbers go right
    edges: Array  # the first number of each piece but the lowest


@dataclass(frozen=True, slots=True, eq=False)
class Unrolled:
    """The nodes of an unrolled tree."""

    left: list[int]  # the children, -1 at leaves
    right: list[int]  # the children, -1 at leaves
    origin: list[int]  # the node of the tree that each node comes from
    cut: list[tuple[int, float] | None]  # the raw column and the first number that goes right, None for other splits
    within: list[dict[int, float]]  # numbers of the raw columns, one of each within the region of the node


def unroll(tree: Tree, pieces: dict[int, Pieces], forms: dict[int, list[Form]], fixed: dict[int, bool]) -> Unrolled:
    """Return the nodes of a tree with one cut per split."""
    out = Unrolled([], [], [], [], [])
    box: dict[int, tuple[float, float]] = {}
    stack: list[tuple[int, dict[int, tuple[float, float]], int, bool]] = [(0, box, -1, False)]
    while stack:
        node, box, parent, side = stack.pop()
        cut: tuple[int, float] | None = None
        while True:  # skip the splits that are decided
            if node in fixed:
                node = int(tree.right[node] if fixed[node] else tree.left[node])
                continue
            if node not in pieces:
                cut = _open_edge(forms.get(node, []), box)
                break
            piece = pieces[node]
            if (cut := _middle(piece, box)) is not None:
                break
            right = piece.right ^ bool((piece.edges <= box.get(piece.raw, (-np.inf, np.inf))[0]).sum() % 2)
            node = int(tree.right[node] if right else tree.left[node])
        here = len(out.left)
        if here >= _MOST_NODES:
            raise CounterleafError(
                f"the steps cut the numbers of the table into pieces, and the tree needs more than {_MOST_NODES} nodes; "
                f"use fewer bins, or transform the table beforehand"
            )
        if parent >= 0:
            (out.right if side else out.left)[parent] = here
        out.left.append(-1)
        out.right.append(-1)
        out.origin.append(node)
        out.cut.append(cut)
        out.within.append(
            {k: low if np.isfinite(low) else float(np.nextafter(high, -np.inf)) for k, (low, high) in box.items()}
        )
        if cut is not None:
            k, edge = cut
            low, high = box.get(k, (-np.inf, np.inf))
            stack += [(node, {**box, k: (edge, high)}, here, True), (node, {**box, k: (low, edge)}, here, False)]
        elif tree.left[node] >= 0:
            stack += [(int(tree.right[node]), box, here, True), (int(tree.left[node]), box, here, False)]
    return out


def _open_edge(forms: list[Form], box: dict[int, tuple[float, float]]) -> tuple[int, float] | None:
    """Return the middle edge of a term of some sums that the cuts above have not decided, None if there is none."""
    found = (_middle(steps, box) for form in forms for steps in form.steps)
    return next((edge for edge in found if edge is not None), None)


def _middle(parts: Pieces | Steps, box: dict[int, tuple[float, float]]) -> tuple[int, float] | None:
    """Return the middle one of the edges within a box; None if there is none."""
    low, high = box.get(parts.raw, (-np.inf, np.inf))
    inside = parts.edges[(parts.edges > low) & (parts.edges < high)]
    return (parts.raw, float(inside[len(inside) // 2])) if len(inside) else None
