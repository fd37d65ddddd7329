"""Errors: packages that are not installed, and arguments of every kind."""

import datetime
import decimal
import fractions
import pickle
import re
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl
from counterleaf.errors import not_installed
from counterleaf.table.row_types import restore_row


@pytest.mark.parametrize(
    ("what", "packages", "line"),
    [
        ("pictures", ["matplotlib"], "pictures need matplotlib; install with: pip install matplotlib"),
        (
            "the explorer",
            ["fastapi", "uvicorn"],
            "the explorer needs fastapi and uvicorn; install with: pip install fastapi uvicorn",
        ),
    ],
)
def test_the_command_works_for_every_kind_of_installation(what, packages, line):
    assert str(not_installed(what, *packages)) == line


def test_a_polars_row_without_polars(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    row = {"type": "polars", "values": [1.0], "names": ["a"], "dtypes": ["Float64"], "label": None}
    with pytest.raises(
        cl.CounterleafError, match="the answer's row, a polars frame, needs polars; install with: pip install polars"
    ):
        restore_row(row)


def test_an_onnx_model_without_onnxruntime(monkeypatch):
    skl2onnx = pytest.importorskip("skl2onnx")
    X = [[0.0], [1.0]]
    proto = skl2onnx.to_onnx(
        DecisionTreeClassifier().fit(X, [0, 1]), initial_types=[("X", skl2onnx.common.data_types.FloatTensorType([None, 1]))]
    )
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    line = "the prediction of an ONNX model needs onnxruntime; install with: pip install onnxruntime"
    with pytest.raises(cl.CounterleafError, match=line):
        cl.explain(proto, [0.0])


class Mute:
    """An object without a text, as a garbled class has it."""

    def __repr__(self):
        raise RuntimeError


HOSTILE = {
    "array of no dimension": np.array(1.5),
    "text in an array": np.array("a"),
    "array of one dimension": np.array([1.0, 2.0]),
    "array of two": np.zeros((2, 2)),
    "empty array": np.empty(0),
    "array of objects": np.array([None, "a"], dtype=object),
    "masked": np.ma.masked,
    "NA": pd.NA,
    "NaT": pd.NaT,
    "None": None,
    "nan": np.nan,
    "inf": np.inf,
    "bytes": b"abc",
    "bytearray": bytearray(b"x0"),
    "memoryview": memoryview(b"ab"),
    "long text": "x" * 300_000,
    "many lines": "a\nb\r\x00\x1b[31m\u2028\ud800",
    "empty text": "",
    "set": {1, "a"},
    "frozenset": frozenset({"x0"}),
    "generator": (k for k in range(3)),
    "function": len,
    "object": object(),
    "no text": Mute(),
    "frame": pd.DataFrame({"x0": [1.0, 2.0]}),
    "empty frame": pd.DataFrame(),
    "Series": pd.Series([1.0, 2.0]),
    "Series of one": pd.Series([1.0]),
    "Series by name": pd.Series({"x0": 1.0}),
    "dict with odd keys": {1: 2.0, None: 3.0, (1, 2): 4.0},
    "dict of frames": {"x0": pd.DataFrame({"a": [1]})},
    "dict of dicts": {"x0": {"x1": [1, {2}]}},
    "long key": {"k" * 100_000: 1.0},
    "ragged": [[1.0], [1.0, 2.0]],
    "nested": [[[1.0]]],
    "list of None": [None],
    "list of long texts": ["y" * 100_000] * 20,
    "long list": list(range(20_000)),
    "10**400": 10**400,
    "10**5000": 10**5000,
    "-10**5000": -(10**5000),
    "True": True,
    "complex": 1 + 2j,
    "complex64": np.complex64(1),
    "Decimal": decimal.Decimal("1.5"),
    "signalling NaN": decimal.Decimal("sNaN"),
    "Fraction": fractions.Fraction(1, 3),
    "float16": np.float16(1.5),
    "np.str_": np.str_("x0"),
    "datetime": datetime.datetime(2020, 1, 1),
    "datetime64": np.datetime64("2020-01-01"),
    "timedelta64": np.timedelta64(3, "s"),
    "class": int,
    "Index": pd.Index(["x0"]),
    "Interval": pd.Interval(0, 1),
    "module": sys,
    "-1": -1,
}
HOSTILE["a list in itself"] = [HOSTILE["list of None"]]
HOSTILE["a list in itself"].append(HOSTILE["a list in itself"])

LINE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
WEIGHTS = [[1.0, 0, 1.0, 0.5], [0] * 4, [0] * 4]
MIXED = cl.Tree([1, -1, -1], [2, -1, -1], WEIGHTS, [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
line = cl.Explainer(LINE)
mixed = cl.Explainer(MIXED, schema=cl.Schema([cl.Numeric("x0"), cl.Categorical("job", ["a", "b", "c"])]))
TABLE = np.zeros((2, 2))
BOOSTED = cl.Explainer(GradientBoostingRegressor(n_estimators=2).fit(TABLE, [0.0, 1.0])).tree


def ask(**question):
    return line.explain([0.0, 0.0], **question)


def posed(constraint):
    return ask(constraints=[constraint])


def priced(cost):
    return str(ask(cost=cost)), str(cost)


def numeric(**setting):
    schema = cl.Schema([cl.Numeric(**{"name": "x0", **setting}), cl.Numeric("x1")])
    return cl.Explainer(LINE, schema=schema).explain([0.0, 0.0])


CALLS = {
    **{
        f"explain({name}=)": lambda v, name=name: ask(**{name: v})
        for name in ("target", "cost", "constraints", "count", "distinct", "margin", "time_limit", "max_nodes", "support")
    },
    "two classes": lambda v: ask(target=["yes", v]),
    "price of a class": lambda v: ask(target={"yes": v}),
    "class with a price": lambda v: ask(target={v: 1.0}),
    "margin of a feature": lambda v: ask(margin={"x0": v}),
    "distinct features": lambda v: ask(distinct={"features": v}, count=2),
    "row": line.explain,
    "row with a category": mixed.explain,
    "cell": lambda v: line.explain([0.0, v]),
    "category": lambda v: mixed.explain({"x0": 1.0, "job": v}),
    "name in a row": lambda v: line.explain({v: 1.0, "x1": 1.0}),
    "margins": lambda v: line.explain_margins([0.0, 0.0], margins=v) if not is_long(v) else None,
    "a margin": lambda v: line.explain_margins([0.0, 0.0], margins=[0.0, v]),
    "front margins": lambda v: line.explain_front([0.0, 0.0], margins=v) if not is_long(v) else None,
    "rows": lambda v: line.explain_many(v, progress=False),
    "rows with a category": lambda v: mixed.explain_many(v, progress=False),
    **{
        f"explain_many({name}=)": lambda v, name=name: line.explain_many(TABLE, **{"progress": False, name: v})
        for name in ("target", "cost", "constraints", "margin", "n_jobs", "count", "digits", "words", "shares", "support")
    },
    "chunk_size": lambda v: line.explain_many(TABLE, chunk_size=v, progress=False),
    "progress": lambda v: line.explain_many(TABLE, progress=v),
    **{f"arrow({name}=)": lambda v, name=name: line.arrow(**{name: v}) for name in ("target", "keep", "words", "n_jobs")},
    "arrow rows": lambda v: line.arrow(target="yes")(v),
    "audit rows": lambda v: line.audit(v, target="yes"),
    **{
        f"audit({name}=)": lambda v, name=name: str(line.audit(TABLE, **{"target": "yes", name: v}))
        for name in ("target", "search", "budgets", "min_rows", "conflicts", "seed", "choices", "title", "note")
    },
    "Audit.read": cl.Audit.read,
    "Explanation.load": lambda v: cl.Explanation.load(v) if not isinstance(v, str) else None,
    "Ensemble.predict": BOOSTED.predict,
    "audit by": lambda v: line.audit(TABLE, target="yes", by=v),
    "model": cl.Explainer,
    "data": lambda v: cl.Explainer(LINE, data=v),
    "schema": lambda v: cl.Explainer(LINE, schema=v),
    "with_features": line.with_features,
    "Explainer.from_json": cl.Explainer.from_json,
    "Explanation.from_json": cl.Explanation.from_json,
    "Tree.from_json": cl.Tree.from_json,
    "load_constraints": cl.load_constraints,
    "freeze": lambda v: posed(cl.freeze(v)),
    "freeze a list": lambda v: posed(cl.freeze([v, "x0"])),
    "fix": lambda v: posed(cl.fix("x0", v)),
    "fix name": lambda v: posed(cl.fix(v, 1)),
    "between name": lambda v: posed(cl.between(v, 0, 1)),
    "between": lambda v: posed(cl.between("x0", v, 1)),
    "between the same": lambda v: mixed.explain({"x0": 0, "job": "a"}, constraints=cl.between("job", v, v)),
    "within name": lambda v: posed(cl.within(v, 0, 1)),
    "within": lambda v: posed(cl.within("x0", -1, v)),
    "only_increase": lambda v: posed(cl.only_increase(v)),
    "only_increase by": lambda v: posed(cl.only_increase("x0", by=v)),
    "only_decrease at_most": lambda v: posed(cl.only_decrease("x0", at_most=v)),
    "allow name": lambda v: posed(cl.allow(v, ["a"])),
    "allow": lambda v: mixed.explain({"x0": 0, "job": "a"}, constraints=cl.allow("job", v)),
    "forbid": lambda v: mixed.explain({"x0": 0, "job": "a"}, constraints=cl.forbid("job", [v])),
    "linear": lambda v: posed(cl.linear(v, ">=", 1)),
    "linear name": lambda v: posed(cl.linear({v: 1}, ">=", 1)),
    "linear coefficient": lambda v: posed(cl.linear({"x0": v}, ">=", 1)),
    "linear relation": lambda v: posed(cl.linear({"x0": 1}, v, 1)),
    "linear right-hand side": lambda v: posed(cl.linear({"x0": 1}, ">=", v)),
    "among": lambda v: posed(cl.among(v)),
    "near": lambda v: posed(cl.near(v)),
    "near quantile": lambda v: cl.near(TABLE, quantile=v),
    "near metric": lambda v: cl.near(TABLE, metric=v),
    "max_changes": lambda v: posed(cl.max_changes(v)),
    "implies": lambda v: cl.implies(v, cl.freeze("x0")),
    "implies then": lambda v: cl.implies(cl.changed("x0"), v),
    "becomes": lambda v: posed(cl.implies(cl.becomes("x0", v), cl.freeze("x1"))),
    "becomes name": lambda v: posed(cl.implies(cl.becomes(v, 1), cl.freeze("x1"))),
    "stays": lambda v: posed(cl.stays(v)),
    "changed": lambda v: posed(cl.implies(cl.changed(v), cl.freeze("x1"))),
    **{f"L1({name}=)": lambda v, name=name: priced(cl.L1(**{name: v})) for name in ("weights", "up", "down", "multiplier")},
    "L2": lambda v: priced(cl.L2({"x0": v})),
    "L2 name": lambda v: priced(cl.L2({v: 1.0})),
    "LinearCost": lambda v: priced(cl.LinearCost(v)),
    "LinearCost of one": lambda v: priced(cl.L2() + cl.LinearCost({"x0": v})),
    "Quadratic": lambda v: priced(cl.Quadratic(v)),
    "Quadratic of one": lambda v: priced(cl.Quadratic([[1.0, 0.0], [0.0, v]])),
    "Changes": lambda v: priced(cl.L2() + cl.Changes(v)),
    "factor": lambda v: priced(cl.L1() * v),
    "class of a probability": lambda v: ask(target=cl.probability(v, at_least=0.5)),
    "probability": lambda v: cl.probability("yes", at_least=v),
    "value": lambda v: cl.value(at_least=0, at_most=v),
    **{
        f"Numeric({name}=)": lambda v, name=name: numeric(**{name: v})
        for name in ("name", "lower", "upper", "integer", "step", "missing", "values", "label", "unit", "description")
    },
    "Categorical": lambda v: cl.Categorical("x0", v),
    "Ordinal": lambda v: cl.Ordinal("x0", ["a", v]),
    "missing": lambda v: cl.Categorical("x0", ["a"], missing=v),
    "costs": lambda v: cl.Ordinal("x0", ["a", "b"], costs=v),
    "a cost": lambda v: cl.Boolean("x0", costs={False: {True: v}, True: {False: 1}}),
    "Schema": cl.Schema,
    "feature": lambda v: cl.Schema([v]),
    **{f"Schema({name}=)": lambda v, name=name: cl.Schema([cl.Numeric("x0")], **{name: v}) for name in ("domains", "gaps")},
    "Schema(inferred=)": lambda v: str(cl.Schema([cl.Numeric("x0")], inferred=v)),
    "Schema.infer": cl.Schema.infer,
    "Schema.infer finite": lambda v: cl.Schema.infer(TABLE, finite=v),
    "Schema.infer bounds": lambda v: cl.Schema.infer(TABLE, bounds=v),
    "Schema.replace": line.schema.replace,
    "Schema.renamed": line.schema.renamed,
    "Schema.index": line.schema.index,
    "Tree": lambda v: cl.Tree(v, [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1]),
    "weights": lambda v: cl.Tree([1, -1, -1], [2, -1, -1], v, [-1.0, 0, 0], [-1, 0, 1]),
    "bias": lambda v: cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], v, [-1, 0, 1]),
    "classes": lambda v: cl.Tree([-1], [-1], [[0.0]], [0.0], [0], classes=v),
    "Tree.predict": LINE.predict,
    "read_tree": cl.read_tree,
    "Outputs": lambda v: cl.Outputs(v, [0.0]),
    "intercept": lambda v: cl.Outputs("value", v),
    "slope": lambda v: cl.Outputs("value", [0.0], v),
    **{
        f"TAOClassifier({name}=)": lambda v, name=name: cl.TAOClassifier(**{name: v})._check_parameters()
        for name in cl.TAOClassifier().get_params()
        if name not in ("class_weight", "random_state")  # read by scikit-learn while it fits
    },
}


def is_long(value):
    return isinstance(value, list) and len(value) > 1000


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:Warning. converting a masked")
def test_an_argument_of_any_kind_works_or_is_refused_in_one_line(name):
    for kind, value in HOSTILE.items():
        if not hashable(value) and name in ("class with a price", "name in a row", "linear name", "L2 name"):
            continue
        said = refusal(CALLS[name], value)
        assert len(said) <= 500, kind
        assert said.isprintable(), kind


def refusal(call, value):
    """The message of a refused argument, which is not empty; "works" if it is not refused."""
    try:
        call(value)
    except cl.CounterleafError as error:
        return str(error) or "\n"
    return "works"


def hashable(value):
    try:
        return isinstance(hash(value), int)
    except TypeError:
        return False


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (
            lambda: ask(constraints=np.array("a")),
            "constraints is array('a', dtype='<U1'); expected a list such as [freeze('age')]",
        ),
        (lambda: cl.between("x0", pd.NA, 1), "a bound of 'x0' is <NA>; expected a number"),
        (
            lambda: cl.between("x0", "low", 3),
            "a bound of 'x0' is 'low'; expected a number, because the other bound is 3, or two levels",
        ),
        (
            lambda: cl.freeze({"x0"}),
            "a feature of freeze is {'x0'}; expected names or a list of names, as in freeze('age', ...)",
        ),
        (
            lambda: cl.linear({"x0": 1}, pd.Series([1, 2]), 1),
            'linear got the relation 0 1 1 2 dtype: int64; expected ">=", "<=" or "=="',
        ),
        (lambda: ask(target=pd.NA), "target is <NA>; expected a class, a list of classes or a dict of costs"),
        (
            lambda: ask(count=pd.Series([1])),
            "count is 0 1 dtype: int64; expected a whole number from 1, or None for every leaf",
        ),
        (
            lambda: ask(max_nodes=np.timedelta64(3, "s")),
            "max_nodes is np.timedelta64(3,'s'); expected a whole number from 1, or None",
        ),
        (lambda: ask(margin=10**5000), "margin is <int>; expected a number"),
        (lambda: cl.Numeric("a", integer="yes"), "feature 'a': integer is 'yes'; expected True or False"),
    ],
)
def test_the_line_says_what_came_and_what_was_expected(call, line):
    with pytest.raises(cl.CounterleafError) as caught:
        call()
    assert str(caught.value) == line


