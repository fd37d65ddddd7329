import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

import counterleaf as cl
import counterleaf.model.readers.shared.leaf_probes

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreeClassifier])
def test_a_scikit_learn_tree_is_read_node_for_node(kind):
    data, labels = load_breast_cancer(return_X_y=True)
    model = kind(random_state=0).fit(data, np.where(labels, "benign", "malignant"))
    tree = cl.read_tree(model)
    rng = np.random.default_rng(0)
    rows = rng.uniform(data.min(axis=0), data.max(axis=0), size=(2000, data.shape[1]))
    assert (tree.apply(rows) == model.apply(rows)).all()
    assert (tree.predict(rows) == model.predict(rows)).all()


def test_a_tree_is_read_as_itself():
    tree = cl.read_tree(DecisionTreeClassifier(max_depth=2).fit(X, y))
    assert cl.read_tree(tree) is tree


def test_a_tree_with_missing_value_routes_is_read_and_rows_with_and_without_gaps_explained():
    gappy = X.copy()
    gappy[::7, 2] = np.nan
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(gappy, y)
    answer = cl.Explainer(model).explain(X[0], target=2)
    assert answer[0].confirmed
    assert cl.Explainer(model).explain(gappy[0], target=2)[0].confirmed
    with pytest.raises(cl.CounterleafError, match="'x2' of the row is nan"):
        cl.Explainer(cl.read_tree(model)).explain(gappy[0], target=2)  # a Tree has no route for it


class Categorical(DecisionTreeClassifier):
    categorical_features = (0,)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (DecisionTreeClassifier(), "not fitted"),
        (DecisionTreeClassifier().fit(X, np.c_[y, y]), "2 outputs"),
        (Categorical().fit(X, y), "categorical splits"),
        (DecisionTreeRegressor().fit(X, np.c_[y, y]), "this DecisionTreeRegressor has 2 outputs; expected one"),
        (RandomForestClassifier(n_estimators=2).fit(X, y), "cannot read a RandomForestClassifier"),
        ("tree", "cannot read a str"),
    ],
)
def test_models_that_are_not_a_tree_are_refused_by_name(model, reason):
    with pytest.raises(cl.CounterleafError, match=reason):
        cl.read_tree(model)


def test_a_model_that_routes_otherwise_is_found_out(monkeypatch):
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    honest = counterleaf.model.readers.shared.leaf_probes.cuts

    def shifted(tree):
        feature, swapped, _, high = honest(tree)
        return feature, swapped, high, high

    monkeypatch.setattr(counterleaf.model.readers.shared.leaf_probes, "cuts", shifted)
    with pytest.raises(cl.CounterleafError, match="does not route rows as its thresholds say"):
        cl.read_tree(model)
