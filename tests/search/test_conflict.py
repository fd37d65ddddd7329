"""Smallest conflicts: against all subsets, on random families and on random questions."""

from itertools import combinations

import numpy as np
import pytest
from support.seeds import seeds
from support.strategies import random_case

import counterleaf as cl
from counterleaf.search import conflict as conflict_module
from counterleaf.search.conflict import smallest_conflict

TREE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-10.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
EXPLAINER = cl.Explainer(TREE, schema=cl.Schema([cl.Numeric("a"), cl.Numeric("b")]))


def by_brute_force(n, feasible):
    """The first smallest infeasible subset, by trying all."""
    return next(s for size in range(n + 1) for s in combinations(range(n), size) if not feasible(list(s)))


@pytest.mark.parametrize("seed", seeds(200))
def test_random_families_of_conflicts(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    conflicts = [
        set(rng.choice(n, size=int(rng.integers(1, n + 1)), replace=False).tolist()) for _ in range(rng.integers(1, 7))
    ]
    solves = []

    def feasible(subset):
        assert list(subset) == sorted(set(subset))
        solves.append(tuple(subset))
        return not any(conflict <= set(subset) for conflict in conflicts)

    found = smallest_conflict(tuple(range(n)), feasible)
    assert len(found) == len(by_brute_force(n, feasible))
    assert not feasible(list(found))
    assert found == smallest_conflict(tuple(range(n)), feasible)


@pytest.mark.parametrize("with_positions", [False, True])
@pytest.mark.parametrize("seed", seeds(6))
def test_twenty_constraints_with_many_conflicts(seed, with_positions):
    rng = np.random.default_rng(seed)
    conflicts = [set(rng.choice(20, size=int(rng.integers(3, 6)), replace=False).tolist()) for _ in range(8)]

    def feasible(subset):
        if any(conflict <= set(subset) for conflict in conflicts):
            return False
        if not with_positions:
            return True
        found = set(subset)
        for k in rng.permutation(20).tolist():
            found |= {k} if not any(conflict <= found | {k} for conflict in conflicts) else set()
        return found

    found = smallest_conflict(tuple(range(20)), feasible)
    assert len(found) == min(map(len, conflicts))
    assert set(found) in conflicts


@pytest.mark.parametrize(("limit", "most"), [("_STEPS", 3), ("_SOLVES", 120)])
def test_at_a_limit_no_constraint_of_the_conflict_can_be_left_out(limit, most, monkeypatch):
    monkeypatch.setattr(conflict_module, limit, most)
    rng = np.random.default_rng(0)
    conflicts = [set(rng.choice(40, size=6, replace=False).tolist()) for _ in range(12)] + [{37, 38, 39}]

    def feasible(subset):
        return not any(conflict <= set(subset) for conflict in conflicts)

    found = smallest_conflict(tuple(range(40)), feasible)
    assert len(found) == 6  # not a smallest one
    assert not feasible(found)
    assert all(feasible([k for k in found if k != one]) for one in found)


def test_no_row_at_all_is_the_empty_conflict():
    assert smallest_conflict((0, 1, 2), lambda subset: False) == ()
    assert smallest_conflict((), lambda subset: pytest.fail("there is nothing to ask")) == ()


def test_where_nothing_is_proved_all_are_named():
    assert smallest_conflict((0, 1, 2, 3, 4), lambda subset: True) == (0, 1, 2, 3, 4)


def test_many_constraints_take_a_bounded_number_of_solves():
    solves = []

    def feasible(subset):  # any 30 of the 60
        solves.append(subset)
        return len(subset) < 30

    found = smallest_conflict(tuple(range(60)), feasible)
    assert len(found) == 30
    assert len(solves) <= 1001


@pytest.mark.slow
def test_the_smallest_set_is_found_on_random_questions():
    """Compared with all subsets, each solved as a separate question."""
    rng = np.random.default_rng(3)
    seen = []
    while len(seen) < 40:
        case = random_case(rng, features=int(rng.integers(2, 7)))
        extra = random_case(rng, features=len(case.row)).constraints
        constraints = (case.constraints + [cl.freeze(f"f{k}") for k in range(len(case.row))] + extra)[:7]
        explainer = cl.Explainer(case.tree, schema=case.schema)

        def ask(subset, explainer=explainer, case=case, constraints=constraints):
            return explainer.explain(
                case.row, target=case.target, cost=case.cost, constraints=[constraints[k] for k in subset], margin=case.margin
            ).status  # fmt: skip

        answer = explainer.explain(case.row, target=case.target, cost=case.cost, constraints=constraints, margin=case.margin)
        if answer.status != "infeasible":
            assert answer.conflict == ()
            continue
        best = by_brute_force(len(constraints), lambda subset, ask=ask: ask(subset) != "infeasible")
        assert len(answer.conflict) == len(best)
        places = [next(k for k, c in enumerate(constraints) if c is one) for one in answer.conflict]
        assert places == sorted(places)
        assert ask(places) == "infeasible"
        seen.append(len(best))
    assert {0, 1, 2} <= set(seen)


def test_constraints_that_contradict_each_other_come_out_as_given():
    constraints = [cl.only_increase("b"), cl.between("a", 0, 1), cl.fix("a", 5)]
    answer = EXPLAINER.explain([0.0, 0.0], target="yes", constraints=constraints)
    assert answer.conflict == (constraints[1], constraints[2])
    assert repr(answer.conflict) == "(between('a', 0, 1), fix('a', 5))"


def test_one_constraint_and_a_generator():
    everything = cl.freeze("a", "b")
    assert EXPLAINER.explain([0.0, 0.0], target="yes", constraints=everything).conflict == (everything,)
    few = (cl.freeze(name) for name in ("a", "b"))
    assert repr(EXPLAINER.explain([0.0, 0.0], target="yes", constraints=few).conflict) == "(freeze('a'), freeze('b'))"


def test_rows_to_choose_among_may_be_part_of_the_conflict():
    rows = cl.among([[20.0, 0.0], [0.0, 0.0]])
    answer = EXPLAINER.explain([0.0, 0.0], target="yes", constraints=[cl.only_increase("b"), cl.between("a", -5, 15), rows])
    assert [str(c) for c in answer.conflict] == ["between('a', -5, 15)", "among(2 rows)"]
    apart = [cl.among([[20.0, 0.0]]), cl.among([[0.0, 20.0]])]
    assert EXPLAINER.explain([0.0, 0.0], target="yes", constraints=apart).conflict == tuple(apart)


def test_a_margin_is_part_of_what_conflicts():
    limit = cl.between("a", 0, 5)
    frozen = cl.freeze("b")
    ask = {"row": [0.0, 5.0], "target": "yes", "constraints": [limit, frozen]}
    assert EXPLAINER.explain(**ask).status == "optimal"
    assert EXPLAINER.explain(**ask, margin=1.0).conflict == (limit, frozen)


def test_a_cost_that_is_unbounded_without_some_constraint_is_not_a_conflict():
    constraints = [cl.between("a", 0, 1), cl.between("b", 0, 1)]
    answer = EXPLAINER.explain([0.0, 0.0], target="yes", cost=cl.LinearCost({"a": -1.0, "b": -1.0}), constraints=constraints)
    assert answer.conflict == tuple(constraints)


def test_limits_leave_a_conflict_that_is_proved():
    constraints = [cl.only_increase("a"), cl.freeze("a"), cl.freeze("b")]
    for limit in ({"time_limit": 1e-9}, {"time_limit": 10.0}, {"max_nodes": 1}, {"max_nodes": 100}):
        answer = EXPLAINER.explain([0.0, 0.0], target="yes", constraints=constraints, **limit)
        if answer.status == "infeasible":
            assert EXPLAINER.explain([0.0, 0.0], target="yes", constraints=answer.conflict).status == "infeasible"
            assert set(constraints[1:]) <= set(answer.conflict)
    assert answer.conflict == tuple(constraints[1:])
