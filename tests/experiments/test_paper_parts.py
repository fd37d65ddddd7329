import json
import math

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl
from counterleaf.experiments.paper import figures, grounds, referee, trees
from counterleaf.experiments.paper.instances import LEVELS, NORMS, Contest
from counterleaf.experiments.paper.trees import AXIS, OBLIQUE
from counterleaf.learn import TAOClassifier


@pytest.mark.parametrize(
    ("key", "columns", "shares"),
    [("breast", 9, (0, 11, 22)), ("spambase", 57, (0, 18, 53)), ("letter", 16, (0, 25, 62)), ("german", 61, (0, 7, 15)),
     ("adult", 102, (0, 7, 14))],
)  # fmt: skip
def test_grounds_are_the_papers(key, columns, shares):
    ground = grounds.load(key, 0)
    assert ground.X.shape[1] == columns
    assert tuple(math.floor(ground.share(level) + 0.5 - 1e-9) for level in range(LEVELS)) == shares
    assert set(ground.levels[0]) <= set(ground.levels[1]) <= set(ground.levels[2])
    if ground.table is None:
        assert ground.X.min() == 0
        assert ground.X.max() == 1
    assert not set(ground.train) & set(ground.test)
    assert len(ground.train) + len(ground.test) == len(ground.X)
    np.testing.assert_array_equal(ground.schema.encode(ground.row(3)), ground.X[3])


def test_a_tree_is_learned_once_and_restored_bit_for_bit(tmp_path, monkeypatch):
    ground = grounds.load("breast", 0)
    first = {kind: trees.grow(ground, kind, 0, tmp_path) for kind in trees.KINDS}
    for kind, grown in first.items():
        np.testing.assert_array_equal(grown.predict(ground.X), grown.tree.predict(ground.X))
        assert grown.errors(ground)[1] < 15
    monkeypatch.setattr(TAOClassifier, "fit", None)
    again = trees.grow(ground, OBLIQUE, 0, tmp_path)
    assert again.tree.to_json() == first[OBLIQUE].tree.to_json()
    np.testing.assert_array_equal(again.predict(ground.X), first[OBLIQUE].predict(ground.X))
    monkeypatch.undo()
    path = tmp_path / "breast-oblique.json"
    kept = json.loads(path.read_text())
    path.write_text(json.dumps(kept | {"bias": [2 * b for b in kept["bias"]]}))  # no longer the tree that was learned
    assert trees.grow(ground, OBLIQUE, 0, tmp_path).tree.to_json() == first[OBLIQUE].tree.to_json()
    assert trees.grow(ground, OBLIQUE, 1, tmp_path).settings["seed"] == 1
    (tmp_path / "breast-axis.json").write_text("{")
    assert trees.grow(ground, AXIS, 0, tmp_path).tree.to_json() == first[AXIS].tree.to_json()


def test_scikit_learn_agrees_on_the_two_sides_of_a_threshold():
    rng = np.random.default_rng(0)
    for _ in range(200):
        values = rng.normal(size=2).astype(np.float32).astype(float) * 10.0 ** rng.integers(-3, 4)
        model = DecisionTreeClassifier().fit(values[:, None], [0, 1])
        last, first = referee._sides(float(model.tree_.threshold[0]))
        left = model.tree_.children_left[0]
        assert model.apply([[last], [first]]).tolist() == [left, model.tree_.children_right[0]]
        assert math.nextafter(last, math.inf) == first


@pytest.mark.parametrize("key", ["breast", "german"])
def test_referees_agree_with_the_search_and_with_each_other(key):
    ground = grounds.load(key, 1)
    for kind in trees.KINDS:
        contest = Contest(ground, trees.grow(ground, kind, 1))
        drawn = contest.draw(2, 5)
        assert len(drawn) == 4
        for level in range(LEVELS):
            for norm in NORMS:
                lines = contest.run(drawn, level, norm, lambda: None)
                assert (lines["cost"] - lines["optimum"]).abs().max() <= 1e-7 * lines["optimum"].max()
    rows = ground.X[ground.test[:3]]
    free = np.zeros(rows.shape[1], bool)
    target = contest.explainer.tree.classes.tolist()[0]
    enumeration = referee.Enumeration(trees.grow(ground, OBLIQUE, 1).tree, ground.schema)
    for power in (1, 2):
        costs = [enumeration.cost(row, target, free, power) for row in rows]
        enumeration.gurobi, env = None, enumeration.gurobi
        others = [enumeration.cost(row, target, free, power) for row in rows] if enumeration.solver(power) else costs
        assert enumeration.solver(power) == {1: "HiGHS", 2: "PIQP" if key == "breast" else ""}[power]
        enumeration.gurobi = env
        np.testing.assert_allclose(others, costs, rtol=1e-6, atol=1e-8)  # the interior point ends at 1e-10 of the terms


def test_a_row_from_which_nothing_leads_to_the_target_is_passed_over():
    ground = grounds.load("letter", 0)
    model = DecisionTreeClassifier(max_leaf_nodes=30, random_state=0).fit(ground.X[ground.train], ground.y[ground.train])
    contest = Contest(ground, trees.Grown(cl.read_tree(model), model, np.ones(16), {"kind": AXIS}))
    drawn = contest.draw(1, 0)
    assert drawn["passed"].sum() > 0
    assert drawn["unproved"].sum() == 0
    asked = []
    explain = contest.explainer.explain
    contest.explainer.explain = lambda **question: asked.append(1) or explain(**question)
    drawn = contest.draw(1, 0)
    assert len(asked) == len(drawn) + drawn["passed"].sum()  # none is forgotten
    contest.explainer.explain = explain
    assert contest.run(drawn, LEVELS - 1, "l2", lambda: None)["cost"].notna().all()


def test_where_no_class_leads_to_another_there_is_one_line():
    ground = grounds.load("breast", 0)
    alone = DecisionTreeClassifier(max_depth=1, random_state=0).fit(
        ground.X[ground.train], np.full(len(ground.train), "benign")
    )
    contest = Contest(ground, trees.Grown(cl.read_tree(alone), alone, np.ones(9), {"kind": AXIS}))
    with pytest.raises(cl.CounterleafError, match="Breast Cancer: from no row does anything lead to another class"):
        contest.draw(1, 0)


def test_q_is_the_papers():
    Q = figures.neighbours((3, 4)).toarray()
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
