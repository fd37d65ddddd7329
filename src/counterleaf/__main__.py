"""The command line as ``python -m counterleaf``."""

from counterleaf.cli import app

app(prog_name="counterleaf")
