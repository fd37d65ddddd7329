"""No answer is cheaper: the pipeline predicts one table of all values of every column, for numbers those next to cuts."""

import functools
import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.pipeline_cases import JOBS, SCHOOLS

import counterleaf as cl


def small(n=120, seed=4):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(30, 37, n),
            "pay": np.round(rng.normal(3e4, 9e3, n), 2),
            "rate": np.round(rng.random(n) / 1000, 6),
            "job": rng.choice(JOBS, n),
            "school": rng.choice(SCHOOLS, n),
            "owner": rng.random(n) < 0.5,
        }
    )
    score = frame["age"] - 33 + (frame["pay"] - 3e4) / 6e3 + frame["rate"] * 2e3 + frame["school"].map(SCHOOLS.index)
    score += 2.0 * (frame["job"] == "nurse") - (frame["job"] == "cook") + frame["owner"]
    return frame, np.select([score > score.quantile(0.7), score > score.quantile(0.3)], ["high", "middle"], "low")


SMALL, LABELS = small()
SCALED = make_pipeline(
    ColumnTransformer(
        [
            ("n", StandardScaler(), ["age", "pay", "rate"]),
            ("c", OneHotEncoder(drop="first"), ["job", "school"]),
            ("o", "passthrough", ["owner"]),
        ]
    ),
    DecisionTreeClassifier(max_depth=6, random_state=0),
).fit(SMALL, LABELS)
CODED = make_pipeline(
    ColumnTransformer(
        [("s", OrdinalEncoder(categories=[SCHOOLS]), ["school"]), ("j", OneHotEncoder(min_frequency=28), ["job"])],
        remainder=MinMaxScaler(),
    ),
    DecisionTreeClassifier(min_samples_leaf=3, random_state=1),
).fit(SMALL, LABELS)
MODELS = {"scaled": SCALED, "coded": CODED}
SCHEMA = cl.Schema(
    [
        cl.Numeric("age", 30, 36, integer=True),
        cl.Numeric("pay", *SMALL["pay"].agg(["min", "max"])),
        cl.Numeric("rate", 0, 0.001, step=0.00025),
        cl.Categorical("job", JOBS),
        cl.Ordinal("school", SCHOOLS),
        cl.Boolean("owner"),
    ]
)


def cut_points(pipeline, frame, name, usual):
    """The numbers on both sides of every cut of a column, found by halving with the steps and the tree of the pipeline."""
    steps, tree = pipeline[:-1], pipeline[-1].tree_

    def seen(numbers):
        rows = pd.concat([usual] * len(numbers), ignore_index=True).assign(**{name: numbers})
        made = steps.transform(rows)
        return np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float64)

    low, high = frame[name].min() - 1.0, frame[name].max() + 1.0
    column = int(np.flatnonzero(np.ptp(seen(np.array([low, high])), axis=0))[0])
    cuts = tree.threshold[tree.feature == column]
    left, right = np.full(len(cuts), low), np.full(len(cuts), high)
    while (np.nextafter(left, right) < right).any():
        middle = left + (right - left) / 2
        goes_left = seen(middle)[:, column].astype(np.float32) <= cuts
        left, right = np.where(goes_left, middle, left), np.where(goes_left, right, middle)
    return {*left.tolist(), *right.tolist()}


@functools.cache
def cuts_of(key, name):
    return cut_points(MODELS[key], SMALL, name, SMALL.iloc[[0]])


@functools.cache
def every(key, i, grid):
    """All candidate rows as one frame, with label and leaf: the cheapest row that the pipeline gives a label is among them."""
    row, model = SMALL.iloc[i], MODELS[key]
    low, high = SMALL["pay"].min(), SMALL["pay"].max()
    pay = {min(max(x, low), high) for x in cuts_of(key, "pay") | {low, high, *BETWEEN}} | {row["pay"]}
    rates = {k * 0.00025 for k in range(5)} | {row["rate"]}
    if not grid:  # inferred: pay is money, in cents
        pay = {cents / 100 for x in pay for cents in (math.floor(x * 100), math.ceil(x * 100))} | {row["pay"]}
        low, high = SMALL["rate"].min(), SMALL["rate"].max()
        rates = {min(max(x, low), high) for x in cuts_of(key, "rate") | {low, high}} | {row["rate"]}
    values = [range(30, 37), sorted(pay), sorted(rates), JOBS, SCHOOLS, [False, True]]
    rows = pd.DataFrame(itertools.product(*values), columns=SMALL.columns)
    label, leaf = model.predict(rows), model[-1].apply(model[:-1].transform(rows))
    return rows.astype({"job": "category", "school": "category"}), label, leaf


