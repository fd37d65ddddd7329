"""Pictures of answers over tables."""

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from support.loan_cases import COLUMNS, EVERY, JOBS, ROW, SCHOOLS, chain, loan
from support.plot_cases import lines, words

import counterleaf as cl
from counterleaf.plot.canvas import ANSWER
from counterleaf.plot.trees.conditions import condition

NO_ORDER = chain(
    ({"job=clerk": 1}, -0.5),
    ({"owner": 1}, -0.5),
    schema=cl.Schema([cl.Categorical("job", JOBS), cl.Boolean("owner")]),
    names=[*COLUMNS[:4], "owner"],
).explain(["cook", False], target="yes")


def test_changes_name_the_categories():
    shown = words(EVERY.plot())  # a table of several features: no plane
    assert {"cook → self-employed", "HS → BA", "False → True", "40 → 45", "0.1 → 0.3", "100 → 150"} <= set(shown)
    assert {"none", "MA"} <= set(shown)  # the ends of the levels
    arrows = [line for line in lines(EVERY.plot(), ANSWER) if len(line.get_xdata()) == 2]
    assert len(arrows) == 4  # a level and three numbers
    total = sum(float(text[:-1].replace("<", "")) for text in shown if text.endswith("%"))
    assert total == pytest.approx(100, abs=3)


def test_changes_without_an_order_need_no_scale():
    figure = NO_ORDER.plot()  # two features, but no two numbers
    assert {"cook → clerk", "67%", "False → True", "33%"} <= set(words(figure))
    assert not figure.axes[0].lines
    figure.draw_without_rendering()
    for text in figure.findobj(matplotlib.text.Text):
        if text.get_text():
            assert figure.bbox.x0 <= text.get_window_extent().x0 < text.get_window_extent().x1 <= figure.bbox.x1


def test_changes_of_a_missing_level_have_no_scale():
    schema = cl.Schema([cl.Categorical("job", JOBS, missing=True)])
    answer = chain(({"job=clerk": 1}, -0.5), schema=schema, names=[*COLUMNS[:4], "?"]).explain([None], target="yes")
    assert "(missing) → clerk" in words(answer.plot())


def test_regions_over_two_numbers_of_a_table():
    model, frame = loan()
    row = frame[frame["job"] == "cook"].iloc[0]
    answer = cl.Explainer(model, data=frame).explain(row, target="granted", count=3)
    (axes,) = answer.plot(features=("age", "hours")).axes
    assert axes.get_xlabel().startswith("age\nother features as in the source")
    assert axes.get_ylabel() == "hours"
    (square,) = [line for line in axes.lines if line.get_marker() == "s"]
    assert square.get_xydata().tolist() == [[row["age"], row["hours"]]]
    for line, c in zip([line for line in axes.lines if line.get_marker() == "o"], answer, strict=True):
        assert line.get_xydata()[0].tolist() == [c.row["age"], c.row["hours"]]
        assert (to_rgb(line.get_markerfacecolor()) == (1, 1, 1)) == ("job" in c.changes)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: EVERY.plot(features=("age", "job")), "feature 'job' is not a number; regions are drawn over two numbers"),
        (lambda: EVERY.plot(features=("owner", "age")), "feature 'owner' is not a number; regions"),
        (lambda: NO_ORDER.plot("regions"), "feature 'job' is not a number; regions"),
        (lambda: EVERY.plot("regions"), "the table has 6 features; regions are drawn over two"),
        (lambda: EVERY.plot(shape=(2, 3)), "feature 'job' is not a number, so the row is not an image; use kind=\"changes\""),
    ],
)
def test_pictures_that_need_numbers(make, reason):
    with pytest.raises(cl.CounterleafError, match=reason) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("terms", "bias", "shown", "side"),
    [
        ({"job=clerk": 1}, -0.5, "job\nis clerk", -1),
        ({"job=clerk": -3}, 0.5, "job\nis clerk", 1),
        ({"job=clerk": 1, "job=nurse": 2}, -0.5, "job\nin cook, self-employed", 1),
        ({"job=clerk": 2.0**100, "job=cook": -(2.0**100)}, 0.0, "job\nis cook", 1),
        ({"job=clerk": 1}, 5.0, "job\nis anything", -1),
        ({"education": 1}, -1.5, "education\n≤ HS", 1),
        ({"education": -1}, 1.5, "education\n≥ BA", 1),
        ({"education": 1}, 7.0, "education\nis anything", -1),
        ({"owner": 1}, -0.5, "owner\nis yes", -1),
        ({"owner": -1}, 0.5, "owner\nis yes", 1),
        ({"age": 1}, -44.2, "age\n< 44.2", 1),
        ({"age": -1, "job=cook": 2}, 3.0, "2 job=cook \N{MINUS SIGN} age\n< \N{MINUS SIGN}3", 1),
        ({"education": 0.5, "owner": 1, "pay": -1}, 0.0, "0.5 education + owner=True \N{MINUS SIGN} pay\n< 0", 1),
    ],
)
def test_splits_in_words(terms, bias, shown, side):
    explainer = chain((terms, bias))
    assert condition(explainer.tree, 0, explainer.schema) == (shown, side)


