"""The session that answers the page's requests; arguments and results are values that JSON can represent."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterleaf.answer.explanation import Explanation
from counterleaf.core.stopping import has_ended, raise_if_stopped
from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.explorer.session.answers.conflict import broken_rules, find_conflict
from counterleaf.explorer.session.answers.describe import describe_row, describe_scene, imputed, list_scene
from counterleaf.explorer.session.answers.front import MAX_POINTS, describe_front
from counterleaf.explorer.session.answers.goals import Goal, describe_reach, read_goal
from counterleaf.explorer.session.answers.measures import describe_measure
from counterleaf.explorer.session.answers.ways import (
    describe_ways,
    write_already,
    write_failure,
    write_fewer,
    write_proof,
    write_sentence,
)
from counterleaf.explorer.session.bundled import bundled_scenes, mnist_scene
from counterleaf.explorer.session.drawings.image import draw_image
from counterleaf.explorer.session.drawings.plane import draw_plane
from counterleaf.explorer.session.drawings.tree import draw_tree, every_prediction
from counterleaf.explorer.session.question import ExportRequest, PlaneRequest, Question, StrictModel
from counterleaf.explorer.session.receipts.files import write_file
from counterleaf.explorer.session.receipts.step import Step
from counterleaf.explorer.session.rows.verbs import RowVerbs
from counterleaf.explorer.session.scene import Scene, SceneSource
from counterleaf.explorer.session.settings import (
    Setting,
    apply_steps_and_ranges,
    list_settings,
    make_cost,
)
from counterleaf.explorer.session.user_model import user_scene
from counterleaf.proof.certificate import Status
from counterleaf.proof.walk import InterruptedCheckError, interruptible
from counterleaf.question.constraints.several import max_changes

_CACHE_SIZE = 32  # explainers with other steps or bounds, and costs
_CHECK_TIME = 5.0  # seconds for the check of a proof, within the grace of a request
_MAX_NODES = 200_000  # of one search: a bound on memory that a search of seconds never reaches


def open_session(arguments: dict[str, Any]) -> Session:
    """Open the data sets that the command line names."""
    named = ("model", "data", "mnist", "constraints")
    model, data, folder, rules = (None if arguments.get(key) is None else Path(arguments[key]) for key in named)
    shape = arguments.get("shape")
    if model is None:
        for option, value in (("--data", data), ("--shape", shape), ("--constraints", rules)):
            if value is not None:
                raise CounterleafError(f"{option} needs a model; pass the model's JSON file as the first argument")
        scenes: list[Scene | SceneSource] = [*bundled_scenes(arguments.get("row"))]
        scenes += [] if folder is None else [mnist_scene(folder)]
    elif folder is not None:
        raise CounterleafError(
            "--mnist adds a scene to the bundled ones and cannot be combined with a model; remove one of them"
        )
    else:
        size = None if shape is None else (int(shape[0]), int(shape[1]))
        scenes = [user_scene(model, data, int(arguments.get("row") or 0), size, rules)]
    return Session(scenes, float(arguments.get("time_limit") or 2.0))


Verb = Callable[[dict[str, Any]], Any]


def _asks(request: type[StrictModel], answer: Callable[[Any], Any]) -> Verb:
    """A verb whose arguments are a request of this type."""
    return lambda arguments: answer(request.model_validate(arguments))


@dataclass(frozen=True, slots=True, eq=False)
class ReadQuestion:
    """A question in the terms of the library: the row, the goal, the arguments of a search, and the settings."""

    values: dict[str, Any]
    goal: Goal
    arguments: dict[str, Any]  # target, cost, constraints, margin and limits
    settings: list[Setting]


class Session:
    """Some data sets, and the answers to questions about them, one request at a time."""

    def __init__(self, scenes: Sequence[Scene | SceneSource], time_limit: float) -> None:
        self.scenes: dict[str, Scene | SceneSource] = {scene.key: scene for scene in scenes}
        self.time_limit = time_limit
        self._costs: OrderedDict[Any, Any] = OrderedDict()
        self._explainers: OrderedDict[Any, Explainer] = OrderedDict()
        self._descriptions: dict[str, dict[str, Any]] = {}
        self._last: tuple[Question, Explanation] | None = None  # the last answer, whose proof can be checked
        self._verbs: dict[str, Verb] = {
            "scenes": lambda arguments: [list_scene(scene) for scene in self.scenes.values()],
            "scene": self._scene,
            "row": lambda arguments: describe_row(self.scene(arguments["scene"]), arguments["row"]),
            "find": self._find,
            "answer": _asks(Question, self._answer),
            "front": _asks(Question, self._front),
            "tree": _asks(Question, self._tree),
            "plane": _asks(PlaneRequest, self._plane),
            "check": _asks(Question, self._check),
            "export": _asks(ExportRequest, self._export),
            **RowVerbs(self).verbs,
        }

    def handle(self, verb: str, arguments: dict[str, Any]) -> Any:
        """Answer one request; a mistake in it raises a CounterleafError."""
        return self._verbs[verb](arguments)

    def add(self, scene: Scene) -> None:
        """Add a data set, or replace the one with the same key."""
        self.remove(scene.key)
        self.scenes[scene.key] = scene

    def remove(self, key: str) -> None:
        """Remove a data set, if there is one with this key, and everything that is known about it."""
        self.scenes.pop(key, None)
        self._descriptions.pop(key, None)
        self._last = None
        for cache in (self._costs, self._explainers):
            for one in [one for one in cache if one[0] == key]:
                del cache[one]

    def scene(self, key: str) -> Scene:
        """The data set with a key; it is loaded first if need be."""
        if key not in self.scenes:
            raise CounterleafError(f"no scene {key!r}; expected one of {', '.join(self.scenes)}")
        found = self.scenes[key]
        if isinstance(found, SceneSource):
            found = self.scenes[key] = found.load()
        return found

    def _scene(self, arguments: dict[str, Any]) -> dict[str, Any]:
        key = arguments["scene"]
        if key not in self._descriptions:
            self._descriptions[key] = describe_scene(self.scene(key))
        return self._descriptions[key]

    def _find(self, arguments: dict[str, Any]) -> dict[str, Any]:
        scene, direction = self.scene(arguments["scene"]), 1 if arguments["direction"] >= 0 else -1
        row = scene.find(min(arguments["start"], scene.n_rows - 1), direction, arguments["label"])
        return {"row": None} if row is None else describe_row(scene, row)

    def explain(self, question: Question, **overrides: Any) -> tuple[Explanation, list[Setting]]:
        """The explanation and the settings of a question; ``overrides`` replace arguments of ``Explainer.explain``."""
        posed = self.posed(question)
        return self._explain(question, posed, **overrides), posed.settings

    def _explain(self, question: Question, posed: ReadQuestion, **overrides: Any) -> Explanation:
        # two images that differ in one pixel look the same
        distinct = "features" if self.scene(question.scene).shape is None else "leaves"
        more = {"count": question.count, "distinct": distinct, **overrides}
        answer = self.explainer(question).explain(posed.values, **{**posed.arguments, **more})
        raise_if_stopped()  # a stopped search ends like one that reached its time limit
        return answer

    def explainer(self, question: Question) -> Explainer:
        """The explainer with the steps and ranges of a question."""
        base = self.scene(question.scene).explainer
        made: Explainer = _cached(self._explainers, _bounds_key(question), lambda: apply_steps_and_ranges(base, question))
        return made

    def posed(self, question: Question) -> ReadQuestion:
        """A question in the terms of the library."""
        scene = self.scene(question.scene)
        settings = list_settings(scene, question)
        values = scene.values(question.row, question.edits)
        goal = read_goal(scene, question, values)
        arguments = {
            "target": goal.target,
            "cost": _cached(self._costs, _cost_key(question), lambda: make_cost(scene, question)),
            "constraints": [setting.constraint for setting in settings if setting.constraint is not None],
            "margin": question.margin,
            "time_limit": self.time_limit,
            "max_nodes": _MAX_NODES,
        }
        return ReadQuestion(values, goal, arguments, settings)

    def _answer(self, question: Question) -> dict[str, Any]:
        return self._answered(question)[1]

    def _answered(self, question: Question) -> tuple[Explanation, dict[str, Any]]:
        """The explanation of a question, and the answer as the page reads it."""
        scene, start = self.scene(question.scene), time.perf_counter()
        posed = self.posed(question)
        answer = self._explain(question, posed)
        stopped_after = self._stopped_after(answer, start)
        conflict = self._conflict(question, answer, posed.settings)
        self._last = question, answer
        source, ways = describe_ways(scene, question, answer)
        already = write_already(answer, source, lambda: self._broken(question, posed.settings))
        if ways:
            found = write_sentence(scene, answer, source, ways, already)
        else:
            found = write_failure(answer, posed.goal, stopped_after, bool(conflict), already)
        out: dict[str, Any] = {
            "status": str(answer.status),
            "source": source,
            "goal": posed.goal.describe(),
            "sentence": found,
            "already": already,
            "ways": ways,
            "fewer": write_fewer(scene, answer, question.count),
            "conflict": [
                {"description": setting.description, "kind": setting.kind, "feature": setting.feature} for setting in conflict
            ],
            "reach": None if ways or conflict else describe_reach(scene, posed.goal),
            "settings": [setting.description for setting in posed.settings],
            "imputed": imputed(scene, posed.values),
            "proof": write_proof(answer, ways, stopped_after),
            "measure": describe_measure(question),
            "stopped_after": stopped_after,
        }
        if scene.shape is not None:
            out["image"] = draw_image(answer)
        out["milliseconds"] = round(1e3 * (time.perf_counter() - start), 2)
        return answer, out

    def _stopped_after(self, answer: Explanation, start: float) -> float | None:
        """The time limit in seconds if it ended the search, otherwise None."""
        reached = time.perf_counter() - start >= 0.9 * self.time_limit
        return self.time_limit if answer.status is Status.LIMIT and reached else None

    def _conflict(self, question: Question, answer: Explanation, settings: list[Setting]) -> list[Setting]:
        return find_conflict(self.explain, self.scene(question.scene).explainer, question, answer, settings)

    def _broken(self, question: Question, settings: list[Setting]) -> list[str]:
        return [setting.required or "" for setting in broken_rules(self.explain, question, settings)]

    def _front(self, question: Question) -> dict[str, Any]:
        """The front without a limit on the number of changes, in about twice the time of an answer."""
        question = question.model_copy(update={"max_changes": None})
        scene, start = self.scene(question.scene), time.perf_counter()
        best, _ = self.explain(question, count=1)
        if scene.shape is not None or not len(best):
            return {"points": [], "stopped_after": self._stopped_after(best, start)}
        posed = self.posed(question)
        values, arguments = posed.values, dict(posed.arguments)
        n_changes = len(best[0].changes)
        if n_changes > MAX_POINTS:
            arguments["constraints"] = [*arguments["constraints"], max_changes(MAX_POINTS)]
        arguments["time_limit"] = self.time_limit / (1 + min(n_changes, MAX_POINTS))
        front = self.explainer(question).explain_front(values, **arguments)
        raise_if_stopped()
        stopped = self.time_limit if front.status is Status.LIMIT else None
        return describe_front(scene, question, front, best, stopped)

    def _tree(self, question: Question) -> dict[str, Any]:
        scene = self.scene(question.scene)
        answer, _ = self.explain(question)
        all_leaves, _ = self.explain(question, count=None, target=every_prediction(scene), distinct="leaves")
        return draw_tree(scene, answer, all_leaves)

    def _plane(self, request: PlaneRequest) -> dict[str, Any]:
        answer, _ = self.explain(request.question)
        return draw_plane(answer, request.x_feature, request.y_feature, request.whole)

    def _check(self, question: Question) -> dict[str, Any]:
        """Check the proof of the last answer, or of a new search for another question; nothing is checked without a proof."""
        last = self._last
        answer = last[1] if last is not None and last[0] == question else self.explain(question)[0]
        if answer.status is Status.LIMIT:
            return {"status": str(answer.status), "holds": None, "n_parts": 0, "milliseconds": 0.0}
        start, n_parts = time.perf_counter(), len(answer.certificate.parts())
        try:
            with interruptible(lambda: has_ended(start + _CHECK_TIME)):
                holds = answer.certificate.check()
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
        if request.kept and len(request.kept) != len(request.questions):
            n_kept, n_questions = len(request.kept), len(request.questions)
            raise CounterleafError(f"kept has {n_kept} options for {n_questions} questions; expected one for each")
        options: dict[str, tuple[Question, list[int]]] = {}  # those that are kept, by question
        for k, question in enumerate(request.questions):
            kept = options.setdefault(question.model_dump_json(), (question, []))[1]
            kept += [request.kept[k]] if request.kept and request.kept[k] not in kept else []
        steps = []
        for question, kept in options.values():
            scene, (answer, reply) = self.scene(question.scene), self._answered(question)
            steps.append(Step(scene, question, answer, reply, self._scene({"scene": question.scene}), tuple(sorted(kept))))
        return write_file(request.format, steps)


def _cached(cache: OrderedDict[Any, Any], key: Any, make: Callable[[], Any]) -> Any:
    """The value of a key, computed unless it is among the most recently used ones."""
    value = cache.pop(key) if key in cache else make()
    cache[key] = value
    while len(cache) > _CACHE_SIZE:
        cache.popitem(last=False)
    return value


def _cost_key(question: Question) -> Any:
    multipliers = [(name, control.multiplier) for name, control in question.controls.items() if control.multiplier != 1.0]
    return question.scene, question.cost, question.spread, tuple(multipliers)


def _bounds_key(question: Question) -> Any:
    return question.scene, tuple(
        (name, control.low, control.high, control.step)
        for name, control in question.controls.items()
        if (control.low, control.high, control.step) != (None, None, None)
    )
