"""Numbers that are restricted to a list: answers, proofs, batches, files, and other features next to them."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from support import table_referee
from support.batch_cases import differences
from support.seeds import seeds
from support.table_cases import table_case
from support.table_codes import row_of

import counterleaf as cl
from counterleaf.explorer.session.scene import _middle
from counterleaf.storage.schemas import schema_in, schema_out


def number_line(cut):
    """ "yes" from ``cut`` on."""
    return cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-cut, 0, 0], [-1, 0, 1], ["no", "yes"], closed="right")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cl.Numeric("x", values=[]), "feature 'x' has no values; expected a list of numbers such as"),
        (lambda: cl.Numeric("x", values="36"), "the list of values of feature 'x' is '36'; expected a list of numbers such as"),
        (lambda: cl.Numeric("x", values=36), "the list of values of feature 'x' is 36; expected a list of numbers"),
        (lambda: cl.Numeric("x", values=[1, "2"]), "a value of feature 'x' is '2'; expected a number"),
        (lambda: cl.Numeric("x", values=[1, math.inf]), "a value of feature 'x' is inf; expected a finite number"),
        (lambda: cl.Numeric("x", values=[1, 2, 1]), "feature 'x' lists 1 twice; values must differ"),
        (lambda: cl.Numeric("x", 0, values=[1, 2]), "feature 'x': lower is 0 in addition to values; pass one of the two"),
        (lambda: cl.Numeric("x", upper=1, values=[1, 2]), "feature 'x': upper is 1 in addition to values"),
        (lambda: cl.Numeric("x", step=1, values=[1, 2]), "feature 'x': step is 1 in addition to values"),
        (lambda: cl.Numeric("x", integer=True, values=[1.5, 2]), "feature 'x': integer is True in addition to values"),
    ],
)
def test_a_wrong_list_is_refused(make, message):
    with pytest.raises(cl.CounterleafError, match=message):
        make()


def test_a_list_is_sorted_and_sets_the_bounds():
    feature = cl.Numeric("term", values=np.array([60, 36]))
    assert (feature.values, feature.lower, feature.upper, feature.any_number) == ((36.0, 60.0), 36.0, 60.0, False)
    assert not cl.Schema([feature]).plain


@pytest.mark.parametrize("source", [36, 40.5, 48, 60, 72, 20])
@pytest.mark.parametrize("cut", [30, 38, 45, 50, 60])
def test_answers_are_on_the_list_or_stay(source, cut):
    for inferred in (False, True):
        schema = cl.Schema([cl.Numeric("x", values=[36, 48, 60])], inferred=inferred)
        allowed = [36.0, 48.0, 60.0, *([float(source)] if inferred or 36 <= source <= 60 else [])]
        for target, fits in (("yes", [x for x in allowed if x >= cut]), ("no", [x for x in allowed if x < cut])):
            answer = cl.Explainer(number_line(cut), schema=schema).explain([source], target=target, cost=cl.L1())
            assert answer.certificate.check()
            best = min((abs(x - source) for x in fits), default=None)
            assert [one.cost for one in answer] == ([] if best is None else [best])
            assert all(one.row[0] in fits for one in answer)
            again = cl.Explanation.from_json(answer.to_json())
            assert again.to_json() == answer.to_json()


def with_lists(rng, case):
    """The case with some of its numbers restricted to a list, which may lack the source's number."""
    features = []
    for d, f in enumerate(case.schema):
        if isinstance(f, cl.Numeric):
            near = np.unique(np.round(np.r_[case.pool[:30, d], case.source[d] + case.scale[d] * rng.normal(size=3)], 2))
            values = sorted(rng.choice(near, size=min(len(near), int(rng.integers(1, 7))), replace=False).tolist())
            f = cl.Numeric(f.name, values=values)
        features.append(f)
    case.schema = cl.Schema(features)
    return case


@pytest.mark.parametrize("block", seeds(4))
def test_lists_agree_with_brute_force(block):
    judged = 0
    for seed in range(30 * block, 30 * block + 30):
        rng = np.random.default_rng(seed)
        case = table_case(rng, groups=int(rng.integers(0, 3)), categories=4, numerics=int(rng.integers(1, 4)), depth=3)
        case = with_lists(rng, case)
        case.rules = [rule for rule in case.rules if rule[0] != "fix"]
        brute = table_referee.brute_optima(case)
        if brute is None:
            continue
        explainer = cl.Explainer(case.tree, schema=case.schema)
        question = {"target": case.target, "cost": case.cost(), "constraints": case.constraints()}
        answer = explainer.explain(case.row, **question, count=None)
        assert answer.certificate.check(), seed
        found = {one.leaf: one.cost for one in answer}
        for leaf, cost in brute.items():
            assert found.get(leaf, math.inf) == pytest.approx(cost, rel=1e-7, abs=1e-9), (seed, case.rules)
        table = pd.DataFrame([case.row, *(row_of(case.schema, codes) for codes in case.pool[:10])])
        many = explainer.explain_many(table, **question, progress=False)
        assert not differences(explainer, table, many, **question), seed
        judged += 1
    assert judged > 20


