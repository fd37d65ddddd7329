"""The sample models: they are read, they are as accurate as their README says, and they explain rows."""

import re
from importlib import resources

import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import counterleaf as cl
from counterleaf.datasets import load_adult, load_german_credit, samples
from counterleaf.table.schema import encode_table

FILES = resources.files("counterleaf.datasets") / "models"


def german():
    _, X, _, y = load_german_credit().split()
    return X, y.map({"good": "granted", "bad": "refused"})


def adult():
    _, X, _, y = load_adult().split()
    return X, y


def digits():
    pixels, labels = load_digits(return_X_y=True)
    names = [f"p{row}_{column}" for row in range(8) for column in range(8)]
    _, X, _, y = train_test_split(pd.DataFrame(pixels, columns=names), labels, random_state=0)
    return X, y


def test_the_tree_of_the_examples():
    tree = cl.datasets.example_tree()
    assert tree.predict([[0.5, 0.5], [1.0, -0.1], [0.0, 1.0], [0.0, 0.0]]).tolist() == ["yes", "no", "yes", "no"]
    answer = cl.Explainer(tree).explain([0.0, 0.0], target="yes")
    assert answer[0].row == [0.5, 0.5]
    assert answer[0].confirmed
    assert answer.certificate.check()


@pytest.mark.parametrize("make", [german, adult, digits])
def test_a_tree_is_as_good_as_its_readme_says(make):
    X, y = make()
    explainer = samples.load(make.__name__)
    line = next(row for row in (FILES / "README.md").read_text().splitlines() if f"`{make.__name__}.json`" in row)
    leaves, _, accuracy, common = re.findall(r"[\d.]+", line.split("|", 5)[5])[-4:]
    predicted = explainer.tree.predict(explainer.schema.spread(encode_table(explainer.schema, X)))
    assert len(explainer.tree.leaves) == int(leaves)
    assert f"{(predicted == y).mean():.3f}" == accuracy
    assert f"{pd.Series(y).value_counts(normalize=True).max():.3f}" == common


@pytest.mark.parametrize("make", [german, adult, digits])
def test_a_tree_answers(make):
    X, _ = make()
    explainer = samples.load(make.__name__)
    table = explainer.explain_many(X.iloc[:40], progress=False)
    assert set(table["status"]) == {"optimal"}
    assert table["confirmed"].all()
    assert explainer.explain(X.iloc[0]).certificate.check()


def test_the_features_are_as_the_tables_have_them():
    schema = samples.load("german").schema
    assert schema.inferred
    assert {f.name for f in schema if isinstance(f, cl.Numeric) and f.integer} == set(
        german()[0].select_dtypes("number").columns
    )
    assert samples.load("german").tree.classes.tolist() == ["granted", "refused"]
    assert samples.load("adult").tree.classes.tolist() == ["<=50K", ">50K"]
    assert all((f.lower, f.upper, f.integer) == (0, 16, False) for f in samples.load("digits").schema)
