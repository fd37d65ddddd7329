"""Ensembles where two things meet: the digits of a library's functions, large numbers, many cases, models without a choice."""

import time

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from catboost import CatBoostRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingRegressor
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from support.seeds import seeds

import counterleaf as cl


def table(n=90, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])


def is_honest(answer):
    """Whether an answer about a target that the source itself reaches claims no more than that."""
    return answer.certificate.check() and answer.lower_bound <= 0 and (str(answer.status) == "limit" or answer[0].cost == 0)


@pytest.mark.parametrize("seed", seeds(4))
def test_the_exp_of_catboost_is_not_that_of_numpy(seed):
    X = table(seed=seed)
    y = np.exp(np.sin(2 * X.a) + X.b)
    model = CatBoostRegressor(
        iterations=3,
        depth=2,
        learning_rate=0.7,
        loss_function="Poisson",
        verbose=0,
        random_seed=seed,
        thread_count=1,
        allow_writing_files=False,
    ).fit(X, y)
    explainer, predicted = cl.Explainer(model, data=X), model.predict(X)
    for k in range(20):
        assert is_honest(explainer.explain(X.iloc[k], target=cl.value(at_least=float(predicted[k]))))
        above = explainer.explain(X.iloc[k], target=cl.value(at_least=float(predicted[k]) * 1.001))
        assert str(above.status) != "optimal" or above[0].confirmed


@pytest.mark.parametrize("side", ["at_least", "at_most"])
def test_lightgbm_multiplies_by_the_slope_of_its_sigmoid(side):
    X = table()
    y = (np.sin(2 * X.a) + X.b > 0).astype(int)
    model = lgb.LGBMClassifier(n_estimators=3, num_leaves=4, min_child_samples=4, verbose=-1, n_jobs=1, sigmoid=2.5).fit(X, y)
    explainer, shares = cl.Explainer(model, data=X), model.predict_proba(X)
    for k in range(20):
        for label in (0, 1):
            assert is_honest(explainer.explain(X.iloc[k], target=cl.probability(label, **{side: float(shares[k, label])})))


def test_the_share_of_the_class_that_a_threshold_does_not_look_at():
    for seed in seeds(6):
        X = table(seed=seed)
        y = np.where(np.sin(2 * X.a) + X.b > 0, "yes", "no")
        forest = RandomForestClassifier(4, max_leaf_nodes=5, random_state=seed)
        model = FixedThresholdClassifier(forest, threshold=0.7, pos_label="yes").fit(X, y)
        explainer, shares = cl.Explainer(model, data=X), model.predict_proba(X)
        for k in range(15):
            assert is_honest(explainer.explain(X.iloc[k], target=cl.probability("no", at_least=float(shares[k, 0]))))
            exact = explainer.explain(X.iloc[k], target=cl.probability("yes", at_least=float(shares[k, 1])))
            assert str(exact.status) == "optimal"
            assert exact[0].cost == 0


@pytest.mark.parametrize("model", [RandomForestClassifier(5, max_depth=3, random_state=0), DecisionTreeClassifier(max_depth=3)])
def test_limits_relative_to_large_numbers_with_small_steps(model):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": np.round(rng.normal(size=100) * 3e7, 2), "c": rng.normal(size=100)})
    model.fit(X, (X.income / 3e7 + X.c > 0).astype(int))
    explainer = cl.Explainer(model, data=X).with_features(cl.Numeric("income", -1e8, 1e8, step=0.01))
    for income in (29527901.92, 29527901.91, 12345678.94):
        row = {"income": income, "c": 0.0}
        target = int(model.predict(pd.DataFrame([row]))[0])
        for constraint, least in (
            (cl.only_increase("income", by=2768240.8049999997), income + 2768240.8049999997),
            (cl.within("income", "+7%", "+8%"), 1.07 * income),
        ):
            answer = explainer.explain(row, target=target, constraints=constraint)
            assert least - 1e-7 <= answer[0].row["income"] < least + 0.01
    whole = explainer.with_features(cl.Numeric("income", -1e12, 1e12, integer=True))
    label = int(model.predict(pd.DataFrame([{"income": 5e9, "c": 0.0}]))[0])
    moved = whole.explain({"income": 5e9, "c": 0.0}, target=label, constraints=cl.only_increase("income", by=2.5))
    assert moved[0].row["income"] == 5e9 + 3


