"""The command ``counterleaf-experiments``: ``bench`` and ``reproduce``."""

from __future__ import annotations

import typer

from counterleaf.cli.shell import OneLine
from counterleaf_experiments.bench import bench
from counterleaf_experiments.reproduce import reproduce

app = typer.Typer(
    cls=OneLine,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (bench, reproduce):
    app.command()(command)


@app.callback()
def about() -> None:
    """Measure counterleaf: the benchmark, and the experiments of the paper."""