def loans(n=300):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"term": rng.choice([36, 60], n), "rate": rng.choice([0.5, 0.75, 1.25], n), "pay": rng.normal(size=n)})
    return X, np.where(X.term / 20 + 2 * X.rate + X.pay > 4, "yes", "no")


@pytest.mark.parametrize("constraints", [(), cl.within("term", "-50%", "50%"), cl.max_changes(1)], ids=str)
def test_inferred_lists_in_one_row_and_in_a_batch(constraints):
    X, y = loans()
    explainer = cl.Explainer(DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, y), data=X)
    assert explainer.schema.lists == (0, 1)
    many = explainer.explain_many(X[:60], constraints=constraints, progress=False)
    assert not differences(explainer, X[:60], many, constraints=constraints)
    for name, values in (("term", (36, 60)), ("rate", (0.5, 0.75, 1.25))):
        assert name not in many or set(many[name].dropna()) <= set(values)
    answer = explainer.explain({"term": 48, "rate": 0.6, "pay": -1.0}, target="yes")
    assert answer[0].confirmed
    assert answer.certificate.check()
    assert answer[0].row["term"] in (36, 48, 60)


def test_lists_in_files_and_replaced():
    X, y = loans()
    explainer = cl.Explainer(DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, y), data=X)
    assert schema_in(json.loads(json.dumps(schema_out(explainer.schema)))) == explainer.schema
    again = cl.Explainer.from_json(explainer.to_json())
    assert again.schema == explainer.schema
    assert again.explain(X.iloc[0])[0].row.tolist() == explainer.explain(X.iloc[0])[0].row.tolist()
    free = explainer.with_features(cl.Numeric("rate", 0, 2))
    assert free.schema.lists == (0,)
    more = free.with_features(cl.Numeric("term", values=[24, 36, 48, 60]))
    assert more.schema.features[0].values == (24.0, 36.0, 48.0, 60.0)
    both = cl.Schema([cl.Numeric("a", values=[1, 2], missing=True), cl.Numeric("b", missing="allowed", values=[0.5, 2])])
    assert schema_in(json.loads(json.dumps(schema_out(both)))) == both
    assert both.renamed(["c", "d"]).features[0] == cl.Numeric("c", values=[1, 2], missing=True)


def test_a_gap_is_filled_in_from_the_list():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice([1.0, 3.0, 7.0, 8.5], 300), "b": rng.normal(size=300)})
    X = X.mask(rng.random(X.shape) < 0.2)
    model = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(
        X, np.where(X.a.fillna(0) + X.b.fillna(1) > 3, "y", "n")
    )
    explainer = cl.Explainer(model, data=X)
    assert explainer.schema.features[0].values == (1.0, 3.0, 7.0, 8.5)
    rows = X[X.a.isna()][:30]
    many = explainer.explain_many(rows, progress=False)
    assert not differences(explainer, rows, many)
    filled = many["a"].dropna()
    assert len(filled)
    assert set(filled) <= {1.0, 3.0, 7.0, 8.5}


def test_the_middle_of_a_list_is_one_of_its_values():
    assert _middle(cl.Numeric("x", values=[1, 2, 10])) == 2
    assert _middle(cl.Numeric("x", 0, 10, step=4)) == 4
    assert _middle(cl.Numeric("x", 0, 9)) == 4.5


def test_lists_and_implications():
    """Cases, conditions and lists together, by enumeration."""
    schema = cl.Schema([cl.Numeric("x", values=[1, 2, 5, 9]), cl.Numeric("y", values=[0.5, 1.5, 4])])
    tree = cl.Tree(
        [1, -1, -1], [2, -1, -1], [[1.0, 2.0], [0, 0], [0, 0]], [-9.0, 0, 0], [-1, 0, 1], ["no", "yes"], closed="right"
    )
    for source in itertools.product([1, 2.5, 5], [0.5, 2.0]):
        rule = cl.implies(cl.changed("x"), cl.stays("y"))
        answer = cl.Explainer(tree, schema=schema).explain(list(source), target="yes", cost=cl.L1(), constraints=rule)
        assert answer.certificate.check()
        rows = itertools.product({1, 2, 5, 9, source[0]}, {0.5, 1.5, 4, source[1]})
        fits = [(x, y) for x, y in rows if x + 2 * y >= 9 and (x == source[0] or y == source[1])]
        assert answer[0].cost == min(abs(x - source[0]) + abs(y - source[1]) for x, y in fits)
