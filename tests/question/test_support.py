"""``support=``: only leaves that enough rows of the data reach count, in every search, proof and file."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from support.cli_cases import call, mistake
from support.seeds import seeds

import counterleaf as cl
from counterleaf.storage.explanations import _digest


def table(rng, n=300):
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "pay": rng.gamma(2, 3, n).round(2),
            "job": rng.choice(["clerk", "cook", "nurse"], n),
            "owner": rng.random(n) < 0.4,
        }
    )


def fitted(seed, leaves=24, classes=3):
    rng = np.random.default_rng(seed)
    data = table(rng)
    labels = np.array(["a", "b", "c"])[rng.integers(0, classes, len(data))]
    columns = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    model = make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=seed)).fit(data, labels)
    return model, data, cl.Explainer(model, data=data)


LOANS = fitted(0)


def test_the_rows_of_each_leaf_are_those_of_the_model():
    model, data, explainer = LOANS
    leaves = model[-1].apply(model[:-1].transform(data))
    assert explainer._counts.tolist() == np.bincount(leaves, minlength=explainer.tree.n_nodes).tolist()


@pytest.mark.parametrize("routed", [False, True])
def test_rows_with_gaps_count_where_the_model_sends_them(routed):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3)).round(1)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = (np.nan_to_num(X).sum(axis=1) > 0).astype(int)
    tree = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0)
    model = (tree if routed else make_pipeline(SimpleImputer(), tree)).fit(X, y)
    leaves = model.apply(X) if routed else model[-1].apply(model[:-1].transform(X))
    explainer = cl.Explainer(model, data=X)
    assert explainer._counts.tolist() == np.bincount(leaves, minlength=explainer.tree.n_nodes).tolist()
    least = int(np.median(explainer._counts[explainer.tree.leaves]))
    for row in X[:40]:
        answer = explainer.explain(row, support=least)
        found = explainer.explain(row, count=None)
        assert answer.certificate.check()
        # the answer's leaf may be one of a tree expanded for gaps; the model itself tells which one it is
        cheapest = min((one.cost for one in found if reached(model, one.row) in frequent(leaves, least)), default=None)
        assert (answer[0].cost if len(answer) else None) == pytest.approx(cheapest)
        if len(answer):
            assert reached(model, answer[0].row) in frequent(leaves, least)


def reached(model, row):
    row = np.asarray(row, float)[None]
    return int((model if isinstance(model, DecisionTreeClassifier) else model[-1]).apply(
        row if isinstance(model, DecisionTreeClassifier) else model[:-1].transform(row)
    )[0])  # fmt: skip


def frequent(leaves, least):
    values, counts = np.unique(leaves, return_counts=True)
    return set(values[counts >= least].tolist())


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("target", [None, "a", {"b": 0.1, "c": 0.0}])
def test_the_answer_is_the_cheapest_of_the_leaves_with_enough_rows(seed, target):
    _, data, explainer = fitted(seed)
    counts = explainer._counts
    limits = [[], [cl.freeze("job")], [cl.max_changes(1)], [cl.linear({"age": 1, "pay": 2}, "<=", 90)]]
    refused = 0
    for k, constraints in enumerate(limits):
        question = {"target": target, "constraints": constraints}
        batches = {least: explainer.explain_many(data, support=least, progress=False, **question) for least in (8, 200)}
        for line in range(7 * k, len(data), 41):
            leaves = explainer.explain(data.iloc[line], count=None, **question)
            for least, batch in batches.items():
                left = [one for one in leaves if counts[one.leaf] >= least]
                answer = explainer.explain(data.iloc[line], support=least, **question)
                assert answer.certificate.check()
                assert batch["status"][line] == str(answer.status)
                assert bool(left) == bool(len(answer))
                if left:
                    assert answer[0].cost == pytest.approx(left[0].cost, rel=1e-9)
                    assert (batch["leaf"][line], batch["cost"][line]) == (answer[0].leaf, pytest.approx(answer[0].cost))
                    assert counts[answer[0].leaf] >= least
                    assert answer[0].confirmed
                else:
                    refused += 1
                    assert (bool(leaves)) == any(str(one) == f"support={least}" for one in answer.conflict)
    assert refused


def test_it_combines_with_counts_margins_and_fronts():
    _, data, explainer = LOANS
    counts = explainer._counts
    row = data.iloc[3]
    many = explainer.explain(row, target="b", count=None, support=10)
    assert {one.leaf for one in many} <= set(np.flatnonzero(counts >= 10).tolist())
    assert many.certificate.check()
    path = explainer.explain_margins(row, target="b", margins=[0.0, 0.5], support=10)
    assert all(counts[answer[0].leaf] >= 10 for answer in path if len(answer))
    front = explainer.explain_front(row, target="b", support=10)
    assert all(counts[one.leaf] >= 10 for one in front)
    assert front.check()
    pool = explainer.explain(row, target="b", constraints=cl.among(data.iloc[:50]), support=10)
    assert not len(pool) or counts[pool[0].leaf] >= 10
    assert pool.certificate.check()


def test_the_answer_says_so():
    _, data, explainer = LOANS
    answer = explainer.explain(data.iloc[0], support=10)
    assert answer.words[-1] == "support=10"
    assert "Proved: no allowed change to a leaf of 10 or more rows of the data costs less than this one" in str(answer)
    nothing = explainer.explain(data.iloc[0], target="a", support=10**6)
    assert (str(nothing.status), [str(one) for one in nothing.conflict]) == ("infeasible", ["support=1000000"])
    assert "This constraint rules it out: support=1000000. (support=1000000 leaves out the leaves" in str(nothing)
    assert nothing.certificate.check()
    both = explainer.explain(data.iloc[0], constraints=[cl.freeze("age", "pay", "job", "owner")], support=10)
    assert [str(one) for one in both.conflict] == ["freeze('age', 'pay', 'job', 'owner')"]  # which needs no support


def test_files_hold_it_and_are_checked():
    _, data, explainer = LOANS
    answer = explainer.explain(data.iloc[0], support=10)
    again = cl.Explanation.from_json(answer.to_json())
    assert (again.words, str(again), again.certificate.check()) == (answer.words, str(answer), True)
    for change in (lambda c: c["model"].pop("closed"), lambda c: c["model"]["closed"].pop(0)):
        forged = cl.Explanation.from_json(changed(answer, change))
        assert not forged.certificate.check()  # a leaf is open that no part proves
    with pytest.raises(cl.CounterleafError, match="its model leaves out leaves without support="):
        cl.Explanation.from_json(changed(answer, lambda c: c["question"].pop("support")))
    for closed in ([0], [-1], [10**6], [0.5], [True]):
        with pytest.raises(cl.CounterleafError, match="leaves out leaves that its model lacks"):
            cl.Explanation.from_json(changed(answer, lambda c, closed=closed: c["model"].update(closed=closed)))


def changed(answer, change):
    content = json.loads(answer.to_json())
    content.pop("digest")
    change(content)
    return json.dumps({**content, "digest": _digest(content)})


def test_explainers_keep_the_numbers_of_rows():
    _, data, explainer = LOANS
    expected = explainer.explain(data.iloc[0], support=10)[0].cost
    others = [
        pickle.loads(pickle.dumps(explainer)),
        cl.Explainer.from_json(explainer.to_json()),
        explainer.with_features(cl.Numeric("age", 0, 99, integer=True)),
    ]
    assert [one.explain(data.iloc[0], support=10)[0].cost for one in others[:2]] == [expected] * 2
    assert others[2]._counts.tolist() == explainer._counts.tolist()


def test_an_explainer_without_them_refuses():
    model, data, explainer = LOANS
    content = json.loads(explainer.to_json())
    del content["counts"]
    old = cl.Explainer.from_json(json.dumps(content))
    bare = cl.Explainer(model, schema=explainer.schema)
    reason = "support is 5, and this explainer does not know how many rows reach each leaf: make it with data= and, for a file"
    for one in (old, bare):
        with pytest.raises(cl.CounterleafError, match=reason):
            one.explain(data.iloc[0], support=5)
        with pytest.raises(cl.CounterleafError, match=reason):
            one.explain_many(data, support=5)
    assert len(old.explain(data.iloc[0]))
    bad = json.loads(explainer.to_json())
    for counts in (bad["counts"][1:], [-1 - one for one in bad["counts"]], [1, *bad["counts"][1:]]):
        with pytest.raises(cl.CounterleafError, match="the explainer's numbers of rows per leaf do not fit its tree"):
            cl.Explainer.from_json(json.dumps({**bad, "counts": counts}))
    with pytest.raises(cl.CounterleafError, match="to_json"):
        cl.Explainer.from_json(json.dumps({**bad, "counts": None}))


@pytest.mark.parametrize("support", [0, -1, 2.5, "20", True])
def test_numbers_that_are_not_numbers_of_rows(support):
    _, data, explainer = LOANS
    with pytest.raises(cl.CounterleafError, match=f"support is {support!r}; expected a number of rows from 1, or None"):
        explainer.explain(data.iloc[0], support=support)


def test_regression_and_probabilities():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    model = DecisionTreeRegressor(max_leaf_nodes=20, random_state=0).fit(X, X.sum(axis=1))
    explainer = cl.Explainer(model, data=X)
    answer = explainer.explain(X[0], target=cl.value(at_least=1.0), support=12)
    counts = np.bincount(model.apply(X), minlength=explainer.tree.n_nodes)
    assert counts[answer[0].leaf] >= 12
    assert answer.certificate.check()
    assert cl.Explanation.from_json(answer.to_json()).certificate.check()
    chance = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, X.sum(axis=1) + rng.normal(size=300) > 0)
    explainer = cl.Explainer(chance, data=X)
    answer = explainer.explain(X[X.sum(axis=1).argmin()], target=cl.probability(True, at_least=0.7), support=20)
    assert explainer._counts[answer[0].leaf] >= 20


def test_leaves_that_compute_count_as_the_leaf_of_the_model():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 3))
    y = np.where(X[:, 0] > 0, X[:, 1] > 0.3, X[:, 2] > -0.2) ^ (rng.random(500) < 0.05)
    model = cl.TAOClassifier(max_depth=3, leaves="softmax", random_state=0).fit(X, y.astype(int))
    explainer = cl.Explainer(model, data=X)
    counts = np.bincount(explainer.tree.apply(X), minlength=explainer.tree.n_nodes)
    assert explainer.tree.computes
    assert explainer._counts.tolist() == counts.tolist()
    least = int(np.median(counts[explainer.tree.leaves])) + 1
    for row in X[:10]:
        leaves = explainer.explain(row, count=None)
        left = [one.cost for one in leaves if counts[one.leaf] >= least]
        answer = explainer.explain(row, support=least)
        assert answer.certificate.check()
        assert [one.cost for one in answer] == pytest.approx(left[:1], rel=1e-8)
        assert cl.Explanation.from_json(answer.to_json()).certificate.check()


def test_the_command(tmp_path):
    _, data, explainer = LOANS
    (tmp_path / "model.json").write_text(explainer.to_json())
    data.to_csv(tmp_path / "rows.csv", index=False)
    ask = ["explain", tmp_path / "model.json", tmp_path / "rows.csv", "--row", 0]
    done = call(*ask, "--support", 10)
    assert (done.code, "to a leaf of 10 or more rows of the data" in done.out) == (0, True)
    assert call(*ask, "--support", 10, "--out", tmp_path / "a.jsonl").code == 0
    assert call("verify", tmp_path / "a.jsonl", "--model", tmp_path / "model.json").code == 0
    assert call(*ask, "--support", 10, "--format", "csv").code == 0
    other = json.loads(explainer.to_json())
    other["counts"] = [10 * one for one in other["counts"]]
    (tmp_path / "other.json").write_text(json.dumps(other))
    done = call("verify", tmp_path / "a.jsonl", "--model", tmp_path / "other.json")
    assert done.code == 4
    assert "other leaves are left out by support=10" in done.out + done.err
    del other["counts"]
    (tmp_path / "old.json").write_text(json.dumps(other))
    line = mistake("explain", tmp_path / "old.json", tmp_path / "rows.csv", "--row", 0, "--support", 10)
    assert line.startswith("support is 10, and this explainer does not know how many rows reach each leaf")
