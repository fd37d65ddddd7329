"""What the explorer uses of the other packages: public names, and few modules besides ``counterleaf`` itself."""

import ast
from pathlib import Path

import pytest

import counterleaf as cl
import counterleaf.explorer

FOLDER = Path(counterleaf.explorer.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))
ALLOWED = {
    "counterleaf": "the public names",
    "counterleaf.answer.short_numbers": "numbers with few digits",
    "counterleaf.answer.text": "the table of an answer, whose numbers keep the row valid",
    "counterleaf.answer.tree_text": "the splits of a tree as inequalities and values",
    "counterleaf.audit.measures.comparisons": "how many rows a comparison needs",
    "counterleaf.audit.measures.differences": "which differences have too few rows",
    "counterleaf.audit.page.words": "shares and costs as the report writes them",
    "counterleaf.audit.report.cases": "what became of each of many rows",
    "counterleaf.audit.report.groups": "the names and the bounds of groups",
    "counterleaf.audit.report.provenance": "the model's digest, the versions and the date",
    "counterleaf.core.stopping": "a request that nobody waits for stops its search",
    "counterleaf.datasets": "the models of the bundled data sets",
    "counterleaf.errors": "the parts of error messages",
    "counterleaf.model.cuts": "the two sides of a threshold in the model's arithmetic",
    "counterleaf.packed_arrays": "a file that the user opens cannot take all memory",
    "counterleaf.plot.canvas": "the window of a drawing, and short names",
    "counterleaf.plot.polygons": "the regions of the leaves over two numbers",
    "counterleaf.plot.trees.conditions": "the values of a split in short",
    "counterleaf.plot.trees.path": "the path to a leaf",
    "counterleaf.plot.trees.placement": "the places of nodes on a page to print",
    "counterleaf.proof.walk": "the check of a proof can be interrupted",
    "counterleaf.question.query": "whether a target fits a model",
    "counterleaf.question.words": "constraints in words",
    "counterleaf.storage.files": "a cached model is written atomically, and CSV text is read exactly",
    "counterleaf.storage.models": "models and rows from the user's files",
    "counterleaf.strict_json": "JSON that is not trusted",
    "counterleaf.table.features": "what counts as missing, and characters that a name must not have",
    "counterleaf.table.frames": "frames of pandas and polars",
    "counterleaf.table.rows": "rows of a frame as codes",
    "counterleaf.table.words": "dates and thousands separators",
    "counterleaf.types": "the type of arrays in annotations",
}


def imports(tree):
    """[(module, name or None)] of the package, those of the explorer left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found = [(node.module or "", alias.name) for alias in node.names]
        else:
            continue
        for module, name in found:
            if module.split(".")[0] == "counterleaf" and not module.startswith("counterleaf.explorer"):
                yield module, name


def parsed():
    return {path.relative_to(FOLDER).as_posix(): ast.parse(path.read_text()) for path in FILES}


def test_the_explorer_imports_from_few_modules():
    used = {module for tree in parsed().values() for module, _ in imports(tree)}
    assert sorted(used - set(ALLOWED)) == []
    assert sorted(set(ALLOWED) - used) == []  # the list is as short as the imports


def test_public_names_come_from_the_top():
    found = [(file, module, name) for file, tree in parsed().items() for module, name in imports(tree)]
    assert [one for one in found if one[1] != "counterleaf" and one[2] in cl.__all__] == []


def test_no_private_name_of_another_package():
    """A private attribute belongs to ``self``, or to a class of the same file."""
    wrong = []
    for file, tree in parsed().items():
        wrong += [(file, f"{module} {name}") for module, name in imports(tree) if is_private(f"{module}.{name}")]
        own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        own |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
        own |= {
            node.target.id for node in ast.walk(tree) if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own:
                wrong.append((file, node.attr))
    assert wrong == []


def is_private(name):
    return any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


@pytest.mark.parametrize("name", ["counterleaf._core", "counterleaf.core._inner.x", "explainer._adapter"])
def test_a_private_name_is_seen(name):
    assert is_private(name)
    assert not is_private(name.replace("_", ""))