def test_sums_near_the_largest_float_are_refused_before_the_search():
    X = np.arange(20.0)[:, None]
    model = RandomForestRegressor(4, max_depth=2, random_state=0).fit(X, 1e307 * (X[:, 0] / 20.0))
    said = refusal(lambda least: cl.Explainer(model, data=X).explain(X[0], target=cl.value(at_least=least)), 8e306)
    assert re.fullmatch(
        r"the sums of the trees reach \S+e\+307, too near the largest float to bound their rounding; divide what the model "
        r"learns by a constant, and fit it again",
        said,
    )


def test_of_a_long_message_both_ends_stay():
    error = cl.CounterleafError(f"feature 'job' is {'x' * 10**6!r}; expected one of 'a', 'b'")
    assert len(str(error)) <= 500
    assert str(error).startswith("feature 'job' is 'xxx")
    assert str(error).endswith("xxx'; expected one of 'a', 'b'")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert str(cl.CounterleafError("a\n  b\x1b[31m\ud800")) == r"a b\x1b[31m\ud800"


def test_what_is_obvious_is_read_as_it_is_meant():
    names = [np.str_("x0"), np.array("x0"), pd.Index(["x0"]), pd.Series(["x0"]), np.array(["x0"]), ["x0"]]
    assert {str(cl.freeze(name)) for name in names} == {"freeze('x0')"}
    assert str(cl.between("x0", np.float64(0.5), np.array(2))) == "between('x0', 0.5, 2)"
    assert ask(target=np.array("yes")).question == ask(target="yes").question
    assert ask(target={"yes": 3.0})[0].cost == ask(target={"yes": np.array(3)})[0].cost
