"""Targets of every kind on leaves that compute: the optimum of independent solvers, of all rows of a grid, and the proof."""

import math
import pickle

import numpy as np
import pytest
from support.output_cases import LABELS, by_grid, by_leaf, holds, random_tree
from support.seeds import seeds

import counterleaf as cl
from counterleaf import _core
from counterleaf.model.decision import Range, decide

BOUND = 5.0


def targets(rng, tree, row):
    """Targets of the kinds that fit the tree."""
    if tree.is_regression:
        now = float(tree.predict(row[None])[0])
        yield cl.value(at_least=now + rng.exponential())
        yield cl.value(at_most=now - rng.exponential())
        yield cl.value(at_least=now + 0.5, at_most=now + 0.6)
        return
    labels = tree.classes.tolist()
    if tree.outputs.kind != "score":
        label = str(rng.choice(labels))
        yield cl.probability(label, at_least=float(rng.uniform(0.3, 0.95)))
        if tree.outputs.kind != "softmax" or len(labels) == 2:
            yield cl.probability(label, at_most=float(rng.uniform(0.1, 0.6)))
            yield cl.probability(label, at_least=0.4, at_most=0.7)
    own = str(tree.predict(row[None])[0])
    yield [label for label in labels if label != own]
    yield [str(rng.choice(labels))]
    chosen = rng.choice(labels, size=int(rng.integers(1, len(labels) + 1)), replace=False).tolist()
    yield {label: float(rng.exponential()) for label in chosen}


@pytest.mark.parametrize("kind", ["value", "probability", "logistic", "softmax", "score"])
@pytest.mark.parametrize("seed", seeds(12))
def test_answers_are_the_optimum_of_independent_solvers(kind, seed):
    rng = np.random.default_rng([seed, len(kind)])
    features, classes = int(rng.integers(1, 5)), 2 if kind == "logistic" else int(rng.integers(2, 6))
    tree = random_tree(rng, features, kind, classes, depth=int(rng.integers(0, 4)))
    schema = cl.Schema([cl.Numeric(f"x{d}", -BOUND, BOUND) for d in range(features)])
    explainer = cl.Explainer(tree, schema=schema)
    row = rng.uniform(-BOUND, BOUND, size=features).round(3)
    one, none = np.ones((2, features)), np.zeros((2, features))
    signs = np.array([[1.0], [-1.0]])
    for target in targets(rng, tree, row):
        for cost, curve, slope in ((cl.L1(), none, signs * one), (cl.L2(), one, none), (cl.L1() + cl.L2(), one, signs * one)):
            answer = explainer.explain(row, target=target, cost=cost)
            best = by_leaf(tree, target, row, curve, slope, BOUND)
            assert answer.status == ("infeasible" if best == math.inf else "optimal"), (target, best)
            assert answer.certificate.check()
            if len(answer):
                assert answer[0].cost == pytest.approx(best, rel=1e-6, abs=1e-6)  # the solvers are this exact
                assert answer[0].confirmed
                assert holds(tree, np.array([answer[0].row]), target)[0] < math.inf


@pytest.mark.parametrize("kind", ["value", "probability", "logistic", "softmax", "score"])
@pytest.mark.parametrize("seed", seeds(12))
def test_answers_on_a_grid_are_the_best_of_all_rows(kind, seed):
    rng = np.random.default_rng([seed, len(kind), 7])
    features, classes = int(rng.integers(2, 4)), 2 if kind == "logistic" else int(rng.integers(2, 5))
    tree = random_tree(rng, features, kind, classes, axis=seed % 2 == 0)
    schema = cl.Schema([cl.Numeric(f"x{d}", -3, 3, integer=True) for d in range(features)])
    explainer = cl.Explainer(tree, schema=schema)
    row = rng.integers(-3, 4, size=features).astype(float)
    for target in targets(rng, tree, row):
        for cost, of in ((cl.L1(), lambda d: np.abs(d).sum(axis=1)), (cl.L2(), lambda d: (d**2).sum(axis=1))):
            answer = explainer.explain(row, target=target, cost=cost)
            best = by_grid(tree, target, row, of, [(-3, 3)] * features)
            assert answer.status == ("infeasible" if best == math.inf else "optimal"), target
            assert answer.certificate.check()
            if len(answer):
                assert answer[0].cost == pytest.approx(best, abs=1e-9)
                assert answer[0].confirmed


