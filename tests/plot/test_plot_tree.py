"""The picture of a whole tree."""

import re
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Polygon
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.tree import DecisionTreeClassifier
from support.plot_cases import chain, stump, words
from support.strategies import random_tree

import counterleaf as cl
from counterleaf.plot.canvas import tint

pytestmark = pytest.mark.slow  # the whole file takes many seconds


def cancer(leaves):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(X, y.map({0: "malignant", 1: "benign"}))


def digits(leaves=None):
    return DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(*load_digits(return_X_y=True))


def oblique(depth=6, side=28):
    """A tree over side x side pixels whose splits are all oblique."""
    rng = np.random.default_rng(0)
    n = 2 ** (depth + 1) - 1
    inner = np.arange(n) < n // 2
    left, right = np.where(inner, 2 * np.arange(n) + 1, -1), np.where(inner, 2 * np.arange(n) + 2, -1)
    return cl.Tree(left, right, rng.normal(size=(n, side * side)), rng.normal(size=n), np.arange(n) % 10)


CANCER, DIGITS = cancer(12), digits(10)


def triangles(figure):
    return [patch for patch in figure.axes[0].patches if type(patch) is Polygon]


def folded(figure):
    """The number of leaves under each triangle."""
    return [int(found[1]) for shown in words(figure) if (found := re.match(r"(\d+) leaves\n", shown))]


def pictures(figure):
    """The weights drawn, from the root down, and their places; the scale of colours comes first."""
    return figure.axes[0].images[1:]


def boxes(figure):
    """The boxes of texts, pictures and triangles."""
    figure.draw_without_rendering()
    texts = [text for text in figure.axes[0].texts if text.get_text()]
    out = [(text.get_bbox_patch() or text).get_window_extent() for text in texts]
    return out + [drawn.get_window_extent() for drawn in [*figure.axes[0].images, *triangles(figure)]]


def test_every_split_and_every_leaf_has_its_text():
    figure = cl.plot_tree(CANCER)
    shown = words(figure)
    assert {"worst radius\n≤ 16.8", "worst concave points\n≤ 0.1358", "yes", "no", "12 leaves, 5 levels of splits"} <= set(
        shown
    )
    assert sum("\n≤" in text for text in shown) == 11
    labels = cl.read_tree(CANCER).predict(load_breast_cancer().data)
    assert shown.count("benign") + shown.count("malignant") == 12
    assert set(labels) <= set(shown)
    assert not triangles(figure)
    colours = {
        text.get_text(): to_rgb(text.get_bbox_patch().get_facecolor())
        for text in figure.axes[0].texts
        if text.get_text() in ("benign", "malignant")
    }
    assert colours == {"benign": pytest.approx(tint(0)), "malignant": pytest.approx(tint(1))}


def test_the_left_child_is_drawn_left_and_below():
    figure = cl.plot_tree(cl.Tree([1, -1, -1], [2, -1, -1], [[-2.0], [0], [0]], [3.0, 0, 0], [0, 0, 1], ["low", "high"]))
    at = {text.get_text(): text.get_position() for text in figure.axes[0].texts}
    assert at["yes"][0] < at["x0\n> 1.5"][0] < at["no"][0]
    assert at["low"][0] < at["high"][0]
    assert at["low"][1] == at["high"][1] < at["x0\n> 1.5"][1]


def test_names_are_those_of_the_user():
    assert "a\n< 2.5" in words(cl.plot_tree(stump([1.0], -2.5), ["a"]))
    assert "x0\n< 1999.5" in words(cl.plot_tree(stump([1.0], -1999.5)))  # not 2000
    assert "x0 + 2 x1\n≤ 1" in words(cl.plot_tree(stump([1.0, 2.0], -1.0, closed="left")))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_cut_tree_counts_what_it_leaves_out(depth):
    figure = cl.plot_tree(CANCER, max_depth=depth)
    shown = words(figure)
    assert sum(folded(figure)) + shown.count("benign") + shown.count("malignant") == 12
    assert len(folded(figure)) == len(triangles(figure)) > 0
    first = "first level is" if depth == 1 else f"first {depth} levels are"
    assert any(
        text.startswith(f"only the {first} drawn") and text.endswith(f"max_depth={depth + 1} shows more") for text in shown
    )
    below = {text.split("\n")[1] for text in shown if re.match(r"\d+ leaves\n", text)}
    assert below <= {"benign", "malignant", "benign, malignant", "malignant, benign"}


@pytest.mark.slow
def test_big_trees_are_cut_by_default_and_say_so():
    for model, leaves in ((digits(), digits().get_n_leaves()), (chain(40), 41), (oblique(), 64)):
        figure = cl.plot_tree(model)
        shown = words(figure)
        assert any(text.startswith(f"{leaves} leaves, ") for text in shown)
        assert any(text.startswith("only the first ") for text in shown)
        ends = len(folded(figure)) + sum(
            text.get_bbox_patch() is not None and "\n" not in text.get_text() for text in texts(figure)
        )
        assert 2 <= ends <= 16
        assert figure.get_size_inches()[0] * 72 < 1100


def texts(figure):
    return figure.axes[0].texts


def test_the_classes_below_a_triangle_are_named_most_leaves_first():
    assert any(shown == "39 leaves\n2, 1, 0" for shown in words(cl.plot_tree(chain(40), max_depth=2)))
    assert any(shown == "32 leaves\n3, 4, 0, …" for shown in words(cl.plot_tree(oblique(), max_depth=1)))


