"""A price per change: against a mixed-integer solver, against brute force, and in combination with the other questions."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from support import table_referee
from support.seeds import seeds, share
from support.table_cases import coupled_table_case, table_case

import counterleaf as cl


def charged(case, rng, alone):
    """The case with a charge for some of its features, or with nothing but charges."""
    case.charges = rng.choice([0.0, 0.1, 0.5, 2.0], len(case.schema))
    if alone:
        case.terms, case.charges = [], np.where(case.charges == 0.0, 1.0, case.charges)
    return case


def agrees(case, answer, seed):
    optima, thin = table_referee.leaf_optima(case)
    best = min(optima.values(), default=np.inf)
    assert answer.status != "limit", seed
    assert answer.certificate.check(), seed
    if thin:
        return False
    assert (answer[0].cost if len(answer) else np.inf) == pytest.approx(best, rel=1e-6, abs=1e-8), seed
    if len(answer):
        codes = case.schema.gather(answer.certificate.findings.points)
        assert case.price(codes)[0] == pytest.approx(answer[0].cost, rel=1e-9, abs=1e-12), seed
        assert case.obeys(codes).all(), seed
    return True


@pytest.mark.parametrize("block", seeds(6))
def test_charges_agree_with_a_mixed_integer_solver(block):
    judged = 0
    for seed in range(4000 + 25 * block, 4025 + 25 * block):
        rng = np.random.default_rng(seed)
        sizes = {"groups": int(rng.integers(4)), "categories": 5, "numerics": int(rng.integers(1, 5)), "depth": 3}
        case = charged(table_case(rng, bounded=bool(rng.integers(2)), **sizes), rng, alone=seed % 3 == 0)
        answer = cl.Explainer(case.tree, schema=case.schema).explain(
            case.row, target=case.target, cost=case.cost(), constraints=case.constraints()
        )
        judged += agrees(case, answer, seed)
    assert judged > 12


@pytest.mark.parametrize("block", range(2))
def test_charges_next_to_a_cost_that_couples_features(block):
    judged = 0
    for seed in seeds(4500 + 12 * block, 4512 + 12 * block):
        rng = np.random.default_rng(seed)
        case = coupled_table_case(rng, groups=1, categories=4, numerics=3, depth=2, bounded=True)
        case = charged(case, rng, alone=False)
        answer = cl.Explainer(case.tree, schema=case.schema).explain(
            case.row, target=case.target, cost=case.cost(), constraints=case.constraints()
        )
        judged += agrees(case, answer, seed)
    assert judged > share(5)


def whole_table(rng, rows=60, features=3):
    X = rng.integers(0, 5, (rows, features)).astype(float)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, rng.integers(0, 2, rows))
    schema = cl.Schema([cl.Numeric(f"x{i}", 0, 4, integer=True) for i in range(features)])
    grid = np.array(list(itertools.product(range(5), repeat=features)), float)
    return model, cl.Explainer(model, schema=schema), grid


@pytest.mark.parametrize("seed", seeds(20))
def test_charges_agree_with_brute_force_one_by_one_and_in_batches(seed):
    rng = np.random.default_rng(seed)
    model, explainer, grid = whole_table(rng)
    charges = rng.integers(0, 5, 3) / 2
    reached = grid[model.predict(grid) == 1]
    for cost, phi in (
        (cl.Changes(charges), lambda d: 0 * d),
        (cl.L1(0.7) + cl.Changes(charges), lambda d: 0.7 * abs(d)),
        (0.5 * cl.L2() + 2 * cl.Changes(charges / 2), lambda d: 0.5 * d**2),
        (cl.L1(up=1.0, down=0.2) + cl.Changes(charges), lambda d: np.where(d > 0, d, -0.2 * d)),
    ):
        table = explainer.explain_many(grid, target=1, cost=cost)
        for k, row in enumerate(grid):
            least = (phi(reached - row).sum(axis=1) + (reached != row) @ charges).min(initial=np.inf)
            assert table["cost"][k] == pytest.approx(least, abs=1e-12)
            if k % 25 == 0:
                answer = explainer.explain(row, target=1, cost=cost)
                assert answer[0].cost == table["cost"][k]
                assert answer.certificate.check()


def test_the_fewest_changes():
    rng = np.random.default_rng(5)
    model, explainer, grid = whole_table(rng, features=4)
    reached = grid[model.predict(grid) == 1]
    for row in grid[::37]:
        few = explainer.explain(row, target=1, cost=cl.Changes())
        assert few[0].cost == len(few[0].changes) == (reached != row).sum(axis=1).min()


def test_a_charge_by_name_and_categories():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 300), "job": rng.choice(["clerk", "cook", "nurse"], 300)})
    y = np.where((frame["job"] == "nurse") | (frame["age"] > 50), "yes", "no")
    columns = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    explainer = cl.Explainer(make_pipeline(columns, DecisionTreeClassifier(random_state=0)).fit(frame, y), data=frame)
    row = {"age": 45, "job": "cook"}
    years = (51 - 45) / explainer.spreads.range[0]
    by_age = explainer.explain(row, target="yes", cost=cl.L1("range") + cl.Changes({"job": 0.5, "age": 0.25}))
    assert by_age[0].changes == {"age": (45, 51)}
    assert by_age[0].cost == pytest.approx(years + 0.25)
    by_job = explainer.explain(row, target="yes", cost=cl.Changes({"job": 0.5, "age": 0.75}))
    assert by_job[0].changes == {"job": ("cook", "nurse")}
    assert by_job[0].cost == 0.5
    again = cl.Explanation.from_json(by_age.to_json())
    assert again.certificate.check()
    assert str(again) == str(by_age).replace("Your model", "Your model")


def test_a_charge_keeps_features_that_earn_too_little_at_home():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 0.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    explainer = cl.Explainer(tree, schema=cl.Schema([cl.Numeric("x", 0, 2), cl.Numeric("y", 0, 2)]))
    earns = cl.L1() + cl.LinearCost({"y": -1.5})
    for charge, changed in ((0.5, {"x", "y"}), (1.5, {"x"})):
        answer = explainer.explain([0.0, 0.0], target="yes", cost=earns + cl.Changes(charge))
        assert set(answer[0].changes) == {"x", "y"} & {*changed, "x"} if charge < 1 else {"x"}
        assert answer[0].cost == pytest.approx(min(1 + charge, 1 + charge - 1 + charge))
        assert answer.certificate.check()


def test_forged_charges_are_found_out():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    certificate = cl.Explainer(tree).explain([0.0, 0.0], target="yes", cost=cl.L2() + cl.Changes(0.6)).certificate
    question, table = certificate.problem.question, certificate.problem.table
    assert certificate.check()
    for charges in ([0.0, 0.0], [0.6, 0.0], [0.7, 0.7], [-0.6, 0.6], [np.nan, 0.6]):
        certificate.problem.__dict__["_posed"] = question, table._replace(charges=np.array(charges))
        assert not certificate.check(), charges


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cl.Changes("range"), "Changes got 'range'; expected a number, one per feature, or a dict by name"),
        (lambda: cl.Changes(None), "Changes got None; expected a number"),
        (lambda: cl.Changes(-1.0), "the charge of 'x0' is -1.0; expected 0 or more"),
        (lambda: cl.Changes([1.0, np.nan]), "the charge of 'x1' is nan; expected a finite number"),
        (lambda: cl.Changes({"z": 1.0}), "z"),
        (lambda: -1.0 * cl.Changes(), "Changes has the factor -1.0; expected 0 or more"),
    ],
)
def test_charges_that_make_no_sense(make, message):
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    with pytest.raises(cl.CounterleafError, match=message.replace("(", r"\(")):
        cl.Explainer(tree).explain([0.0, 0.0], target="yes", cost=make())
