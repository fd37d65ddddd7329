"""TAORegressor, and TAOClassifier with softmax leaves: scikit-learn's contract, and leaves that compute."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_wine, make_friedman1
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.seeds import NIGHTLY

import counterleaf as cl

pytestmark = pytest.mark.slow  # the whole file takes many seconds

SETTINGS = [
    {},
    {"init": "random"},
    {"axis_aligned": True},
    {"leaves": "constant"},
    {"leaves": "constant", "axis_aligned": True},
]
SOFTMAX = [{"leaves": "softmax"}, {"leaves": "softmax", "axis_aligned": True}]


@parametrize_with_checks(
    [
        *(cl.TAORegressor(max_depth=2, **settings) for settings in (SETTINGS if NIGHTLY else SETTINGS[:1])),
        *(cl.TAOClassifier(max_depth=2, **settings) for settings in (SOFTMAX if NIGHTLY else SOFTMAX[1:])),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def friedman(n=600, seed=0):
    X, y = make_friedman1(n, 8, noise=1.0, random_state=seed)
    return StandardScaler().fit_transform(X), y


def two_planes(n=400, seed=0):
    """Two linear functions on either side of a slanted line."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, np.where(X[:, 0] + X[:, 1] > 0.2, 3 * X[:, 2] - 1, 4 - X[:, 3])


