"""Answers as JSON: they come back whole, and changed ones are refused."""

import json
import re
from fractions import Fraction
from pathlib import PosixPath as Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier
from support.seeds import seeds
from support.strategies import coupled_case, random_case, whole_case

import counterleaf as cl
from counterleaf.storage import explanations


@pytest.fixture(scope="module")
def answer():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    return cl.Explainer(model, data=X).explain(X.iloc[0], target=2, count=2, distinct="leaves")


@pytest.mark.parametrize("make", [random_case, whole_case, coupled_case])
@pytest.mark.parametrize("block", range(2))
def test_every_kind_of_answer_comes_back(make, block):
    for seed in seeds(20 * block, 20 * block + 20):
        case = make(np.random.default_rng(seed))
        answer = cl.Explainer(case.tree, schema=case.schema).explain(
            case.row, target=case.target, cost=case.cost, constraints=case.constraints, count=2, margin=case.margin
        )
        text = answer.to_json()
        again = cl.Explanation.from_json(text)
        assert again.to_json() == text
        assert str(again) == str(answer)
        assert again.certificate.check() == answer.certificate.check()
        assert [c.cost for c in again] == [c.cost for c in answer]
        assert [c.row.tobytes() for c in again] == [c.row.tobytes() for c in answer]


TREE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])


@pytest.mark.parametrize(
    "row",
    [
        {"x0": 0, "x1": 0.5},
        [0, 0.5],
        (0.0, 0.5),
        np.array([0.0, 0.5]),
        np.array([0, 0], dtype=np.int32),
        pd.Series({"x1": 0.5, "x0": 0.0}, name="me"),
        pd.DataFrame({"x0": [0], "x1": [0.5]}, index=[7]),
    ],
    ids=["dict", "list", "tuple", "array", "integers", "series", "frame"],
)
def test_the_row_keeps_its_type(row):
    answer = cl.Explainer(TREE).explain(row, target="yes")
    again = cl.Explanation.from_json(answer.to_json())
    for ours, theirs in ((again.source, row), (again[0].row, answer[0].row)):
        assert type(ours) is type(theirs)
        if isinstance(row, pd.DataFrame):
            pd.testing.assert_frame_equal(ours, theirs)
        elif isinstance(row, pd.Series):
            pd.testing.assert_series_equal(ours, theirs)
        elif isinstance(row, np.ndarray):
            assert ours.dtype == theirs.dtype
            assert ours.tobytes() == theirs.tobytes()
        else:
            assert ours == theirs
    assert again[0].changes == answer[0].changes


def test_infeasible_answers_keep_their_conflict():
    constraints = [cl.freeze("x0"), cl.linear({"x0": 1, "x1": 1}, "<=", 0.5), cl.among(np.array([[0.0, 0.0]]))]
    for subset in (constraints[:2], constraints[2:]):
        answer = cl.Explainer(TREE).explain([0.0, 0.0], target="yes", constraints=subset)
        again = cl.Explanation.from_json(answer.to_json())
        assert again.status == "infeasible"
        assert str(again.conflict) == str(answer.conflict)
        assert len(again.conflict) == 1
        assert again.certificate.check()


def test_nothing_can_be_changed_unseen(answer):
    """Every number and word of the file, one at a time."""
    content = json.loads(answer.to_json())
    refused = 0
    for path in list(_leaves(content)):
        changed = json.loads(answer.to_json())
        place = changed
        for key in path[:-1]:
            place = place[key]
        old = place[path[-1]]
        place[path[-1]] = old + 1 if isinstance(old, (int, float)) and not isinstance(old, bool) else "tampered"
        with pytest.raises(cl.CounterleafError):
            cl.Explanation.from_json(json.dumps(changed))
        refused += 1
    assert refused > 150


def _leaves(value, path=()):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list):
        for k, inner in enumerate(value):
            yield from _leaves(inner, (*path, k))
    else:
        yield path


