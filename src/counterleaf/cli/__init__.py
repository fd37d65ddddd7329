"""The command ``counterleaf``: results go to stdout, progress goes to stderr, and only on a terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from counterleaf.cli.commands.audit import audit, report
from counterleaf.cli.commands.convert import convert
from counterleaf.cli.commands.demo import demo
from counterleaf.cli.commands.explain import explain
from counterleaf.cli.commands.explore import explore
from counterleaf.cli.commands.inspect import inspect
from counterleaf.cli.commands.train import train
from counterleaf.cli.commands.verify import verify
from counterleaf.cli.shell import CODES, OneLine

_CODES = "  \n".join(f"`{code}` {meaning}" for code, meaning in CODES.items())
app = typer.Typer(
    cls=OneLine,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"Exit codes:  \n{_CODES}",
)
for command in (demo, train, explain, audit, report, convert, inspect, verify, explore):
    app.command()(command)


def _version(requested: bool) -> None:
    if requested:
        from counterleaf import __version__

        typer.echo(f"counterleaf {__version__}")
        raise typer.Exit


@app.callback()
def about(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version.")] = False,
) -> None:
    """Exact counterfactual explanations for trees and ensembles of trees: the cheapest change that makes a model say y.

    Start with `counterleaf demo`, a short tour; `counterleaf demo --save .` writes the files for the examples in
    every `--help`.
    """
    if ctx.invoked_subcommand is None and (text := ctx.get_help()):  # newer versions of typer print it themselves
        typer.echo(text)
