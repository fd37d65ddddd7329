import pickle
import subprocess
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Polygon, Rectangle
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.tree import DecisionTreeClassifier
from support.plot_cases import lines, words
from support.seeds import seeds

import counterleaf as cl
from counterleaf.answer.tree_text import leaf_counts
from counterleaf.plot import draw_margins
from counterleaf.plot.canvas import ANSWER, SOURCE, hatch, reach, short, short_names, tint
from counterleaf.plot.polygons import area, clip, near, regions, within
from counterleaf.plot.trees.path import path_to, prune
from counterleaf.plot.trees.placement import arrange

pytestmark = pytest.mark.slow  # the whole file takes many seconds


def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X, y.map({0: "malignant", 1: "benign"}))
    fixed = [cl.freeze("mean concave points")]
    return cl.Explainer(model, data=X).explain(X.iloc[4], target="benign", count=3, constraints=fixed)


def petals(row=10, **query):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X[["petal length (cm)", "petal width (cm)"]]
    names = np.array(["setosa", "versicolor", "virginica"])
    model = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0).fit(X, names[y])
    return cl.Explainer(model, data=X).explain(X.iloc[row], **query)


def slope(features=2, bias=-1.0, **query):
    """The answer of a tree with one oblique split: "yes" if the sum is at least -bias."""
    weights = np.zeros((3, features))
    weights[0] = 1.0
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [bias, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    schema = query.pop("schema", None)
    return cl.Explainer(tree, schema=schema).explain(np.zeros(features), target="yes", **query)


CANCER, PETALS = cancer(), petals(count=3, distinct="leaves")
STUCK = petals(target="virginica", constraints=[cl.freeze("petal length (cm)", "petal width (cm)")])


def test_changes_show_feature_values_and_share():
    figure = CANCER.plot()
    texts = words(figure)
    assert "benign instead of malignant, cost 0.364" in texts
    assert texts.index("worst radius") < texts.index("worst concave points")  # the larger share first
    assert {"22.54 → 16.79", "0.1625 → 0.1358", "73%", "27%"} <= set(texts)
    bars = [p for p in figure.axes[0].patches if isinstance(p, Rectangle) and p.get_facecolor()[:3] == to_rgb(ANSWER)]
    assert [bar.get_width() / 56 for bar in bars] == pytest.approx([0.73, 0.27], abs=0.005)


def test_changes_of_several_answers_are_side_by_side():
    texts = words(CANCER.plot(count=2))
    assert [head for head in texts if "instead of" in head] == [
        "1: benign instead of malignant, cost 0.364",
        "2: benign instead of malignant, cost 0.549",
    ]
    assert texts.count("worst radius") == 1
    assert texts.count("=") == 2
    assert words(CANCER.plot(count=99)).count("worst texture") == 1


def test_shares_sum_to_the_cost():
    problem, points = CANCER.certificate.problem, CANCER.certificate.findings.points
    shares = problem.shares(points)
    assert shares.shape == points.shape
    assert np.array_equal(shares.sum(axis=1), problem.cost_of(points))
    assert problem.shares(points[0]).sum() == pytest.approx(CANCER[0].cost)
    assert not problem.shares(problem.source).any()


def test_many_changes_are_cut_and_counted():
    texts = words(slope(features=20, bias=-20.0).plot())
    assert "and 5 more" in texts
    assert texts.count("0 → 1") == 15
    assert texts.count("5%") == 15


def test_a_change_that_lowers_the_cost_has_another_colour():
    figure = slope(cost=cl.L2() + cl.LinearCost({"x0": -1.5})).plot("changes")
    bars = [p for p in figure.axes[0].patches if to_rgb(p.get_facecolor()) == to_rgb(SOURCE)]
    assert len(bars) == 1
    assert any(texts.startswith("\N{MINUS SIGN}") and texts.endswith("%") for texts in words(figure))


def test_nothing_has_to_change():
    answer = slope(bias=1.0)
    assert "nothing has to change" in words(answer.plot("changes"))
    assert "already yes, cost 0" in words(answer.plot("changes"))
    assert "already yes, cost 0" in words(answer.plot("tree"))
    assert "source" in words(answer.plot("regions"))


def test_regions_tile_the_window_and_agree_with_the_tree():
    tree = PETALS.certificate.problem.tree
    source, low, high = PETALS.certificate.problem.source, np.array([1.0, 0.1]), np.array([6.9, 2.5])
    cells = regions(tree, source, [0, 1], low, high)
    assert sum(area(polygon) for _, polygon in cells) == pytest.approx(np.prod(high - low))
    for leaf, polygon in cells:
        assert tree.leaf_of(polygon.mean(axis=0)) == leaf


@pytest.mark.parametrize("seed", seeds(5))
def test_oblique_regions_and_slices_agree_with_the_tree(seed):
    rng = np.random.default_rng(seed)
    n = 15
    left = [2 * k + 1 if k < 7 else -1 for k in range(n)]
    right = [2 * k + 2 if k < 7 else -1 for k in range(n)]
    weights = rng.normal(size=(n, 3)) * (rng.random((n, 3)) < 0.8)
    tree = cl.Tree(left, right, weights, rng.normal(size=n), rng.integers(0, 3, n), classes=["a", "b", "c"])
    source, low, high = rng.normal(size=3), np.array([-2.0, -3.0]), np.array([2.0, 3.0])
    cells = regions(tree, source, [2, 0], low, high)
    assert sum(area(polygon) for _, polygon in cells) == pytest.approx(np.prod(high - low))
    for leaf, polygon in cells:
        row = source.copy()
        row[[2, 0]] = polygon.mean(axis=0)
        assert tree.leaf_of(row) == leaf


def test_clip_keeps_the_side_of_the_normal():
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float)
    assert area(clip(square, np.array([1.0, 1.0]), -1.0)) == pytest.approx(0.5)
    assert np.array_equal(clip(square, np.array([1.0, 0.0]), 1.0), square)
    assert clip(square, np.array([1.0, 0.0]), -2.0).shape == (0, 2)