def forged(answer, change):
    """A changed answer whose digest was made anew."""
    content = json.loads(answer.to_json())
    del content["digest"]
    change(content)
    return json.dumps({**content, "digest": explanations._digest(content)})


def accepted(text):
    """Whether a file is read, and its proof holds."""
    try:
        return cl.Explanation.from_json(text).certificate.check()
    except cl.CounterleafError:
        return False


def test_a_forged_digest_does_not_make_it_true(answer):
    def cheaper(content):
        content["counterfactuals"][0]["cost"] = content["certificate"]["costs"][0] = 0.01

    def better(content):
        content["counterfactuals"][0]["lower_bound"] = content["certificate"]["bounds"][0] = 10.0

    def fewer(content):
        for place in (
            content["counterfactuals"],
            *(content["certificate"][k] for k in ("leaves", "points", "costs", "bounds")),
        ):
            del place[0]

    for change in (cheaper, better, fewer):
        assert not cl.Explanation.from_json(forged(answer, change)).certificate.check()


LINE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])


def claim(content, *answers, status="optimal", lower_bound=None):
    """Put other answers, (leaf, row, cost, bound), into a file about LINE, where it shows and where it proves."""
    proof, shown = content["certificate"], content["counterfactuals"]
    content["status"], content["lower_bound"] = status, lower_bound
    proof["leaves"], proof["points"] = [a[0] for a in answers], [a[1] for a in answers]
    proof["costs"], proof["bounds"] = [a[2] for a in answers], [a[3] for a in answers]
    label = shown[0]["label"]
    content["counterfactuals"] = [
        {
            "row": dict(zip(("x0", "x1"), row, strict=True)),
            "changes": {name: [0.0, new] for name, new in zip(("x0", "x1"), row, strict=True) if new},
            "cost": cost,
            "lower_bound": bound,
            "label": label,
            "leaf": leaf,
            "confirmed": True,
            "number": None,
        }
        for leaf, row, cost, bound in answers
    ]


BEST, DEAR = (2, [0.5, 0.5], 0.5, 0.5), (2, [5.0, 5.0], 50.0, 50.0)


def forgeries():
    def lower_bound(c):
        claim(c, BEST, lower_bound=99.0)

    def gap_of_a_limit(c):
        claim(c, (*BEST[:3], -1e9), status="limit", lower_bound=77.0)

    def same_leaf_twice(c):
        claim(c, DEAR, BEST, lower_bound=0.5)

    def scale(c):
        claim(c, (*DEAR[:3], 0.5), lower_bound=0.5)
        c["certificate"]["guard"] = 2.0**-18

    def concave(c):
        claim(c, (2, [0.5, 0.5], -9.5, -9.5), lower_bound=-9.5)
        c["question"]["cost"] = [{"L1": {"weights": -10.0}}]

    def prices(c):
        claim(c, (2, [0.0, 1.0], 1.0, 1.0), lower_bound=1.0)
        c["question"]["cost"] = [{"L2": {"weights": {"x0": 9.0, "x1": 1.0}}}]

    def target(c):
        claim(c, status="infeasible", lower_bound="inf")
        c["question"]["target"] = {"prices": []}

    def empty(c):
        claim(c, status="infeasible", lower_bound="inf")
        c["certificate"]["parts"] = [[2, [[[1.0], [39.0], True, []]]]]
        c["model"]["tree"]["dtype"] = "float32"
        c["model"]["schema"]["domains"] = {"x0": [-10.0, 10.0], "x1": [-10.0, 10.0]}

    def ragged(c):
        claim(c, status="infeasible", lower_bound="inf")
        c["certificate"]["parts"] = [[2, [[[1.0], [], True, []]]]]

    return [lower_bound, gap_of_a_limit, same_leaf_twice, scale, concave, prices, target, empty, ragged]