def test_long_labels_below_a_triangle_are_cut():
    shape = chain(8)

    def drawn(value):
        labels = ["a", "a label of too many letters", "c"]
        tree = cl.Tree(shape.left, shape.right, shape.weights, shape.bias, value, labels)
        return words(cl.plot_tree(tree, max_depth=2))

    assert "7 leaves\na label o…letters, …" in drawn(shape.value)
    assert "7 leaves\na label o…letters" in drawn(np.ones(17))
    assert "7 leaves\na" in drawn(np.zeros(17))


def test_an_image_tree_shows_the_weights_of_each_split():
    tree = oblique(depth=3)
    figure = cl.plot_tree(tree, shape=(28, 28))
    drawn = pictures(figure)
    assert len(drawn) == 7
    for node, picture in enumerate(drawn):
        weights = tree.weights.toarray()[node].reshape(28, 28)
        assert np.allclose(picture.get_array(), weights / np.abs(weights).max())
        assert picture.get_clim() == (-1, 1)
        assert picture.cmap(0.5)[:3] == (1, 1, 1)
        assert picture.origin == "upper"
    blue, red = drawn[0].cmap(1.0), drawn[0].cmap(0.0)
    assert blue[2] > blue[0]
    assert red[0] > red[2]
    shown = words(figure)
    assert {"w·x + b < 0", "w·x + b ≥ 0", "larger values push left", "push right"} <= set(shown)
    assert "each split has its own scale: full colour is its largest weight" in shown
    at = {text.get_text(): text.get_position() for text in texts(figure)}
    assert at["w·x + b < 0"][0] < at["w·x + b ≥ 0"][0]
    assert at["larger values push left"][0] < at["push right"][0]


def test_single_pixels_have_their_cut_written():
    shown = words(cl.plot_tree(DIGITS, shape=(8, 8)))
    tree = DIGITS.tree_
    assert {f"pixel ≤ {tree.threshold[0]:g}", f"pixel > {tree.threshold[0]:g}"} <= set(shown)
    cuts = sorted(float(text.removeprefix("left if ≤ ")) for text in shown if text.startswith("left if"))
    assert cuts == sorted(tree.threshold[1:][tree.children_left[1:] >= 0])
    assert {"w·x + b ≤ 0", "w·x + b > 0"} <= set(words(cl.plot_tree(stump([1.0, 2.0], 0.0, closed="left"), shape=(1, 2))))
    assert "all go left" in words(cl.plot_tree(stump([0.0, 0.0], -1.0), shape=(1, 2)))
    assert "all go right" in words(cl.plot_tree(stump([0.0, 0.0], 0.0), shape=(1, 2)))


FIGURES = {
    "cancer": lambda: cl.plot_tree(CANCER),
    "cut": lambda: cl.plot_tree(cancer(40)),
    "oblique": lambda: cl.plot_tree(oblique()),
    "random": lambda: cl.plot_tree(random_tree(np.random.default_rng(3), 6, 7, 4, "mixed", np.ones(7))),
    "chain": lambda: cl.plot_tree(chain(40)),
    "stump": lambda: cl.plot_tree(stump([1.0, 2.0], -1.0)),
    "leaf": lambda: cl.plot_tree(cl.Tree([-1], [-1], [[0.0, 0.0]], [0.0], [0], ["only"]), shape=(1, 2)),
    "digits": lambda: cl.plot_tree(DIGITS, shape=(8, 8)),
    "images": lambda: cl.plot_tree(oblique(), shape=(28, 28)),
    "wide images": lambda: cl.plot_tree(oblique(3, 12), shape=(4, 36)),
    "tall images": lambda: cl.plot_tree(oblique(3, 12), shape=(72, 2), max_depth=2),
    "image stump": lambda: cl.plot_tree(stump(np.arange(1.0, 10), -1.0), shape=(3, 3)),
    "pixel stump": lambda: cl.plot_tree(stump([1.0, 0.0], -1.0), shape=(1, 2)),
}


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_overlaps_is_small_or_leaves_the_page(name):
    figure = FIGURES[name]()
    found = boxes(figure)
    assert not [(a, b) for k, a in enumerate(found) for b in found[:k] if a.overlaps(b)]
    for box in found:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
    assert all(text.get_fontsize() >= 8 for text in texts(figure))


def test_a_tree_of_one_leaf_has_no_splits():
    assert {"only", "1 leaf, no splits"} == set(words(FIGURES["leaf"]()))


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ((8, 9), r"shape \(8, 9\) has 72 pixels; the model has 64 columns"),
        ((4, 4, 4), r"shape is \(4, 4, 4\); expected \(height, width\)$"),
        (64, r"shape is 64; an image needs \(height, width\)$"),
        ((-8, -8), r"shape is \(-8, -8\); expected \(height, width\)"),
    ],
)
def test_a_shape_that_does_not_fit_gets_one_clear_line(shape, reason):
    with pytest.raises(cl.CounterleafError, match=reason):
        cl.plot_tree(DIGITS, shape=shape)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(cl.CounterleafError, match="pictures need matplotlib; install with: pip install matplotlib"):
        cl.plot_tree(CANCER)


def test_pictures_are_loaded_only_to_draw():
    code = "import sys, counterleaf; sys.exit(any(name in sys.modules for name in ('matplotlib', 'counterleaf.plot')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
