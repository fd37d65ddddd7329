"""Models that cannot be read are named, with the nearest thing that works."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl

X, y = load_iris(return_X_y=True)


def elsewhere(module, name):
    return type(name, (), {"__module__": module})()


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (RandomForestRegressor(), "it is an ensemble, not one Tree; use Explainer(model)"),
        (ExtraTreesClassifier(), "it is an ensemble, not one Tree; use Explainer(model)"),
        (
            elsewhere("treeple.ensemble", "ObliqueRandomForestClassifier"),
            "forests with oblique splits are not supported; explain one of its trees, model.estimators_[0]",
        ),
        (BaggingRegressor(), "it is an ensemble, not one Tree; use Explainer(model)"),
        (AdaBoostClassifier(), "it is an ensemble, not one Tree; use Explainer(model)"),
        (GradientBoostingRegressor(), "it is an ensemble, not one Tree; use Explainer(model)"),
        (elsewhere("catboost.core", "CatBoost"), "it does not tell labels from values; use a CatBoostClassifier or a"),
        (elsewhere("imblearn.ensemble", "EasyEnsembleClassifier"), "it combines models with their own samplers; fit a"),
        (elsewhere("sklearn.ensemble", "StackingClassifier"), "it combines several models; explain one of them"),
        (elsewhere("sklearn.ensemble", "RandomTreesEmbedding"), "it has no predict; pass the whole pipeline"),
        (VotingClassifier([]), "it is an ensemble, not one Tree; use Explainer(model)"),
        (IsolationForest(), "it is not a classifier; fit a DecisionTreeClassifier on its labels"),
        (KNeighborsClassifier(), "its regions are not those of a tree; fit a DecisionTreeClassifier or a linear model"),
        (
            MLPRegressor(),
            "neural networks are not supported; fit a DecisionTreeRegressor, or a TAORegressor for oblique splits",
        ),
        (elsewhere("keras.src.models", "Sequential"), "neural networks are not supported; fit a DecisionTreeClassifier"),
        (
            elsewhere("torch.nn.modules.container", "Sequential"),
            "neural networks are not supported; fit a DecisionTreeClassifier",
        ),
        (GaussianNB(), "it is neither a tree nor linear; fit a DecisionTreeClassifier, or a linear model"),
        (GaussianProcessClassifier(), "it is neither a tree nor linear; fit a DecisionTreeClassifier, or a linear model"),
        (KMeans(), "it is neither a tree nor linear; fit a DecisionTreeClassifier, or a linear model"),
        (OneVsRestClassifier(DecisionTreeClassifier()), "several models in one; explain one of them, model.estimators_[0]"),
        (DummyClassifier(), "its prediction does not depend on the row; there is nothing to change"),
        (StandardScaler(), "it has no predict; pass the whole pipeline"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_families(model, reason):
    for read in (cl.read_tree, cl.Explainer):
        with pytest.raises(cl.CounterleafError) as error:
            read(model)
        expected = f"cannot read a {type(model).__name__}: {reason}"
        if read is cl.Explainer and "not one Tree" in reason:  # which reads it, once it is fitted
            expected = f"this {type(model).__name__} is not fitted; call fit first"
        assert str(error.value).startswith(expected)
        assert "\n" not in str(error.value)


def test_other_objects():
    with pytest.raises(
        cl.CounterleafError, match=r"cannot read the class DecisionTreeClassifier; pass a fitted model: Decision"
    ):
        cl.read_tree(DecisionTreeClassifier)
    with pytest.raises(
        cl.CounterleafError, match="cannot read a dict; expected a counterleaf Tree or TAOClassifier, a decision tree"
    ):
        cl.read_tree({"a": 1})


def test_one_tree_of_a_forest_can_be_read():
    forest = ExtraTreesClassifier(3, max_depth=3, random_state=0).fit(X, y)
    one = forest.estimators_[0]
    assert (cl.read_tree(one).predict(X) == one.predict(X)).all()
    assert np.array_equal(cl.read_tree(one).predict_proba(X), one.predict_proba(X))
