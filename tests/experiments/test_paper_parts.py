"""Data, trees, instances, referees and figures of the paper's experiments."""

import json
import math

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl
from counterleaf.learn import TAOClassifier
from counterleaf_experiments.paper import figures, referee, trees
from counterleaf_experiments.paper.data import load_data
from counterleaf_experiments.paper.instances import LEVELS, NORMS, MethodComparison
from counterleaf_experiments.paper.trees import AXIS, OBLIQUE


@pytest.mark.parametrize(
    ("key", "columns", "shares"),
    [("breast", 9, (0, 11, 22)), ("spambase", 57, (0, 18, 53)), ("letter", 16, (0, 25, 62)), ("german", 61, (0, 7, 15)),
     ("adult", 102, (0, 7, 14))],
)  # fmt: skip
def test_the_data_are_the_papers(key, columns, shares):
    data = load_data(key, 0)
    assert data.X.shape[1] == columns
    assert tuple(math.floor(data.share(level) + 0.5 - 1e-9) for level in range(LEVELS)) == shares
    assert set(data.levels[0]) <= set(data.levels[1]) <= set(data.levels[2])
    if data.table is None:
        assert data.X.min() == 0
        assert data.X.max() == 1
    assert not set(data.train) & set(data.test)
    assert len(data.train) + len(data.test) == len(data.X)
    np.testing.assert_array_equal(data.schema.encode(data.row(3)), data.X[3])


def test_a_tree_is_learned_once_and_restored_bit_for_bit(tmp_path, monkeypatch):
    data = load_data("breast", 0)
    first = {kind: trees.learn_tree(data, kind, 0, tmp_path) for kind in trees.KINDS}
    for learned in first.values():
        np.testing.assert_array_equal(learned.predict(data.X), learned.tree.predict(data.X))
        assert learned.errors(data)[1] < 15
    monkeypatch.setattr(TAOClassifier, "fit", None)
    again = trees.learn_tree(data, OBLIQUE, 0, tmp_path)
    assert again.tree.to_json() == first[OBLIQUE].tree.to_json()
    np.testing.assert_array_equal(again.predict(data.X), first[OBLIQUE].predict(data.X))
    monkeypatch.undo()
    path = tmp_path / "breast-oblique.json"
    saved = json.loads(path.read_text())
    path.write_text(json.dumps(saved | {"bias": [2 * b for b in saved["bias"]]}))  # no longer the tree that was learned
    assert trees.learn_tree(data, OBLIQUE, 0, tmp_path).tree.to_json() == first[OBLIQUE].tree.to_json()
    assert trees.learn_tree(data, OBLIQUE, 1, tmp_path).settings["seed"] == 1
    (tmp_path / "breast-axis.json").write_text("{")
    assert trees.learn_tree(data, AXIS, 0, tmp_path).tree.to_json() == first[AXIS].tree.to_json()


def test_scikit_learn_agrees_on_the_two_sides_of_a_threshold():
    rng = np.random.default_rng(0)
    for _ in range(200):
        values = rng.normal(size=2).astype(np.float32).astype(float) * 10.0 ** rng.integers(-3, 4)
        model = DecisionTreeClassifier().fit(values[:, None], [0, 1])
        last, first = referee._sides(float(model.tree_.threshold[0]))
        left = model.tree_.children_left[0]
        assert model.apply([[last], [first]]).tolist() == [left, model.tree_.children_right[0]]
        assert math.nextafter(last, math.inf) == first


@pytest.mark.parametrize("key", ["breast", pytest.param("german", marks=pytest.mark.slow)])
def test_referees_agree_with_the_search_and_with_each_other(key, monkeypatch):
    monkeypatch.setitem(trees._TAO, key, {name: values[:1] for name, values in trees._TAO[key].items()})  # nothing to choose
    data = load_data(key, 1)
    learned = {kind: trees.learn_tree(data, kind, 1) for kind in trees.KINDS}
    for kind in trees.KINDS:
        comparison = MethodComparison(data, learned[kind])
        drawn = comparison.draw(2, 5)
        assert len(drawn) == 4
        for level in range(LEVELS):
            for norm in NORMS:
                lines = comparison.run(drawn, level, norm, lambda: None)
                assert (lines["cost"] - lines["optimum"]).abs().max() <= 1e-7 * lines["optimum"].max()
    rows = data.X[data.test[:3]]
    free = np.zeros(rows.shape[1], bool)
    target = comparison.explainer.tree.classes.tolist()[0]
    enumeration = referee.Enumeration(learned[OBLIQUE].tree, data.schema)
    for power in (1, 2):
        costs = [enumeration.cost(row, target, free, power) for row in rows]
        enumeration.gurobi, env = None, enumeration.gurobi
        others = [enumeration.cost(row, target, free, power) for row in rows] if enumeration.solver(power) else costs
        assert enumeration.solver(power) == {1: "HiGHS", 2: "PIQP" if key == "breast" else ""}[power]
        enumeration.gurobi = env
        np.testing.assert_allclose(others, costs, rtol=1e-6, atol=1e-8)  # the interior point ends at 1e-10 of the terms


def test_a_target_that_a_row_cannot_reach_is_skipped():
    data = load_data("letter", 0)
    model = DecisionTreeClassifier(max_leaf_nodes=30, random_state=0).fit(data.X[data.train], data.y[data.train])
    comparison = MethodComparison(data, trees.LearnedTree(cl.read_tree(model), model, np.ones(16), {"kind": AXIS}))
    drawn = comparison.draw(1, 0)
    assert drawn["passed"].sum() > 0
    assert drawn["unproved"].sum() == 0
    calls = []
    explain = comparison.explainer.explain
    comparison.explainer.explain = lambda **question: calls.append(1) or explain(**question)
    drawn = comparison.draw(1, 0)
    assert len(calls) == len(drawn) + drawn["passed"].sum()  # every call is counted
    comparison.explainer.explain = explain
    assert comparison.run(drawn, LEVELS - 1, "l2", lambda: None)["cost"].notna().all()


def test_data_without_a_reachable_target_are_refused():
    data = load_data("breast", 0)
    alone = DecisionTreeClassifier(max_depth=1, random_state=0).fit(data.X[data.train], np.full(len(data.train), "benign"))
    comparison = MethodComparison(data, trees.LearnedTree(cl.read_tree(alone), alone, np.ones(9), {"kind": AXIS}))
    with pytest.raises(
        cl.CounterleafError, match="Breast Cancer: no row can reach another class under the constraints; try another --seed"
    ):
        comparison.draw(1, 0)


def test_q_is_the_papers():
    Q = figures.neighbour_matrix((3, 4)).toarray()
    assert (Q.diagonal() == 1).all()
    assert np.unique(Q).tolist() == [-0.25, 0.0, 1.0]
    assert (Q == Q.T).all()
    assert sorted((Q == -0.25).sum(axis=1)) == [2] * 4 + [3] * 6 + [4] * 2
    assert np.linalg.eigvalsh(Q).min() > 0


def test_the_planes_show_a_confirmed_answer_in_every_leaf():
    for answer in (figures.axis_plane(0), figures.oblique_plane(0)):
        tree = answer.certificate.problem.tree
        assert len(answer) == (tree.classes[tree.value[tree.leaves]] == "B").sum()
        assert all(found.confirmed for found in answer)
        assert answer.certificate.check()
