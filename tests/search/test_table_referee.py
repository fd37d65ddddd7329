"""The referees for tables against each other: solvers, brute force, and rows drawn at random."""

import math

import numpy as np
import pytest
from support import table_referee
from support.seeds import seeds, share
from support.table_cases import table_case
from support.table_codes import codes_of, columns, on, row_of, within

import counterleaf as cl


def agree(one, other, but, seed):
    for leaf in one.keys() - but:
        assert one[leaf] == pytest.approx(other[leaf], rel=1e-7, abs=1e-9), (seed, leaf)


@pytest.mark.parametrize("block", seeds(4))
def test_gurobi_agrees_with_brute_force(block):
    judged = 0
    for seed in range(30 * block, 30 * block + 30):
        rng = np.random.default_rng(seed)
        case = table_case(
            rng, groups=int(rng.integers(1, 6)), categories=6, numerics=int(rng.integers(3)), bounded=True, off_grid=True
        )
        brute = table_referee.brute_optima(case)
        if brute is not None:
            optima, thin = table_referee.leaf_optima(case)
            agree(brute, optima, thin, seed)
            judged += 1
    assert judged > 10


def test_highs_agrees_with_gurobi():
    judged = 0
    for seed in seeds(200, 230):
        case = table_case(np.random.default_rng(seed), groups=3, categories=8, numerics=3, depth=3, off_grid=True)
        if all(kind == "L1" for _, kind, *_ in case.terms):
            by_highs, thin = table_referee.leaf_optima(case, table_referee.highs)
            by_gurobi, also_thin = table_referee.leaf_optima(case)
            agree(by_highs, by_gurobi, thin | also_thin, seed)
            judged += 1
    assert judged > share(5)


@pytest.mark.slow
@pytest.mark.parametrize("block", seeds(4))
def test_no_row_undercuts_an_optimum(block):
    reached = 0
    for seed in range(300 + 15 * block, 315 + 15 * block):
        rng = np.random.default_rng(seed)
        case = table_case(rng, off_grid=bool(rng.integers(2)))
        optima, thin = table_referee.leaf_optima(case)
        codes = nearby(rng, case, 3000)
        codes = codes[case.obeys(codes)]
        if not len(codes):
            continue
        price, leaves = case.price(codes), case.tree.apply(columns(case.schema, codes))
        for leaf, best in optima.items():
            least = price[leaves == leaf].min(initial=math.inf)
            assert leaf in thin or least >= (1 - 1e-9) * best - 1e-9, (seed, leaf)
            reached += math.isfinite(least)
    assert reached > 15


def nearby(rng, case, n):
    """Rows in which a few features of the source are changed."""
    source = case.source
    codes = np.repeat(source[None], n, axis=0)
    for d, f in enumerate(case.schema):
        for i in np.flatnonzero(rng.random(n) < rng.choice([0.1, 0.3, 0.6], n)).tolist():
            if not isinstance(f, cl.Numeric):
                codes[i, d] = rng.integers(len(f.values))
                continue
            x = float(np.clip(source[d] + case.scale[d] * rng.normal() * rng.choice([0.3, 2]), f.lower, f.upper))
            codes[i, d] = x if f.grid is None else on(f, within(f, round(x / float(f.grid))))
    return codes


def test_rows_codes_and_columns():
    for seed in seeds(40):
        case = table_case(np.random.default_rng(seed), off_grid=True)
        codes = codes_of(case.schema, [case.row])
        assert row_of(case.schema, codes[0]) == case.row
        x = case.schema.encode(case.row)
        assert np.array_equal(case.schema.columns_of() @ x, columns(case.schema, codes)[0])
        assert case.tree.n_features == columns(case.schema, codes).shape[1] <= 150
        assert case.price(codes) == 0
