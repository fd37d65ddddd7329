"""Batches of ensembles: every cell is that of explain, and a row that needs no change is its own answer without a search."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier, VotingRegressor
from sklearn.tree import DecisionTreeRegressor
from support.batch_cases import compare
from support.forest_questions import random_question
from support.seeds import seeds

import counterleaf as cl
from counterleaf.batch.ensembles import EnsembleSolver

RNG = np.random.default_rng(0)
X = pd.DataFrame(np.round(RNG.normal(size=(120, 3)), 2), columns=list("abc"))
X["job"] = pd.Categorical(RNG.choice(["cook", "smith"], 120))
KIND = np.digitize(X["a"] + X["b"] * X["c"], [-0.4, 0.4])
CODES = X.assign(job=X["job"].cat.codes)
FOREST = RandomForestClassifier(5, max_depth=4, random_state=0).fit(CODES.to_numpy(), np.array(["no", "maybe", "yes"])[KIND])
SCHEMA = cl.Schema([*(cl.Numeric(name, -4, 4) for name in "abc"), cl.Numeric("job", 0, 1, integer=True)])
EXPLAINER = cl.Explainer(FOREST, data=CODES.to_numpy()).with_features(cl.Numeric("x0", -4, 4))
ROWS = CODES.to_numpy(float)
YES = ROWS[FOREST.predict(ROWS) == "yes"][:12]


@pytest.fixture
def searched(monkeypatch):
    """The rows that were searched."""
    rows, certified = [], EnsembleSolver.certified

    def noted(self, row, guard=0.0):
        rows.append(row)
        return certified(self, row, guard)

    monkeypatch.setattr(EnsembleSolver, "certified", noted)
    return rows


FREE = {
    "a class": {"target": "yes"},
    "several classes": {"target": ["maybe", "yes"]},
    "prices, the least of which is 0": {"target": {"maybe": 0.5, "yes": 0.0}},
    "the price of one class": {"target": {"yes": 2.0}},
    "a probability": {"target": cl.probability("yes", at_least=0.3)},
    "charges": {"target": "yes", "cost": cl.Changes()},
    "some features are free": {"target": "yes", "cost": cl.L2({"x1": 0.0})},
    "bounds": {"target": "yes", "constraints": [cl.between("x0", -4, 4), cl.only_increase("x1"), cl.freeze("x2")]},
    "changes": {"target": "yes", "constraints": cl.max_changes(1)},
    "implications": {"target": "yes", "constraints": cl.implies(cl.changed("x0"), cl.freeze("x1"))},
    "listed rows": {"target": "yes", "constraints": cl.among(YES)},
    "support": {"target": "yes", "support": 1},
    "time": {"target": "yes", "time_limit": 60},
    "nodes": {"target": "yes", "max_nodes": 1},
}


@pytest.mark.parametrize("name", FREE)
def test_rows_that_need_no_change_are_not_searched(name, searched):
    out = EXPLAINER.explain_many(YES, **FREE[name])
    assert searched == []
    assert (out["status"] == "optimal").all()
    assert (out["n_changed"] == 0).all()
    assert out["confirmed"].all()
    least = 2.0 if name == "the price of one class" else 0.0
    assert set(out["cost"]) == set(out["lower_bound"]) == {least}
    compare(EXPLAINER, YES[:3], **FREE[name])


SEARCHED = {
    "any other class": {},
    "a dearer class than another one": {"target": {"maybe": 0.0, "yes": 0.5}},
    "prices of several classes": {"target": {"maybe": 0.5, "yes": 0.25}},
    "a change that earns": {"target": "yes", "cost": cl.L2() + cl.LinearCost({"x1": 0.1})},
    "a change that is required": {"target": "yes", "constraints": cl.only_increase("x0", by=0.1)},
    "bounds": {"target": "yes", "constraints": cl.between("x0", -4, -3.5)},
    "listed rows": {"target": "yes", "constraints": cl.among(YES[:1] + 0.001)},
    "a margin": {"target": "yes", "margin": 0.95},
    "margins of features": {"target": "yes", "margin": {"x0": 2.0}},
    "support": {"target": "yes", "support": 60},
    "a probability": {"target": cl.probability("yes", at_least=0.99)},
    "free changes and several classes": {"target": ["maybe", "yes"], "cost": cl.L1({"x0": 0.0})},
    "implications": {
        "target": "yes",
        "constraints": cl.implies(cl.between("x0", -4, 4), cl.between("x1", 3, 4)),
    },
}


@pytest.mark.parametrize("name", SEARCHED)
def test_rows_that_may_need_a_change_are_searched(name, searched):
    EXPLAINER.explain_many(YES[1:4], **SEARCHED[name])
    assert len(searched) >= 1
    compare(EXPLAINER, YES[1:4], **SEARCHED[name])


@pytest.mark.parametrize("library", ["RandomForest", "lightgbm", "xgboost"])
@pytest.mark.parametrize("kind", ["plain", "gaps", "mixed pipeline"])
def test_random_questions(library, kind):
    for seed in seeds(3):
        rng = np.random.default_rng(seed)
        explainer, question, target, _ = random_question(rng, library, seed, regression=seed == 2, kind=kind)
        names = explainer.tree.classes.tolist()
        if seed == 0:
            target = {name: float(k) for k, name in enumerate(names)}
        rules = [rule.constraint for rule in question.rules]
        compare(explainer, question.frame.iloc[:6], target=target, cost=question.cost, constraints=rules)


def test_every_option_of_the_columns():
    every = pd.DataFrame(ROWS[:40], columns=["x0", "x1", "x2", "x3"])
    question = {"target": "yes", "shares": True}
    whole = EXPLAINER.explain_many(every, **question, n_jobs=2)
    pd.testing.assert_frame_equal(EXPLAINER.explain_many(every, **question, chunk_size=7), whole)
    short = EXPLAINER.explain_many(every, **question, digits="short")
    assert short["confirmed"].all()
    stay = whole["n_changed"] == 0
    assert 5 < stay.sum() < 35
    assert (whole.loc[stay, [name for name in whole if name.startswith("share")]] == 0).all(axis=None)
    assert (whole["changed"][stay] == "").all()
    found = EXPLAINER.arrow(target="yes", words=True)(pa.RecordBatch.from_pandas(every)).to_pandas()
    for name in ("status", "cost", "lower_bound", "leaf", "source_label", "label", "n_changed", "changed", "confirmed"):
        assert found[name].tolist() == whole[name].astype(object).tolist()


def test_values_and_their_reports(searched):
    model = GradientBoostingRegressor(n_estimators=6, random_state=0).fit(ROWS, ROWS[:, 0])
    explainer = cl.Explainer(model, data=ROWS)
    middle = float(np.median(model.predict(ROWS)))
    target = cl.value(at_least=middle)
    audit = explainer.audit(pd.DataFrame(ROWS[:30], columns=["x0", "x1", "x2", "x3"]), target=target)
    below = int((model.predict(ROWS[:30]) < middle).sum())
    assert 0 < len(searched) == below < 30
    assert "30 rows" in repr(audit)
    compare(explainer, ROWS[:10], target=target)


@pytest.mark.parametrize("seed", [3, 9])
def test_an_answer_that_the_model_refutes_is_sought_again(seed):
    """A mean of several trees differs in its last digit from the sum of their leaves, so a value may just miss the target."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({name: rng.integers(0, 4, 40).astype(float) for name in "ab"})
    numbers = rng.normal(size=40)
    trees = [(f"t{k}", DecisionTreeRegressor(max_depth=2, max_features=1, random_state=k)) for k in range(9)]
    model = VotingRegressor(trees).fit(rows, numbers)
    schema = cl.Schema([cl.Numeric(name, 0, 3, integer=True) for name in "ab"])
    explainer = cl.Explainer(model, schema=schema)
    for value in np.unique(model.predict(rows)):
        compare(explainer, rows.iloc[:1], target=cl.value(at_least=float(value)))