def test_regions_show_source_answers_and_classes():
    figure = PETALS.plot()
    (axes,) = figure.axes
    texts = words(figure)
    assert {"source", "1", "2", "3", "setosa", "versicolor", "virginica"} <= set(texts)
    assert axes.get_title(loc="left") == "1: versicolor instead of setosa, cost 0.25"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("petal length (cm)", "petal width (cm)")
    filled = {to_rgb(p.get_facecolor()) for p in axes.patches if isinstance(p, Polygon) and p.get_fill()}
    assert np.allclose(sorted(filled), sorted(map(tint, range(3))))
    assert len({p.get_hatch() for p in axes.patches if p.get_fill()}) == 3  # so that they differ in grey print
    dots = [line.get_xydata()[0] for line in axes.lines if line.get_marker() == "o"]
    assert np.array_equal(dots, PETALS.certificate.findings.points)
    assert len(words(PETALS.plot(count=1))) < len(texts)


def test_words_on_regions_do_not_overlap():
    figure = PETALS.plot()
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text()]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


def test_bounds_are_dashed():
    answer = petals(120, target="setosa", constraints=[cl.between("petal width (cm)", 0.3, 2.0)])
    figure = answer.plot()
    dashed = [line.get_ydata() for line in figure.axes[0].lines if line.is_dashed()]
    assert sorted(y[0] for y in dashed) == [0.3, 2.0]
    assert figure.axes[0].get_xlabel().endswith("\ndashed: bounds")
    assert "dashed" not in PETALS.plot().axes[0].get_xlabel()


