"""Options of a query: each gives its constraint, and the command gives the answers of Python."""

import json
import math

import numpy as np
import pytest
from support.cli_cases import ROW, call, mistake, rows_of, small
from support.seeds import seeds

import counterleaf as cl
from counterleaf.cli.options import read_classes, read_cost, read_count, read_value
from counterleaf.cli.question import QuestionOptions
from counterleaf.errors import CounterleafError
from counterleaf.question.constraints.lowering import lower_constraints

EXPLAINER = small()
SCHEMA = EXPLAINER.schema
FEATURES = "'age', 'pay=net', 'job, main', 'owns: home', 'level', 'floor'"


@pytest.mark.parametrize(
    ("verb", "text", "meant"),
    [
        ("freeze", "age", [cl.freeze("age")]),
        ("freeze", "age,level", [cl.freeze("age", "level")]),
        ("freeze", " age , level ", [cl.freeze("age", "level")]),
        ("freeze", "job, main", [cl.freeze("job, main")]),
        ("freeze", "age,job, main,pay=net", [cl.freeze("age", "job, main", "pay=net")]),
        ("fix", "age=30", [cl.fix("age", 30.0)]),
        ("fix", "pay=net=2.5", [cl.fix("pay=net", 2.5)]),
        ("fix", "job, main=a=b", [cl.fix("job, main", "a=b")]),
        ("fix", "owns: home=yes", [cl.fix("owns: home", True)]),
        ("fix", "owns: home=False", [cl.fix("owns: home", False)]),
        ("fix", "floor=2", [cl.fix("floor", 2)]),
        ("fix", "floor=2.0", [cl.fix("floor", 2)]),
        ("between", "age=0:60", [cl.between("age", 0.0, 60.0)]),
        ("between", "age=:60", [cl.between("age", -math.inf, 60.0)]),
        ("between", "pay=net=1e-1:", [cl.between("pay=net", 0.1, math.inf)]),
        ("between", "level=low:mid", [cl.between("level", "low", "mid")]),
        ("between", "level=mid:", [cl.between("level", "mid", math.inf)]),
        ("within", "age=-2:3", [cl.within("age", -2, 3)]),
        ("within", "pay=net=-5%:", [cl.within("pay=net", "-5%", None)]),
        ("within", "level=: +1", [cl.within("level", None, 1)]),
        ("only_increase", "age=5%", [cl.only_increase("age", by="5%")]),
        ("only_increase", "age", [cl.only_increase("age")]),
        ("only_increase", "pay=net", [cl.only_increase("pay=net")]),
        ("only_increase", "age,pay=net", [cl.only_increase("age", "pay=net")]),
        ("only_increase", "age=2", [cl.only_increase("age", by=2)]),
        ("only_increase", "age=:20%", [cl.only_increase("age", at_most="20%")]),
        ("only_decrease", "age=1:3", [cl.only_decrease("age", by=1, at_most=3)]),
        ("only_decrease", "pay=net=0.5", [cl.only_decrease("pay=net", by=0.5)]),
        ("only_decrease", "level", [cl.only_decrease("level")]),
        ("allow", "job, main=cook", [cl.allow("job, main", ["cook"])]),
        ("allow", "job, main=clerk, paid", [cl.allow("job, main", ["clerk, paid"])]),
        ("allow", "job, main=cook,clerk, paid,a=b", [cl.allow("job, main", ["cook", "clerk, paid", "a=b"])]),
        ("allow", "floor=1,3", [cl.allow("floor", [1, 3])]),
        ("forbid", "level=low, mid", [cl.forbid("level", ["low", "mid"])]),
        ("linear", "age=1,pay=net=-2 >= 0", [cl.linear({"age": 1.0, "pay=net": -2.0}, ">=", 0.0)]),
        ("linear", "job, main=cook=1,age=.1<=6", [cl.linear({"job, main=cook": 1.0, "age": 0.1}, "<=", 6.0)]),
        ("linear", "age = 1 == 3e1", [cl.linear({"age": 1.0}, "==", 30.0)]),
        ("implies", "level: only-increase age=2", [cl.implies(cl.changed("level"), cl.only_increase("age", by=2))]),
        ("implies", "level : freeze age,level", [cl.implies(cl.changed("level"), cl.freeze("age", "level"))]),
        ("implies", "owns: home: fix floor=3", [cl.implies(cl.changed("owns: home"), cl.fix("floor", 3))]),
        ("implies", "age:allow job, main=cook", [cl.implies(cl.changed("age"), cl.allow("job, main", ["cook"]))]),
    ],
)
def test_an_option_is_the_constraint_it_stands_for(verb, text, meant):
    found = QuestionOptions(**{verb: [text]}).constraints(SCHEMA)
    assert found == meant
    assert [repr(one) for one in found] == [repr(one) for one in meant]


