"""The figures of the paper: trees in the plane (figures 1 and 2) and counterfactual digits."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons
from sklearn.tree import DecisionTreeClassifier

from counterleaf.answer.explanation import Explanation
from counterleaf.explainer import Explainer
from counterleaf.learn.classifier import TAOClassifier
from counterleaf.plot.canvas import style
from counterleaf.plot.image import diverging
from counterleaf.question.constraints.bounds import only_decrease, only_increase
from counterleaf.question.constraints.kinds import Constraint
from counterleaf.question.costs.terms import L1, L2, Quadratic
from counterleaf.types import Array
from counterleaf_experiments.baselines import NearestRow
from counterleaf_experiments.paper import published
from counterleaf_experiments.paper.data import MNIST, PaperData
from counterleaf_experiments.paper.instances import timed
from counterleaf_experiments.paper.trees import LearnedTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 130


def png(figure: Figure) -> bytes:
    """A figure as the bytes of a PNG file."""
    import matplotlib.pyplot as plt

    out = io.BytesIO()
    figure.savefig(out, dpi=_DPI, bbox_inches="tight")
    plt.close(figure)
    return out.getvalue()


def axis_plane(seed: int) -> Explanation:
    """Figure 1: an axis-aligned tree of two classes over the plane, and the nearest point of every leaf of the other class."""
    X, y = make_moons(300, noise=0.25, random_state=seed)
    labels = np.array(["A", "B"])[y]
    return _plane(DecisionTreeClassifier(max_leaf_nodes=9, random_state=seed).fit(X, labels), X)


def oblique_plane(seed: int) -> Explanation:
    """Figure 2: the same for an oblique tree of three classes."""
    X, blob = make_blobs(500, centers=9, cluster_std=1.0, random_state=seed)
    labels = np.array(["A", "B", "C"])[blob % 3]
    return _plane(TAOClassifier(max_depth=4, random_state=seed).fit(X, labels), X)


def _plane(model: Any, X: Array) -> Explanation:
    """Explain a row of class A, of median distance from class B, with an answer in every leaf of B."""
    explainer = Explainer(model, data=X)
    rows = X[model.predict(X) == "A"]
    costs = [explainer.explain(row, target="B", cost=L2())[0].cost for row in rows]
    return explainer.explain(rows[np.argsort(costs)[len(costs) // 2]], target="B", cost=L2(), count=None)


def neighbour_matrix(shape: tuple[int, int]) -> Any:
    """The paper's Q: 1 on the diagonal, -1/4 between neighbouring pixels."""
    place = np.arange(math.prod(shape)).reshape(shape)
    first = np.concatenate([place[:, :-1].ravel(), place[:-1].ravel()])
    second = np.concatenate([place[:, 1:].ravel(), place[1:].ravel()])
    off = sparse.coo_array((np.full(len(first), -0.25), (first, second)), shape=(place.size, place.size))
    return sparse.csr_array(sparse.eye_array(place.size) + off + off.T)


