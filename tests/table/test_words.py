"""Labels, units and descriptions: checked, shown to people, kept in files and copies, and without effect on answers."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl
from counterleaf.errors import CounterleafError
from counterleaf.table.words import date_of, grouped, label_of, shown, with_name, with_words, words_of

HOSTILE = '<script>alert("1")</script> & =1+1'
MAKERS = {
    "number": lambda **words: cl.Numeric("x", 0, 9, **words),
    "categorical": lambda **words: cl.Categorical("x", ["a", "b"], **words),
    "ordinal": lambda **words: cl.Ordinal("x", ["a", "b"], **words),
    "boolean": lambda **words: cl.Boolean("x", **words),
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "pay_net": rng.integers(1000, 90_000, 300),
            "day": rng.integers(19_000, 20_000, 300),
            "job": rng.choice(["clerk", "cook"], 300),
            "owner": rng.random(300) < 0.5,
        }
    )


@pytest.fixture(scope="module")
def explainer(table):
    codes = table.assign(job=(table["job"] == "cook").astype(int), owner=table["owner"].astype(int))
    points = codes["pay_net"] / 90_000 + (codes["day"] - 19_000) / 1000 + codes["job"]
    tree = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(codes, np.where(points > 1.2, "yes", "no"))
    numbers = [cl.Numeric("job", values=[0, 1]), cl.Numeric("owner", values=[0, 1])]
    return cl.Explainer(tree, data=codes, schema=cl.Schema([*spoken()[:2], *numbers], inferred=True))


def spoken():
    return [
        cl.Numeric("pay_net", 0, 90_000, integer=True, label="Net pay", unit="dollars", description="Pay after tax."),
        cl.Numeric("day", 19_000, 20_000, integer=True, label="First day", unit="date"),
    ]


def row(pay=5000, day=19_100):
    return {"pay_net": pay, "day": day, "job": 0, "owner": 1}


@pytest.mark.parametrize("kind", MAKERS)
def test_every_kind_has_words(kind):
    feature = MAKERS[kind](label="A label", description="A sentence.")
    assert (feature.label, feature.description, label_of(feature)) == ("A label", "A sentence.", "A label")
    plain = MAKERS[kind]()
    assert (plain.label, plain.description, label_of(plain)) == (None, None, "x")
    assert feature == plain
    assert hash(feature) == hash(plain)
    assert repr(feature) == repr(plain)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda feature: pickle.loads(pickle.dumps(feature))])
def test_copies_have_the_same_words(kind, copied):
    feature = MAKERS[kind](label="A label", description="A sentence.")
    assert words_of(copied(feature)) == words_of(feature)


def test_words_come_after_the_other_arguments():
    assert cl.Numeric("x", 0, 9, True, 2.0, True).step == 2.0
    with pytest.raises(TypeError):
        cl.Numeric("x", 0, 9, True, None, False, None, "label")
    with pytest.raises(TypeError):
        cl.Boolean("x", None, False, "label")


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"label": 3}, "feature 'x': label is 3; expected text"),
        ({"label": b"a"}, "feature 'x': label is b'a'; expected text"),
        ({"label": ""}, "feature 'x': label is ''; expected text, or leave it out"),
        ({"description": "  "}, "feature 'x': description is '  '; expected text, or leave it out"),
        ({"label": "a" * 81}, "feature 'x': label has 81 characters; expected at most 80"),
        ({"description": "a" * 501}, "feature 'x': description has 501 characters; expected at most 500"),
        ({"label": "a\nb"}, r"feature 'x': label contains the control character '\n'; expected one line of text"),
        ({"label": "a\x00"}, r"feature 'x': label contains the control character '\x00'; expected one line of text"),
        ({"label": "a\u2028b"}, r"feature 'x': label contains the control character '\u2028'; expected one line of text"),
        (
            {"description": "\u202eabc"},
            "feature 'x': description contains the control character '\\u202e'; expected one line of text",
        ),
        ({"label": "\ud800"}, r"feature 'x': label contains the control character '\ud800'; expected one line of text"),
    ],
)
def test_words_that_are_not_one_line_are_refused(kind, words, message):
    with pytest.raises(CounterleafError) as caught:
        MAKERS[kind](**words)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        (lambda: cl.Numeric("x", unit=7), "feature 'x': unit is 7; expected text"),
        (lambda: cl.Numeric("x", unit="u" * 25), "feature 'x': unit has 25 characters; expected at most 24"),
        (lambda: cl.Numeric("x", unit="\t"), "feature 'x': unit is '\\t'; expected text, or leave it out"),
        *(
            (make, "feature 'x': unit 'date' counts whole days; set integer=True or a whole step")
            for make in (
                lambda: cl.Numeric("x", unit="date"),
                lambda: cl.Numeric("x", step=0.5, unit="date"),
                lambda: cl.Numeric("x", values=[1, 2.5], unit="date"),
            )
        ),
    ],
)
def test_units_that_are_refused(feature, message):
    with pytest.raises(CounterleafError) as caught:
        feature()
    assert str(caught.value) == message


def test_words_in_other_scripts_are_fine():
    for text in ("Кредит", "融资金额", "مبلغ القرض", "नाम\u200dक", "Größe 😀"):
        assert cl.Numeric("x", label=text, unit=text[:24]).label == text


@pytest.mark.parametrize("feature", [{"integer": True}, {"step": 7}, {"values": [1, 2]}])
def test_a_date_needs_whole_numbers(feature):
    assert cl.Numeric("x", unit="date", **feature).unit == "date"


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (0, "1970-01-01"),
        (-1, "1969-12-31"),
        (19_000.25, "2022-01-08 06:00"),
        (-719_162, "0001-01-01"),
        (2_932_896, "9999-12-31"),
        (2_932_897, None),
        (-719_163, None),
        (1e300, None),
    ],
)
def test_days_as_dates(days, text):
    assert date_of(days) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("999", "999"),
        ("1000", "1,000"),
        ("-1000", "-1,000"),
        ("\u22121000.5", "\u22121,000.5"),
        ("1e+16", "1e+16"),
        ("0.1234", "0.1234"),
    ],
)
def test_thousands_separators(number, text):
    assert grouped(number) == text


def test_values_as_people_read_them():
    assert shown(cl.Numeric("x", unit="%"), "12.5") == "12.5 %"
    assert shown(cl.Numeric("x"), "12500") == "12500"  # it may be a year or a postal code
    assert shown(cl.Numeric("x", unit="DM"), "(missing)") == "(missing)"
    assert shown(cl.Numeric("x", unit="date", integer=True), "1e+20") == "1e+20"
    assert shown(cl.Categorical("x", ["1000"]), "1000") == "1000"


def test_words_stay_when_a_feature_is_renamed_or_replaced():
    for make in MAKERS.values():
        assert words_of(with_name(make(label="A label"), "y")) == {"label": "A label"}
    schema = cl.Schema(spoken())
    assert words_of(next(iter(schema.renamed(["a", "b"])))) == words_of(schema.features[0])
    narrow = schema.replace(cl.Numeric("pay_net", 0, 10, label="Pay"))
    assert words_of(narrow.features[0]) == {"label": "Pay", "unit": "dollars", "description": "Pay after tax."}
    choice = schema.replace(cl.Categorical("pay_net", ["low", "high"]))
    assert words_of(choice.features[0]) == {"label": "Net pay", "description": "Pay after tax."}
    same = cl.Numeric("x", label="A")
    assert with_words(same, {"label": "B"}) is same


def test_a_replaced_date_is_still_whole():
    with pytest.raises(CounterleafError, match="'day': unit 'date' counts whole days; set integer=True or a whole step"):
        cl.Schema(spoken()).replace(cl.Numeric("day", 0, 10))


def test_a_schema_in_words():
    schema = cl.Schema(
        [
            *spoken(),
            cl.Numeric("a", unit="DM"),
            cl.Numeric("b", lower=1000, unit="DM"),
            cl.Numeric("c", upper=5000, unit="DM", step=10),
            cl.Numeric("d", values=[1000, 2000], unit="DM"),
            cl.Numeric("e", unit="date", step=7, lower=0),
            cl.Numeric("f", unit="date", values=[0, 1], missing=True),
            cl.Boolean("g", label="Owner"),
        ]
    )
    assert str(schema).splitlines()[1:] == [
        "  pay_net  Net pay: whole number, 0 to 90,000 dollars",
        "  day      First day: date, 2022-01-08 to 2024-10-04",
        "  a        number (DM)",
        "  b        number, at least 1,000 DM",
        "  c        number in steps of 10, at most 5,000 DM",
        "  d        one of the numbers 1,000 DM, 2,000 DM",
        "  e        date in steps of 7 days, at least 1970-01-01",
        "  f        one of the dates 1970-01-01, 1970-01-02, may be missing",
        "  g        Owner: yes or no",
    ]


def test_an_answer_shows_words_and_its_data_have_names(explainer):
    answer = explainer.explain(row(), target="yes")
    assert "If Net pay were " in str(answer)
    assert " dollars instead of 5,000 dollars" in str(answer)
    assert "Net pay" in answer._repr_html_()
    later = explainer.explain(row(40_000), target="yes", constraints=[cl.freeze("pay_net", "job")])
    assert f"If First day were {date_of(later[0].row['day'])} instead of 2022-04-18, " in str(later)
    assert set().union(*(one.changes for one in answer)) <= set(explainer.schema.names)
    assert "pay_net" in answer.to_frame().columns
    front = explainer.explain_front(row(), target="yes")
    assert " dollars" in str(front)
    assert "Net pay" in str(front) + str(front[0])


def test_words_change_nothing_else(explainer):
    plain = cl.Explainer(
        explainer.tree,
        schema=cl.Schema(
            [cl.Numeric(f.name, f.lower, f.upper, f.integer, None, False, None) for f in spoken()]
            + list(explainer.schema.features[2:]),
            inferred=True,
        ),
    )
    for pay in (2000, 30_000, 80_000):
        one, other = (e.explain(row(pay), count=3, cost=cl.L2()) for e in (explainer, plain))
        assert [c.row for c in one] == [c.row for c in other]
        assert [c.cost for c in one] == [c.cost for c in other]
    assert explainer.schema.features[:2] == plain.schema.features[:2]


def test_words_survive_files_and_pickles(explainer):
    answer = explainer.explain(row(), target="yes", count=2)
    for other in (cl.Explanation.from_json(answer.to_json()), pickle.loads(pickle.dumps(answer))):
        assert str(other) == str(answer)
        assert other.certificate.check()
    for other in (cl.Explainer.from_json(explainer.to_json()), pickle.loads(pickle.dumps(explainer))):
        assert list(map(words_of, other.schema)) == list(map(words_of, explainer.schema))
    narrow = explainer.with_features(cl.Numeric("pay_net", 0, 50_000, integer=True))
    assert words_of(narrow.schema.features[0]) == words_of(explainer.schema.features[0])


def test_files_without_words_have_no_part_for_them(explainer):
    schema = json.loads(explainer.to_json())["schema"]
    assert schema.pop("words") == {
        "pay_net": {"label": "Net pay", "unit": "dollars", "description": "Pay after tax."},
        "day": {"label": "First day", "unit": "date"},
    }
    plain = cl.Explainer(explainer.tree, schema=cl.Schema([cl.Numeric(name) for name in explainer.schema.names]))
    assert "words" not in plain.to_json()
    content = json.loads(explainer.to_json())
    del content["schema"]["words"]
    assert words_of(cl.Explainer.from_json(json.dumps(content)).schema.features[0]) == {}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"nobody": {"label": "A"}}, "the explainer's JSON has 'schema' in a form that to_json does not write"),
        ({"pay_net": {}}, "the explainer's JSON has 'schema' in a form that to_json does not write"),
        ({}, "the explainer's JSON has 'schema' in a form that to_json does not write"),
        ({"pay_net": {"name": "A"}}, "the explainer's JSON lacks or garbles a part"),
        ({"pay_net": {"upper": 5}}, "the explainer's JSON lacks or garbles a part"),
        ({"pay_net": ["A"]}, "the explainer's JSON lacks or garbles a part"),
        ([], "the explainer's JSON lacks or garbles a part"),
        ({"pay_net": {"label": "A\nB"}}, "feature 'pay_net': label contains the control character"),
        ({"job": {"unit": "date", "label": None}}, "the explainer's JSON has 'schema' in a form that to_json does not write"),
    ],
)
def test_words_of_a_file_are_checked(explainer, words, message):
    content = json.loads(explainer.to_json())
    content["schema"]["words"] = words
    with pytest.raises(CounterleafError) as caught:
        cl.Explainer.from_json(json.dumps(content))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_hostile_words_are_escaped(explainer):
    hostile = explainer.with_features(cl.Numeric("pay_net", 0, 90_000, integer=True, label=HOSTILE, unit="<b>&"))
    answer = hostile.explain(row(), target="yes")
    assert HOSTILE in str(answer)
    assert "<script>" not in answer._repr_html_()
    assert "<b>" not in answer._repr_html_()


def test_plots_show_words(explainer):
    pytest.importorskip("matplotlib")
    answer = explainer.explain(row(40_000), target="yes", constraints=[cl.freeze("pay_net", "job")])
    free = explainer.explain(row(), target="yes")

    def texts(figure):
        figure.canvas.draw()
        return " ".join(text.get_text() for text in figure.findobj(lambda one: hasattr(one, "get_text")))

    assert "Net pay" in texts(free.plot(kind="changes"))
    assert "5,000 dollars → " in texts(free.plot(kind="changes"))
    changes = texts(answer.plot(kind="changes"))
    assert "First day" in changes
    assert "2022-01-08" in changes
    assert "2022-04-18 → 202" in changes
    plane = answer.plot(kind="regions", features=("pay_net", "day"))
    assert "Net pay (dollars)" in texts(plane)
    assert "First day" in texts(plane)
    assert plane.axes[0].yaxis.get_major_formatter()(19_100.0, 0) == "2022-04-18"
    path = texts(answer.plot(kind="tree"))
    assert "Net pay" in path
    assert "≤ 20" in path
    assert "Net pay" in texts(explainer.explain_front(row(), target="yes").plot())


def test_the_bundled_tables_have_words():
    from counterleaf.datasets import load_adult, load_german_credit, samples

    for schema in (load_german_credit().schema, load_adult(all_columns=True, missing="keep").schema):
        assert all(feature.label and feature.description for feature in schema)
    for name, amount in (("german", "credit_amount"), ("adult", "capital-gain")):
        schema = samples.load(name).schema
        assert all(feature.label and feature.description for feature in schema)
        assert schema.features[schema.index(amount)].unit in ("DM", "dollars")
    codes = load_german_credit(codes=True).schema
    assert codes.features[0].label == "Checking account"


def test_a_column_of_dates_is_refused():
    dates = pd.DataFrame({"due": pd.to_datetime(["2024-01-01", "2024-05-01"])})
    with pytest.raises(CounterleafError, match=r"column 'due' of the data holds datetime64.*: convert or drop it"):
        cl.Schema.infer(dates)
