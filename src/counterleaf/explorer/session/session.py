"""The session that answers the page's requests; arguments and results are values that JSON can represent."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import counterleaf as cl
from counterleaf.core.stopping import has_ended, raise_if_stopped
from counterleaf.explorer.session.answers.describe import describe_row, describe_scene, imputed, list_scene, model_name
from counterleaf.explorer.session.answers.goals import describe_reach
from counterleaf.explorer.session.answers.ways import (
    MAX_POINTS,
    describe_front,
    describe_ways,
    write_already,
    write_failure,
    write_fewer,
    write_proof,
    write_sentence,
)
from counterleaf.explorer.session.drawings.plane import draw_image, draw_plane
from counterleaf.explorer.session.drawings.tree import draw_tree, every_prediction
from counterleaf.explorer.session.opening import MOST_SCENES, bundled_scenes, mnist_scene, open_model, open_rows, user_scene
from counterleaf.explorer.session.question import Posed, Step, describe_measure, find_conflict, pose
from counterleaf.explorer.session.receipts.files import write_file
from counterleaf.explorer.session.requests import (
    REQUESTS,
    ColumnsRequest,
    EffortsRequest,
    ExportRequest,
    GroupsRequest,
    OpenRequest,
    PageQuestion,
    PlaneRequest,
    RowsRequest,
)
from counterleaf.explorer.session.rows.answers import MOST_ROWS, RowAnswers, class_of, columns_of, table_of
from counterleaf.explorer.session.rows.groups import describe_groups
from counterleaf.explorer.session.scene import Scene, SceneSource
from counterleaf.proof.walk import InterruptedCheckError, interruptible

_CHECK_TIME = 5.0  # seconds for the check of a proof, within the grace of a request
_CACHED = 3  # questions whose answers for all rows are kept
_SECONDS = 0.8  # of searches for all rows in one request
_ROW_TIME, _ROW_NODES = 0.5, 20_000  # seconds and nodes of the search for one of all rows


def open_session(arguments: dict[str, Any]) -> Session:
    """Open the data sets that the command line names."""
    named = ("model", "data", "mnist", "constraints")
    model, data, folder, rules = (None if arguments.get(key) is None else Path(arguments[key]) for key in named)
    shape = arguments.get("shape")
    if model is None:
        for option, value in (("--data", data), ("--shape", shape), ("--constraints", rules)):
            if value is not None:
                raise cl.CounterleafError(f"{option} needs a model; pass the model's JSON file as the first argument")
        scenes: list[Scene | SceneSource] = [*bundled_scenes(arguments.get("row"))]
        scenes += [] if folder is None else [mnist_scene(folder)]
    elif folder is not None:
        raise cl.CounterleafError(
            "--mnist adds a scene to the bundled ones and cannot be combined with a model; remove one of them"
        )
    else:
        size = None if shape is None else (int(shape[0]), int(shape[1]))
        scenes = [user_scene(model, data, int(arguments.get("row") or 0), size, rules)]
    return Session(scenes, float(arguments.get("time_limit") or 2.0))


class Session:
    """Some data sets, and the answers to questions about them, one request at a time."""

    def __init__(self, scenes: Sequence[Scene | SceneSource], time_limit: float) -> None:
        self.scenes: dict[str, Scene | SceneSource] = {scene.key: scene for scene in scenes}
        self.time_limit = time_limit
        self._last: tuple[PageQuestion, cl.Explanation] | None = None  # the last answer, whose proof can be checked
        self._row_answers: OrderedDict[tuple[str, str], RowAnswers] = OrderedDict()
        self._opened: dict[str, str] = {}  # the titles of the data sets that the user opened, by key

    def handle(self, verb: str, arguments: Any) -> Any:
        """Answer one request; a mistake in it raises a CounterleafError. The API has validated those with a body already."""
        if isinstance(arguments, dict) and verb in REQUESTS:
            arguments = REQUESTS[verb].model_validate(arguments)
        return getattr(self, f"answer_{verb}")(arguments)

    def scene(self, key: str) -> Scene:
        """The data set with a key; it is loaded first if need be."""
        if key not in self.scenes:
            raise cl.CounterleafError(f"no scene {key!r}; expected one of {', '.join(self.scenes)}")
        found = self.scenes[key]
        if isinstance(found, SceneSource):
            found = self.scenes[key] = found.load()
        return found

    def pose(self, request: PageQuestion) -> Posed:
        """A question of the page in the terms of the library."""
        return pose(self.scene(request.scene), request, self.time_limit)

    def answer_scenes(self, arguments: dict[str, Any]) -> list[dict[str, Any]]:
        return [list_scene(scene) for scene in self.scenes.values()]

    def answer_scene(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return describe_scene(self.scene(arguments["scene"]))

    def answer_row(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return describe_row(self.scene(arguments["scene"]), arguments["row"])

    def answer_find(self, arguments: dict[str, Any]) -> dict[str, Any]:
        scene, direction = self.scene(arguments["scene"]), 1 if arguments["direction"] >= 0 else -1
        row = scene.find(min(arguments["start"], scene.n_rows - 1), direction, arguments["label"])
        return {"row": None} if row is None else describe_row(scene, row)

    def answer_answer(self, request: PageQuestion) -> Mapping[str, Any]:
        return self._step(request).reply

    def _step(self, request: PageQuestion, kept: tuple[int, ...] = ()) -> Step:
        """A question, its explanation, and the answer as the page reads it."""
        start = time.perf_counter()
        posed = self.pose(request)
        scene, answer = posed.scene, posed.explain()
        stopped_after = self._stopped_after(answer, start)
        conflict = find_conflict(posed, answer)
        self._last = request, answer
        source, ways = describe_ways(posed, answer)
        already = write_already(posed, answer, source)
        if ways:
            sentence = write_sentence(scene, answer, source, ways, already)
        else:
            sentence = write_failure(answer, posed.goal.action, stopped_after, bool(conflict), already)
        out: dict[str, Any] = {
            "status": str(answer.status),
            "source": source,
            "goal": posed.goal.describe(),
            "sentence": sentence,
            "already": already,
            "ways": ways,
            "fewer": write_fewer(scene, answer, request.count),
            "conflict": [{"description": one.description, "kind": one.kind, "feature": one.feature} for one in conflict],
            "reach": None if ways or conflict else describe_reach(scene, posed.goal, answer),
            "settings": [setting.description for setting in posed.settings],
            "question": list(answer.words),  # as ``counterleaf verify`` prints it
            "imputed": imputed(scene, posed.values),
            "proof": write_proof(answer, ways, stopped_after),
            "measure": describe_measure(request),
            "stopped_after": stopped_after,
        }
        if scene.shape is not None:
            out["image"] = draw_image(answer)
        out["milliseconds"] = round(1e3 * (time.perf_counter() - start), 2)
        return Step(posed, answer, out, kept)

    def _stopped_after(self, answer: cl.Explanation, start: float) -> float | None:
        """The time limit in seconds if it ended the search, otherwise None."""
        reached = time.perf_counter() - start >= 0.9 * self.time_limit
        return self.time_limit if answer.status is cl.Status.LIMIT and reached else None

    def answer_front(self, request: PageQuestion) -> dict[str, Any]:
        """The front without a limit on the number of changes, in about twice the time of an answer."""
        start, posed = time.perf_counter(), self.pose(request.replace(max_changes=None))
        best = posed.explain(count=1)
        if posed.scene.shape is not None or not len(best):
            return {"points": [], "stopped_after": self._stopped_after(best, start)}
        n_changes, rules = len(best[0].changes), posed.question.constraints
        question = replace(
            posed.question,
            count=1,
            distinct=None,
            constraints=rules if n_changes <= MAX_POINTS else [*rules, cl.max_changes(MAX_POINTS)],
            time_limit=self.time_limit / (1 + min(n_changes, MAX_POINTS)),
        )
        front = posed.explainer.explain_front(posed.values, question)
        raise_if_stopped()
        return describe_front(posed, front, best, self.time_limit if front.status is cl.Status.LIMIT else None)

    def answer_tree(self, request: PageQuestion) -> dict[str, Any]:
        posed = self.pose(request)
        answer = posed.explain()
        return draw_tree(
            posed.scene, answer, posed.explain(count=None, target=every_prediction(posed.scene), distinct="leaves")
        )

    def answer_plane(self, request: PlaneRequest) -> dict[str, Any]:
        return draw_plane(self.pose(request.question).explain(), request.x_feature, request.y_feature, request.whole)

    def answer_check(self, request: PageQuestion) -> dict[str, Any]:
        """Check the proof of the last answer, or of a new search for another question; nothing is checked without a proof."""
        last = self._last
        answer = last[1] if last is not None and last[0] == request else self.pose(request).explain()
        if answer.status is cl.Status.LIMIT:
            return {"status": str(answer.status), "holds": None, "n_parts": 0, "milliseconds": 0.0}
        start, n_parts = time.perf_counter(), len(answer.certificate.parts())
        try:
            with interruptible(lambda: has_ended(start + _CHECK_TIME)):
                holds = answer.certificate.check()
        except InterruptedCheckError:
            raise cl.CounterleafError(
                f"the check of the proof takes longer than {_CHECK_TIME:g} s; "
                f"export the answer as JSON and run counterleaf verify"
            ) from None
        milliseconds = round(1e3 * (time.perf_counter() - start), 2)
        return {"status": str(answer.status), "holds": holds, "n_parts": n_parts, "milliseconds": milliseconds}

    def answer_export(self, request: ExportRequest) -> dict[str, str]:
        if request.kept and len(request.kept) != len(request.questions):
            n_kept, n_questions = len(request.kept), len(request.questions)
            raise cl.CounterleafError(f"kept has {n_kept} options for {n_questions} questions; expected one for each")
        options: dict[str, tuple[PageQuestion, set[int]]] = {}  # those that are kept, by question
        for k, question in enumerate(request.questions):
            options.setdefault(question.model_dump_json(), (question, set()))[1].update(request.kept[k : k + 1])
        steps = [self._step(question, tuple(sorted(kept))) for question, kept in options.values()]
        return write_file(request.format, steps)

    def answer_columns(self, request: ColumnsRequest) -> dict[str, Any]:
        return columns_of(self.scene(request.scene), request.names)

    def _answers(self, request: PageQuestion) -> tuple[Posed, RowAnswers]:
        """A question, and the answers for all rows that are known so far."""
        general = request.replace(edits={}, count=1)
        posed = self.pose(general)
        key = general.replace(row=0).model_dump_json(), str(posed.goal.target)
        if key not in self._row_answers:
            # a tree is much faster if all rows are searched together, without a clock
            seconds = None if posed.explainer.tree.is_one_tree else min(self.time_limit, _ROW_TIME)
            question = replace(posed.question, distinct=None, time_limit=seconds, max_nodes=_ROW_NODES)
            rows = table_of(posed.scene)
            self._row_answers[key] = RowAnswers(posed.explainer, rows, question, class_of(posed.scene, request.target))
        self._row_answers.move_to_end(key)
        while len(self._row_answers) > _CACHED:
            self._row_answers.popitem(last=False)
        return posed, self._row_answers[key]

    def answer_efforts(self, request: EffortsRequest) -> dict[str, Any]:
        _, answers = self._answers(request.question)
        if request.start > answers.n:
            raise cl.CounterleafError(
                f"start is {request.start:,}, but there are {answers.n:,} rows; expected a smaller number"
            )
        if answers.done <= request.start:
            answers.extend(_SECONDS)
        return answers.reply(request.start)

    def answer_groups(self, request: GroupsRequest) -> dict[str, Any]:
        posed, answers = self._answers(request.question)
        posed.scene.explainer.schema.index(request.by)  # raises for an unknown feature
        answers.extend(_SECONDS)
        if answers.done < answers.n:
            return {"done": answers.done, "n_rows": answers.n}
        out = describe_groups(posed, answers, request.by, request.cuts)
        if posed.scene.n_rows > MOST_ROWS:
            out["notes"].insert(0, f"The figures are about the first {MOST_ROWS:,} of {posed.scene.n_rows:,} rows.")
        return out | {"n_rows": answers.n}

    def answer_open(self, request: OpenRequest) -> dict[str, Any]:
        scene = open_model(request.name, request.text)
        article, model = model_name(scene.explainer.tree)
        n_features = len(scene.explainer.schema)
        notes = [
            f"{scene.title}: {article}{model} with {n_features:,} {'feature' if n_features == 1 else 'features'}.",
            "The file has no rows, so the page starts with one in the middle of the ranges. You can open rows for it next.",
        ]
        return self._add(scene, notes)

    def answer_rows(self, request: RowsRequest) -> dict[str, Any]:
        return self._add(*open_rows(self.scene(request.scene), request.name, request.text))

    def _add(self, scene: Scene, notes: list[str]) -> dict[str, Any]:
        """Add a data set, or replace the one with the same key; too many close the one that was opened first."""
        self._remove(scene.key)
        self.scenes[scene.key], self._opened[scene.key] = scene, scene.title
        if len(self._opened) > MOST_SCENES:
            title = self._remove(next(iter(self._opened)))
            notes.append(f"{title} was closed: at most {MOST_SCENES} models and tables can be open.")
        return {"key": scene.key, "notes": notes}

    def _remove(self, key: str) -> str | None:
        self.scenes.pop(key, None)
        self._last = None
        return self._opened.pop(key, None)
