"""Invalid queries about pipelines: one line that names the column."""

import functools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.pipeline_cases import JOBS, SCHOOLS, people

import counterleaf as cl

LOANS, GRANTED = people(80, 2)
LOANS = LOANS[["age", "pay", "job", "school", "owner"]]
STRICT = make_pipeline(
    make_column_transformer((StandardScaler(), ["age", "pay"]), (OneHotEncoder(), ["job", "school"]), remainder="passthrough"),
    DecisionTreeClassifier(max_depth=4, random_state=0),
).fit(LOANS, GRANTED)
ONE = LOANS.iloc[[0]]
FEATURES = [
    cl.Numeric("age", integer=True),
    cl.Numeric("pay"),
    cl.Categorical("job", JOBS),
    cl.Ordinal("school", SCHOOLS),
    cl.Boolean("owner"),
]


@functools.cache
def explainer(levels=False):
    """By the schema above, whose schools are levels, or by the one inferred from the data."""
    return cl.Explainer(STRICT, data=LOANS, schema=cl.Schema(FEATURES) if levels else None)


def explain(row, **question):
    return explainer().explain(row, **question)


def replaced(feature):
    return cl.Schema([feature if f.name == feature.name else f for f in FEATURES])


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (
            lambda: explain(ONE.assign(job="pilot")),
            "feature 'job' is 'pilot'; expected one of 'clerk', 'cook', 'nurse', 'smith'",
        ),
        (lambda: explain({**ONE.iloc[0], "job": "pilot"}), "feature 'job' is 'pilot'; expected one of"),
        (lambda: explain(pl.from_pandas(ONE.assign(job="pilot"))), "feature 'job' is 'pilot'; expected one of"),
        (lambda: explain(ONE.assign(job=None)), "feature 'job' of the row is missing and the model has no route for that"),
        (lambda: explain(ONE.assign(age=np.inf)), "feature 'age' of the row is inf; expected a finite number: fill it in"),
        (lambda: explain({**ONE.iloc[0], "owner": None}), "feature 'owner' of the row is missing"),
        (lambda: explain(ONE.assign(pay="much")), "feature 'pay' is 'much'; expected a number"),
        (lambda: explain(ONE.assign(pay="30000")), "feature 'pay' is '30000'; expected a number"),
        (lambda: explain(ONE.assign(pay=pd.Timestamp("2020-01-01"))), "feature 'pay' is Timestamp"),
        (lambda: explain(ONE.assign(job=3)), "feature 'job' is 3; expected one of"),
        (lambda: explain(ONE.assign(age=30.5)), "feature 'age' is 30.5; expected a whole number"),
        (lambda: explain(pd.concat([ONE, ONE[["job"]]], axis=1)), "the row has two columns named 'job'"),
        (lambda: explain(pd.concat([ONE, ONE[["job"]]], axis=1).iloc[0]), "the row .*'job'"),
        (lambda: explain(ONE.drop(columns="pay")), r"the row lacks the features \['pay'\]"),
        (lambda: explain(LOANS.iloc[:2]), "the frame has 2 rows; explain takes one"),
        (lambda: explain(list(ONE.iloc[0])[:4]), "the row has .*; expected 5"),
        (lambda: explain(ONE.to_numpy()), "the row has shape .1, 5."),
        (lambda: explain({**ONE.iloc[0], "job": ["cook"]}), r"'job' is \['cook'\]"),
        (lambda: explain(ONE, target="maybe"), "no class 'maybe'; the model's classes are 'no', 'yes'"),
    ],
)
def test_bad_rows_get_one_clear_line(question, reason):
    with pytest.raises(cl.CounterleafError, match=reason) as caught:
        question()
    assert "\n" not in str(caught.value)


def unfitted():
    return make_pipeline(make_column_transformer((StandardScaler(), ["age", "pay"])), DecisionTreeClassifier())


