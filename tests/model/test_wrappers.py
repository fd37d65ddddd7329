"""Searches, thresholds, calibration and transformed targets around trees, linear models and pipelines."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, RANSACRegressor
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, PowerTransformer, QuantileTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import counterleaf as cl
from counterleaf.model.adapter import adapt

CANCER, BENIGN = load_breast_cancer(return_X_y=True, as_frame=True)
CANCER = CANCER.iloc[:, :8]
BENIGN = BENIGN.map({0: "malignant", 1: "benign"})
IRIS, KIND = load_iris(return_X_y=True)
DIABETES, PROGRESS = load_diabetes(return_X_y=True)


def tree(**options):
    return DecisionTreeClassifier(max_leaf_nodes=12, min_samples_leaf=8, random_state=0, **options)


def logistic():
    return LogisticRegression(max_iter=10_000)


def explained(model, X=CANCER, rows=6):
    """Check the tree of a model against the model, and confirm answers for some rows."""
    found = adapt(model, X, None, True)
    names = None if isinstance(X, np.ndarray) else list(X)
    low, high = np.min(X, axis=0), np.max(X, axis=0)
    rows_there = np.random.default_rng(0).uniform(low, high, size=(2000, X.shape[1]))
    table = rows_there if names is None else pd.DataFrame(rows_there, columns=names)
    assert (found.tree.predict(rows_there) == model.predict(table)).mean() == 1.0
    outputs = found.tree.outputs
    if outputs is not None and outputs.kind != "score":
        np.testing.assert_allclose(found.tree.predict_proba(rows_there), model.predict_proba(table), atol=1e-12)
    explainer = cl.Explainer(model, data=X)
    assert explainer.model is model
    for k in range(rows):
        row = X[k] if names is None else X.iloc[k]
        answer = explainer.explain(row)
        assert not len(answer) or answer[0].confirmed
    return found


@pytest.mark.parametrize(
    "search",
    [
        GridSearchCV(tree(), {"max_depth": [2, 3]}),
        RandomizedSearchCV(tree(), {"max_depth": [2, 3]}, n_iter=2),
        HalvingGridSearchCV(tree(), {"max_depth": [2, 3]}, random_state=0),
        GridSearchCV(logistic(), {"C": [0.1, 1.0]}),
        GridSearchCV(make_pipeline(StandardScaler(), tree()), {"decisiontreeclassifier__max_depth": [2, 3]}),
        make_pipeline(
            MinMaxScaler(), GridSearchCV(make_pipeline(StandardScaler(), tree()), {"standardscaler__with_std": [True]})
        ),
        Pipeline([("outer", make_pipeline(StandardScaler(), make_pipeline(MinMaxScaler(), tree())))]),
        GridSearchCV(
            make_pipeline(StandardScaler(), GridSearchCV(tree(), {"max_depth": [3]})), {"standardscaler__with_mean": [True]}
        ),
        make_pipeline(StandardScaler(), tree()).set_output(transform="pandas"),
    ],
)
def test_searches_and_nested_pipelines(search):
    explained(search.fit(CANCER, BENIGN))


@pytest.mark.parametrize("label", ["benign", "malignant"])
@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("inside", [tree, logistic])
def test_a_threshold_moves_the_class_and_keeps_the_probability(inside, threshold, label):
    model = FixedThresholdClassifier(inside(), threshold=threshold, pos_label=label).fit(CANCER, BENIGN)
    found = explained(model)
    sure = found.tree.predict_proba(CANCER.to_numpy())[:, list(found.tree.classes).index(label)] >= threshold
    assert ((found.tree.predict(CANCER.to_numpy()) == label) == sure).mean() > 0.999


def test_the_threshold_of_a_linear_model_is_where_it_says():
    """On the edge, to the last bits: the answer's probability is just past the threshold."""
    model = FixedThresholdClassifier(logistic(), threshold=0.8, pos_label="benign").fit(CANCER, BENIGN)
    explainer = cl.Explainer(model, data=CANCER)
    for k in np.flatnonzero(model.predict(CANCER) == "malignant")[:20]:
        answer = explainer.explain(CANCER.iloc[k], target="benign")
        if len(answer):
            assert answer[0].confirmed
            p = model.predict_proba(answer[0].row.to_frame().T)[0, 0]
            assert 0.8 <= p < 0.8 + 1e-6


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.97])
def test_a_threshold_on_one_column_is_exact(threshold):
    X = CANCER[["mean radius"]].to_numpy()
    model = FixedThresholdClassifier(logistic(), threshold=threshold, pos_label="benign").fit(X, BENIGN)
    answer = cl.Explainer(model).explain(X[0], target="benign")
    assert answer[0].confirmed
    assert model.predict([np.nextafter(answer[0].row, X[0])])[0] == "malignant"


