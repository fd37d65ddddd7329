"""Shell completion after an option: the features and the classes of the model on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer


def features(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of features; after a comma the next one."""
    complete, comma, _ = incomplete.rpartition(",")
    names = [one[1] for one in _content(ctx, "schema", "features")]
    return [f"{complete}{comma}{name}" for name in names if f"{complete}{comma}{name}".startswith(incomplete)]


def classes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of classes."""
    labels = _content(ctx, "tree", "classes") or _content(ctx, "ensemble", "classes")
    return [name for name in map(str, labels) if name.startswith(incomplete)]


def _content(ctx: typer.Context, part: str, inner: str) -> list[Any]:
    """A list from the model's JSON; empty if it cannot be read, since completion cannot show errors."""
    model = ctx.params.get("model") or next(iter(ctx.args), "")  # an option without its value leaves all arguments unparsed
    try:
        found = json.loads(Path(model).read_text(encoding="utf-8"))[part][inner]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return list(found)