def test_options_come_together():
    options = QuestionOptions(freeze=["age", "level"], max_changes=2, linear=["age=1 >= 3"])
    assert options.constraints(SCHEMA) == [
        cl.freeze("age"),
        cl.freeze("level"),
        cl.linear({"age": 1.0}, ">=", 3.0),
        cl.max_changes(2),
    ]


def test_among_is_a_file(tmp_path):
    rows = rows_of(5)
    rows.assign(extra=1).to_csv(tmp_path / "rows.csv", index=False)
    (found,) = QuestionOptions(among=tmp_path / "rows.csv").constraints(SCHEMA)
    meant = cl.among(rows)
    source = SCHEMA.encode(rows.iloc[0])[None]
    pools = [lower_constraints([one], SCHEMA, source).pool for one in (found, meant)]
    assert np.array_equal(*pools)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--freeze", "agee"], f"no feature 'agee'; the features are {FEATURES}; did you mean 'age'?"),
        (["--freeze", "age,agee"], f"no feature 'agee'; the features are {FEATURES}; did you mean 'age'?"),
        (["--freeze", ""], f"no feature ''; the features are {FEATURES}"),
        (["--fix", "age"], "--fix is 'age'; expected NAME=VALUE"),
        (["--fix", "agee=3"], f"no feature 'agee'; the features are {FEATURES}; did you mean 'age'?"),
        (["--fix", "age=old"], "the value of 'age' is 'old'; expected a number"),
        (["--fix", "age=nan"], "the value of 'age' is 'nan'; expected a number"),
        (["--fix", "age=inf"], "the value to fix 'age' to is inf; expected a finite number"),
        (["--fix", "floor=4"], "feature 'floor' has no value '4'; expected one of 1, 2, 3"),
        (["--fix", "owns: home=maybe"], "feature 'owns: home' has no value 'maybe'; expected one of False, True"),
        (["--between", "age=3"], "--between is 'age=3'; expected NAME=LOW:HIGH, where LOW or HIGH can be omitted"),
        (["--between", "age=:"], "--between is 'age=:'; expected NAME=LOW:HIGH, where LOW or HIGH can be omitted"),
        (
            ["--within", "age=3"],
            "--within is 'age=3'; expected NAME=LOW:HIGH, changes such as -5 or +10%, where LOW or HIGH can be omitted",
        ),
        (
            ["--within", "age=:"],
            "--within is 'age=:'; expected NAME=LOW:HIGH, changes such as -5 or +10%, where LOW or HIGH can be omitted",
        ),
        (["--within", "age=a:"], "--within of 'age' is 'a'; expected a number"),
        (["--within", "age=a%:"], "a limit of within('age') is 'a%'; expected a number, or a percentage such as '10%'"),
        (["--between", "age=9:1"], "between('age', 9.0, 1.0): no number lies between; expected lower <= upper"),
        (
            ["--between", "level=high:low"],
            "between('level', 'high', 'low'): no level lies between; the levels are 'low', 'mid', 'high'",
        ),
        (
            ["--between", "floor=1:2"],
            "between('floor', 1, 2): feature 'floor' has categories without an order; use allow or forbid",
        ),
        (["--only-increase", "age=-2"], "by= of only_increase is -2.0; expected 0 or more"),
        (
            ["--only-increase", "age=1:2:3"],
            "--only-increase is 'age=1:2:3'; expected NAME, NAME=BY or NAME=BY:MOST, where BY can be omitted",
        ),
        (["--only-increase", "age=two"], "--only-increase of 'age' is 'two'; expected a number"),
        (
            ["--only-increase", "floor"],
            "only_increase('floor'): feature 'floor' has categories without an order; use allow or forbid",
        ),
        (["--allow", "floor"], "--allow is 'floor'; expected NAME=VALUE,VALUE"),
        (["--allow", "floor=1,7"], "feature 'floor' has no value '7'; expected one of 1, 2, 3"),
        (["--forbid", "age=3"], "forbid('age', [3.0]): feature 'age' is a number; use between or fix"),
        (["--linear", "age=1"], "--linear is 'age=1'; expected 'NAME=FACTOR,NAME=FACTOR >= NUMBER', or <= or =="),
        (["--linear", "age >= 1"], "--linear is 'age >= 1'; expected 'NAME=FACTOR,NAME=FACTOR >= NUMBER', or <= or =="),
        (
            ["--linear", "age=1,age=2 <= 9"],
            "--linear is 'age=1,age=2 <= 9', which has two factors for one feature; expected one factor for each",
        ),
        (["--linear", "agee=1 <= 9"], f"no feature 'agee'; the features are {FEATURES}; did you mean 'age'?"),
        (
            ["--implies", "age only-increase"],
            "--implies is 'age only-increase'; expected NAME: VERB ..., as in 'education: only-increase age=2', where VERB is "
            "one of "
            "freeze, only-increase, only-decrease, between, within, fix, allow, forbid",
        ),
        (["--implies", "agee: freeze age"], f"no feature 'agee'; the features are {FEATURES}; did you mean 'age'?"),
        (["--target", "7"], "--target is '7'; expected one of '0', '1', '2'"),
        (["--target", "1=x"], "the cost of class '1' is 'x'; expected a number"),
        (["--multiplier", "age"], "--multiplier is 'age'; expected NAME=FACTOR"),
        (["--multiplier", "age=x"], "--multiplier of 'age' is 'x'; expected a number"),
        (["--multiplier", "age=-3"], "L2 multiplier of 'age' is -3.0; expected 0 or more"),
        (["--range", "floor=1:2"], "--range floor=1:2: feature 'floor' is not a number; use --allow"),
        (["--range", "age=5"], "--range is 'age=5'; expected NAME=LOW:HIGH, where LOW or HIGH can be omitted"),
        (["--range", "age=5:1"], "feature 'age': lower is 5.0 and upper is 1.0; expected lower <= upper"),
        (["--step", "age=0"], "feature 'age': step is 0.0; expected a number above 0"),
        (["--step", "age=0.5"], "feature 'age': step 0.5 and integer=True; expected a whole step"),
        (
            ["--cost", "L3"],
            "--cost is 'L3'; expected L1 or L2, each with :range, :std, :mad or :none, changes, and sums such as "
            "'L1:range + 0.1*L2:range + 0.05*changes'",
        ),
        (["--cost", "-1*L1"], "L1 has the factor -1.0; expected 0 or more: a cost must be convex"),
        (["--count", "0"], "--count is '0'; expected a whole number from 1, or all"),
        (["--count", "some"], "--count is 'some'; expected a whole number from 1, or all"),
        (["--time-limit", "0"], "--time-limit is 0; expected seconds above 0"),
        (["--time-limit", "nan"], "--time-limit is nan; expected seconds above 0"),
        (["--jobs", "0"], "--jobs is 0; expected a number of workers from 1, or -1 for every core"),
        (["--among", "absent.csv"], "absent.csv: No such file or directory"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, options, line):
    (tmp_path / "model.json").write_text(EXPLAINER.to_json())
    assert mistake("explain", tmp_path / "model.json", json.dumps(ROW), *options) == line


