"""What the shell can offer behind an option: the features and the classes of the model that stands before it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer


def features(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of features; behind a comma the next one."""
    held, comma, _ = incomplete.rpartition(",")
    names = [one[1] for one in _content(ctx, "schema", "features")]
    return [f"{held}{comma}{name}" for name in names if f"{held}{comma}{name}".startswith(incomplete)]


def classes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of classes."""
    return [name for name in map(str, _content(ctx, "tree", "classes")) if name.startswith(incomplete)]


def _content(ctx: typer.Context, part: str, inner: str) -> list[Any]:
    """A list out of the model's JSON; nothing where there is none, since a shell that waits is told no mistakes."""
    model = ctx.params.get("model") or next(iter(ctx.args), "")  # an option without its value yet leaves all words unread
    try:
        found = json.loads(Path(model).read_text(encoding="utf-8"))[part][inner]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return list(found)
