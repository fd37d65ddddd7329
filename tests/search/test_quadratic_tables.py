"""Costs that couple numbers, on tables: against a mixed-integer solver, brute force, and answers worked out by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from support.seeds import seeds, share
from support.table_cases import coupled_table_case
from support.table_referee import brute_optima, leaf_optima

import counterleaf as cl

JOBS = ["clerk", "cook", "smith"]
# right iff a + b + 2 [cook] + 3 [smith] >= 4
TREE = cl.Tree(
    [1, -1, -1], [2, -1, -1], [[1, 1, 0, 2, 3], [0] * 5, [0] * 5], [-4.0, 0, 0], [-1, 0, 1], ["no", "yes"], closed="right"
)
ROW = {"a": 0.0, "b": 0.0, "job": "clerk"}


def ask(cost, *constraints, a=None, b=None, **more):
    schema = cl.Schema([a or cl.Numeric("a", -9, 9), b or cl.Numeric("b", -9, 9), cl.Categorical("job", JOBS)])
    answer = cl.Explainer(TREE, schema=schema).explain(ROW, target="yes", cost=cost, constraints=constraints, **more)
    assert answer.status == "optimal"
    assert answer[0].cost - answer.lower_bound <= 1e-11
    return answer[0]


def wrong_with(case, answer, optima, thin=()):
    """The errors of an answer that should hold every target leaf, from the optimum of each leaf."""
    found, wrong = {c.leaf: c for c in answer}, [answer.status] if answer.status == "limit" else []
    for leaf, best in optima.items():
        if leaf in thin:
            continue
        if (leaf in found) != math.isfinite(best):
            wrong.append(f"leaf {leaf}: ours {found.get(leaf)}, optimum {best}")
        elif leaf in found:
            c = found[leaf]
            size = 1e-7 * abs(best) + 1e-9  # the referee's tolerance
            if abs(c.cost - best) > size or not 0 <= c.cost - c.lower_bound <= 1e-9 * abs(c.cost) + 1e-11 or not c.confirmed:
                wrong.append(f"leaf {leaf}: cost {c.cost}, bound {c.lower_bound}, optimum {best}, confirmed {c.confirmed}")
            if not case.obeys(case.schema.codes(c.row)).all():
                wrong.append(f"leaf {leaf}: {c.row} breaks a rule")
    return wrong + [f"leaf {leaf} is not a target" for leaf in found.keys() - optima.keys()]


def explain(case):
    explainer = cl.Explainer(case.tree, schema=case.schema)
    return explainer.explain(case.row, target=list(case.target), cost=case.cost(), constraints=case.constraints(), count=None)


@pytest.mark.parametrize("block", seeds(5))
def test_every_leaf_has_the_optimum_of_an_independent_solver(block):
    for seed in range(8 * block, 8 * block + 8):
        rng = np.random.default_rng(seed)
        size = {"groups": int(rng.integers(0, 4)), "categories": 6, "numerics": int(rng.integers(1, 4))}
        case = coupled_table_case(rng, **size, depth=int(rng.integers(1, 4)), off_grid=bool(rng.integers(2)))
        optima, thin = leaf_optima(case)
        assert not wrong_with(case, explain(case), optima, thin), seed


def test_grids_and_categories_agree_with_brute_force():
    tried = 0
    for seed in seeds(4000, 4080):
        rng = np.random.default_rng(seed)
        case = coupled_table_case(rng, groups=2, categories=4, numerics=2, depth=3, bounded=True)
        optima = brute_optima(case)
        if optima is not None:
            tried += 1
            assert not wrong_with(case, explain(case), optima), seed
    assert tried > share(10)


def test_subsets_and_categories_agree_with_a_closed_form():
    """One split, no bounds: for each job and each set of numbers that may move the cost has a closed form."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        B = rng.normal(size=(3, 3))
        Q, w, jobs = B @ B.T + 0.1 * np.eye(3), rng.normal(size=3), rng.uniform(0, 3, 3)
        most, prices = int(rng.integers(1, 5)), [0.0, *rng.uniform(0.1, 2, 2)]
        tree = cl.Tree(
            [1, -1, -1], [2, -1, -1], [[*w, *jobs], [0] * 6, [0] * 6], [-4.0, 0, 0], [-1, 0, 1], ["no", "yes"], closed="right"
        )
        table = [[0.0, *prices[1:]], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
        schema = cl.Schema([*(cl.Numeric(n) for n in "abc"), cl.Categorical("job", JOBS, costs=table)])
        row = {"a": 0.0, "b": 0.0, "c": 0.0, "job": "clerk"}
        answer = cl.Explainer(tree, schema=schema).explain(
            row, target="yes", cost=cl.Quadratic(Q), constraints=cl.max_changes(most)
        )
        best = math.inf
        for job in range(3):
            left = max(4.0 - jobs[job], 0.0)
            for mask in range(8):
                on = [k for k in range(3) if mask >> k & 1]
                if len(on) + (job > 0) > most or (left > 0 and not on):
                    continue
                ease = w[on] @ np.linalg.solve(Q[np.ix_(on, on)], w[on]) if on else 1.0
                best = min(best, left**2 / ease + prices[job])
        assert answer[0].cost == pytest.approx(best, rel=1e-9)
        assert answer.lower_bound == pytest.approx(best, rel=1e-9)


def test_categories_cost_what_the_rest_of_the_sum_says():
    Q = cl.Quadratic(np.eye(2))
    fixed = (cl.fix("a", 0.0), cl.fix("b", 1.0), cl.fix("job", "smith"))
    for cost, expected in [
        (Q, 1 + 2),
        (3 * Q, 3 + 6),
        (Q + 0.5 * Q, 1.5 + 3),
        (Q + cl.L1({"a": 1, "b": 1, "job": 5}), 2 + 10),
        (Q + cl.L2(0.0), 1),
        (Q + cl.LinearCost({"job=smith": -0.5}), 1 + 2 - 0.5),
    ]:
        assert ask(cost, *fixed).cost == pytest.approx(expected, abs=1e-12)


def test_q_ranges_over_the_numbers_by_order_or_by_name():
    Q = np.array([[1.0, 0.5], [0.5, 4.0]])
    plain = ask(cl.Quadratic(Q), cl.freeze("job"))
    named = ask(cl.Quadratic(pd.DataFrame(Q[::-1, ::-1], index=["b", "a"], columns=["b", "a"])), cl.freeze("job"))
    assert plain.cost == pytest.approx(16 / np.linalg.inv(Q).sum(), rel=1e-12)
    assert named.row == plain.row
    with pytest.raises(cl.CounterleafError, match=r"Q has shape \(3, 3\); expected \(2, 2\), one row per numeric feature"):
        ask(cl.Quadratic(np.eye(3)))
    with pytest.raises(cl.CounterleafError, match=r"Q and the table differ in the names \['b', 'job'\]"):
        ask(cl.Quadratic(pd.DataFrame(np.eye(2), index=["a", "job"], columns=["a", "job"])))


def test_whole_numbers_and_steps():
    Q = cl.Quadratic([[1.0, 0.0], [0.0, 1.0]])
    whole = ask(Q, cl.freeze("job"), a=cl.Numeric("a", -9, 9, integer=True), b=cl.Numeric("b", -9, 9, step=1.5))
    assert (whole.row["a"], whole.row["b"], whole.cost) == (1, 3.0, 10.0)  # 3 and 1.5 cost more, as do 2 and 3
    apart = ask(cl.Quadratic([[1.0, 0.9], [0.9, 1.0]]), cl.freeze("job"), a=cl.Numeric("a", -9, 9, integer=True))
    assert apart.cost == pytest.approx(15.2, abs=1e-9)
    assert apart.row["a"] in (2,)


def test_a_batch_gives_the_same_answers():
    rng = np.random.default_rng(5)
    schema = cl.Schema([cl.Numeric("a", -9, 9, integer=True), cl.Numeric("b", -9, 9), cl.Categorical("job", JOBS)])
    explainer = cl.Explainer(TREE, schema=schema)
    frame = pd.DataFrame({"a": rng.integers(-3, 2, 40), "b": rng.uniform(-3, 1, 40), "job": rng.choice(JOBS, 40)})
    question = {"target": "yes", "cost": cl.Quadratic([[1.0, 0.4], [0.4, 2.0]]), "constraints": cl.max_changes(2)}
    many = explainer.explain_many(frame, **question)
    for k in range(len(frame)):
        one = explainer.explain(frame.iloc[k], **question)
        assert many["cost"].iloc[k] == pytest.approx(one[0].cost, rel=1e-12, abs=1e-15)
