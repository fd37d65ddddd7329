"""Nearest row and Feature Tweaking against plain implementations."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from support.seeds import seeds

import counterleaf as cl
from counterleaf.datasets import load_german_credit
from counterleaf_experiments.baselines import FeatureTweaking, NearestRow

OBLIQUE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
JOBS = cl.Schema([cl.Numeric("age", 18, 90), cl.Categorical("job", ["clerk", "cook", "judge"])])


def jobs_tree():
    """yes for judges, and for cooks above 40.5."""
    left, right = [1, 2, -1, 4, -1, -1, -1], [6, 3, -1, 5, -1, -1, -1]
    weights = np.zeros((7, 4))
    weights[0, 3], weights[1, 2], weights[3, 0] = 1.0, 1.0, 1.0
    return cl.Tree(left, right, weights, [-0.5, -0.5, 0, -40.5, 0, 0, 0], [-1, -1, 0, -1, 0, 1, 1], classes=["no", "yes"])


def random_tree(seed, classes=3):
    X, y = make_classification(300, 6, n_informative=4, n_classes=classes, n_clusters_per_class=1, random_state=seed)
    return DecisionTreeClassifier(max_depth=5, random_state=seed).fit(X, y), X


def tweaked(model, x, target, epsilon, only_failed):
    """Feature Tweaking from scikit-learn's arrays and predict, as a reference."""
    tree, found = model.tree_, []
    stack = [(0, [])]
    while stack:
        node, path = stack.pop()
        if tree.children_left[node] < 0:
            if model.classes_[tree.value[node][0].argmax()] != target:
                continue
            row = x.copy()
            for feature, threshold, above in path:
                failed = x[feature] <= threshold if above else x[feature] > threshold
                if failed or not only_failed:
                    row[feature] = threshold + epsilon if above else threshold - epsilon
            if model.predict(row[None])[0] == target:
                found.append(((row - x) ** 2).sum())
            continue
        split = tree.feature[node], tree.threshold[node]
        stack.append((tree.children_left[node], [*path, (*split, False)]))
        stack.append((tree.children_right[node], [*path, (*split, True)]))
    return min(found, default=math.inf)


@pytest.mark.parametrize("seed", seeds(4))
def test_the_nearest_row_is_that_of_a_plain_search(seed):
    model, X = random_tree(seed)
    nearest, exact = NearestRow(model, X), cl.Explainer(model, data=X)
    predicted = model.predict(X)
    for row in X[:12]:
        for target in model.classes_:
            for power, cost in ((1, cl.L1()), (2, cl.L2())):
                answer = nearest.explain(row, target=target, cost=cost)
                expected = (np.abs(X[predicted == target] - row) ** power).sum(axis=1).min()
                assert answer[0].cost == pytest.approx(expected, rel=1e-12)
                assert answer[0].confirmed
                assert answer.certificate.check()
                assert exact.explain(row, target=target, cost=cost)[0].cost <= answer[0].cost


def test_the_nearest_row_obeys_constraints_or_there_is_none():
    frame = load_iris(as_frame=True).data
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame, load_iris().target)
    nearest = NearestRow(model, frame)
    row, frozen = frame.iloc[0], cl.freeze("sepal length (cm)")
    answer = nearest.explain(row, target=1, cost=cl.L2(), constraints=frozen)
    same = frame[(frame["sepal length (cm)"] == row["sepal length (cm)"]) & (model.predict(frame) == 1)]
    assert answer[0].cost == pytest.approx(((same - row) ** 2).sum(axis=1).min())
    assert answer[0].row["sepal length (cm)"] == row["sepal length (cm)"]
    none = nearest.explain(row, target=1, constraints=cl.freeze("sepal length (cm)", "sepal width (cm)"))
    assert str(none.status) == "infeasible"
    rest = "and obeys your constraints (ruled out by freeze('sepal length (cm)', 'sepal width (cm)'))."
    assert str(none) == f"None of the given rows makes the model say 1 {rest}"


def test_the_nearest_row_of_a_table_with_categories():
    rows = pd.DataFrame({"age": [30.0, 50.0, 41.0], "job": ["judge", "cook", "cook"]})
    nearest = NearestRow(jobs_tree(), rows, JOBS)
    row = {"age": 40.0, "job": "cook"}
    assert nearest.explain(row, target="yes", cost=cl.L2())[0].row == {"age": 41.0, "job": "cook"}
    assert nearest.explain(row, target="yes", cost=cl.L2(), constraints=cl.freeze("age")).status == "infeasible"
    assert len(nearest.explain(row, target="yes", cost=cl.L2(), count=None)) == 2  # one row per leaf


def test_where_no_row_is_of_the_target_there_is_no_answer():
    none = NearestRow(OBLIQUE, [[0.0, 0.5], [0.2, 0.1]]).explain([0.0, 0.0], target="yes")
    assert none.status == "infeasible"
    assert str(none) == "None of the given rows makes the model say yes."


