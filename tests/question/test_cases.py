"""Implications of every kind: the union of their cases is what they mean, and the best answer of all cases is the best."""

import itertools
import math

import numpy as np
import pytest
from support import table_referee
from support.seeds import seeds
from support.table_cases import rich_rules, table_case
from support.table_codes import on, row_of, within

import counterleaf as cl
from counterleaf.question.constraints.conditions import cases
from counterleaf.question.constraints.lowering import lower_constraints


def satisfies(case, schema, sources, points):
    """(n,) whether points satisfy the arrays of one case; ``sources`` has one row, or one for each point."""
    limits = lower_constraints(case, schema, sources)
    ok = ((limits.lower <= points) & (points <= limits.upper)).all(axis=1)
    for terms, relation, rhs in limits.rows:
        value = sum(a * points[:, d] for d, a in terms.items()) - rhs
        size = sum(abs(a * points[:, d]) for d, a in terms.items()) + abs(rhs)
        ok &= {">=": -value, "<=": value, "==": np.abs(value)}[relation] <= 1e-9 * size
    for clause in limits.clauses:
        ok &= inside(clause.first, points) | inside(clause.second, points)
    if limits.max_changes >= 0:
        spans = [schema.span(d) for d in range(len(schema))]
        changes = np.array([(points[:, at] != sources[:, at]).any(axis=1) for at in spans]).sum(axis=0)
        ok &= changes <= limits.max_changes
    if limits.pool is not None:
        ok &= (points[:, None] == limits.pool[None]).all(axis=2).any(axis=1)
    return ok


def inside(box, points):
    ok = np.ones(len(points), bool)
    for v, low, high in box:
        ok &= (low <= points[:, v]) & (points[:, v] <= high)
    return ok


def rows_near(rng, case, n):
    """Rows of the table, a few features of the source changed, and numbers next to each other."""
    source, schema = case.source, case.schema
    codes = np.concatenate([np.repeat(source[None], n, axis=0), case.pool[:60]])
    for d, f in enumerate(schema):
        for i in np.flatnonzero(rng.random(n) < rng.choice([0.1, 0.4, 0.8], n)).tolist():
            if not isinstance(f, cl.Numeric):
                codes[i, d] = rng.integers(len(f.values))
            else:
                x = float(np.clip(source[d] + case.scale[d] * rng.normal() * rng.choice([0.2, 1]), f.lower, f.upper))
                near = [np.nextafter(source[d], math.inf), np.nextafter(source[d], -math.inf)]
                x = float(rng.choice(near)) if f.grid is None and rng.random() < 0.1 else x
                codes[i, d] = x if f.grid is None else on(f, within(f, round(x / float(f.grid))))
    return codes


def spread(schema, codes):
    return codes if schema.numeric else schema.spread(codes)


@pytest.mark.parametrize("block", seeds(6))
def test_the_union_of_the_cases_is_what_the_implications_mean(block):
    several, both = 0, 0
    for seed in range(60 * block, 60 * block + 60):
        rng = np.random.default_rng(seed)
        case = table_case(rng, groups=int(rng.integers(0, 4)), categories=5, numerics=int(rng.integers(1, 4)), depth=1)
        case.rules = rich_rules(rng, case.schema, case.scale, case.source, case.pool, int(rng.integers(1, 4)))
        codes = rows_near(rng, case, 300)
        source, points = spread(case.schema, case.source[None]), spread(case.schema, codes)
        found = cases(case.constraints(), case.schema, source[0])
        expected = case.obeys(codes)
        fits = np.any([satisfies(one, case.schema, source, points) for one in found], axis=0)
        assert (fits == expected).all(), (seed, case.rules)
        shared = cases(case.constraints(), case.schema)  # right for every source
        many = np.repeat(source, len(points), axis=0)
        fits = np.any([satisfies(one, case.schema, many, points) for one in shared], axis=0)
        assert (fits == expected).all(), (seed, case.rules)
        several += len(found) > 1
        both += 0 < expected.sum() < len(expected)
    assert several > 10
    assert both > 30


def test_without_implications_there_is_one_case():
    schema = cl.Schema([cl.Numeric("a"), cl.Numeric("b")])
    assert cases((), schema, np.zeros(2)) == [()]
    constraints = (cl.freeze("a"), cl.linear({"a": 1, "b": 1}, ">=", 0), cl.max_changes(1))
    (only,) = cases(constraints, schema, np.zeros(2))
    assert only is constraints


