"""YDF, ONNX, imbalanced-learn and treeple: models with one tree."""

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import counterleaf as cl
from counterleaf.model.adapter import adapt
from counterleaf.model.readers.shared.leaf_probes import rows_at_splits
from counterleaf.model.readers.table import gap_routes

CANCER, BENIGN = load_breast_cancer(return_X_y=True, as_frame=True)
CANCER = CANCER.iloc[:, :5]
BENIGN = BENIGN.map({0: "malignant", 1: "benign"})
IRIS, KIND = load_iris(return_X_y=True, as_frame=True)
DIABETES, PROGRESS = load_diabetes(return_X_y=True, as_frame=True)


def explained(model, X, narrow=False):
    """Check the tree of a model against its predictions, and confirm answers for some rows."""
    found = adapt(model, X, None, True)
    rows = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), (2000, X.shape[1]))
    if not narrow:
        rows = np.vstack([rows, rows_at_splits(found.tree)[0]])
    assert (found.tree.predict(rows) == found.model.predict(rows)).mean() >= (0.999 if narrow else 1.0)
    if found.tree.is_regression:
        return found
    np.testing.assert_allclose(found.tree.predict_proba(rows), found.model.predict_proba(rows), atol=1 if narrow else 1e-7)
    explainer = cl.Explainer(model, data=X)
    for k in range(0, 100, 9):
        answer = explainer.explain(X.iloc[k])
        assert not len(answer) or answer[0].confirmed
    return found


def test_ydf_trees():
    ydf = pytest.importorskip("ydf")
    ydf.verbose(0)
    cancer, iris, diabetes = CANCER.assign(y=BENIGN), IRIS.assign(y=KIND), DIABETES.assign(y=PROGRESS)
    regression = ydf.Task.REGRESSION
    explained(ydf.CartLearner(label="y").train(cancer), CANCER)
    explained(ydf.CartLearner(label="y").train(iris), IRIS)
    explained(ydf.CartLearner(label="y", task=regression).train(diabetes), DIABETES)
    explained(ydf.RandomForestLearner(label="y", num_trees=1).train(cancer), CANCER)
    explained(ydf.GradientBoostedTreesLearner(label="y", num_trees=1).train(cancer), CANCER)
    slanted = {"split_axis": "SPARSE_OBLIQUE", "num_trees": 1}
    explained(ydf.RandomForestLearner(label="y", winner_take_all=False, **slanted).train(cancer), CANCER, narrow=True)
    explained(ydf.RandomForestLearner(label="y", **slanted).train(cancer), CANCER, narrow=True)
    oblique = ydf.RandomForestLearner(label="y", task=regression, **slanted).train(diabetes)
    explained(oblique, DIABETES, narrow=True)
    assert gap_routes(oblique) is None
    cases = [
        (
            ydf.RandomForestLearner(label="y", num_trees=3).train(cancer),
            "cannot read a RandomForestModel: it is an ensemble, not one Tree; use Explainer(model)",
        ),
        (
            ydf.CartLearner(label="y").train(cancer.assign(c=np.where(BENIGN == "benign", "u", "v"))),
            "this RandomForestModel has a CategoricalIsInCondition; expected numerical splits: encode the other columns as "
            "numbers",
        ),
        (
            ydf.GradientBoostedTreesLearner(label="y", **slanted).train(cancer),
            "cannot read an oblique GradientBoostedTreesModel; use ydf.CartLearner or ydf.RandomForestLearner with num_trees=1",
        ),
    ]
    for model, reason in cases:
        with pytest.raises(cl.CounterleafError) as error:
            cl.read_tree(model)
        assert str(error.value) == reason


def test_where_a_missing_number_goes_in_ydf():
    ydf = pytest.importorskip("ydf")
    ydf.verbose(0)
    model = ydf.CartLearner(label="y").train(CANCER.assign(y=BENIGN))
    feature, right = gap_routes(model)
    found = adapt(model, CANCER, None, True)
    tree, rng = found.tree, np.random.default_rng(0)
    rows = CANCER.to_numpy()[:200].astype(np.float32).astype(float)
    rows[rng.random(rows.shape) < 0.4] = np.nan
    reached = np.zeros(len(rows), int)
    for k, row in enumerate(rows):
        while tree.left[reached[k]] >= 0:
            x = row[feature[reached[k]]]
            goes = right[reached[k]] if np.isnan(x) else x + tree.bias[reached[k]] >= 0
            reached[k] = tree.right[reached[k]] if goes else tree.left[reached[k]]
    np.testing.assert_array_equal(tree.classes[tree.value[reached]], found.model.predict(rows))


