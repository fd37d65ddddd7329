"""Files of constraints: written and read without loss, described by a JSON Schema, refused in one line if they are wrong."""

import copy
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.cli_cases import ROW, call, mistake, small
from support.json_schema import is_valid
from support.seeds import seeds
from support.table_cases import rich_rules, table_case

import counterleaf as cl
from counterleaf.question.constraints import kinds

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/_static/question.schema.json").read_text())
ENTRIES = [
    ({"freeze": "age"}, cl.freeze("age")),
    ({"freeze": ["age", "sex"]}, cl.freeze("age", "sex")),
    ({"freeze": 0}, cl.freeze(0)),
    ({"fix": "job", "value": "cook"}, cl.fix("job", "cook")),
    ({"fix": "owner", "value": True}, cl.fix("owner", True)),
    ({"fix": "age", "value": 30}, cl.fix("age", 30)),
    ({"between": "hours", "lower": 0, "upper": 60.5}, cl.between("hours", 0, 60.5)),
    ({"between": "hours", "lower": 0}, cl.between("hours", lower=0)),
    ({"between": "school", "upper": "college"}, cl.between("school", upper="college")),
    ({"within": "age", "from": 0, "to": 3}, cl.within("age", 0, 3)),
    ({"within": "income", "from": "-5%", "to": "10%"}, cl.within("income", "-5%", "+10%")),
    ({"within": "income", "to": "2.5%"}, cl.within("income", None, "2.5%")),
    ({"only_increase": "income", "at_most": "10%"}, cl.only_increase("income", at_most="10%")),
    ({"only_increase": ["age", "income"]}, cl.only_increase("age", "income")),
    ({"only_decrease": "debt", "by": 2, "at_most": 5.5}, cl.only_decrease("debt", by=2, at_most=5.5)),
    ({"only_decrease": "debt", "by": "1%"}, cl.only_decrease("debt", by="1%")),
    ({"allow": "education", "values": ["BA", "MA"]}, cl.allow("education", ["BA", "MA"])),
    ({"forbid": "floor", "values": [1, 2]}, cl.forbid("floor", [1, 2])),
    ({"becomes": "job", "value": "manager"}, cl.becomes("job", "manager")),
    ({"stays": "job"}, cl.stays("job")),
    ({"linear": {"gain": 1, "loss": -1.5}, "relation": ">=", "rhs": 0}, cl.linear({"gain": 1, "loss": -1.5}, ">=", 0)),
    ({"max_changes": 2}, cl.max_changes(2)),
    (
        {"implies": {"if": {"becomes": "job", "value": "manager"}, "then": {"only_increase": "age", "by": 2}}},
        cl.implies(cl.becomes("job", "manager"), cl.only_increase("age", by=2)),
    ),
    (
        {"implies": {"if": {"changed": "job"}, "then": {"implies": {"if": {"stays": "age"}, "then": {"max_changes": 1}}}}},
        cl.implies(cl.changed("job"), cl.implies(cl.stays("age"), cl.max_changes(1))),
    ),
]
AMONG = [
    ({"among": [{"age": 30, "job": "cook"}, {"age": 41, "job": None}]}, cl.among(pd.DataFrame([(30, "cook"), (41, None)]))),
    ({"among": [[1.5, 2], [3, 4]]}, cl.among([[1.5, 2], [3, 4]])),
]


def file_of(*entries):
    return {"version": 1, "constraints": list(entries)}


def load(content):
    return cl.load_constraints(json.dumps(content))


def test_every_verb_is_read_and_written(tmp_path):
    meant = [one for _, one in ENTRIES]
    assert load(file_of(*(entry for entry, _ in ENTRIES))) == meant
    cl.save_constraints(meant, tmp_path / "rules.json")
    written = json.loads((tmp_path / "rules.json").read_text())
    assert written == file_of(*(entry for entry, _ in ENTRIES))
    again = cl.load_constraints(str(tmp_path / "rules.json"))
    assert again == meant
    assert [str(one) for one in again] == [str(one) for one in meant]
    assert {next(iter(entry)) for entry, _ in ENTRIES + AMONG} == {*kinds.VERBS, "implies"} - {"changed"}