@pytest.mark.parametrize(
    ("constraint", "count"),
    [
        (cl.implies(cl.changed("a"), cl.freeze("b")), 1),
        (cl.implies(cl.becomes("job", "cook"), cl.only_increase("a")), 1),
        (cl.implies(cl.stays("job"), cl.freeze("a", "b")), 1),
        (cl.implies(cl.between("a", lower=2), cl.freeze("b")), 1),  # its negation is one box
        (cl.implies(cl.between("a", 2, 3), cl.freeze("b")), 2),
        (cl.implies(cl.becomes("a", 2), cl.freeze("b")), 2),
        (cl.implies(cl.becomes("a", 0), cl.freeze("b")), 1),  # the source has the value
        (cl.implies(cl.freeze("a", "b"), cl.forbid("job", ["cook"])), 3),
        (cl.implies(cl.changed("a"), cl.linear({"a": 1, "b": 1}, ">=", 0)), 2),
        (cl.implies(cl.changed("a"), cl.max_changes(1)), 2),
        (cl.implies(cl.changed("a"), cl.implies(cl.changed("b"), cl.stays("job"))), 2),
        (cl.implies(cl.becomes("job", "clerk"), cl.linear({"a": 1, "b": 1}, ">=", 0)), 1),
    ],
    ids=str,
)
def test_the_number_of_cases(constraint, count):
    schema = cl.Schema([cl.Numeric("a", -9, 9), cl.Numeric("b", -9, 9), cl.Categorical("job", ["clerk", "cook"])])
    assert len(cases([constraint], schema, np.array([0.0, 0, 1, 0]))) == count


def test_too_many_cases_are_refused():
    schema = cl.Schema([cl.Numeric(f"x{k}") for k in range(8)])
    rules = [cl.implies(cl.between(k, 1, 2), cl.max_changes(3)) for k in range(7)]
    assert len(cases(rules[:6], schema, np.zeros(8))) == 64
    message = "the implications lead to 128 cases; expected at most 64: use fewer of them, or conditions on categories"
    with pytest.raises(cl.CounterleafError, match=message):
        cases(rules, schema, np.zeros(8))


def test_a_case_distinction_keeps_no_value_of_a_missing_number():
    """A row that lacks the number meets no condition on it, except that it stays as it is."""
    schema = cl.Schema([cl.Numeric("a", 0, 9, missing="allowed"), cl.Numeric("b", 0, 9)], gaps={"a": None})
    number, gap = np.array([4.0, 0.0, 5.0]), np.array([[0.0, 1.0, 5.0], [4.0, 0.0, 5.0], [5.0, 0.0, 5.0], [3.0, 0.0, 5.0]])
    for condition, met in [
        (cl.between("a", 4, 4), [0, 1, 0, 0]),
        (cl.stays("a"), [0, 1, 0, 0]),
        (cl.only_increase("a"), [0, 1, 1, 0]),
        (cl.becomes("a", 5), [0, 0, 1, 0]),
        (cl.changed("a"), [1, 0, 1, 1]),
    ]:
        found = cases([cl.implies(condition, cl.fix("b", 1))], schema, number)
        fits = np.any([satisfies(one, schema, number[None], gap) for one in found], axis=0)
        assert fits.tolist() == [not one for one in met], condition
    schema = cl.Schema([cl.Numeric("a", 0, 9, missing=True), cl.Numeric("b", 0, 9)], gaps={"a": 4.0})
    source = np.array([4.0, 1.0, 5.0])
    for condition, met in [
        (cl.between("a", 4, 4), [0, 1, 0, 0]),
        (cl.stays("a"), [1, 0, 0, 0]),
        (cl.only_increase("a", at_most="10%"), [1, 0, 0, 0]),
        (cl.becomes("a", 4), [0, 1, 0, 0]),
    ]:
        gap[0] = source
        found = cases([cl.implies(condition, cl.fix("b", 1))], schema, source)
        fits = np.any([satisfies(one, schema, source[None], gap) for one in found], axis=0)
        assert fits.tolist() == [not one for one in met], condition


def best_of_cases(case, explainer, source):
    """The least cost per leaf over all cases, each solved alone."""
    best = {}
    for one in cases(case.constraints(), case.schema, source):
        answer = explainer.explain(case.row, target=case.target, cost=case.cost(), constraints=one, count=None)
        assert answer.status in ("optimal", "infeasible")
        assert answer.certificate.check()
        for found in answer:
            best[found.leaf] = min(found.cost, best.get(found.leaf, math.inf))
    return best