@pytest.mark.parametrize("kind", ["value", "softmax"])
@pytest.mark.parametrize("seed", seeds(6))
def test_constraints_hold_with_every_target(kind, seed):
    rng = np.random.default_rng([seed, 3])
    tree = random_tree(rng, 3, kind, 3)
    schema = cl.Schema([cl.Numeric(f"x{d}", -3, 3, integer=True) for d in range(3)])
    row = rng.integers(-3, 4, size=3).astype(float)
    rules = [
        (cl.freeze("x0"), lambda x: x[:, 0] == row[0]),
        (cl.max_changes(1), lambda x: (x != row).sum(axis=1) <= 1),
        (cl.linear({"x0": 1.0, "x1": 1.0}, "<=", 1.0), lambda x: x[:, 0] + x[:, 1] <= 1),
        (cl.only_increase("x1"), lambda x: x[:, 1] >= row[1]),
        (cl.implies(cl.changed("x0"), cl.freeze("x2")), lambda x: (x[:, 0] == row[0]) | (x[:, 2] == row[2])),
        (cl.among([[1.0, 1.0, 1.0], [0.0, 2.0, 0.0], [-1.0, 0.0, 3.0]]), lambda x: np.isin(x @ [49, 7, 1], [57, 14, -46])),
    ]
    for target in targets(rng, tree, row):
        for constraint, obeys in rules:

            def cost(change, obeys=obeys):
                return np.where(obeys(change + row), np.abs(change).sum(axis=1), math.inf)

            answer = cl.Explainer(tree, schema=schema).explain(row, target=target, cost=cl.L1(), constraints=constraint)
            best = by_grid(tree, target, row, cost, [(-3, 3)] * 3)
            assert answer.status == ("infeasible" if best == math.inf else "optimal"), (target, constraint)
            assert answer.certificate.check()
            if len(answer):
                assert answer[0].cost == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", seeds(6))
def test_several_answers_come_from_different_leaves_or_classes(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 3, "softmax", 4)
    explainer = cl.Explainer(tree, schema=cl.Schema([cl.Numeric(f"x{d}", -9, 9) for d in range(3)]))
    answer = explainer.explain(rng.normal(size=3), target=["a", "b"], count=None)
    assert answer.status == "optimal"
    assert answer.certificate.check()
    assert [one.cost for one in answer] == sorted(one.cost for one in answer)
    assert all(one.confirmed and one.label in ("a", "b") for one in answer)


def test_a_row_that_qualifies_costs_nothing():
    tree = cl.Tree([-1], [-1], [[0.0]], [0.0], outputs=cl.Outputs("value", [1.0], [[2.0]]))
    answer = cl.Explainer(tree).explain([3.0], target=cl.value(at_least=5))
    assert (answer[0].cost, answer[0].row, answer[0].number, answer.source_number) == (0.0, [3.0], 7.0, 7.0)


def test_equal_outputs_go_to_the_first_class():
    tree = cl.Tree([-1], [-1], [[0.0]], [0.0], classes=["a", "b"], outputs=cl.Outputs("softmax", [[0.0, 0.0]], [[1.0], [-1.0]]))
    assert tree.predict([[0.0]])[0] == "a"
    explainer = cl.Explainer(tree)
    assert explainer.explain([-1.0], target="a")[0].cost == pytest.approx(1.0)
    assert explainer.explain([1.0], target="b")[0].confirmed
    assert explainer.explain([0.0], target="a")[0].cost == 0.0


def test_many_classes_and_a_target_of_half_of_them():
    rng = np.random.default_rng(0)
    tree = cl.Tree(
        [-1],
        [-1],
        [[0.0] * 4],
        [0.0],
        classes=list(range(10)),
        outputs=cl.Outputs("softmax", np.zeros((1, 10)), rng.normal(size=(10, 4))),
    )
    explainer, row = cl.Explainer(tree), rng.normal(size=4)
    for target in ([0, 1, 2, 3, 4], [5, 6, 7, 8, 9], {0: 0.1, 5: 0.2, 9: 0.0}):
        answer = explainer.explain(row, target=target, cost=cl.L2())
        separate = [
            found[0].cost + (target[one] if isinstance(target, dict) else 0.0)
            for one in target
            if len(found := explainer.explain(row, target=one, cost=cl.L2()))
        ]
        assert answer[0].cost == pytest.approx(min(separate), rel=1e-9)
        assert answer.certificate.check()
    wide = cl.Outputs("softmax", np.zeros((1, 60)), rng.normal(size=(60, 4)))
    many = cl.Explainer(cl.Tree([-1], [-1], [[0.0] * 4], [0.0], outputs=wide))
    assert many.explain(row)[0].confirmed
    with pytest.raises(cl.CounterleafError, match="more than 500,000 splits at linear leaves; name one class, or all but one"):
        many.explain(row, target=list(range(30)))


