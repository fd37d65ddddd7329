"""What an answer says about a target of a probability or a value: before, after, and why there is none."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl

SHARES = cl.Outputs("probability", [[0, 0], [0.7, 0.3], [0.2, 0.8]])
LEAVES = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-3.0, 0, 0], [-1, 0, 1], ["no", "yes"], outputs=SHARES)
LINE = cl.Tree([-1], [-1], [[0.0, 0.0]], [0.0], outputs=cl.Outputs("value", [1.0], [[2.0, 1.0]]))


def test_a_probability_before_and_after():
    answer = cl.Explainer(LEAVES).explain({"x0": 1.0}, target=cl.probability("yes", at_least=0.75))
    assert (answer.source_number, answer[0].number, answer[0].label, answer.source_label) == (0.3, 0.8, "yes", "no")
    text = str(answer)
    assert text.startswith("If x0 were 3 instead of 1, the model would give yes a probability of 0.8 instead of 0.3.")
    assert "probability of yes     0.3  0.8" in text
    assert "Your model confirms it: it gives yes a probability of at least 0.75 for this row." in text
    assert answer.words[0] == "target: probability of yes at least 0.75"
    assert "probability of 0.8" in answer._repr_html_()


def test_a_value_before_and_after():
    answer = cl.Explainer(LINE).explain([0.0, 0.0], target=cl.value(at_least=5), cost=cl.L1())
    assert (answer.source_label, answer.source_number, answer[0].number) == (1.0, 1.0, pytest.approx(5.0))
    assert str(answer).startswith("If x0 were 2 instead of 0, the model would predict 5 instead of 1.")
    assert "it predicts a value of at least 5 for this row" in str(answer)
    again = cl.Explainer(LINE).explain([3.0, 0.0], target=cl.value(at_least=5))
    assert str(again).startswith("Nothing has to change: the model already predicts 7.")


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (cl.probability("yes", at_least=0.99), "of at least 0.99: the highest probability of any leaf is 0.8"),
        (cl.probability("yes", at_most=0.1), "of at most 0.1: the lowest probability of any leaf is 0.3"),
        (cl.probability("yes", at_least=0.4, at_most=0.5), "from 0.4 to 0.5: no leaf has a probability in between"),
    ],
)
def test_a_target_that_no_leaf_has_is_infeasible_and_says_what_there_is(target, reason):
    answer = cl.Explainer(LEAVES).explain([1.0], target=target)
    assert (str(answer.status), answer.certificate.check()) == ("infeasible", True)
    assert str(answer).startswith("No change can make the model give yes a probability")
    assert reason in str(answer)


def test_a_value_beyond_the_bounds_is_infeasible():
    schema = cl.Schema([cl.Numeric("age", 0, 10), cl.Numeric("pay", 0, 10)])
    answer = cl.Explainer(LINE, schema=schema).explain([0.0, 0.0], target=cl.value(at_least=32))
    assert str(answer.status) == "infeasible"
    assert "a value of at least 32, even without constraints: no leaf predicts more than 31 there." in str(answer)
    below = cl.Explainer(LINE, schema=schema).explain([0.0, 0.0], target=cl.value(at_most=0.5))
    assert "even without constraints: no leaf predicts less than 1 there." in str(below)


def test_frames_and_plots():
    pytest.importorskip("matplotlib")
    answer = cl.Explainer(LINE).explain([0.0, 0.0], target=cl.value(at_least=5), cost=cl.L2())
    assert answer.to_frame()["label"].tolist() == [1.0, pytest.approx(5.0)]
    for kind in ("changes", "regions", "tree"):
        texts = [
            text.get_text() for axes in answer.plot(kind=kind).axes for text in [*axes.texts, axes.title, axes._left_title]
        ]
        assert any("5 instead of 1, cost" in text for text in texts), kind
    chance = cl.Explainer(LEAVES).explain([1.0], target=cl.probability("yes", at_least=0.75))
    assert any("probability 0.8 instead of 0.3" in text.get_text() for axes in chance.plot().axes for text in axes.texts)


def test_linear_leaves_as_text():
    assert cl.export_text(LINE, ["age", "pay"]) == "|--- value: 2*age + pay + 1"
    outputs = cl.Outputs("softmax", [[1.0, -1.0]], [[1.0, 0.0], [0.0, -0.5]])
    both = cl.Tree([-1], [-1], [[0.0, 0.0]], [0.0], classes=["no", "yes"], outputs=outputs)
    lines = cl.export_text(both).splitlines()
    assert lines == ["|--- class: the largest of", "|---   no: x0 + 1", "|---   yes: -0.5*x1 - 1"]
    assert cl.export_text(LEAVES).count("class: ") == 2


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_many_rows(frame):
    library = pytest.importorskip(frame)
    rng = np.random.default_rng(0)
    rows = library.DataFrame({"a": rng.normal(size=8), "b": rng.normal(size=8)})
    schema = cl.Schema([cl.Numeric("a", -9, 9), cl.Numeric("b", -9, 9)])
    outputs = cl.Outputs("softmax", rng.normal(size=(3, 3)), rng.normal(size=(9, 2)))
    tree = cl.Tree(
        [1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [0.0, 0, 0], classes=["x", "y", "z"], outputs=outputs
    )
    for model, target in (
        (tree, None),
        (tree, "x"),
        (tree, {"x": 0.5, "y": 0.0}),
        (tree, cl.probability("z", at_least=0.6)),
        (LINE, cl.value(at_least=3.0, at_most=3.5)),
    ):
        explainer = cl.Explainer(model, schema=schema)
        for cost in (cl.L1(), cl.L2()):
            found = explainer.explain_many(rows, target=target, cost=cost, progress=False)
            alone = [explainer.explain(dict(zip("ab", row, strict=True)), target=target, cost=cost) for row in rows.to_numpy()]
            assert found["status"].to_list() == [str(answer.status) for answer in alone]
            assert found["cost"].to_list() == [answer[0].cost for answer in alone]
            assert found["label"].to_list() == [answer[0].label for answer in alone]
            assert found["leaf"].to_list() == [answer[0].leaf for answer in alone]
            assert all(found["confirmed"].to_list())
            if isinstance(target, cl.Probability):
                assert found["probability"].to_list() == [answer[0].number for answer in alone]


def _priced():
    """Explainers of a tree, of a tree with leaves that compute, and of a forest, with a row and the prices of two classes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(0, 9, 300), "b": rng.uniform(0, 9, 300)})
    y = np.where(X.a + X.b > 11, "yes", np.where(X.a + X.b > 8, "maybe", "no"))
    models = [DecisionTreeClassifier(max_depth=4, random_state=0), RandomForestClassifier(7, max_depth=3, random_state=0)]
    models.append(cl.TAOClassifier(max_depth=1, leaves="softmax", max_iter=3, random_state=0))
    return [(cl.Explainer(model.fit(X, y), data=X), {"a": 1.0, "b": 1.0}) for model in models]


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("count", [1, 2])
def test_prices_of_classes_are_part_of_the_question_that_is_printed(which, count):
    explainer, row = _priced()[which]
    answer = explainer.explain(row, target={"yes": 0, "maybe": 10.0}, count=count)
    free = explainer.explain(row, target=["yes", "maybe"], count=count)
    again = cl.Explanation.from_json(answer.to_json())
    assert answer.words[0] == again.words[0] == "target: yes, maybe (at a cost of 10)"
    assert free.words[0] == "target: yes, maybe"
    assert free[0].cost < answer[0].cost
    for one in (answer, again, pickle.loads(pickle.dumps(answer))):
        assert "prices of classes included: yes, maybe (at a cost of 10)" in str(one)
    assert "prices" not in str(free)