@pytest.mark.parametrize("forge", forgeries(), ids=lambda forge: forge.__name__)
def test_no_forgery_proves_a_falsehood(forge):
    honest = cl.Explainer(LINE).explain([0.0, 0.0], target="yes", cost=cl.L2())
    assert not accepted(forged(honest, forge))


def test_a_forged_matrix_proves_nothing():
    honest = cl.Explainer(LINE).explain([0.0, 0.0], target="yes", cost=cl.Quadratic(np.eye(2)))
    assert cl.Explanation.from_json(forged(honest, lambda c: None)).certificate.check()
    for entries, cost in (([[1.0, -10.0], [0.0, 1.0]], -2.0), ([[1.0, 5.0], [5.0, 1.0]], 3.0), ([[1.0, 0.0], [0.0, 1.0]], 0.6)):

        def forge(c, entries=entries, cost=cost):
            claim(c, (2, [0.5, 0.5], cost, cost), lower_bound=cost)
            c["question"]["cost"] = [{"Quadratic": {"Q": entries}}]
            c["certificate"]["parts"] = [[2, [[[2 * cost], [], False, [0.5, 0.5]]]]]

        assert not accepted(forged(honest, forge))


def test_a_forged_choice_proves_nothing():
    honest = cl.Explainer(LINE).explain([0.0, 0.0], target="yes", cost=cl.L2(), constraints=cl.among([[1.0, 1.0], [2.0, 2.0]]))
    assert honest.certificate.check()
    for forge in (
        lambda c: claim(c, status="infeasible", lower_bound="inf"),
        lambda c: claim(c, BEST, lower_bound=0.5),
    ):
        assert not cl.Explanation.from_json(forged(honest, forge)).certificate.check()


def test_the_target_shown_is_the_one_proved():
    honest = cl.Explainer(LINE).explain([0.0, 0.0], target="yes", cost=cl.L2())

    def no_target(c):
        claim(c, status="infeasible", lower_bound="inf")
        c["question"]["target"], c["certificate"]["parts"] = [], []

    def other(c):
        c["target"] = ["no"]

    def unknown(c):
        c["question"]["target"] = "maybe"

    for forge, message in (
        (no_target, "target is .*; expected a class"),
        (other, "contradicts itself: it does not show what it proves"),
        (unknown, "no class 'maybe'; the model's classes are"),
    ):
        with pytest.raises(cl.CounterleafError, match=message):
            cl.Explanation.from_json(forged(honest, forge))
    other_question = forged(honest, lambda c: c["question"].update(target="no"))
    with pytest.raises(cl.CounterleafError, match="contradicts itself"):
        cl.Explanation.from_json(other_question)


@pytest.mark.parametrize("row", [[Fraction(1, 3), 0.0], pd.Series([0.0, 0.0], index=["x0", "x1"], name=("a", "b"))])
def test_what_json_cannot_hold_is_refused_at_once(row):
    answer = cl.Explainer(LINE).explain(row, target="yes")
    with pytest.raises(cl.CounterleafError, match="the answer contains a value that JSON cannot represent"):
        answer.to_json()


def test_a_file_that_contradicts_itself_is_refused(answer):
    def shown(content):
        content["counterfactuals"][0]["cost"] = 0.01

    def label(content):
        content["counterfactuals"][0]["label"] = 0

    def source(content):
        content["source_row"]["values"][0] += 1.0

    def guard(content):
        content["certificate"]["guard"] = 2.0**-16

    def tangents(content):
        content["certificate"]["tangents"] = [[1, [[[1.0, [0.5, 0.5, 0.0]]]]]]

    for change in (shown, label, source, guard, tangents):
        with pytest.raises(cl.CounterleafError, match="contradicts itself"):
            cl.Explanation.from_json(forged(answer, change))

    def lacking(content):
        del content["certificate"]["parts"]

    def ragged(content):
        content["certificate"]["costs"].pop()

    for change in (lacking, ragged):
        with pytest.raises(cl.CounterleafError, match=r"lacks or garbles|do not fit together"):
            cl.Explanation.from_json(forged(answer, change))