def test_margins_apply_to_the_rows_of_a_leaf():
    tree = cl.Tree([-1], [-1], [[0.0]], [0.0], outputs=cl.Outputs("value", [0.0], [[1.0]]))
    path = cl.Explainer(tree).explain_margins([0.0], margins=[0.0, 0.5, 2.0], target=cl.value(at_least=1.0), cost=cl.L1())
    assert [answer[0].cost for answer in path] == pytest.approx([1.0, 1.5, 3.0])
    assert all(answer.certificate.check() for answer in path)


@pytest.mark.parametrize("kind", ["value", "softmax", "probability"])
def test_answers_survive_json_and_pickle(kind):
    rng = np.random.default_rng(5)
    tree = random_tree(rng, 3, kind, 3)
    explainer = cl.Explainer(tree, schema=cl.Schema([cl.Numeric(f"x{d}", -9, 9) for d in range(3)]))
    again = cl.Explainer.from_json(explainer.to_json())
    row = rng.normal(size=3)
    for target in targets(rng, tree, row):
        answer = explainer.explain(row, target=target)
        for copy in (
            cl.Explanation.from_json(answer.to_json()),
            pickle.loads(pickle.dumps(answer)),
            again.explain(row, target=target),
        ):
            assert copy.certificate.check()
            assert str(copy) == str(answer)
            assert [one.number for one in copy] == [one.number for one in answer]
        assert cl.Explanation.from_json(answer.to_json()).to_json() == answer.to_json()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            cl.value(at_least=1),
            "target is a value, but the model predicts classes; name one of 'a', 'b', 'c', or use probability",
        ),
        (cl.probability("z", at_least=0.5), "no class 'z'; the model's classes are 'a', 'b', 'c'"),
        (cl.probability("a", at_most=0.5), "at_most= is not supported for the softmax of three or more linear outputs"),
    ],
)
def test_targets_that_do_not_fit_a_classifier(target, message):
    tree = random_tree(np.random.default_rng(0), 2, "softmax", 3, depth=0)
    with pytest.raises(cl.CounterleafError, match=message):
        cl.Explainer(tree).explain([0.0, 0.0], target=target)


def test_a_proof_about_fewer_tangents_does_not_hold():
    """The tangents contain the region; an answer between them and the region must not pass."""
    outputs = cl.Outputs("softmax", [[-0.55, -0.78, 0.75]], [[-0.8, -1.32], [-0.25, 0.42], [1.14, 0.11]])
    tree = cl.Tree([-1], [-1], [[0.0] * 2], [0.0], classes=list("abc"), outputs=outputs)
    explainer = cl.Explainer(tree)
    row, target = [0.0, 0.0], cl.probability("a", at_least=0.7)
    honest = explainer.explain(row, target=target)
    assert honest.proved
    goal = honest.decision.goal
    loose = explainer._targets._prepared(decide(tree, goal), 0.0)
    query = explainer.lower(cl.Question(target))
    forged = loose.certify(explainer._targets.locate(row), query, _core.Budget(1))
    assert forged.findings.costs[0] < honest[0].cost
    assert not forged.check()
    assert not pickle.loads(pickle.dumps(forged)).check()


def test_an_empty_range_is_infeasible():
    tree = cl.Tree([-1], [-1], [[0.0]], [0.0], outputs=cl.Outputs("value", [1.0], [[2.0]]))
    for low, high in ((math.inf, math.inf), (-math.inf, -math.inf), (math.inf, -math.inf)):
        assert decide(tree, Range(-1, low, high)).tree.value.tolist() == [0]


def test_a_probability_is_meant_as_it_is_computed():
    outputs = cl.Outputs("logistic", [0.0, 0, 0], [[0.0], [1.0], [1.0]])
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [0.0, 0, 0], [-1, 0, 1], ["no", "yes"], outputs=outputs)
    for p in (1.0, 1 - 2.0**-50, 0.5, 0.7, 1e-9):
        answer = cl.Explainer(tree).explain([-40.0], target=cl.probability("yes", at_least=p), cost=cl.L1())
        edge = answer[0].row[0]
        assert answer[0].confirmed
        assert tree.predict_proba([[edge - 1e-9 * abs(edge) - 1e-9]])[0, 1] < p


