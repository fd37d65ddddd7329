"""Missing numbers that the model routes by itself: a gap may stay, may be filled in, and is made only where that is allowed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import counterleaf as cl


def random_model(
    seed: int, features: int = 4, depth: int = 5, share: float = 0.25, scale=1.0, kind: type = DecisionTreeClassifier
):
    """A tree fitted on random numbers with gaps, and its data."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(200, features)) * scale).round(2)
    score = np.where(rng.random(X.shape) < 0.5, X, -X).sum(axis=1)
    X[rng.random(X.shape) < share] = np.nan
    score = score + np.isnan(X) @ rng.normal(size=features)
    y = np.digitize(score, [-0.7 * scale, 0.7 * scale])
    return kind(max_depth=depth, random_state=seed).fit(X, y), X


def cheapest(model, row, target, weights, prices, allowed=(), lower=None, upper=None):
    """The least cost by brute force over the leaves, and over the gaps that stay, are filled in or are made."""
    tree, best = model.tree_, np.inf
    stack = [(0, {})]
    while stack:
        node, path = stack.pop()
        if tree.children_left[node] < 0:
            if model.classes_[tree.value[node, 0].argmax()] == target:
                best = min(best, _cost(path, row, weights, prices, allowed, lower, upper))
            continue
        d, cut = int(tree.feature[node]), tree.threshold[node]
        for right, child in ((False, tree.children_left[node]), (True, tree.children_right[node])):
            low, high, may_miss = path.get(d, (-np.inf, np.inf, True))
            low, high = (max(low, cut), high) if right else (low, min(high, cut))
            may_miss = may_miss and bool(tree.missing_go_to_left[node]) != right
            stack.append((int(child), {**path, d: (low, high, may_miss)}))
    return best


def _cost(path, row, weights, prices, allowed, lower, upper):
    total = 0.0
    for d in range(len(row)):
        low, high, may_miss = path.get(d, (-np.inf, np.inf, True))
        outer = (-np.inf if lower is None else lower[d]), (np.inf if upper is None else upper[d])
        fits = bool(max(low, outer[0]) < min(high, outer[1]) or (low < outer[0] <= min(high, outer[1])))
        ways = [np.inf]
        if np.isnan(row[d]):
            ways += [0.0] * may_miss + [prices[d]] * fits
        else:
            ways += [weights[d] * max(low - row[d], row[d] - high, 0.0)] * fits
            ways += [prices[d]] * (may_miss and d in allowed)
        total += min(ways)
    return total


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreeClassifier])
@pytest.mark.parametrize("seed", range(12))
def test_costs_are_those_of_brute_force(seed, kind):
    model, X = random_model(seed, kind=kind)
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.2, 2.0, X.shape[1])
    explainer = cl.Explainer(model)
    for row in X[:25]:
        target = int(rng.integers(len(model.classes_)))
        answer = explainer.explain(row, target=target, cost=cl.L1(weights))
        assert answer[0].cost == pytest.approx(cheapest(model, row, target, weights, 2 * weights), rel=1e-5, abs=1e-6)
        assert answer[0].confirmed
        assert answer.proved
        assert answer.certificate.check()
        assert model.predict([answer[0].row])[0] == target
        assert not (np.isnan(answer[0].row) & ~np.isnan(row)).any()


@pytest.mark.parametrize("seed", range(8))
def test_batches_answer_rows_with_gaps_as_explain_does(seed):
    model, X = random_model(seed)
    explainer = cl.Explainer(model, X)
    out = explainer.explain_many(X[:60], target=1)
    assert (out.status == "optimal").all()
    assert out.confirmed.all()
    for k, row in enumerate(X[:60]):
        answer = explainer.explain(row, target=1)
        assert out.cost[k] == answer[0].cost
        assert out.n_changed[k] == len(answer[0].changes)
        new = np.array([out[name][k] if name in out else row[d] for d, name in enumerate(explainer.schema.names)])
        assert np.array_equal(new, answer[0].row, equal_nan=True)
        assert model.apply([answer[0].row])[0] == out.leaf[k]


def test_numbers_are_left_out_only_where_that_is_allowed():
    made = 0
    for seed in range(8):
        model, X = random_model(seed, scale=20.0)
        allowed = {d for d in range(4) if d % 2 == seed % 2}
        schema = cl.Schema.infer(X)
        schema = schema.replace(*(cl.Numeric(f.name, missing="allowed") for d, f in enumerate(schema) if d in allowed))
        explainer, cost = cl.Explainer(model, schema=schema), cl.L1(np.full(4, 0.7))
        ends = [f.lower for f in schema], [f.upper for f in schema]
        out = explainer.explain_many(X[:25], target=2, cost=cost)
        for k, row in enumerate(X[:25]):
            answer = explainer.explain(row, target=2, cost=cost)
            least = cheapest(model, row, 2, np.full(4, 0.7), np.full(4, 1.4), allowed, *ends)
            assert answer[0].cost == pytest.approx(least, rel=1e-5, abs=1e-4)
            gone = np.isnan(answer[0].row) & ~np.isnan(row)
            assert answer[0].confirmed
            assert answer.certificate.check()
            assert set(np.flatnonzero(gone)) <= allowed
            assert out.cost[k] == answer[0].cost
            assert out.confirmed[k]
            assert out.n_changed[k] == len(answer[0].changes)
            cells = [out[name][k] if name in out else row[d] for d, name in enumerate(schema.names)]
            assert np.array_equal(cells, answer[0].row, equal_nan=True)
            made += gone.sum()
    assert made > 10


def test_many_questions_without_bounds_on_few_rows():
    found = 0
    for seed in range(40):
        model, X = random_model(100 + seed, features=3, depth=4, share=0.5)
        weights = np.array([1.0, 0.1, 3.0])
        for row, target in itertools.product(X[:6], (0, 1, 2)):
            answer = cl.Explainer(model).explain(row, target=target, cost=cl.L1(weights))
            least = cheapest(model, row, target, weights, 2 * weights)
            if not len(answer):
                assert least == np.inf
                continue
            assert answer[0].cost == pytest.approx(least, rel=1e-5, abs=1e-6)
            assert answer[0].confirmed
            found += (np.isnan(row) & ~np.isnan(answer[0].row)).any()
    assert found > 50  # answers that fill a gap in
