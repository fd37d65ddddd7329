"""Missing numbers that the model routes by itself: a gap may stay, may be filled in, and is made only where that is allowed."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from support.seeds import seeds, share

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
@pytest.mark.parametrize("seed", seeds(12))
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


@pytest.mark.parametrize("seed", seeds(8))
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
    for seed in seeds(8):
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
    assert made > share(10)


def test_many_questions_without_bounds_on_few_rows():
    found = 0
    for seed in seeds(40):
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
    assert found > share(50)  # answers that fill a gap in


@pytest.fixture(scope="module")
def simple():
    """A model that grants above 5 in a, or above 5 in b, and takes a gap for a small number."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 11, size=(400, 2)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = np.where((X > 5).any(axis=1), "granted", "refused")
    return DecisionTreeClassifier(random_state=0).fit(pd.DataFrame(X, columns=["a", "b"]), y)


def grant(model, row, *constraints, cost=None, schema=None):
    answer = cl.Explainer(model, schema=schema).explain(row, target="granted", cost=cost, constraints=constraints)
    assert answer.certificate.check()
    for one in answer:
        assert one.confirmed
        assert model.predict(pd.DataFrame([one.row]))[0] == "granted"
    return answer


GAP = {"a": None, "b": 2.0}


def test_a_gap_is_filled_in_at_the_price_of_a_change_of_category(simple):
    answer = grant(simple, GAP)
    assert answer.source_label == "refused"
    assert answer[0].cost == 2.0
    assert list(answer[0].changes) == ["a"]
    assert answer[0].row["a"] == pytest.approx(5.5, rel=1e-6)
    assert answer[0].row["b"] == 2.0
    assert "a were 5.501 instead of (missing)" in str(answer)
    assert grant(simple, GAP, cost=cl.L1({"a": 3.0}))[0].cost == pytest.approx(3.5)  # b moves instead, and a stays missing
    assert np.isnan(grant(simple, {"a": np.nan, "b": 5.0})[0].row["a"])
    kept = cl.Explainer(simple).explain({"a": pd.NA, "b": 9.0}, target="granted")
    assert kept[0].cost == 0
    assert kept[0].confirmed
    assert kept[0].row == {"a": pd.NA, "b": 9.0}


def test_a_gap_is_filled_in_with_a_typical_number_of_the_grid(simple):
    data = pd.DataFrame({"a": [7.0, 7.4, 9.0, np.nan], "b": [0.0, 2.0, 9.0, 1.0]})
    cost = cl.L1("range", multiplier={"a": 0.1})
    assert cl.Explainer(simple, data).explain(GAP, target="granted", cost=cost)[0].row == {"a": 7.4, "b": 2.0}
    assert cl.Explainer(simple, data).explain(GAP, target="granted", cost=cost)[0].cost == pytest.approx(0.1)
    stepped = cl.Schema([cl.Numeric("a", 0, 10, step=0.25), cl.Numeric("b", integer=True)])
    assert cl.Explainer(simple, data, stepped).explain(GAP, target="granted", cost=cost)[0].row["a"] == 7.5
    assert grant(simple, GAP, schema=stepped)[0].row["a"] == 5.75
    bounded = cl.Schema([cl.Numeric("a", 8, 10), cl.Numeric("b")])
    assert grant(simple, GAP, schema=bounded)[0].row["a"] == 8