def levels(column):
    return column.map(SCHOOLS.index).astype(int) if hasattr(column, "map") else SCHOOLS.index(column)


BETWEEN = (25_000.0, 31_000.5)
WIDTH = {  # of the middle 98 %
    name: float(np.subtract(*np.quantile(SMALL[name], [0.99, 0.01], method="inverted_cdf"))) for name in ("age", "pay", "rate")
}
WEIGHTS = {"age": 0.7, "pay": 2e-4, "rate": 4e3, "job": 0.4, "school": 0.5, "owner": 1.5}


def by_range(all_rows, row, ordinal):
    out = sum((all_rows[name] - row[name]).abs() / WIDTH[name] for name in WIDTH)
    school = (levels(all_rows["school"]) - levels(row["school"])).abs() / 3 if ordinal else all_rows["school"] != row["school"]
    return out + (all_rows["job"] != row["job"]) + school + (all_rows["owner"] != row["owner"])


def by_squares(all_rows, row, ordinal):
    out = sum(WEIGHTS[name] ** 2 * (all_rows[name] - row[name]) ** 2 for name in WIDTH)
    moved = levels(all_rows["school"]) - levels(row["school"])
    out += WEIGHTS["school"] ** 2 * (moved**2 if ordinal else 2.0 * (moved != 0))
    return (
        out
        + 2 * WEIGHTS["job"] ** 2 * (all_rows["job"] != row["job"])
        + WEIGHTS["owner"] ** 2 * (all_rows["owner"] != row["owner"])
    )


def by_weights(all_rows, row, ordinal):
    out = sum(WEIGHTS[name] * (all_rows[name] - row[name]).abs() for name in WIDTH)
    moved = levels(all_rows["school"]) - levels(row["school"])
    out += WEIGHTS["school"] * (moved.abs() if ordinal else 2.0 * (moved != 0))
    return out + 2 * WEIGHTS["job"] * (all_rows["job"] != row["job"]) + WEIGHTS["owner"] * (all_rows["owner"] != row["owner"])


COSTS = {
    "range": (None, by_range),
    "squares": (cl.L2({name: w**2 for name, w in WEIGHTS.items()}), by_squares),
    "both": (cl.L1("range") + 0.5 * cl.L1(WEIGHTS), lambda *args: by_range(*args) + 0.5 * by_weights(*args)),
}


def differs(all_rows, row, name):
    return all_rows[name] != row[name]


