"""Every example of every --help, as typed, in a folder that ``counterleaf demo --save .`` made; and every option it names."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from support.cli_cases import call
from typer.testing import CliRunner

from counterleaf import cli
from counterleaf.cli import shell
from counterleaf.cli.commands.demo import _NEXT as NEXT
from counterleaf.cli.commands.demo import ROW

ROOT = Path(__file__).parents[2]
GROUP = typer.main.get_command(cli.app)
LONG = ("explore", "demo")  # only parsed; the demo has its own tests


def examples(name):
    return re.findall(r"^\s*- `(counterleaf .*)`$", GROUP.commands[name].callback.__doc__, re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    at = tmp_path_factory.mktemp("examples")
    assert call("demo", "--save", at).code == 0
    return at


def typed(line, folder):
    """Run a line as a shell does: its arguments, and < and > with their files."""
    words = shlex.split(line)
    assert words.pop(0) == "counterleaf"
    stdin = out = None
    if "<" in words:
        at = words.index("<")
        stdin = (folder / words[at + 1]).read_bytes()
        del words[at : at + 2]
    if ">" in words:
        at = words.index(">")
        out = folder / words[at + 1]
        del words[at : at + 2]
    done = call(*words, stdin=stdin)
    if out is not None:
        out.write_text(done.out)
    return done


@pytest.mark.parametrize("name", sorted(GROUP.commands))
def test_every_command_has_examples_and_a_word_for_each_option(name):
    command = GROUP.commands[name]
    assert len(examples(name)) >= 2
    assert all(line.split()[1] in GROUP.commands for line in examples(name))
    for parameter in command.params:
        if parameter.name != "help":
            assert parameter.help, parameter.name


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in GROUP.commands if name not in LONG])
def test_the_examples_work_as_typed(folder, monkeypatch, name):
    monkeypatch.chdir(folder)
    for line in examples(name):
        done = typed(line, folder)
        assert done.code == 0, (line, done.err)
        assert ">" not in shlex.split(line) or done.out


@pytest.mark.parametrize("name", LONG)
def test_the_examples_of_long_commands_parse(name):
    for line in examples(name):
        words = shlex.split(line.split(" > ")[0])[1:]
        assert words[0] == name
        GROUP.commands[name].make_context(name, words[1:])


def sessions(page):
    """Each command in the console blocks of a page, with its output."""
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            yield part.split("\n", 1)


@pytest.mark.slow
def test_the_first_hour_of_the_book_prints_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = list(sessions(ROOT / "docs" / "command_line.md"))
    assert len(shown) >= 12
    for line, expected in shown:
        done = typed(line, tmp_path)
        assert done.err == "", line
        assert done.code == (shell.UNANSWERED if "cannot all hold" in expected else 0), line
        pattern = re.escape(expected).replace(re.escape("..."), ".*?")
        assert re.fullmatch(pattern, done.out, re.DOTALL), (line, done.out)


@pytest.mark.slow
def test_the_commands_at_a_glance_work_as_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "command_line.md").read_text()
    block = re.search(r"## At a glance\n\n(.*?)\n\n", page, re.DOTALL)[1]
    lines = [line.split(" #")[0].strip() for line in block.splitlines()]
    assert len(lines) >= 8
    for line in lines:
        if line not in examples("train"):  # which runs there, and takes its time
            assert typed(line, tmp_path).code == 0, line


def test_what_the_demo_says_to_type_next_works(folder, monkeypatch):
    monkeypatch.chdir(folder)
    lines = re.findall(r"^ +(counterleaf [^#\n]*)", NEXT.format(row=ROW), re.MULTILINE)
    assert len(lines) == 5
    for line in lines:
        words = shlex.split(line)[1:]
        if words[0] == "explain":
            assert typed(line.strip(), folder).code == 0, line
        elif words[0] == "train":
            assert line.strip() in examples("train")  # and runs there
        elif words[0] in GROUP.commands:
            GROUP.commands[words[0]].make_context(words[0], words[1:])


@pytest.mark.parametrize("name", sorted(GROUP.commands))
def test_every_option_that_a_help_names_exists(name):
    done = call(name, "--help")
    assert done.code == 0
    known = {option for command in GROUP.commands.values() for parameter in command.params for option in parameter.opts}
    text = GROUP.commands[name].callback.__doc__ + " ".join(str(parameter.help) for parameter in GROUP.commands[name].params)
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) <= {*known, "--help"}


def test_help_lists_the_commands_and_the_exit_codes():
    done = call("--help")
    assert done.code == 0
    for name in GROUP.commands:
        assert re.search(rf"\b{name}\b", done.out)
    for code in shell.CODES:
        assert re.search(rf"^ *{code} ", done.out, re.MULTILINE), code


def test_no_arguments_show_the_help():
    done = call()
    assert "Usage:" in done.out + done.err
    assert "demo" in done.out + done.err


def test_the_version():
    import counterleaf

    assert call("--version").out == f"counterleaf {counterleaf.__version__}\n"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["nope"], "No such command 'nope'; see: counterleaf --help"),
        (
            ["explain", "m.json", "--targt", "yes"],
            r"no such option: --targt; did you mean --target\?; see: counterleaf explain --help",
        ),
        (["--nope"], "no such option: --nope; see: counterleaf --help"),
        (
            ["explain", "m.json", "--freze", "age"],
            r"no such option: --freze; did you mean --freeze\?; see: counterleaf explain --help",
        ),
        (["inspect"], "Missing argument '[A-Za-z]+'; see: counterleaf inspect --help"),
        (
            ["explain", "m.json", "r.csv", "--row", "x"],
            "Invalid value for '--row': .*(integer|int range).*; see: counterleaf explain --help",
        ),
        (
            ["explain", "m.json", "r.csv", "--max-changes", "-1"],
            "Invalid value for '--max-changes': .*0.*; see: counterleaf explain --help",
        ),
        (["train", "t.csv"], "Missing option '--label'; see: counterleaf train --help"),
    ],
    ids=lambda words: "-".join(words) if isinstance(words, list) else "",
)
def test_a_wrong_word_is_one_line(words, line):
    done = call(*words)
    assert (done.code, done.out) == (shell.USAGE, "")
    assert re.fullmatch(f"counterleaf: {line}\n", done.err)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("counterleaf ex", ["explain", "explore"]),
        ("counterleaf explain model.json --fre", ["--freeze"]),
        ("counterleaf explain model.json --freeze ho", ["housing"]),
        ("counterleaf explain model.json --freeze age,ho", ["age,housing"]),
        ("counterleaf explain model.json --target g", ["granted"]),
        ("counterleaf explain absent.json --freeze a", []),
    ],
)
def test_completion_knows_commands_options_features_and_classes(folder, monkeypatch, words, offered):
    monkeypatch.chdir(folder)
    place = str(len(words.split()) - 1)
    env = {"_COUNTERLEAF_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": place}
    done = CliRunner().invoke(cli.app, [], prog_name="counterleaf", env=env)
    assert done.output.split() == offered


def test_without_arguments_the_command_prints_its_help():
    alone, whole = call(), call("--help")
    assert (alone.code, alone.err) == (0, "")
    assert alone.out.split() == whole.out.split()
    assert "explain" in alone.out
