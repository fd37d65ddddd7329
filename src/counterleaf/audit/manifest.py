"""The manifest of an audit: the question, the model and the inputs, whose hash identifies the run."""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

from counterleaf import __version__
from counterleaf.audit.files import open_file, write_whole
from counterleaf.audit.folder import Folder, open_folder
from counterleaf.audit.inputs import CSV, JSON, PARQUET, Input
from counterleaf.audit.plan import Part, Plan
from counterleaf.audit.reading.source import Form, Span
from counterleaf.errors import CounterleafError, brief, flat
from counterleaf.explainer import Explainer
from counterleaf.question.question import Question
from counterleaf.strict_json import loads

_FORMAT, _VERSION = "counterleaf-audit", 2
_LONGEST = 1 << 29  # characters of a manifest
_SPAN = ("row", "rows", "begin", "end", "skip")


@dataclass(frozen=True, slots=True)
class Settings:
    """What is written in addition to the answers: columns that are kept, changes in words, and proofs."""

    keep: tuple[str, ...] = ()
    words: bool = False
    proofs: bool = False


@dataclass(frozen=True)
class Manifest:
    """An audit as its manifest describes it."""

    question: Question
    words: tuple[str, ...]  # the question, with the cost of the explainer if it has none
    model: str  # the hash of the explainer's JSON
    plan: Plan
    settings: Settings
    created: str  # date and time of the first start
    versions: dict[str, str]  # of the libraries at that time

    @functools.cached_property
    def run(self) -> str:
        """The hash of all that the answers depend on."""
        content = {
            "question": _json(self.question),
            "model": self.model,
            "inputs": [{**one, "path": None} for one in _inputs_out(self.plan)],
            "part_rows": self.plan.part_rows,
            "settings": asdict(self.settings),
            "version": _VERSION,
        }
        return _hash(content)

    @property
    def arguments(self) -> dict[str, Any]:
        """The question as an argument of ``Explainer.arrow``."""
        return {"question": self.question}

    def difference(self, other: Manifest) -> str:
        """Return what the answers depend on and differs between two audits, "" if nothing does."""
        mine, others = ([(one.bytes, one.fingerprint) for one in plan.inputs] for plan in (self.plan, other.plan))
        pairs = {
            "another model": (self.model, other.model),
            "another question": (self.question, other.question),
            "another part size": (self.plan.part_rows, other.plan.part_rows),
            "other columns to keep": (self.settings.keep, other.settings.keep),
            "another choice of --words": (self.settings.words, other.settings.words),
            "another choice of --proofs": (self.settings.proofs, other.settings.proofs),
            "other input files": (mine, others),
        }
        return next((what for what, (one, two) in pairs.items() if one != two), "")


def _json(question: Question) -> Any:
    return json.loads(question.to_json())


def describe(explainer: Explainer, model: str, question: Question, plan: Plan, settings: Settings) -> Manifest:
    """Return the manifest of a new audit; ``model`` is the JSON of the explainer."""
    versions = {"counterleaf": __version__, "python": platform.python_version()}
    versions |= {name: metadata.version(name) for name in ("numpy", "pyarrow")}
    return Manifest(
        question,
        question.words(explainer.default_cost),
        digest(model),
        plan,
        settings,
        datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        versions,
    )


def digest(model: str) -> str:
    """Return the hash of an explainer's JSON."""
    return hashlib.sha256(model.encode()).hexdigest()


def write_manifest(folder: Folder, manifest: Manifest, model: str) -> None:
    """Write the model, then the manifest, each atomically."""
    plan = manifest.plan
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "run": manifest.run,
        "created": manifest.created,
        "versions": manifest.versions,
        "question": _json(manifest.question),
        "words": list(manifest.words),
        "model": {"file": folder.model.name, "sha256": manifest.model},
        "settings": asdict(manifest.settings),
        "rows": plan.rows,
        "parts": len(plan.parts),
        "part_rows": plan.part_rows,
        "inputs": _inputs_out(plan),
    }
    content["sha256"] = _seal(content)
    for path, text in ((folder.model, model), (folder.manifest, json.dumps(content, indent=1))):
        write_whole(path, text.encode())