@pytest.mark.parametrize(("entry", "meant"), AMONG)
def test_rows_are_read_and_written(tmp_path, entry, meant):
    (found,) = load(file_of(entry))
    assert str(found) == str(meant) == "among(2 rows)"
    cl.save_constraints(found, tmp_path / "rules.json")
    assert json.loads((tmp_path / "rules.json").read_text())["constraints"] == [entry]


def test_random_constraints_mean_the_same_after_a_round_trip(tmp_path):
    file = tmp_path / "rules.json"
    for seed in seeds(60):
        rng = np.random.default_rng(seed)
        case = table_case(rng, groups=2, categories=4, numerics=2, depth=1)
        case.rules += rich_rules(rng, case.schema, case.scale, case.source, case.pool, 3)
        before = case.constraints()
        cl.save_constraints(before, file)
        assert is_valid(json.loads(file.read_text()), SCHEMA, SCHEMA)
        after = cl.load_constraints(file)
        for one, other in zip(before, after, strict=True):
            assert one.to_json() == other.to_json(), (seed, one)


@pytest.mark.parametrize("content", [b'{"version": 1, "constraints": []}', ' \n{"version": 1, "constraints": []}'])
def test_text_and_bytes(content):
    assert cl.load_constraints(content) == []


def test_no_constraints_and_names_in_any_language(tmp_path):
    cl.save_constraints([], tmp_path / "rules.json")
    assert cl.load_constraints(tmp_path / "rules.json") == []
    cl.save_constraints(cl.freeze("größe", 'say "a"'), tmp_path / "rules.json")
    assert "größe" in (tmp_path / "rules.json").read_text(encoding="utf-8")
    assert cl.load_constraints(tmp_path / "rules.json") == [cl.freeze("größe", 'say "a"')]


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (cl.between("a", -math.inf, math.inf), "between('a', -inf, inf) cannot be written (it has no bound); expected names"),
        (cl.freeze(b"a"), "cannot be written (Object of type bytes is not JSON serializable)"),
        (3, "constraints is 3; expected a list such as [freeze('age')]"),
        ([cl.changed("a")], "changed('a') is a condition"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, constraints, message):
    with pytest.raises(cl.CounterleafError) as error:
        cl.save_constraints(constraints, tmp_path / "rules.json")
    assert message in str(error.value)
    assert not list(tmp_path.iterdir())