@pytest.mark.parametrize(
    "options", [["--max-changes", "-1"], ["--margin", "-1"], ["--margin", "nan"], ["--row", "-1"], ["--nope"]]
)
def test_a_wrong_option_is_a_usage_error(tmp_path, options):
    (tmp_path / "model.json").write_text(EXPLAINER.to_json())
    done = call("explain", tmp_path / "model.json", json.dumps(ROW), *options)
    assert (done.code, done.out) == (2, "")
    assert options[0].lstrip("-") in done.err


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("L1", cl.L1("range")),
        ("l1 + L1()", cl.L1("range") + cl.L1()),
        ("L2:none", cl.L2()),
        ("L1:range", cl.L1("range")),
        ('L1("mad")', cl.L1("mad")),
        ("L2()", cl.L2()),
        ("0.5*L2:std", 0.5 * cl.L2("std")),
        ("L1:mad + 0.1*L2:mad", cl.L1("mad") + 0.1 * cl.L2("mad")),
        ("2 L1+3L2", 2.0 * cl.L1("range") + 3.0 * cl.L2("range")),
    ],
)
def test_a_cost_is_read_as_python_has_it(text, meant):
    assert repr(read_cost(text)) == repr(meant)


@pytest.mark.parametrize("text", ["", "L3", "L1:mode", "L1 +", "L1*2", "1e*L1", "L1:range L2"])
def test_what_is_no_cost_is_refused(text):
    with pytest.raises(CounterleafError, match="expected L1 or L2"):
        read_cost(text)


def test_counts():
    assert (read_count("3"), read_count("all")) == (3, None)