def test_splits_of_many_values_and_of_no_threshold():
    schema = cl.Schema([cl.Categorical("c", list("abcdefgh")), cl.Ordinal("o", list("pqrst"))])
    weights = np.zeros((3, 13))
    weights[0, :4] = 1.0
    many = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-0.5, 0, 0], [-1, 0, 1])
    assert condition(many, 0, schema) == ("c\nin e, f, 2 more", 1)
    weights[0] = 0.0
    weights[0, [8, 10]] = 2.0**100
    gap = cl.Tree([1, -1, -1], [2, -1, -1], weights, [0.0, 0, 0], [-1, 0, 1], closed="left")
    assert condition(gap, 0, schema) == ("o\nin p, r", -1)
    schema = cl.Schema(
        [cl.Categorical("c", list("ab"), missing=True), cl.Ordinal("o", SCHOOLS, missing=True), cl.Boolean("b", missing=True)]
    )
    for places, shown, side in (
        ([2], "c\nis (missing)", -1),
        ([3, 4], "o\n≤ HS", -1),
        ([3, 4, 7], "o\n≥ BA", 1),
        ([4, 7], "o\nin HS, (missing)", -1),
        ([8, 10], "b\nis yes", 1),
        ([10], "b\nis (missing)", -1),
    ):
        weights = np.zeros((3, 11))
        weights[0, places] = 1.0
        tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-0.5, 0, 0], [-1, 0, 1])
        assert condition(tree, 0, schema) == (shown, side)


def test_a_row_that_fulfils_a_condition_goes_left_on_the_page():
    model, frame = loan()
    row = frame[frame["job"] == "cook"].iloc[0]
    figure = cl.Explainer(model, data=frame).explain(row, target="granted").plot("tree")
    assert "job\nis cook" in words(figure)
    assert any(shown.startswith("hours\n≤ ") for shown in words(figure))
    at = {text.get_text(): text.get_position() for text in figure.axes[0].texts}
    (path,) = [line for line in figure.axes[0].lines if line.is_dashed()]
    (split,) = [k for k, place in enumerate(path.get_xydata()) if tuple(place) == at["job\nis cook"]]
    assert path.get_xdata()[split + 1] < path.get_xdata()[split]


def test_the_tree_of_every_kind_of_feature():
    shown = words(EVERY.plot("tree"))
    assert {"job\nis self-employed", "education\n≤ HS", "owner\nis yes", "age\n< 44.2"} <= set(shown)
    stuck = chain(({"job=clerk": 1}, -0.5)).explain(ROW, target="yes", constraints=cl.freeze("job"))
    assert "no row reaches yes" in words(stuck.plot("tree"))
