"""Problems are posed again from a model: what a file says of bounds, prices, fills and guards proves nothing about it."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from support.cli_cases import call
from support.forgeries import holds, seal

import counterleaf as cl
from counterleaf.question.posing import GUARDS
from counterleaf.storage.explanations import reread
from counterleaf.storage.grounds import ground_of
from counterleaf.storage.problems import Ground, Poser, claims_of

OWN = "; the bounds, steps, costs of categories, spreads and fills are those of the answers' file\n"
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(15, max_depth=4, random_state=0),
}


def data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: rng.uniform(0, 10, n).round(2) for name in "abc"})


X = data()
Y = np.where(X.a + X.b + X.c > 15, "yes", "no")
NO = np.flatnonzero(Y == "no")


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    """(model, explainer, the positions of the rows that the model refuses)."""
    model = MODELS[request.param].fit(X, Y)
    return model, cl.Explainer(model, data=X), np.flatnonzero(model.predict(X) == "no").tolist()


@pytest.fixture
def verified(tmp_path):
    """Write an answer's text and a model; return what ``verify`` says."""

    def verify(text, model):
        (tmp_path / "a.jsonl").write_text(f"{text}\n")
        if isinstance(model, cl.Explainer):
            (tmp_path / "m.json").write_text(model.to_json())
            return call("verify", tmp_path / "a.jsonl", "--model", tmp_path / "m.json")
        (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
        return call("verify", tmp_path / "a.jsonl", "--model", tmp_path / "m.pkl", "--allow-pickle")

    return verify


def other(explainer, **changes):
    """The explainer with other parts of its JSON."""
    content = json.loads(explainer.to_json())
    for name, part in changes.items():
        content[name] = {**content[name], **part} if isinstance(part, dict) else part
    return cl.Explainer.from_json(json.dumps(content))


def dearer(rows, forged, honest, **question):
    """The first answer of one explainer that is dearer than that of the other, or says that there is none."""
    for i in rows:
        a, b = (one.explain(X.iloc[i], target="yes", **question) for one in (forged, honest))
        if len(b) and (not len(a) or a[0].cost > 1.05 * b[0].cost):
            return a
    raise AssertionError("no row tells the two apart")


def refused(done, reason):
    assert (done.code, done.err) == (4, "")
    assert done.out.splitlines()[0].startswith("FAIL line 1: the proof does not hold for ")
    assert done.out.splitlines()[0].endswith(f": {reason}")


def test_an_honest_answer_holds_for_its_model(fitted, verified):
    model, explainer, rows = fitted
    for question in ({}, {"count": 2}, {"support": 3}, {"margin": "1%"} if "Tree" in type(model).__name__ else {}):
        text = explainer.explain(X.iloc[rows[0]], target="yes", **question).to_json()
        done = verified(text, explainer)
        assert (done.code, done.out.endswith("m.json, which confirms every answer\n")) == (0, True)
    text = explainer.explain(X.iloc[rows[0]], target="yes").to_json()
    assert (verified(text, model).code, verified(text, model).out.endswith(OWN)) == (0, True)


@pytest.mark.parametrize("ends", [{"a": [0.0, 1.0], "b": [0.0, 9.0]}])
def test_domains_of_the_file_prove_nothing_about_the_model(fitted, verified, ends):
    _, explainer, rows = fitted
    forged = other(explainer, schema={"domains": ends})
    a = dearer([i for i in rows if X.a[i] < 1 and X.b[i] < 9], forged, explainer)
    assert a.certificate.check()
    refused(verified(a.to_json(), explainer), "its features have other bounds, steps or values")


def test_bounds_of_the_file_are_named_where_a_model_has_none(fitted, verified):
    model, explainer, rows = fitted
    a = dearer([i for i in rows if X.a[i] < 1], explainer.with_features(cl.Numeric("a", 0, 1)), explainer)
    refused(verified(a.to_json(), explainer), "its features have other bounds, steps or values")
    done = verified(a.to_json(), model)
    assert (done.code, done.out.endswith(OWN)) == (0, True)


@pytest.mark.parametrize("change", [{"a": 50.0, "c": 50.0}])
def test_the_prices_are_those_of_the_cost(fitted, verified, change):
    _, explainer, rows = fitted
    cost = cl.L1("range", multiplier=change)
    pairs = ([explainer.explain(X.iloc[i], target="yes", cost=one)[0].cost for one in (cost, None)] for i in rows)
    i = next(i for i, (dear, cheap) in zip(rows, pairs, strict=False) if dear > 1.05 * cheap)
    content = json.loads(explainer.explain(X.iloc[i], target="yes", cost=cost).to_json())
    content["question"]["cost"] = [{"L1": {"weights": "range"}}]
    assert not holds(content)
    assert verified(seal(content), explainer).code == 4


def test_the_spreads_are_those_of_the_model(fitted, verified):
    _, explainer, rows = fitted
    spreads = {"range": (explainer.spreads.range * [0.02, 1.0, 0.02]).tolist()}
    forged = other(explainer, spreads=spreads)
    a = dearer(rows, forged, explainer)
    assert a.certificate.check()
    refused(verified(a.to_json(), explainer), "its spreads, or the accuracy of its sums, are others")


def test_leaves_are_left_out_by_the_rows_of_the_model(fitted, verified):
    model, explainer, rows = fitted
    i = next(
        i
        for i in rows
        if (a := explainer.explain(X.iloc[i], target="yes", support=30)).lower_bound
        > 1.05 * explainer.explain(X.iloc[i], target="yes", support=1).lower_bound
    )
    a = explainer.explain(X.iloc[i], target="yes", support=30)
    content = json.loads(a.to_json())
    content["question"]["support"] = 1
    refused(verified(seal(content), explainer), "other leaves are left out by support=1")
    done = verified(seal(content), model)
    reason = "m.pkl cannot count the rows of leaves, and the answer has support=1; verify with the explainer's JSON"
    assert (done.code, done.out.splitlines()[0].endswith(reason)) == (4, True)


def test_words_are_made_from_the_values_of_a_constraint(fitted):
    _, explainer, rows = fitted
    i = next(i for i in rows if X.a[i] < 1)
    content = json.loads(explainer.explain(X.iloc[i], target="yes", constraints=cl.between("a", 0, 1)).to_json())
    assert "between('a', 0, 1)" in cl.Explanation.from_json(seal(content)).words
    content["question"]["constraints"][0]["words"] = "between('a', 0, 10)"
    with pytest.raises(cl.CounterleafError, match="words"):
        cl.Explanation.from_json(seal(content))


def test_all_cases_of_a_question_have_its_target(fitted, verified):
    """The case that holds the cheapest row cannot be closed by a target of its own, or by a margin that leaves nothing."""
    model, explainer, rows = fitted
    rule = cl.implies(cl.changed("c"), cl.only_increase("a", by=5))
    if "Tree" in type(model).__name__:
        rule = cl.implies(cl.between("a", 2, 9), cl.freeze("c"))
    tried = 0
    for i in rows:
        a = explainer.explain(X.iloc[i], target="yes", constraints=rule)
        content = json.loads(a.to_json())
        if content["rounds"] is None or len(content["rounds"][0]) != 2:
            continue
        first, second = content["rounds"][0]
        if not (first["status"] == second["status"] == "optimal" and second["lower_bound"] < 0.95 * first["lower_bound"]):
            continue
        tried += 1
        assert holds(content)
        found, old = content["certificate"], content["source"]
        new = dict(zip(old, found["points"][0], strict=True))
        second.update(status="infeasible", lower_bound="inf", points=[], costs=[], bounds=[], leaves=[])
        shown = content["counterfactuals"][0]
        shown.update(row=new, changes={name: [old[name], new[name]] for name in old if new[name] != old[name]})
        shown.update(cost=found["costs"][0], lower_bound=found["bounds"][0], leaf=found["leaves"][0])
        content.update(lower_bound=first["lower_bound"], status="optimal")
        for more in ({}, {"parts": []}, {"proofs": []}, {"class_costs": []}, {"margin": 1e9}):
            forged = json.loads(json.dumps(content))
            forged["rounds"][0][1].update(more)
            assert not holds(forged)
            assert verified(seal(forged), explainer).code == 4
        if tried == 2:
            break
    assert tried


def test_missing_numbers_are_filled_in_as_the_model_does(verified):
    gaps = X.copy()
    gaps.loc[::7, "b"] = np.nan
    model = make_pipeline(SimpleImputer(), RandomForestClassifier(15, max_depth=4, random_state=0)).fit(gaps, Y)
    explainer = cl.Explainer(model, data=gaps)
    forged = other(explainer, schema={"fills": {**explainer.schema.fills, "b": 0.5}})
    for i in range(0, 400, 7):
        row = {name: None if value != value else value for name, value in gaps.iloc[i].items()}
        if model.predict(gaps.iloc[[i]])[0] != "no":
            continue
        a, b = (one.explain(row, target="yes", constraints=cl.freeze("b")) for one in (forged, explainer))
        if len(b) and (not len(a) or a[0].cost > 1.05 * b[0].cost):
            break
    assert verified(b.to_json(), explainer).code == 0
    refused(verified(a.to_json(), explainer), "it fills in missing numbers with others")


LINE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1e6, 0, 0], [-1, 0, 1], classes=["no", "yes"])
RICH = cl.Explainer(LINE, schema=cl.Schema([cl.Numeric("income", 0, 2e6), cl.Numeric("bonus", 0, 2e6)]))


