"""The map of docs/architecture.md against the package: every file is on it, and imports follow its order."""

import ast
import functools
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import counterleaf

ROOT = Path(__file__).parents[1]
PACKAGE = Path(counterleaf.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
# files of the root that every room may use
BASE = ("types.py", "errors.py", "sparse.py", "exact.py", "strict_json.py", "packed_arrays.py")
LINE = ("table", "model", "question", "proof", "core", "search", "answer", "batch")
ALIASES = ("tree.py",)  # the former place of a name that pickles hold
# methods of the line that lead to a room after it: these are imported when they are called
DOORS = {"answer/explanation.py": {"plot", "storage"}, "answer/margins.py": {"plot"}, "answer/front.py": {"plot"}}
FRAMES = ("table", "datasets", "experiments")  # the room that knows pandas and polars, and those that make pandas frames
TOP = ("__init__.py", "__main__.py", "explainer.py", "shortcuts.py", "table_methods.py")


@functools.cache
def parsed(module):
    return ast.parse((PACKAGE / module).read_text())


def room_of(module):
    return module.split("/")[0] if "/" in module else ""


@functools.cache
def on_the_map():
    """{folder: the files that the page lists under its heading}"""
    out, folder = {}, None
    for line in (ROOT / "docs/architecture.md").read_text().splitlines():
        heading = re.match(r"#+ (?:`([\w/]+)/`)?", line)
        if heading:
            folder = heading.group(1)
        elif folder and line.startswith("| `"):
            names = re.findall(r"`([\w/.]+)`", line.split("|")[1])
            out.setdefault("" if folder == "counterleaf" else folder, []).extend(names)
    return out


def file_of(name):
    path = "/".join(name.split(".")[1:])
    return next((file for file in (f"{path}.py", f"{path}/__init__.py".lstrip("/")) if file in MODULES), None)


def imports(module):
    """[(module of ours that is imported, whether inside a function)], what is imported for types alone left out."""
    out, waiting = [], [(parsed(module), False)]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "counterleaf":
            for alias in node.names:
                out.append((file_of(f"{node.module}.{alias.name}") or file_of(node.module), inside))
        elif isinstance(node, ast.Import):
            out += [(file_of(name.name), inside) for name in node.names if name.name.split(".")[0] == "counterleaf"]
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        waiting += [(child, inside) for child in ast.iter_child_nodes(node)]
    return [(name, inside) for name, inside in out if name not in (None, "__init__.py")]  # the root: _core, or a lazy name


def test_every_file_is_on_the_map_and_nothing_else_is():
    listed = {f"{folder}/{name}".lstrip("/") for folder, names in on_the_map().items() for name in names}
    hidden = {module for module in MODULES if module.endswith("__init__.py")} | set(ALIASES)
    assert sorted(set(MODULES) - listed - hidden) == []
    assert sorted(name for name in listed if not (PACKAGE / name).exists() and name != "_core") == []


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_from_its_own_room_and_those_before(module):
    """Inside functions too. Rooms next to the line may use all of it and each other."""
    room = room_of(module)
    wrong = []
    for other, _ in imports(module):
        theirs = room_of(other)
        if module in BASE:
            allowed = other in BASE
        elif room in LINE:
            allowed = other in BASE or (theirs in LINE and LINE.index(theirs) <= LINE.index(room))
            allowed = allowed or theirs in DOORS.get(module, ())
        else:
            allowed = True
        if not allowed:
            wrong.append(other)
    assert wrong == []


def test_no_module_imports_itself_by_way_of_others():
    """Python allows it where the order is lucky; a reader would go round in circles."""
    graph = {module: {other for other, inside in imports(module) if not inside} for module in MODULES}
    list(TopologicalSorter(graph).static_order())


def test_our_own_modules_are_imported_inside_functions_for_start_up_only():
    """Doors, names of the root, commands that load what they run, a report on a folder, which needs pyarrow, and training."""
    late = {module for module in MODULES if any(inside for _, inside in imports(module))}
    allowed = {*DOORS, "explainer.py", "table_methods.py", "report/audit.py", "explorer/session/bundled.py", "__init__.py"}
    assert sorted(module for module in late - allowed if not module.startswith("cli/")) == []


def test_pandas_and_polars_are_known_in_few_rooms():
    found = set()
    for module in MODULES:
        for node in ast.walk(parsed(module)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", None) or ""]
            if isinstance(node, ast.Import | ast.ImportFrom) and {n.split(".")[0] for n in names} & {"pandas", "polars"}:
                found.add(module)
    assert sorted(module for module in found if room_of(module) not in FRAMES) == []


def test_rooms_have_a_few_files():
    sizes = {}
    for module in MODULES:
        if not module.endswith("__init__.py") and "/" in module:
            sizes[module.rpartition("/")[0]] = sizes.get(module.rpartition("/")[0], 0) + 1
    assert {room: size for room, size in sizes.items() if size > 9} == {}


def functions():
    for module in MODULES:
        for node in ast.walk(parsed(module)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield module, node


def test_functions_are_short():
    long = [f"{module} {node.name}" for module, node in functions() if node.end_lineno - node.body[0].lineno + 1 > 80]
    assert long == []


def test_functions_take_few_arguments():
    """But for the options of a command and the parameters of an estimator."""
    many = []
    for module, node in functions():
        a = node.args
        names = [one.arg for one in (*a.posonlyargs, *a.args, *a.kwonlyargs) if one.arg not in ("self", "cls")]
        size = len(names) + (a.vararg is not None) + (a.kwarg is not None)
        if size > 8 and not module.startswith("cli/commands/") and module not in ("learn/classifier.py", "learn/regressor.py"):
            many.append(f"{module} {node.name}: {size}")
    assert many == []


def test_files_are_of_a_size_to_read():
    assert [module for module in MODULES if len((PACKAGE / module).read_text().splitlines()) > 460] == []


def test_nothing_of_the_package_is_ignored():
    """A build leaves out what .gitignore names, and linters do not look at it."""
    folders = {part for path in PACKAGE.rglob("*.py") for part in path.relative_to(PACKAGE).parts[:-1]}
    lines = (ROOT / ".gitignore").read_text().split()
    assert [line for line in lines if line.rstrip("/") in folders] == []
