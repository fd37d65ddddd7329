"""Faults found in use, outside the search: odd rows and columns, wide tables, models that fail, read-only directories."""

import os
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl
from counterleaf.datasets import samples
from counterleaf.table.infer import Spreads

LINE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1])


def flags():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": pd.array(rng.random(80) < 0.5, dtype="boolean"), "b": rng.random(80) < 0.5})
    X.loc[::7, "a"] = pd.NA
    steps = make_column_transformer((OneHotEncoder(), ["a"]), remainder="passthrough")
    return cl.Explainer(make_pipeline(steps, DecisionTreeClassifier()).fit(X, np.where(X.b, "yes", "no")), data=X), X


def test_a_boolean_series_with_a_gap_is_answered_as_its_frame_is():
    explainer, X = flags()
    for k in range(15):
        by_frame, by_series = explainer.explain(X.iloc[[k]])[0], explainer.explain(X.iloc[k])[0]
        assert X.iloc[k].dtype == "boolean"
        assert by_series.row.dtype == "boolean"
        assert by_series.row["a"] is pd.NA or k % 7
        assert by_series.row["b"] == by_frame.row["b"].iloc[0]
        assert by_series.confirmed
        assert by_series.changes.keys() == by_frame.changes.keys() == {"b"}


@pytest.mark.parametrize(("dtype", "typed"), [("Int64", "Float64"), ("Float64", "Float64"), ("Float32", "Float64")])
def test_a_series_of_numbers_with_a_gap_takes_the_type_that_holds_the_answer(dtype, typed):
    schema = cl.Schema([cl.Numeric("a"), cl.Boolean("b", missing=True)])
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 0, 0, 0], [0] * 4, [0] * 4], [-1.1, 0, 0], [-1, 0, 1])
    moved = schema.decode(np.array([1.1, 0.0, 0.0, 1.0]), pd.Series([0, None], index=["a", "b"], dtype=dtype))
    assert (str(moved.dtype), moved["a"], moved["b"]) == (typed, 1.1, pd.NA)
    whole = schema.decode(np.array([2.0, 0.0, 0.0, 1.0]), pd.Series([0, None], index=["a", "b"], dtype=dtype))
    assert (str(whole.dtype), whole["a"], whole["b"]) == (dtype, 2.0, pd.NA)
    assert tree.predict(schema.encode(moved)[None])[0] == 1


def seconds(columns):
    X = np.random.default_rng(0).normal(size=(4, columns))
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, X[:, 0] > 0)
    spent = []
    for _ in range(3):
        start = time.process_time()
        cl.Explainer(model, data=X)
        spent.append(time.process_time() - start)
    return min(spent)


@pytest.mark.slow
def test_an_explainer_of_a_wide_table_is_made_in_linear_time():
    assert seconds(12_000) < 4 * seconds(4_000) + 0.5  # quadratic: nine times as long, seconds more


