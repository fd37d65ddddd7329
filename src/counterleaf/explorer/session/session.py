"""The session that answers the page's requests; arguments and results are values that JSON can represent."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from counterleaf.answer.explanation import Explanation
from counterleaf.answer.text import Page, apart, compose, least_of, word
from counterleaf.core.stopping import has_ended, raise_if_stopped
from counterleaf.errors import CounterleafError, some
from counterleaf.explainer import Explainer
from counterleaf.explorer.session.bundled import bundled_scenes, mnist_scene
from counterleaf.explorer.session.drawings.image import describe_image, draw_image
from counterleaf.explorer.session.drawings.plane import draw_plane
from counterleaf.explorer.session.drawings.tree import draw_tree
from counterleaf.explorer.session.question import ExportRequest, PlaneRequest, Question
from counterleaf.explorer.session.receipts.report import Step, describe_failure, write_report
from counterleaf.explorer.session.scene import Scene, encode_value
from counterleaf.explorer.session.settings import (
    Setting,
    apply_steps_and_ranges,
    display_name,
    drop_wider_ranges,
    list_settings,
    make_cost,
)
from counterleaf.explorer.session.user_model import user_scene
from counterleaf.proof.certificate import Status
from counterleaf.proof.walk import InterruptedCheckError, interruptible
from counterleaf.table.features import Numeric

_CACHE_SIZE = 32  # explainers with other steps or bounds, and costs
_CHECK_TIME = 5.0  # seconds for the check of a proof, within the grace of a request
_MAX_NODES = 200_000  # of one search: a bound on memory that a search of seconds never reaches


def open_session(arguments: dict[str, Any]) -> Session:
    """Open the scenes that the command line names."""
    named = ("model", "data", "mnist", "constraints")
    model, data, folder, rules = (None if arguments.get(key) is None else Path(arguments[key]) for key in named)
    shape = arguments.get("shape")
    if model is None:
        for option, value in (("--data", data), ("--shape", shape), ("--constraints", rules)):
            if value is not None:
                raise CounterleafError(f"{option} needs a model; pass the model's JSON file as the first argument")
        scenes = bundled_scenes(arguments.get("row")) + ([] if folder is None else [mnist_scene(folder)])
    elif folder is not None:
        raise CounterleafError(
            "--mnist adds a scene to the bundled ones and cannot be combined with a model; remove one of them"
        )
    else:
        size = None if shape is None else (int(shape[0]), int(shape[1]))
        scenes = [user_scene(model, data, int(arguments.get("row") or 0), size, rules)]
    return Session(scenes, float(arguments.get("time_limit") or 2.0))


class Session:
    """Some scenes, and the answers to questions about them, one request at a time."""

    def __init__(self, scenes: list[Scene], time_limit: float) -> None:
        self.scenes = {scene.key: scene for scene in scenes}
        self.time_limit = time_limit
        self._costs: OrderedDict[Any, Any] = OrderedDict()
        self._explainers: OrderedDict[Any, Explainer] = OrderedDict()
        self._verbs: dict[str, Callable[[dict[str, Any]], Any]] = {
            "scenes": lambda arguments: [_describe_scene(scene) for scene in self.scenes.values()],
            "row": self._row,
            "find": self._find,
            "answer": lambda arguments: self._answer(Question.model_validate(arguments)),
            "tree": lambda arguments: self._tree(Question.model_validate(arguments)),
            "plane": lambda arguments: self._plane(PlaneRequest.model_validate(arguments)),
            "check": lambda arguments: self._check(Question.model_validate(arguments)),
            "export": lambda arguments: self._export(ExportRequest.model_validate(arguments)),
        }

    def handle(self, verb: str, arguments: dict[str, Any]) -> Any:
        """Answer one request; a mistake in it raises a CounterleafError."""
        return self._verbs[verb](arguments)

    def scene(self, key: str) -> Scene:
        if key not in self.scenes:
            raise CounterleafError(f"no scene {key!r}; expected one of {', '.join(self.scenes)}")
        return self.scenes[key]

    def _row(self, arguments: dict[str, Any]) -> dict[str, Any]:
        scene = self.scene(arguments["scene"])
        values = scene.values(arguments["row"], {})
        label = scene.predict(values)  # raises for an invalid row
        codes = [encode_value(feature, values[feature.name]) for feature in scene.explainer.schema]
        return {"row": arguments["row"], "label": label, "values": codes}

    def _find(self, arguments: dict[str, Any]) -> dict[str, Any]:
        scene, direction = self.scene(arguments["scene"]), 1 if arguments["direction"] >= 0 else -1
        row = scene.find(min(arguments["start"], scene.n_rows - 1), direction, arguments["label"])
        return {"row": None} if row is None else self._row({"scene": arguments["scene"], "row": row})

    def explain(self, question: Question, **overrides: Any) -> tuple[Explanation, list[Setting]]:
        """The explanation and the settings of a question; ``overrides`` replace arguments of ``Explainer.explain``."""
        scene = self.scene(question.scene)
        settings = list_settings(scene, question)
        arguments: dict[str, Any] = {
            "target": _target(scene, question),
            "cost": _cached(self._costs, _cost_key(question), lambda: make_cost(scene, question)),
            "constraints": [setting.constraint for setting in settings if setting.constraint is not None],
            "count": question.count,
            "distinct": "leaves",
            "margin": question.margin,
            "time_limit": self.time_limit,
            "max_nodes": _MAX_NODES,
        }
        explainer = _cached(self._explainers, _bounds_key(question), lambda: apply_steps_and_ranges(scene.explainer, question))
        answer = explainer.explain(scene.values(question.row, question.edits), **{**arguments, **overrides})
        raise_if_stopped()  # a stopped search ends like one that reached its time limit
        return answer, settings

    def _answer(self, question: Question) -> dict[str, Any]:
        scene, start = self.scene(question.scene), time.perf_counter()
        answer, settings = self.explain(question)
        stopped_after = self._stopped_after(answer, start)
        costs = apart([c.cost for c in answer]) if len(answer) else []
        out: dict[str, Any] = {
            "status": str(answer.status),
            "source_label": str(answer.source_label),
            "sentence": describe_failure(answer, stopped_after),
            "changes": {},
            "answers": [
                {"cost": cost, "label": str(c.label), "confirmed": c.confirmed, "leaf": c.leaf, "n_changes": len(c.changes)}
                for c, cost in zip(answer, costs, strict=True)
            ],
            "lower_bound": None if not math.isfinite(answer.lower_bound) else least_of(answer),
            "settings": [setting.description for setting in settings],
            "conflict": [
                {"description": setting.description, "kind": setting.kind, "feature": setting.feature}
                for setting in self._conflict(question, answer, settings)
            ],
            "stopped_after": stopped_after,
        }
        if scene.shape is not None:
            out |= {"image": draw_image(answer), "sentence": describe_image(answer, stopped_after)}
        elif len(answer):
            page = compose(answer, list(map(display_name, answer.schema.names)), len(answer.schema))
            out |= {"sentence": page.sentence, "changes": _describe_changes(answer, page)}
        out["milliseconds"] = round(1e3 * (time.perf_counter() - start), 2)
        return out

    def _stopped_after(self, answer: Explanation, start: float) -> float | None:
        """The time limit in seconds if it ended the search, otherwise None."""
        reached = time.perf_counter() - start >= 0.9 * self.time_limit
        return self.time_limit if answer.status is Status.LIMIT and reached else None

    def _conflict(self, question: Question, answer: Explanation, settings: list[Setting]) -> list[Setting]:
        """A smallest set of settings that rules out every row; a margin or a step is included if a row exists without it.

        A range wider than the data's range extends the bounds of its feature. If the other settings rule out every row within
        the data's ranges, such a range is not part of the conflict.
        """
        if answer.status is not Status.INFEASIBLE:
            return []
        found = [setting for setting in settings if any(setting.constraint is one for one in answer.conflict)]
        constraints = [setting.constraint for setting in found]
        narrower = drop_wider_ranges(self.scene(question.scene).explainer, question)
        widened = {name for name, control in question.controls.items() if narrower.controls[name] != control}
        rest = [setting for setting in found if setting.kind != "range" or setting.feature not in widened]
        if len(rest) < len(found):
            others = [setting.constraint for setting in rest]
            if self.explain(narrower, count=1, constraints=others)[0].status is Status.INFEASIBLE:
                found = rest
            if not found:
                return self._conflict(narrower, *self.explain(narrower, count=1))
        for setting in settings:
            if setting.kind not in ("margin", "step"):
                continue
            relaxed = _without(question, setting)
            if len(self.explain(relaxed, count=1, constraints=constraints)[0]):
                found.append(setting)
            else:
                question = relaxed  # the other settings rule out every row without it
        return [setting for setting in settings if setting in found]

    def _tree(self, question: Question) -> dict[str, Any]:
        scene = self.scene(question.scene)
        answer, _ = self.explain(question)
        all_leaves, _ = self.explain(question, count=None, target=scene.explainer.tree.classes.tolist())
        return draw_tree(scene, answer, all_leaves)

    def _plane(self, request: PlaneRequest) -> dict[str, Any]:
        answer, _ = self.explain(request.question)
        return draw_plane(answer, request.x_feature, request.y_feature)

    def _check(self, question: Question) -> dict[str, Any]:
        answer, _ = self.explain(question)
        start, n_parts = time.perf_counter(), len(answer.certificate.parts())
        try:
            with interruptible(lambda: has_ended(start + _CHECK_TIME)):
                holds = answer.status is not Status.LIMIT and answer.certificate.check()
        except InterruptedCheckError:
            raise CounterleafError(
                f"the check of the proof takes longer than {_CHECK_TIME:g} s; "
                f"export the answer as JSON and run counterleaf verify"
            ) from None
        return {
            "status": str(answer.status),
            "holds": holds,
            "n_parts": n_parts,
            "milliseconds": round(1e3 * (time.perf_counter() - start), 2),
        }

    def _export(self, request: ExportRequest) -> dict[str, Any]:
        steps = []
        for question in request.questions:
            start = time.perf_counter()
            answer, settings = self.explain(question)
            stopped_after = self._stopped_after(answer, start)
            conflict = [setting.description for setting in self._conflict(question, answer, settings)]
            descriptions = [setting.description for setting in settings]
            steps.append(Step(self.scene(question.scene), question, answer, descriptions, conflict, stopped_after))
        return write_report(request.format, steps)


def _cached(cache: OrderedDict[Any, Any], key: Any, make: Callable[[], Any]) -> Any:
    """The value of a key, computed unless it is among the most recently used ones."""
    value = cache.pop(key) if key in cache else make()
    cache[key] = value
    while len(cache) > _CACHE_SIZE:
        cache.popitem(last=False)
    return value


def _without(question: Question, setting: Setting) -> Question:
    """The question without its margin or without one of its steps."""
    if setting.feature is None:
        return question.model_copy(update={"margin": 0.0})
    control = question.controls[setting.feature].model_copy(update={"step": None})
    return question.model_copy(update={"controls": {**question.controls, setting.feature: control}})


def _describe_scene(scene: Scene) -> dict[str, Any]:
    """The properties of a scene that the page needs."""
    explainer = scene.explainer
    has_spreads = explainer.spreads is not None
    return {
        "key": scene.key,
        "title": scene.title,
        "about": scene.about,
        "n_rows": scene.n_rows,
        "has_table": scene.rows is not None,
        "first_row": scene.first_row,
        "target": [] if scene.target is None else [scene.target],
        "classes": [str(label) for label in explainer.tree.classes.tolist()],
        "spreads": ["range", "std", "mad", "none"] if has_spreads else ["none"],
        "costs": list(scene.costs),
        "locked_features": list(scene.locked_features),
        "shape": scene.shape,
        "n_leaves": int((explainer.tree.left < 0).sum()),
        "features": [_describe_feature(feature) for feature in explainer.schema],
    }


def _describe_feature(feature: Any) -> dict[str, Any]:
    if isinstance(feature, Numeric):
        ends = [end if math.isfinite(end) else None for end in (feature.lower, feature.upper)]
        step = None if feature.grid is None else float(feature.grid)
        return {"name": feature.name, "kind": "number", "lower": ends[0], "upper": ends[1], "step": step}
    kind = type(feature).__name__.lower()
    values = [word(value) for value in feature.values]
    return {"name": feature.name, "kind": kind, "values": values, "missing": feature.missing}


def _target(scene: Scene, question: Question) -> Any:
    """The target classes by their labels; None for any class but the row's."""
    by_label = {str(label): label for label in scene.explainer.tree.classes.tolist()}
    unknown = [name for name in question.target if name not in by_label]
    if unknown:
        raise CounterleafError(f"no class {unknown[0]!r} in {scene.title}; expected one of {some(by_label)}")
    return [by_label[name] for name in dict.fromkeys(question.target)] or None


def _describe_changes(answer: Explanation, page: Page) -> dict[str, Any]:
    """For each feature that changes: the source value, the values of the alternatives, and their directions."""
    names = answer.schema.names
    return {
        names[d]: {"source": texts[1], "to": texts[2:], "direction": [_sign(move) for move in moves]}
        for d, texts, moves in zip(page.places, page.lines, page.moves, strict=True)
    }


def _sign(move: float) -> int | None:
    """1 for an increase, -1 for a decrease, 0 for no change; None for a change without a direction."""
    return None if math.isnan(move) else int(move > 0) - int(move < 0)


def _cost_key(question: Question) -> Any:
    multipliers = [(name, control.multiplier) for name, control in question.controls.items() if control.multiplier != 1.0]
    return question.scene, question.cost, question.spread, tuple(multipliers)


def _bounds_key(question: Question) -> Any:
    return question.scene, tuple(
        (name, control.low, control.high, control.step)
        for name, control in question.controls.items()
        if (control.low, control.high, control.step) != (None, None, None)
    )
