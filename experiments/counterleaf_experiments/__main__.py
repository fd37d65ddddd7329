"""``python -m counterleaf_experiments``."""

from counterleaf_experiments.commands import app

app(prog_name="counterleaf-experiments")