class Digits:
    """The figure of digits: a source image and five answers for each pair of classes."""

    columns = ("l1", "l2", "Q, only add ink", "Q, only erase ink", "nearest row, l2")

    def __init__(self, data: PaperData, learned: LearnedTree, seed: int) -> None:
        if data.shape is None:
            raise ValueError(f"{data.key} contains no images; expected a data set with a shape")
        self.data, self.learned, self.shape = data, learned, data.shape
        explainer = Explainer(learned.explained, schema=data.schema)
        nearest = NearestRow(learned.explained, data.X, data.schema)
        every, Q = data.schema.names, Quadratic(neighbour_matrix(data.shape))
        add: list[Constraint] = [only_increase(*every)]
        erase: list[Constraint] = [only_decrease(*every)]
        self.methods: tuple[Callable[[Array, Any], Explanation], ...] = (
            lambda row, target: explainer.explain(row, target=target, cost=L1()),
            lambda row, target: explainer.explain(row, target=target, cost=L2()),
            lambda row, target: explainer.explain(row, target=target, cost=Q, constraints=add),
            lambda row, target: explainer.explain(row, target=target, cost=Q, constraints=erase),
            lambda row, target: nearest.explain(row, target=target, cost=L2()),
        )
        places = np.random.default_rng(seed).permutation(data.test)
        predicted, labels = learned.tree.predict(data.X[places]), data.y[places]
        correct = {digit: places[(predicted == digit) & (labels == digit)].tolist() for digit in np.unique(predicted).tolist()}
        self.sources = [correct[digit].pop() for digit, _, _ in published.DIGITS]  # a different image for each pair

    @property
    def size(self) -> int:
        """The number of answers."""
        return len(published.DIGITS) * len(self.columns)

    def run(self, tick: Callable[[], None]) -> pd.DataFrame:
        """Compute the answers, one line each; pixels are joined into one string, so that a stopped run can draw them later."""
        lines = []
        for explain in self.methods:  # the first call prepares data that later calls share
            explain(self.data.X[self.sources[0]], published.DIGITS[0][1])
        for place, (digit, target, distances) in zip(self.sources, published.DIGITS, strict=True):
            row = self.data.X[place]
            for name, explain, distance in zip(self.columns, self.methods, distances, strict=True):
                answer, ms = timed(partial(explain, row, target))
                x = np.asarray(answer[0].row)[None] if len(answer) else None
                lines.append(
                    {
                        "source": digit,
                        "target": target,
                        "distance": name,
                        "place": place,
                        "status": str(answer.status),
                        "cost": answer[0].cost if len(answer) else math.nan,
                        "paper": distance if self.data.key == MNIST else math.nan,
                        "ms": ms,
                        "proved": answer.certificate.check(),
                        "tree_agrees": None if x is None else bool(self.learned.tree.predict(x)[0] == target),
                        "model_agrees": None if x is None else bool(self.learned.predict(x)[0] == target),
                        "pixels": "" if x is None else " ".join(f"{value:.17g}" for value in x[0]),
                    }
                )
                tick()
        return pd.DataFrame(lines)

    def draw(self, lines: pd.DataFrame) -> Figure:
        """Draw a row of images per pair: the source, then each answer and its difference, red where ink was added."""
        import matplotlib.pyplot as plt

        rows = len(published.DIGITS)
        with style():
            figure, axes = plt.subplots(rows, 11, figsize=(11 * 0.95, rows * 1.12), squeeze=False)
            for line, place, (digit, target, _) in zip(axes, self.sources, published.DIGITS, strict=True):
                source = self.data.X[place]
                _show(line[0], source.reshape(self.shape), "Greys", 0.0, 1.0)
                line[0].set_ylabel(f"{digit} → {target}", rotation=90)
                for k, name in enumerate(self.columns):
                    at = (lines["source"] == digit) & (lines["target"] == target) & (lines["distance"] == name)
                    answer = lines[at].iloc[0]
                    image, change = line[1 + 2 * k], line[2 + 2 * k]
                    found = not math.isnan(answer["cost"])
                    image.set_title(f"{answer['cost']:.3g}" if found else "none", fontsize=8, pad=2)
                    if not found:
                        image.set_axis_off()
                        change.set_axis_off()
                        continue
                    x = np.array(answer["pixels"].split(), float)
                    _show(image, x.reshape(self.shape), "Greys", 0.0, 1.0)
                    most = float(np.abs(x - source).max()) or 1.0
                    _show(change, (x - source).reshape(self.shape), diverging().reversed(), -most, most)
            figure.subplots_adjust(wspace=0.06, hspace=0.28, top=0.93)
            axes[0][0].set_title("source\n", fontsize=8, pad=2)
            for k, name in enumerate(self.columns):
                left, right = axes[0][1 + 2 * k].get_position(), axes[0][2 + 2 * k].get_position()
                figure.text((left.x0 + right.x1) / 2, right.y1 + 0.022, name, ha="center", fontsize=8.5)
        return figure


def _show(axes: Any, image: Array, colours: Any, low: float, high: float) -> None:
    """Draw one image without ticks."""
    axes.imshow(image, cmap=colours, vmin=low, vmax=high, interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
