"""Explainers as JSON: a copy that was read gives the same answers bit for bit, and garbled text is refused in one line."""

import copy
import json
import math
from pathlib import PosixPath as Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.pipeline_cases import DROPPING, NUMBERS, PREPARATIONS, fitted, people
from support.seeds import seeds, share
from support.strategies import random_case, whole_case
from support.table_cases import table_case

import counterleaf as cl

pytestmark = pytest.mark.slow  # the whole file takes many seconds

LINE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])


def again(explainer):
    text = explainer.to_json()
    read = cl.Explainer.from_json(text)
    assert read.to_json() == text
    return read


def facts(answer):
    """All that an answer says, its proof included, but for the type of its rows."""
    content = json.loads(answer.to_json())
    return {name: value for name, value in content.items() if name not in ("digest", "row")}


def same(explainer, rows, **question):
    read = again(explainer)
    assert read.schema == explainer.schema
    for row in rows:
        ours, theirs = read.explain(row, **question), explainer.explain(row, **question)
        assert facts(ours) == facts(theirs)
        assert str(ours) == str(theirs)
        assert [type(c.row) for c in ours] == [type(c.row) for c in theirs]


@pytest.mark.parametrize("make", [random_case, whole_case])
def test_any_tree_answers_the_same(make):
    for seed in seeds(25):
        case = make(np.random.default_rng(seed))
        same(
            cl.Explainer(case.tree, schema=case.schema),
            [case.row],
            target=case.target,
            cost=case.cost,
            constraints=case.constraints,
            margin=case.margin,
            count=2,
        )


def test_any_table_answers_the_same():
    for seed in seeds(25):
        case = table_case(np.random.default_rng(seed))
        explainer = cl.Explainer(case.tree, schema=case.schema)
        question = {"target": case.target, "cost": case.cost(), "constraints": case.constraints()}
        same(explainer, [case.row], **question, max_nodes=1000)  # beyond it both answers are open


@pytest.mark.parametrize("kind", ["pandas", "array"])
@pytest.mark.parametrize("which", PREPARATIONS)
def test_any_pipeline_answers_the_same(which, kind):
    columns, prepare = PREPARATIONS[which]
    model, table = fitted(columns, prepare, kind)
    explainer = cl.Explainer(model, data=table)
    rows = [table.iloc[[k]] if kind == "pandas" else table[k] for k in range(4)]
    same(explainer, rows, count=2)
    ours, theirs = (one.explain_many(table[:20], progress=False) for one in (again(explainer), explainer))
    pd.testing.assert_frame_equal(ours, theirs, check_exact=True)


@pytest.mark.parametrize("which", DROPPING)
def test_columns_that_a_pipeline_drops_stay_as_they_are(which):
    columns = ["age", "pay", "rate", "job", "city", "owner"]
    model, table = fitted(columns, DROPPING[which], "pandas")
    same(cl.Explainer(model, data=table), [table.iloc[0], table.iloc[[1]], table.iloc[2].to_dict()])


def test_an_oblique_pipeline_answers_the_same():
    frame, y = people()
    steps = make_column_transformer((OneHotEncoder(), ["job", "school"]), (StandardScaler(), NUMBERS))
    model = make_pipeline(steps, cl.TAOClassifier(max_depth=3, random_state=0)).fit(frame[[*NUMBERS, "job", "school"]], y)
    explainer = cl.Explainer(model, data=frame[[*NUMBERS, "job", "school"]])
    read = again(explainer)
    assert read._adapter.guard == explainer._adapter.guard == 1e-12
    for cost in (None, cl.L2("std"), cl.L1("mad") + cl.L2("range")):
        same(explainer, [frame[[*NUMBERS, "job", "school"]].iloc[k] for k in range(6)], cost=cost, count=2)


def test_ordinals_booleans_and_costs():
    frame, y = people()
    columns = ["age", "school", "owner", "job"]
    steps = make_column_transformer((OneHotEncoder(), ["school", "job"]), remainder="passthrough")
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=5, random_state=0)).fit(frame[columns], y)
    schema = cl.Explainer(model, data=frame[columns]).schema
    costs = (1 - np.eye(4)) * 0.37
    schema = schema.replace(
        cl.Ordinal("school", ["none", "HS", "BA", "MA"]), cl.Categorical("job", schema.features[3].values, costs)
    )
    same(cl.Explainer(model, data=frame[columns], schema=schema), [frame[columns].iloc[k] for k in range(5)], count=3)


@pytest.mark.parametrize("data", [True, False])
def test_arrays_and_models_of_float32(data):
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    explainer = cl.Explainer(model, data=X if data else None)
    same(explainer, [X[0], X[70], X[120].tolist()], count=None)
    read = again(explainer)
    assert repr(read) == "<Explainer of a Tree: 4 features, classes 0, 1, 2>"
    assert isinstance(read.model, cl.Tree)
    assert read.tree.dtype == "float32"
    with pytest.raises(cl.CounterleafError, match="needs data to measure"):
        again(cl.Explainer(model)).explain(X[0], cost=cl.L1("std"))