def test_a_class_that_no_leaf_has_keeps_its_price_in_the_question():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-4.0, 0, 0], [-1, 0, 1], classes=["no", "yes", "maybe"])
    answer = cl.Explainer(tree).explain([0.0], target={"yes": 0.25, "maybe": 10.0})
    for one in (answer, cl.Explanation.from_json(answer.to_json())):
        assert one.words[0] == "target: yes (at a cost of 0.25), maybe (at a cost of 10)"


def test_what_the_model_does_not_confirm_is_not_put_into_its_mouth():
    class Turned(DecisionTreeClassifier):
        def predict(self, X):
            return np.where(super().predict(X) == "yes", "no", "yes")

    X = pd.DataFrame({"a": np.arange(10.0)})
    model = Turned().fit(X, np.where(X.a > 5, "yes", "no"))
    explainer = cl.Explainer(model, data=X)
    there, change = (explainer.explain({"a": a}, target="yes") for a in (9.0, 1.0))
    assert str(there).startswith("The model does not confirm it: the tree read from it already says yes.")
    assert "the tree read from it would say yes" in str(change)
    for answer in (there, change):
        assert not answer[0].confirmed
        assert "the model would" not in str(answer)
        assert "NOT confirmed: your model does not say yes for this row." in str(answer)
    assert "NOT confirmed" in str(explainer.explain_margins({"a": 1.0}, margins=[0.0], target="yes"))
    audit = explainer.audit(X, target="yes")
    assert tuple(audit.groups[["has", "can", "open"]].iloc[0]) == (6, 0, 4)  # the model says yes of six rows
    assert "because the model does not confirm the change" in str(audit)