def test_an_answer_where_nothing_can_be_written(tmp_path):
    """A package installed by root and a user without a home: the cache directories do not exist and cannot be created."""
    code = (
        "import os, sys\nif os.getuid() == 0:\n    os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "import counterleaf as cl\n"
        "tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1])\n"
        "answer = cl.Explainer(tree).explain([0.0, 0.0], target=1)\n"
        "print(answer[0].row, answer.certificate.check(), cl.Explanation.from_json(answer.to_json()).certificate.check())\n"
    )
    barred = tmp_path / "barred"
    barred.mkdir(mode=0o555)
    caches = {name: str(barred / "cache") for name in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "MPLCONFIGDIR", "TMPDIR")}
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1", **caches}
    passed_on = ("COUNTERLEAF_CORE", "LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS")  # make sanitize sets them
    environment.update((name, os.environ[name]) for name in passed_on if name in os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    if os.getuid() == 0 and not _all_may_read(cl.__file__, sys.executable):
        code = code.replace("os.getuid() == 0", "False")  # another user cannot read the package
    run = subprocess.run([sys.executable, "-c", code], env=environment, cwd="/", capture_output=True, text=True)
    assert run.stdout == "[0.5, 0.5] True True\n", run.stderr
    assert list(barred.iterdir()) == []


def _all_may_read(*files):
    folders = {folder for file in files for folder in _above(os.path.realpath(file))}
    return all(os.stat(folder).st_mode & 0o005 == 0o005 for folder in folders)


def _above(path):
    while (path := os.path.dirname(path)) != "/":
        yield path


def test_a_range_too_small_to_divide_by_counts_as_none():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60) * 1e-312, "c": rng.normal(size=60) * 1e-200})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = cl.Explainer(DecisionTreeClassifier(max_depth=2).fit(X, X.a > 0), data=X)
    for name in ("range", "std", "mad"):
        assert getattr(explainer.spreads, name)[1:].tolist() == [1.0, 1.0]
        for cost in (cl.L1(name), cl.L2(name)):
            answer = explainer.explain(X.iloc[0], cost=cost)
            assert answer.status == "optimal"
            assert cl.Explanation.from_json(answer.to_json()).certificate.check()


def test_the_spread_of_a_constant_column_is_one():
    constants = [0.1, 1e-3, 1 / 3, 12345.678, 1e300, 1e-300, 0.0]
    X = np.tile(constants, (60, 1))
    gaps = X.copy()
    gaps[::7] = np.nan
    assert np.std(X[:, 0]) > 0  # the rounding of the mean, which must not count as a spread
    for table in (X, gaps):
        spreads = Spreads.of(table)
        assert spreads.range.tolist() == spreads.std.tolist() == spreads.mad.tolist() == [1.0] * len(constants)


def test_spreads_have_squares_and_inverses():
    ends = np.array([[-1.7e308, -1e200, -1e-200, 0.0, 1.0], [1.7e308, 1e200, 1e-200, 5e-324, 2.0]])
    spreads = Spreads.of(np.vstack([ends, ends, ends]))
    for spread in (spreads.range, spreads.std, spreads.mad):
        assert np.isfinite(spread**2).all()
        assert np.isfinite(spread**-2.0).all()
        assert (spread**-2.0 > 0).all()
    assert spreads.range[4] == 1.0
    assert spreads.std[4] == 0.5


