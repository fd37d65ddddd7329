"""The book without building it: every page has its place, every link leads somewhere, every command line can be typed."""

import re
import shlex
from pathlib import Path

import pytest
import typer

import counterleaf
from counterleaf import cli, datasets, distributed
from counterleaf.cli.shell import CODES
from counterleaf_experiments.commands import app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
TEXTS = [ROOT / "README.md", *PAGES, *sorted((ROOT / "examples").glob("*.py")), *sorted((ROOT / "examples").glob("*.rst"))]
SHELLS = {"", "text", "shell", "sh", "bash", "console"}
APPS = {"counterleaf": typer.main.get_command(cli.app), "counterleaf-experiments": typer.main.get_command(app)}
UsageError = typer.BadParameter.__base__  # click's own, or the copy that newer typers bring along


def by_name(path):
    return str(path.relative_to(ROOT))


def in_order():
    """What the index's tables of contents name, in order."""
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "index.md").read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]
    return [re.sub(r".*<(.+)>", r"\1", line) for line in lines]


def prose(text):
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def command_lines(text):
    """Lines of code, and code in a sentence, that begin with the command's name; without comments."""
    text = re.sub(r"\\\n\s*(# )?", " ", text)  # one command over several lines
    text = re.sub(r"^\| `\w+\.py` \|.*$", "", text, flags=re.MULTILINE)  # a file's purpose names a command without arguments
    fences = re.findall(r"^```(\S*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line for language, block in fences if language in SHELLS for line in block.splitlines()]
    lines += [line for line in prose(text).splitlines() if line.startswith("    ")]
    lines += [line[1:] for line in text.splitlines() if line.startswith("#   ")]  # a literal block in an example's words
    lines += re.findall(r"(?<!`)`{1,2}((?:counterleaf|counterleaf-experiments) [^`]+)`", text)
    found = [re.sub(r"^\s*(\$ )?", "", line).split(" #")[0].strip() for line in lines]
    return [line for line in found if re.match(r"(counterleaf|counterleaf-experiments) [a-z-]", line)]


def words_of(line):
    """What a shell would run and pass on; where the output goes, and what reads it, is not the command's."""
    words = shlex.split(re.split(r"\s[|<>]\s|\s2>", line)[0])
    return [word for word in words if word not in ("&", "...")]


def parse(words):
    """Parse as the command line does, without running anything; the command's name must be known, its options too."""
    command, rest = APPS[words[0]], words[1:]
    if rest[0].startswith("-"):
        assert rest[0] in {"--help", *(option for one in command.params for option in one.opts)}, (
            f"no such option: {' '.join(words)}"
        )
        return
    while hasattr(command, "commands"):
        assert rest, f"no command in {words}"
        assert rest[0] in command.commands, f"no such command: {' '.join(words)}"
        command, rest = command.commands[rest[0]], rest[1:]
    if "--help" not in rest:
        command.make_context(command.name, list(rest))


def test_every_page_has_its_place_in_the_book():
    named = in_order()
    assert len(named) == len(set(named))
    own = [name for name in named if not name.startswith("auto_examples/")]
    assert sorted(own) == sorted(page.stem for page in PAGES if page.stem != "index")


def test_every_numbered_example_has_its_place_in_the_book():
    named = [name.split("/")[1] for name in in_order() if name.startswith("auto_examples/")]
    assert named == sorted(path.stem for path in (ROOT / "examples").glob("[0-9][0-9]_*.py"))


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=by_name)
def test_links_and_pictures_lead_to_a_file(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = page if not path else page.parent / re.sub(r"^auto_examples/(.*)\.rst$", r"../examples/\1.py", path)
        assert there.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(there), f"{page.name}: {target}"


def anchors(page):
    headings = re.findall(r"^#+ (.+)$", prose(page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", TEXTS, ids=by_name)
def test_command_lines_can_be_typed(page):
    for line in command_lines(page.read_text()):
        try:
            parse(words_of(line))
        except UsageError as error:
            pytest.fail(f"{line}: {error.format_message()}")


@pytest.mark.parametrize(("program", "name"), [(program, name) for program, app in APPS.items() for name in app.commands])
def test_the_examples_of_help_can_be_typed(program, name):
    lines = command_lines(APPS[program].commands[name].help)
    assert lines, f"{program} {name} --help shows no example"
    for line in lines:
        parse(words_of(line))


@pytest.mark.parametrize("line", ["counterleaf divine", "counterleaf explore --no-such-option", "counterleaf explore --row x"])
def test_a_command_line_that_cannot_be_typed_is_found(line):
    with pytest.raises((AssertionError, UsageError)):
        parse(words_of(line))


def test_command_lines_are_found_wherever_they_stand():
    indented = "    counterleaf one\\\n      --a 1   # why\n\n"
    fenced = "```python\n>>> x\n```\n\n```text\n$ counterleaf two > out.csv\n```\n\n"
    text = f"{indented}{fenced}See `counterleaf three`.\n"
    assert command_lines(text) == ["counterleaf two > out.csv", "counterleaf one --a 1", "counterleaf three"]
    assert words_of("counterleaf two --b 'x y' > out.csv") == ["counterleaf", "two", "--b", "x y"]


def test_every_public_name_is_in_the_reference():
    reference = (DOCS / "api.md").read_text()
    described = re.findall(r"^\.\. auto\w+:: ([\w.]+)(?:\(\))?$", reference, re.MULTILINE)
    public = [f"counterleaf.{name}" for name in counterleaf.__all__ if name not in ("datasets", "distributed")]
    public += [f"{module.__name__}.{name}" for module in (datasets, distributed) for name in module.__all__]
    assert sorted(described) == sorted(public)


def test_the_readme_begins_with_all_that_a_stranger_needs():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 120
    start = "\n".join(lines[:40])
    for needed in ("![", "    pip install", "\n>>> ", "\nProved: ", "\n- **", "**One limit:**", "(docs/index.md)"):
        assert needed in start


def test_exit_codes_agree_everywhere():
    listed = re.search(r"full table\]\(.+?\)\): (.+?)\.\n", (DOCS / "deployment.md").read_text(), re.DOTALL)
    assert " ".join(listed[1].split()).split(", ") == [f"{code} {meaning}" for code, meaning in CODES.items()]
    assert re.findall(r"`(\d+)`", APPS["counterleaf"].epilog) == [str(code) for code in CODES]
    assert "<!-- exit codes -->" in (DOCS / "command_line.md").read_text()  # made from the same table