def test_both_take_whole_pipelines():
    credit = load_german_credit()
    X_train, X_test, y_train, _ = credit.split()
    encode = make_column_transformer(
        (OneHotEncoder(), X_train.select_dtypes(exclude="number").columns), remainder="passthrough"
    )
    model = make_pipeline(encode, DecisionTreeClassifier(max_leaf_nodes=15, random_state=0)).fit(X_train, y_train)
    exact = cl.Explainer(model, data=X_train)
    nearest, tweaking = NearestRow(model, X_train), FeatureTweaking(model, data=X_train, only_failed=True)
    bare = DecisionTreeClassifier(max_leaf_nodes=15, random_state=0).fit(encode.transform(X_train), y_train)
    order = [*encode.named_transformers_["onehotencoder"].get_feature_names_out(), *X_train.select_dtypes("number")]
    answered = 0
    for _, row in X_test.iloc[:12].iterrows():
        target = {"good": "bad", "bad": "good"}[model.predict(pd.DataFrame([row]))[0]]
        best = exact.explain(row, target=target, cost=cl.L2())
        tweak = tweaking.explain(row, target=target, cost=cl.L2())
        for answer in (nearest.explain(row, target=target, cost=cl.L2()), tweak):
            for found in answer:
                answered += 1
                assert found.confirmed
                assert best[0].cost <= found.cost
        assert len(order) == bare.n_features_in_
        x = encode.transform(pd.DataFrame([row]))[0]
        free = tweaked(bare, x, target, 0.01, True)  # before rounding; whole numbers and categories make it dearer, or undo it
        assert not len(tweak) or tweak[0].cost >= free
    assert answered > 12


@pytest.mark.parametrize("only_failed", [False, True])
@pytest.mark.parametrize("seed", seeds(4))
def test_feature_tweaking_is_that_of_scikit_learns_arrays(seed, only_failed):
    model, X = random_tree(seed)
    tweaking, exact = FeatureTweaking(model, epsilon=0.1, only_failed=only_failed), cl.Explainer(model)
    for row in X[:15]:
        for target in model.classes_:
            answer = tweaking.explain(row, target=target, cost=cl.L2())
            expected = tweaked(model, row, target, 0.1, only_failed)
            assert (answer[0].cost if len(answer) else math.inf) == pytest.approx(expected, rel=1e-12)
            for found in answer:
                assert found.confirmed
                assert exact.explain(row, target=target, cost=cl.L2())[0].cost <= found.cost


def test_a_large_epsilon_overshoots_and_then_there_is_no_answer():
    tree = cl.Tree(
        [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [[1.0], [0], [1.0], [0], [0]], [-1.0, 0, -2.0, 0, 0], [-1, 0, -1, 1, 0]
    )
    assert FeatureTweaking(tree, epsilon=0.5).explain([0.0], target=1)[0].row == [1.5]
    none = FeatureTweaking(tree, epsilon=1.5).explain([0.0], target=1)
    assert none.status == "infeasible"
    assert str(none) == "None of the given rows makes the model say 1."


def test_rounding_a_tweaked_category_undoes_it():
    tweaking = FeatureTweaking(jobs_tree(), schema=JOBS)
    clerk = tweaking.explain({"age": 30.0, "job": "clerk"}, target="yes", cost=cl.L2())
    assert clerk.status == "infeasible"  # 0.51 judge and 1.0 clerk is a clerk
    cook = tweaking.explain({"age": 39.5, "job": "cook"}, target="yes", cost=cl.L2())
    assert cook.status == "infeasible"  # becoming 0.51 of a judge seemed nearer than a change of age
    assert cl.Explainer(jobs_tree(), schema=JOBS).explain({"age": 39.5, "job": "cook"}, target="yes")[0].changes == {
        "age": (39.5, 40.5)
    }


def test_tweaked_numbers_stay_in_their_bounds_and_on_their_grids():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-4.5, 0, 0], [-1, 0, 1])
    near = FeatureTweaking(tree, schema=cl.Schema([cl.Numeric("a", 0, 4.505)]))
    assert near.explain([1.0], target=1)[0].row == [4.505]
    whole = FeatureTweaking(tree, schema=cl.Schema([cl.Numeric("a", 0, 9, integer=True)]))
    assert whole.explain([1], target=1)[0].row == [5]


def test_several_tweaks_come_nearest_first():
    model, X = random_tree(1)
    costs = [found.cost for found in FeatureTweaking(model).explain(X[0], cost=cl.L2(), count=3)]
    assert len(costs) == 3
    assert costs == sorted(costs)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FeatureTweaking(OBLIQUE), "needs tests of one column each; for an oblique tree use Explainer"),
        (lambda: FeatureTweaking(jobs_tree(), schema=JOBS, epsilon=0), "epsilon is 0; expected a number above 0"),
        (lambda: FeatureTweaking(jobs_tree(), schema=JOBS, epsilon="a"), "epsilon is 'a'; expected a number"),
        (
            lambda: FeatureTweaking(jobs_tree(), schema=JOBS).explain({"age": 30, "job": "cook"}, target="yes", count=2.5),
            "count is 2.5; expected a whole number from 1, or None",
        ),
        (
            lambda: FeatureTweaking(jobs_tree(), schema=JOBS).explain(
                {"age": 30, "job": "cook"}, target="yes", constraints=cl.freeze("age")
            ),
            "Feature Tweaking does not support constraints; use Explainer or NearestRow",
        ),
    ],
)
def test_what_feature_tweaking_refuses(make, message):
    with pytest.raises(cl.CounterleafError, match=message):
        make()


def test_the_text_says_what_was_compared():
    rows = [[1.0, 1.0], [0.0, 1.5]]
    assert "Proved: no other given row costs less than this one (2)" in str(
        NearestRow(OBLIQUE, rows).explain([0.0, 0.0], target="yes", cost=cl.L2())
    )
