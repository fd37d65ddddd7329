"""The pages' line `<!-- commands -->` becomes a section for every command of the real command line, so that none can drift."""

import inspect
import re

import click
import typer

from counterleaf import cli

PLACE = "<!-- commands -->"


def usage(name: str, command: click.Command) -> str:
    """The line of a command: its arguments, those that may be left out in brackets."""
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    words = [p.make_metavar(click.Context(command)).strip("[]") for p in arguments]
    shown = [word if p.required else f"[{word}]" for word, p in zip(words, arguments, strict=True)]
    options = ["[OPTIONS]"] if any(isinstance(p, click.Option) for p in command.params) else []
    return " ".join(["counterleaf", name, *shown, *options])


def lines_of(parameters: list[click.Parameter]) -> list[str]:
    """A definition list: how each is written, then what it means and what it is if left out."""
    out = []
    for p in parameters:
        if isinstance(p, click.Option):
            flag = p.is_flag or p.count
            value = "" if flag else " " + p.make_metavar(click.Context(click.Command("counterleaf")))
            name = ", ".join(f"`{word}{value}`" for word in (*p.opts, *p.secondary_opts))
            nothing = p.default in (None, False, "", ()) or callable(p.default) or "UNSET" in repr(p.default).upper()
            default = "" if flag or nothing else f" By default `{plain(p.default)}`."
            more = " May be given several times." if p.multiple else ""
        else:
            name, default, more = f"`{p.make_metavar(click.Context(click.Command('counterleaf'))).strip('[]')}`", "", ""
        text = " ".join((getattr(p, "help", None) or "").split())
        out += [name, f": {escaped(text)}{default}{more}", ""]
    return out


def plain(value: object) -> str:
    """A default as it would be typed."""
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(getattr(value, "value", value))


def escaped(text: str) -> str:
    """No emphasis, links or tags in a sentence of help; what stands in backticks stays."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<>\[\]])", r"\\\1", part) for part in parts)


def section(name: str, command: click.Command) -> list[str]:
    """A command's heading, what it does, and its arguments and options; of a group, its commands instead."""
    if isinstance(command, click.Group):
        return [line for sub, one in command.commands.items() for line in section(f"{name} {sub}".strip(), one)]
    if command.hidden:
        return []
    body = inspect.cleandoc(command.help or "").split("\f")[0]
    out = [f"## `{name}`", "", "```text", usage(name, command), "```", "", body, ""]
    shown = [p for p in command.params if not getattr(p, "hidden", False) and p.name != "help"]
    for title, kind in (("Arguments", click.Argument), ("Options", click.Option)):
        some = [p for p in shown if isinstance(p, kind)]
        out += [f"**{title}**", "", *lines_of(some)] if some else []
    return out


def fill(app, docname, source):
    """Write the commands into the page that asks for them."""
    if PLACE in source[0]:
        app.env.note_dependency(cli.__file__)
        source[0] = source[0].replace(PLACE, "\n".join(section("", typer.main.get_command(cli.app))))


def setup(app):
    """For ``extensions`` in conf.py."""
    app.connect("source-read", fill)
    return {"version": "1", "parallel_read_safe": True}