def dear(guard, extra):
    """The answer of an oblique tree with another guard, and with a row that costs more by ``extra``."""
    a = RICH.explain([999990.0, 5.0], target="yes", cost=cl.L1(), constraints=[cl.freeze("bonus")])
    content = json.loads(a.to_json())
    proof, shown = content["certificate"], content["counterfactuals"][0]
    proof["guard"] = guard
    proof["points"][0][0] += extra
    for place, name in ((proof["costs"], 0), (shown, "cost")):
        place[name] += extra
    shown["row"]["income"] = shown["changes"]["income"][1] = proof["points"][0][0]
    return content


@pytest.mark.parametrize("guard", [2.0**-16, *GUARDS, 1.0, -1.0])
def test_a_guard_buys_no_gap(verified, guard):
    assert holds(dear(0.0, 0.0))
    assert not holds(dear(guard, 50.0))
    assert verified(seal(dear(guard, 50.0)), RICH).code == 4
    inexact = dear(guard, 50.0)
    inexact["model"]["guard"] = GUARDS[0]  # then each of the guards may be that of a search
    assert not holds(inexact)


def test_an_answer_that_needs_a_larger_guard_is_not_optimal(monkeypatch):
    """Its row keeps 2^-18 of the terms from the edge, which costs more than the first guard explains."""
    model = make_pipeline(LogisticRegression(C=100.0)).fit(X, Y)
    explainer = cl.Explainer(model, data=X)
    honest, calls = type(explainer._adapter).predictions, []

    def predictions(self, points, rows, output=-1):
        """Refute the first three answers; the label of the source stays."""
        calls.append(len(points))
        out = honest(self, points, rows, output)
        return [out[0], *["no"] * (len(out) - 1)] if len(calls) < 4 else out

    monkeypatch.setattr(type(explainer._adapter), "predictions", predictions)
    answer = explainer.explain(X.iloc[NO[0]], target="yes", cost=cl.L1())
    guard = next(answer.certificate.searches()).problem.question.guard
    assert guard > GUARDS[0]
    assert (answer.status, answer[0].confirmed, answer.certificate.check()) == ("limit", True, True)
    again = cl.Explanation.from_json(answer.to_json())
    assert (again.status, again.certificate.check(), again.to_json()) == ("limit", True, answer.to_json())
    content = json.loads(answer.to_json())
    content["status"] = "optimal"
    assert not holds(content)


