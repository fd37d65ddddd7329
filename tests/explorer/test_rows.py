"""All rows of a scene: efforts, columns, groups, and models and rows that the user opens."""

import functools
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeRegressor
from support.explorer_cases import bundled_session, every_kind, make_question, small_session
from support.seeds import seeds

import counterleaf as cl
from counterleaf.core.stopping import StoppedError, new_stop, stoppable
from counterleaf.errors import CounterleafError
from counterleaf.explorer.session import session as session_module
from counterleaf.explorer.session.opening import MOST_SCENES
from counterleaf.explorer.session.rows import answers as answers_module
from counterleaf.explorer.session.rows import pasted
from counterleaf.explorer.session.rows.pasted import read_pasted

HAS, CAN, CANNOT, LIMIT, UNREADABLE = range(5)


def efforts(session, question):
    """All efforts, with the blocks joined."""
    out, start = {}, 0
    while start is not None:
        reply = session.handle("efforts", {"question": question, "start": start})
        json.dumps(reply, allow_nan=False)
        assert reply["start"] == start
        for name, value in reply.items():
            if isinstance(value, list):
                out.setdefault(name, []).extend(value)
        start = reply["next"]
    assert {len(values) for values in out.values()} == {reply["n_rows"]}
    return out


def is_one_line(error):
    return "\n" not in str(error) and len(str(error)) < 1000


def agrees(session, question, rows, found=None):
    """Check the efforts of some rows against the answer for each of them."""
    found = found or efforts(session, question)
    for row in rows:
        answer = session.handle("answer", question | {"row": int(row), "count": 1})
        status = found["status"][row]
        if status == HAS:
            assert not answer["ways"][0]["changes"]
            continue
        if status == CANNOT:
            assert answer["status"] == "infeasible"
            continue
        assert status == CAN
        way = answer["ways"][0]
        assert found["effort"][row] == pytest.approx(way["effort"]["total"], rel=1e-4, abs=2e-6)
        assert found["n_changes"][row] == len(way["changes"])
        if "class_index" in found:
            assert found["class_index"][row] == answer["source"]["class_index"]
        else:
            assert found["value"][row] == pytest.approx(answer["source"]["number"]["value"], rel=1e-4)
    return found


QUESTIONS = [
    {},
    {"cost": "L2", "spread": "std"},
    {"cost": "mixed", "max_changes": 2, "margin": 0.01},
    {"controls": {"age": {"lock": True}}},
]


@pytest.mark.parametrize("key", ["adult", "german"])
@pytest.mark.parametrize("fields", QUESTIONS, ids=["plain", "squares", "limited", "locked"])
def test_efforts_are_those_of_the_answers(key, fields):
    question = make_question(key, **fields)
    rows = np.random.default_rng(len(str(fields))).integers(0, 200, 12)
    found = agrees(bundled_session(), question, rows)
    assert {HAS, CAN} <= set(found["status"])


def test_a_row_that_has_the_goal_and_breaks_a_rule_has_to_change_or_cannot():
    session, question = bundled_session(), make_question("german", target=["granted"])
    for control, status in (({"high": 12.0}, CAN), ({"high": 12.0, "lock": True}, CANNOT)):
        asked = question | {"controls": {"duration_months": control}}
        found = agrees(session, asked, range(0, 60, 3))
        rows = [row for row in range(60) if session.handle("answer", asked | {"row": row, "count": 1})["already"]]
        assert rows
        assert {found["status"][row] for row in rows} == {status}


def test_a_question_that_nobody_can_answer():
    names = [feature["name"] for feature in bundled_session().handle("scene", {"scene": "german"})["features"]]
    question = make_question("german", controls={name: {"lock": True} for name in names})
    found = agrees(bundled_session(), question, range(0, 200, 25))
    assert set(found["status"]) == {HAS, CANNOT}
    assert {effort for effort, status in zip(found["effort"], found["status"], strict=True) if status == CANNOT} == {None}


@functools.cache
def forest_session():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(size=60), "b": rng.integers(0, 9, 60), "c": rng.normal(size=60)})
    labels = np.where(rows["a"] + rows["b"] / 4 > 1, "yes", "no")
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(rows, labels)
    return small_session(cl.Explainer(model, data=rows), rows)