def test_other_thresholds():
    explained(TunedThresholdClassifierCV(tree(), cv=3).fit(CANCER, BENIGN == "benign"))
    explained(TunedThresholdClassifierCV(logistic(), cv=3).fit(CANCER, BENIGN == "benign"))
    explained(FixedThresholdClassifier(LinearSVC(random_state=0), threshold=0.2, pos_label="benign").fit(CANCER, BENIGN))
    explained(
        FixedThresholdClassifier(logistic(), threshold=-1.0, pos_label="malignant", response_method="decision_function").fit(
            CANCER, BENIGN
        )
    )
    explained(
        FixedThresholdClassifier(make_pipeline(StandardScaler(), tree()), threshold=0.3, pos_label="benign").fit(CANCER, BENIGN)
    )
    explained(
        FixedThresholdClassifier(FrozenEstimator(tree().fit(CANCER, BENIGN)), threshold=0.9, pos_label="benign").fit(
            CANCER, BENIGN
        )
    )
    never = FixedThresholdClassifier(logistic(), threshold=2.0, pos_label="benign").fit(CANCER, BENIGN)
    assert str(cl.Explainer(never, data=CANCER).explain(CANCER.iloc[0], target="benign").status) == "infeasible"


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_gives_every_leaf_its_probability(method):
    explained(CalibratedClassifierCV(tree(), ensemble=False, method=method).fit(CANCER, BENIGN))
    explained(CalibratedClassifierCV(FrozenEstimator(tree().fit(CANCER, BENIGN)), method=method).fit(CANCER, BENIGN))
    explained(CalibratedClassifierCV(tree(), ensemble=False, method=method).fit(IRIS, KIND), IRIS)
    explained(
        CalibratedClassifierCV(make_pipeline(StandardScaler(), tree()), ensemble=False, method=method).fit(CANCER, BENIGN)
    )
    explained(
        make_pipeline(StandardScaler(), CalibratedClassifierCV(tree(), ensemble=False, method=method)).fit(CANCER, BENIGN)
    )
    found = explained(CalibratedClassifierCV(LinearSVC(random_state=0), ensemble=False, method=method).fit(CANCER, BENIGN))
    assert (found.tree.outputs is not None) == (method == "sigmoid")


class Slanted(ClassifierMixin, BaseEstimator):
    """A tree with one oblique split."""

    def __init__(self, proba=True):
        self.proba = proba

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        weights = np.zeros((3, X.shape[1]))
        weights[0, :2] = 1.0, -1.0
        outputs = cl.Outputs("probability", [[0, 0], [0.7, 0.3], [0.2, 0.8]]) if self.proba else None
        self.tree_ = cl.Tree(
            [1, -1, -1],
            [2, -1, -1],
            weights,
            [-X[:, :2].mean(axis=0) @ [1, -1], 0, 0],
            [-1, 0, 1],
            self.classes_,
            outputs=outputs,
        )
        return self

    def predict(self, X):
        return self.tree_.predict(X)

    def predict_proba(self, X):
        return self.tree_.predict_proba(X) if self.proba else np.eye(2)[self.tree_.predict(X).astype(int)]


def test_wrappers_around_an_oblique_tree():
    y = np.where(KIND > 0, "b", "a")
    for model in (
        CalibratedClassifierCV(Slanted(), ensemble=False),
        FixedThresholdClassifier(Slanted(), threshold=0.1, pos_label="b"),
    ):
        found = explained(model.fit(IRIS, y), IRIS)
        np.testing.assert_array_equal(found.tree.predict_proba(IRIS), model.predict_proba(IRIS))
    model = CalibratedClassifierCV(Slanted(proba=False), ensemble=False).fit(IRIS, KIND > 0)
    with pytest.raises(
        cl.CounterleafError, match="cannot read this CalibratedClassifierCV: the leaves of the tree inside have no"
    ):
        cl.read_tree(model)