def test_constraints_on_a_gap(simple):
    frozen = grant(simple, GAP, cl.freeze("a"), cost=cl.L1())
    assert frozen[0].row["a"] is None
    assert frozen[0].cost == pytest.approx(3.5)
    assert not grant(simple, GAP, cl.freeze("a", "b"))
    assert grant(simple, GAP, cl.fix("a", 7), cost=cl.L1())[0].row == {"a": 7.0, "b": 2.0}
    asked = grant(simple, GAP, cl.between("a", 0, 1), cost=cl.L1())[0]
    assert asked.row["a"] == 0
    assert asked.cost == pytest.approx(2 + 3.5)  # the number is filled in although that does not help
    for constraint in (cl.only_increase("a"), cl.only_decrease("a", at_most=3)):
        assert grant(simple, GAP, constraint, cost=cl.L1())[0].row["a"] is None
    with pytest.raises(cl.CounterleafError, match=r"only_increase.*'a' of the row is missing, so it has no number to compare"):
        grant(simple, GAP, cl.only_increase("a", by=1))
    summed = grant(simple, GAP, cl.linear({"a": 1, "b": 1}, ">=", 20), cost=cl.L1())[0]
    assert summed.cost == 2
    assert summed.row == {"a": 18.0, "b": 2.0}
    assert grant(simple, GAP, cl.linear({"a": 2}, "<=", 2), cost=cl.L1())[0].cost == pytest.approx(5.5)
    assert not grant(simple, GAP, cl.max_changes(0))
    assert list(grant(simple, GAP, cl.max_changes(1))[0].changes) == ["a"]
    both = grant(simple, GAP, cl.implies(cl.changed("a"), cl.fix("b", 0)), cost=cl.L1())[0]
    assert both.cost == pytest.approx(3.5)
    assert both.row["a"] is None
    with pytest.raises(cl.CounterleafError, match="feature 'a' is a number; use between or fix"):
        grant(simple, GAP, cl.allow("a", [1]))


def test_rows_of_among_may_have_the_gaps_of_the_row(simple):
    pool = pd.DataFrame({"a": [np.nan, 7.0, np.nan], "b": [9.0, 2.0, 2.0]})
    answer = grant(simple, GAP, cl.among(pool), cost=cl.L1())
    assert answer[0].row == {"a": 7.0, "b": 2.0}
    assert answer[0].cost == 2.0
    assert grant(simple, GAP, cl.among(pool), cost=cl.L1({"b": 0.1}))[0].row == {"a": None, "b": 9.0}
    with pytest.raises(cl.CounterleafError, match="among got NaN or infinity in column 'a'"):
        grant(simple, {"a": 1.0, "b": 2.0}, cl.among(pool))


def test_costs_of_a_gap(simple):
    assert grant(simple, GAP, cost=cl.L2({"b": 0.01}))[0].cost == pytest.approx(0.01 * 3.5**2)
    assert grant(simple, GAP, cost=cl.Quadratic([[2.0, 1.0], [1.0, 2.0]]))[0].cost == pytest.approx(2.0)
    assert grant(simple, GAP, cost=0.5 * cl.Quadratic([[2.0, 1.0], [1.0, 2.0]]))[0].cost == pytest.approx(1.0)
    cheap = cl.Quadratic([[2.0, 0.01], [0.01, 0.1]])
    assert grant(simple, GAP, cost=cheap)[0].cost == pytest.approx(0.1 * 3.5**2)
    assert grant(simple, GAP, cl.fix("b", 3), cost=cheap)[0].cost == pytest.approx(2.1)
    assert grant(simple, GAP, cost=cl.L1() + cl.LinearCost({"a": -0.5}))[0].cost == 2.0  # a gap has nothing to move from
    assert grant(simple, GAP, cost=cl.L1(up=1, down=3))[0].cost == pytest.approx(3.5)


def test_margins_do_not_count_between_missing_and_known(simple):
    answer = cl.Explainer(simple).explain(GAP, target="granted", margin=3.0)
    assert answer[0].row["a"] == 8.5
    assert answer[0].confirmed
    kept = cl.Explainer(simple).explain(GAP, target="refused", margin=3.0)
    assert kept[0].cost == 0