def test_efforts_of_a_forest_come_in_blocks(monkeypatch):
    monkeypatch.setattr(session_module, "_SECONDS", 0.0)
    monkeypatch.setattr(answers_module, "_FIRST", 7)
    monkeypatch.setattr(answers_module, "_MOST", 20)
    session = forest_session()
    question = {"scene": "test", "target": ["yes"]}
    first = session.handle("efforts", {"question": question, "start": 0})
    assert (first["next"], first["n_rows"], len(first["status"])) == (7, 60, 7)
    found = agrees(session, question, range(0, 60, 6))
    labels = np.array(["no", "yes"])[found["class_index"]]
    model = session.scene("test").explainer
    assert [status == HAS for status in found["status"]] == [label == "yes" for label in labels]
    points = session.scene("test").rows.to_numpy(float)
    np.testing.assert_allclose(found["probability"], model.tree.predict_proba(points)[:, 1], rtol=1e-5)


def test_efforts_of_a_model_of_values():
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(rows, 10 * rows["a"] + rows["b"])
    session = small_session(cl.Explainer(model, data=rows), rows)
    question = {"scene": "test", "at_least": 5.0, "target": []}
    found = agrees(session, question, range(0, 80, 9))
    assert [status == HAS for status in found["status"]] == [value >= 5.0 for value in found["value"]]
    groups = session.handle("groups", {"question": question, "by": "b", "cuts": [-0.5, 0.5]})
    assert [group["label"] for group in groups["groups"]] == ["All rows", "under -0.5", "-0.5 to under 0.5", "0.5 or more"]


def test_every_kind_of_feature_and_rows_that_cannot_be_read():
    explainer, rows = every_kind()
    rows = rows.astype({"job": object})
    rows.loc[5, "job"] = "pilot"
    rows.loc[6, "rate"] = np.inf
    session = small_session(explainer, rows)
    question = {"scene": "test", "target": ["yes"], "spread": "none"}
    found = agrees(session, question, [k for k in range(40) if k not in (5, 6)])
    assert [k for k, status in enumerate(found["status"]) if status == UNREADABLE] == [5, 6]
    assert [found[name][5] for name in ("effort", "n_changes", "class_index")] == [None] * 3
    columns = session.handle("columns", {"scene": "test", "names": explainer.schema.names})["columns"]
    for k in (0, 1, 2, 17):
        row = session.handle("row", {"scene": "test", "row": k})
        assert [columns[name][k] for name in explainer.schema.names] == row["values"]
    assert [columns["job"][5], columns["rate"][6]] == [None, None]


def test_a_stopped_request_keeps_whole_blocks_only(monkeypatch):
    monkeypatch.setattr(session_module, "_SECONDS", 0.0)
    monkeypatch.setattr(answers_module, "_FIRST", 9)
    monkeypatch.setattr(answers_module, "_MOST", 9)
    session = forest_session()
    question = {"scene": "test", "target": ["no"]}
    stop = new_stop()
    stop.set()
    with pytest.raises(StoppedError), stoppable(stop):
        session.handle("efforts", {"question": question})
    agrees(session, question, range(0, 60, 10))


def test_efforts_of_a_large_table_are_about_its_first_rows(monkeypatch):
    monkeypatch.setattr(answers_module, "MOST_ROWS", 50)
    monkeypatch.setattr(session_module, "MOST_ROWS", 50)
    explainer, rows = forest_session().scene("test").explainer, forest_session().scene("test").rows
    session = small_session(explainer, rows)
    question = {"scene": "test", "target": ["yes"]}
    assert len(efforts(session, question)["status"]) == 50
    groups = session.handle("groups", {"question": question, "by": "b"})
    assert groups["notes"][0] == "The figures are about the first 50 of 60 rows."


@pytest.mark.parametrize(
    ("key", "by", "cuts"), [("german", "age", [25.0, 40.0]), ("german", "housing", []), ("adult", "age", [])]
)
def test_groups_have_the_figures_of_an_audit(key, by, cuts):
    session, question = bundled_session(), make_question(key, controls={"age": {"lock": True}})
    reply = session.handle("groups", {"question": question, "by": by, "cuts": cuts})
    while "groups" not in reply:
        reply = session.handle("groups", {"question": question, "by": by, "cuts": cuts})
    json.dumps(reply, allow_nan=False)
    scene = session.scene(key)
    audit = cl.Audit(
        scene.explainer,
        scene.rows,
        target=question["target"],
        by={by: cuts},
        cost=cl.L1("range"),
        constraints=[cl.freeze("age")],
        conflicts=0,
    )
    assert len(reply["groups"]) == len(audit.groups)
    for group, (_, line) in zip(reply["groups"], audit.groups.iterrows(), strict=True):
        assert group["label"] == ("All rows" if not line["by"] else line["group"])
        for name in ("rows", "has", "can", "cannot", "share_has", "share_can", "cost_q25", "cost_median", "cost_q75"):
            assert group[name] == (None if pd.isna(line[name]) else pytest.approx(line[name]))
        features = audit.features.query("by == @line['by'] and group == @line['group']").sort_values("rows", ascending=False)
        assert [one["share"] for one in group["changes"]] == pytest.approx(features["share"].head(3).tolist())
    clear = audit.differences.query("measure == 'share_has' and (low > 0 or high < 0)")
    if len(clear):
        most = clear.loc[clear["difference"].abs().idxmax()]
        assert f"{100 * abs(most['difference']):.1f} percentage points" in reply["sentences"][0]


