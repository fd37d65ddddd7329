import gzip
import json
import lzma
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl

X, y = load_iris(return_X_y=True, as_frame=True)
MODEL = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
ANSWER = cl.Explainer(MODEL, data=X).explain(X.iloc[0], target=2, count=3, distinct="leaves")


def test_an_explanation_is_a_sequence():
    assert len(ANSWER) == 3
    assert list(ANSWER) == list(ANSWER[:])
    assert ANSWER[-1] is ANSWER[2]
    assert isinstance(ANSWER[:2], tuple)
    with pytest.raises(IndexError):
        ANSWER[3]
    with pytest.raises(AttributeError):
        ANSWER.status = "optimal"


def test_the_frame_has_the_source_first():
    frame = ANSWER.to_frame()
    assert list(frame.index) == ["source", 1, 2, 3]
    assert (frame.loc["source", X.columns] == X.iloc[0]).all()
    assert frame["label"].tolist() == [0, 2, 2, 2]
    assert frame["confirmed"].tolist()[1:] == [True] * 3
    assert (MODEL.predict(frame[X.columns].astype(float)) == frame["label"]).all()


def test_the_frame_can_leave_out_what_stays():
    frame = ANSWER.to_frame(only_changed=True)
    moved = [name for name in X.columns if any(name in c.changes for c in ANSWER)]
    assert 0 < len(moved) < len(X.columns)
    assert list(frame.columns) == [*moved, "cost", "lower_bound", "label", "leaf", "confirmed"]
    pd.testing.assert_frame_equal(frame, ANSWER.to_frame()[frame.columns])
    none = cl.Explainer(MODEL, data=X).explain(X.iloc[0], target=0).to_frame(only_changed=True)
    assert list(none.columns) == ["cost", "lower_bound", "label", "leaf", "confirmed"]


def test_columns_of_the_frame_stay_whole_where_the_values_are():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0, 0.0], [0] * 3, [0] * 3], [-9.0, 0, 0], [-1, 0, 1])
    frame = cl.Explainer(tree).explain([1, 2, 3], cost=cl.L1([1, 2, 1])).to_frame()
    assert frame["x0"].tolist() == [1, 7]
    assert [frame[name].dtype for name in ("x0", "x1", "x2")] == [np.int64] * 3
    frame = cl.Explainer(tree).explain([1, 2.5, 3], cost=cl.L1([1, 2, 1])).to_frame(only_changed=True)
    assert frame["x0"].tolist() == [1.0, 6.5]


def test_json_is_plain_and_exact():
    fields = json.loads(ANSWER.to_json())
    assert fields["status"] == "optimal"
    assert fields["source"] == X.iloc[0].to_dict()
    assert [c["row"] for c in fields["counterfactuals"]] == [c.row.to_dict() for c in ANSWER]
    assert [c["cost"] for c in fields["counterfactuals"]] == [c.cost for c in ANSWER]
    stuck = cl.Explainer(MODEL, data=X).explain(X.iloc[0], target=2, constraints=[cl.freeze(*X.columns)])
    assert json.loads(stuck.to_json())["lower_bound"] == "inf"


def test_the_text_says_what_changes_and_what_is_proved():
    text = str(ANSWER)
    assert text.startswith("If petal width (cm) were 1.751 instead of 0.2, the model would say 2 instead of 0.")
    assert "Proved: no allowed change costs less than #1 (0.6458)" in text
    assert "Your model confirms all 3: it says 2 for these rows." in text
    assert "sepal width" not in text  # only features that change in some alternative


@pytest.mark.parametrize(
    ("row", "kinds"),
    [
        ({"a": 1, "b": 2.5}, (int, float)),
        ({"a": np.int32(1), "b": np.float32(2.5)}, (np.int32, np.float32)),
        ([1, 2], (int, float)),
    ],
)
def test_integers_stay_where_the_value_allows(row, kinds):
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[0.0, 1.0], [0, 0], [0, 0]], [-9.25, 0, 0], [-1, 0, 1])
    schema = cl.Schema([cl.Numeric("a"), cl.Numeric("b")])
    answer = cl.Explainer(tree, schema=schema).explain(row, target=1)[0]
    values = answer.row.values() if isinstance(answer.row, dict) else answer.row
    assert tuple(type(v) for v in values) == kinds
    assert answer.changes["b"][1] == 9.25