def test_a_slice_marks_answers_that_leave_it():
    figure = CANCER.plot(features=("worst radius", "worst concave points"))
    faces = [to_rgb(line.get_markerfacecolor()) for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert faces == [to_rgb(ANSWER), (1, 1, 1), (1, 1, 1)]
    assert "hollow: other features change too" in figure.axes[0].get_xlabel()


def test_a_class_without_room_is_in_the_legend():
    answer = petals(10, target="versicolor", constraints=[cl.between("petal width (cm)", 0.1, 1.0)])
    assert answer.plot().axes[0].get_legend() is None
    tree = cl.Tree(
        [1, -1, -1], [2, -1, -1], [[1.0, 0], [0, 0], [0, 0]], [-0.98, 0, 0], [-1, 0, 1], classes=["a", "a long label"]
    )
    schema = cl.Schema([cl.Numeric("u", 0, 1), cl.Numeric("v", 0, 1)])
    legend = cl.Explainer(tree, schema=schema).explain([0.1, 0.5]).plot().axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["a", "a long label"]


def test_a_short_way_is_seen_from_near():
    schema = cl.Schema([cl.Numeric("a", -1000, 1000), cl.Numeric("b", -1000, 1000)])
    axes = slope(schema=schema).plot().axes[0]
    assert axes.get_xlim() == pytest.approx((-1.5, 1.5))
    whole = slope(schema=schema, bias=-900.0).plot().axes[0]
    assert whole.get_xlim() == (-1000, 1000)


def test_an_image_shows_ink_added_and_erased():
    X, y = load_digits(return_X_y=True)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    answer = cl.Explainer(model, data=X).explain(X[3], target=8, count=2)
    figure = answer.plot(shape=(8, 8), count=1)
    assert len(figure.axes) == 4  # source, answer, difference, scale
    change = (answer.certificate.findings.points[0] - X[3]).reshape(8, 8)
    shown = figure.axes[2].images[0]
    assert np.array_equal(shown.get_array(), change)
    assert shown.get_clim() == (-np.abs(change).max(), np.abs(change).max())
    assert shown.cmap(0.5)[:3] == pytest.approx((1, 1, 1), abs=0.01)
    texts = words(figure)
    assert {"source\n3", "difference"} <= set(texts)
    assert any("ink added" in text for text in texts)
    assert any("ink erased" in text for text in texts)
    assert len(answer.plot(shape=(8, 8)).axes) == 6


def test_a_colour_image_has_three_channels():
    figure = slope(features=12, schema=cl.Schema([cl.Numeric(f"p{k}", 0, 1) for k in range(12)])).plot(shape=(2, 2, 3))
    assert figure.axes[1].images[0].get_array().shape == (2, 2, 3)
    assert np.allclose(figure.axes[2].images[0].get_array(), 1 / 12)
    assert any("lighter" in text for text in words(figure))


def test_the_tree_shows_both_paths():
    figure = CANCER.plot("tree")
    texts = words(figure)
    assert {"worst radius\n≤ 16.8", "source: malignant", "answer: benign", "yes", "no"} <= set(texts)
    assert texts.count("benign") + texts.count("malignant") == 12
    tree = CANCER.certificate.problem.tree
    (source,) = lines(figure, SOURCE)
    assert source.is_dashed()
    assert len(source.get_xdata()) == len(path_to(tree, tree.leaf_of(CANCER.certificate.problem.source)))
    answer = max(figure.axes[0].lines, key=lambda line: line.get_linewidth())
    assert not answer.is_dashed()
    assert len(answer.get_xdata()) == len(path_to(tree, CANCER[0].leaf))


def test_a_big_tree_keeps_the_two_paths():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 5)), rng.integers(0, 3, 3000)
    model = DecisionTreeClassifier(max_leaf_nodes=500, random_state=0).fit(X, y)
    answer = cl.Explainer(model, data=X).explain(X[0])
    tree = answer.certificate.problem.tree
    ends = [tree.leaf_of(X[0]), answer[0].leaf]
    drawn, below = prune(tree, [path_to(tree, leaf) for leaf in ends], 16), leaf_counts(tree)
    assert sum(below[node] for node, children in drawn.items() if not children) == 500
    figure = answer.plot("tree")
    assert figure.get_size_inches()[0] < 12
    folded = [texts for texts in words(figure) if texts.endswith(" leaves")]
    assert len(folded) == sum(1 for node, children in drawn.items() if not children and tree.left[node] >= 0)


def test_nodes_on_a_level_keep_apart():
    children = {0: (1, 2), 1: (3, 4), 2: (5, 6), 3: (), 4: (), 5: (), 6: ()}
    widths = dict.fromkeys(children, 30.0) | {4: 80.0}
    places = arrange(children, widths, 10.0)
    for depth in (1, 2):
        level = sorted((x, widths[node]) for node, (x, at) in places.items() if at == depth)
        assert all(b[0] - b[1] / 2 - a[0] - a[1] / 2 >= 10 - 1e-9 for a, b in pairwise(level))
    assert places[1][0] == pytest.approx((places[3][0] + places[4][0]) / 2)


def test_oblique_splits_are_written_with_three_terms():
    assert "x0 + x1\n< 1" in words(slope().plot("tree"))
    assert "x0 + x1 + x2 + …\n< 1" in words(slope(features=5).plot("tree"))
    weights = [[-1.0, 2.5], [0, 0], [0, 0]]
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-3.0, 0, 0], [-1, 0, 1], closed="left")
    assert "\N{MINUS SIGN}x0 + 2.5 x1\n≤ 3" in words(cl.Explainer(tree).explain([0.0, 0.0]).plot("tree"))
    falling = cl.Tree([1, -1, -1], [2, -1, -1], [[-2.0], [0], [0]], [3.0, 0, 0], [-1, 0, 1])
    assert "x0\n> 1.5" in words(cl.Explainer(falling).explain([0.0]).plot("tree"))


