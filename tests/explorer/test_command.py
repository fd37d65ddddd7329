import sys
import types

import pytest
from support import fake_session
from typer.testing import CliRunner

from counterleaf import cli
from counterleaf.cli import shell
from counterleaf.errors import CounterleafError
from counterleaf.explorer.web import server

DEFAULTS = {"model": None, "data": None, "row": None, "shape": None, "constraints": None, "mnist": None, "time_limit": 2.0}


@pytest.fixture
def explore(monkeypatch):
    """Run the command with a fake session and without a server; also returns the arguments of both."""
    started = []
    module = types.ModuleType("counterleaf.explorer.session.session")
    module.open_session = fake_session.open_fake
    monkeypatch.setitem(sys.modules, "counterleaf.explorer.session.session", module)
    monkeypatch.setattr(server, "serve", lambda session, *options: started.append((session.arguments, *options)))

    def call(*arguments):
        done = CliRunner().invoke(cli.app, ["explore", *arguments])
        return done.exit_code, done.stdout, done.stderr, started

    return call


def test_without_arguments_it_opens_the_bundled_scenes(explore):
    assert explore() == (0, "", "", [(DEFAULTS, None, True)])


def test_every_argument_is_passed_on(explore):
    *_, started = explore(
        *("tree.json", "--data", "rows.csv", "--row", "12", "--shape", "8x16", "--mnist", "mnist"),
        *("--constraints", "rules.json"),
        *("--time-limit", "5", "--port", "9000", "--no-browser"),
    )
    expected = {
        "model": "tree.json",
        "data": "rows.csv",
        "row": 12,
        "shape": [8, 16],
        "constraints": "rules.json",
        "mnist": "mnist",
        "time_limit": 5.0,
    }
    assert started == [(expected, 9000, False)]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["absent"], "no such file: 'absent'"),
        (["--shape", "8"], "--shape is '8'; expected HEIGHTxWIDTH in pixels, such as 8x8"),
        (["--shape", "0x8"], "--shape is '0x8'; expected HEIGHTxWIDTH in pixels, such as 8x8"),
        (["--time-limit", "0"], "--time-limit is 0; expected 0.05 to 600 seconds"),
        (["--time-limit", "nan"], "--time-limit is nan; expected 0.05 to 600 seconds"),
    ],
)
def test_an_error_before_the_server_starts_is_one_line(explore, arguments, line):
    assert explore(*arguments) == (shell.USAGE, "", f"counterleaf: {line}\n", [])


@pytest.mark.parametrize("arguments", [["--row", "-1"], ["--port", "65536"], ["--row", "x"], ["a", "b"]])
def test_a_wrong_option_is_a_usage_error(explore, arguments):
    code, _, _, started = explore(*arguments)
    assert (code, started) == (shell.USAGE, [])


@pytest.mark.parametrize("module", ["fastapi", "uvicorn"])
def test_missing_packages_give_an_installation_hint(explore, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    line = "counterleaf: the explorer needs fastapi and uvicorn; install with: pip install fastapi uvicorn\n"
    assert explore() == (shell.USAGE, "", line, [])


def test_a_taken_port_is_one_line(explore, monkeypatch):
    def serve(*arguments):
        raise CounterleafError("cannot use port 9000")

    monkeypatch.setattr(server, "serve", serve)
    assert explore("--port", "9000")[:3] == (shell.USAGE, "", "counterleaf: cannot use port 9000\n")


def test_ctrl_c_while_files_are_read_is_one_line(explore, monkeypatch):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["counterleaf.explorer.session.session"], "open_session", interrupt)
    code, _, errors, _ = explore()
    assert (code, errors) == (shell.INTERRUPTED, "counterleaf: interrupted; the explorer had not started\n")
