"""Data sets that the user opens on the page: a model from its JSON, or other rows for a model. The text is not trusted."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from counterleaf.core.stopping import raise_if_stopped
from counterleaf.errors import CounterleafError, brief
from counterleaf.explainer import Explainer
from counterleaf.explorer.session.rows.pasted import check_characters, read_pasted, typical_row
from counterleaf.explorer.session.scene import Scene
from counterleaf.explorer.session.user_model import check_scene
from counterleaf.packed_arrays import limited_memory
from counterleaf.storage.models import model_of
from counterleaf.table.features import Numeric, control_character

MOST_SCENES = 20
_MOST_TITLE = 40  # characters
_MOST_MEMORY = 1 << 28  # bytes of the arrays of a model
_MOST_CLASSES = 1000
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def open_model(name: str, text: str) -> Scene:
    """Read a model from its JSON and return its data set, with one row in the middle of the bounds."""
    shown = _title(name, "the file")
    if _SURROGATE.search(text):
        with suppress(json.JSONDecodeError, RecursionError):  # ``model_of`` reports these
            check_characters(shown, json.loads(text))
    with limited_memory(_MOST_MEMORY):
        loaded = model_of(text, shown)
    raise_if_stopped()
    explainer = loaded if isinstance(loaded, Explainer) else Explainer(loaded)
    raise_if_stopped()
    _check_names(shown, explainer)
    title = _title(PurePath(name).stem, "model")
    key = f"open-{_digest(text)}"
    scene = Scene(key, title, f"What would change the answer of {shown}?", explainer, None)
    check_scene(scene)
    raise_if_stopped()
    return scene


def _check_names(shown: str, explainer: Explainer) -> None:
    """Refuse names that would change how the text around them reads, and more classes than the page can list."""
    classes = explainer.tree.classes.tolist()
    if len(classes) > _MOST_CLASSES:
        raise CounterleafError(
            f"{shown} has {len(classes):,} classes; the page shows at most {_MOST_CLASSES:,}: pass the file to the command"
        )
    names = {"class": classes, "feature": explainer.schema.names}
    names |= {f"value of {f.name!a}": f.values for f in explainer.schema if not isinstance(f, Numeric)}
    for what, texts in names.items():
        wrong = next((text for text in map(str, texts) if control_character(text)), None)
        if wrong is not None:
            raise CounterleafError(
                f"{shown}: the {what} {brief(wrong)} contains the control character {control_character(wrong)!a}; "
                f"expected one line of text"
            )


def open_rows(scene: Scene, name: str, text: str | None) -> tuple[Scene, list[str]]:
    """Return the data set with other rows, and sentences about how they were understood."""
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