def test_what_json_cannot_hold_is_refused_at_once():
    schema = cl.Schema([cl.Numeric("a"), cl.Categorical("b", [("x", 1)])])
    with pytest.raises(cl.CounterleafError, match=r"^feature 'b': a value is \['x', 1\]; expected text or a number$"):
        cl.Explainer(LINE, schema=schema).to_json()
    for classes, message in (
        ([pd.Timestamp(0), pd.Timestamp(1)], r"a class is|a value that JSON cannot represent \(Object of type Timestamp"),
        ([math.inf, 0.0], "a value that JSON cannot represent"),
        ([None, "a"], "classes are not a list of labels; expected one label per class"),
    ):
        tree = cl.Tree(LINE.left, LINE.right, LINE.weights, LINE.bias, LINE.value, classes=np.array(classes, object))
        with pytest.raises(cl.CounterleafError, match=message):
            cl.Explainer(tree).to_json()


def test_classes_of_several_kinds_come_back_as_they_were():
    for classes in ([1, "a"], ["a\x00", "b"], ["no", True], ["a" * 3_000_000, *map(str, range(1000))]):
        value = [-1, 0, 1]
        tree = cl.Tree(LINE.left, LINE.right, LINE.weights, LINE.bias, value, classes=np.array(classes, object))
        assert cl.Tree.from_json(tree.to_json()).classes.tolist() == classes
        assert again(cl.Explainer(tree)).explain([0.0, 0.0])[0].label == classes[1]


@pytest.fixture(scope="module")
def content():
    frame, y = people()
    columns = ["age", "hours", "job", "owner"]
    prepare = PREPARATIONS["mean"][1](lambda *names: list(names))
    prepare.set_params(remainder="passthrough")
    model = make_pipeline(prepare, cl.TAOClassifier(max_depth=2, random_state=0)).fit(frame[columns], y)
    return json.loads(cl.Explainer(model, data=frame[columns]).to_json())


def changed(content, *path, to):
    """The text with one place changed; Ellipsis takes it away."""
    content = copy.deepcopy(content)
    place = content
    for key in path[:-1]:
        place = place[key]
    if to is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return json.dumps(content)


def refused(text, message):
    with pytest.raises(cl.CounterleafError, match=message) as error:
        cl.Explainer.from_json(text)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_foreign_and_truncated_text_is_refused(content):
    text = json.dumps(content)
    for end in range(0, len(text), 197):
        refused(text[:end], "not a counterleaf explainer: not valid JSON")
    refused(b"\xff\xfe\xfd", "not a counterleaf explainer: not valid JSON")
    refused("[" * 100_000, "not a counterleaf explainer: not valid JSON")
    refused(text.replace(": 1e-12", ": NaN"), "NaN is not valid in JSON")
    refused(Path("file.json"), r"an explainer is read from text; got a PosixPath: pass Path\(file\).read_text\(\)")
    for foreign in ("[]", "{}", "3", '{"format": ["counterleaf-explainer"]}'):
        refused(foreign, 'not a counterleaf explainer: expected an object with "format": "counterleaf-explainer"')
    refused(LINE.to_json(), r"this is a tree alone: pass Explainer\(Tree.from_json\(text\)\)")
    answer = cl.Explainer(LINE).explain([0.0, 0.0])
    refused(answer.to_json(), r"this is an answer: read it with Explanation.from_json\(text\)")
    for version in (3, True, "1"):
        message = f"version '?{version}'?; this counterleaf reads versions 1 and 2: write it again with to_json"
        refused(changed(content, "version", to=version), message)
    refused(changed(content, "version", to=2), r"lacks or garbles a part \(KeyError: 'ensemble'\); write it again with to_json")
    assert cl.Explainer.from_json(text.encode())