def test_a_time_limit_holds_for_a_softmax():
    slope = [[-0.8, -1.32], [-0.25, 0.42], [1.14, 0.11]]
    outputs = cl.Outputs("softmax", [[-0.55, -0.78, 0.75]], slope)
    tree = cl.Tree([-1], [-1], [[0.0] * 2], [0.0], classes=list("abc"), outputs=outputs)
    answer = cl.Explainer(tree).explain([0.0, 0.0], target=cl.probability("a", at_least=1 - 1e-9), time_limit=1e-6)
    assert (str(answer.status), answer.certificate.check()) == ("limit", True)


def test_rows_exactly_on_an_edge_are_answers():
    tree = cl.Tree([-1], [-1], [[0.0]], [0.0], outputs=cl.Outputs("value", [0.0], [[2.0]]))
    explainer = cl.Explainer(tree, schema=cl.Schema([cl.Numeric("x0", 0, 9, integer=True)]))
    for row, target, best in (
        (1.0, cl.value(at_least=6), 3.0),
        (3.0, cl.value(at_least=6), 3.0),
        (1.0, cl.value(at_least=6, at_most=7), 3.0),
        (1.0, cl.value(at_least=18), 9.0),
    ):
        answer = explainer.explain([row], target=target)
        assert (str(answer.status), answer[0].row) == ("optimal", [best])


def test_the_order_of_classes_survives_json():
    tree = random_tree(np.random.default_rng(8), 2, "softmax", 3, depth=1)
    answer = cl.Explainer(tree).explain([0.0, 0.0], target=["c", "a"], cost=cl.L2())
    assert cl.Explanation.from_json(answer.to_json()).certificate.check()


def test_numbers_too_large_to_compare():
    outputs = cl.Outputs("softmax", [[1e308, -1e308]], [[1.0], [0.0]])
    explainer = cl.Explainer(cl.Tree([-1], [-1], [[0.0]], [0.0], classes=[0, 1], outputs=outputs))
    with pytest.raises(cl.CounterleafError, match="the outputs of a leaf are too large to compare; expected numbers up to"):
        explainer.explain([0.0], target=1)


def test_targets_that_do_not_fit():
    number = cl.Explainer(cl.Tree([-1], [-1], [[0.0]], [0.0], outputs=cl.Outputs("value", [1.0], [[2.0]])))
    with pytest.raises(cl.CounterleafError, match=r"there is no target, and the model predicts numbers; pass target=cl.value"):
        number.explain([0.0])
    with pytest.raises(cl.CounterleafError, match="target is 3, and the model predicts numbers"):
        number.explain([0.0], target=3)
    with pytest.raises(cl.CounterleafError, match="there is no target, and the model predicts numbers"):
        number.explain_many(np.zeros((2, 1)))
    score = cl.Explainer(random_tree(np.random.default_rng(0), 2, "score", 3))
    with pytest.raises(cl.CounterleafError, match=r"so probability of a at least 0\.5 is not supported; name the class"):
        score.explain([0.0, 0.0], target=cl.probability("a", at_least=0.5))
    plain = cl.Explainer(cl.Tree([-1], [-1], [[0.0]], [0.0], [0]))
    with pytest.raises(cl.CounterleafError, match="this model has no probabilities"):
        plain.explain([0.0], target=cl.probability(0, at_least=0.5))


def test_intervals_are_checked():
    for make, message in (
        (lambda: cl.probability("a"), r"probability has no interval; pass at_least= or at_most="),
        (lambda: cl.value(), r"value has no interval; pass at_least= or at_most="),
        (lambda: cl.probability("a", at_least=1.5), "probability got 1.5; expected a number from 0 to 1"),
        (lambda: cl.value(at_least=2, at_most=1), "value at least 2 and at most 1 is empty; swap the two numbers"),
        (lambda: cl.value(at_least="x"), "at_least is 'x'; expected a number"),
    ):
        with pytest.raises(cl.CounterleafError, match=message):
            make()
    assert str(cl.probability("a", at_least=0.5, at_most=0.5)) == "probability of a exactly 0.5"
    assert str(cl.value(at_most=1.5)) == "value at most 1.5"
    assert LABELS[0] == "a"
