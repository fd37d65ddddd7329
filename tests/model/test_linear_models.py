"""Linear models: read as one split or one leaf, and explained where the class changes."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import (
    BayesianRidge,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    MultiTaskLasso,
    Perceptron,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, OneClassSVM
from support.seeds import seeds

import counterleaf as cl
from counterleaf.model.adapter import adapt

CANCER, BENIGN = load_breast_cancer(return_X_y=True)
CANCER = (CANCER - CANCER.mean(axis=0)) / CANCER.std(axis=0)
BENIGN = np.where(BENIGN, "benign", "malignant")
IRIS, KIND = load_iris(return_X_y=True)
DIABETES, PROGRESS = load_diabetes(return_X_y=True)

TWO = [
    (LogisticRegression(), "logistic"),
    (LogisticRegression(fit_intercept=False, C=0.1), "logistic"),
    (LogisticRegression(l1_ratio=1.0, C=0.05, solver="liblinear"), "logistic"),
    (LinearDiscriminantAnalysis(), "logistic"),
    (SGDClassifier(loss="log_loss", random_state=0), "logistic"),
    (SGDClassifier(loss="modified_huber", random_state=0), None),
    (SGDClassifier(random_state=0), None),
    (RidgeClassifier(), None),
    (LinearSVC(random_state=0), None),
    (Perceptron(random_state=0), None),
    (SVC(kernel="linear"), None),
]


def name_of(value):
    return type(value).__name__ if hasattr(value, "fit") else str(value)


@pytest.mark.parametrize(("model", "kind"), TWO, ids=name_of)
def test_two_classes_are_one_split(model, kind):
    model.fit(CANCER, BENIGN)
    tree = cl.read_tree(model)
    assert (tree.n_nodes, tree.outputs and tree.outputs.kind) == (3, kind)
    rows = np.random.default_rng(1).normal(size=(3000, CANCER.shape[1])) * 3
    assert (tree.predict(rows) == model.predict(rows)).all()
    if kind:
        np.testing.assert_allclose(tree.predict_proba(rows), model.predict_proba(rows), atol=1e-12)
    explainer = cl.Explainer(model)
    w, b = tree.weights.toarray()[0], tree.bias[0]
    for row in CANCER[:8]:
        target = "benign" if model.predict([row])[0] == "malignant" else "malignant"
        answer = explainer.explain(row, target=target, cost=cl.L2())
        assert answer[0].confirmed
        assert np.linalg.norm(answer[0].row - row) == pytest.approx(abs(row @ w + b) / np.linalg.norm(w), rel=1e-3)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (LogisticRegression(max_iter=1000), "softmax"),
        (LinearDiscriminantAnalysis(), "softmax"),
        (SGDClassifier(loss="log_loss", random_state=0), "score"),
        (RidgeClassifier(), "score"),
        (LinearSVC(random_state=0), "score"),
        (Perceptron(random_state=0), "score"),
    ],
    ids=name_of,
)
def test_several_classes_are_one_leaf(model, kind):
    tree = cl.read_tree(model.fit(IRIS, KIND))
    assert (tree.n_nodes, tree.outputs.kind) == (1, kind)
    rows = np.random.default_rng(1).uniform(0, 8, size=(3000, 4))
    assert (tree.predict(rows) == model.predict(rows)).all()
    if kind == "softmax":
        np.testing.assert_allclose(tree.predict_proba(rows), model.predict_proba(rows), atol=1e-12)


REGRESSORS = (LinearRegression, Ridge, Lasso, BayesianRidge, HuberRegressor, SGDRegressor, LinearSVR)


@pytest.mark.parametrize("model", [kind() for kind in REGRESSORS] + [SVR(kernel="linear")], ids=name_of)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_regression_is_one_leaf(model):
    tree = cl.read_tree(model.fit(DIABETES, PROGRESS))
    assert (tree.n_nodes, tree.is_regression) == (1, True)
    rows = np.random.default_rng(1).normal(size=(500, 10))
    np.testing.assert_allclose(tree.predict(rows), model.predict(rows), rtol=1e-9)


def test_a_single_column_has_its_edge_where_the_model_has_it():
    for seed in seeds(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(80, 1)) * 10.0 ** rng.integers(-3, 4)
        model = LogisticRegression().fit(X, (X[:, 0] + rng.normal(size=80) * X.std() > X.mean()).astype(int))
        answer = cl.Explainer(model).explain(X[0], target=1 - model.predict(X[:1])[0])
        assert answer[0].confirmed
        before = np.nextafter(answer[0].row, X[0])
        assert model.predict([before])[0] == model.predict(X[:1])[0]  # the number before it has the old class


def test_a_log_link_is_read_with_the_scale_of_its_outputs():
    model = PoissonRegressor().fit(DIABETES, PROGRESS)
    found = adapt(model, DIABETES, None, True)
    np.testing.assert_allclose(found.rescale.outward(found.tree.predict(DIABETES)), model.predict(DIABETES), rtol=1e-12)
    low, high = found.rescale.inward(100.0, 150.0)
    assert (low, high) == (pytest.approx(np.log(100.0), rel=1e-14), pytest.approx(np.log(150.0), rel=1e-14))
    with pytest.raises(cl.CounterleafError, match="cannot read a PoissonRegressor as a Tree: its values are a transform of a"):
        cl.read_tree(model)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (LogisticRegression(), "this LogisticRegression is not fitted; call fit first"),
        (
            SVC().fit(IRIS, KIND),
            "cannot read a SVC with kernel='rbf': it is not linear; use a LinearSVC or LinearSVR, or a decision",
        ),
        (SVC(kernel="linear").fit(np.tile(IRIS, 1), KIND), "cannot read a SVC: predict is not the largest of coef_"),
        (
            QuadraticDiscriminantAnalysis().fit(IRIS, KIND),
            "cannot read a QuadraticDiscriminantAnalysis: it is not linear; use a",
        ),
        (
            MultiTaskLasso().fit(IRIS, np.c_[KIND, KIND]),
            "this MultiTaskLasso has 2 outputs; expected one: fit one model per output",
        ),
        (OneClassSVM(kernel="linear").fit(IRIS), "cannot read a OneClassSVM: predict is not coef_ @ x"),
    ],
    ids=name_of,
)
def test_models_that_are_not_linear_are_refused(model, reason):
    with pytest.raises(cl.CounterleafError) as error:
        cl.read_tree(model)
    assert str(error.value).startswith(reason)


def test_coefficients_that_are_not_numbers_and_that_do_not_fit():
    model = LinearRegression().fit(IRIS, KIND)
    model.coef_ = model.coef_ * np.nan
    with pytest.raises(
        cl.CounterleafError, match="this LinearRegression has coefficients that are NaN or infinite; fit it again"
    ):
        cl.read_tree(model)
    model = SVC(kernel="linear").fit(np.vstack([IRIS, IRIS[:50] + 9]), np.append(KIND, [3] * 50))
    with pytest.raises(cl.CounterleafError, match="this SVC has 6 linear functions for 4 classes; expected one per class"):
        cl.read_tree(model)


def test_a_tweedie_model_with_the_identity_as_link_is_linear():
    model = TweedieRegressor(power=0, alpha=0.01).fit(DIABETES, PROGRESS)
    np.testing.assert_allclose(cl.read_tree(model).predict(DIABETES), model.predict(DIABETES))
    answer = cl.Explainer(model, data=DIABETES).explain(np.asarray(DIABETES)[1], target=cl.value(at_least=170.0))[0]
    assert answer.confirmed
    count = TweedieRegressor(power=1.5, alpha=0.01).fit(DIABETES, PROGRESS)
    with pytest.raises(cl.CounterleafError, match="cannot read a TweedieRegressor as a Tree: its values are a transform of a"):
        cl.read_tree(count)
    aim = cl.value(at_least=float(count.predict(DIABETES).max()) - 1)
    assert cl.Explainer(count, data=DIABETES).explain(np.asarray(DIABETES)[1], target=aim)[0].confirmed
