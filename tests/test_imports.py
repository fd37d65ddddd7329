"""The imports of a process: a query about a plain tree needs NumPy alone, and large packages are imported on first use."""

import ast
import json
import os
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import counterleaf as cl

LARGE = ("pandas", "sklearn", "scipy", "numba", "matplotlib", "typer", "rich", "polars", "piqp")
TREE = """
import counterleaf as cl
tree = cl.Tree(
    [1, -1, 3, -1, -1],
    [2, -1, 4, -1, -1],
    [[1.0, 1.0], [0, 0], [0.3, -1.7], [0, 0], [0, 0]],
    [-1.0, 0, 0.2, 0, 0],
    [-1, 0, -1, 1, 0],
    classes=["no", "yes"],
)
"""
TABLE = """
import counterleaf as cl
schema = cl.Schema([cl.Numeric("age", 0, 90, integer=True), cl.Categorical("job", ["cook", "clerk"]), cl.Boolean("kin")])
tree = cl.Tree([1, -1, -1], [2, -1, -1], [[0.1, 1.0, 0, -1], [0] * 4, [0] * 4], [-4.0, 0, 0], [-1, 0, 1])
explainer = cl.Explainer.from_json(cl.Explainer(tree, schema=schema).to_json())
row = {"age": 10, "job": "clerk", "kin": True}
"""
QUESTIONS = {
    "import": "import counterleaf",
    "numbers": TREE + "print(cl.Explainer(cl.Tree.from_json(tree.to_json())).explain([0.1, 0.23], target='yes'))",
    "curved": TREE + "print(cl.Explainer(tree).explain({'x0': 0.1, 'x1': 0.23}, target='yes', cost=cl.L2(), count=2))",
    "margins": TREE + "print(cl.Explainer(tree).explain_margins([0.1, 0.23], margins=[0.0, 0.1], target='yes')[1])",
    "proof": TREE + "answer = cl.Explainer(tree).explain([0.1, 0.23]); text = answer.to_json(); answer._repr_html_()\n"
    "assert cl.Explanation.from_json(text).certificate.check()",
    "text": TREE + "print(cl.export_text(tree))",
    "table": TABLE + "print(explainer.explain(row, target=1))",
    "conflict": TABLE + "print(explainer.explain(row, target=1, constraints=[cl.freeze('age'), cl.max_changes(0)]))",
}


def loaded(code):
    """The large packages that a fresh process has imported after ``code``."""
    report = f"\nimport json, sys\nsys.stderr.write(json.dumps([name for name in {LARGE} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, check=True)
    return json.loads(done.stderr)


@pytest.mark.parametrize("code", QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_about_a_plain_tree_needs_numpy_alone(code):
    assert loaded(code) == []


@pytest.mark.slow
def test_the_command_imports_what_its_work_needs(tmp_path):
    (tmp_path / "model.json").write_text(cl.Explainer(cl.Tree([-1], [-1], [[0.0]], [0.0], [0])).to_json())
    run = (
        "import sys\nfrom counterleaf.cli import app\nsys.argv = {}\n"
        "try:\n    app()\nexcept SystemExit as end:\n    assert not end.code"
    )
    assert loaded("import counterleaf.cli") == ["typer"]
    assert "pandas" not in loaded(run.format(["counterleaf", "--help"]))
    assert loaded(run.format(["counterleaf", "inspect", str(tmp_path / "model.json")])) == ["typer"]
    command = ["counterleaf", "explain", str(tmp_path / "model.json"), '{"x0": 1.0}', "--target", "0"]
    assert loaded(run.format(command)) == ["pandas", "typer"]


def test_the_names_are_those_that_type_checkers_read():
    """From ``__init__.pyi``, in which each name comes from the module that defines it."""
    imports = [node for node in ast.parse(Path(cl.__file__ + "i").read_text()).body if isinstance(node, ast.ImportFrom)]
    names = {alias.name: node.module for node in imports for alias in node.names if alias.asname == alias.name}
    assert sorted(names) == cl.__all__
    for name, module in names.items():
        assert getattr(cl, name) is getattr(import_module(module), name)


@pytest.mark.slow
def test_names_that_are_imported_late_are_public_like_the_others():
    assert dir(cl) == sorted([*cl.__all__, "__version__"])
    assert loaded("import counterleaf; dir(counterleaf)") == []
    assert "sklearn" in loaded("from counterleaf import TAOClassifier; assert TAOClassifier().get_params()")
    assert loaded("import counterleaf; assert counterleaf.datasets.load_letter") == ["pandas"]
    with pytest.raises(AttributeError, match="module 'counterleaf' has no attribute 'nothing'"):
        cl.nothing  # noqa: B018  # the lookup raises


@pytest.mark.slow
def test_a_fitted_learner_survives_a_pickle(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = cl.TAOClassifier(max_depth=2, random_state=0).fit(X, y)
    assert type(model).__module__ == "counterleaf.learn.classifier"
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    code = f"import pickle, pathlib; model = pickle.loads(pathlib.Path({os.fspath(tmp_path / 'model.pkl')!r}).read_bytes())"
    assert "sklearn" in loaded(f"{code}\nassert model.tree_.n_features == 4")
    assert np.array_equal(pickle.loads((tmp_path / "model.pkl").read_bytes()).predict(X), model.predict(X))