FIRST = "constraint 1 of the text"
VERBS = "freeze, fix, between, within, only_increase, only_decrease, allow, forbid, becomes, stays, linear, max_changes, among"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"freze": "age"}, f"{FIRST} has 'freze'; expected exactly one of {VERBS}, implies; did you mean 'freeze'?"),
        ({}, f"{FIRST} is empty; expected exactly one of freeze"),
        ({"freeze": "a", "stays": "a"}, f"{FIRST} has 'freeze', 'stays'; expected exactly one of freeze"),
        ([1], f'{FIRST} is [1]; expected an object such as {{"freeze": "age"}}'),
        ({"between": "a", "lowr": 1}, f"{FIRST} has 'lowr'; expected 'between', 'lower', 'upper'; did you mean 'lower'?"),
        ({"between": "a"}, f"{FIRST}: between('a') has no bound; pass lower, upper or both"),
        ({"between": "a", "lower": [1]}, f"{FIRST}: lower is [1]; expected a number or a level"),
        ({"between": "a", "lower": True}, f"{FIRST}: lower is True; expected a number or a level"),
        ({"between": "a", "lower": 3, "upper": 1}, f"{FIRST}: between('a', 3.0, 1.0): no number lies between"),
        ({"between": "a", "lower": 10**400}, f"{FIRST}: lower is 1000"),
        ({"fix": "a"}, f"{FIRST} lacks 'value'; expected 'fix', 'value'"),
        ({"fix": "a", "value": None}, f"{FIRST}: value is None; expected text, a number, true or false"),
        ({"fix": ["a"], "value": 1}, f"{FIRST}: fix is ['a']; expected the name of a feature"),
        ({"freeze": []}, f"{FIRST}: freeze is []; expected the name of a feature, or a list of names"),
        ({"freeze": [["a"]]}, f"{FIRST}: freeze is [['a']]; expected the name of a feature, or a list of names"),
        ({"freeze": -1}, f"{FIRST}: freeze is -1; expected the name of a feature"),
        ({"freeze": {"a": 1}}, f"{FIRST}: freeze is {{'a': 1}}; expected the name of a feature"),
        ({"within": "a", "from": "5"}, f"{FIRST}: a limit of within('a') is '5'; expected a number, or a percentage"),
        ({"within": "a", "from": []}, f"{FIRST}: from is []; expected a number, or a percentage such as '10%'"),
        ({"within": "a", "lower": 1}, f"{FIRST} has 'lower'; expected 'within', 'from', 'to'"),
        ({"only_increase": "a", "by": -1}, f"{FIRST}: by= of only_increase is -1; expected 0 or more"),
        ({"only_increase": "a", "by": None}, f"{FIRST}: by= of only_increase is None; expected a number"),
        ({"allow": "a", "values": "cook"}, f"{FIRST}: values is 'cook'; expected a list of values"),
        ({"allow": "a", "values": []}, f"{FIRST}: values is []; expected a list of values"),
        ({"linear": {"a": "1"}, "relation": ">=", "rhs": 0}, f"{FIRST}: linear is {{'a': '1'}}; expected an object from"),
        ({"linear": {"a": 1}, "relation": ">", "rhs": 0}, f"{FIRST}: linear got the relation '>'"),
        ({"linear": {"a": 1}, "relation": [], "rhs": 0}, f"{FIRST}: relation is []; expected '>=', '<=' or '=='"),
        ({"linear": {"a": 1}, "relation": ">=", "rhs": "0"}, f"{FIRST}: rhs is '0'; expected a number"),
        ({"max_changes": 1.5}, f"{FIRST}: max_changes is 1.5; expected a whole number from 0"),
        ({"max_changes": True}, f"{FIRST}: max_changes is True; expected a whole number from 0"),
        ({"among": "rows.csv"}, f"{FIRST}: among is 'rows.csv'; expected a list of rows, all with the same columns; for the"),
        ({"among": [[1, 2], [3]]}, f"{FIRST}: among is [[1, 2], [3]]; expected a list of rows"),
        ({"among": [{"a": 1}, {"b": 1}]}, f"{FIRST}: among is [{{'a': 1}}, {{'b': 1}}]; expected a list of rows"),
        ({"among": [{"a": [1]}]}, f"{FIRST}: among is [{{'a': [1]}}]; expected a list of rows"),
        ({"among": [[2**70]]}, f"{FIRST}: a value of among is 1180591620717411303424; JSON holds text and numbers of 64 bits"),
        ({"changed": "a"}, f"{FIRST} has 'changed'; expected exactly one of freeze"),
        ({"implies": [1, 2]}, f'{FIRST}: implies is [1, 2]; expected {{"if": ..., "then": ...}}'),
        ({"implies": {"if": {"changed": "a"}}}, f"{FIRST}, 'implies' lacks 'then'; expected 'if', 'then'"),
        ({"implies": {"if": {"changd": "a"}, "then": {"freeze": "b"}}}, f"{FIRST}, 'if' has 'changd'; expected exactly one of"),
        (
            {"implies": {"if": {"max_changes": 1}, "then": {"freeze": "b"}}},
            f"{FIRST}: implies got the condition max_changes(1)",
        ),
        ({"implies": {"if": {"changed": "a"}, "then": {"fix": "b"}}}, f"{FIRST}, 'then' lacks 'value'"),
        ({"implies": {"if": {"changed": "a"}, "then": {"changed": "b"}}}, f"{FIRST}, 'then' has 'changed'; expected exactly"),
    ],
    ids=str,
)
def test_a_wrong_entry_is_refused_with_its_position(entry, message):
    with pytest.raises(cl.CounterleafError) as error:
        load(file_of(entry))
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    with pytest.raises(cl.CounterleafError) as error:
        load(file_of({"freeze": "a"}, {"stays": "b"}, entry))
    assert str(error.value).startswith(message.replace("constraint 1", "constraint 3"))
    if "64 bits" not in message and "<=" not in message:
        semantic = ("a list of rows", "no bound", "no number lies", "a limit of within", "1000", "relation '>'")
        assert any(one in message for one in semantic) or not is_valid(file_of(entry), SCHEMA, SCHEMA)