@pytest.mark.parametrize(
    ("path", "to", "words"),
    [
        (("tree",), ..., r"lacks or garbles a part \(KeyError: 'tree'\); write it again with to_json"),
        (("tree",), [], "not a counterleaf tree"),
        (("tree", "features"), 3, "weights that do not fit together|tree has 3 columns"),
        (("tree", "features"), 99, "the explainer's tree has 99 columns and its features make 8 variables"),
        (("tree", "features"), 10**30, "features is 10+; expected the number of columns, up to 1,000,000"),
        (("tree", "bias", 0), "1.0", "bias holds something other than numbers; expected finite numbers"),
        (("tree", "bias", 0), 10**400, r"^bias is \[10{17}\.\.\.0{19}, -[\d.]+, 0\.0, 0\.0, 0\.0\]; expected finite numbers$"),
        (("tree", "classes"), [{}, {}], "classes are not a list of labels; expected one label per class"),
        (("tree", "classes"), ["\ud800", "no"], "classes holds half a character"),
        (("tree", "classes"), ["\x00", "no", "no"], "classes lists a label twice"),
        (("tree", "classes"), [2**70, 1], "a class is 1180591620717411303424; JSON holds text and numbers of 64"),
        (("schema",), None, "lacks or garbles a part"),
        (("schema", "features"), [], "a schema needs at least one feature"),
        (("schema", "features", 0, 2), "nan", "^feature 'age': a bound is nan; expected a number$"),
        (("schema", "features", 0, 4), 1, "'schema' in a form that to_json does not write"),
        (("schema", "features", 0, 2), True, "'schema' in a form that to_json does not write"),
        (("schema", "features", 2, 0), "colour", "'schema' in a form that to_json does not write"),
        (("schema", "features", 2, 2, 0), None, "a value is None; leave it out"),
        (("schema", "features", 2, 3), {}, "lacks or garbles a part .*a table of costs that is not square"),
        (("schema", "features", 2, 2, 0), [1], r"^feature 'job': a value is \[1\]; expected text or a number$"),
        (("schema", "features", 2, 2, 0), 10**30, "a value of feature 'job' is 1000000.*; JSON holds text and numbers of 64"),
        (("schema", "features", 1, 3), 1e999, "not valid JSON|in a form that to_json does not write"),
        (("schema", "fills"), {"nobody": 1.0}, "the explainer's fills are .*; expected finite numbers by feature"),
        (("schema", "fills", "hours"), "inf", "the explainer's fills are .*; expected finite numbers by feature"),
        (("schema", "columns"), ["age"], "the explainer's columns are 'age'; expected every feature among them"),
        (("spreads",), 5, "lacks or garbles a part"),
        (("spreads", "std"), ..., r"lacks or garbles a part \(KeyError: 'std'\)"),
        (("spreads", "mad"), [1.0], "spreads have a mad of 1.0; expected 4 finite numbers above 0"),
        (("spreads", "range", 0), 0.0, "spreads have a range of .*; expected 4 finite numbers above 0"),
        (("spreads", "range", 1), "inf", "spreads have a range of .*; expected 4 finite numbers above 0"),
        (("spreads", "range", 1), "2", "'spreads' in a form|expected 4 finite numbers"),
        (("guard",), -1e-12, "the explainer's guard is -1e-12; expected a number from 0 to 1e-06"),
        (("guard",), 0.5, "the explainer's guard is 0.5; expected a number from 0 to 1e-06"),
        (("guard",), "0", "the explainer's guard is '0'; expected a number"),
        (("guard",), True, "the explainer's guard is True; expected a number"),
        (("more",), 1, "'more' in a form that to_json does not write"),
    ],
)
def test_every_garbled_part_is_named(content, path, to, words):
    refused(changed(content, *path, to=to), words)


def test_numbers_without_a_point_are_taken(content):
    """As JavaScript writes them."""
    text = json.dumps(content).replace(".0,", ",").replace(".0]", "]")
    assert cl.Explainer.from_json(text).to_json() == json.dumps(content)


STRANGE = (
    None,
    True,
    False,
    0,
    1,
    -1,
    0.5,
    -0.0,
    1e300,
    -1e300,
    5e-324,
    2**53,
    2**64,
    -(10**40),
    "",
    "inf",
    "-inf",
    "nan",
    "7",
)
WILD = (*STRANGE, [], {}, [[]], [None], {"a": 1}, "\x00", "\ud800", [0] * 30, [1.0, "x"], float("nan"), float("inf"))


def mutated(rng, content):
    """A copy with one to three random places deleted, changed, swapped or repeated."""
    content = copy.deepcopy(content)
    for _ in range(int(rng.integers(1, 4))):
        places = list(_places(content))
        place, key = places[rng.integers(len(places))]
        pick = rng.random()
        if pick < 0.1:
            del place[key]
        elif pick < 0.35:
            place[key] = copy.deepcopy(WILD[rng.integers(len(WILD))])
        elif pick < 0.5:
            other, at = places[rng.integers(len(places))]
            place[key], other[at] = copy.deepcopy(other[at]), copy.deepcopy(place[key])
        elif isinstance(place[key], list) and place[key]:
            place[key].insert(int(rng.integers(len(place[key]))), place[key][int(rng.integers(len(place[key])))])
        elif isinstance(place[key], (int, float)) and not isinstance(place[key], bool):
            place[key] = place[key] * float(rng.choice([-1, 2, 1e-9, 1e9])) + float(rng.choice([0, 1]))
    return json.dumps(content)


def _places(value):
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


def files(content):
    X, y = load_iris(return_X_y=True)
    iris = cl.Explainer(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y))
    return [content, json.loads(iris.to_json())]


def strike(contents, seed):
    """One file changed at random: refused in one line, or an explainer that answers or refuses the question in one line."""
    rng = np.random.default_rng(seed)
    text = mutated(rng, contents[int(rng.integers(len(contents)))])
    try:
        explainer = cl.Explainer.from_json(text)
        row = {f.name: min(max(1.0, f.lower), f.upper) if isinstance(f, cl.Numeric) else f.values[0] for f in explainer.schema}
        row = {name: math.floor(x) if isinstance(x, float) else x for name, x in row.items()}
        answer = explainer.explain(row, max_nodes=200)
        assert str(answer)
    except cl.CounterleafError as error:
        assert "\n" not in str(error)  # noqa: PT017  # the file may as well be sound
        return False
    return True


def test_random_garbling_never_raises_anything_else(content):
    contents = files(content)
    answered = sum(strike(contents, seed) for seed in seeds(600))
    assert share(30) < answered < share(500)
