"""Forests, votes and boosted trees of scikit-learn: the same predictions and probabilities, bit for bit."""

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble as sk
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from support.ensemble_cases import GAPPY, KIND, TWO, VALUE, X, same

import counterleaf as cl
from counterleaf.model.readers.table import categories_of, inputs_of, is_ensemble, read_ensemble

LABELS = np.array(["a", "b", "c"])[KIND]


@pytest.mark.parametrize("kind", [sk.RandomForestClassifier, sk.ExtraTreesClassifier])
def test_forests(kind):
    for rows, labels in ((X, LABELS), (X, TWO), (GAPPY, KIND)):
        found = same(kind(12, max_depth=5, random_state=0).fit(rows, labels), rows)
        assert found.scoring.noise == 0.0
    assert read_ensemble(kind(4, max_depth=3, n_jobs=2).fit(X, KIND)).scoring.noise > 0.0
    assert read_ensemble(kind(4, n_jobs=2, bootstrap=False).fit(X, KIND)).scoring.noise == 0.0  # pure leaves


def test_forests_of_numbers():
    same(sk.RandomForestRegressor(10, random_state=0).fit(GAPPY, VALUE), GAPPY)
    same(sk.ExtraTreesRegressor(10, random_state=0).fit(X, VALUE), X)


def test_bagging():
    tree = DecisionTreeClassifier(max_depth=4)
    same(sk.BaggingClassifier(tree, 12, max_features=0.5, max_samples=5, random_state=0).fit(GAPPY, LABELS), GAPPY)
    same(sk.BaggingRegressor(DecisionTreeRegressor(max_depth=4), 9, max_features=0.6).fit(X, VALUE), X)


@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("weights", [None, [1, 2.5, 0.3]])
def test_votes(voting, weights):
    trees = [(str(k), DecisionTreeClassifier(max_depth=k + 1, max_features=2, random_state=k)) for k in range(3)]
    same(sk.VotingClassifier(trees, voting=voting, weights=weights).fit(GAPPY, LABELS), GAPPY)
    trees = [(str(k), DecisionTreeRegressor(max_depth=k + 1, max_features=2, random_state=k)) for k in range(3)]
    same(sk.VotingRegressor(trees, weights=weights).fit(X, VALUE), X)


@pytest.mark.parametrize("labels", [TWO, LABELS])
def test_boosted_classes(labels):
    same(sk.AdaBoostClassifier(n_estimators=8, random_state=0).fit(X, labels), X)
    for init in (None, "zero"):
        same(sk.GradientBoostingClassifier(n_estimators=8, init=init).fit(X, labels), X)
    for rows in (X, GAPPY):
        same(sk.HistGradientBoostingClassifier(max_iter=8).fit(rows, labels), rows)


def test_boosted_numbers():
    same(sk.GradientBoostingClassifier(n_estimators=8, loss="exponential").fit(X, TWO), X)
    for loss in ("squared_error", "absolute_error", "huber", "quantile"):
        same(sk.GradientBoostingRegressor(n_estimators=8, loss=loss).fit(X, VALUE), X)
    for loss in ("squared_error", "absolute_error", "gamma", "poisson"):
        same(sk.HistGradientBoostingRegressor(max_iter=8, loss=loss).fit(GAPPY, abs(VALUE) + 0.1), GAPPY)


def test_categories():
    frame = pd.DataFrame(GAPPY, columns=list("abcde"))
    frame["b"] = pd.Categorical(np.array(["u", "v", "w", "q"])[np.arange(240) % 4])
    frame.loc[::7, "b"] = np.nan
    target = frame["b"].isin(["u", "q"]).astype(int) ^ TWO
    model = sk.HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype").fit(frame, target)
    assert categories_of(model) == {1: ["q", "u", "v", "w"]}
    codes = GAPPY.copy()
    codes[:, 1] = frame["b"].map({"q": 0.0, "u": 1.0, "v": 2.0, "w": 3.0}).astype(float)
    found = same(model, codes)
    assert len(found.subsets)
    codes[:, 1] = 9.0  # unknown
    assert np.array_equal(found.predict(codes), model.predict(inputs_of(model, codes)))
    numbers = GAPPY.copy()
    numbers[:, 3] = 3.0 * (np.arange(240) % 5)
    model = sk.HistGradientBoostingClassifier(max_iter=10, categorical_features=[3]).fit(numbers, target)
    assert categories_of(model) == {3: [0.0, 3.0, 6.0, 9.0, 12.0]}
    numbers[:, 3] /= 3.0
    same(model, numbers)


def test_balanced_forests():
    imblearn = pytest.importorskip("imblearn.ensemble")
    model = imblearn.BalancedRandomForestClassifier(8, sampling_strategy="all", replacement=True, bootstrap=False)
    same(model.fit(X, KIND), X)


def test_a_model_with_one_tree_of_a_class_of_many():
    assert is_ensemble(sk.RandomForestClassifier(1).fit(X, TWO))
    assert not is_ensemble(sk.HistGradientBoostingClassifier(max_iter=1).fit(X, TWO))
    assert not is_ensemble(DecisionTreeClassifier().fit(X, TWO))
    with pytest.raises(cl.CounterleafError, match="rows hold NaN or infinity; expected finite numbers"):
        read_ensemble(sk.GradientBoostingClassifier(n_estimators=2).fit(X, TWO)).predict(GAPPY)


REFUSED = [
    (sk.AdaBoostRegressor(), "it predicts the weighted median of its trees, not a sum; fit a GradientBoostingRegressor"),
    (sk.RandomForestClassifier(), "this RandomForestClassifier is not fitted; call fit first"),
    (sk.HistGradientBoostingClassifier(), "this HistGradientBoostingClassifier is not fitted; call fit first"),
    (
        sk.BaggingClassifier(LogisticRegression()).fit(X, TWO),
        "it combines models such as LogisticRegression; expected",
    ),
    (sk.BaggingClassifier(sk.RandomForestClassifier(2), 2).fit(X, TWO), "it combines models such as RandomForestClassifier"),
    (sk.RandomForestRegressor(2).fit(X, X[:, :2]), "has 2 outputs; expected one: fit one model per output"),
    (
        sk.GradientBoostingRegressor(init=LinearRegression(), n_estimators=2).fit(X, VALUE),
        "starts from a LinearRegression; expected a constant: fit it with init=None or init='zero'",
    ),
    (LogisticRegression(), "cannot read a LogisticRegression as an ensemble; expected a forest or boosted trees"),
]


@pytest.mark.parametrize(("model", "message"), REFUSED)
def test_refusals(model, message):
    with pytest.raises(cl.CounterleafError, match=message):
        read_ensemble(model)


def test_one_class_is_refused():
    model = sk.AdaBoostClassifier(n_estimators=2).fit(X, TWO)
    model.classes_ = model.classes_[:1]
    with pytest.raises(cl.CounterleafError, match="knows one class; expected two or more: nothing can change it"):
        read_ensemble(model)


def test_a_model_that_routes_otherwise_is_noticed():
    model = sk.RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, TWO)
    kind = type("Odd", (sk.RandomForestClassifier,), {"predict_proba": lambda self, rows: np.full((len(rows), 2), 0.5)})
    model.__class__ = kind
    with pytest.raises(cl.CounterleafError, match="this Odd does not route rows as its thresholds say; report"):
        read_ensemble(model)