DEEP = {"freeze": "a"}
for _ in range(17):
    DEEP = {"implies": {"if": {"changed": "a"}, "then": DEEP}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the text is not valid JSON (Expecting property name"),
        ('{"version": 1, "constraints": NaN}', "the text is not valid JSON (NaN is not valid in JSON)"),
        ('{"version": 2, "constraints": []}', "the text: version is 2; this counterleaf reads version 1"),
        ('{"version": true, "constraints": []}', "the text: version is True; this counterleaf reads version 1"),
        ('{"constraints": []}', "the text lacks 'version'; expected 'version', 'target', 'cost', 'constraints'"),
        ('{"version": 1, "rules": []}', "the text has 'rules'; expected 'version', 'target', 'cost', 'constraints'"),
        ('{"version": 1, "constraints": {}}', "the text: constraints is {}; expected a list of at most 10,000"),
        (
            json.dumps(file_of(*[DEEP["implies"]["if"]] * 10_001)),
            "the text: constraints is 10,001 constraints; expected a list",
        ),
        ('{"version": 1, "version": 1, "constraints": []}', "the text has 'version' twice; names must differ"),
        (
            '{"version": 1, "constraints": [{"stays": "a"}, {"freeze": "a", "freeze": "b"}]}',
            "constraint 2 of the text has 'freeze' twice; names must differ",
        ),
        (
            '{"version": 1, "constraints": [{"linear": {"a": 1, "a": 2}, "relation": ">=", "rhs": 0}]}',
            "constraint 1 of the text: linear is {'a': 2}; expected an object from feature to number",
        ),
        (json.dumps(file_of(DEEP)), "constraint 1 of the text, 'then' is nested too deeply; expected at most 16 implications"),
        ('{"version": 1, "constraints": ' + "[" * 100_000, "the text is not valid JSON"),
        ('{"a": "' + "x" * 10_000_000 + '"}', "the text has 10,000,009 characters; expected at most 10,000,000"),
        (b"\xff\xfe", "the text is not text in UTF-8"),
        (7, "load_constraints got 7; expected a path or the text of a file"),
        ("no/such/file.json", "cannot read 'no/such/file.json': No such file or directory; expected a file of constraints"),
        ("a\0b", "cannot read 'a\\x00b': embedded null byte; expected a file of constraints"),
        ("[1, 2]", "cannot read '[1, 2]': No such file or directory"),
    ],
)
def test_a_wrong_file_is_refused(text, message):
    with pytest.raises(cl.CounterleafError) as error:
        cl.load_constraints(text)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1000


def test_the_name_of_the_file_is_in_the_message(tmp_path):
    (tmp_path / "rules.json").write_text('{"version": 1, "constraints": [{"freeze": "a"}, {"stay": "b"}]}')
    with pytest.raises(cl.CounterleafError, match=r"^constraint 2 of rules.json has 'stay'; .*; did you mean 'stays'\?"):
        cl.load_constraints(tmp_path / "rules.json")
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(
        cl.CounterleafError, match=r"list.json holds \[1\]; expected {\"version\": 1, \"target\": ..., \"constraints\""
    ):
        cl.load_constraints(tmp_path / "list.json")