TRANSFORMS = [
    {"func": np.log1p, "inverse_func": np.expm1},
    {"func": np.negative, "inverse_func": np.negative},
    {"transformer": QuantileTransformer(n_quantiles=50)},
    {"transformer": PowerTransformer("box-cox")},
]


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_transformed_target_has_the_values_of_the_model(transform):
    model = TransformedTargetRegressor(DecisionTreeRegressor(max_depth=4), **transform).fit(DIABETES, PROGRESS)
    assert (cl.read_tree(model).predict(DIABETES) == model.predict(DIABETES)).all()
    model = TransformedTargetRegressor(LinearRegression(), **transform).fit(DIABETES, PROGRESS)
    found = adapt(model, DIABETES, None, True)
    outputs = found.tree.predict(DIABETES)
    np.testing.assert_allclose(found.rescale.outward(outputs), model.predict(DIABETES), rtol=1e-12)
    for low, high in [(100.0, 150.0), (-np.inf, 80.0), (200.0, np.inf), (0.0, np.inf), (-9.0, -8.0)]:
        start, end = found.rescale.inward(low, high)
        inside = (found.rescale.outward(outputs) >= low) & (found.rescale.outward(outputs) <= high)
        assert (((outputs >= start) & (outputs <= end)) == inside).all()
        ends = found.rescale.outward(np.array([start, end])) if start <= end else np.empty(0)
        assert ((ends >= low) & (ends <= high)).all()


def test_a_robust_regression_is_the_model_that_it_keeps():
    model = RANSACRegressor(random_state=0).fit(DIABETES, PROGRESS)
    np.testing.assert_allclose(cl.read_tree(model).predict(DIABETES), model.predict(DIABETES), rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (GridSearchCV(tree(), {}), "this GridSearchCV is not fitted; call fit first"),
        (
            GridSearchCV(tree(), {}, refit=False).fit(IRIS, KIND),
            "this GridSearchCV has refit=False and so keeps no model; fit it with refit=True",
        ),
        (
            CalibratedClassifierCV(tree()).fit(IRIS, KIND),
            "this CalibratedClassifierCV averages 5 calibrated models; expected one: fit it with ensemble=False",
        ),
        (
            CalibratedClassifierCV(logistic(), ensemble=False).fit(IRIS, KIND),
            "cannot read a CalibratedClassifierCV around a LogisticRegression with 3 classes and linear leaves; "
            "explain the LogisticRegression itself",
        ),
        (
            FixedThresholdClassifier(SVC(kernel="linear")).fit(IRIS, KIND > 0),
            "cannot read a FixedThresholdClassifier around a SVC; use a LinearSVC or a LogisticRegression inside",
        ),
        (
            TransformedTargetRegressor(LinearRegression(), func=np.sqrt, inverse_func=np.square).fit(DIABETES, PROGRESS),
            "the transform of this TransformedTargetRegressor is not monotone; explain model.regressor_ itself",
        ),
        (
            GridSearchCV(make_pipeline(StandardScaler(), tree()), {}).fit(IRIS, KIND),
            "cannot read a Pipeline, whose tree uses the columns that its steps make: pass model[-1], or use Explainer(model)",
        ),
    ],
)
def test_wrappers_that_cannot_be_read(model, reason):
    with pytest.raises(cl.CounterleafError) as error:
        cl.read_tree(model)
    assert str(error.value) == reason


def people():
    rng = np.random.default_rng(0)
    ages, pay, jobs = rng.integers(18, 80, 300), rng.normal(3000, 900, 300).round(2), rng.choice(["cook", "clerk", "none"], 300)
    frame = pd.DataFrame({"age": ages, "pay": pay, "job": jobs})
    return frame, np.where(pay / 100 + ages * 0.3 + 10 * (jobs == "clerk") + rng.normal(0, 5, 300) > 48, "yes", "no")


@pytest.mark.parametrize("inside", [logistic, tree])
@pytest.mark.parametrize(
    "wrapped",
    [
        lambda model: model,
        lambda model: FixedThresholdClassifier(model, threshold=0.4, pos_label="yes"),
        lambda model: GridSearchCV(model, {}),
        lambda model: CalibratedClassifierCV(model, ensemble=False),
        lambda model: FixedThresholdClassifier(CalibratedClassifierCV(model, ensemble=False), threshold=0.7, pos_label="no"),
    ],
)
def test_wrappers_around_and_inside_a_pipeline_are_the_same(inside, wrapped):
    frame, y = people()
    steps = ColumnTransformer([("n", StandardScaler(), ["age", "pay"]), ("c", OneHotEncoder(), ["job"])])
    for model in (wrapped(make_pipeline(steps, inside())), make_pipeline(steps, wrapped(inside()))):
        explainer = cl.Explainer(model.fit(frame, y), data=frame)
        for k in range(8):
            answer = explainer.explain(frame.iloc[k])
            assert answer[0].confirmed
            assert (
                model.predict(answer[0].row.to_frame().T.astype(frame.dtypes.to_dict()))[0] != model.predict(frame.iloc[[k]])[0]
            )
