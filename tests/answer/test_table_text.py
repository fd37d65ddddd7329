"""Printing of answers over tables: categories, levels, yes or no, whole numbers and grids."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from support.loan_cases import COLUMNS, EVERY, JOBS, ROW, SCHOOLS, chain, loan
from support.seeds import seeds
from support.table_cases import codes_of, columns, table_case

import counterleaf as cl


def table(text):
    """The printed table: {line: [source, #1, ...]}."""
    rows = (re.split(r" {2,}", line) for line in text.split("\n\n")[1].splitlines()[1:])
    return {name: values for name, *values in rows}


def typed(feature, word):
    """The value that a reader types after copying a word of the table."""
    if isinstance(feature, cl.Numeric):
        return float(word)
    return next(value for value in feature.values if str(value) == word)


def test_every_kind_of_change_reads_as_one_sentence():
    lines = str(EVERY).splitlines()
    assert lines[0] == (
        "If job were self-employed instead of cook, education were BA instead of HS, owner were True instead of False, "
        "age were 45 instead of 40, rate were 0.3 instead of 0.1 and pay were 150 instead of 100, "
        "the model would say yes instead of no."
    )
    assert table(str(EVERY)) == {
        "job": ["cook", "self-employed"],
        "education": ["HS", "BA"],
        "owner": ["False", "True"],
        "age": ["40", "45"],
        "rate": ["0.1", "0.3"],
        "pay": ["100", "150"],
        "cost": [table(str(EVERY))["cost"][0]],
        "model says": ["no", "yes"],
    }


def test_the_html_has_arrows_where_there_is_an_order():
    page = EVERY._repr_html_()
    assert [word for word in ("▲ BA", "▲ 45", "▲ 0.3", "▲ 150") if word not in page] == []
    assert ">self-employed</td>" in page
    assert ">True</td>" in page
    assert page.count("▲") == 4
    down = chain(({"education": -1}, 0.5)).explain(ROW)._repr_html_()
    assert "▼ none" in down


@pytest.mark.parametrize("seed", seeds(60))
def test_rows_copied_from_the_table_are_valid(seed):
    case = table_case(np.random.default_rng(seed), off_grid=seed % 3 == 0)
    answer = cl.Explainer(case.tree, schema=case.schema).explain(
        case.row, target=list(case.target), cost=case.cost(), constraints=case.constraints(), count=2
    )
    text = str(answer)
    assert answer._repr_html_().startswith("<div><p>")
    if not len(answer) or not any(c.changes for c in answer):
        assert text.startswith(("No ", "Nothing has to change"))
        return
    printed = table(text)
    for k, c in enumerate(answer):
        row = {
            **case.row,
            **{name: typed(case.schema.features[case.schema.index(name)], printed[name][k + 1]) for name in c.changes},
        }
        codes = codes_of(case.schema, [row])
        assert case.tree.apply(columns(case.schema, codes))[0] == c.leaf
        assert case.obeys(codes, slack=1e-8).all()
        assert case.price(codes)[0] <= c.cost + 0.003 * abs(c.cost) + 1e-12
        for feature in case.schema:
            if feature.name in c.changes and (not isinstance(feature, cl.Numeric) or feature.grid is not None):
                assert row[feature.name] == c.changes[feature.name][1]  # never rounded


def test_numbers_of_a_grid_are_written_in_full():
    schema = cl.Schema([cl.Numeric("a", step=0.25), cl.Numeric("b", integer=True), cl.Numeric("c", step=0.1)])
    explainer = chain(({"a": 1}, -123457.2), ({"b": 1}, -1234567890), ({"c": 1}, -0.7), schema=schema, names=["a", "b", "c"])
    printed = table(str(explainer.explain([123456.75, 0, 0.1 + 0.2], target="yes")))
    assert printed["a"] == ["123456.75", "123457.25"]
    assert printed["b"] == ["0", "1234567890"]
    assert printed["c"] == ["0.3", "0.7"]


def test_missing_values_are_named():
    schema = cl.Schema([cl.Categorical("job", ["cook", ""], missing=True), cl.Numeric("age")])
    explainer = chain(({"job=": 1, "age": 0.1}, -1), schema=schema, names=["job=cook", "job=", "job=(missing)", "age"])
    text = str(explainer.explain({"job": None, "age": 5.0}, target="yes", cost=cl.L1({"age": 9.0})))
    assert text.startswith("If job were '' instead of (missing), the model would say yes instead of no.")
    frame = pd.DataFrame({"age": [20.0, 30.0, 50.0, np.nan], "job": ["a", "b", "a", "b"]})
    model = make_pipeline(
        make_column_transformer((SimpleImputer(), ["age"]), (OneHotEncoder(), ["job"])), DecisionTreeClassifier(random_state=0)
    ).fit(frame, ["no", "no", "yes", "no"])
    answer = cl.Explainer(model, data=frame).explain({"age": math.nan, "job": "a"}, target="yes")
    assert re.match(r"If age were \S+ instead of \(missing\), the model would say yes instead of no\.", str(answer))


def test_a_category_of_two_lines_is_one_line_and_a_number_keeps_its_digits():
    schema = cl.Schema([cl.Categorical("job", ["a\nb", 7])])
    explainer = chain(({"job=7": 1}, -0.5), schema=schema, names=["job=a\nb", "job=7"])
    assert "If job were 7 instead of a b, the model" in str(explainer.explain(["a\nb"]))


def test_the_costliest_features_are_found_by_the_cost_of_all_their_values():
    schema = cl.Schema([*(cl.Numeric(f"x{k}") for k in range(13)), cl.Categorical("job", JOBS)])
    names = [f"x{k}" for k in range(13)] + [f"job={job}" for job in JOBS]
    explainer = chain(*(({name: 1}, -1.0) for name in (*names[:13], "job=nurse")), schema=schema, names=names)
    answer = explainer.explain([0.0] * 13 + ["cook"], target="yes", cost=cl.L1([1.0] * 13 + [9.0]))
    assert str(answer).startswith("If job were nurse instead of cook, x0 were 1 instead of 0, ")
    assert "and 2 other features changed as well" in str(answer)


@pytest.mark.parametrize(
    ("constraints", "text"),
    [
        ([cl.freeze("job")], "freeze('job')"),
        ([cl.allow("job", ["cook", "nurse"])], "allow('job', ['cook', 'nurse'])"),
        ([cl.forbid("job", ["clerk"])], "forbid('job', ['clerk'])"),
        ([cl.max_changes(1)], "max_changes(1)"),
        ([cl.fix("job", "cook")], "fix('job', 'cook')"),
        ([cl.between("education", "none", "HS")], "between('education', 'none', 'HS')"),
        (
            [cl.implies(cl.changed("education"), cl.freeze("job"))],
            "implies(changed('education'), freeze('job'))",
        ),
    ],
)
def test_a_conflict_is_reported_as_the_user_wrote_it(constraints, text):
    schema = cl.Schema([cl.Categorical("job", JOBS), cl.Ordinal("education", SCHOOLS)])
    explainer = chain(({"job=clerk": 1}, -0.5), ({"education": 1}, -1.5), schema=schema, names=COLUMNS[:5])
    answer = explainer.explain(["cook", "none"], target="yes", constraints=constraints)
    assert str(answer) == (
        f"No change within your constraints makes the model say yes. This constraint rules it out: {text}. This is proved."
    )


def test_several_constraints_in_conflict():
    text = str(
        chain(({"job=clerk": 1, "education": 1}, -1.5)).explain(
            ROW,
            target="yes",
            constraints=[cl.implies(cl.changed("education"), cl.only_increase("age", by=60)), cl.freeze("job")],
        )
    )
    assert text == (
        "No change within the feature bounds and your constraints makes the model say yes. These constraints cannot all hold: "
        "implies(changed('education'), only_increase('age', by=60)); freeze('job'). Relax at least one of them. "
        "This is proved."
    )


def test_only_numbers_have_bounds():
    schema = cl.Schema([cl.Categorical("job", JOBS), cl.Boolean("owner"), cl.Numeric("pay")])
    explainer = chain(({"job=clerk": 1}, -1.5), schema=schema, names=[*COLUMNS[:4], "owner", "pay"])
    assert str(explainer.explain(["cook", True, 1.0], target="yes")) == (
        "No row makes the model say yes, even without constraints. This is proved."
    )


def test_frames_and_paths_of_a_pipeline():
    model, frame = loan()
    explainer = cl.Explainer(model, data=frame)
    row = frame[(frame["job"] == "cook") & (frame["hours"] < 30)].iloc[[0]]
    answer = explainer.explain(row, target="granted", count=3)
    for out in (answer.to_frame(), answer.to_frame(only_changed=True)):
        assert out["job"].tolist() == ["cook", *(c.row["job"].iloc[0] for c in answer)]
        assert out["hours"].dtype == float
    assert "age" not in out
    assert answer.to_frame()["age"].dtype == np.int64
    assert (model.predict(answer.to_frame()[frame.columns]) == answer.to_frame()["label"]).all()
    path = explainer.explain_margins(row, margins=[0.0, 5.0, 1000.0], target="granted")
    assert [line.split()[-1] for line in str(path).splitlines()[1:3]] == [str(len(a[0].changes)) for a in path[:2]]
    assert path.to_frame()["job"].tolist()[:2] == [a[0].row["job"].iloc[0] for a in path[:2]]
    assert "self-employed" in path._repr_html_() or "clerk" in path._repr_html_()
    assert path.plot().axes[0].get_xlabel() == "margin"