def test_a_number_that_may_be_left_out(simple):
    gone = cl.Schema([cl.Numeric("a", missing="allowed"), cl.Numeric("b")])
    assert str(gone).split("\n")[1] == "  a  number, may be left out"
    explainer = cl.Explainer(simple, schema=gone)
    answer = explainer.explain({"a": 90.0, "b": 2.0}, target="refused", cost=cl.L1())
    assert answer[0].cost == 2.0
    assert np.isnan(answer[0].row["a"])
    assert answer[0].confirmed
    assert "a were (missing) instead of 90" in str(answer)
    assert cl.Explanation.from_json(answer.to_json())[0].changes.keys() == {"a"}
    for constraint in (cl.freeze("a"), cl.only_increase("a"), cl.fix("a", 90)):
        assert not explainer.explain({"a": 90.0, "b": 2.0}, target="refused", constraints=constraint)
    frame = pd.DataFrame({"a": [90, 7], "b": [2, 2]})
    out = explainer.explain_many(frame, target="refused", cost=cl.L1())
    assert out["a"].isna().tolist() == [True, False]
    assert out.confirmed.all()
    same = cl.Explainer.from_json(explainer.to_json()).explain_many(frame, target="refused", cost=cl.L1())
    pd.testing.assert_frame_equal(out, same)
    wider = cl.Explainer(simple).with_features(cl.Numeric("a", missing="allowed"))
    assert wider.explain({"a": 90.0, "b": 2.0}, target="refused", cost=cl.L1())[0].cost == 2.0


@pytest.mark.parametrize(
    "cost",
    [
        cl.L1() + cl.LinearCost({"a": 1.5}),
        cl.L1() + cl.LinearCost({"a": -1.5}),
        cl.L2() + cl.LinearCost({"a": -0.5}),
        cl.L1(up=1.0, down=0.0) + cl.LinearCost({"a": 0.1}),
        cl.Quadratic([[2.0, 0.5], [0.5, 1.0]]),
    ],
    ids=str,
)
def test_a_number_that_may_be_left_out_cannot_lower_the_cost(simple, cost):
    explainer = cl.Explainer(simple, schema=cl.Schema([cl.Numeric("a", 0, 99, missing="allowed"), cl.Numeric("b", 0, 9)]))
    message = (
        "feature 'a' may be left out, and a change of it can lower the cost; remove missing='allowed', or price it by L1 or "
        "L2 alone"
    )
    with pytest.raises(cl.CounterleafError) as caught:
        explainer.explain({"a": 90.0, "b": 2.0}, target="refused", cost=cost)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("cost", "least"),
    [(cl.Changes(), 1.0), (cl.L1() + cl.LinearCost({"a": 0.5, "b": -0.5}), 2.0), (cl.Quadratic(np.eye(2)), 2.0)],
    ids=str,
)
def test_leaving_a_number_out_has_a_price_of_its_own(simple, cost, least):
    explainer = cl.Explainer(simple, schema=cl.Schema([cl.Numeric("a", 0, 99, missing="allowed"), cl.Numeric("b", 0, 9)]))
    answer = explainer.explain({"a": 90.0, "b": 2.0}, target="refused", cost=cost)
    assert answer[0].cost == pytest.approx(least)
    assert answer[0].confirmed
    assert answer.certificate.check()


def test_a_number_that_may_be_left_out_lies_within_its_bounds(simple):
    explainer = cl.Explainer(simple, schema=cl.Schema([cl.Numeric("a", 0, 10, missing="allowed"), cl.Numeric("b")]))
    with pytest.raises(cl.CounterleafError, match="feature 'a' of the row is 90, outside of its bounds, and has missing"):
        explainer.explain({"a": 90.0, "b": 2.0}, target="refused")
    out = explainer.explain_many(pd.DataFrame({"a": [90.0, 9.0, np.nan], "b": [2.0, 2.0, 2.0]}), target="refused")
    assert out["status"].tolist() == ["invalid", "optimal", "optimal"]
    assert out["problem"][0].startswith("feature 'a' of the row is 90, outside of its bounds")