def test_no_row_shows_the_source_alone():
    texts = words(STUCK.plot())
    assert "no row reaches virginica" in texts
    assert "source" in texts
    assert "1" not in [text.get_text() for text in STUCK.plot().axes[0].texts]
    assert "source: setosa" in words(STUCK.plot("tree"))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: CANCER.plot("pie"), 'kind is \'pie\'; expected "changes", "regions", "image" or "tree"'),
        (lambda: CANCER.plot(count=0), "count is 0; expected a whole number from 1, or None"),
        (lambda: CANCER.plot(count=True), "count is True; expected a whole number"),
        (lambda: CANCER.plot(shape=(5, 5)), r"shape \(5, 5\) has 25 pixels; the row has 30 features"),
        (lambda: CANCER.plot(shape=(3, 5, 2)), r"shape is \(3, 5, 2\); expected \(height, width\) or \(height, width, 3\)"),
        (lambda: CANCER.plot("image"), r"shape is None; an image needs \(height, width\)"),
        (lambda: CANCER.plot("regions"), r'the table has 30 features; regions are drawn over two: pass features=\("a", "b"\)'),
        (lambda: CANCER.plot(features=("worst radius", "age")), "no feature 'age'; the features are 'mean radius'"),
        (lambda: CANCER.plot(features=("worst radius",)), "expected the names of two features"),
        (lambda: CANCER.plot(features="ab"), "features is 'ab'; expected the names of two features"),
        (lambda: CANCER.plot(features=("worst area", "worst area")), "names 'worst area' twice"),
        (
            lambda: STUCK.plot("changes"),
            'the status is "infeasible", so there is no change to draw; kind="tree" shows the source',
        ),
        (lambda: STUCK.plot(shape=(1, 2)), "there is no change to draw"),
        (lambda: draw_margins([0, 1], [1.0]), r"shapes \(2,\), \(1,\) and \(1,\); expected one of each per margin"),
        (lambda: draw_margins([], []), "expected one of each per margin"),
    ],
)
def test_pictures_that_cannot_be_drawn_get_one_clear_line(make, reason):
    with pytest.raises(cl.CounterleafError, match=reason) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for make in (CANCER.plot, lambda: draw_margins([0.0], [1.0])):
        with pytest.raises(cl.CounterleafError, match="pictures need matplotlib; install with: pip install matplotlib"):
            make()


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, counterleaf.plot; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture
def pyplot():
    """Pyplot without windows and without figures."""
    import matplotlib.pyplot as plt

    before = matplotlib.get_backend()
    plt.switch_backend("Agg")
    plt.close("all")
    yield plt
    plt.close("all")
    plt.switch_backend(before)


def test_pyplot_saves_the_last_figure_and_keeps_no_other(pyplot, tmp_path):
    other = pyplot.figure()
    first = CANCER.plot()
    assert pyplot.gcf() is first
    pyplot.savefig(tmp_path / "pyplot.png")
    first.savefig(tmp_path / "figure.png")
    assert (tmp_path / "pyplot.png").read_bytes() == (tmp_path / "figure.png").read_bytes()
    figures = [make() for make in (CANCER.plot, lambda: CANCER.plot("tree"), lambda: draw_margins([0.0], [1.0])) * 9]
    assert pyplot.gcf() is figures[-1]
    assert [pyplot.figure(number) for number in pyplot.get_fignums()] == [other, figures[-1]]
    first.savefig(tmp_path / "again.png")  # an earlier figure can still be saved
    assert (tmp_path / "again.png").read_bytes() == (tmp_path / "figure.png").read_bytes()


def test_a_window_of_the_user_stays_open(pyplot, monkeypatch):
    monkeypatch.setattr(pyplot, "get_backend", lambda: "QtAgg")
    figures = [CANCER.plot(), CANCER.plot("tree")]
    assert [pyplot.figure(number) for number in pyplot.get_fignums()] == figures


def test_pyplot_is_not_imported_to_draw():
    code = "import sys, counterleaf.plot as p; p.draw_margins([0.0], [1.0]).savefig('/dev/null', format='png')\n"
    code += "sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_another_thread_leaves_pyplot_alone(pyplot):
    with ThreadPoolExecutor() as pool:
        assert pool.submit(CANCER.plot).result().axes
    assert pyplot.get_fignums() == []


def test_a_notebook_shows_the_figure_once(pyplot, monkeypatch):
    shown = []
    display = types.SimpleNamespace(Image=lambda data: data, display=shown.append)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    figure = CANCER.plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    figure._ipython_display_()
    assert [data[:4] for data in shown] == [b"\x89PNG"]
    assert pyplot.get_fignums() == []  # of these a notebook shows the figures at the end of a cell
    assert pickle.loads(pickle.dumps(figure)).axes


