"""``near``: the cheapest row near the data, against all rows of small tables and against a linear program."""

import itertools
import math
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from support.seeds import seeds

import counterleaf as cl
from counterleaf.answer.text import written
from counterleaf.proof.near import NearPart
from counterleaf.proof.walk import Fork, Part

JOBS, LEVELS = ["clerk", "cook", "nurse"], ["low", "mid", "high"]


def small_table(seed, rows=60):
    """A table of few values, a model with many leaves, and its explainer."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "a": rng.integers(0, 7, rows),
            "b": rng.integers(-3, 4, rows),
            "job": rng.choice(JOBS, rows),
            "level": rng.choice(LEVELS, rows),
            "own": rng.random(rows) < 0.5,
        }
    )
    columns = make_column_transformer((OneHotEncoder(), ["job", "level"]), remainder="passthrough")
    leaves = int(rng.integers(4, 16))
    model = make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=seed))
    model.fit(data, rng.choice(["no", "yes", "maybe"], rows))
    schema = cl.Schema.infer(data).replace(cl.Ordinal("level", LEVELS))
    return model, data, cl.Explainer(model, data=data, schema=schema), rng


def every_row(data, source):
    ends = {name: (min(data[name].min(), source[name]), max(data[name].max(), source[name])) for name in "ab"}
    numbers = [range(int(low), int(high) + 1) for low, high in ends.values()]
    return pd.DataFrame(
        list(itertools.product(*numbers, JOBS, LEVELS, [False, True])), columns=["a", "b", "job", "level", "own"]
    )


def distances(data, rows, metric, own=None):
    """(rows, data) by the definition; ``own`` chooses rows of the data."""
    power = 1 if metric == "L1" else 2
    out = np.zeros((len(rows), len(data)))
    for name in ("a", "b", "level"):
        x, z = (np.array([LEVELS.index(v) if name == "level" else v for v in t[name]], float) for t in (rows, data))
        out += (np.abs(x[:, None] - z[None]) / (z.max() - z.min())) ** power
    for name in ("job", "own"):
        out += rows[name].to_numpy()[:, None] != data[name].to_numpy()[None]
    return out if own is None else out[:, own]


def radius(data, labels, quantile, metric):
    apart = distances(data, data, metric)
    np.fill_diagonal(apart, math.inf)
    nearest = np.where(labels[:, None] == labels[None], apart, math.inf).min(axis=1)
    found = np.sort(nearest[np.isfinite(nearest)])
    return found[max(1, math.ceil(quantile * len(found) - 1e-9)) - 1]


COSTS = [cl.L1("range"), cl.L2("range"), cl.L1("range") + 2 * cl.L2("std")]


@pytest.mark.parametrize("metric", ["L1", "L2"])
@pytest.mark.parametrize("block", seeds(3))
def test_small_tables_are_solved_as_by_trying_every_row(metric, block):
    bites = none = forks = 0
    for seed in range(8 * block, 8 * block + 8):
        model, data, explainer, rng = small_table(seed)
        labels = model.predict(data)
        for _ in range(3):
            source = data.iloc[int(rng.integers(len(data)))]
            quantile = float(rng.choice([0.05, 0.3, 0.6, 0.9, 1.0]))
            cost = COSTS[int(rng.integers(3))]
            target = str(rng.choice(["no", "yes", "maybe"]))
            kind = int(rng.integers(5))
            constraints = [
                [],
                [cl.freeze("job", "b")],
                [cl.only_increase("a")],
                [cl.between("b", -2, 2), cl.forbid("level", ["mid"])],
                [cl.freeze("a", "b", "level", "own")],
            ][kind]
            near = cl.near(data, quantile, metric)
            answer = explainer.explain(source, target=target, cost=cost, constraints=[*constraints, near])
            rows = every_row(data, source)
            keep = [
                np.ones(len(rows), bool),
                (rows["job"] == source["job"]) & (rows["b"] == source["b"]),
                rows["a"] >= source["a"],
                rows["b"].between(-2, 2) & (rows["level"] != "mid"),
                (rows[["a", "b", "level", "own"]] == source[["a", "b", "level", "own"]]).all(axis=1),
            ][kind]
            rows = rows[keep]
            wanted = rows[model.predict(rows) == target] if len(rows) else rows
            vectors = np.array([explainer.schema.encode(row) for row in wanted.to_dict("records")])
            costs = answer.certificate.problem.cost_of(vectors.reshape(len(wanted), explainer.schema.width))
            close = distances(data, wanted, metric, labels == target).min(axis=1, initial=math.inf)
            reach = radius(data, labels, quantile, metric)
            best = costs[close <= reach * (1 + 1e-9)].min(initial=math.inf)
            where = (seed, quantile, str(cost), target, constraints)
            assert answer.certificate.ball.radius == pytest.approx(reach, rel=1e-12), where
            assert answer.certificate.check(), where
            assert (answer[0].cost if len(answer) else math.inf) == pytest.approx(best, rel=1e-9), where
            assert str(answer.status) == ("infeasible" if best == math.inf else "optimal"), where
            assert all(one.confirmed for one in answer)
            bites += len(answer) > 0 and best > costs.min() * (1 + 1e-9)
            none += not len(answer)
            forks += len(answer.certificate.forks)
    assert min(bites, none, forks) > 0


def numeric_case(seed, features=3, rows=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)).round(3)
    model = DecisionTreeClassifier(max_leaf_nodes=8, random_state=seed).fit(X, rng.integers(0, 2, rows))
    return model, X, cl.Explainer(model, data=X), rng


def leaf_boxes(explainer, target):
    tree = explainer.tree
    lower, upper = explainer.schema.bounds()
    stack = [(0, lower.copy(), upper.copy())]
    while stack:
        node, low, high = stack.pop()
        if tree.left[node] < 0:
            if tree.classes[tree.value[node]] == target and (low <= high).all():
                yield low, high
            continue
        (d,), (w,) = tree.weights.row(node)
        cut = -tree.bias[node] / w
        left, right = high.copy(), low.copy()
        left[d], right[d] = min(high[d], cut), max(low[d], cut)
        stack += [(int(tree.left[node]), low.copy(), left), (int(tree.right[node]), right, high.copy())]


@pytest.mark.parametrize("seed", seeds(6))
def test_numbers_are_solved_as_by_linear_programs(seed):
    model, X, explainer, rng = numeric_case(seed)
    labels, scale = model.predict(X), np.ptp(X, axis=0)
    bites = 0
    for _ in range(3):
        source, quantile = X[int(rng.integers(len(X)))], float(rng.choice([0.05, 0.3, 0.9]))
        target = 1 - int(model.predict(source[None])[0])
        answer = explainer.explain(source, target=target, constraints=cl.near(X, quantile))
        reach, best, free, n = answer.certificate.ball.radius, math.inf, math.inf, len(source)
        for low, high in leaf_boxes(explainer, target):
            free = min(free, float((np.abs(np.clip(source, low, high) - source) / scale).sum()))
            for z in X[labels == target]:
                # x, u >= |x - source| and v >= |x - z|: minimise u / scale with v / scale at most the radius
                eye, zero = np.eye(n), np.zeros((n, n))
                rows = np.vstack([np.hstack([eye, -eye, zero]), np.hstack([-eye, -eye, zero]),
                                  np.hstack([eye, zero, -eye]), np.hstack([-eye, zero, -eye]),
                                  np.concatenate([np.zeros(2 * n), 1 / scale])[None]])  # fmt: skip
                right = np.concatenate([source, -source, z, -z, [reach]])
                bounds = [*zip(low, high, strict=True), *[(0, None)] * (2 * n)]
                found = linprog(np.concatenate([np.zeros(n), 1 / scale, np.zeros(n)]), rows, right, bounds=bounds)
                best = min(best, found.fun) if found.status == 0 else best
        assert answer.certificate.check()
        assert (answer[0].cost if len(answer) else math.inf) == pytest.approx(best, rel=1e-6, abs=1e-6)
        bites += bool(best > free + 1e-6)
    assert bites or seed


@pytest.mark.parametrize("metric", ["L1", "L2"])
@pytest.mark.parametrize("cost", [cl.L1("range"), cl.L2("range"), cl.L1("range") + 0.3 * cl.L2("std")])
def test_no_random_row_is_cheaper(metric, cost):
    for seed in seeds(4):
        model, X, explainer, rng = numeric_case(seed, features=4)
        labels, scale, source = model.predict(X), np.ptp(X, axis=0), X[0]
        target = 1 - int(model.predict(source[None])[0])
        answer = explainer.explain(source, target=target, cost=cost, constraints=cl.near(X, 0.3, metric))
        assert str(answer.status) == "optimal"
        assert answer.certificate.check()
        best, limit = answer[0], answer.certificate.ball.limit
        rows = rng.uniform(X.min(axis=0), X.max(axis=0), (40_000, 4))
        rows = np.concatenate([rows, np.array(best.row) + rng.normal(size=(40_000, 4)) * 0.05 * scale])
        rows = np.clip(rows, X.min(axis=0), X.max(axis=0))
        rows = rows[model.predict(rows) == target]
        own = X[labels == target]
        apart = np.abs(rows[:, None] - own[None]) / scale
        near = (apart if metric == "L1" else apart**2).sum(axis=2).min(axis=1) <= limit
        costs = answer.certificate.problem.cost_of(rows[near])
        assert costs.min() >= best.cost * (1 - 1e-9)
        assert costs.min() <= best.cost * 1.5 + 0.05  # rows that come close were tried


@pytest.mark.parametrize("metric", ["L1", "L2"])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_radius_of_zero_leaves_the_rows_themselves(metric, offset):
    for seed in seeds(5):
        rng = np.random.default_rng(seed)
        X = offset + np.repeat(rng.normal(size=(20, 3)), 2, axis=0)
        model = DecisionTreeClassifier(max_leaf_nodes=6, random_state=seed).fit(X, rng.integers(0, 2, 40))
        explainer = cl.Explainer(model, data=X)
        for cost in (cl.L1("range"), cl.L2("range")):
            answer = explainer.explain(X[0], cost=cost, constraints=cl.near(X, 0.5, metric))
            assert answer.certificate.ball.radius == 0.0
            assert answer.certificate.check()
            chosen = explainer.explain(X[0], cost=cost, constraints=cl.among(X))
            assert (str(answer.status), answer[0].cost) == ("optimal", pytest.approx(chosen[0].cost, rel=1e-9))


@pytest.fixture(scope="module")
def forged():
    for seed in range(100):
        _, data, explainer, _ = small_table(seed)
        for line in range(10):
            row = data.iloc[line]
            answer = explainer.explain(row, cost=cl.L1("range"), constraints=cl.near(data, 0.3))
            if len(answer) and answer.certificate.forks and (next(iter(answer.certificate.multipliers.values())) > 0).any():
                return answer.certificate
    raise AssertionError("no case with forks")


def test_forged_proofs_fail(forged):
    assert forged.check()
    assert pickle.loads(pickle.dumps(forged)).check()
    found, ball = forged.findings, forged.ball
    cheaper = replace(found, costs=0.9 * found.costs, bounds=0.9 * found.bounds, lower_bound=0.9 * found.lower_bound)
    proofs = {
        "multipliers left out": replace(forged, multipliers={}, forks={}),
        "one leaf left out": replace(forged, multipliers=dict(list(forged.multipliers.items())[1:]), forks={}),
        "negative": replace(forged, multipliers={leaf: -one - 1 for leaf, one in forged.multipliers.items()}),
        "infinite": replace(forged, multipliers={leaf: one + math.inf for leaf, one in forged.multipliers.items()}),
        "NaN": replace(forged, multipliers={leaf: one * math.nan for leaf, one in forged.multipliers.items()}),
        "huge": replace(forged, multipliers={leaf: one + 1e9 for leaf, one in forged.multipliers.items()}),
        "forks left out": replace(forged, forks={}),
        "a cheaper claim": replace(forged, findings=cheaper),
        "a higher bound": replace(forged, findings=replace(found, bounds=found.costs, lower_bound=2 * found.lower_bound)),
        "a lower bound": replace(forged, findings=replace(cheaper, costs=found.costs)),
        "no answer": replace(
            forged,
            findings=replace(
                found, status=cl.Status.INFEASIBLE, leaves=found.leaves[:0], costs=found.costs[:0], bounds=found.bounds[:0],
                points=found.points[:0], lower_bound=math.inf,
            ),
        ),
        "another radius": replace(forged, ball=replace(ball, radius=ball.radius * 0.5)),
        "a larger radius": replace(forged, ball=replace(ball, radius=ball.radius * 2)),
        "another quantile": replace(forged, ball=replace(ball, quantile=0.9)),
        "other classes": replace(forged, ball=replace(ball, labels=np.roll(ball.labels, 1))),
        "other neighbours": replace(forged, ball=replace(ball, neighbours=np.roll(ball.neighbours, 1))),
        "no neighbours": replace(forged, ball=replace(ball, neighbours=np.full_like(ball.neighbours, -1))),
        "other data": replace(forged, ball=replace(ball, vectors=np.roll(ball.vectors, 1, axis=0))),
        "squares": replace(forged, ball=replace(ball, squared=True)),
        "fewer features": replace(forged, ball=replace(ball, numbers=ball.numbers[1:])),
    }  # fmt: skip
    assert [name for name, proof in proofs.items() if proof.check()] == []


def test_forks_that_leave_rows_out_fail(forged):
    none = np.empty(0)

    def everywhere(change, part):
        if not isinstance(part, Fork):
            return change(part)
        made = change(part)
        return replace(made, low=everywhere(change, part.low), high=everywhere(change, part.high))

    def parts(make):
        return lambda part: part if isinstance(part, Fork) else make(part)

    broken = {
        "a gap": lambda part: replace(part, cuts=(part.cuts[0] - 1.0, part.cuts[1] + 1.0)) if isinstance(part, Fork) else part,
        "beyond": lambda part: replace(part, index=10**6) if isinstance(part, Fork) else part,
        "another kind": parts(lambda part: Part(part.node, none, False, none)),
        "a negative one": parts(lambda part: replace(part, mu=-1.0)),
        "a huge one": parts(lambda part: NearPart(part.node, none, False, none, mu=1e9)),
    }
    for name, change in broken.items():
        forks = {key: everywhere(change, part) for key, part in forged.forks.items()}
        assert not replace(forged, forks=forks).check(), name


def test_a_cheaper_row_outside_of_the_ball_is_not_an_answer(forged):
    far = forged.problem.source
    found = replace(forged.findings, points=far[None])
    assert not replace(forged, findings=found).check()


def test_the_batch_and_support_give_the_same():
    _, data, explainer, _ = small_table(1)
    near = cl.near(data, 0.6)
    many = explainer.explain_many(data.iloc[:15], target="yes", constraints=near, support=2, progress=False)
    for line in range(15):
        answer = explainer.explain(data.iloc[line], target="yes", constraints=near, support=2)
        assert many["status"][line] == str(answer.status)
        assert answer.certificate.check()
        if len(answer):
            assert many["cost"][line] == answer[0].cost
            assert explainer._counts[answer[0].leaf] >= 2


def test_conflicts_and_words():
    _, data, explainer, _ = small_table(0)
    near = cl.near(data, 0.05)
    frozen = cl.freeze("a", "b", "level", "own")
    for line in range(len(data)):
        answer = explainer.explain(data.iloc[line], constraints=[near, frozen])
        if not len(answer) and near in answer.conflict:
            break
    assert "near(60 rows, quantile=0.05)" in str(answer)
    assert answer.certificate.check()
    assert str(cl.near(data, 0.9, "L2")) == "near(60 rows, quantile=0.9, metric='L2')"
    found = explainer.explain(data.iloc[0], constraints=near)
    assert found.words[-1] == "near(60 rows, quantile=0.05)"
    with pytest.raises(cl.CounterleafError, match="has no JSON, which would hold all of these rows; pickle it instead"):
        found.to_json()
    assert pickle.loads(pickle.dumps(found)).certificate.check()


def test_the_printed_row_is_near_too():
    for seed in seeds(5):
        model, X, explainer, _ = numeric_case(seed)
        near = cl.near(X, 0.3)
        answer = explainer.explain(X[0], target=1 - int(model.predict(X[:1])[0]), constraints=near)
        row = np.array(answer[0].row)
        for d, (_, new) in written(answer, 0).items():
            row[d] = float(new)
        assert answer.certificate.admits(row)


def test_time_limits_are_honest():
    _, X, explainer, _ = numeric_case(0)
    answer = explainer.explain(X[0], constraints=cl.near(X, 0.3), time_limit=1e-9)
    assert str(answer.status) == "limit"
    assert answer.certificate.check()


def test_data_that_does_not_fit():
    _, data, explainer, _ = small_table(0)
    row = data.iloc[0]
    with pytest.raises(cl.CounterleafError, match="quantile= of near is 0; expected a number above 0 and at most 1"):
        cl.near(data, 0)
    with pytest.raises(cl.CounterleafError, match='metric= of near is \'L3\'; expected "L1" or "L2"'):
        cl.near(data, metric="L3")
    with pytest.raises(cl.CounterleafError, match=r"near got the columns \['a'\]; expected"):
        explainer.explain(row, constraints=cl.near(data[["a"]]))
    with pytest.raises(cl.CounterleafError, match="no two rows have the same class; expected more rows of data"):
        explainer.explain(row, constraints=cl.near(data.iloc[:1]))
    _, X, numbers, _ = numeric_case(0)
    with pytest.raises(cl.CounterleafError, match="near got NaN or infinity in column 'x0'; fill it in or drop those rows"):
        numbers.explain(X[0], constraints=cl.near(np.where(X[0, 0] == X, np.nan, X)))


OBLIQUE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ({"constraints": [cl.max_changes(2)]}, "max_changes"),
        ({"constraints": [cl.linear({"a": 1, "b": 1}, "<=", 3)]}, "linear"),
        ({"constraints": [cl.implies(cl.changed("a"), cl.freeze("b"))]}, "implies"),
        ({"cost": cl.L1() + cl.LinearCost({"a": -5.0})}, "a cost that earns"),
        ({"cost": cl.L1() + cl.Changes()}, "Changes"),
        ({"count": 2}, "several answers; expected count=1"),
        ({"count": None}, "several answers; expected count=1"),
        ({"margin": 0.5}, "a margin; expected 0"),
        ({"max_nodes": 5}, "max_nodes; use time_limit"),
    ],
)
def test_what_it_cannot_be_combined_with(question, reason):
    _, data, explainer, _ = small_table(0)
    near = cl.near(data)
    constraints = [near, *question.pop("constraints", [])]
    with pytest.raises(cl.CounterleafError, match=r"near\(60 rows, quantile=0.99\) cannot be combined with " + reason):
        explainer.explain(data.iloc[0], constraints=constraints, **question)


def test_models_that_it_cannot_be_combined_with():
    rows = np.random.default_rng(0).normal(size=(20, 2))
    near = cl.near(rows)
    with pytest.raises(cl.CounterleafError, match="cannot be combined with oblique splits; expected a tree that compares one"):
        cl.Explainer(OBLIQUE, data=rows).explain(rows[0], constraints=near)
    model = DecisionTreeClassifier(max_depth=2).fit(rows, rows[:, 0] > 0)
    explainer = cl.Explainer(model, data=rows)
    with pytest.raises(cl.CounterleafError, match="cannot be combined with a target that the leaves compute"):
        explainer.explain(rows[0], target=cl.probability(True, at_least=0.9), constraints=near)
    with pytest.raises(cl.CounterleafError, match="cannot be combined with Quadratic; expected L1, L2 or a sum of them"):
        explainer.explain(rows[0], cost=cl.Quadratic(np.eye(2)), constraints=near)
    with pytest.raises(cl.CounterleafError, match="cannot be combined with near"):
        explainer.explain(rows[0], constraints=[near, cl.near(rows)])
    with pytest.raises(cl.CounterleafError, match="cannot be combined with max_changes"):
        explainer.explain_front(rows[0], constraints=near)
