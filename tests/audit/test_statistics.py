"""Intervals against brute force, tests against SciPy, Holm's correction against its definition."""

import itertools

import numpy as np
import pytest
from scipy import stats

from counterleaf.audit.measures.comparisons import COST, HAS, SHARE, compare
from counterleaf.audit.measures.differences import interval, mean_draws, newcombe, order_draws, wilson
from counterleaf.audit.report.cases import Cases, State
from counterleaf.audit.report.groups import Grouping


def quantiles(draws):
    return np.quantile(draws, [0.05, 0.25, 0.5, 0.75, 0.95])


def brute(values, figure, draws=20_000):
    rng = np.random.default_rng(1)
    return np.array([figure(np.sort(rng.choice(values, len(values)))) for _ in range(draws)])


@pytest.mark.parametrize(
    ("one", "other", "ends"),
    [
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((6, 7), (2, 7), (0.0582, 0.8062)),
        ((10, 10), (0, 10), (0.6075, 1.0)),
    ],
)
def test_newcombe_on_the_examples_of_the_paper(one, other, ends):
    """Table II of Newcombe (1998), method 10."""
    assert newcombe(one, other) == pytest.approx(ends, abs=5e-5)
    assert newcombe(other, one) == pytest.approx((-ends[1], -ends[0]), abs=5e-5)


@pytest.mark.parametrize(("hits", "n"), [(0, 4), (4, 4), (1, 30), (17, 60), (999, 1000)])
def test_wilson_holds_the_shares_that_a_score_test_accepts(hits, n):
    ends = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert wilson(hits, n) == pytest.approx((ends.low, ends.high), abs=1e-12)


@pytest.mark.parametrize(("p", "q"), [(0.97, 0.55), (0.5, 0.5), (0.02, 0.01)])
def test_newcombe_covers_the_difference_in_small_groups(p, q):
    rng = np.random.default_rng(0)
    pairs = zip(rng.binomial(30, p, 1000).tolist(), rng.binomial(200, q, 1000).tolist(), strict=True)
    ends = [newcombe((a, 30), (b, 200)) for a, b in pairs]
    assert np.mean([low <= p - q <= high for low, high in ends]) > 0.93


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_a_bootstrapped_order_statistic_has_its_exact_distribution(n, share):
    values = np.sort(np.random.default_rng(2).gamma(2.0, size=n))
    k = int(np.ceil(share * n))
    drawn = order_draws(np.random.default_rng(0), values, share)
    again = brute(values, lambda sample: sample[k - 1])
    for value in values:  # the two distribution functions agree
        assert (drawn <= value).mean() == pytest.approx((again <= value).mean(), abs=0.02)


def test_values_that_are_not_reachable_come_last():
    drawn = order_draws(np.random.default_rng(0), np.array([1.0, 2.0]), 0.5, n=4)
    again = brute(np.array([1.0, 2.0, np.inf, np.inf]), lambda sample: sample[1])
    for value in (1.0, 2.0):
        assert (drawn <= value).mean() == pytest.approx((again <= value).mean(), abs=0.02)
    assert np.isinf(drawn).any()


@pytest.mark.parametrize(("n", "method"), [(60, "resampled rows"), (5000, "normal approximation"), (4000, "multinomial")])
def test_a_bootstrapped_mean(n, method):
    rng = np.random.default_rng(3)
    values = rng.gamma(2.0, size=n)
    values = np.round(values * 4) if method == "multinomial" else values
    values = np.r_[values, np.arange(1000.0, 1300.0)] / 1000 if method == "resampled rows" else values
    drawn, found = mean_draws(np.random.default_rng(0), values)
    assert found == f"bootstrap ({method})"
    assert drawn.mean() == pytest.approx(values.mean(), rel=0.01)
    assert drawn.std() == pytest.approx(values.std() / np.sqrt(len(values)), rel=0.05)
    if method == "multinomial":
        counted, counts = np.unique(values, return_counts=True)
        again, _ = mean_draws(np.random.default_rng(0), counted, counts)
        assert (again == drawn).all()


def test_intervals_with_infinite_and_undefined_ends():
    draws = np.r_[np.full(5000, 1.0), np.full(5000, np.inf)]
    assert interval(draws) == (1.0, np.inf)
    assert np.isnan(interval(np.r_[draws, np.nan])).all()
    assert interval(np.arange(1.0, 10_001)) == (250.0, 9750.0)