def test_a_limit_that_only_rounding_separates_from_the_grid():
    X = pd.DataFrame({"a": np.arange(100) / 10, "b": 0.0})
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, X.a > 5)
    explainer = cl.Explainer(model, data=X).with_features(cl.Numeric("a", 0, 10, step=0.1))
    target = bool(model.predict(X.iloc[[1]])[0])
    assert explainer.explain(X.iloc[1], target=target, constraints=cl.only_increase("a", by=0.2))[0].row["a"] == 0.3


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_boosters_of_several_classes(library):
    X = table(200)
    y = np.digitize(X.a + X.b, [-1, 0, 1])
    if library == "xgboost":
        model = xgb.train({"objective": "multi:softprob", "max_depth": 2, "num_class": 4}, xgb.DMatrix(X, label=y), 3)
    else:
        options = {"objective": "multiclass", "num_class": 4, "verbose": -1, "num_leaves": 3}
        model = lgb.train(options, lgb.Dataset(X, label=y), 3)
    explainer = cl.Explainer(model, data=X)
    answer = explainer.explain(X.iloc[0])
    assert answer[0].confirmed
    assert answer.certificate.check()
    out = explainer.explain_many(X.head(5), target=2)
    assert out["confirmed"].all()
    assert (out["label"] == 2).all()


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingClassifier(max_iter=2),
        lgb.LGBMClassifier(n_estimators=2, verbose=-1),
        xgb.XGBClassifier(n_estimators=2, n_jobs=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_classifier_that_knows_one_class_is_refused(model):
    X = table(120)
    kind = type(model).__name__
    with pytest.raises(cl.CounterleafError) as caught:
        cl.Explainer(model.fit(X, np.zeros(120, int)), data=X)
    assert str(caught.value) == f"this {kind} knows one class; expected two or more: nothing can change it"


def test_a_boosted_model_without_trees_is_refused():
    X = table(120)
    with pytest.raises(cl.CounterleafError) as caught:
        cl.Explainer(xgb.XGBClassifier(n_estimators=0, n_jobs=1).fit(X, (X.a > 0).astype(int)), data=X)
    assert str(caught.value) == "this XGBClassifier has no trees; expected one or more: nothing can change what it says"


@pytest.mark.parametrize(
    ("row", "cost"), [({"a": -1e155, "b": -1e155}, cl.L2("range")), ({"a": -3.0, "b": -3.0}, cl.L1(1e308))], ids=str
)
def test_a_cost_that_overflows_is_refused(row, cost):
    X = table(120)
    explainer = cl.Explainer(HistGradientBoostingClassifier(max_iter=3).fit(X, (X.a + X.b > 0).astype(int)), data=X)
    with pytest.raises(cl.CounterleafError) as caught:
        explainer.explain(row, target=1, cost=cost)
    assert str(caught.value) == (
        "a change of feature 'a' costs more than 1e250, which is too much to compute with; use smaller weights"
    )
    large = explainer.explain({"a": -3.0, "b": -3.0}, target=1, cost=cl.L1(1e240))
    assert str(large.status) == "optimal"
    assert large.certificate.check()


@pytest.mark.parametrize("margin", [5.0, 1e20, 1e308])
def test_a_margin_beyond_all_scores_is_infeasible(margin):
    X = table(120)
    y = (X.a + X.b > 0).astype(int)
    for model in (RandomForestClassifier(5, max_depth=2, random_state=0), lgb.LGBMClassifier(n_estimators=3, verbose=-1)):
        explainer = cl.Explainer(model.fit(X, y), data=X)
        answer = explainer.explain(X.iloc[0], margin=margin)
        assert str(answer.status) == "infeasible"
        assert answer.certificate.check()
        assert (explainer.explain_many(X.head(2), margin=margin)["status"] == "infeasible").all()
    assert str(explainer.explain(X.iloc[0], target=cl.probability(1, at_most=0.5), margin=1e308).status) == "infeasible"


def test_a_time_limit_holds_for_all_cases_together():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 14)), columns=[f"x{i}" for i in range(14)])
    model = RandomForestClassifier(100, max_depth=8, random_state=0).fit(X, np.sin(X).sum(axis=1) > 0)
    explainer, row = cl.Explainer(model, data=X), X[~model.predict(X)].iloc[0]
    constraints = [cl.implies(cl.changed(f"x{2 * i}"), cl.freeze(f"x{2 * i + 1}")) for i in range(6)]  # 64 cases
    hard = {"target": cl.probability(True, at_least=0.85), "constraints": constraints}
    explainer.explain(row, time_limit=1e-6, **hard)  # what depends on the model alone is prepared once
    begin = time.process_time()
    answer = explainer.explain(row, time_limit=1e-6, **hard)
    assert time.process_time() - begin < 2.0  # 64 searches would take much longer than that, on any machine
    assert str(answer.status) == "limit"
    assert answer.lower_bound == 0.0
    assert answer.certificate.check()
    assert cl.Explanation.from_json(answer.to_json()).certificate.check()