def test_what_cannot_be_missing_is_refused(simple, monkeypatch):
    with pytest.raises(cl.CounterleafError, match=r"""feature 'a': missing is 'maybe'; expected True, False or "allowed"$"""):
        cl.Numeric("a", missing="maybe")
    tree = cl.read_tree(simple)
    schema = cl.Schema([cl.Numeric("a", missing="allowed"), cl.Numeric("b")])
    with pytest.raises(cl.CounterleafError, match=r"""'a' has missing="allowed", but the model has no route for a missing"""):
        cl.Explainer(tree, schema=schema)
    with pytest.raises(cl.CounterleafError, match="'a' of the row is nan; expected a finite number: fill it in first"):
        cl.Explainer(tree, schema=cl.Schema([cl.Numeric("a"), cl.Numeric("b")])).explain(GAP)
    with pytest.raises(cl.CounterleafError, match="feature 'b' of the row is inf; expected a finite number"):
        cl.Explainer(simple).explain({"a": None, "b": np.inf})
    monkeypatch.setattr("counterleaf.model.gaps._MOST_NODES", 5)
    with pytest.raises(cl.CounterleafError, match="the tree would need more than 5 nodes for the missing numbers; fill some"):
        cl.Explainer(simple).explain(GAP)


def pipelines():
    """Pipelines over three numbers in which a gap is not the same as a number."""
    numbers = ["a", "b", "c"]
    return {
        "passthrough": make_column_transformer(("passthrough", numbers)),
        "some": make_column_transformer((SimpleImputer(), ["a"]), ("passthrough", ["b", "c"])),
        "add_indicator": SimpleImputer(strategy="median", add_indicator=True),
        "MissingIndicator": make_union(SimpleImputer(), MissingIndicator(features="all")),
        "nested": make_pipeline(
            make_column_transformer((SimpleImputer(add_indicator=True), ["a", "b"]), ("passthrough", ["c"]))
        ),
    }


@pytest.mark.parametrize("name", list(pipelines()))
def test_pipelines_route_gaps(name):
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.normal(size=(300, 3)).round(1), columns=["a", "b", "c"]).mask(rng.random((300, 3)) < 0.3)
    score = table["a"].fillna(1.0) - table["b"].fillna(-0.5) * np.where(table["c"].isna(), 2, -1)
    y = np.digitize(score, [-0.5, 0.5])
    model = make_pipeline(pipelines()[name], DecisionTreeClassifier(max_depth=3, random_state=0)).fit(table, y)
    explainer, tree = cl.Explainer(model, table), model[-1].tree_
    weights = np.array([0.3, 0.2, 0.1])
    fills = explainer.schema.fills
    filled = 0
    edges = np.unique(tree.threshold[tree.feature >= 0].astype(np.float32))
    edges = edges[np.isfinite(edges)].tolist()
    values = [float(v) for edge in edges for v in (np.nextafter(np.float32(edge), np.float32(k)) for k in (-9, 9))]
    values += edges
    out = explainer.explain_many(table[:8], target=1, cost=cl.L1(weights))
    assert out.confirmed.all()
    for r in range(8):
        row = table.iloc[r]
        choices = []
        for d, column in enumerate(table):
            low, high = table[column].min(), table[column].max()
            inside = [v for v in values if low <= v <= high] + [low, high]
            gap = np.isnan(row[column])
            source = fills.get(column, np.nan) if gap else row[column]
            price = [2 * weights[d] if np.isnan(source) else weights[d] * abs(v - source) for v in inside]
            choices.append([(row[column], 0.0), *zip(inside, price, strict=True)])
            filled += gap
        rows, costs = zip(*(zip(*one, strict=True) for one in itertools.product(*choices)), strict=True)
        costs = np.sum(costs, axis=1)
        predicted = model.predict(pd.DataFrame(rows, columns=table.columns))
        answer = explainer.explain(row, target=1, cost=cl.L1(weights))
        assert answer[0].confirmed
        assert answer.certificate.check()
        assert answer[0].cost == pytest.approx(costs[predicted == 1].min(), rel=1e-5, abs=1e-6)
        assert out.cost.iloc[r] == answer[0].cost
    assert filled > 2