def test_groups_without_a_clear_difference_say_so():
    session = forest_session()
    reply = session.handle("groups", {"question": {"scene": "test", "target": ["yes"]}, "by": "b"})
    assert reply["sentences"] == ["The groups are too small to be compared: an interval needs 30 rows in two groups."]


REFUSED = [
    ("efforts", {"question": {"scene": "test"}, "start": 61}, "start is 61, but there are 60 rows; expected a smaller number"),
    ("efforts", {"question": {"scene": "no"}}, "no scene 'no'; expected one of test"),
    ("efforts", {"question": {"scene": "test", "target": ["maybe"]}}, "no class 'maybe' in Test; expected one of 'no', 'yes'"),
    ("columns", {"scene": "test", "names": ["z"]}, "no feature 'z' in Test; expected one of 'a', 'b', 'c'"),
    ("groups", {"question": {"scene": "test"}, "by": "z"}, "feature 'z'"),
    (
        "groups",
        {"question": {"scene": "test"}, "by": "a", "cuts": [2, 1]},
        "the bounds of 'a' are [2.0, 1.0]",
    ),
]


@pytest.mark.parametrize(("verb", "arguments", "message"), REFUSED)
def test_requests_that_are_refused(verb, arguments, message):
    with pytest.raises(CounterleafError) as caught:
        forest_session().handle(verb, arguments)
    assert message in str(caught.value).replace("'no' and 'yes'", "'no', 'yes'")


def test_bounds_of_a_category_are_refused():
    explainer, rows = every_kind()
    request = {"question": {"scene": "test", "target": ["yes"], "spread": "none"}, "by": "job", "cuts": [1]}
    with pytest.raises(CounterleafError, match="feature 'job' is not numeric, so it has no bounds; expected an empty list"):
        small_session(explainer, rows).handle("groups", request)


def test_a_scene_without_a_table_has_no_efforts():
    with pytest.raises(CounterleafError, match="Test has no table of rows; paste some with Open, or pass --data"):
        small_session(every_kind()[0]).handle("efforts", {"question": {"scene": "test", "spread": "none"}})


# rows that are pasted


def written(rows):
    """The same rows in every format."""
    text = rows.to_csv(index=False)
    yield text
    yield "\N{ZERO WIDTH NO-BREAK SPACE}" + text.replace("\n", "\r\n")
    yield rows.to_csv(index=False, sep=";")
    yield rows.to_csv(index=False, sep="\t")
    yield rows.to_json(orient="records")
    yield rows.to_json(orient="records", lines=True)
    yield rows.to_csv(index=False, header=False)


@pytest.mark.parametrize("key", ["adult", "german"])
def test_rows_are_read_in_every_format(key):
    scene = bundled_session().scene(key)
    rows, schema = scene.rows.head(5).reset_index(drop=True), scene.explainer.schema
    for text in written(rows):
        read, notes = read_pasted("pasted rows", text, schema)
        assert notes[0] == f"5 rows with the {len(schema)} columns of the model."
        pd.testing.assert_frame_equal(read[rows.columns.tolist()], rows, check_dtype=False, check_categorical=False)


def test_a_pasted_row_is_explained_as_in_its_table():
    session, question = bundled_session(), make_question("german")
    rows = session.scene("german").rows.iloc[[3, 7]]
    opened = session.handle("rows", {"scene": "german", "name": "my rows.csv", "text": rows.to_csv(index=False)})
    assert opened["notes"] == ["2 rows with the 20 columns of the model."]
    scene = session.handle("scene", {"scene": opened["key"]})
    assert (scene["title"], scene["n_rows"], scene["first_row"]) == ("German Credit: my rows", 2, 0)
    found = session.handle("answer", question | {"scene": opened["key"], "row": 0})
    expected = session.handle("answer", question | {"row": 3})
    assert found["ways"] == expected["ways"]
    again = session.handle("rows", {"scene": "german", "name": "my rows.csv", "text": rows.to_csv(index=False)})
    assert again["key"] == opened["key"]


