import sys
import types

import pytest
from support import fake_desk
from typer.testing import CliRunner

from counterleaf import cli
from counterleaf.cli import shell
from counterleaf.errors import CounterleafError
from counterleaf.explorer import server

NOTHING = {"model": None, "data": None, "row": None, "shape": None, "mnist": None, "time_limit": 2.0}


@pytest.fixture
def explore(monkeypatch):
    """The command with the fake desk and no server: what the desk was opened with, and how it was served."""
    started = []
    desk = types.ModuleType("counterleaf.explorer.desk")
    desk.open_desk = fake_desk.open_fake
    monkeypatch.setitem(sys.modules, "counterleaf.explorer.desk", desk)
    monkeypatch.setattr(server, "serve", lambda desk, *how: started.append((desk.arguments, *how)))

    def call(*arguments):
        done = CliRunner().invoke(cli.app, ["explore", *arguments])
        return done.exit_code, done.stdout, done.stderr, started

    return call


def test_without_arguments_it_explores_what_comes_along(explore):
    assert explore() == (0, "", "", [(NOTHING, None, True)])


def test_every_argument_is_handed_on(explore):
    *_, started = explore(
        *("tree.json", "--data", "rows.csv", "--row", "12", "--shape", "8x16", "--mnist", "mnist"),
        *("--time-limit", "5", "--port", "9000", "--no-browser"),
    )
    given = {"model": "tree.json", "data": "rows.csv", "row": 12, "shape": [8, 16], "mnist": "mnist", "time_limit": 5.0}
    assert started == [(given, 9000, False)]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["absent"], "there is no file 'absent'"),
        (["--shape", "8"], "--shape is '8'; expected HEIGHTxWIDTH in pixels, such as 8x8"),
        (["--shape", "0x8"], "--shape is '0x8'; expected HEIGHTxWIDTH in pixels, such as 8x8"),
        (["--time-limit", "0"], "--time-limit is 0; expected 0.05 to 600 seconds"),
        (["--time-limit", "nan"], "--time-limit is nan; expected 0.05 to 600 seconds"),
    ],
)
def test_a_mistake_is_one_line_before_the_server_starts(explore, arguments, line):
    assert explore(*arguments) == (shell.USAGE, "", f"counterleaf: {line}\n", [])


@pytest.mark.parametrize("arguments", [["--row", "-1"], ["--port", "65536"], ["--row", "x"], ["a", "b"]])
def test_a_wrong_option_is_a_usage_error(explore, arguments):
    code, _, _, started = explore(*arguments)
    assert (code, started) == (shell.USAGE, [])


@pytest.mark.parametrize("module", ["fastapi", "uvicorn"])
def test_without_its_packages_it_says_how_to_get_them(explore, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    line = 'counterleaf: the explorer needs FastAPI; install it with: pip install "counterleaf[explorer]"\n'
    assert explore() == (shell.USAGE, "", line, [])


def test_a_taken_port_is_one_line(explore, monkeypatch):
    def serve(*arguments):
        raise CounterleafError("port 9000 cannot be used")

    monkeypatch.setattr(server, "serve", serve)
    assert explore("--port", "9000")[:3] == (shell.USAGE, "", "counterleaf: port 9000 cannot be used\n")


def test_ctrl_c_while_files_are_read_is_one_line(explore, monkeypatch):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["counterleaf.explorer.desk"], "open_desk", interrupt)
    code, _, errors, _ = explore()
    assert (code, errors) == (shell.INTERRUPTED, "counterleaf: interrupted; the explorer had not started\n")
