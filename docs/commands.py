"""Replace the line `<!-- commands -->` of a page by a section for every command, made from the command line itself.

The line `<!-- exit codes -->` becomes the table of exit codes.
"""

import inspect
import re

import typer

from counterleaf import cli
from counterleaf.cli.shell import CODES

PLACE, CODES_PLACE = "<!-- commands -->", "<!-- exit codes -->"


def every(command, name=""):
    """Yield (name, command) of a command, or of all commands of a group, in the order of --help, without hidden ones."""
    for sub, one in getattr(command, "commands", {}).items():
        yield from every(one, f"{name} {sub}".strip())
    if not hasattr(command, "commands") and not command.hidden:
        yield name, command


def section(name, command):
    """Return a command as Markdown: its heading, its usage, its description, its arguments and options as in --help."""
    context = command.make_context(f"counterleaf {name}", [], resilient_parsing=True)
    call = " ".join(context.get_usage().split()).removeprefix("Usage: ")
    out = [f"## `{name}`", "", "```text", call, "```", "", inspect.cleandoc(command.help or "").split("\f")[0], ""]
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        records = [p.get_help_record(context) for p in command.params if p.param_type_name == kind and p.name != "help"]
        shown = [record for record in records if record]
        out += [f"**{title}**", ""] if shown else []
        for written, meaning in shown:
            written = re.sub(r"<list\[(\w+)\]>", r"<\1>", " ".join(written.split()))  # repeated options
            out += [f"`{written}`", f": {escaped(meaning)}", ""]
    return out


def escaped(text):
    """Escape emphasis, links and tags in a sentence of help, except inside backticks."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else re.sub(r"([*_<>\[\]])", r"\\\1", part) for part in parts)


def exit_codes():
    """Return the table of exit codes as Markdown."""
    return "\n".join(["| exit code | |", "| --- | --- |", *(f"| {code} | {meaning} |" for code, meaning in CODES.items())])


def fill(app, docname, source):
    """Write the commands into the page that has a place for them."""
    if PLACE in source[0]:
        app.env.note_dependency(cli.__file__)
        commands = every(typer.main.get_command(cli.app))
        source[0] = (
            source[0]
            .replace(CODES_PLACE, exit_codes())
            .replace(PLACE, "\n".join(line for one in commands for line in section(*one)))
        )


def setup(app):
    """Register the extension; conf.py lists it."""
    app.connect("source-read", fill)
    return {"version": "1", "parallel_read_safe": True}
