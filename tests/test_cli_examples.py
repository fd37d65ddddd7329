"""Every example of every --help, as typed, in a folder that ``counterleaf demo --save .`` made; and every option it names."""

import re
import shlex

import pytest
import typer
from cli_cases import call

from counterleaf import cli, tour
from counterleaf.cli import shell
from counterleaf.cli.demo import _NEXT as NEXT

GROUP = typer.main.get_command(cli.app)
LONG = ("explore", "reproduce", "bench", "demo")  # parsed only; the demo has tests of its own


def examples(name):
    return re.findall(r"^\s*- `(counterleaf .*)`$", GROUP.commands[name].callback.__doc__, re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    at = tmp_path_factory.mktemp("examples")
    assert call("demo", "--save", at).code == 0
    return at


def typed(line, folder):
    """Run a line as a shell would: its arguments, and < and > with the file behind them."""
    words = shlex.split(line)
    assert words.pop(0) == "counterleaf"
    given = out = None
    if "<" in words:
        at = words.index("<")
        given = (folder / words[at + 1]).read_bytes()
        del words[at : at + 2]
    if ">" in words:
        at = words.index(">")
        out = folder / words[at + 1]
        del words[at : at + 2]
    done = call(*words, given=given)
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


def test_what_the_demo_says_to_type_next_works(folder, monkeypatch):
    monkeypatch.chdir(folder)
    lines = re.findall(r"^ +(counterleaf [^#\n]*)", NEXT.format(row=tour.ROW), re.MULTILINE)
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


@pytest.mark.parametrize("words", [["nope"], ["--nope"], ["explain", "--help-me"], ["inspect"]])
def test_a_word_that_is_none_is_a_usage_error(words):
    done = call(*words)
    assert (done.code, done.out) == (shell.USAGE, "")


def test_completion_knows_the_commands():
    from typer.testing import CliRunner

    done = CliRunner().invoke(
        cli.app,
        [],
        prog_name="counterleaf",
        env={"_COUNTERLEAF_COMPLETE": "complete_bash", "COMP_WORDS": "counterleaf ex", "COMP_CWORD": "1"},
    )
    assert done.output.split() == ["explain", "explore"]
