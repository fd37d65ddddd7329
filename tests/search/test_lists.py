"""Numbers that are restricted to a list: against brute force, in the core, in batches and in proofs."""

import itertools

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.seeds import seeds

import counterleaf as cl
from counterleaf.question.arrays import Grids

VALUES = {"a": [-3.0, 0.5, 1.0, 7.25], "b": [36.0, 60.0], "c": None}


def explainer_of(tree):
    features = [cl.Numeric(n, values=v) if v else cl.Numeric(n, 0, 4, integer=True) for n, v in VALUES.items()]
    return cl.Explainer(tree, schema=cl.Schema(features))


def table():
    return np.array(list(itertools.product(VALUES["a"], VALUES["b"], range(5))), float)


@pytest.mark.parametrize("seed", seeds(10))
def test_axis_aligned_trees(seed):
    rng, grid = np.random.default_rng(seed), table()
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(grid, rng.integers(0, 2, len(grid)))
    explainer = explainer_of(model)
    off_list = grid[::3] + rng.uniform(-0.4, 0.4, (len(grid[::3]), 3)) * [1, 1, 0]  # the source's number is always allowed
    off_list = np.clip(off_list, [-3.0, 36.0, 0.0], [7.25, 60.0, 4.0])
    for cost, phi in ((cl.L1([1.0, 0.1, 1.0]), lambda d: abs(d) @ [1.0, 0.1, 1.0]), (cl.L2(), lambda d: (d**2).sum(axis=1))):
        rows = np.vstack([grid[::7], off_list])
        many = explainer.explain_many(rows, target=1, cost=cost)
        for k, row in enumerate(rows):
            choices = [sorted({*VALUES["a"], row[0]}), sorted({*VALUES["b"], row[1]}), range(5)]
            every = np.array(list(itertools.product(*choices)), float)
            reached = every[model.predict(every) == 1]
            assert many["cost"][k] == pytest.approx(phi(reached - row).min(initial=np.inf), abs=1e-12)
            if k % 5 == 0:
                answer = explainer.explain(row, target=1, cost=cost)
                assert answer[0].cost == many["cost"][k]
                assert answer.certificate.check()
                assert cl.Explanation.from_json(answer.to_json()).certificate.check()


@pytest.mark.parametrize("seed", seeds(12))
def test_oblique_trees(seed):
    rng, grid = np.random.default_rng(seed), table()
    weights = np.vstack([rng.normal(size=(3, 3)) / [3, 12, 2], np.zeros((4, 3))])
    bias = np.append(-(weights[:3] @ grid.mean(axis=0)), np.zeros(4))
    tree = cl.Tree([1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1], weights, bias, [-1, -1, -1, 0, 1, 0, 1])
    explainer = explainer_of(tree)
    cost = [cl.L1([1.0, 0.1, 1.0]), cl.L2(), cl.L1([1.0, 0.1, 1.0]) + cl.Changes(0.3)][seed % 3]
    prices = [lambda d: abs(d) @ [1.0, 0.1, 1.0], lambda d: (d**2).sum(axis=1)]
    prices.append(lambda d: abs(d) @ [1.0, 0.1, 1.0] + 0.3 * (d != 0).sum(axis=1))
    reached = grid[tree.predict(grid) == 1]
    for row in grid[::6]:
        answer = explainer.explain(row, target=1, cost=cost)
        best = prices[seed % 3](reached - row).min(initial=np.inf)
        assert (answer[0].cost if len(answer) else np.inf) == pytest.approx(best, abs=1e-9)
        assert answer.certificate.check()


def test_the_numbers_of_a_grid():
    grids = Grids(np.array([[0.0, 1.0, 0.0], [0.0, 2.0, 0.0]]), np.array([0, 3, 3, 3]), np.array([1.0, 2.0, 5.0]))
    source = np.array([3.0, 0.2, 0.0])
    assert grids.on.tolist() == [True, True, False]
    assert grids.below(source, np.array([4.0, 0.9, 0.3])).tolist() == [3.0, 0.5, 0.3]
    assert grids.above(source, np.array([4.0, 0.6, 0.3])).tolist() == [5.0, 1.0, 0.3]
    assert grids.below(source, np.array([0.5, 0.1, 0.3])).tolist() == [-np.inf, 0.0, 0.3]
    assert grids.above(source, np.array([6.0, 0.1, 0.3])).tolist() == [np.inf, 0.2, 0.3]
    assert grids.at(np.array([2, 0])).below(source[[2, 0]], np.array([9.0, 2.5])).tolist() == [9.0, 2.0]


def test_a_forged_list_is_found_out():
    grid = table()
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(grid, grid[:, 0] > 0.7)
    answer = explainer_of(model).explain([-3.0, 36.0, 1.0], target=True, cost=cl.L1())
    problem = answer.certificate.problem
    question, made = problem.question, problem.table
    assert answer.certificate.check()
    wider = made.grids._replace(values=np.sort(np.where(made.grids.values == 1.0, 0.9, made.grids.values)))
    problem.__dict__["_posed"] = question, made._replace(grids=wider)
    assert not answer.certificate.check()