def test_a_new_row_is_typical():
    session = bundled_session()
    opened = session.handle("rows", {"scene": "german", "name": "new row", "text": None})
    row, table = session.scene(opened["key"]).rows.iloc[0], session.scene("german").rows
    assert row["age"] == int(np.floor(table["age"].median()))
    assert row["housing"] == table["housing"].mode()[0]
    assert session.handle("row", {"scene": opened["key"], "row": 0})["problem"] is None


def test_columns_with_other_spellings_and_columns_that_are_not_used():
    schema = cl.Schema([cl.Numeric("credit_amount"), cl.Categorical("job", ["cook", "clerk"])])
    rows, notes = read_pasted("rows", "Credit Amount;JOB;id;note\n1,5;cook;7;x\n2,25;clerk;8;y", schema)
    assert rows.to_dict("list") == {"credit_amount": [1.5, 2.25], "job": ["cook", "clerk"]}
    assert notes == ["2 rows with the 2 columns of the model.", "Not used by the model: 'id', 'note'."]


def test_rows_of_which_some_cannot_be_read():
    schema = cl.Schema([cl.Numeric("x"), cl.Categorical("job", ["cook", "clerk"])])
    _, notes = read_pasted("rows", "x,job\n1,cook\n2,pilot\nmany,cook", schema)
    assert notes[1] == "2 rows cannot be read: row 2 has 'many' in 'x'; expected a number."


SMALL = cl.Schema([cl.Numeric("x"), cl.Categorical("job", ["cook", "clerk"])])
HOSTILE = {
    "": "rows is empty; expected a line with the names of the columns and at least one row",
    " \n\n": "rows is empty; expected a line with the names of the columns and at least one row",
    "x,job": "rows has names of columns but no rows; expected at least one",
    "x\n1": "rows lacks the columns ['job']",
    "a,b,c\n1,2,3": "rows lacks the columns ['x', 'job']",
    "x,x\n1,2": "rows has two columns named 'x'; names must differ",
    "x,job\n1,cook,3": "the rows have more cells than the line of names",
    "x,job\n1,cook\n1,2,3,4": "rows cannot be read as a table",
    'x,job\n1,"cook': "rows cannot be read as a table",
    "x,job\n1,pilot": "rows: no row can be read: row 0 has 'pilot' in 'job'; expected one of 'cook'",
    "x,job\n=1+1,cook": "rows: no row can be read: row 0 has '=1+1' in 'x'; expected a number",
    "\0\1\2": "rows is not text; expected CSV, JSON or JSON lines, or cells copied from a spreadsheet",
    "PK\x03\x04,job": "rows has names of columns but no rows",
    "{": "rows is not valid JSON",
    "[1, 2]": 'rows: row 0 is not an object; expected rows such as {"x": "..."}',
    "[]": "rows has names of columns but no rows; expected at least one",
    '{"x": [1], "job": "cook"}': "rows: row 0 has an array or object in 'x'; expected text, a number or null",
    '{"x": 1, "x": 2, "job": "cook"}': "rows is not valid JSON",
    '{"x": NaN, "job": "cook"}': "rows is not valid JSON",
    '{"x": 1, "job": "cook"}\n{"x": }': "rows, line 2, is not valid JSON",
    "[" * 100_000: "rows is not valid JSON",
    '{"x": 1e999, "job": "cook"}': "rows",
}


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_refused_with_one_line(text):
    with pytest.raises(CounterleafError) as caught:
        read_pasted("rows", text, SMALL)
    assert HOSTILE[text] in str(caught.value)
    assert is_one_line(caught.value)


