"""explain_many(count=...): the answers of explain, one line each."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from support.batch_cases import alike, cells, number_batch, one_of, table_batch
from support.seeds import seeds

import counterleaf as cl

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(200, 4)), columns=list("abcd"), index=[f"r{k}" for k in range(200)])
Y = np.where(X["a"] + X["b"] * X["c"] > 0.3, "yes", "no")
EXPLAINER = cl.Explainer(DecisionTreeClassifier(max_leaf_nodes=8, random_state=0).fit(X, Y), data=X)


def compare(explainer, rows, out, position, count, **question):
    """Check the lines of a frame against ``explain``; ``position`` has the row of each line."""
    names = list(explainer.schema.columns or explainer.schema.names)
    for k in range(len(rows)):
        lines = out.iloc[np.flatnonzero(np.asarray(position) == k)]
        answer = explainer.explain(one_of(rows, k), count=count, **question)
        if not len(answer):
            assert (len(lines), lines["status"].iloc[0], pd.isna(lines["rank"].iloc[0])) == (1, str(answer.status), True)
            continue
        assert lines["rank"].tolist() == list(range(1, len(answer) + 1))
        for one, (_, line) in zip(answer, lines.iterrows(), strict=True):
            assert (line["cost"], line["lower_bound"], line["label"]) == (one.cost, one.lower_bound, one.label)
            assert (line["leaf"], line["n_changed"], line["confirmed"]) == (one.leaf, len(one.changes), one.confirmed)
            assert line["source_label"] == answer.source_label
            new = cells(one.row, names)
            for name in set(names) & set(out.columns):
                assert alike(line[name], new[name]) or line[name] == new[name]


@pytest.mark.parametrize("make", [number_batch, table_batch])
def test_random_questions(make):
    for seed in seeds(5, 10):
        explainer, rows, question = make(np.random.default_rng(seed))
        for count in (2, None):
            out = explainer.explain_many(rows, **question, count=count)
            compare(explainer, rows, out, out.index, count, **question)


@pytest.mark.parametrize("rule", [(), cl.implies(cl.between("x0", 0.5, 3), cl.between("x1", -3, 0))])
def test_alternatives_whose_searches_have_trees_of_their_own(rule):
    """Each search adds its own tangents to the softmax of a leaf, so that its plain tree has leaves of its own."""
    schema = cl.Schema([cl.Numeric("x0", -3, 3), cl.Numeric("x1", -3, 3)])
    splits, children = [[1, 0], [0, 1], [0, 1]] + [[0, 0]] * 4, ([1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1])
    question = {"target": cl.probability("a", at_least=0.8), "cost": cl.L1(), "constraints": rule}
    for seed in (0, 2, 4, 6, 8, 11):
        rng = np.random.default_rng(seed)
        slopes, starts = np.round(rng.normal(size=(21, 2)), 2), np.round(rng.normal(size=(7, 3)), 2)
        outputs = cl.Outputs("softmax", starts, slopes)
        tree = cl.Tree(*children, splits, [0.0] * 7, outputs=outputs, classes=list("abc"))
        explainer, rows = cl.Explainer(tree, schema=schema), np.array([[0.3, 0.2]])
        for count in (1, 3):
            out = explainer.explain_many(rows, **question, count=count)
            found = explainer.explain(rows[0], **question, count=count)
            assert out["leaf"].tolist() == [one.leaf for one in found]
            assert out["leaf"].tolist() == [tree.apply([one.row])[0] for one in found]


def test_ranks_and_the_index():
    rows = X[:6].copy()
    rows.iloc[1, 0] = np.inf
    out = EXPLAINER.explain_many(rows, target="yes", count=3, distinct="leaves", constraints=cl.between("a", -9, 2))
    assert out.index.tolist() == [name for name in rows.index for _ in range(1 if name == "r1" else 3)]
    assert out["rank"].tolist()[:5] == [1, 2, 3, pd.NA, 1]
    assert list(out.columns)[:2] == ["rank", "status"]
    assert out["problem"].dropna().tolist() == ["feature 'a' of the row is inf; expected a finite number: fill it in first"]
    for _, group in out.dropna(subset="cost").groupby(level=0):
        assert group["cost"].is_monotonic_increasing
    short = EXPLAINER.explain_many(rows, target="yes", count=3, digits="short", shares=True)
    assert short["confirmed"].dropna().all()
    assert set(short["digits"].dropna()) == {"short"}
    assert (short["cost"] >= short["lower_bound"])[short["leaf"].notna()].all()


def test_every_kind_of_rows():
    frame = EXPLAINER.explain_many(X[:5], target="yes", count=2)
    array = EXPLAINER.explain_many(X[:5].to_numpy(), target="yes", count=2)
    assert array.index.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    pd.testing.assert_frame_equal(array.reset_index(drop=True), frame.reset_index(drop=True))
    polars = EXPLAINER.explain_many(pl.from_pandas(X[:5]), target="yes", count=2)
    assert polars["row"].to_list() == array.index.tolist()
    assert polars.columns == ["row", *frame.columns]
    assert polars["changed"].to_list() == frame["changed"].tolist()
    none = EXPLAINER.explain_many(X[:0], target="yes", count=2)
    assert (len(none), list(none.columns)[:2]) == (0, ["rank", "status"])


def test_rows_with_fewer_alternatives_have_fewer_lines():
    out = EXPLAINER.explain_many(X[:30], target="yes", count=50)
    sizes = out.groupby(level=0).size()
    assert sizes.max() < 50
    stuck = EXPLAINER.explain_many(X[:30], target="yes", count=50, constraints=cl.freeze(*"abcd"))
    assert set(stuck.groupby(level=0).size()) == {1}
    assert set(stuck["status"]) == {"optimal", "infeasible"}


COSTS = [None, cl.L2(), cl.Changes(), cl.L1("range") + cl.Changes(0.1), cl.L1("range", multiplier={"a": 0.0})]
RULES = [[], [cl.max_changes(1)], [cl.freeze("b")], [cl.max_changes(2), cl.only_decrease("b", at_most=3), cl.freeze("e")]]


@pytest.mark.parametrize("seed", seeds(40))
def test_mixed_columns_free_numbers_charges_and_numbers_of_changes(seed):
    """Limits on changes are searched in boxes; where a number is free, several rows cost the same, and the search decides."""
    rng = np.random.default_rng(seed)
    n = 200
    data = pd.DataFrame({"a": rng.normal(size=n).round(2), "b": rng.integers(0, 9, n), "c": rng.choice(list("xyz"), n)})
    data = data.assign(d=rng.gamma(1, 3, n), e=rng.random(n) < 0.5)
    points = (data["a"] > 0) + 0 + (data["b"] > 4) + (data["c"] == "x") + (data["d"] > 3) + data["e"] + rng.integers(0, 2, n)
    columns = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    tree = DecisionTreeClassifier(max_leaf_nodes=int(rng.integers(3, 40)), random_state=seed)
    explainer = cl.Explainer(make_pipeline(columns, tree).fit(data, np.where(points >= 3, "yes", "no")), data=data)
    question = {"cost": COSTS[seed % 5], "constraints": RULES[rng.integers(4)], "margin": [0.0, {"b": 0.5}][rng.integers(2)]}
    question |= {"target": ["yes", None, {"yes": 0.0, "no": 0.3}][rng.integers(3)]}
    rows = data.sample(8, random_state=seed).reset_index(drop=True)
    for options in ({"count": 3}, {"count": None, "distinct": {"features": 2}}, {"count": 2, "distinct": "leaves"}):
        out = explainer.explain_many(rows, **question, **options)
        compare(explainer, rows, out, out.index, options.pop("count"), **question, **options)
    for k, line in explainer.explain_many(rows, **question).iterrows():
        answer = explainer.explain(rows.loc[k], **question)
        assert line["status"] == answer.status
        assert not len(answer) or (line["cost"], line["leaf"]) == (answer.best.cost, answer.best.leaf)
        assert not len(answer) or all(line[name] == new for name, (_, new) in answer.best.changes.items())
