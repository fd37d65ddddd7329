"""Write the tables of docs/architecture.md from the docstrings, or check them and the length of the lines of all pages.

    python scripts/write_map.py            # check: exit code 1 if a table is not that of the docstrings, or a line is too long
    python scripts/write_map.py --write

Between the lines ``<!-- packages: table model -->`` and ``<!-- end -->``, each package and each package inside it gets a
heading, the first paragraph of its docstring, and a table of its modules with the first paragraph of theirs.

A line of prose in a Markdown page has at most 120 characters. Code, tables and lines without a space to break at are exempt.
"""

import ast
import functools
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
HOMES = (ROOT / "src" / "counterleaf", ROOT / "experiments")
LONGEST = 120  # characters in a line of prose
REGION = re.compile(r"(<!-- packages: ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


@functools.cache
def purpose(path: Path) -> str:
    """Return the first paragraph of a module's docstring in one line, with the code marks of Markdown."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    line = " ".join(text.split("\n\n")[0].split()).replace("``", "`").replace("|", r"\|")
    if not line:
        raise SystemExit(f"{path.relative_to(ROOT)} has no docstring; write what it is for, in one sentence")
    return line


def section(package: Path, home: Path) -> str:
    """Return the heading and the table of a package, and those of the packages inside it."""
    name = package.relative_to(home).as_posix() if package != home else home.name
    lines = [f"### `{name}/`", "", textwrap.fill(purpose(package / "__init__.py"), LONGEST, break_on_hyphens=False), ""]
    modules = sorted(path for path in package.glob("*.py") if path.name != "__init__.py")
    if modules:
        lines += ["| file | purpose |", "| --- | --- |"]
        lines += [f"| `{path.name}` | {purpose(path).removesuffix('.')} |" for path in modules]
        lines += [""]
    inside = [] if package == home else [path.parent for path in sorted(package.glob("*/__init__.py"))]
    return "\n".join([*lines, *(section(path, home) for path in inside)])


def with_tables(page: str) -> str:
    """Return the text of the page with new tables; every package has to have its place."""
    homes = {path.parent.name: (path.parent, home) for home in HOMES for path in home.glob("*/__init__.py")}
    homes["counterleaf"] = (HOMES[0], HOMES[0])
    placed = [name for _, names, _ in REGION.findall(page) for name in names.split()]
    if sorted(placed) != sorted(homes):
        wrong = sorted({*placed} ^ {*homes}) or sorted(name for name in placed if placed.count(name) > 1)
        raise SystemExit(f"{PAGE.name} has to name each package once; check {', '.join(wrong)}")

    def region(found: re.Match[str]) -> str:
        return f"{found[1]}\n" + "\n".join(section(*homes[name]) for name in found[2].split()) + f"\n{found[3]}"

    return REGION.sub(region, page)


def pages() -> list[Path]:
    """Return the Markdown files of the repository's root and of the book."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def long_lines(page: str) -> Iterator[tuple[int, int]]:
    """Yield the number and the length of every line of prose that is too long and can be broken."""
    fence = ""
    for number, line in enumerate(page.splitlines(), 1):
        text = line.strip()
        if fence:
            fence = "" if text == fence else fence
        elif opening := re.match("```+", text):
            fence = opening[0]
        elif len(line) > LONGEST and " " in text and not (line.startswith("    ") or text.startswith("|")):
            yield number, len(line)


def main() -> int:
    """Compare the page with the docstrings and measure the lines of all pages, or write the page."""
    old = PAGE.read_text()
    new = with_tables(old)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(new)
    elif new != old:
        print(f"{PAGE.name} is not up to date with the docstrings; run: python scripts/write_map.py --write")
        return 1
    long = [(path, *line) for path in pages() for line in long_lines(path.read_text())]
    for path, number, length in long:
        print(f"{path.relative_to(ROOT)}:{number}: {length} characters; break the line at {LONGEST} or before")
    return 1 if long else 0


if __name__ == "__main__":
    sys.exit(main())
