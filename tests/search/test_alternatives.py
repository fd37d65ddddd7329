"""Alternatives that differ in the features that they change: against a mixed-integer solver and against brute force."""

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from support import table_referee
from support.seeds import seeds
from support.table_cases import table_case

import counterleaf as cl
from counterleaf.proof.compound import Compound


def apart_rules(case, changes, apart):
    """The rules that an answer obeys because of those before it."""
    return [("apart", sorted(one), max(len(one) - apart, 0)) for one in changes if one]


@pytest.mark.parametrize("block", seeds(6))
def test_alternatives_agree_with_a_mixed_integer_solver(block):
    judged = several = 0
    for seed in range(6000 + 15 * block, 6015 + 15 * block):
        rng = np.random.default_rng(seed)
        sizes = {"groups": int(rng.integers(3)), "categories": 5, "numerics": int(rng.integers(1, 5)), "depth": 3}
        case = table_case(rng, bounded=bool(rng.integers(2)), **sizes)
        if seed % 4 == 0:
            case.charges = rng.choice([0.0, 0.3], len(case.schema))
        apart = 1 + int(seed % 5 == 0)
        answer = cl.Explainer(case.tree, schema=case.schema).explain(
            case.row,
            target=case.target,
            cost=case.cost(),
            constraints=case.constraints(),
            count=4,
            distinct={"features": apart},
        )
        assert answer.status != "limit", seed
        assert answer.certificate.check(), seed
        changes = [set(one.changes) for one in answer]
        several += len(changes) > 1
        for k in range(len(changes) + (len(changes) < 4)):
            posed = replace(case, rules=case.rules + apart_rules(case, changes[:k], apart))
            if k and not changes[k - 1]:
                break  # nothing has to change, so every other row changes more
            optima, thin = table_referee.leaf_optima(posed)
            if thin:
                break
            found = answer[k].cost if k < len(changes) else np.inf
            assert found == pytest.approx(min(optima.values(), default=np.inf), rel=1e-6, abs=1e-8), (seed, k)
            judged += 1
    assert judged > 15
    assert several >= 2


def whole_table(seed, features=4, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (120, features)).astype(float)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, rng.integers(0, classes, 120))
    schema = cl.Schema([cl.Numeric(f"x{i}", 0, 3, integer=True) for i in range(features)])
    return model, cl.Explainer(model, schema=schema), np.array(list(itertools.product(range(4), repeat=features)), float)


@pytest.mark.parametrize("seed", seeds(15))
@pytest.mark.parametrize("apart", [1, 2])
def test_alternatives_agree_with_brute_force(seed, apart):
    model, explainer, grid = whole_table(seed)
    reached, fewer = grid[model.predict(grid) == 1], 0
    for row in grid[::41]:
        answer = explainer.explain(row, target=1, cost=cl.L1(), count=5, distinct={"features": apart})
        cost, changed = np.abs(reached - row).sum(axis=1), reached != row
        allowed = np.ones(len(reached), bool)
        for one in answer:
            assert one.cost == cost[allowed].min()
            moved = np.array(one.row) != row
            allowed &= (changed & moved).sum(axis=1) <= max(moved.sum() - apart, 0)
            if not moved.any():
                allowed[:] = False
        assert len(answer) == 5 or not allowed.any()
        fewer += len(answer) < 5
        assert answer.certificate.check()
        if len(answer) < 5:
            assert "No further alternative exists" in str(answer)
    assert fewer > 0


def test_no_alternative_does_what_an_earlier_one_does_and_more():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, y)
    explainer = cl.Explainer(model, data=X)
    by_leaf = by_feature = 0
    for k in range(0, 100, 9):
        for distinct in ("features", "leaves", None):
            sets = [set(one.changes) for one in explainer.explain(X.iloc[k], target=1 - int(y[k]), count=5, distinct=distinct)]
            covered = sum(any(earlier <= later for earlier in sets[:i]) for i, later in enumerate(sets))
            by_leaf += covered if distinct == "leaves" else 0
            by_feature += covered if distinct != "leaves" else 0
    assert by_feature == 0
    assert by_leaf > 5


def test_every_minimal_set_of_changes():
    model, explainer, grid = whole_table(3)
    row = grid[7]
    reached = grid[model.predict(grid) == 1 - model.predict(row[None])[0]]
    answer = explainer.explain(row, cost=cl.L1(), count=None, distinct="features")
    sets = {frozenset(np.flatnonzero(changed).tolist()) for changed in reached != row}
    minimal = {one for one in sets if not any(other < one for other in sets)}
    assert {frozenset(explainer.schema.names.index(name) for name in one.changes) for one in answer} == minimal
    assert answer.certificate.is_exhausted


def test_leaves_are_the_default_for_all_of_them():
    _, explainer, grid = whole_table(3)
    every = explainer.explain(grid[7], cost=cl.L1(), count=None)
    leaves = [one.leaf for one in every]
    assert len(set(leaves)) == len(leaves) == len(explainer.explain(grid[7], cost=cl.L1(), count=None, distinct="leaves"))


