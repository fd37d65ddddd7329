"""Where questions of the page are answered: values that JSON can hold in, such values out."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from counterleaf.answer import text as words
from counterleaf.answer.explanation import Explanation
from counterleaf.core.stopping import raise_if_stopped
from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.explorer import drawing, writing
from counterleaf.explorer.bundled import bundled, mnist
from counterleaf.explorer.own import own
from counterleaf.explorer.question import ExportQuestion, PlaneQuestion, Question
from counterleaf.explorer.scene import Scene, code
from counterleaf.explorer.wishes import Wish, cost_of, reshaped, spoken, wishes, within
from counterleaf.explorer.writing import nothing
from counterleaf.proof.certificate import Status
from counterleaf.table.features import Numeric

_REMEMBERED = 32  # explainers with steps or wider bounds, and costs, that are kept ready
_STATES = 200_000  # of one search: a bound on memory, far beyond what seconds allow


def open_desk(arguments: dict[str, Any]) -> Desk:
    """A desk for the scenes that the command line asks for."""
    model, data, folder = (None if arguments.get(key) is None else Path(arguments[key]) for key in ("model", "data", "mnist"))
    shape = arguments.get("shape")
    if model is None:
        for option, given in (("--data", data), ("--shape", shape)):
            if given is not None:
                raise CounterleafError(f"{option} was given without a model; expected the model's JSON before it")
        scenes = bundled(arguments.get("row")) + ([] if folder is None else [mnist(folder)])
    elif folder is not None:
        raise CounterleafError("--mnist was given beside a model, and goes with those that come along: leave one of them out")
    else:
        scenes = [own(model, data, int(arguments.get("row") or 0), None if shape is None else (int(shape[0]), int(shape[1])))]
    return Desk(scenes, float(arguments.get("time_limit") or 2.0))


class Desk:
    """Answers for some scenes, one question at a time."""

    def __init__(self, scenes: list[Scene], time_limit: float) -> None:
        self.scenes = {scene.key: scene for scene in scenes}
        self.time_limit = time_limit
        self._costs: OrderedDict[Any, Any] = OrderedDict()
        self._explainers: OrderedDict[Any, Explainer] = OrderedDict()
        self._verbs: dict[str, Callable[[dict[str, Any]], Any]] = {
            "scenes": lambda given: [_described(scene) for scene in self.scenes.values()],
            "row": self._row,
            "find": self._find,
            "answer": lambda given: self._answer(Question.model_validate(given)),
            "tree": lambda given: self._tree(Question.model_validate(given)),
            "plane": lambda given: self._plane(PlaneQuestion.model_validate(given)),
            "check": lambda given: self._check(Question.model_validate(given)),
            "export": lambda given: self._export(ExportQuestion.model_validate(given)),
        }

    def handle(self, verb: str, given: dict[str, Any]) -> Any:
        """The answer to one request; a mistake in it is a CounterleafError."""
        return self._verbs[verb](given)

    def scene(self, key: str) -> Scene:
        if key not in self.scenes:
            raise CounterleafError(f"no scene {key!r}; there are {', '.join(self.scenes)}")
        return self.scenes[key]

    def _row(self, given: dict[str, Any]) -> dict[str, Any]:
        scene = self.scene(given["scene"])
        values = scene.values(given["row"], {})
        label = scene.label(values)  # a row that cannot be read is told here
        codes = [code(feature, values[feature.name]) for feature in scene.explainer.schema]
        return {"row": given["row"], "label": label, "values": codes}

    def _find(self, given: dict[str, Any]) -> dict[str, Any]:
        scene, way = self.scene(given["scene"]), 1 if given["way"] >= 0 else -1
        found = scene.find(min(given["start"], scene.size - 1), way, given["says"])
        return {"row": None} if found is None else self._row({"scene": given["scene"], "row": found})

    def explain(self, question: Question, **other: Any) -> tuple[Explanation, list[Wish]]:
        """The answer to a question of the page, and what was wished; ``other`` replaces arguments of ``explain``."""
        scene = self.scene(question.scene)
        wished = wishes(scene, question)
        arguments: dict[str, Any] = {
            "target": _target(scene, question),
            "cost": self._kept(self._costs, _cost_key(question), lambda: cost_of(scene, question)),
            "constraints": [wish.constraint for wish in wished if wish.constraint is not None],
            "count": question.count,
            "margin": question.margin,
            "time_limit": self.time_limit,
            "max_nodes": _STATES,
        }
        explainer = self._kept(self._explainers, _shape_key(question), lambda: reshaped(scene.explainer, question))
        answer = explainer.explain(scene.values(question.row, question.edits), **{**arguments, **other})
        raise_if_stopped()  # a search that was stopped ends like one that met its time limit
        return answer, wished

    def _answer(self, question: Question) -> dict[str, Any]:
        scene, start = self.scene(question.scene), time.perf_counter()
        answer, wished = self.explain(question)
        limit = self._limit(answer, start)
        out: dict[str, Any] = {
            "status": str(answer.status),
            "label": str(answer.source_label),
            "sentence": nothing(answer, limit),
            "cells": {},
            "answers": [
                {"cost": told, "label": str(c.label), "confirmed": c.confirmed, "leaf": c.leaf, "changed": len(c.changes)}
                for c, told in zip(answer, words.apart([c.cost for c in answer]), strict=True)
            ]
            if len(answer)
            else [],
            "least": None if not math.isfinite(answer.lower_bound) else words.least_of(answer),
            "wishes": [wish.words for wish in wished],
            "conflict": self._conflict(question, answer, wished),
            "limit": limit,
        }
        if scene.shape is not None:
            out |= {"picture": drawing.picture(scene, answer), "sentence": drawing.sentence(answer, limit)}
        elif len(answer):
            said = words.compose(answer, list(map(spoken, answer.schema.names)), len(answer.schema))
            out |= {"sentence": said.sentence, "cells": _cells(answer, said)}
        out["milliseconds"] = round(1e3 * (time.perf_counter() - start), 2)
        return out

    def _limit(self, answer: Explanation, start: float) -> float | None:
        """The seconds after which a search was stopped; None if it was not, or not by the clock."""
        used = time.perf_counter() - start >= 0.9 * self.time_limit
        return self.time_limit if answer.status is Status.LIMIT and used else None

    def _conflict(self, question: Question, answer: Explanation, wished: list[Wish]) -> list[dict[str, Any]]:
        """The wishes of which one has to give; margin and steps, which are no constraints, if some row is left without them.

        A range beyond the table widens it: if the rest leaves no row in the table as it was, such a range is not in the way.
        """
        if answer.status is not Status.INFEASIBLE:
            return []
        found = [wish for wish in wished if any(wish.constraint is one for one in answer.conflict)]
        held = [wish.constraint for wish in found]
        inside = within(self.scene(question.scene).explainer, question)
        widened = {name for name, control in question.controls.items() if inside.controls[name] != control}
        rest = [wish for wish in found if wish.part != "range" or wish.feature not in widened]
        if len(rest) < len(found):
            left = [wish.constraint for wish in rest]
            if self.explain(inside, count=1, constraints=left)[0].status is Status.INFEASIBLE:
                found = rest
            if not found:
                return self._conflict(inside, *self.explain(inside, count=1))
        for wish in wished:
            if wish.part not in ("margin", "step"):
                continue
            eased = _without(question, wish)
            if len(self.explain(eased, count=1, constraints=held)[0]):
                found.append(wish)
            else:
                question = eased  # the others rule everything out without it
        return [{"words": wish.words, "part": wish.part, "feature": wish.feature} for wish in wished if wish in found]

    def _tree(self, question: Question) -> dict[str, Any]:
        scene = self.scene(question.scene)
        answer, _ = self.explain(question)
        every, _ = self.explain(question, count=None, target=scene.explainer.tree.classes.tolist())
        return drawing.tree(scene, answer, every)

    def _plane(self, given: PlaneQuestion) -> dict[str, Any]:
        answer, _ = self.explain(given.question)
        return drawing.plane(answer, given.across, given.up)

    def _check(self, question: Question) -> dict[str, Any]:
        answer, _ = self.explain(question)
        start = time.perf_counter()
        holds = answer.status is not Status.LIMIT and answer.certificate.check()
        return {
            "status": str(answer.status),
            "holds": holds,
            "parts": len(answer.certificate.parts()),
            "milliseconds": round(1e3 * (time.perf_counter() - start), 2),
        }

    def _export(self, given: ExportQuestion) -> dict[str, Any]:
        steps = []
        for question in given.questions:
            start = time.perf_counter()
            answer, wished = self.explain(question)
            limit, told = self._limit(answer, start), [wish.words for wish in wished]
            way = [one["words"] for one in self._conflict(question, answer, wished)]
            steps.append(writing.Step(self.scene(question.scene), question, answer, told, way, limit))
        return writing.export(given.format, steps)

    def _kept(self, kept: OrderedDict[Any, Any], key: Any, make: Callable[[], Any]) -> Any:
        """A value made once for a key, among the last few that were used."""
        if key not in kept:
            kept[key] = make()
            while len(kept) > _REMEMBERED:
                kept.popitem(last=False)
        kept.move_to_end(key)
        return kept[key]


def _without(question: Question, wish: Wish) -> Question:
    """The question without a margin or a step."""
    if wish.feature is None:
        return question.model_copy(update={"margin": 0.0})
    control = question.controls[wish.feature].model_copy(update={"step": None})
    return question.model_copy(update={"controls": {**question.controls, wish.feature: control}})


def _described(scene: Scene) -> dict[str, Any]:
    """What the page has to know of a scene."""
    explainer = scene.explainer
    measured = explainer.spreads is not None
    return {
        "key": scene.key,
        "title": scene.title,
        "about": scene.about,
        "rows": scene.size,
        "given": scene.rows is not None,
        "row": scene.first,
        "target": [] if scene.target is None else [scene.target],
        "classes": [str(label) for label in explainer.tree.classes.tolist()],
        "spreads": ["range", "std", "mad", "none"] if measured else ["none"],
        "costs": list(scene.costs),
        "locked": list(scene.locked),
        "shape": scene.shape,
        "leaves": len(explainer.tree.leaves),
        "features": [_feature(feature) for feature in explainer.schema],
    }


def _feature(feature: Any) -> dict[str, Any]:
    if isinstance(feature, Numeric):
        ends = [end if math.isfinite(end) else None for end in (feature.lower, feature.upper)]
        step = None if feature.grid is None else float(feature.grid)
        return {"name": feature.name, "kind": "number", "lower": ends[0], "upper": ends[1], "step": step}
    kind = type(feature).__name__.lower()
    values = [words.word(value) for value in feature.values]
    return {"name": feature.name, "kind": kind, "values": values, "missing": feature.missing}


def _target(scene: Scene, question: Question) -> Any:
    """The classes by their words; None for any but the row's own."""
    by_word = {str(label): label for label in scene.explainer.tree.classes.tolist()}
    unknown = [name for name in question.target if name not in by_word]
    if unknown:
        raise CounterleafError(f"no class {unknown[0]!r} in {scene.title}; expected some of {', '.join(list(by_word)[:12])}")
    return [by_word[name] for name in dict.fromkeys(question.target)] or None


def _cells(answer: Explanation, said: words.Page) -> dict[str, Any]:
    """What becomes of each feature that changes: its value, the new ones, and which way they move."""
    names = answer.schema.names
    return {
        names[d]: {"source": line[1], "to": line[2:], "move": [_sign(move) for move in moves]}
        for d, line, moves in zip(said.places, said.lines, said.moves, strict=True)
    }


def _sign(move: float) -> int | None:
    """Up, down, not at all; None for a change without a direction."""
    return None if math.isnan(move) else int(move > 0) - int(move < 0)


def _cost_key(question: Question) -> Any:
    weights = tuple((name, control.weight) for name, control in question.controls.items() if control.weight != 1.0)
    return question.scene, question.cost, question.spread, weights


def _shape_key(question: Question) -> Any:
    return question.scene, tuple(
        (name, control.low, control.high, control.step)
        for name, control in question.controls.items()
        if (control.low, control.high, control.step) != (None, None, None)
    )