def test_a_class_is_found_by_what_it_is_called():
    assert read_classes([0, 1, 2], ["1"]) == [1]
    assert read_classes([0, 1, 2], ["1.0", "2"]) == [1, 2]
    assert read_classes([0.0, 1.0], ["1"]) == [1.0]
    assert read_classes([False, True], ["true"]) == [True]
    assert read_classes(["a", "b"], ["a=0.5", "b"]) == {"a": 0.5, "b": 0.0}
    assert read_classes(["a", "a=0.5"], ["a=0.5"]) == ["a=0.5"]
    assert read_classes([0, 1], []) is None


def test_text_that_reads_like_a_number_stays_text():
    assert read_value(cl.Categorical("zip", ["01", "1"]), "1") == "1"
    assert read_value(cl.Categorical("zip", ["01", "1"]), "01") == "01"
    with pytest.raises(CounterleafError, match=r"feature 'zip' has no value '1\.0'"):
        read_value(cl.Categorical("zip", ["01", "1"]), "1.0")


def _random_query(rng):
    """The same question twice: as options, and as Python has it."""
    options, query = [], {"constraints": []}

    def say(option, text, constraint):
        options.extend([f"--{option}", text])
        query["constraints"].append(constraint)

    if rng.random() < 0.7:
        label = int(rng.integers(3))
        options.extend(["--target", str(label)])
        query["target"] = [label]
    if rng.random() < 0.3:
        say("freeze", "age,job, main", cl.freeze("age", "job, main"))
    if rng.random() < 0.3:
        by = int(rng.integers(1, 4))
        say("only-increase", f"age={by}", cl.only_increase("age", by=by))
    if rng.random() < 0.3:
        high = round(rng.uniform(3, 9), 2)
        say("between", f"pay=net=:{high}", cl.between("pay=net", -math.inf, high))
    if rng.random() < 0.3:
        say("forbid", "job, main=clerk, paid", cl.forbid("job, main", ["clerk, paid"]))
    if rng.random() < 0.3:
        say("linear", "age=0.1,level=1 <= 6", cl.linear({"age": 0.1, "level": 1.0}, "<=", 6.0))
    if rng.random() < 0.3:
        say("implies", "owns: home: freeze level", cl.implies(cl.changed("owns: home"), cl.freeze("level")))
    if rng.random() < 0.3:
        most = int(rng.integers(1, 4))
        say("max-changes", str(most), cl.max_changes(most))
    if rng.random() < 0.5:
        options.extend(["--cost", "L1 + 0.25*L2", "--multiplier", "age=0.1"])
        query["cost"] = cl.L1(multiplier={"age": 0.1}) + 0.25 * cl.L2(multiplier={"age": 0.1})
    if rng.random() < 0.3:
        options.extend(["--margin", "0.01"])
        query["margin"] = 0.01
    return options, query


@pytest.mark.parametrize("seed", seeds(24))
def test_the_command_answers_what_python_answers(tmp_path, seed):
    rng = np.random.default_rng(seed)
    row = rows_of(1, seed).to_dict("records")[0]
    options, query = _random_query(rng)
    (tmp_path / "model.json").write_text(EXPLAINER.to_json())
    done = call("explain", tmp_path / "model.json", json.dumps(row), "--format", "json", "--count", "2", *options)
    ours = EXPLAINER.explain(row, count=2, **query)
    assert done.code == (0 if len(ours) else 3), done.err
    theirs = cl.Explanation.from_json(done.out.strip())
    assert theirs.status == ours.status
    assert [one.cost for one in theirs] == [one.cost for one in ours]
    assert [one.changes for one in theirs] == [one.changes for one in ours]
    assert sorted(map(repr, theirs.conflict)) == sorted(map(repr, ours.conflict))


def test_as_many_changes_as_one_likes():
    assert (
        EXPLAINER.explain(ROW, target=1, constraints=[cl.max_changes(10**30)])[0].cost
        == EXPLAINER.explain(ROW, target=1)[0].cost
    )


def test_ranges_and_steps_are_those_of_a_schema(tmp_path):
    (tmp_path / "model.json").write_text(EXPLAINER.to_json())
    options = ["--range", "pay=net=0:4", "--step", "pay=net=0.5", "--step", "age=5", "--target", "1"]
    done = call("explain", tmp_path / "model.json", json.dumps(ROW), *options, "--format", "json")
    new = EXPLAINER.with_features(cl.Numeric("pay=net", 0, 4, step=0.5), cl.Numeric("age", 0, 90, integer=True, step=5))
    assert cl.Explanation.from_json(done.out.strip())[0].changes == new.explain(ROW, target=1)[0].changes