def test_a_pipeline_without_a_route_is_refused():
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 3.0, 2.0, 5.0]})
    model = make_pipeline(KBinsDiscretizer(2), DecisionTreeClassifier()).fit(table, [0, 0, 1, 1])
    with pytest.raises(cl.CounterleafError, match="feature 'a' may be missing, but the pipeline refuses that"):
        cl.Explainer(model, table).explain({"a": None, "b": 1.0})
    filling = make_pipeline(SimpleImputer(), DecisionTreeClassifier()).fit(table, [0, 0, 1, 1])
    schema = cl.Schema([cl.Numeric("a", missing="allowed"), cl.Numeric("b")])
    with pytest.raises(
        cl.CounterleafError, match=r"""'a' has missing="allowed", but the model fills it in; use missing=True"""
    ):
        cl.Explainer(filling, schema=schema)
    with pytest.raises(cl.CounterleafError, match=r"""'a' has missing="allowed", but the model has no route"""):
        cl.Explainer(model, schema=schema)


def boosted(kind, regression):
    if kind == "hist":
        made = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
        return made(max_iter=1, max_depth=3, min_samples_leaf=5, learning_rate=1.0)
    library = pytest.importorskip("xgboost" if kind == "xgboost" else "lightgbm")
    name = {"xgboost": "XGB", "lightgbm": "LGBM"}[kind] + ("Regressor" if regression else "Classifier")
    options = {"verbose": -1, "min_child_samples": 5} if kind == "lightgbm" else {}
    return getattr(library, name)(n_estimators=1, max_depth=3, learning_rate=1.0, **options)


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("kind", ["hist", "xgboost", "lightgbm"])
def test_boosted_trees_route_gaps(kind, regression):
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(400, 3)).round(1), columns=["a", "b", "c"]).mask(rng.random((400, 3)) < 0.3)
    score = table["a"].fillna(2.0) - table["b"].fillna(-1.0) + 3 * table["c"].isna()
    model = boosted(kind, regression).fit(table, score if regression else (score > 1.5).astype(int))
    explainer = cl.Explainer(model, table)
    targets = [cl.value(at_least=3.0)] if regression else [1, 0, cl.probability(1, at_least=0.8)]
    for target in targets:
        out = explainer.explain_many(table[:40], target=target)
        assert set(out["status"]) <= {"optimal", "infeasible"}
        assert out["confirmed"][out["status"] == "optimal"].all()
        assert (out["status"] == "optimal").sum() > 5
        for k in range(12):
            answer = explainer.explain(table.iloc[k], target=target)
            assert str(answer.status) == out["status"][k]
            assert answer.certificate.check()
            if len(answer):
                assert answer[0].confirmed
                assert answer[0].cost == out["cost"][k]
            again = cl.Explanation.from_json(answer.to_json())
            assert str(again) == str(answer)


@pytest.mark.parametrize("kind", ["tree", "hist", "xgboost", "lightgbm"])
def test_a_split_that_only_separates_gaps(kind):
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.normal(size=(200, 2)).round(1), columns=["a", "b"]).mask(rng.random((200, 2)) < 0.3)
    y = np.where(table["a"].isna(), "unknown", "known")
    model = DecisionTreeClassifier() if kind == "tree" else boosted(kind, False)
    codes = np.unique(y, return_inverse=True)[1] if kind == "xgboost" else y
    explainer = cl.Explainer(model.fit(table, codes), table)
    known, unknown = explainer.tree.classes.tolist()
    gap, full = {"a": None, "b": 1.0}, {"a": 0.3, "b": None}
    answer = explainer.explain(gap, target=known)
    assert answer[0].cost == 1.0
    assert list(answer[0].changes) == ["a"]
    assert answer[0].confirmed
    assert not explainer.explain(full, target=unknown)
    allowed = explainer.with_features(cl.Numeric("a", -4, 4, missing="allowed"))
    left_out = allowed.explain(full, target=unknown)[0]
    assert np.isnan(left_out.row["a"])
    assert left_out.row["b"] is None
    assert left_out.confirmed