def ending(*parts, last=None):
    return make_pipeline(make_column_transformer(*parts), DecisionTreeClassifier() if last is None else last).fit(
        LOANS, GRANTED
    )


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: cl.Explainer(STRICT, data=pd.concat([LOANS, LOANS[["job"]]], axis=1)), "data has two columns named 'job'"),
        (lambda: cl.Schema.infer(pd.concat([LOANS, LOANS[["pay"]]], axis=1)), "data has two columns named 'pay'"),
        (lambda: cl.Explainer(STRICT, data=LOANS.drop(columns="job")), r"data lacks the columns \['job'\]"),
        (lambda: cl.Explainer(STRICT, data=pl.from_pandas(LOANS).drop("job")), r"data lacks the columns \['job'\]"),
        (
            lambda: cl.Explainer(STRICT, data=LOANS[LOANS.columns[::-1]]),
            r"data has its columns in another order: \['owner', 'school'",
        ),
        (lambda: cl.Explainer(STRICT, data=LOANS.to_numpy()[:, :3]), "data has 3 columns; the pipeline needs 5"),
        (lambda: cl.Explainer(STRICT, data=LOANS.assign(job="pilot")), "'pilot' of column 'job' is unseen by the encoder"),
        (lambda: cl.Explainer(STRICT, data=LOANS.assign(pay="much")), "'pay'"),
        (lambda: cl.Explainer(STRICT, data=LOANS.assign(job=1.5)), "'job'"),
        (
            lambda: cl.Explainer(STRICT, data=LOANS.assign(job=[None, *LOANS["job"][1:]])),
            "feature 'job' may be missing, but the pipeline refuses that",
        ),
        (
            lambda: cl.Explainer(STRICT, schema=replaced(cl.Categorical("job", [*JOBS, "pilot"]))),
            "category 'pilot' of column 'job' is unseen by the encoder",
        ),
        (
            lambda: cl.Explainer(STRICT, schema=replaced(cl.Ordinal("school", [*SCHOOLS, "PhD"]))),
            "category 'PhD' of column 'school' is unseen by the encoder",
        ),
        (
            lambda: cl.Explainer(STRICT, schema=replaced(cl.Numeric("job"))),
            "feature 'job' is a number in the schema, but the pipeline encodes",
        ),
        (lambda: cl.Explainer(STRICT, data=LOANS, schema=replaced(cl.Categorical("job", JOBS[:2]))), "'job' .*'(nurse|smith)'"),
        (
            lambda: cl.Explainer(STRICT, schema=cl.Schema(FEATURES[:4])),
            "the schema has the features 'age', .*the pipeline was fitted on",
        ),
        (lambda: cl.Explainer(unfitted(), data=LOANS), "this Pipeline is not fitted; call fit first"),
        (
            lambda: cl.Explainer(make_pipeline(DecisionTreeClassifier()), data=LOANS),
            "this Pipeline is not fitted; call fit first",
        ),
        (
            lambda: cl.Explainer(ending((PolynomialFeatures(), ["age", "pay"])), data=LOANS),
            r"step 'columntransformer__polynomialfeatures' .*\(PolynomialFeatures\) cannot be folded: it mixes columns",
        ),
        (
            lambda: cl.Explainer(ending((StandardScaler(), ["pay"]), last=KNeighborsClassifier(2)), data=LOANS),
            r"\(KNeighborsClassifier\) cannot be folded: its regions are not those of a tree",
        ),
    ],
)
def test_bad_tables_and_pipelines_get_one_clear_line(make, reason):
    with pytest.raises(cl.CounterleafError, match=reason) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("constraint", "reason"),
    [
        (lambda: cl.allow("age", [30]), r"allow\('age', \[30\]\): feature 'age' is a number; use between or fix"),
        (lambda: cl.forbid("pay", [1]), r"forbid\('pay', \[1\]\): feature 'pay' is a number"),
        (lambda: cl.allow("job", ["pilot"]), "feature 'job' has no value 'pilot'; expected one of 'clerk'"),
        (lambda: cl.allow("job", "cook"), r"^the list of values of allow is 'cook'; expected a list such as \['a', 'b'\]$"),
        (lambda: cl.fix("job", "pilot"), "feature 'job' has no value 'pilot'; expected one of 'clerk'"),
        (
            lambda: cl.only_increase("job"),
            r"only_increase\('job'\): feature 'job' has categories without an order; use allow or forbid",
        ),
        (lambda: cl.only_decrease("job", by=1), r"only_decrease\('job', by=1\): feature 'job' has categories without an order"),
        (lambda: cl.between("job", "clerk", "nurse"), "feature 'job' has categories without an order"),
        (lambda: cl.between("school", "HS", "PhD"), "feature 'school' has no value 'PhD'; expected one of 'none', 'HS'"),
        (lambda: cl.between("age", "young", "old"), "feature 'age' is a number; 'young' is not"),
        (lambda: cl.linear({"job": 1, "age": 1}, ">=", 1), "feature 'job' is a category, not a number; name one of its values"),
        (lambda: cl.linear({"job=pilot": 1}, ">=", 1), "feature 'job' has no value 'pilot'; expected one of 'clerk'"),
        (lambda: cl.linear({"wage": 1}, ">=", 1), "no feature 'wage'; the features are 'age'"),
        (lambda: cl.freeze("wage"), "no feature 'wage'; the features are 'age'"),
        (lambda: cl.freeze(["age", "wage"]), "no feature 'wage'; the features are 'age'"),
        (lambda: cl.max_changes(-1), "max_changes got -1; expected a whole number from 0"),
        (lambda: cl.implies(cl.changed("job"), "age"), "implies got the consequence 'age'; expected a constraint such as"),
        (lambda: cl.within("job", 0, 1), r"within\('job', 0, 1\): feature 'job' has categories without an order"),
        (
            lambda: cl.only_increase("school", at_most="10%"),
            r"only_increase\('school', at_most='10%'\): feature 'school' has levels, so '10%' is not defined; give a number of",
        ),
        (lambda: cl.becomes("school", "PhD"), r"becomes\('school', 'PhD'\): feature 'school' has no value 'PhD'; expected one"),
        (lambda: cl.stays("wage"), "no feature 'wage'; the features are 'age'"),
        (
            lambda: cl.implies(cl.changed("job"), cl.only_increase("job")),
            r"only_increase\('job'\): feature 'job' has categories without an order",
        ),
        (
            lambda: cl.implies(cl.among([[1]]), cl.freeze("age")),
            r"implies got the condition among\(1 rows\); expected changed, be",
        ),
        (lambda: cl.implies(cl.changed("wage"), cl.freeze("age")), "no feature 'wage'"),
        (lambda: cl.changed("job"), r"changed\('job'\) is a condition; use it in implies\(changed\('job'\), \.\.\.\)"),
    ],
)
def test_bad_constraints_get_one_clear_line(constraint, reason):
    with pytest.raises(cl.CounterleafError, match=reason):
        explainer(levels=True).explain(ONE, constraints=[constraint()])


def test_a_level_and_an_open_side():
    """Infinity leaves a side open for levels as for numbers."""
    answer = explainer(levels=True).explain(ONE, constraints=[cl.between("school", "BA", np.inf)])
    assert answer[0].row["school"].iloc[0] in ("BA", "MA")


def test_a_list_in_the_order_of_a_schema_that_is_not_that_of_the_pipeline():
    """A list goes by the schema; the pipeline gets its columns in the order of its fit."""
    backwards = cl.Explainer(STRICT, data=LOANS, schema=cl.Schema(FEATURES[::-1]))
    answer = backwards.explain(list(ONE.iloc[0])[::-1])
    assert answer[0].confirmed
    assert answer[0].changes == backwards.explain(ONE)[0].changes
