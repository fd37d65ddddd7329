"""The map of docs/architecture.md against the package: its tables are up to date, and imports follow its order."""

import ast
import functools
import importlib.util
import re
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import counterleaf

ROOT = Path(__file__).parents[1]
PACKAGE = Path(counterleaf.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
# files of the root that every package may use
BASE = ("types.py", "errors.py", "sparse.py", "exact.py", "strict_json.py", "packed_arrays.py")
LINE = ("table", "model", "question", "proof", "core", "search", "answer", "batch")
# methods of the line that lead to a package after it: these are imported when they are called
DOORS = {"answer/explanation.py": {"plot", "storage"}, "answer/margins.py": {"plot"}, "answer/front.py": {"plot"}}
FRAMES = ("table", "datasets")  # the package that knows pandas and polars, and one that makes pandas frames
spec = importlib.util.spec_from_file_location("write_map", ROOT / "scripts" / "write_map.py")
write_map = importlib.util.module_from_spec(spec)
spec.loader.exec_module(write_map)


@functools.cache
def parsed(module):
    return ast.parse((PACKAGE / module).read_text())


def package_of(module):
    return module.split("/")[0] if "/" in module else ""


def file_of(name):
    path = "/".join(name.split(".")[1:])
    return next((file for file in (f"{path}.py", f"{path}/__init__.py".lstrip("/")) if (PACKAGE / file).is_file()), None)


@functools.cache
def imports(module):
    """[(module of ours that is imported, whether inside a function)], what is imported for types alone left out."""
    out, waiting = [], [(parsed(module), False)]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "counterleaf":
            for alias in node.names:
                out.append((file_of(f"{node.module}.{alias.name}") or file_of(node.module), inside))
        elif isinstance(node, ast.Import):
            out += [(file_of(name.name), inside) for name in node.names if name.name.split(".")[0] == "counterleaf"]
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        waiting += [(child, inside) for child in ast.iter_child_nodes(node)]
    return [(name, inside) for name, inside in out if name not in (None, "__init__.py")]  # the root: _core, or a lazy name


def test_the_tables_are_those_of_the_docstrings(tmp_path, monkeypatch, capsys):
    page = write_map.PAGE.read_text()
    assert write_map.with_tables(page) == page
    assert all(f"| `{module.rpartition('/')[2]}` | " in page for module in MODULES if not module.endswith("__init__.py"))
    stale = tmp_path / "architecture.md"
    stale.write_text(page.replace("| `sparse.py` | ", "| `sparse.py` | Not "))
    monkeypatch.setattr(write_map, "PAGE", stale)
    monkeypatch.setattr(sys, "argv", ["write_map.py"])
    assert write_map.main() == 1
    assert capsys.readouterr().out == (
        "architecture.md is not up to date with the docstrings; run: python scripts/write_map.py --write\n"
    )
    monkeypatch.setattr(sys, "argv", ["write_map.py", "--write"])
    assert write_map.main() == 0
    assert stale.read_text() == page
    with pytest.raises(SystemExit, match=r"^architecture.md has to name each package once; check core$"):
        write_map.with_tables(page.replace("proof core search", "proof search"))


def test_a_module_without_a_docstring_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(write_map, "ROOT", tmp_path)
    (tmp_path / "new.py").write_text("x = 1")
    with pytest.raises(SystemExit, match=r"^new.py has no docstring; write what it is for, in one sentence$"):
        write_map.purpose(tmp_path / "new.py")


def test_long_lines_of_prose_are_named(tmp_path, monkeypatch, capsys):
    words, link = "word " * 25, f"[here](https://example.org/{'a' * 120})"
    page = f"{words.strip()}\n- {words}\n{link}\n    {words}\n  | {words} |\n````text\n```\n{words}\n````\n{words}\n"
    assert list(write_map.long_lines(page)) == [(1, 124), (2, 127), (10, 125)]
    assert [line for path in write_map.pages() for line in write_map.long_lines(path.read_text())] == []
    (tmp_path / "NEW.md").write_text(page)
    monkeypatch.setattr(write_map, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["write_map.py"])
    assert write_map.main() == 1
    assert capsys.readouterr().out.splitlines()[0] == "NEW.md:1: 124 characters; break the line at 120 or before"


def test_files_that_the_page_names_exist():
    """Those of the explorer's page, which have no docstrings, and those of the reading path."""
    page = write_map.PAGE.read_text()
    path = page[page.index("## A reading path") : page.index("## The line")]
    scripts = page[page.index("### `explorer/page/`") : page.index("## The development package")]
    names = re.findall(r"`([\w/]+\.\w+)`", scripts)
    assert len(names) > 40
    assert [name for name in names if not (PACKAGE / "explorer" / "page" / name).exists()] == []
    named = [name for name in re.findall(r"`([\w/]+\.(?:py|cpp|hpp))`", path) if "/" in name]
    places = (PACKAGE, PACKAGE / "question", ROOT)  # "costs/terms.py" follows "question/query.py"
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


def may_import(module, other):
    package, theirs = package_of(module), package_of(other)
    if module in BASE:
        return other in BASE
    before = package not in LINE or (theirs in LINE and LINE.index(theirs) <= LINE.index(package))
    return before or other in BASE or theirs in DOORS.get(module, ())


def test_a_module_imports_from_its_own_package_and_those_before():
    """Inside functions too. Packages next to the line may use all of it and each other."""
    wrong = [f"{module} imports {other}" for module in MODULES for other, _ in imports(module) if not may_import(module, other)]
    assert wrong == []


def test_no_module_imports_itself_by_way_of_others():
    """Python allows it where the order is lucky; a reader would go round in circles."""
    graph = {module: {other for other, inside in imports(module) if not inside} for module in MODULES}
    list(TopologicalSorter(graph).static_order())


def test_our_own_modules_are_imported_inside_functions_for_start_up_only():
    """Doors, names of the root, commands that load what they run, a report on a folder, which needs pyarrow, and training."""
    late = {module for module in MODULES if any(inside for _, inside in imports(module))}
    allowed = {*DOORS, "explainer.py", "audit/audit.py", "explorer/session/bundled.py", "__init__.py"}
    assert sorted(module for module in late - allowed if not module.startswith("cli/")) == []


def test_pandas_and_polars_are_known_in_few_packages():
    found = set()
    for module in MODULES:
        for node in ast.walk(parsed(module)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", None) or ""]
            if isinstance(node, ast.Import | ast.ImportFrom) and {n.split(".")[0] for n in names} & {"pandas", "polars"}:
                found.add(module)
    assert sorted(module for module in found if package_of(module) not in FRAMES) == []


def test_packages_have_a_few_files():
    sizes = {}
    for module in MODULES:
        if not module.endswith("__init__.py") and "/" in module:
            sizes[module.rpartition("/")[0]] = sizes.get(module.rpartition("/")[0], 0) + 1
    assert {package: size for package, size in sizes.items() if size > 9} == {}


def functions():
    for module in MODULES:
        for node in ast.walk(parsed(module)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield module, node


def test_functions_are_short():
    long = [f"{module} {node.name}" for module, node in functions() if node.end_lineno - node.body[0].lineno + 1 > 80]
    assert long == []


def test_functions_take_few_arguments():
    """But for the options of a command, the parameters of an estimator and the parts of a question."""
    many = []
    for module, node in functions():
        a = node.args
        names = [one.arg for one in (*a.posonlyargs, *a.args, *a.kwonlyargs) if one.arg not in ("self", "cls")]
        size = len(names) + (a.vararg is not None) + (a.kwarg is not None)
        listed = ("learn/classifier.py", "learn/regressor.py", "explainer.py")
        if size > 8 and not module.startswith("cli/commands/") and module not in listed:
            many.append(f"{module} {node.name}: {size}")
    assert many == []


def test_files_are_of_a_size_to_read():
    """Docstrings do not count."""
    long = {}
    for module in MODULES:
        nodes = [node for node in ast.walk(parsed(module)) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
        texts = [node.body[0] for node in nodes if node.body and ast.get_docstring(node, clean=False) is not None]
        size = len((PACKAGE / module).read_text().splitlines())
        long[module] = size - sum(text.end_lineno - text.lineno + 1 for text in texts)
    assert [module for module, size in long.items() if size > 450] == []


def test_nothing_of_the_package_is_ignored():
    """A build leaves out what .gitignore names, and linters do not look at it."""
    folders = {part for path in PACKAGE.rglob("*.py") for part in path.relative_to(PACKAGE).parts[:-1]}
    lines = (ROOT / ".gitignore").read_text().split()
    assert [line for line in lines if line.rstrip("/") in folders] == []