CONSTRAINTS = {
    "none": ([], lambda a, r: True),
    "freeze": ([cl.freeze("pay", "job")], lambda a, r: (a["pay"] == r["pay"]) & (a["job"] == r["job"])),
    "allow": ([cl.allow("job", ["cook", "smith"])], lambda a, r: a["job"].isin(["cook", "smith"])),
    "forbid": (
        [cl.forbid("job", ["nurse"]), cl.forbid("owner", [True])],
        lambda a, r: (a["job"] != "nurse") & ~a["owner"],
    ),
    "between": (
        [cl.between("age", 32, 34.5), cl.between("pay", *BETWEEN)],
        lambda a, r: a["age"].between(32, 34.5) & a["pay"].between(*BETWEEN),
    ),
    "increase": ([cl.only_increase("age", by=1.5)], lambda a, r: a["age"] >= r["age"] + 1.5),
    "both ways": (
        [cl.only_increase("age"), cl.only_decrease("rate"), cl.freeze("pay")],
        lambda a, r: (a["age"] >= r["age"]) & (a["rate"] <= r["rate"]) & (a["pay"] == r["pay"]),
    ),
    "at most one": ([cl.max_changes(1)], lambda a, r: sum(differs(a, r, name).astype(int) for name in a) <= 1),
    "at most two": (
        [cl.max_changes(2), cl.freeze("pay")],
        lambda a, r: (sum(differs(a, r, name).astype(int) for name in a) <= 2) & (a["pay"] == r["pay"]),
    ),
    "if then": (
        [cl.implies(cl.changed("school"), cl.only_increase("age", by=2)), cl.freeze("pay")],
        lambda a, r: (~differs(a, r, "school") | (a["age"] >= r["age"] + 2)) & (a["pay"] == r["pay"]),
    ),
    "if thens": (
        [
            cl.implies(cl.changed("job"), cl.allow("school", ["BA", "MA"])),
            cl.implies(cl.changed("age"), cl.freeze("owner")),
            cl.implies(cl.changed("pay"), cl.fix("job", "clerk")),
        ],
        lambda a, r: (
            (~differs(a, r, "job") | a["school"].isin(["BA", "MA"]))
            & (~differs(a, r, "age") | ~differs(a, r, "owner"))
            & (~differs(a, r, "pay") | (a["job"] == "clerk"))
        ),
    ),
    "linear": (
        [cl.linear({"school=MA": 2, "job=nurse": 2, "age": -1}, "<=", -32), cl.freeze("pay")],
        lambda a, r: (2 * (a["school"] == "MA") + 2 * (a["job"] == "nurse") - a["age"] <= -32) & (a["pay"] == r["pay"]),
    ),
    "linear, equal": (
        [cl.linear({"owner=True": 1, "job=cook": 1, "job=clerk": 1}, "==", 1), cl.freeze("pay")],
        lambda a, r: (a["owner"] + (a["job"] == "cook") * 1 + (a["job"] == "clerk") == 1) & (a["pay"] == r["pay"]),
    ),
    "nearly all": (
        [cl.freeze("age", "pay", "job", "school")],
        lambda a, r: ~(differs(a, r, "age") | differs(a, r, "pay") | differs(a, r, "job") | differs(a, r, "school")),
    ),
}
ROWS = [7, 23]


@functools.cache
def explainer_of(key, grid):
    """By the schema above, whose rates have a grid, or by the one inferred from the data."""
    return cl.Explainer(MODELS[key], data=SMALL, schema=SCHEMA if grid else None)


@functools.cache
def charged(key, i, price, grid):
    """The cost of every candidate row."""
    return price(every(key, i, grid)[0], SMALL.iloc[i].to_dict(), grid)


@functools.cache
def own_label(key, i):
    return MODELS[key].predict(SMALL.iloc[[i]])[0]


def least(key, i, target, price, obeying, grid):
    """(least cost, least by leaf) over all feasible rows with the label."""
    _, label, leaf = every(key, i, grid)
    feasible = (label == target) & obeying
    if not feasible.any():
        return np.inf, {}
    cost = charged(key, i, price, grid)[feasible]
    return cost.min(), cost.groupby(leaf[feasible]).min().to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_nothing_is_cheaper_by_brute_force(name, cost):
    constraints, holds = CONSTRAINTS[name]
    terms, price = COSTS[cost]
    for key, grid, i in itertools.product(MODELS, (False, True), ROWS):
        explainer, model = explainer_of(key, grid), MODELS[key]
        row = SMALL.iloc[i].to_dict()
        obeying = holds(every(key, i, grid)[0], row)
        for target in sorted({"low", "middle", "high"} - {own_label(key, i)}):
            where = (key, grid, i, target)
            best, by_leaf = least(key, i, target, price, obeying, grid)
            answer = explainer.explain(row, target=target, cost=terms, constraints=constraints, count=None)
            assert answer.status == ("infeasible" if np.isinf(best) else "optimal"), where
            assert answer.certificate.check() is True, where
            if not len(answer):
                continue
            assert answer[0].cost == pytest.approx(best, rel=1e-9, abs=1e-12), where
            assert {c.leaf: c.cost for c in answer} == pytest.approx(by_leaf, rel=1e-9, abs=1e-12), where
            answers = pd.DataFrame([c.row for c in answer])
            assert (model.predict(answers) == target).all(), where
            assert all(c.confirmed for c in answer), where
            assert np.all(holds(answers, row)), where
            assert price(answers, row, grid).tolist() == pytest.approx([c.cost for c in answer], rel=1e-9, abs=1e-12), where
            for c in answer:
                assert {name for name in row if c.row[name] != row[name]} == c.changes.keys(), where


