"""Answers about ensembles of every library against an oracle that tries all combinations of values and asks the model."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from support.forest_questions import LIBRARIES, Accepts, predictions, random_question, spans
from support.forest_referee import Oracle, TooManyError, on_grid, priced
from support.seeds import seeds

import counterleaf as cl

KINDS = {
    "HistGradientBoosting": ["plain", "mixed", "gaps", "mixed gaps", "pipeline", "mixed pipeline", "gappy pipeline"],
    "lightgbm": ["plain", "mixed", "gaps", "mixed gaps", "pipeline", "mixed pipeline", "gappy pipeline"],
    "xgboost": ["plain", "mixed", "gaps", "mixed gaps", "pipeline", "mixed pipeline", "gappy pipeline"],
    "RandomForest": ["plain", "gaps", "pipeline", "mixed pipeline", "gappy pipeline"],
    "ydf": ["plain"],
}
USUAL = ["plain", "pipeline", "mixed pipeline", "gappy pipeline"]
REFUSED = ("LinearCost that earns", "weighted median")  # what ensembles do not support, in the words of the messages


def is_near(one, other):
    return one == other or abs(one - other) <= 1e-9 * max(abs(one), abs(other)) + 1e-13


def made(seed, library, kind=None, classes=None, regression=None, most=None):
    """A random question of a library: (generator, explainer, question, target, row)."""
    rng = np.random.default_rng([seed, *map(ord, library)])
    kinds = KINDS.get(library, USUAL)
    kind = kinds[seed % len(kinds)] if kind is None else kind
    if regression is None:
        regression = library not in ("AdaBoost", "VotingSoft") and rng.random() < 0.25
    explainer, question, target, row = random_question(
        rng, library, seed, regression, int(rng.integers(2, 5)) if classes is None else classes, kind
    )
    return rng, explainer, question, target, row


def asked(call, *args, **options):
    """The answer, or None if ensembles do not support the question."""
    try:
        return call(*args, **options)
    except cl.CounterleafError as error:
        if not any(words in str(error) for words in REFUSED):
            raise
        return None


def oracle(question):
    try:
        return Oracle(question)
    except TooManyError:
        return None


def check_answer(seed, library):
    _, explainer, question, target, row = made(seed, library)
    answer = asked(explainer.explain, row, target=target, cost=question.cost, constraints=question.limits())
    truth = None if answer is None else oracle(question)
    if truth is None:
        return
    best, _ = truth.best()
    assert answer.certificate.check()
    assert answer.status == ("optimal" if best < math.inf else "infeasible"), best
    if len(answer):
        assert is_near(answer[0].cost, best)
        assert answer[0].confirmed


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("seed", seeds(5))
def test_the_cheapest_answer(seed, library):
    check_answer(seed, library)


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("seed", seeds(100, 106))
def test_the_cheapest_answer_of_many_questions(seed, library):
    check_answer(seed, library)


@pytest.mark.parametrize("library", LIBRARIES)
def test_alternatives_leave_something_alone(library):
    """Each answer is the cheapest that does not change all that an earlier one changes."""
    for seed in seeds(2):
        _, explainer, question, target, row = made(seed, library, classes=2)
        limits = question.limits()
        answer = asked(explainer.explain, row, target=target, cost=question.cost, constraints=limits, count=3)
        truth = None if answer is None else oracle(question)
        if truth is None:
            continue
        assert answer.certificate.check()
        left = np.ones(len(truth.cost), bool)
        for one in answer:
            assert is_near(one.cost, truth.best(left)[0]), seed
            assert one.confirmed
            changes = [truth.changed[name] for name in one.changes]
            left &= ~np.logical_and.reduce(changes) if changes else False
        if len(answer) < 3:
            assert truth.best(left)[0] == math.inf


@pytest.mark.parametrize("library", LIBRARIES)
def test_fronts_have_the_cheapest_answer_for_each_number_of_changes(library):
    for seed in seeds(10, 12):
        _, explainer, question, target, row = made(seed, library, classes=3)
        front = asked(explainer.explain_front, row, target=target, cost=question.cost, constraints=question.limits())
        truth = None if front is None else oracle(question)
        if truth is None:
            continue
        assert front.check()
        changes = sum(column.astype(int) for column in truth.changed.values())
        expected = []
        for k in range(len(question.features) + 1):
            best = truth.best(changes <= k)[0]
            if best < math.inf and (not expected or best < expected[-1][1] - 1e-9 * abs(best) - 1e-13):
                expected.append((k, best))
        assert [len(point.changes) for point in front] == [k for k, _ in expected], seed
        assert all(is_near(point.cost, best) for point, (_, best) in zip(front, expected, strict=True))


def scores(library, model, rows):
    if library in ("RandomForest", "ExtraTrees"):
        return model.predict_proba(rows)
    if library == "xgboost":
        return model.predict(rows, output_margin=True).astype(float)
    return model.predict(rows, raw_score=True) if library == "lightgbm" else model.decision_function(rows)


@pytest.mark.parametrize(
    "library", ["RandomForest", "ExtraTrees", "GradientBoosting", "HistGradientBoosting", "xgboost", "lightgbm"]
)
def test_a_margin_is_one_of_the_scores(library):
    for seed in seeds(20, 25):
        rng, explainer, question, _, row = made(seed, library, "plain", 2 + seed % 2, False)
        model = question.model
        if not isinstance(explainer.tree, cl.Tree):  # a model with one tree is one, and margins are about its splits
            k = int(rng.choice(np.flatnonzero(model.classes_ != predictions(model, row)[0])))
            margin = float(rng.random() * rng.choice([0.1, 0.5, 1.0]))

            def is_clear(rows, k=k, margin=margin, model=model):
                found = np.asarray(scores(library, model, rows), float)
                if found.ndim == 1:
                    return found >= margin if k else found <= -margin
                return found[:, k] - np.delete(found, k, axis=1).max(axis=1) >= margin

            question.accepts = Accepts(model, {model.classes_[k]: 0.0}, more=is_clear)
            check_with(explainer, question, model.classes_[k], row, margin=margin)


def check_with(explainer, question, target, row, **options):
    """Compare with the oracle an answer to a question with further options."""
    options.setdefault("constraints", question.limits())
    answer = asked(explainer.explain, row, target=target, cost=question.cost, **options)
    truth = None if answer is None else oracle(question)
    if truth is None:
        return
    best, _ = truth.best()
    assert answer.certificate.check()
    assert answer.status == ("optimal" if best < math.inf else "infeasible"), best
    assert all(is_near(one.cost, best) and one.confirmed for one in answer)


@pytest.mark.parametrize("library", ["RandomForest", "ExtraTrees", "GradientBoosting", "Bagging"])
def test_margins_by_feature_keep_a_distance_from_the_splits_of_every_tree(library):
    for seed in seeds(30, 34):
        rng, explainer, question, target, row = made(seed, library, "plain")
        ranges, names = spans(question.frame, question.features), list(question.frame.columns)
        margin = {name: float(np.round(ranges[name] * rng.random() * 0.1, 3)) for name in names if rng.random() < 0.7}
        trees = [tree.tree_ for tree in np.ravel(np.array(list(question.model.estimators_), dtype=object)).tolist()]
        estimators = np.ravel(np.array(list(question.model.estimators_), dtype=object)).tolist()
        distance = np.array([margin.get(name, 0.0) for name in names])
        for tree in trees:
            for d, cut in zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True):
                if d >= 0 and distance[d] > 0:
                    for end in (cut - distance[d], cut + distance[d]):
                        near = np.nextafter(end, -np.inf), end, np.nextafter(end, np.inf)
                        question.more.setdefault(names[d], []).extend(near)

        def is_far(rows, distance=distance, estimators=estimators):
            X, out = rows.to_numpy(float), np.ones(len(rows), bool)
            for one in estimators:
                path = one.decision_path(X.astype(np.float32)).tocoo()
                d = one.tree_.feature[path.col]
                inner = d >= 0
                found = np.abs(X[path.row[inner], d[inner]] - one.tree_.threshold[path.col[inner]])
                out[path.row[inner][found < distance[d[inner]] * (1 - 1e-9) - 1e-12]] = False
            return out

        question.accepts.more = is_far
        check_with(explainer, question, target, row, margin=margin)


@pytest.mark.parametrize("library", ["RandomForest", "ExtraTrees"])
def test_support_counts_the_rows_in_the_leaves_of_every_tree(library):
    for seed in seeds(40, 46):
        rng, explainer, question, target, row = made(seed, library, "plain")
        least = int(rng.integers(2, 25))
        model = question.model
        reached = model.apply(question.frame)
        counts = [Counter(column.tolist()) for column in reached.T]

        def is_supported(rows, model=model, counts=counts, least=least):
            leaves = model.apply(rows)
            return np.array([all(one[int(leaf)] >= least for one, leaf in zip(counts, line, strict=True)) for line in leaves])

        question.accepts.more = is_supported
        check_with(explainer, question, target, row, support=least)


@pytest.mark.parametrize("library", LIBRARIES)
def test_among_chooses_the_cheapest_row_of_a_table(library):
    _, explainer, question, target, row = made(50, library, "plain" if library == "ydf" else "mixed pipeline")
    pool = question.frame.sample(40, random_state=1).reset_index(drop=True)
    limits = [*question.limits()[:1], cl.among(pool)]
    question.rules = question.rules[:1]
    answer = asked(explainer.explain, row, target=target, cost=question.cost, constraints=limits)
    if answer is None:
        return
    here = Pool(question, pool)
    costs = here.cost + question.accepts(pool)
    best = float(np.where(here.allowed, costs, math.inf).min())
    assert answer.certificate.check()
    assert answer.status == ("optimal" if best < math.inf else "infeasible")
    assert all(is_near(one.cost, best) and one.confirmed for one in answer)


class Pool(Oracle):
    """The rows of a table instead of all combinations."""

    def __init__(self, question, pool):
        self.question, self.columns = question, {}
        ok = np.ones(len(pool), bool)
        for f in question.features:
            if isinstance(f, cl.Numeric):
                self.columns[f.name] = x = pool[f.name].to_numpy(float)
                ok &= (x >= f.lower) & (x <= f.upper)
                ok &= np.array([one in on_grid(f, one) or one == question.row[f.name] for one in x])
            else:
                self.columns[f.name] = np.array([list(f.values).index(one) for one in pool[f.name]])
        self.cost, self.changed = priced(question, self.columns)
        for rule in question.rules:
            ok &= rule.holds(self, question.row)
        self.allowed = ok


@pytest.mark.parametrize("library", ["RandomForest", "GradientBoosting", "xgboost", "lightgbm"])
def test_a_search_that_stops_has_a_valid_bound(library):
    for seed in seeds(60, 64):
        _, explainer, question, target, row = made(seed, library, "plain", 2, False)
        truth = oracle(question)
        if truth is None:
            continue
        best, _ = truth.best()
        for options in ({"max_nodes": 1}, {"max_nodes": 2}, {"max_nodes": 5}, {"time_limit": 1e-9}):
            limits = {"target": target, "cost": question.cost, "constraints": question.limits()}
            answer = asked(explainer.explain, row, **limits, **options)
            if answer is None:
                continue
            assert answer.certificate.check()
            assert answer.lower_bound <= best * (1 + 1e-12) if best < math.inf else True
            if answer.status == "limit":
                for one in answer:
                    assert one.cost >= best * (1 - 1e-9)
                    assert one.lower_bound <= best * (1 + 1e-12)
                    assert one.gap == one.cost - one.lower_bound
            else:
                assert answer.status == ("optimal" if best < math.inf else "infeasible")


def test_filling_in_a_missing_number_is_one_change():
    """The number and whether it is missing are two coordinates of the search, and one change."""
    _, explainer, question, _, _ = made(36, "HistGradientBoosting", "gaps", regression=False)
    row = question.frame[question.frame["a"].isna()].iloc[[0]]
    tried = 0
    frozen = cl.freeze(*[name for name in question.frame.columns if name != "a"])
    for label in question.model.classes_:
        free = explainer.explain(row, target=label, constraints=frozen)
        if len(free) and free[0].changes:
            limited = explainer.explain(row, target=label, constraints=[frozen, cl.max_changes(1)])
            assert limited.status == "optimal"
            assert is_near(limited[0].cost, free[0].cost)
            tried += 1
    assert tried


def test_a_change_that_costs_nothing_does_not_use_up_the_changes():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    X["job"], X["city"] = pd.Categorical(rng.choice(list("xyz"), 80)), pd.Categorical(rng.choice(list("pq"), 80))
    y = (X["a"] + (X["job"] == "x") - (X["city"] == "p") * X["b"] > 0).astype(int)
    model = HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=4, min_samples_leaf=4, categorical_features="from_dtype")
    model.fit(X, y)
    explainer = cl.Explainer(model, data=X)
    for k in range(10):
        row = X[model.predict(X) == 0].iloc[[k]]
        usual = explainer.explain(row, target=1, constraints=cl.max_changes(1))
        free = explainer.explain(row, target=1, cost=cl.L1("range", multiplier={"city": 0}), constraints=cl.max_changes(1))
        assert free.status == usual.status
        assert free.certificate.check()
        assert all(len(one.changes) <= 1 for one in free)