@pytest.mark.filterwarnings("ignore")
def test_onnx_trees():
    to_onnx = pytest.importorskip("skl2onnx").to_onnx
    pytest.importorskip("onnxruntime")
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    for model, X in [
        (tree.fit(CANCER, BENIGN), CANCER),
        (DecisionTreeClassifier(random_state=0).fit(IRIS, KIND), IRIS),
        (DecisionTreeRegressor(max_depth=5, random_state=0).fit(DIABETES, PROGRESS), DIABETES),
        (GradientBoostingClassifier(n_estimators=1).fit(IRIS, KIND), IRIS),
        (RandomForestClassifier(3, max_depth=3, random_state=0).fit(IRIS, KIND), IRIS),
    ]:
        proto = to_onnx(model, X.to_numpy(np.float32)[:1])
        explained(proto, X)
        real = adapt(proto, X, None, True).model
        assert cl.read_tree(real).n_nodes  # the wrapper can be read too
        for again in (pickle.loads(pickle.dumps(real)), copy.deepcopy(real)):
            assert (again.predict(X) == real.predict(X)).all()
            assert hasattr(again, "classes_") == hasattr(real, "classes_")
    explained(to_onnx(tree.fit(CANCER, BENIGN), CANCER.to_numpy(np.float32)[:1], options={"zipmap": False}), CANCER)
    explainer = cl.Explainer(to_onnx(tree, CANCER.to_numpy(np.float32)[:1]), data=CANCER)
    stored = pickle.loads(pickle.dumps(explainer)).explain(CANCER.iloc[0])[0]
    assert stored.confirmed
    assert (stored.row == explainer.explain(CANCER.iloc[0])[0].row).all()
    double = to_onnx(tree, CANCER.to_numpy()[:1])  # a ZipMap of doubles, which onnxruntime does not have
    cases = [
        (
            LogisticRegression(max_iter=5000),
            "cannot read this ONNX model: it has Cast, LinearClassifier, ZipMap; expected one TreeEnsemble",
        ),
        (
            make_pipeline(StandardScaler(), DecisionTreeClassifier()),
            "cannot read this ONNX model: a Scaler comes before its trees; explain the pipeline that it was converted from",
        ),
        (
            RandomForestClassifier(60, random_state=0),
            "cannot read this ONNX model: its 60 trees together have more than 25000 regions; pass the original model",
        ),
    ]
    for model, reason in cases:
        proto = to_onnx(model.fit(CANCER, KIND.to_numpy()[np.arange(len(CANCER)) % 150] > 0), CANCER.to_numpy(np.float32)[:1])
        with pytest.raises(cl.CounterleafError) as error:
            cl.read_tree(proto)
        assert str(error.value) == reason
    with pytest.raises(cl.CounterleafError, match="onnxruntime cannot run this model"):
        cl.read_tree(double)


def test_samplers_do_nothing_when_a_pipeline_predicts():
    over = pytest.importorskip("imblearn.over_sampling")
    pipeline = pytest.importorskip("imblearn.pipeline")
    steps = (StandardScaler(), over.SMOTE(random_state=0), DecisionTreeClassifier(max_depth=4, random_state=0))
    model = pipeline.make_pipeline(*steps).fit(CANCER, BENIGN)
    explainer = cl.Explainer(model, data=CANCER)
    for k in range(10):
        assert explainer.explain(CANCER.iloc[k])[0].confirmed


@pytest.mark.filterwarnings("ignore")
def test_treeple_oblique_trees():
    try:
        from treeple.tree import ObliqueDecisionTreeClassifier
    except (ImportError, ValueError):
        pytest.skip("treeple does not import with this scikit-learn")
    model = ObliqueDecisionTreeClassifier(max_depth=3, random_state=0).fit(CANCER.to_numpy(), BENIGN)
    explained(model, CANCER, narrow=True)


class ObliqueDecisionTreeClassifier(DecisionTreeClassifier):
    """The arrays that treeple has, around one oblique split."""

    __module__ = "treeple.tree"

    def fit(self, X, y):
        self.n_features_in_, self.n_outputs_, self.classes_ = X.shape[1], 1, np.unique(y)
        self.w = np.array([1.0, -2.0, *[0.0] * (X.shape[1] - 2)])
        self.tree_ = SimpleNamespace(
            node_count=3,
            n_features=X.shape[1],
            children_left=np.array([1, -1, -1]),
            children_right=np.array([2, -1, -1]),
            threshold=np.array([-1.5, -2.0, -2.0]),
            feature=np.array([-3, -2, -2]),
            value=np.array([[[0.5, 0.5]], [[0.75, 0.25]], [[0.1, 0.9]]]),
            get_projection_matrix=lambda: np.array([self.w, 0 * self.w, 0 * self.w]),
        )
        return self

    def apply(self, X):
        return np.where(X.astype(np.float32) @ self.w <= -1.5, 1, 2)

    def predict_proba(self, X):
        return self.tree_.value[self.apply(np.asarray(X)), 0]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_the_arrays_of_an_oblique_tree_are_read_and_checked():
    model = ObliqueDecisionTreeClassifier().fit(IRIS.to_numpy(), np.where(KIND > 0, "b", "a"))
    tree = cl.read_tree(model)
    assert (tree.apply(IRIS) == model.apply(IRIS.to_numpy())).all()
    assert gap_routes(model) is None
    model.w = -model.w[::-1]  # the projections no longer describe what the model does
    model.tree_.get_projection_matrix = lambda: np.array([model.w[::-1]] + [0 * model.w] * 2)
    with pytest.raises(cl.CounterleafError, match="does not route rows as its thresholds say"):
        cl.read_tree(model)