def test_the_users_style_and_dollars_do_no_harm():
    schema = cl.Schema([cl.Numeric("in ($) or out ($)"), cl.Numeric("_{")])
    with matplotlib.rc_context({"text.color": "white", "font.size": 30, "text.parse_math": True}):
        figure = slope(schema=schema).plot("changes")
    text = next(text for text in figure.axes[0].texts if text.get_text() == "in ($) or out ($)")
    assert not text.get_parse_math()
    assert (text.get_color(), text.get_fontsize()) == ("black", 9)


def test_nothing_is_written_small_or_off_the_page():
    for figure in (CANCER.plot(count=3), CANCER.plot("tree"), PETALS.plot(), PETALS.plot("tree")):
        figure.draw_without_rendering()
        for text in figure.findobj(matplotlib.text.Text):
            if text.get_text() and text.get_visible() and not isinstance(text, matplotlib.text.Annotation):
                box = text.get_window_extent()
                assert text.get_fontsize() >= 8
                assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, text
                assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, text


def test_the_path_of_margins_marks_where_no_row_exists():
    figure = draw_margins([0.0, 0.2, 0.1, 0.3], [1.0, 3.0, 2.0, None])
    (axes,) = figure.axes
    assert axes.lines[0].get_xdata().tolist() == [0.0, 0.1, 0.2, 0.3]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("margin", "cost")
    assert [text.get_text() for text in axes.texts] == ["no row"]
    assert axes.patches[0].get_x() == 0.3
    proved = draw_margins([0.0, 0.1], [1.0, 2.0], [0.5, 2.0]).axes[0]
    assert [text.get_text() for text in proved.get_legend().get_texts()] == ["cost", "proved bound"]
    assert not proved.patches
    assert "no row" in words(draw_margins([1.0], [float("nan")]))


def test_a_caveat_is_in_the_title():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 2)), rng.integers(0, 3, 500)
    explainer = cl.Explainer(DecisionTreeClassifier(random_state=0).fit(X, y), data=X)
    cut = next(a for a in (explainer.explain(X[0], count=9, max_nodes=k) for k in range(1, 99)) if len(a))
    assert str(cut.status) == "limit"
    assert any("(not proved cheapest)" in text for text in words(cut.plot()))
    early = explainer.explain(X[0], max_nodes=1)
    assert any("no row found yet for" in text for text in words(early.plot("tree")))


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_ticks_are_plain_at_every_size(size):
    schema = cl.Schema([cl.Numeric("a", 0, 10 * size), cl.Numeric("b", 0, 10 * size)])
    axes = slope(schema=schema, bias=-5 * size).plot().axes[0]
    axes.figure.draw_without_rendering()
    assert axes.yaxis.get_offset_text().get_text() == ""


def test_a_tree_of_one_leaf_is_drawn():
    tree = cl.Tree([-1], [-1], [[0.0, 0.0]], [0.0], [0], classes=["only"])
    answer = cl.Explainer(tree).explain([1.0, 2.0], target="only")
    assert words(answer.plot("tree")).count("only") == 1
    assert "source" in words(answer.plot("regions"))


def test_many_classes_differ_in_colour_or_hatch():
    assert len({(tint(k), hatch(k)) for k in range(64)}) == 64


def test_names_and_numbers_are_short_but_differ():
    assert short("abcdefghij", 6) == "abc…ij"
    long = [f"a feature with a name that is too long {k} for a line of text" for k in (1, 22)]
    assert len(set(short_names(long))) == 2
    assert short_names(["x" * 100 + "a" + "x" * 100, "x" * 100 + "b" + "x" * 100])[0] == "x" * 100 + "a" + "x" * 100
    assert reach([2.0], -np.inf, np.inf) == (1.5, 2.5)
    assert reach([2.0, 7.0], 0.0, 5.0) == (0.0, 7.0)


def test_labels_find_room():
    frame, size = (0.0, 0.0, 100.0, 100.0), np.array([20.0, 10.0])
    box = near(np.array([99.0, 99.0]), size, [], frame)
    assert box[2] <= 100
    assert box[3] <= 100
    crowded = near(np.array([50.0, 50.0]), size, [frame], frame)
    assert crowded[0] > 50  # no place is free: next to the point all the same
    triangle = np.array([[0, 0], [40, 0], [0, 40]], float)
    assert within(triangle, size, []) is not None
    assert within(triangle, size * 3, []) is None
