"""The error for a package that is not installed, in every place that needs one."""

import sys

import pytest
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