def test_arrays_and_frames_keep_their_dtype_where_the_value_allows():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[0.0, 1.0], [0, 0], [0, 0]], [-9.0, 0, 0], [-1, 0, 1])
    half = cl.Tree([1, -1, -1], [2, -1, -1], [[0.0, 1.0], [0, 0], [0, 0]], [-9.5, 0, 0], [-1, 0, 1])
    row = np.array([1, 2])
    assert cl.Explainer(tree).explain(row, target=1)[0].row.dtype == row.dtype
    assert cl.Explainer(half).explain(row, target=1)[0].row.dtype == np.float64
    frame = pd.DataFrame({"x0": [1], "x1": [2]})
    found = cl.Explainer(half).explain(frame, target=1)[0].row
    assert found.dtypes.tolist() == [np.int64, np.float64]
    assert frame.loc[0, "x1"] == 2  # the row that the user passed is unchanged
    mixed = pd.Series({"x1": 2, "x0": 1}, name="r7", dtype=object)
    found = cl.Explainer(half).explain(mixed, target=1)[0].row
    assert found.to_dict() == {"x1": 9.5, "x0": 1}
    assert found.name == "r7"


def test_values_that_look_alike_get_more_digits():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-1.0, 0, 0], [-1, 0, 1])
    assert "x0 were 1 instead of 0.9999999999999999" in str(cl.Explainer(tree).explain([np.nextafter(1, 0)]))


def test_a_feature_that_has_the_name_of_a_column_is_refused():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-1.0, 0, 0], [-1, 0, 1])
    with pytest.raises(
        cl.CounterleafError, match=r"^features named \['cost'\] collide with columns of the result; rename them$"
    ):
        cl.Explainer(tree, schema=cl.Schema([cl.Numeric("cost")])).explain([0.0]).to_frame()
    unchanged = cl.Explainer(tree, schema=cl.Schema([cl.Numeric("cost")])).explain([2.0], target=1)
    assert unchanged.to_frame(only_changed=True).loc["source", "cost"] == 0.0  # the feature of that name is left out


def test_the_public_names():
    assert set(cl.__all__) == {
        "TAOClassifier",
        *("Audit", "distributed"),
        *("Explainer", "explain", "Explanation", "Counterfactual", "Certificate", "MarginPath", "Status", "CounterleafError"),
        *("Front", "FrontPath", "Changes", "Question"),
        *(
            "Tree",
            "Outputs",
            "TAORegressor",
            "read_tree",
            "Probability",
            "Value",
            "probability",
            "value",
            "Schema",
            "Feature",
            "Numeric",
            "Ordinal",
            "Categorical",
            "Boolean",
            "Question",
        ),
        *("Cost", "L1", "L2", "LinearCost", "Quadratic"),
        *("Constraint", "freeze", "fix", "between", "only_increase", "only_decrease", "linear", "among", "near"),
        *("within", "allow", "forbid", "max_changes", "implies", "changed", "becomes", "stays"),
        *("load_constraints", "save_constraints"),
        *("export_text", "plot_tree", "datasets"),
    }
    assert all(hasattr(cl, name) for name in cl.__all__)
    assert dir(cl) == sorted([*cl.__all__, "__version__"])


def test_what_is_typed_at_a_prompt_is_one_line():
    assert repr(ANSWER).startswith("<Explanation: optimal, ")
    assert "\n" not in repr(ANSWER)
    assert "Series" not in repr(ANSWER[0])
    assert repr(cl.Explainer(MODEL, data=X)) == "<Explainer of a DecisionTreeClassifier: 4 features, classes 0, 1, 2>"
    stuck = cl.Explainer(MODEL, data=X).explain(X.iloc[0], target=2, constraints=[cl.freeze(*X.columns)])
    with pytest.raises(
        IndexError, match="the explanation has no counterfactuals: its status is infeasible; print it to see why"
    ):
        stuck[0]


LINE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])


