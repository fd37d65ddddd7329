"""Models from files: what is opened, what is refused, and that nothing runs that was not trusted."""

import io
import json
import pickle
import sys
import warnings
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_iris
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from skops.io._protocol import PROTOCOL

import counterleaf as cl
from counterleaf.errors import CounterleafError
from counterleaf.learn import TAOClassifier
from counterleaf.storage import models

X, Y = load_iris(return_X_y=True, as_frame=True)
RAN = []


def own_function(values):
    return values


class Trap:
    """A pickle that does something when it is opened."""

    def __reduce__(self):
        return RAN.append, ("opened",)


def fitted():
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)


def refusal(*arguments, **options):
    with pytest.raises(CounterleafError) as error:
        models.read_estimator(*arguments, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib", ".PKL"])
def test_a_pickle_is_not_opened_unless_it_is_allowed(tmp_path, suffix):
    path = tmp_path / f"m{suffix}"
    path.write_bytes(pickle.dumps(Trap()))
    RAN.clear()
    assert refusal(path) == (
        f"{path} is a pickle, which can run any code when it is opened; if you trust its author, pass --allow-pickle, or "
        f"save the model with skops"
    )
    assert not RAN


@pytest.mark.parametrize("dump", [pickle.dump, joblib.dump], ids=["pickle", "joblib"])
def test_an_allowed_pickle_is_the_model(tmp_path, dump):
    with (tmp_path / "m.pkl").open("wb") as file:
        dump(fitted(), file)
    assert (models.read_estimator(tmp_path / "m.pkl", allow_pickle=True).predict(X) == fitted().predict(X)).all()


DAMAGED = {"empty": b"", "junk": b"junk", "half": pickle.dumps([1])[:-3], "absent": b"cno_such_module\nname\n."}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_pickle_is_one_line(tmp_path, content):
    (tmp_path / "m.pkl").write_bytes(content)
    assert refusal(tmp_path / "m.pkl", allow_pickle=True).startswith(f"{tmp_path / 'm.pkl'} cannot be opened as a pickle (")


def test_a_model_of_the_first_development_version_is_to_be_saved_again(tmp_path):
    """Its trees were in a module that is gone."""
    learned = pickle.dumps(TAOClassifier(max_depth=1).fit(X, Y), protocol=2)
    (tmp_path / "m.pkl").write_bytes(learned.replace(b"ccounterleaf.model.tree\n", b"ccounterleaf.tree\n"))
    assert refusal(tmp_path / "m.pkl", allow_pickle=True) == (
        f"{tmp_path / 'm.pkl'} cannot be opened as a pickle (ModuleNotFoundError: No module named 'counterleaf.tree'); "
        "save the model again with the installed versions"
    )


def test_a_pickle_of_another_scikit_learn_is_refused(tmp_path, monkeypatch):
    def load(file):
        versions = {"current_sklearn_version": "2", "original_sklearn_version": "1"}
        warnings.warn(InconsistentVersionWarning(estimator_name="Tree", **versions), stacklevel=1)
        return fitted()

    (tmp_path / "m.pkl").write_bytes(b"")
    monkeypatch.setattr(joblib, "load", load)
    line = refusal(tmp_path / "m.pkl", allow_pickle=True)
    assert "from version 1 when using version 2" in line
    assert line.endswith("fit and save the model again with the installed version")


def tao():
    return TAOClassifier(max_depth=2, random_state=0).fit(X, Y)


def pipeline():
    return make_pipeline(StandardScaler(), fitted()).fit(X, Y)


@pytest.mark.parametrize("make", [fitted, tao, pipeline])
def test_a_skops_file_is_the_model(tmp_path, make):
    skops.io.dump(make(), tmp_path / "m.skops")
    assert (models.read_estimator(tmp_path / "m.skops").predict(X) == make().predict(X)).all()


def test_a_type_of_a_skops_file_is_trusted_by_name_only(tmp_path):
    path = tmp_path / "m.skops"
    skops.io.dump(make_pipeline(FunctionTransformer(own_function), fitted()).fit(X, Y), path)
    name = f"{own_function.__module__}.own_function"
    assert refusal(path) == (f"{path} contains types that could run code; if you trust its author, pass: --trust {name}")
    assert models.read_estimator(path, trusted=[name]).predict(X).shape == (150,)


@pytest.mark.parametrize("content", [b"", b"junk", b"PK\x03\x04half"], ids=["empty", "junk", "half"])
def test_a_damaged_skops_file_is_one_line(tmp_path, content):
    (tmp_path / "m.skops").write_bytes(content)
    assert refusal(tmp_path / "m.skops").startswith(f"{tmp_path / 'm.skops'} cannot be opened as a skops file (")


def test_without_skops_it_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    assert refusal(tmp_path / "m.skops").endswith("skops files need skops; install with: pip install skops")


def _tampered(path, change):
    """A skops file with other numbers in the nodes of its tree."""
    skops.io.dump(fitted(), path)
    out = io.BytesIO()
    changed = 0
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.namelist():
            content = old.read(entry)
            if entry.endswith(".npy"):
                array = np.load(io.BytesIO(content))
                if array.dtype.names and "left_child" in array.dtype.names:
                    change(array)
                    changed += 1
                    made = io.BytesIO()
                    np.save(made, array)
                    content = made.getvalue()
            new.writestr(entry, content)
    path.write_bytes(out.getvalue())
    assert changed == 1


def _far_feature(nodes):
    nodes["feature"][0] = 10_000_000


def _far_child(nodes):
    nodes["left_child"][0] = 10_000_000


def _loop(nodes):
    nodes["left_child"][2] = 0


@pytest.mark.parametrize("change", [_far_feature, _far_child, _loop], ids=["feature", "child", "loop"])
def test_a_tree_with_tampered_nodes_is_refused_before_it_predicts(tmp_path, monkeypatch, change):
    path = tmp_path / "m.skops"
    _tampered(path, change)

    def never(*arguments, **options):
        raise AssertionError("queried a damaged tree")

    for name in ("predict", "decision_path", "apply"):
        monkeypatch.setattr(DecisionTreeClassifier, name, never)
    with pytest.raises(CounterleafError):
        cl.Explainer(models.read_estimator(path))


def test_the_own_tree_of_a_skops_file_is_checked(tmp_path):
    model = tao()
    object.__setattr__(model.tree_, "left", np.array([77, *model.tree_.left[1:]]))
    skops.io.dump(model, tmp_path / "m.skops")
    with pytest.raises(CounterleafError):
        models.read_estimator(tmp_path / "m.skops")


def test_the_weights_of_a_skops_file_are_checked(tmp_path):
    model = tao()
    object.__setattr__(model.tree_.weights, "indices", model.tree_.weights.indices + 10**6)
    skops.io.dump(model, tmp_path / "m.skops")
    with pytest.raises(CounterleafError, match="indptr, indices and data do not describe a matrix"):
        models.read_estimator(tmp_path / "m.skops")


def test_a_skops_file_with_weights_of_scipy_is_the_model(tmp_path):
    model = tao()  # as it was before trees had a matrix class of ours
    object.__setattr__(model.tree_, "weights", model.tree_.weights.to_scipy())
    skops.io.dump(model, tmp_path / "m.skops")
    found = models.read_estimator(tmp_path / "m.skops")
    assert found.tree_.to_json() == tao().tree_.to_json()


def test_any_other_suffix_is_refused(tmp_path):
    line = f"{tmp_path / 'm.onnx'}: unknown file type; expected .skops, .pkl, .pickle or .joblib"
    assert refusal(tmp_path / "m.onnx") == line


def test_models_are_read_from_json(tmp_path):
    explainer = cl.Explainer(fitted(), data=X)
    (tmp_path / "e.json").write_text(explainer.to_json())
    (tmp_path / "t.json").write_text(explainer.tree.to_json())
    assert models.read_model(tmp_path / "e.json").to_json() == explainer.to_json()
    assert models.read_model(tmp_path / "t.json").to_json() == explainer.tree.to_json()


@pytest.mark.parametrize(
    "content",
    ["", "{", "[1]", "{}", '{"format": ""}', "[" * 100_000, "\ud800"],
    ids=["empty", "half", "list", "object", "no format", "deep", "no text"],
)
def test_what_is_no_model_is_one_line(tmp_path, content):
    (tmp_path / "m.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(
        CounterleafError, match=r"m\.json is not counterleaf JSON; expected the output of counterleaf train or convert"
    ):
        models.read_model(tmp_path / "m.json")


def test_an_answer_is_no_model(tmp_path):
    (tmp_path / "m.json").write_text(cl.Explainer(fitted(), data=X).explain(X.iloc[0]).to_json())
    with pytest.raises(CounterleafError, match="is an answer; expected a model"):
        models.read_model(tmp_path / "m.json")
    (tmp_path / "m.json").write_text(json.dumps({"format": "counterleaf-explainer", "version": 1}))
    with pytest.raises(CounterleafError, match="lacks or garbles a part"):
        models.read_model(tmp_path / "m.json")


@pytest.mark.parametrize(("name", "trust"), [("m.pkl", " --allow-pickle"), ("m.skops", "")])
def test_a_file_of_scikit_learn_is_to_be_converted(name, trust, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError):
        models.read_model(Path(name))
    Path(name).touch()
    with pytest.raises(CounterleafError) as error:
        models.read_model(Path(name))
    assert str(error.value) == (
        f"{name} is a scikit-learn file; expected counterleaf JSON: counterleaf convert {name}{trust} --out m.json"
    )


def test_words_that_look_like_numbers_stay_words(tmp_path):
    schema = cl.Schema([cl.Categorical("zip", ["01", "2"]), cl.Numeric("x")])
    (tmp_path / "a.csv").write_text("x,extra,zip\n1,9,01\n2,9,2\nold,9,3\n")
    rows = models.read_rows(tmp_path / "a.csv", schema)
    assert rows.columns.tolist() == ["zip", "x"]
    assert rows["zip"].tolist() == ["01", "2", "3"]
    assert rows["x"].tolist() == [1.0, 2.0, "old"]


def test_many_missing_columns_are_cut():
    schema = cl.Schema([cl.Numeric(f"c{k}") for k in range(20)])
    with pytest.raises(
        CounterleafError, match=r"lacks the columns \['c1', 'c2', 'c3', 'c4', \.\.\. 15 more\]; the model needs"
    ):
        models.fit_rows(pd.DataFrame({"c0": [1]}), schema, "a.csv")


def _calling(module, name, *values):
    """A node of a skops file that calls a function with some texts."""
    made = [
        {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(value), "is_json": True}
        for value in values
    ]
    content = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": made}
    return {"__class__": name, "__module__": module, "__loader__": "ConstructorFromReduceNode", "content": content}


@pytest.mark.parametrize(
    ("module", "name"), [("counterleaf.storage.files", "Path"), ("counterleaf.datasets.samples", "save"), ("os", "system")]
)
def test_a_skops_file_that_calls_a_function_is_refused_and_calls_nothing(tmp_path, module, name):
    node = {**_calling(module, name, str(tmp_path / "made")), "protocol": PROTOCOL, "_skops_version": skops.__version__}
    with zipfile.ZipFile(tmp_path / "m.skops", "w") as file:
        file.writestr("schema.json", json.dumps(node))
    assert refusal(tmp_path / "m.skops") == (
        f"{tmp_path / 'm.skops'} contains types that could run code; if you trust its author, pass: --trust {module}.{name}"
    )
    assert not (tmp_path / "made").exists()