def test_tables_of_costs():
    """A from-to table replaces the constant cost of a change."""
    jobs = {a: {b: 0.0 if a == b else 1.0 + 3 * JOBS.index(a) + JOBS.index(b) for b in JOBS} for a in JOBS}
    schools = np.abs(np.subtract.outer(np.arange(4.0) ** 2, np.arange(4.0) ** 2))
    features = [cl.Categorical("job", JOBS, costs=jobs), cl.Ordinal("school", SCHOOLS, costs=schools)]
    schema = cl.Schema([{f.name: f for f in features}.get(f.name, f) for f in SCHEMA])

    def price(a, r, grid):
        out = 10 * sum((a[name] - r[name]).abs() / WIDTH[name] for name in WIDTH) + 10 * (a["owner"] != r["owner"])
        out += a["job"].map(jobs[r["job"]]).astype(float) * 10
        return out + 10 * np.abs(levels(a["school"]) ** 2 - levels(r["school"]) ** 2)

    for key, model in MODELS.items():
        explainer = cl.Explainer(model, data=SMALL, schema=schema)
        for i in ROWS:
            source, rows = SMALL.iloc[[i]], every(key, i, True)[0]
            target = "high" if own_label(key, i) != "high" else "low"
            best, _ = least(key, i, target, price, rows["pay"] == source["pay"].iloc[0], True)
            answer = explainer.explain(source, target=target, cost=10 * cl.L1("range"), constraints=[cl.freeze("pay")])
            assert (answer[0].cost if len(answer) else np.inf) == pytest.approx(best, rel=1e-9)


def test_a_table_of_costs_from_polars():
    """A polars frame has no index: its rows are taken in their order."""
    assert cl.Categorical("job", ["a", "b"], costs=pl.DataFrame({"a": [0, 5], "b": [1, 0]})).costs == ((0, 1), (5, 0))


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent"])
def test_a_gap_costs_what_the_imputer_takes_it_for(strategy):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"hours": rng.integers(0, 12, 90).astype(float), "job": rng.choice(JOBS, 90)})
    y = np.where(table["hours"] + 3 * (table["job"] == "cook") > 8, 1, 0)
    table.loc[rng.random(90) < 0.2, "hours"] = np.nan
    fill = make_pipeline(SimpleImputer(strategy=strategy), StandardScaler())
    prepare = make_column_transformer((fill, ["hours"]), (OneHotEncoder(), ["job"]))
    model = make_pipeline(prepare, DecisionTreeClassifier(max_depth=3, random_state=0)).fit(table, y)
    explainer = cl.Explainer(model, data=table)
    stands_for = model[0].named_transformers_["pipeline"][0].statistics_[0]
    assert explainer.schema.features[0].integer  # whole numbers, though pandas needs floats for those with gaps
    for job in JOBS:
        row = pd.DataFrame({"hours": [np.nan], "job": [job]})
        answer = explainer.explain(row)
        tried = pd.DataFrame(itertools.product([np.nan, *range(12)], JOBS), columns=["hours", "job"])
        tried["cost"] = (tried["hours"].fillna(stands_for) - stands_for).abs() / 11 + (tried["job"] != job)
        flipped = tried[model.predict(tried[["hours", "job"]]) != model.predict(row)[0]]
        assert answer[0].cost == pytest.approx(flipped["cost"].min(), rel=1e-9)
        assert answer[0].confirmed
        assert ("hours" in answer[0].changes) == (not np.isnan(answer[0].row["hours"].iloc[0]))