def test_explain_in_one_call_is_an_explainer_and_its_answer():
    rows = np.array([[0.0, 0.0], [3.0, 1.0]])
    one = cl.explain(LINE, rows[0], data=rows, target="yes", count=1, margin=0.25, constraints=cl.freeze("x1"))
    other = cl.Explainer(LINE, data=rows).explain(rows[0], target="yes", margin=0.25, constraints=cl.freeze("x1"))
    assert one.to_json() == other.to_json()
    wide = cl.explain(LINE, [0.0, 0.0], data=rows / 9, target="yes", infer_bounds=False)
    assert wide.best.changes
    schema = cl.Schema([cl.Numeric("a"), cl.Numeric("b")])
    assert cl.explain(LINE, {"a": 0.0, "b": 0.0}, schema=schema).best.label == "yes"
    with pytest.raises(TypeError, match="unexpected keyword argument 'magin'"):
        cl.explain(LINE, [0.0, 0.0], magin=1)


def test_the_best_answer_or_one_clear_line():
    answer = cl.explain(LINE, [0.0, 0.0])
    assert answer.best is answer[0]
    stuck = cl.explain(LINE, [0.0, 0.0], constraints=cl.freeze("x0", "x1"))
    with pytest.raises(cl.CounterleafError) as caught:
        stuck.best  # noqa: B018  # reading it raises
    assert str(caught.value) == "there is no counterfactual: the status is infeasible; print the explanation to see why"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (cl.Explainer(LINE).to_json().encode(), "a model"),
        (LINE.to_json().encode(), "a model"),
        (b'{"version": 1, "constraints": [{"freeze": "age"}]}', "a file of constraints"),
        (b'{"format": "counterleaf-problem", "row": 0}', "a row without an answer"),
        (b'{"format": "x"}\n{"format": "x"}\n', "2 lines of JSON"),
        (b"[1, 2]", "JSON of another kind"),
        (b"a,b\n1,2\n", "not JSON"),
        (b" \n", "empty"),
        (pickle.dumps([1]), "a pickle"),
        (b"PK\x03\x04...", "an Excel file or another archive"),
        (b"PAR1...", "a Parquet file"),
        (gzip.compress(b"a", mtime=0), "a compressed file (gzip)"),
        (lzma.compress(b"a"), "a compressed file (xz)"),
    ],
)
def test_another_file_is_named_for_what_it_is(tmp_path, content, kind):
    file = tmp_path / "file"
    file.write_bytes(content)
    for path, what in ((file, kind), (tmp_path, "a directory")):
        with pytest.raises(cl.CounterleafError) as caught:
            cl.Explanation.load(path)
        assert str(caught.value) == f"{path} is {what}; expected an answer that Explanation.save wrote"


@pytest.mark.parametrize("path", [None, 3.5, b"a.json", ["a.json"], pd.Series(["a.json"])])
def test_what_is_no_path_is_refused(path):
    for use in (cl.Explanation.load, cl.explain(LINE, [0.0, 0.0]).save, lambda path: cl.save_constraints([], path)):
        with pytest.raises(cl.CounterleafError, match=r"the file is .*; expected the path of a file"):
            use(path)


def test_answers_are_saved_and_loaded(tmp_path, monkeypatch):
    answer = cl.explain(LINE, [0.0, 0.0], count=2)
    answer.save(tmp_path / "new" / "a.json")
    answer.save(str(tmp_path / "b.json"))
    for path in (tmp_path / "new" / "a.json", str(tmp_path / "b.json")):
        assert cl.Explanation.load(path).to_json() == answer.to_json()
    (tmp_path / "c.json").write_text("{")
    with pytest.raises(cl.CounterleafError, match=r"c\.json is not JSON; expected an answer that Explanation.save wrote"):
        cl.Explanation.load(tmp_path / "c.json")
    (tmp_path / "c.json").write_bytes(b"\xff\xfe")
    with pytest.raises(cl.CounterleafError, match=r"c\.json is not JSON; expected an answer"):
        cl.Explanation.load(tmp_path / "c.json")
    with pytest.raises(FileNotFoundError):
        cl.Explanation.load(tmp_path / "none.json")
    with pytest.raises(cl.CounterleafError, match=r"cannot write .*: it is a directory; expected the name of a file"):
        answer.save(tmp_path / "new")

    def full(self, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        answer.save(tmp_path / "b.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.json", "c.json", "new"]
    assert cl.Explanation.load(tmp_path / "b.json").best.cost == answer.best.cost