def _seal(content: dict[str, Any]) -> str:
    """Return the hash of a manifest but for the paths, since files may move, and the date."""
    inputs = [{**one, "path": None} for one in content["inputs"]]
    return _hash({**content, "inputs": inputs, "created": None, "sha256": None})


def _hash(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _inputs_out(plan: Plan) -> list[dict[str, Any]]:
    spans: list[list[list[int]]] = [[] for _ in plan.inputs]
    for part in plan.parts:
        spans[part.file].append([getattr(part.span, name) for name in _SPAN])
    return [
        {**asdict(source), "rows": sum(span[1] for span in parts), "form": asdict(form), "parts": parts}
        for source, form, parts in zip(plan.inputs, plan.forms, spans, strict=True)
    ]


def read_manifest(folder: Folder | Any) -> Manifest:
    """Read the manifest of a folder, which may hold anything."""
    folder = folder if isinstance(folder, Folder) else open_folder(folder)
    path = folder.manifest
    with open_file(path) as file:
        text = file.read(_LONGEST + 1)
    if len(text) > _LONGEST:
        raise CounterleafError(f"{path} has more than {_LONGEST:,} bytes; expected the manifest of an audit")
    try:
        content = loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise CounterleafError(f"{path} is not valid JSON ({flat(error)[:200]}); expected the manifest of an audit") from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise CounterleafError(f'{path} is not the manifest of an audit: expected an object with "format": "{_FORMAT}"')
    if content.get("version") != _VERSION:
        raise CounterleafError(f"{path} has version {brief(content.get('version'))}; this counterleaf reads version {_VERSION}")
    try:
        manifest = _manifest_in(content)
        intact = manifest.run == content["run"] and manifest.plan.rows == content["rows"]
        intact = intact and _seal(content) == content["sha256"]
    except CounterleafError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise CounterleafError(f"{path} lacks or garbles a part ({type(error).__name__}: {flat(error)[:200]})") from None
    if not intact:
        raise CounterleafError(f"{path} was changed after it was written: its hash differs")
    return manifest


def _manifest_in(content: dict[str, Any]) -> Manifest:
    inputs, forms = [], []
    parts: list[Part] = []
    for k, one in enumerate(content["inputs"]):
        if one["kind"] not in (PARQUET, CSV, JSON):
            raise ValueError(f"an input of kind {brief(one['kind'])}")
        inputs.append(Input(str(one["path"]), one["kind"], _whole(one["bytes"]), str(one["fingerprint"])))
        form = one["form"]
        forms.append(Form(tuple(map(str, form["columns"])), str(form["separator"]), str(form["decimal"])))
        for span in one["parts"]:
            parts.append(Part(len(parts), k, Span(*map(_whole, span))))
    settings = content["settings"]
    return Manifest(
        Question.from_json(json.dumps(dict(content["question"]))),
        tuple(map(str, content["words"])),
        str(content["model"]["sha256"]),
        Plan(tuple(inputs), tuple(forms), tuple(parts), _whole(content["part_rows"])),
        Settings(tuple(map(str, settings["keep"])), bool(settings["words"]), bool(settings["proofs"])),
        str(content["created"]),
        {str(name): str(version) for name, version in content["versions"].items()},
    )


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{brief(value)} is not a whole number from 0")
    return value


def read_explainer(folder: Folder, manifest: Manifest) -> Explainer:
    """Read the explainer of an audit, checked against the manifest."""
    try:
        text = folder.model.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise CounterleafError(f"{folder.model} cannot be read ({flat(error)}); expected the model of the audit") from None
    if digest(text) != manifest.model:
        raise CounterleafError(f"{folder.model} was changed after the audit began: its hash is not that of the manifest")
    return Explainer.from_json(text)