JUNK = [None, True, -1, 0, 2, 1.5, "a", "10%", "x%", [], {}, ["a"], {"a": 1}, [[1]], 1e308, "\ud800"]


def places(value, path=()):
    """Every place in a nested value."""
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def test_what_the_reader_takes_obeys_the_schema():
    """Junk at every place of an honest file: one line, or a file that the schema describes too."""
    taken = refused = 0
    for entry, _ in ENTRIES + AMONG:
        honest = file_of(entry)
        assert is_valid(honest, SCHEMA, SCHEMA)
        for path in list(places(honest))[1:]:
            for junk in JUNK:
                content = copy.deepcopy(honest)
                at = content
                for key in path[:-1]:
                    at = at[key]
                at[path[-1]] = junk
                try:
                    load(content)
                except cl.CounterleafError as error:
                    refused += "\n" not in str(error)
                else:
                    assert is_valid(content, SCHEMA, SCHEMA), content
                    taken += 1
                extra = copy.deepcopy(honest)
                at = extra
                for key in path[:-1]:
                    at = at[key]
                if isinstance(at, dict) and "extra" not in at:
                    at["extra"] = junk
                    if at is not entry.get("linear"):
                        with_extra = is_valid(extra, SCHEMA, SCHEMA)
                        try:
                            load(extra)
                        except cl.CounterleafError:
                            continue
                        assert with_extra, extra
    assert taken > 300
    assert refused > 1000


def test_the_command_takes_a_file_and_options_together(tmp_path):
    explainer = small()
    (tmp_path / "model.json").write_text(explainer.to_json())
    rules = [cl.freeze("age"), cl.within("pay=net", "-50%", "+200%"), cl.implies(cl.changed("level"), cl.freeze("floor"))]
    cl.save_constraints(rules, tmp_path / "rules.json")
    arguments = ["explain", tmp_path / "model.json", json.dumps(ROW), "--target", "1", "--format", "json"]
    done = call(*arguments, "--constraints", tmp_path / "rules.json", "--fix", "owns: home=yes", "--within", "pay=net=:3")
    assert done.code in (0, 3)
    answer = cl.Explanation.from_json(done.out)
    assert list(answer.constraints) == [*rules, cl.within("pay=net", None, 3), cl.fix("owns: home", True)]
    expected = explainer.explain(ROW, target=1, constraints=list(answer.constraints))
    assert [one.row for one in answer] == [one.row for one in expected]


def test_a_wrong_file_of_constraints_is_one_line_of_the_command(tmp_path):
    (tmp_path / "model.json").write_text(small().to_json())
    arguments = ["explain", tmp_path / "model.json", json.dumps(ROW), "--constraints", tmp_path / "rules.json"]
    assert mistake(*arguments).startswith(f"cannot read '{tmp_path}/rules.json': No such file or directory")
    (tmp_path / "rules.json").write_text('{"version": 1, "constraints": [{"freeze": "aeg"}]}')
    assert mistake(*arguments).startswith("no feature 'aeg'; the features are")
    (tmp_path / "rules.json").write_text('{"version": 1, "constraints": [{"freze": "age"}]}')
    assert mistake(*arguments).startswith("constraint 1 of rules.json has 'freze'")
    assert "rules.json" in mistake(*arguments, "--out", tmp_path / "rules.json")


def test_a_constraint_about_a_whole_table_is_not_written(tmp_path):
    near = cl.near(pd.DataFrame({"a": [1.0, 2.0, 3.0]}))
    for one in (near, cl.implies(cl.changed("a"), near)):
        with pytest.raises(
            cl.CounterleafError,
            match=r"^near.* cannot be written, because it refers to a whole table; make it in Python with near\(\.\.\.\)$",
        ):
            cl.save_constraints([one], tmp_path / "rules.json")
    assert not (tmp_path / "rules.json").exists()
