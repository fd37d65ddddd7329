"""TAOClassifier: scikit-learn's contract, trees better than CART, and results that do not depend on the number of threads."""

import functools
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.seeds import NIGHTLY

import counterleaf as cl
from counterleaf.learn.search import initial

pytestmark = pytest.mark.slow  # the whole file takes many seconds

TAO = cl.TAOClassifier
SETTINGS = [{}, {"init": "random"}, {"init": "classes"}, {"init": "cart"}, {"axis_aligned": True}]


@functools.cache
def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def diagonal(n=400, seed=0):
    """Two classes on either side of a slanted line: one oblique split, many axis-aligned ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] > 0.2).astype(int)


@parametrize_with_checks([TAO(max_depth=3, **settings) for settings in (SETTINGS if NIGHTLY else SETTINGS[:1])])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_result_does_not_depend_on_the_number_of_threads(settings):
    X, y = scaled(load_digits)
    one, three = (TAO(max_depth=5, random_state=3, max_iter=4, n_jobs=n, **settings).fit(X, y) for n in (1, 3))
    assert one.tree_.to_json() == three.tree_.to_json()
    assert one.loss_curve_.tolist() == three.loss_curve_.tolist()


def test_a_seed_gives_the_same_tree_and_another_one_another():
    X, y = scaled(load_wine)
    trees = [TAO(max_depth=4, init="random", random_state=seed).fit(X, y).tree_.to_json() for seed in (0, 0, 1)]
    assert trees[0] == trees[1] != trees[2]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_tree_is_the_best_of_the_sweeps(settings):
    X, y = scaled(load_breast_cancer)
    model = TAO(max_depth=3, random_state=0, **settings).fit(X, y)
    start = 0 if settings.get("axis_aligned") else 1  # the start of bold sweeps is not a result
    assert 1 - model.score(X, y) == pytest.approx(model.loss_curve_[start:].min())
    assert len(model.loss_curve_) == model.n_iter_ + 1


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_axis_aligned_sweeps_are_never_worse_on_their_rows_than_the_cart_tree(load):
    X, y = scaled(load)
    cart = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    model = TAO(max_depth=3, axis_aligned=True, alpha=0.0, random_state=0).fit(X, y)
    assert model.score(X, y) >= cart.score(X, y)
    assert model.get_depth() <= 3
    assert set(np.diff(model.tree_.weights.indptr).tolist()) <= {0, 1}


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_a_cart_tree_that_memorises_its_rows_is_not_the_result(load):
    X, y = scaled(load)
    ours = cross_val_score(TAO(max_depth=6, random_state=0), X, y, cv=5).mean()
    cart = cross_val_score(DecisionTreeClassifier(max_depth=6, random_state=0), X, y, cv=5).mean()
    assert ours > cart + 0.02


def test_a_cut_reads_as_the_model_predicts():
    X = 2.0 * np.arange(20)[:, None]
    model = TAO(max_depth=1, axis_aligned=True).fit(X, (X[:, 0] > 9).astype(int))
    assert "x0 > 9" in cl.export_text(model)
    assert model.predict([[9.0], [np.nextafter(9.0, 10.0)]]).tolist() == [0, 1]


@pytest.mark.parametrize("init", ["random", "classes", "cart", "auto"])
def test_few_rows_of_a_rare_class_are_found(init):
    X = np.random.default_rng(0).normal(size=(5000, 10))
    y = (X[:, :3].sum(axis=1) > 5).astype(int)  # some 13 rows
    model = TAO(max_depth=4, init=init, random_state=0).fit(X, y)
    assert model.predict(X)[y == 1].mean() > (0.5 if init in ("cart", "auto") else 0.0)


def test_small_weights_do_not_stop_the_search_early():
    X, y = load_iris(return_X_y=True)
    assert TAO(max_depth=3, init="classes", alpha=0.0, random_state=0).fit(X, y, np.full(len(y), 1e-6)).score(X, y) > 0.95


def test_a_start_of_too_many_weights_is_refused(monkeypatch):
    assert initial._MOST == 200_000_000
    monkeypatch.setattr(initial, "_MOST", 1_000_000)
    X = sparse.random_array((3_000, 2_000), density=1e-3, format="csr", rng=np.random.default_rng(0))
    with pytest.raises(
        cl.CounterleafError, match="a start of depth 14 over 2000 columns has too many weights; lower max_depth"
    ):
        TAO(max_depth=14, init="random", random_state=0).fit(X, np.arange(3_000) % 2)


def test_an_oblique_boundary_takes_few_splits():
    X, y = diagonal()
    model = TAO(max_depth=3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.98
    assert model.get_n_leaves() <= 4
    assert DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y).score(X, y) < 0.93


def test_held_out_rows_are_classified_better_than_by_cart():
    X, y = scaled(load_digits)
    ours = cross_val_score(TAO(max_depth=7, random_state=0), X, y, cv=3).mean()
    cart = cross_val_score(DecisionTreeClassifier(random_state=0), X, y, cv=3).mean()
    assert ours > cart + 0.05


def test_a_larger_alpha_makes_sparser_and_fewer_splits():
    X, y = scaled(load_breast_cancer)
    models = [TAO(max_depth=4, alpha=alpha, init="classes", random_state=0).fit(X, y) for alpha in (0.3, 3.0, 30.0)]
    sizes = [model.tree_.weights.nnz for model in models]
    assert sizes[0] > sizes[1] > sizes[2] > 0


@pytest.mark.parametrize("unit", [1e-3, 255.0])
def test_the_unit_of_all_columns_does_not_matter(unit):
    X, y = scaled(load_digits)
    plain, other = (TAO(max_depth=4, random_state=0).fit(X * by, y) for by in (1.0, unit))
    assert other.score(X * unit, y) == pytest.approx(plain.score(X, y), abs=0.01)
    assert other.tree_.weights.nnz == pytest.approx(plain.tree_.weights.nnz, rel=0.05)


def test_a_price_per_leaf_prunes():
    X, y = scaled(load_digits)
    models = [TAO(max_depth=6, ccp_alpha=price, random_state=0).fit(X, y) for price in (0.0, 0.01, 1.0)]
    leaves = [model.get_n_leaves() for model in models]
    assert leaves[0] > leaves[1] > leaves[2] == 1
    assert [model.get_depth() for model in models][2] == 0


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_no_leaf_is_empty_and_no_split_is_idle(settings):
    X, y = scaled(load_wine)
    model = TAO(max_depth=6, random_state=0, **settings).fit(X, y)
    tree = model.tree_
    assert set(model.apply(X).tolist()) == set(tree.leaves.tolist())
    for node in np.flatnonzero(tree.left >= 0):
        a, b = tree.left[node], tree.right[node]
        assert tree.value[a] != tree.value[b] or tree.left[a] >= 0 or tree.left[b] >= 0
        assert tree.weights.indptr[node + 1] > tree.weights.indptr[node]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_sparse_rows_learn_what_dense_ones_do(settings):
    X, y = load_digits(return_X_y=True)
    few = np.where(X > 9, X, 0.0)  # few entries: the rows stay sparse, and the solvers take other paths
    for rows, kind, most in ((X, sparse.csr_array, 0.0), (few, sparse.csc_matrix, 0.05)):
        dense = TAO(max_depth=4, random_state=0, **settings).fit(rows, y)
        model = TAO(max_depth=4, random_state=0, **settings).fit(kind(rows), y)
        assert (model.predict(kind(rows)) == model.predict(rows)).all()
        assert abs(model.score(rows, y) - dense.score(rows, y)) <= most


@pytest.mark.parametrize("load", [load_wine, load_digits])
def test_columns_far_from_zero_learn_as_well(load):
    X, y = scaled(load)
    plain, moved = (TAO(max_depth=4, random_state=0).fit(X + by, y).score(X + by, y) for by in (0.0, 1000.0))
    assert moved >= plain - 0.01


def test_weights_count_as_repeated_rows():
    X, y = diagonal(150)
    y[:15] ^= 1
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = TAO(max_depth=3, random_state=0).fit(X, y, weight)
    repeated = TAO(max_depth=3, random_state=0).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert (weighted.predict(X) == repeated.predict(X)).all()
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


def test_class_weights_move_the_errors():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (500, 2)), rng.normal(1, 1, (50, 2))])
    y = np.repeat(["usual", "rare"], [500, 50])
    found = [(TAO(max_depth=2, class_weight=w, random_state=0).fit(X, y).predict(X) == "rare")[y == "rare"].mean()
             for w in (None, "balanced", {"rare": 100.0, "usual": 1.0})]  # fmt: skip
    assert found[0] < found[1] < found[2] == 1.0


@pytest.mark.parametrize("init", ["random", "cart", "classes", "auto"])
def test_a_start_whose_leaves_all_agree_is_not_the_end(init):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = (X.sum(axis=1) > 3.5).astype(int)  # one in ten, along a slanted line: no single column shows them
    model = TAO(max_depth=1, init=init, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.97


def test_labels_of_any_kind():
    X, y = load_iris(return_X_y=True)
    for labels in (np.array(["a", "b", "c"])[y], y.astype(float), y - 7, np.array(["a", "b", "c"], object)[y]):
        model = TAO(max_depth=2, random_state=0).fit(X, labels)
        assert model.score(X, labels) > 0.95
        assert model.predict(X).dtype == labels.dtype
    assert (TAO(max_depth=2, random_state=0).fit(X, y == 1).predict(X) == (y == 1)).mean() > 0.95


def test_one_class_or_one_row_or_constant_columns_give_one_leaf():
    for X, y in (([[1.0], [2.0]], [5, 5]), ([[1.0, 2.0]], [3]), (np.ones((6, 2)), [0, 1, 1, 1, 0, 1])):
        model = TAO().fit(X, y)
        assert model.get_n_leaves() == 1
        assert model.predict(X).tolist() == [max(set(y), key=list(y).count)] * len(y)


def test_probabilities_are_the_shares_of_the_leaf():
    X, y = scaled(load_wine)
    model = TAO(max_depth=1, random_state=0).fit(X, y)
    leaf = model.apply(X)
    for row, share in zip(leaf, model.predict_proba(X), strict=True):
        np.testing.assert_allclose(share, np.bincount(y[leaf == row], minlength=3) / (leaf == row).sum())
    assert (model.classes_[model.predict_proba(X).argmax(axis=1)] == model.predict(X)).all()


def test_restarts_are_never_worse():
    X, y = scaled(load_breast_cancer)
    for init in ("random", "classes", "cart"):
        one, five = (TAO(max_depth=2, init=init, n_restarts=n, random_state=0).fit(X, y) for n in (1, 5))
        assert five.score(X, y) >= one.score(X, y)


def test_clone_pickle_and_grid_search():
    X, y = scaled(load_wine)
    search = GridSearchCV(make_pipeline(StandardScaler(), TAO(random_state=0)), {"taoclassifier__max_depth": [1, 2, 3]}, cv=3)
    search.fit(X, y)
    assert search.best_score_ > 0.85
    model = search.best_estimator_[-1]
    again = pickle.loads(pickle.dumps(model))
    assert again.tree_.to_json() == model.tree_.to_json()
    assert (again.predict(X) == model.predict(X)).all()
    assert clone(model).get_params() == model.get_params()


def test_the_tree_routes_as_the_model_predicts_and_survives_json():
    X, y = scaled(load_digits)
    model = TAO(max_depth=5, random_state=0).fit(X, y)
    rows = np.random.default_rng(0).normal(size=(2000, X.shape[1]))
    assert (model.predict(rows) == model.tree_.predict(rows)).all()
    assert cl.read_tree(model) is model.tree_
    again = cl.Tree.from_json(model.tree_.to_json())
    assert (again.apply(rows) == model.apply(rows)).all()


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_its_rows_are_explained_and_confirmed(settings):
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = TAO(max_depth=3, random_state=0, **settings).fit(X, y)
    explainer = cl.Explainer(model, data=X)
    for k in range(0, len(X), 17):
        answer = explainer.explain(X.iloc[k])
        assert answer.status == "optimal"
        assert answer[0].confirmed
        assert answer.certificate.check()
        assert model.predict(answer[0].row.to_frame().T)[0] == answer[0].label


def test_at_the_end_of_a_pipeline_over_a_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 400), "pay": rng.gamma(2, 900, 400).round(2),
                          "job": rng.choice(["cook", "nurse", "smith"], 400)})  # fmt: skip
    y = np.where(frame["pay"] / 50 + frame["age"] / 2 + 20 * (frame["job"] == "nurse") > 60, "yes", "no")
    columns = make_column_transformer((StandardScaler(), ["age", "pay"]), (OneHotEncoder(), ["job"]))
    model = make_pipeline(columns, TAO(max_depth=2, random_state=0)).fit(frame, y)
    assert model.score(frame, y) > 0.95
    explainer = cl.Explainer(model, data=frame)
    for k in range(8):
        answer = explainer.explain(frame.iloc[k])
        assert answer[0].confirmed
        assert answer.certificate.check()
        assert isinstance(answer[0].row["age"], (int, np.integer))


def test_verbose_reports_every_sweep(capsys):
    X, y = scaled(load_wine)
    TAO(max_depth=2, init="random", random_state=0, n_restarts=2).fit(X, y)
    assert capsys.readouterr() == ("", "")
    model = TAO(max_depth=2, init="random", random_state=0, n_restarts=2, verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0].startswith("TAO from random, restart 1 of 2: sweep 0 of 20, training error ")
    assert any(line.startswith("TAO from random, restart 2 of 2: sweep 1 of 20") for line in lines)
    assert f"training error {model.loss_curve_.min():.2%}" in err


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_depth": 0}, "max_depth is 0; expected a whole number from 1"),
        ({"max_depth": 2.5}, "max_depth is 2.5; expected a whole number from 1"),
        ({"max_iter": True}, "max_iter is True; expected a whole number from 1"),
        ({"n_restarts": -1}, "n_restarts is -1; expected a whole number from 1"),
        ({"alpha": -0.1}, "alpha is -0.1; expected a number from 0"),
        ({"alpha": "much"}, "alpha is 'much'; expected a number from 0"),
        ({"ccp_alpha": float("nan")}, "ccp_alpha is nan; expected a number from 0"),
        ({"alpha": 10**400}, f"alpha is 1{'0' * 17}...{'0' * 19}; expected a number from 0"),
        ({"alpha": True}, "alpha is True; expected a number from 0"),
        ({"max_depth": 2**31}, "max_depth is 2147483648; expected a whole number up to 2,147,483,647"),
        ({"axis_aligned": "no"}, "axis_aligned is 'no'; expected True or False"),
        ({"n_jobs": 1.5}, "n_jobs is 1.5; expected a number of threads, -1 for all, or None for one"),
        ({"init": "best"}, "init is 'best'; expected one of 'auto', 'random', 'classes', 'cart'"),
        (
            {"init": "random", "axis_aligned": True},
            'init is \'random\'; with axis_aligned=True the start is a CART tree: pass "cart" or "auto"',
        ),
    ],
)
def test_wrong_parameters_are_refused(settings, message):
    with pytest.raises(cl.CounterleafError) as caught:
        TAO(**settings).fit(*diagonal(50))
    assert str(caught.value) == message


def test_wrong_weights_are_refused():
    X, y = diagonal(50)
    with pytest.raises(cl.CounterleafError, match="sample_weight contains a negative number; expected weights of 0 or more"):
        TAO().fit(X, y, -np.ones(50))
    with pytest.raises(cl.CounterleafError, match="every row has weight 0; give at least one a positive weight"):
        TAO(class_weight={0: 0.0, 1: 0.0}).fit(X, y)
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(
            cl.CounterleafError, match="class_weight contains a number that is negative or not finite; expected"
        ):
            TAO(class_weight={0: bad}).fit(X, y)


def test_wrong_rows_are_refused():
    X, y = diagonal(50)
    with pytest.raises(ValueError, match="NaN"):
        TAO().fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match="infinity"):
        TAO().fit(sparse.csr_array(np.where(X > 1, np.inf, X)), y)
    with pytest.raises(ValueError, match="Unknown label type"):
        TAO().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="expecting 4 features"):
        TAO().fit(X, y).predict(X[:, :3])
    with pytest.raises(cl.CounterleafError, match="this TAOClassifier is not fitted; call fit first"):
        cl.read_tree(TAO())