def question(explainer, row, **more):
    return explainer.explain(row, target=1, cost=cl.L1(), count=3, **more)


def test_alternatives_with_other_questions():
    model, explainer, grid = whole_table(11)
    row = next(one for one in grid if model.predict(one[None])[0] == 0)
    reached = grid[model.predict(grid) == 1]
    pool = explainer.explain(row, target=1, cost=cl.L1(), count=3, constraints=cl.among(reached[::3]))
    assert pool.certificate.check()
    sets = [set(one.changes) for one in pool]
    assert not any(a <= b for a, b in itertools.combinations(sets, 2))
    limited = question(explainer, row, constraints=[cl.max_changes(1), cl.freeze("x0")])
    assert all(len(one.changes) <= 1 and "x0" not in one.changes for one in limited)
    assert limited.certificate.check()
    priced = explainer.explain(row, target={1: 0.5}, cost=cl.L1() + cl.Changes(0.25), count=3)
    assert [one.cost for one in priced] == sorted(one.cost for one in priced)
    implied = question(explainer, row, constraints=[cl.implies(cl.changed("x1"), cl.freeze("x2"))])
    assert all(not {"x1", "x2"} <= set(one.changes) for one in implied)
    for answer in (priced, implied):
        assert answer.certificate.check()
        assert all(one.confirmed for one in answer)
    cut = Compound(question(explainer, row).certificate.rounds[:2], 1, 3)  # as if the time had run out
    assert cut.status == "limit"
    assert cut.check()
    stopped = question(explainer, row, max_nodes=1)
    assert stopped.status == "limit"
    assert stopped.certificate.check()


def test_the_row_already_has_the_target():
    model, explainer, grid = whole_table(11)
    row = next(one for one in grid if model.predict(one[None])[0] == 1)
    answer = question(explainer, row)
    assert len(answer) == 1
    assert not answer[0].changes
    assert answer.certificate.is_exhausted
    assert answer.certificate.check()
    assert "No further alternative exists" in str(answer)


def test_alternatives_survive_json_and_pickle():
    model, explainer, grid = whole_table(11)
    row = next(one for one in grid if model.predict(one[None])[0] == 0)
    for answer in (question(explainer, row), question(explainer, row, distinct={"features": 2}), question(explainer, row)):
        again = cl.Explanation.from_json(answer.to_json())
        assert again.certificate.check()
        assert again.to_json() == answer.to_json()
        assert str(again) == str(answer)
        assert pickle.loads(pickle.dumps(answer.certificate)).check()


def test_forged_alternatives_are_found_out():
    model, explainer, grid = whole_table(11)
    row = next(one for one in grid if model.predict(one[None])[0] == 0)
    proof = question(explainer, row).certificate
    assert len(proof.rounds) == 3
    assert proof.check()
    (a,), (b,), (c,) = proof.rounds
    one_case = explainer.explain(row, target=1, cost=cl.L1()).certificate
    other = explainer.explain(row, target=1, cost=cl.L1(), constraints=cl.freeze("x0")).certificate
    for rounds in (((a,), (c,), (b,)), ((a,), (c,)), ((a,), (one_case,)), ((a,), (other,)), ((a,), (b, c))):
        assert not Compound(rounds, proof.apart, proof.count).check()
    assert not Compound(proof.rounds, 2, 3).check()
    assert not Compound(proof.rounds, 1, 2).check()
    assert not Compound(proof.rounds, 0, 3).check()
    assert Compound(((a,), (b,)), 1, 2).check()
    answer = question(explainer, row)
    without_first = replace(
        answer, certificate=Compound(((b,), (c,)), 1, 2), lower_bound=b.lower_bound, maker=lambda: answer[1:]
    )
    with pytest.raises(cl.CounterleafError, match="contradicts itself"):
        cl.Explanation.from_json(without_first.to_json())


@pytest.mark.parametrize("distinct", ["feature", 2, {"leaves": 1}, {"features": 0}, {"features": 1.5}, ["features"], True])
def test_distinct_that_makes_no_sense(distinct):
    _, explainer, grid = whole_table(3)
    with pytest.raises(cl.CounterleafError, match='expected "features", "leaves" or a dict such as'):
        explainer.explain(grid[0], count=2, distinct=distinct)


@pytest.mark.parametrize("k", [0, 60, 120])
def test_alternatives_for_a_probability_of_three_classes(k):
    """Each alternative has tangents of its own, so the trees of the proofs differ."""
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=2000).fit(X, y)
    target = cl.probability(int((y[k] + 1) % 3), at_least=0.7)
    for cost in (cl.L1("range"), cl.L1("range") + cl.Changes(0.05)):
        answer = cl.Explainer(model, data=X).explain(X[k], target=target, cost=cost, count=3)
        assert answer.status == "optimal"
        assert answer.certificate.check()
        assert all(one.confirmed and one.number >= 0.7 for one in answer)
        assert cl.Explanation.from_json(answer.to_json()).certificate.check()