def test_a_proof_is_read_over_the_problems_of_another_model(fitted):
    _, explainer, rows = fitted
    answer = explainer.explain(X.iloc[rows[0]], target="yes", count=2)
    ground = ground_of(explainer, answer.source, None)
    again = reread(cl.Explanation.from_json(answer.to_json()), ground)
    assert again.certificate.check()
    assert again.to_json() == answer.to_json()
    assert pickle.loads(pickle.dumps(answer)).to_json() == answer.to_json()
    swapped = X.rename(columns={"a": "b", "b": "a"})[["a", "b", "c"]]
    strange = cl.Explainer(DecisionTreeClassifier(max_depth=2, random_state=1).fit(swapped, Y), data=swapped)
    other_ground = ground_of(strange, answer.source, None)
    if isinstance(explainer.tree, cl.Tree):
        with pytest.raises(cl.CounterleafError, match="its proof is about another tree or other features"):
            reread(answer, other_ground)
    else:
        assert not reread(answer, ground_of(other(explainer, spreads={"range": [1.0, 2.0, 3.0]}), answer.source, None)).proved


def test_claims_that_are_not_those_of_the_question_are_refused(fitted):
    _, explainer, rows = fitted
    answer = explainer.explain(X.iloc[rows[0]], target="yes")
    ground = Ground(explainer.tree, explainer.schema, answer.basis)
    (claims,) = claims_of(answer.certificate, answer.decision)

    def poser(**question):
        return Poser(ground, cl.Question(target="yes", **question), explainer.schema.encode(X.iloc[rows[0]]))

    for made, given in (
        (poser(), [claims, claims]),
        (poser(), [[*claims, *claims]]),
        (poser(count=2), []),
        (poser(count=2), [[*claims, *claims]]),
    ):
        with pytest.raises(cl.CounterleafError, match="its proof has other searches than its question takes"):
            made.proof(given)
    found = explainer.explain(X.iloc[rows[0]], target="yes", count=2).certificate.findings
    with pytest.raises(cl.CounterleafError, match="its proof has more answers than its question"):
        poser().proof([[replace(claims[0], findings=found)]])