def bent_classes(n=1500, seed=0):
    """Three classes whose linear borders differ on the two sides of a slanted line."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    scores = np.where((X[:, 0] - X[:, 1] > 0)[:, None], X @ rng.normal(size=(4, 3)), X @ rng.normal(size=(4, 3)))
    return X, np.array(["a", "b", "c"])[scores.argmax(axis=1)]


def test_two_linear_functions_are_found():
    X, y = two_planes()
    model = cl.TAORegressor(max_depth=1, leaf_alpha=1e-6, random_state=0).fit(X, y)
    assert model.get_n_leaves() == 2
    assert model.score(X, y) > 0.95
    assert DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y).score(X, y) < 0.9


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_held_out_rows_are_predicted_better_than_by_cart(settings):
    X, y = friedman()
    cart = cross_val_score(DecisionTreeRegressor(max_depth=4, random_state=0), X, y, cv=3).mean()
    ours = cross_val_score(cl.TAORegressor(max_depth=4, random_state=0, **settings), X, y, cv=3).mean()
    assert ours > cart - (0.02 if settings.get("axis_aligned") else -0.05)


def test_softmax_leaves_need_fewer_leaves():
    X, y = bent_classes()
    constant = cl.TAOClassifier(max_depth=6, random_state=0).fit(X[:1000], y[:1000])
    softmax = cl.TAOClassifier(max_depth=1, leaves="softmax", random_state=0).fit(X[:1000], y[:1000])
    assert softmax.get_n_leaves() == 2 < constant.get_n_leaves()
    assert softmax.score(X[1000:], y[1000:]) > constant.score(X[1000:], y[1000:]) - 0.03
    assert log_loss(y[1000:], softmax.predict_proba(X[1000:])) < log_loss(y[1000:], constant.predict_proba(X[1000:]))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_trees_predictions_are_the_models(settings):
    X, y = friedman(300)
    model = cl.TAORegressor(max_depth=3, random_state=0, **settings).fit(X, y)
    tree, rows = model.tree_, np.random.default_rng(0).normal(size=(500, X.shape[1]))
    assert tree.is_regression
    assert (tree.outputs.slope is None) == (settings.get("leaves") == "constant")
    assert (tree.predict(rows) == model.predict(rows)).all()
    assert (tree.apply(rows) == model.apply(rows)).all()
    assert cl.read_tree(model) is tree
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(rows) == model.predict(rows)).all()
    assert set(tree.apply(X).tolist()) == set(tree.leaves.tolist())  # no leaf is empty


def test_the_outputs_of_a_classifier():
    X, y = load_wine(return_X_y=True)
    constant = cl.TAOClassifier(max_depth=2, random_state=0).fit(X, y)
    assert constant.tree_.outputs.kind == "probability"
    assert (constant.tree_.predict_proba(X) == constant.predict_proba(X)).all()
    softmax = cl.TAOClassifier(max_depth=2, leaves="softmax", random_state=0).fit(X, y)
    assert softmax.tree_.outputs.kind == "softmax"
    assert (softmax.tree_.value == -1).all()
    assert (softmax.classes_[softmax.predict_proba(X).argmax(axis=1)] == softmax.predict(X)).all()
    assert (softmax.tree_.predict_proba(X) == softmax.predict_proba(X)).all()
    again = cl.Tree.from_json(softmax.tree_.to_json())
    assert (again.predict(X) == softmax.predict(X)).all()


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_result_does_not_depend_on_the_number_of_threads(settings):
    X, y = friedman(1500)
    one, three = (cl.TAORegressor(4, random_state=3, max_iter=4, n_jobs=n, **settings).fit(X, y) for n in (1, 3))
    assert one.tree_.to_json() == three.tree_.to_json()
    again = cl.TAORegressor(4, random_state=3, max_iter=4, **settings).fit(X, y)
    assert again.tree_.to_json() == one.tree_.to_json()


@pytest.mark.parametrize("settings", SOFTMAX, ids=str)
def test_softmax_leaves_do_not_depend_on_the_number_of_threads(settings):
    X, y = load_digits(return_X_y=True)
    one, three = (cl.TAOClassifier(2, random_state=3, max_iter=3, n_jobs=n, **settings).fit(X, y) for n in (1, 3))
    assert one.tree_.to_json() == three.tree_.to_json()


def test_one_linear_leaf_is_a_linear_regression():
    X, y = load_diabetes(return_X_y=True)
    model = cl.TAORegressor(leaf_alpha=0.0, ccp_alpha=1.0).fit(X, y)
    assert model.get_n_leaves() == 1
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-5)


def test_one_softmax_leaf_is_a_logistic_regression():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = cl.TAOClassifier(leaves="softmax", leaf_alpha=1.0, ccp_alpha=1.0).fit(X, y)
    assert model.get_n_leaves() == 1
    expected = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)


def test_constant_leaves_are_the_means_of_their_rows():
    X, y = friedman(300)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    model = cl.TAORegressor(3, leaves="constant", random_state=0).fit(X, y, weight)
    leaf = model.apply(X)
    for node in model.tree_.leaves:
        here = leaf == node
        assert model.predict(X[here])[0] == pytest.approx(np.average(y[here], weights=weight[here]))


def test_a_strong_penalty_draws_leaves_to_one_function():
    X, y = friedman(300)
    model = cl.TAORegressor(3, leaf_alpha=1e9, random_state=0).fit(X, y)
    slopes = model.tree_.outputs.slope.toarray()[model.tree_.leaves]
    assert np.abs(slopes - slopes[0]).max() < 1e-3


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_the_target_does_not_matter(unit):
    X, y = friedman(400)
    plain, other = (cl.TAORegressor(3, random_state=0).fit(X, y * by) for by in (1.0, unit))
    np.testing.assert_allclose(other.predict(X) / unit, plain.predict(X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_sparse_rows_learn_what_dense_ones_do(settings):
    X, y = friedman(300)
    dense = cl.TAORegressor(2, random_state=0, **settings).fit(X, y)
    model = cl.TAORegressor(2, random_state=0, **settings).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(model.predict(sparse.csr_array(X)), dense.predict(X))


def test_constant_targets_and_columns_and_single_rows():
    for X, y in (([[1.0], [2.0]], [5.0, 5.0]), ([[1.0, 2.0]], [3.0]), (np.ones((6, 2)), [0.0, 1.0, 1.0, 1.0, 0.0, 3.0])):
        for leaves in ("constant", "linear"):
            model = cl.TAORegressor(leaves=leaves).fit(X, y)
            assert model.get_n_leaves() == 1
            np.testing.assert_allclose(model.predict(X), np.full(len(y), np.mean(y)))
    one = cl.TAOClassifier(leaves="softmax").fit([[1.0], [2.0]], ["x", "x"])
    assert one.predict([[3.0]]).tolist() == ["x"]
    assert one.predict_proba([[3.0]]).tolist() == [[1.0]]


def test_verbose_reports_every_sweep(capsys):
    X, y = friedman(1200)
    cl.TAORegressor(2, random_state=0, verbose=1).fit(X, y)
    err = capsys.readouterr().err
    assert "held-out rows" in err
    assert "sweep 1 of 20, mean squared error " in err
    cl.TAOClassifier(1, leaves="softmax", random_state=0, verbose=1).fit(*load_iris(return_X_y=True))
    err = capsys.readouterr().err
    assert "training error" in err
    assert "sweep 1 of 20, log-loss " in err


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (cl.TAORegressor(leaves="softmax"), "leaves is 'softmax'; expected one of 'constant', 'linear'"),
        (cl.TAOClassifier(leaves="linear"), "leaves is 'linear'; expected one of 'constant', 'softmax'"),
        (cl.TAORegressor(leaf_alpha=-1), "leaf_alpha is -1; expected a number from 0"),
        (cl.TAORegressor(init="classes"), "init is 'classes'; expected one of 'auto', 'cart', 'random'"),
        (cl.TAORegressor(init="random", axis_aligned=True), "init is 'random'; with axis_aligned=True the start is a CART"),
        (cl.TAORegressor(max_depth=0), "max_depth is 0; expected a whole number from 1"),
    ],
    ids=str,
)
def test_wrong_parameters(model, message):
    with pytest.raises(cl.CounterleafError) as caught:
        model.fit([[0.0], [1.0]], [0, 1])
    assert str(caught.value).startswith(message)


def test_wrong_weights():
    with pytest.raises(cl.CounterleafError, match="sample_weight contains a negative number; expected weights of 0 or more"):
        cl.TAORegressor().fit([[0.0], [1.0]], [0.0, 1.0], [-1.0, 1.0])