@pytest.mark.parametrize("kind", ["frame", "series", "dict", "list"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
def test_a_date_that_the_pipeline_drops_is_written_as_text(kind, zone):
    rng = np.random.default_rng(0)
    when = pd.date_range("2020-01-01 12:30", periods=80, tz=zone).to_series(index=range(80))
    when[3] = pd.NaT
    span = pd.to_timedelta(np.arange(80), unit="h")
    X = pd.DataFrame({"a": rng.normal(size=80), "when": when, "b": rng.normal(size=80), "span": span})
    steps = make_column_transformer((StandardScaler(), ["a", "b"]))
    explainer = cl.Explainer(make_pipeline(steps, DecisionTreeClassifier(max_depth=3)).fit(X, X.a > 0), data=X)
    for k in (0, 3):
        row = X.iloc[[k]] if kind == "frame" else X.iloc[k]
        row = row.to_dict() if kind == "dict" else row.tolist() if kind == "list" else row
        answer = explainer.explain(row)
        again = cl.Explanation.from_json(answer.to_json())
        assert again.certificate.check()
        assert again.to_json() == answer.to_json()
        assert str(again) == str(answer)
        if kind == "frame":
            pd.testing.assert_frame_equal(again[0].row, answer[0].row)


def confirmed_by(predict):
    """(confirmed, problem) of one row under a model with this ``predict``, from ``explain`` and from ``explain_many``."""
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    explainer = cl.Explainer(model, data=X)
    model.predict = lambda rows: predict(DecisionTreeClassifier.predict(model, rows))
    try:
        one = explainer.explain(X[0], target=2)[0].confirmed, None
    except cl.CounterleafError as error:
        one = False, str(error)
    out = explainer.explain_many(X[:1], target=2, progress=False)
    return one, (bool(out["confirmed"][0]), out["problem"][0] if "problem" in out else None)


def fail(labels):
    raise RuntimeError("out of memory\non device 0")


@pytest.mark.parametrize(
    ("predict", "expected"),
    [
        (lambda labels: labels, (True, None)),
        (lambda labels: labels[:, None], (True, None)),
        (lambda labels: labels.tolist(), (True, None)),
        (lambda labels: pd.Series(labels, index=[7] * len(labels)), (True, None)),
        (lambda labels: pd.DataFrame({"label": labels}), (True, None)),
        (lambda labels: labels * 0, (False, None)),
        (lambda labels: labels[:, None] * 0, (False, None)),
        (fail, (False, "the model's predict raised RuntimeError: out of memory on device 0")),
        (
            lambda labels: None,
            (False, "the model's predict returned an array of shape (); expected one label for each of 1 rows"),
        ),
        (
            lambda labels: labels[:0],
            (False, "the model's predict returned an array of shape (0,); expected one label for each of 1 rows"),
        ),
        (
            lambda labels: np.stack([labels, labels], axis=1),
            (False, "the model's predict returned an array of shape (1, 2); expected one label for each of 1 rows"),
        ),
    ],
)
def test_explain_and_explain_many_treat_predictions_alike(predict, expected):
    assert confirmed_by(predict) == (expected, expected)


def test_a_pipeline_may_give_its_labels_in_a_column():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=80).astype(np.float32), "b": rng.normal(size=80)})
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3)).fit(X, X.a * X.b > 0)
    explainer = cl.Explainer(model, data=X)
    plain = type(model).predict
    model.predict = lambda rows: plain(model, rows)[:, None]
    out = explainer.explain_many(X[:20], progress=False)
    assert out["confirmed"].all()
    assert "problem" not in out
    for row in (X.iloc[[0]], X.iloc[0]):
        assert [one.confirmed for one in explainer.explain(row, count=2)] == [True, True]


@pytest.mark.slow
def test_many_threads_with_many_margins_share_an_explainer():
    X, y = load_iris(return_X_y=True)
    explainer = cl.Explainer(DecisionTreeClassifier(random_state=0).fit(X, y), data=X)
    alone = cl.Explainer(DecisionTreeClassifier(random_state=0).fit(X, y), data=X)
    costs, errors = {}, []

    def work(k):
        for turn in range(150):
            margin = 1e-6 * (k * 1000 + turn)
            try:
                costs[turn % 100, margin] = [c.cost for c in explainer.explain(X[turn % 100], margin=margin, count=2)]
            except Exception as error:
                errors.append(repr(error))

    threads, switch = [threading.Thread(target=work, args=(k,)) for k in range(8)], sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)
    assert errors == []
    assert len(costs) == 8 * 150
    for (k, margin), found in list(costs.items())[::25]:
        assert found == [c.cost for c in alone.explain(X[k], margin=margin, count=2)]


def test_a_number_far_beyond_all_others_is_not_an_internal_error():
    """The multipliers of the search overflow, so its parts are not a proof that could be refined."""
    explainer, names = samples.load("digits"), samples.load("digits").schema.names
    row = dict(zip(names, load_digits().data[1768].tolist(), strict=True)) | {names[0]: 0.0, names[10]: 1e300}
    cost = cl.L1(multiplier={names[0]: 1e6}) + cl.L2(multiplier={names[0]: 1e6})
    locked = cl.freeze(names[0], *(names[k] for k in (23, 44, 46, 47, 52, 56)))
    constraints = [locked, cl.between(names[0], 5e-324, 1.7e-41), cl.only_decrease(*names), cl.max_changes(1)]
    answer = explainer.explain(row, cost=cost, constraints=constraints, margin=0.1)
    assert str(answer.status) == "infeasible"
    assert answer.certificate.check()
