"""The stage-to-file map of the README against the package: all of it is there, and imports follow its order."""

import ast
import functools
import re
from graphlib import TopologicalSorter
from pathlib import Path

import counterleaf

ROOT = Path(__file__).parents[1]
PACKAGE = Path(counterleaf.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
DOORS = {"__init__.py", "__main__.py"}  # they say what the package is, or start the command


@functools.cache
def stages():
    """[(what a line of the map is about, the files and folders that it names)]"""
    text = (ROOT / "README.md").read_text()
    lines = text[text.index("\n## From question to answer") :].split("\n## ")[1].splitlines()
    rows = [line.split("|")[1:3] for line in lines if "](src/counterleaf/" in line]
    return [(about.strip(), re.findall(r"\]\(src/counterleaf/([^)]+)\)", files)) for about, files in rows]


def stage_of(module):
    """The first line of the map that names a module, or else the innermost of its folders."""
    for path in (module, *(parent.as_posix() for parent in Path(module).parents)):
        found = [number for number, (_, files) in enumerate(stages()) if path in files]
        if found:
            return found[0]
    return None


def loaded(module):
    """The modules of the package that a module imports when it is imported itself: not in a function, not for types only."""
    out, waiting = set(), list(ast.parse((PACKAGE / module).read_text()).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "counterleaf":
            named = [name.name for name in node.names if name.name != "_core"]  # the core is not a module of Python
            out |= {file_of(f"{node.module}.{name}") or file_of(node.module) for name in named}
        elif isinstance(node, ast.Import):
            out |= {file_of(name.name) for name in node.names if name.name.split(".")[0] == "counterleaf"}
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and "TYPE_CHECKING" not in ast.unparse(node):
            waiting += ast.iter_child_nodes(node)
    return out - {None}


def file_of(name):
    path = "/".join(name.split(".")[1:])
    return next((file for file in (f"{path}.py", f"{path}/__init__.py".lstrip("/")) if file in MODULES), None)


def beside(stage):
    return stages()[stage][0].startswith("beside the line")


def test_every_module_is_on_the_map_and_nothing_else_is():
    assert [module for module in MODULES if module not in DOORS and stage_of(module) is None] == []
    assert [file for _, files in stages() for file in files if not (PACKAGE / file).exists()] == []
    core = re.findall(r"\]\((cpp[^)]*)\)", (ROOT / "README.md").read_text())
    assert [file for file in core if not (ROOT / file).exists()] == []


def test_a_module_imports_from_its_own_stage_and_those_before():
    """Modules beside the line may use all of it and others beside it, the line nothing beside it."""
    wrong = []
    for module in (module for module in MODULES if module not in DOORS):
        at = stage_of(module)
        for other in loaded(module) - DOORS:
            if not beside(at) and (beside(stage_of(other)) or stage_of(other) > at):
                wrong.append(f"{module} imports {other}")
    assert wrong == []


def test_no_module_imports_itself_by_way_of_others():
    """Python allows it where the order is lucky; a reader would go round in circles."""
    list(TopologicalSorter({module: loaded(module) for module in MODULES}).static_order())
