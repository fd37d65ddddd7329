"""A tree as text: a reader who follows the conditions arrives at the leaf that the tree sends the row to."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier
from support.plot_cases import chain, stump
from support.seeds import seeds
from support.strategies import random_tree

import counterleaf as cl

HOLDS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


def first_line(*arguments, **options):
    return cl.export_text(*arguments, **options).split("\n")[0].removeprefix("|--- ")


def value(words, row):
    """A weighted sum such as "-0.5*a + b", of a row by name."""
    total = 0.0
    for sign, term in re.findall(r"(^-|^| - | \+ )(.+?)(?= [+-] |$)", words):
        weight, star, name = term.rpartition("*")
        total += (-1 if "-" in sign else 1) * (float(weight) if star else 1.0) * row[name]
    return total


def follow(text, row):
    """The class that a reader of the text finds for a row: at each level the one condition that holds."""
    level = 0
    for line in text.split("\n"):
        depth, words = line.count("|") - 1, line.lstrip("| ").removeprefix("--- ")
        assert depth >= level, "neither condition holds"
        if depth > level:
            continue
        if words.startswith("class: "):
            return words.removeprefix("class: ")
        sums, sign, bound = re.fullmatch(r"(.+) (<=|<|>=|>) (\S+)", words).groups()
        if HOLDS[sign](value(sums, row), float(bound)):
            level += 1
    raise AssertionError("the words lead nowhere")


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreeClassifier])
def test_following_the_words_agrees_with_the_users_model(load, kind):
    X, y = load(return_X_y=True, as_frame=True)
    model = kind(random_state=0).fit(X, y)
    text = cl.export_text(model)
    rng = np.random.default_rng(0)
    between = X.sample(40, random_state=1).to_numpy() * rng.uniform(0.9, 1.1, (40, X.shape[1]))
    rows = pd.concat([X.iloc[::9], pd.DataFrame(between, columns=X.columns)])
    assert [follow(text, row) for _, row in rows.iterrows()] == list(map(str, model.predict(rows)))


@pytest.mark.parametrize("seed", seeds(12))
def test_following_all_terms_agrees_with_an_oblique_tree(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 5, 6, 4, ["oblique", "sparse", "axis", "mixed"][seed % 4], np.ones(6))
    text = cl.export_text(tree, max_terms=None, decimals=15)
    rows = rng.normal(size=(60, 6))
    labels = [follow_with_constants(text, row) for row in rows]
    assert labels == list(map(str, tree.predict(rows)))
    few = cl.export_text(tree, max_terms=None)  # as few digits as by default: nearly every row
    assert np.mean([follow_with_constants(few, row) == label for row, label in zip(rows, labels, strict=True)]) > 0.98


def follow_with_constants(text, row):
    for word, holds in (("always", "x0 < 1e999"), ("never", "x0 > 1e999")):
        text = text.replace(f"{word} (all weights are 0)", holds)
    return follow(text, {f"x{k}": number for k, number in enumerate(row)})


@pytest.mark.parametrize("closed", ["left", "right"])
def test_rows_on_the_cut_itself_go_where_the_words_say(closed):
    for weights, bias in (([1.0, 0], -3.0), ([-2.0, 0], 4.0), ([1.0, -2.0], 3.0), ([0, -1.0], 0.0), ([0.0, 0.0], 0.0)):
        tree = stump(weights, bias, closed=closed)
        rows = np.array([[a, b] for a in range(-5, 6) for b in range(-5, 6)], float)
        text = cl.export_text(tree)
        assert [follow_with_constants(text, row) for row in rows] == tree.predict(rows).tolist()


def test_the_words_of_a_split():
    assert first_line(stump([1.0], -1.5)) == "x0 < 1.5"
    assert first_line(stump([1.0], -1.5, closed="left")) == "x0 <= 1.5"
    assert first_line(stump([-2.0], 3.0)) == "x0 > 1.5"
    assert first_line(stump([-2.0], 3.0, closed="left")) == "x0 >= 1.5"
    assert first_line(stump([-1.0, 0.25, 3.0], 0.0)) == "3*x2 - x0 + 0.25*x1 < 0"
    assert first_line(stump([-1.0, 0.25, 3.0], 0.0), max_terms=2) == "3*x2 - x0 + 1 more term < 0"
    assert first_line(stump(np.arange(1.0, 18), 1.0)) == "17*x16 + 16*x15 + 15*x14 + 14*x13 + 13*x12 + 12 more terms < -1"
    assert first_line(stump([0.0, 0.0], -1.0)) == "always (all weights are 0)"
    assert first_line(stump([0.0, 0.0], 1.0)) == "never (all weights are 0)"
    assert first_line(stump([1e-300], -1e300)) == "1e-300*x0 < 1e+300"  # the quotient is not a number


def test_numbers_have_the_digits_they_need():
    assert first_line(stump([1.0], -1999.5)) == "x0 < 1999.5"  # between two years, not 2000
    assert first_line(stump([3.0], -1.0)) == "x0 < 0.33333334"
    assert first_line(stump([1.0], -1e-60)) == "x0 < 1e-60"
    assert first_line(stump([1.0], -1e60)) == "x0 < 1e+60"
    assert first_line(stump([1 / 3, 1.0], -2 / 3)) == "x1 + 0.3333*x0 < 0.666667"
    assert first_line(stump([1 / 3, 1.0], -2 / 3), decimals=2) == "x1 + 0.33*x0 < 0.67"
    assert first_line(stump([1 / 3, 0.00071], 0.0), decimals=2) == "0.33*x0 + 0.0007*x1 < 0.00"
    assert first_line(stump([1.0], 0.0007), decimals=2) == "x0 < -0.0007"
    assert first_line(stump([1.0], -1.7), decimals=0) == "x0 < 2"


def test_names_are_the_users_then_the_models_then_numbers():
    X, y = load_iris(return_X_y=True, as_frame=True)
    frame = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    array = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X.to_numpy(), y)
    assert re.fullmatch(r"petal (length|width) \(cm\) <= [\d.]+", first_line(frame))
    assert re.fullmatch(r"x[23] <= [\d.]+", first_line(array))
    names = pd.Index(["a", "b", "c", "d"])
    assert first_line(frame, names) == first_line(array, np.array(names))
    assert first_line(array, ["a", "b", "c\nlong", "d\nlong"])[1:8] == " long <"


def test_labels_and_single_leaves():
    assert cl.export_text(cl.Tree([-1], [-1], [[0.0]], [0.0], [0], ["on\nly"])) == "|--- class: on ly"
    assert cl.export_text(stump([1.0], 0.0), max_depth=1).split("\n") == [
        *("|--- x0 < 0", "|   |--- class: no", "|--- x0 >= 0", "|   |--- class: yes")
    ]


def test_deep_trees_are_cut_and_counted():
    X, y = load_digits(return_X_y=True)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    whole = cl.export_text(model)
    assert whole.count("class: ") == model.get_n_leaves()
    for depth in (1, 2, 4):
        text = cl.export_text(model, max_depth=depth)
        below = [int(count) for count in re.findall(r"truncated branch of (\d+) leaves", text)]
        assert text.count("class: ") + sum(below) == model.get_n_leaves()
        assert max(line.count("|") for line in text.split("\n")) == depth + 1
    assert cl.export_text(model, max_depth=99) == whole


def test_a_tree_of_thousands_of_levels_is_written():
    text = cl.export_text(chain(3000), max_depth=2000)
    assert text.count("class: ") == 2000
    assert text.split("\n")[-1].endswith("|--- truncated branch of 1001 leaves")


IRIS = DecisionTreeClassifier(max_depth=2, random_state=0).fit(*load_iris(return_X_y=True))


@pytest.mark.parametrize("show", [cl.export_text, cl.plot_tree])
@pytest.mark.parametrize(
    ("model", "options", "reason"),
    [
        (
            IRIS,
            {"feature_names": ["a", "b"]},
            "feature_names has 2 names; the model has 4 columns: pass one name per column, in",
        ),
        (IRIS, {"feature_names": "abcd"}, "feature_names is 'abcd'; expected a list of names, one per column of the model, in"),
        (IRIS, {"feature_names": 4}, "feature_names is 4; expected a list of names"),
        (IRIS, {"feature_names": {"a": 1, "b": 2, "c": 3, "d": 4}}, "expected a list of names"),
        (
            IRIS,
            {"feature_names": ["a", "b", "a", "c"]},
            "feature_names has 'a' 2 times; expected different names: rename the columns",
        ),
        (IRIS, {"max_depth": 0}, "max_depth is 0; expected a whole number from 1, or None"),
        (IRIS, {"max_depth": 2.5}, "max_depth is 2.5; expected a whole number from 1, or None"),
        (IRIS, {"max_depth": True}, "max_depth is True; expected a whole number"),
        (DecisionTreeClassifier(), {}, "this DecisionTreeClassifier is not fitted; call fit first"),
        (DecisionTreeRegressor(), {}, "this DecisionTreeRegressor is not fitted; call fit first"),
        (
            make_pipeline(StandardScaler(), IRIS),
            {"feature_names": list("abcd")},
            r"feature_names is \['a', 'b', 'c', 'd'\]; a pipeline knows the names of its columns: leave it out, or",
        ),
    ],
)
def test_what_cannot_be_shown_gets_one_clear_line(show, model, options, reason):
    with pytest.raises(cl.CounterleafError, match=reason) as caught:
        show(model, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"max_terms": 0}, "max_terms is 0; expected a whole number from 1, or None"),
        ({"max_terms": "all"}, "max_terms is 'all'; expected a whole number from 1, or None"),
        ({"decimals": -1}, "decimals is -1; expected a whole number from 0, or None"),
    ],
)
def test_digits_and_terms_are_whole_numbers(options, reason):
    with pytest.raises(cl.CounterleafError, match=reason):
        cl.export_text(IRIS, **options)


def test_what_the_pipeline_message_advises_works():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=1, random_state=0)).fit(X, y)
    assert first_line(model[-1], model[:-1].get_feature_names_out()).startswith("petal ")


def test_splits_over_the_values_of_one_feature_name_these_values():
    schema = cl.Schema([cl.Categorical("job", ["clerk", "cook", "nurse"], missing=True), cl.Numeric("age")])
    weights = [[0, 1, 1, 0, 0], [0, 0, 0, 0, 1], *[[0] * 5] * 3]
    tree = cl.Tree([1, 3, -1, -1, -1], [2, 4, -1, -1, -1], weights, [-0.5, -30, 0, 0, 0], [0, 0, 1, 0, 1], ["no", "yes"])
    assert cl.export_text(tree, schema) == (
        "|--- job is clerk or (missing)\n"
        "|   |--- age < 30\n|   |   |--- class: no\n|   |--- age >= 30\n|   |   |--- class: yes\n"
        "|--- job is cook or nurse\n|   |--- class: yes"
    )
    texts = [text.get_text() for text in cl.plot_tree(tree, schema).axes[0].texts]
    assert any(text.splitlines() == ["job", "in clerk, (missing)"] for text in texts)


def test_a_pipeline_is_shown_in_the_units_of_its_table():
    X, y = load_iris(return_X_y=True, as_frame=True)
    tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)
    scaled = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_leaf_nodes=3, random_state=0)).fit(X, y)
    assert cl.export_text(scaled, decimals=2) == cl.export_text(tree, decimals=2)
    words = [[text.get_text() for text in cl.plot_tree(model).axes[0].texts] for model in (scaled, tree)]
    assert words[0] == words[1]
    explainer = cl.Explainer(scaled, data=X)
    assert cl.export_text(scaled, explainer.schema) == cl.export_text(explainer.tree, explainer.schema)