def test_truncated_and_foreign_text_is_refused(answer):
    text = answer.to_json()
    for end in range(0, len(text), 997):
        with pytest.raises(cl.CounterleafError, match="not a counterleaf answer: not valid JSON"):
            cl.Explanation.from_json(text[:end])
    with pytest.raises(cl.CounterleafError, match=r"an answer is read from text; got a PosixPath: pass Path\(file\).read_text"):
        cl.Explanation.from_json(Path("answer.json"))
    for foreign in ("[]", "{}", '{"format": "counterleaf-tree"}'):
        with pytest.raises(cl.CounterleafError, match='expected an object with "format"'):
            cl.Explanation.from_json(foreign)


@pytest.mark.parametrize("version", [1, 7, 9, 8.0, True, None, "8", [8]])
def test_answers_of_other_versions_are_refused_with_what_to_do(version):
    text = json.dumps({"format": "counterleaf-explanation", "version": version})
    message = re.escape(f"answer format version {version!r}; this counterleaf reads version 8: explain the row again")
    with pytest.raises(cl.CounterleafError, match=f"^{message}$"):
        cl.Explanation.from_json(text)


def test_what_is_read_prints_and_draws(answer):
    again = cl.Explanation.from_json(answer.to_json())
    assert again._repr_html_() == answer._repr_html_()
    pd.testing.assert_frame_equal(again.to_frame(), answer.to_frame())
    assert again.plot("tree").axes


@pytest.mark.parametrize("form", ["frame", "series", "dict"])
def test_an_answer_read_from_a_file_keeps_the_types_of_the_table(form):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "pay": rng.normal(size=200).astype(np.float32),
            "age": pd.array(rng.integers(18, 80, 200), "Int64"),
            "kind": pd.Categorical(rng.choice(["r", "g"], 200), ["never", "g", "r"]),
            "code": pd.Categorical(rng.choice([7, 3], 200)),
            "when": pd.date_range("2020", periods=200),
            "town": pd.Series(["Ulm", None] * 100, dtype="string"),
        }
    )
    model = HistGradientBoostingClassifier(max_iter=6).fit(
        X[["pay", "age", "kind", "code"]], X["kind"].eq("r") ^ X["code"].eq(3)
    )
    row = {"frame": X.iloc[[0]], "series": X.iloc[0], "dict": X.iloc[0].to_dict()}[form]
    explainer = cl.Explainer(model, data=X)
    answer = explainer.explain(row)
    stored = cl.Explainer.from_json(explainer.to_json()).explain(row)
    assert stored.to_frame().dtypes.drop("pay").equals(answer.to_frame().dtypes.drop("pay"))
    again = cl.Explanation.from_json(answer.to_json())
    shown = again.to_frame()[list(X.columns)]
    assert shown.dtypes.drop("pay").equals(X.dtypes.drop("pay"))
    features = ["pay", "age", "kind", "code"]
    assert model.predict(shown[features]).tolist() == [answer.source_label, answer[0].label]
    if form == "frame":
        assert again[0].row.dtypes.drop("pay").equals(X.dtypes.drop("pay"))
        assert model.predict(again[0].row[features])[0] == answer[0].label


def test_columns_without_a_description_stay_out_of_the_types():
    X = pd.DataFrame({"x": [0.0, 1.0] * 20, "part": pd.arrays.SparseArray(np.zeros(40))})
    model = DecisionTreeClassifier().fit(X[["x"]], [0, 1] * 20)
    explainer = cl.Explainer(model, data=X)
    assert cl.Explanation.from_json(explainer.explain({"x": 0.0, "part": 0.0}).to_json()).types == {}
    with pytest.raises(cl.CounterleafError, match=r"a value that JSON cannot represent \(a column of type Sparse"):
        explainer.explain(X.iloc[[0]]).to_json()