def a_job_that_earns(seed):
    """(explainer, row, target, costs and changes of all rows of the target): the trees do not use every job, and x earns."""
    rng, jobs = np.random.default_rng(seed), list("xyz")
    X = pd.DataFrame({name: rng.integers(0, 5, 120).astype(float) for name in "ab"})
    X["job"] = pd.Categorical(rng.choice(jobs, 120), categories=jobs)
    y = (X.a + X.b > 4).astype(int)
    y.iloc[:6] = 1 - y.iloc[:6]
    model = HistGradientBoostingClassifier(max_iter=4, max_depth=3, min_samples_leaf=3, categorical_features="from_dtype")
    predicted = model.fit(X, y).predict
    numbers = [cl.Numeric(name, 0, 4, integer=True) for name in "ab"]
    explainer = cl.Explainer(model, schema=cl.Schema([*numbers, cl.Categorical("job", jobs)]))
    grid = pd.MultiIndex.from_product([range(5), range(5), jobs], names=list(X)).to_frame(index=False).astype(X.dtypes)
    source, target = X.iloc[[seed]], 1 - int(predicted(X.iloc[[seed]])[0])
    old = source.iloc[0]
    change = np.abs(grid[["a", "b"]] - old[["a", "b"]].astype(float)).to_numpy()
    costs = change @ [0.5, 0.3] - 0.4 * ((grid.job == "x") * 1.0 - (old.job == "x"))
    changes = (change > 0).sum(axis=1) + (grid.job != old.job)
    reached = predicted(grid) == target
    return explainer, source, target, costs[reached].to_numpy(), changes[reached].to_numpy()


@pytest.mark.parametrize("seed", range(4))
def test_a_category_that_earns_may_stay_where_changes_are_limited(seed):
    explainer, row, target, costs, changes = a_job_that_earns(seed)
    options = {"target": target, "cost": cl.L1({"a": 0.5, "b": 0.3, "job": 0.0}) + cl.LinearCost({"job=x": -0.4})}
    for most in (0, 1, 2, 3):
        answer = explainer.explain(row, constraints=cl.max_changes(most), **options)
        best = costs[changes <= most].min(initial=np.inf)
        assert answer.certificate.check()
        assert (answer[0].cost if len(answer) else np.inf) == pytest.approx(best)
        assert explainer.explain_many(row, constraints=cl.max_changes(most), **options).status.iloc[0] == str(answer.status)
    front = explainer.explain_front(row, **options)
    assert front.check()
    for one in front:
        assert one.cost == pytest.approx(costs[changes <= len(one.changes)].min())
    assert front[0].cost == pytest.approx(costs[changes == changes.min()].min())


def test_a_proof_counts_no_change_of_a_number_that_may_stay(monkeypatch):
    explainer, row, target, _, changes = a_job_that_earns(17)
    earns = cl.L1() + cl.LinearCost({"a": -2.0})
    options = {"target": target, "cost": earns, "constraints": cl.max_changes(1)}
    with pytest.raises(cl.CounterleafError, match="cannot be combined with limits on changes"):
        explainer.explain(row, **options)
    monkeypatch.setattr("counterleaf.search.forest.EnsembleTargets.refuse", lambda *_: None)
    answer = explainer.explain(row, **options)
    assert changes.min() == 1
    assert str(answer.status) == "infeasible"  # false: the search must not read such a question
    assert not answer.certificate.check()


@pytest.mark.parametrize("seed", seeds(10))
def test_prices_of_classes_far_above_and_below_the_cost_of_changes(seed):
    rng = np.random.default_rng(seed)
    X, classes = pd.DataFrame(rng.uniform(0, 10, (120, 3)).round(1), columns=list("abc")), int(rng.integers(2, 4))
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, rng.integers(0, classes, 120))
    explainer = cl.Explainer(model, data=X)
    for k in range(25):
        prices = {
            int(c): float(rng.choice([0, 1e-3, 1, 100, 1e6])) for c in rng.permutation(classes)[: rng.integers(1, classes + 1)]
        }
        answer = explainer.explain(X.iloc[k], target=prices, cost=cl.L1(float(10.0 ** rng.integers(-9, 1))))
        assert (answer.status, answer.certificate.check()) == ("optimal", True), (k, prices)
        least = min(prices[c] for c in prices if c == answer.source_label) if answer.source_label in prices else np.inf
        assert answer[0].cost <= least


def test_an_answer_that_the_model_refutes_is_not_called_optimal():
    left_open = 0
    for seed in seeds(40):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({name: rng.integers(0, 4, 40).astype(float) for name in "ab"})
        trees = [(f"t{k}", DecisionTreeRegressor(max_depth=2, max_features=1, random_state=k)) for k in range(9)]
        model = VotingRegressor(trees).fit(X, rng.normal(size=40))
        explainer = cl.Explainer(model, schema=cl.Schema([cl.Numeric(name, 0, 3, integer=True) for name in "ab"]))
        for value in np.unique(model.predict(X)).tolist():
            answer = explainer.explain(X.iloc[0], target=cl.value(at_least=value, at_most=value))
            assert answer[0].confirmed or answer.status == "limit", (seed, value)
            assert answer.certificate.check()
            left_open += answer.status == "limit"
    assert left_open