def test_tables_that_are_too_large_are_refused(monkeypatch):
    monkeypatch.setattr(pasted, "MOST_ROWS", 3)
    monkeypatch.setattr(pasted, "_MOST_COLUMNS", 5)
    lines = "x,job\n" + "1,cook\n" * 4
    objects = json.dumps([{"x": 1, "job": "cook"}] * 4)
    wide = ",".join(map(str, range(9)))
    keys = json.dumps([{"x": 1, "job": "cook", f"k{k}": 1} for k in range(3)] + [{"a": 1, "b": 1}])
    for text in (lines, lines * 3, objects):
        with pytest.raises(CounterleafError, match="rows has more than 3 rows; pass the file with --data"):
            read_pasted("rows", text, SMALL)
    monkeypatch.setattr(pasted, "MOST_ROWS", 100)
    for text in (f"{wide}\n{wide}", keys):
        with pytest.raises(CounterleafError, match="rows has more than 5 columns; expected those of the model"):
            read_pasted("rows", text, SMALL)


def test_random_text_is_read_or_refused_with_one_line():
    rng, letters = np.random.default_rng(0), list("x,;\t\n\"{}[]:1.5ejobck'\\ =\r\u20ac")
    for _ in seeds(600):
        text = "".join(rng.choice(letters, rng.integers(1, 40)))
        for candidate in (text, "x,job\n" + text, '[{"x": ' + text):
            try:
                read_pasted("rows", candidate, SMALL)
            except CounterleafError as error:
                if not is_one_line(error):
                    raise


# models that are opened


def test_a_model_is_opened():
    session = small_session(*every_kind())
    explainer = bundled_session().scene("german").explainer
    opened = session.handle("open", {"name": "bank.json", "text": explainer.to_json()})
    scene = session.handle("scene", {"scene": opened["key"]})
    assert (scene["title"], scene["has_table"], len(scene["features"])) == ("bank", False, 20)
    assert re.match(r"bank: a tree with 20 features\.", opened["notes"][0])
    assert session.handle("answer", {"scene": opened["key"], "spread": scene["spreads"][0]})["source"]["label"]
    rows = bundled_session().scene("german").rows.head(4)
    added = session.handle("rows", {"scene": opened["key"], "name": "rows.csv", "text": rows.to_csv(index=False)})
    assert efforts(session, {"scene": added["key"], "target": ["granted"]})["status"]
    assert [one["key"] for one in session.handle("scenes", {})] == ["test", opened["key"], added["key"]]


def test_a_tree_and_a_forest_are_opened():
    session = small_session(*every_kind())
    for model in (every_kind()[0].tree, forest_session().scene("test").explainer):
        opened = session.handle("open", {"name": "m.json", "text": model.to_json()})
        assert session.handle("answer", {"scene": opened["key"], "spread": "none"})["status"]


def test_models_that_are_refused():
    session = small_session(*every_kind())
    text = every_kind()[0].to_json()
    for broken in ("", "{}", "[]", "null", text[:-5], text.replace('"left"', '"lift"', 1), "\x80\x04K\x01.", "[" * 200_000):
        with pytest.raises(CounterleafError) as caught:
            session.handle("open", {"name": "model.json", "text": broken})
        assert is_one_line(caught.value)
    assert list(session.scenes) == ["test"]


def test_names_of_files_are_shown_on_one_short_line():
    session = small_session(*every_kind())
    opened = session.handle("open", {"name": "../../<b>\n" + "x" * 200 + ".json", "text": every_kind()[0].to_json()})
    title = session.handle("scene", {"scene": opened["key"]})["title"]
    assert not {"\n", "/"} & set(title)
    assert len(title) <= 40


def test_the_number_of_open_scenes_is_limited():
    explainer, rows = every_kind()
    session = small_session(explainer, rows)
    for k in range(MOST_SCENES):
        text = rows.iloc[[k]].to_csv(index=False)
        session.handle("rows", {"scene": "test", "name": "a", "text": text})
    session.handle("rows", {"scene": "test", "name": "a", "text": text})  # the last one again
    first, second, *others = list(session.scenes)
    opened = session.handle("rows", {"scene": "test", "name": "a", "text": rows.iloc[[25]].to_csv(index=False)})
    assert opened["notes"][-1] == "Test: a was closed: at most 20 models and tables can be open."
    assert list(session.scenes) == [first, *others, opened["key"]]  # the one that was opened first is closed
    with pytest.raises(CounterleafError, match="no scene"):
        session.handle("scene", {"scene": second})


def test_the_text_of_a_table_survives_a_spreadsheet():
    buffer = io.StringIO()
    bundled_session().scene("german").rows.head(3).to_csv(buffer, sep="\t", index=False)
    read, _ = read_pasted("pasted rows", buffer.getvalue(), bundled_session().scene("german").explainer.schema)
    assert len(read) == 3
