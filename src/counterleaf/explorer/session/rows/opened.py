"""Scenes that the user opens on the page: a model from its JSON, or other rows for a model. The text is not trusted."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from counterleaf.core.stopping import raise_if_stopped
from counterleaf.explainer import Explainer
from counterleaf.explorer.session.rows.pasted import read_pasted, typical_row
from counterleaf.explorer.session.scene import Scene
from counterleaf.storage.models import model_of

MOST_SCENES = 20
_MOST_TITLE = 40  # characters


def open_model(name: str, text: str) -> Scene:
    """Read a model from its JSON and return its scene, with one row in the middle of the bounds."""
    shown = _title(name, "the file")
    loaded = model_of(text, shown)
    explainer = loaded if isinstance(loaded, Explainer) else Explainer(loaded)
    title = _title(PurePath(name).stem, "model")
    key = f"open-{_digest(text)}"
    scene = Scene(key, title, f"What would change the answer of {shown}?", explainer, None)
    scene.predict(scene.values(0, {}))  # raises now for a model that cannot predict
    raise_if_stopped()
    return scene


def open_rows(scene: Scene, name: str, text: str | None) -> tuple[Scene, list[str]]:
    """Return the scene with other rows, and sentences about how they were understood."""
    schema = scene.explainer.schema
    if text is None:
        rows, notes = typical_row(scene.rows, schema), ["1 row with typical values; edit them in the table of features."]
        title = f"{scene.title}: new row"
    else:
        pasted = read_pasted(_title(name, "the text"), text, schema)
        rows, notes = pasted.rows, list(pasted.notes)
        title = f"{scene.title}: {_title(PurePath(name).stem, 'pasted rows')}"
    raise_if_stopped()
    key = f"rows-{_digest(scene.key, title, text or '')}"
    return replace(scene, key=key, title=title, rows=rows, first_row=0), notes


def _title(name: str, otherwise: str) -> str:
    line = "".join(letter if letter.isprintable() else " " for letter in name)
    line = " ".join(line.split())
    if not line:
        return otherwise
    return line if len(line) <= _MOST_TITLE else f"{line[: _MOST_TITLE - 3]}..."


def _digest(*parts: Any) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:10]
