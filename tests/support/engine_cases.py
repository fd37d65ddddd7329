"""Tables and queries for Spark, Dask and Ray, the answers that they must find, and a model that kills a worker."""

import functools
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import counterleaf as cl

TESTS = Path(__file__).parents[1]


def worker_path():
    """PYTHONPATH for worker processes, which import ``support`` and the same package as this process."""
    paths = [str(TESTS), str(Path(cl.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(path for path in paths if path)


def loans(n=300, seed=3):
    """A table with categories of text and of numbers, whole numbers and booleans, and its labels."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "pay": rng.gamma(2, 300, n).round(2),
            "job": rng.choice(["clerk", "cook", "nurse", "smith"], n),
            "zone": rng.integers(1, 5, n),
            "owner": rng.random(n) < 0.4,
        }
    )
    points = frame["pay"] / 400 + frame["age"] / 30 + 2 * frame["owner"] + 2 * frame["job"].isin(["nurse"])
    return frame, np.where(points + (frame["zone"] == 2) > 4.5, "granted", "refused")


def _pipeline():
    frame, y = loans()
    columns = make_column_transformer(
        (OneHotEncoder(), ["job", "zone"]), (StandardScaler(), ["age", "pay"]), remainder="passthrough"
    )
    model = make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=20, random_state=0)).fit(frame, y)
    rows = frame.astype({"job": object})
    rows.loc[::17, "job"], rows.loc[3::17, "job"], rows.loc[5::23, "pay"] = "king", None, np.inf
    constraints = [cl.freeze("age", "owner"), cl.implies(cl.changed("job"), cl.only_increase("pay", by=50))]
    return cl.Explainer(model, data=frame), rows, {"target": "granted", "constraints": constraints, "words": True}


def _gaps():
    rng = np.random.default_rng(0)
    X = rng.uniform(5, 10, size=(300, 4))
    y = np.array(["low", "mid", "high"])[np.digitize(X[:, 0] + X[:, 1] - X[:, 2], [6.5, 8.5])]
    X[::3, 0], X[::4, 1] = np.nan, np.nan
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2", "x3"])
    model = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(frame, y)
    allowed = {"x0": "allowed", "x1": "allowed"}
    schema = cl.Schema([cl.Numeric(name, 0, 20, missing=allowed.get(name, False)) for name in frame])
    return cl.Explainer(model, schema=schema), frame, {"target": "high"}


def _forest():
    frame, y = loans(60)
    frame = frame[["age", "pay", "zone"]]
    return cl.Explainer(RandomForestClassifier(5, max_depth=3, random_state=0).fit(frame, y), data=frame), frame, {}


def _oblique():
    rng = np.random.default_rng(1)
    weights = np.zeros((7, 3))
    weights[[0, 1, 4]] = rng.normal(size=(3, 3))
    bias = [0.1, -0.3, 0, 0, 0.2, 0, 0]
    tree = cl.Tree([1, 2, -1, -1, 5, -1, -1], [4, 3, -1, -1, 6, -1, -1], weights, bias, [-1, -1, 0, 1, -1, 1, 0])
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["x0", "x1", "x2"])
    return cl.Explainer(tree, data=frame), frame, {"target": 1, "cost": cl.L2(), "margin": 0.01}


def _values():
    frame, _ = loans()
    frame = frame[["age", "pay"]]
    model = DecisionTreeRegressor(max_leaf_nodes=12, random_state=0).fit(frame, frame["pay"] * frame["age"])
    return cl.Explainer(model, data=frame), frame, {"target": cl.value(at_least=50_000), "constraints": cl.freeze("age")}


_MAKE = {"pipeline": _pipeline, "gaps": _gaps, "forest": _forest, "oblique": _oblique, "values": _values}
CASES = tuple(_MAKE)


@functools.cache
def engine_case(name):
    """(explainer, rows with a column ``id``, question)"""
    explainer, rows, question = _MAKE[name]()
    return explainer, rows.assign(id=np.arange(len(rows))[::-1] * 7), question


def expected(explainer, rows, question, keep=("id",)):
    """The answers of the step in this process, by id."""
    table = pa.Table.from_pandas(rows, preserve_index=False)
    step = explainer.arrow(**question, keep=pa.schema([table.schema.field(name) for name in keep]))
    return step(table.combine_chunks()).sort_by("id").combine_chunks()


def same_bits(found, answers):
    """Check that two tables have the same columns, types and bits, once text has the same type, by id."""
    found = found.sort_by("id").combine_chunks()
    assert found.schema.names == answers.schema.names
    for name in answers.schema.names:
        kind = answers.schema.field(name).type
        ours, theirs = answers[name].combine_chunks(), found[name].combine_chunks()
        assert theirs.type == kind or pa.types.is_large_string(theirs.type), name
        ours, theirs = ours, theirs.cast(kind)
        assert ours.is_null().equals(theirs.is_null()), name
        if pa.types.is_floating(kind):
            ours, theirs = (pa.array(column.fill_null(0.0).to_numpy().view(np.int64)) for column in (ours, theirs))
        assert ours.equals(theirs), name


_CALLS = [0]


def kill_once(X, flag=None):
    """Pass rows on. While the file ``flag`` exists, the third call in a process deletes it and kills the process."""
    _CALLS[0] += 1
    if flag is not None and _CALLS[0] >= 3 and Path(flag).exists():
        try:
            Path(flag).unlink()
        except FileNotFoundError:  # another process was faster
            return X
        os.kill(os.getpid(), signal.SIGKILL)
    return X


def killing_case(flag, n=4000):
    """A pipeline whose worker dies once after the file ``flag`` is made."""
    frame, y = loans(n)
    frame = frame[["age", "pay", "zone"]]
    step = FunctionTransformer(kill_once, kw_args={"flag": str(flag)}, feature_names_out="one-to-one")
    model = make_pipeline(step, DecisionTreeClassifier(max_leaf_nodes=20, random_state=0)).fit(frame, y)
    return cl.Explainer(model, data=frame), frame.assign(id=np.arange(n)), {"target": "granted"}


posix = {"condition": sys.platform == "win32", "reason": "workers are killed with POSIX signals"}


def refusal(call, *args, **named):
    """The message of a call that is refused, in one line."""
    with pytest.raises(cl.CounterleafError) as caught:
        call(*args, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def check_mistakes(call, frames, kind):
    """Mistakes are reported before anything runs; ``frames`` are that of the case, one without age, and one with a cost."""
    explainer, rows, _ = engine_case("pipeline")
    frame, without_age, with_cost = frames
    assert "maybe" in refusal(call, frame, explainer, target="maybe")
    assert refusal(call, without_age, explainer).startswith("the frame lacks the columns ['age']")
    assert "keep names the column 'idd'; the frame has" in refusal(call, frame, explainer, keep=["idd"])
    clash = "the frame and the answers both have the column 'cost'; rename it, or list"
    assert refusal(call, with_cost, explainer).startswith(clash)
    assert f"the rows are a pandas.DataFrame; expected {kind}" in refusal(call, rows, explainer)
