"""Check the docstrings of every public object against the numpydoc standard.

The public objects are the names in ``__all__`` of the modules below, and the public methods and properties of their classes.
The section ``[tool.numpydoc_validation]`` of ``pyproject.toml`` lists the checks.

    python scripts/check_docstrings.py
"""

import inspect
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import ERROR_MSGS, Validator, validate

MODULES = ("counterleaf", "counterleaf.datasets", "counterleaf.distributed")
PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def read_checks(pyproject: Path = PYPROJECT) -> set[str]:
    """Return the codes to check: those listed, or with "all" every code except those listed."""
    listed = set(tomllib.loads(pyproject.read_text())["tool"]["numpydoc_validation"]["checks"])
    codes = listed - {"all"}
    if unknown := codes - set(ERROR_MSGS):
        raise SystemExit(f"{pyproject.name}: unknown numpydoc checks {sorted(unknown)}; expected codes such as GL03")
    return set(ERROR_MSGS) - codes if "all" in listed else codes


def public_names() -> Iterator[str]:
    """Yield the import path of every public object."""
    for module in MODULES:
        for name in import_module(module).__all__:
            value = getattr(import_module(module), name)
            if isinstance(value, UnionType | ModuleType):  # aliases for annotations, and packages
                continue
            yield f"{module}.{name}"
            if inspect.isclass(value):
                yield from (f"{module}.{name}.{member}" for member in public_members(value))


def public_members(owner: type) -> list[str]:
    """Return the methods and properties that a class of this package defines, without those that it inherits from elsewhere."""
    classes = [base for base in owner.__mro__ if base.__module__.split(".")[0] == "counterleaf"]
    members = {name: value for base in classes for name, value in vars(base).items() if not name.startswith("_")}
    return sorted(name for name, value in members.items() if is_documented(value))


def is_documented(member: Any) -> bool:
    """Whether a member of a class needs a docstring: a function, a property or a method bound to the class."""
    return inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod)


def errors_of(name: str, checks: set[str]) -> Iterator[tuple[str, str, str]]:
    """Yield file and line, code and message of every error in the docstring of one object."""
    try:
        found = validate(name)
    except StopIteration:  # numpydoc does not find the line of some generated classes
        raise SystemExit(f"{name}: numpydoc cannot find its source; leave it out in public_names") from None
    skipped = {"PR01"} if describes_attributes(name) else set()
    for code, message in found["errors"]:
        if code in checks - skipped:
            yield f"{Path(found['file'] or '').name}:{found['file_line']}", code, message


def describes_attributes(name: str) -> bool:
    """Whether a class documents attributes in place of parameters: an enum, or a class that users receive and do not call."""
    owner = Validator._load_obj(name)
    if not inspect.isclass(owner):
        return False
    return issubclass(owner, Enum) or bool(get_doc_object(owner, config={"show_class_members": False})["Attributes"])


def main() -> int:
    """Print one line per error and the number of errors per check; return 1 if there are errors."""
    checks, names = read_checks(), list(public_names())
    counts: Counter[str] = Counter()
    for name in names:
        for place, code, message in errors_of(name, checks):
            print(f"{place}: {name}: {code} {message}")
            counts[code] += 1
    summary = ", ".join(f"{code} {count}" for code, count in sorted(counts.items()))
    print(f"{len(names)} public objects, {counts.total()} errors{': ' + summary if counts else ''}")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