@pytest.mark.parametrize("block", seeds(4))
def test_the_best_answer_of_all_cases_agrees_with_brute_force(block):
    judged = 0
    for seed in range(40 * block, 40 * block + 40):
        rng = np.random.default_rng(seed)
        case = table_case(
            rng,
            groups=int(rng.integers(1, 4)),
            categories=4,
            numerics=int(rng.integers(3)),
            depth=3,
            bounded=True,
            off_grid=bool(rng.integers(2)),
        )
        case.rules = rich_rules(rng, case.schema, case.scale, case.source, case.pool, int(rng.integers(1, 3)))
        brute = table_referee.brute_optima(case)
        if brute is None:
            continue
        source = spread(case.schema, case.source[None])[0]
        best = best_of_cases(case, cl.Explainer(case.tree, schema=case.schema), source)
        for leaf, cost in brute.items():
            assert best.get(leaf, math.inf) == pytest.approx(cost, rel=1e-9, abs=1e-9), (seed, case.rules)
        judged += 1
    assert judged > 10


def test_rows_of_a_case_are_rows_of_the_table():
    """The helper of this file decodes as the library does."""
    case = table_case(np.random.default_rng(0), groups=2, categories=4, numerics=2)
    assert case.schema.decode(spread(case.schema, case.source[None])[0], case.row) == row_of(case.schema, case.source)


LEVELS = ["low", "mid", "high"]
IMPLICATIONS = [
    cl.implies(cl.stays("job"), cl.only_increase("age", by=2)),
    cl.implies(cl.becomes("job", "cook"), cl.within("age", 1, None)),
    cl.implies(cl.between("age", 22, 24), cl.freeze("school")),
    cl.implies(cl.becomes("age", 25), cl.becomes("school", "high")),
    cl.implies(cl.freeze("job", "school"), cl.linear({"age": 1, "pay": 1}, ">=", 26)),
    cl.implies(cl.changed("age"), cl.implies(cl.stays("pay"), cl.max_changes(1))),
]


def loan():
    """ "yes" iff age + 2 pay + 3 school + 2 [cook] >= 30."""
    weights = [[1.0, 2.0, 3.0, 0.0, 2.0], [0] * 5, [0] * 5]
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-30.0, 0, 0], [-1, 0, 1], ["no", "yes"], closed="right")
    numbers = [cl.Numeric("age", 20, 27, integer=True), cl.Numeric("pay", 0, 3, integer=True)]
    return cl.Explainer(
        tree, schema=cl.Schema([*numbers, cl.Ordinal("school", LEVELS), cl.Categorical("job", ["clerk", "cook"])])
    )


def least(row, holds):
    """The least cost by enumeration, under L1 with a price of 2 for a change of job."""
    best = math.inf
    for age, pay, school, job in itertools.product(range(20, 28), range(4), range(3), (0, 1)):
        if age + 2 * pay + 3 * school + 2 * job >= 30 and holds(age, pay, school, job):
            moved = abs(age - row["age"]) + abs(pay - row["pay"]) + abs(school - LEVELS.index(row["school"]))
            best = min(best, moved + 2.0 * (job != (row["job"] == "cook")))
    return best


def meaning(k, row):
    """What the implications above mean for a row."""
    old = row["age"], row["pay"], LEVELS.index(row["school"]), int(row["job"] == "cook")
    return [
        lambda a, p, s, j: j != old[3] or a >= old[0] + 2,
        lambda a, p, s, j: not (j == 1 != old[3]) or a >= old[0] + 1,
        lambda a, p, s, j: not 22 <= a <= 24 or s == old[2],
        lambda a, p, s, j: not (a == 25 != old[0]) or s == 2,
        lambda a, p, s, j: (j, s) != (old[3], old[2]) or a + p >= 26,
        lambda a, p, s, j: a == old[0] or p != old[1] or (s, j) == old[2:],
    ][k]


@pytest.mark.parametrize("k", range(len(IMPLICATIONS)), ids=list(map(str, IMPLICATIONS)))
def test_implications_agree_with_enumeration(k):
    explainer = loan()
    for age, pay, school, job in itertools.product((20, 23, 25), (0, 2), LEVELS, ("clerk", "cook")):
        row = {"age": age, "pay": pay, "school": school, "job": job}
        best = math.inf
        for one in cases([IMPLICATIONS[k]], explainer.schema, explainer.schema.encode(row)):
            answer = explainer.explain(row, target="yes", cost=cl.L1(), constraints=one)
            assert answer.certificate.check()
            best = min([best, *(c.cost for c in answer)])
        assert best == pytest.approx(least(row, meaning(k, row))), row
