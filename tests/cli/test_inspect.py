"""``counterleaf inspect``: the figures are those of the model, the drawing is that of ``export_text``."""

import numpy as np
import pytest
from support.cli_cases import call, mistake, small

import counterleaf as cl
from counterleaf.answer.tree_text import export_text

MODEL = small()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.json").write_text(MODEL.to_json())
    (tmp_path / "tree.json").write_text(MODEL.tree.to_json())
    return tmp_path


def test_a_model_in_numbers_and_a_drawing(folder):
    done = call("inspect", "model.json")
    assert (done.code, done.err) == (0, "")
    numbers, features, drawing = done.out.split("\n\n")
    assert numbers.splitlines() == [
        "model.json: a tree over 6 features",
        "  leaves   3 (0: 1, 1: 1, 2: 1)",
        "  depth    2",
        "  splits   2, of 6.0 features each",
    ]
    lines = features.splitlines()
    assert lines[0] == "6 features:"
    assert [line.split("; in ")[0] for line in lines] == str(MODEL.schema).splitlines()
    assert all(line.endswith("; in 2 splits") for line in lines[1:])
    assert drawing.rstrip() == export_text(MODEL.tree, MODEL.schema.variables, max_depth=4, max_terms=5).rstrip()


def test_a_plain_tree_has_no_names(folder):
    done = call("inspect", "tree.json")
    assert done.out.startswith(f"tree.json: a tree over {MODEL.tree.n_features} features\n")
    assert "features:" not in done.out
    assert export_text(MODEL.tree, None, max_depth=4, max_terms=5) in done.out


def test_depth_and_terms(folder):
    done = call("inspect", "model.json", "--depth", "1", "--terms", "2")
    assert export_text(MODEL.tree, MODEL.schema.variables, max_depth=1, max_terms=2) in done.out


def test_features_that_no_split_looks_at_are_reported(folder):
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 0.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1])
    (folder / "m.json").write_text(cl.Explainer(tree, schema=cl.Schema([cl.Numeric("a", 0, 9), cl.Numeric("b")])).to_json())
    lines = call("inspect", "m.json").out.splitlines()
    assert lines[6:8] == ["  a  number, 0 to 9; in 1 split", "  b  number; unused"]


@pytest.mark.parametrize(("name", "start"), [("t.png", b"\x89PNG"), ("t.svg", b"<?xml"), ("t.PDF", b"%PDF")])
def test_a_picture(folder, name, start):
    done = call("inspect", "tree.json", "--png", name)
    assert done.code == 0
    assert done.out.endswith(f"\nWrote {name}\n")
    assert (folder / name).read_bytes().startswith(start)


def test_pixels(folder):
    weights = np.zeros((3, 4))
    weights[0] = [1, -1, 1, -1]
    (folder / "p.json").write_text(cl.Tree([1, -1, -1], [2, -1, -1], weights, [0.0, 0, 0], [-1, 0, 1]).to_json())
    assert call("inspect", "p.json", "--png", "p.png", "--shape", "2x2").code == 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["absent.json"], "absent.json: No such file or directory"),
        (["model.json", "--png", "x.gif"], "--png is x.gif; expected a name that ends in .png, .svg or .pdf"),
        (["model.json", "--shape", "2x2"], "--shape is 2x2 without --png; expected --png with the file for the drawing"),
        (["model.json", "--shape", "2", "--png", "x.png"], "--shape is '2'; expected HEIGHTxWIDTH in pixels, such as 8x8"),
        (["m.pkl"], "m.pkl: No such file or directory"),
    ],
)
def test_a_mistake_is_one_line(folder, arguments, line):
    assert mistake("inspect", *arguments) == line
    assert not (folder / "x.png").exists()