def random_cases(n, seed):
    rng = np.random.default_rng(seed)
    state = rng.choice([State.HAS, State.CAN, State.CANNOT, State.INVALID], n, p=[0.3, 0.4, 0.25, 0.05]).astype(np.int8)
    costs = np.where(state == State.CAN, np.round(rng.gamma(2.0, size=n), 1), np.nan)
    cases = Cases(state, costs, np.where(state == State.CAN, 0, -1).astype(np.int32), ((0,),), {}, 1.0, 0, 0)
    groupings = [
        Grouping("a", ("x", "y"), rng.integers(0, 2, n).astype(np.int16)),
        Grouping("b", ("p", "q", "r"), rng.choice(3, n, p=[0.1, 0.3, 0.6]).astype(np.int16)),
    ]
    return cases, groupings


@pytest.mark.parametrize(("n", "least"), [(500, 10), (120, 3), (40, 2)])
def test_comparisons_are_those_of_scipy(n, least):
    cases, groupings = random_cases(n, n)
    found = {(one.labels, one.figure): one for one in compare(cases, groupings, least)}
    seen = set()
    singles = [((g,), (k,)) for g in groupings for k in range(len(g))]
    pairs = [(tuple(groupings), cell) for cell in itertools.product(range(2), range(3))]
    for columns, cell in singles + pairs:
        inside = np.all([g.codes == k for g, k in zip(columns, cell, strict=True)], axis=0)
        labels = tuple(g.labels[k] for g, k in zip(columns, cell, strict=True))
        if labels == ("y",):  # the rest of "x"
            continue
        decided, stuck = np.isin(cases.state, [State.CAN, State.CANNOT]), cases.state == State.CANNOT
        table = [[(part & stuck).sum(), (part & decided & ~stuck).sum()] for part in (inside, ~inside)]
        if min(map(sum, table)) >= least:
            one = found[labels, SHARE]
            seen.add((labels, SHARE))
            exact = stats.contingency.expected_freq(table).min() < 5
            p = stats.fisher_exact(table)[1] if exact else stats.chi2_contingency(table, correction=False)[1]
            assert one.test == ("Fisher" if exact else "chi-square")
            assert one.p == pytest.approx(p, rel=1e-9)
            assert (one.rows, one.rest_rows) == tuple(map(sum, table))
            assert one.effect == pytest.approx(table[0][0] / sum(table[0]) - table[1][0] / sum(table[1]))
        valid, has = cases.state != State.INVALID, cases.state == State.HAS
        table = [[(part & has).sum(), (part & valid & ~has).sum()] for part in (inside, ~inside)]
        if min(map(sum, table)) >= least:
            one = found[labels, HAS]
            seen.add((labels, HAS))
            exact = stats.contingency.expected_freq(table).min() < 5
            p = stats.fisher_exact(table)[1] if exact else stats.chi2_contingency(table, correction=False)[1]
            assert one.p == pytest.approx(p, rel=1e-9)
            assert (one.value, one.rest_value) == pytest.approx(tuple(row[0] / sum(row) for row in table))
        costs, others = (cases.costs[part & (cases.state == State.CAN)] for part in (inside, ~inside))
        if min(len(costs), len(others)) >= least:
            one = found[labels, COST]
            seen.add((labels, COST))
            test = stats.mannwhitneyu(costs, others, method="asymptotic")
            assert one.p == pytest.approx(test.pvalue, rel=1e-9)
            assert one.effect == pytest.approx(2 * test.statistic / len(costs) / len(others) - 1)
            medians = [np.sort(part)[(len(part) - 1) // 2] for part in (costs, others)]
            assert [one.value, one.rest_value] == medians
    assert seen == set(found)
    ps = sorted(one.p for one in found.values())
    adjusted = np.minimum(np.maximum.accumulate([p * (len(ps) - k) for k, p in enumerate(ps)]), 1)
    assert sorted(one.adjusted for one in found.values()) == pytest.approx(adjusted.tolist())


def test_groups_that_do_not_differ():
    cases, groupings = random_cases(300, 5)
    same = Cases(cases.state, np.where(np.isnan(cases.costs), np.nan, 1.0), cases.patterns, cases.sets, {}, 1.0, 0, 0)
    assert all(one.p == 1.0 and one.effect == 0.0 for one in compare(same, groupings) if one.figure == COST)
    everyone = Cases(np.full(300, State.CAN, np.int8), np.ones(300), np.zeros(300, np.int32), ((0,),), {}, 1.0, 0, 0)
    assert {one.p for one in compare(everyone, groupings)} == {1.0}
    assert compare(everyone, groupings, 400) == []
    nobody = Cases(np.full(300, State.HAS, np.int8), np.full(300, np.nan), np.full(300, -1), ((0,),), {}, 1.0, 0, 0)
    assert {one.figure for one in compare(nobody, groupings)} == {HAS}
    assert {one.p for one in compare(nobody, groupings)} == {1.0}
