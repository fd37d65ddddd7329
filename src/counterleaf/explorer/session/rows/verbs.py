"""The requests about all rows, and those that open models and rows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Protocol

from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.explorer.session.answers.describe import model_name
from counterleaf.explorer.session.answers.goals import Goal
from counterleaf.explorer.session.answers.measures import is_effort
from counterleaf.explorer.session.question import Question
from counterleaf.explorer.session.rows.answers import MOST_ROWS, RowAnswers
from counterleaf.explorer.session.rows.columns import columns_of, table_of
from counterleaf.explorer.session.rows.groups import Words, audit_of, describe_groups, name_groups
from counterleaf.explorer.session.rows.opened import MOST_SCENES, open_model, open_rows
from counterleaf.explorer.session.rows.requests import (
    ColumnsRequest,
    EffortsRequest,
    GroupsRequest,
    OpenRequest,
    RowsRequest,
)
from counterleaf.explorer.session.scene import Scene
from counterleaf.explorer.session.words import label_of

_CACHED = 3  # questions whose answers for all rows are kept
_SECONDS = 0.8  # of searches in one request
_ROW_TIME, _MAX_NODES = 0.5, 20_000  # seconds and nodes of the search for one row


class PosedQuestion(Protocol):
    """A question in the terms of the library."""

    @property
    def goal(self) -> Goal: ...
    @property
    def arguments(self) -> dict[str, Any]: ...


class Explaining(Protocol):
    """The session."""

    time_limit: float

    def scene(self, key: str) -> Scene: ...
    def explainer(self, question: Question) -> Explainer: ...
    def posed(self, question: Question) -> PosedQuestion: ...
    def add(self, scene: Scene) -> None: ...
    def remove(self, key: str) -> None: ...


class RowVerbs:
    """Answers requests about all rows of a data set; the answers to the last questions are kept."""

    def __init__(self, session: Explaining) -> None:
        self._session = session
        self._known: OrderedDict[tuple[str, str], RowAnswers] = OrderedDict()
        self._opened: OrderedDict[str, str] = OrderedDict()  # the titles of the data sets that the user opened, by key
        self.verbs: dict[str, Callable[[dict[str, Any]], Any]] = {
            "columns": lambda arguments: self._columns(ColumnsRequest.model_validate(arguments)),
            "efforts": lambda arguments: self._efforts(EffortsRequest.model_validate(arguments)),
            "groups": lambda arguments: self._groups(GroupsRequest.model_validate(arguments)),
            "open": lambda arguments: self._open(OpenRequest.model_validate(arguments)),
            "rows": lambda arguments: self._rows(RowsRequest.model_validate(arguments)),
        }

    def _columns(self, request: ColumnsRequest) -> dict[str, Any]:
        return columns_of(self._session.scene(request.scene), request.names)

    def _answers(self, question: Question) -> RowAnswers:
        """The answers for all rows that are known so far."""
        general = question.model_copy(update={"edits": {}, "count": 1})
        posed = self._session.posed(general)
        key = general.model_copy(update={"row": 0}).model_dump_json(), str(posed.goal.target)
        if key not in self._known:
            scene, explainer = self._session.scene(question.scene), self._session.explainer(general)
            rows = table_of(scene)
            arguments = {**posed.arguments, "time_limit": None, "max_nodes": _MAX_NODES}
            if not explainer.tree.is_one_tree:  # a tree is much faster if all rows are searched together, without a clock
                arguments["time_limit"] = min(self._session.time_limit, _ROW_TIME)
            self._known[key] = RowAnswers(explainer, rows, arguments, _class_of(scene, question))
        self._known.move_to_end(key)
        while len(self._known) > _CACHED:
            self._known.popitem(last=False)
        return self._known[key]

    def _efforts(self, request: EffortsRequest) -> dict[str, Any]:
        answers = self._answers(request.question)
        if request.start > answers.n:
            raise CounterleafError(f"start is {request.start:,}, but there are {answers.n:,} rows; expected a smaller number")
        if answers.done <= request.start:
            answers.extend(_SECONDS)
        return answers.reply(request.start)

    def _groups(self, request: GroupsRequest) -> dict[str, Any]:
        question = request.question
        scene, answers = self._session.scene(question.scene), self._answers(question)
        scene.explainer.schema.index(request.by)  # raises for an unknown feature
        answers.extend(_SECONDS)
        if answers.done < answers.n:
            return {"done": answers.done, "n_rows": answers.n}
        labels = {feature.name: label_of(feature) for feature in scene.explainer.schema}
        goal = self._session.posed(question).goal
        already = "are there already" if goal.target is None else f"are {goal.text} already"
        schema = scene.explainer.schema
        values = columns_of(scene, [request.by])["columns"][request.by]
        names = name_groups(schema.features[schema.index(request.by)], values, request.cuts)
        words = Words(goal.text, already, labels, is_effort(question), names)
        out = describe_groups(audit_of(answers, request.by, request.cuts), request.by, words)
        if scene.n_rows > MOST_ROWS:
            out["notes"].insert(0, f"The figures are about the first {MOST_ROWS:,} of {scene.n_rows:,} rows.")
        return out | {"n_rows": answers.n}

    def _open(self, request: OpenRequest) -> dict[str, Any]:
        scene = open_model(request.name, request.text)
        article, model = model_name(scene.explainer.tree)
        n_features = len(scene.explainer.schema)
        notes = [
            f"{scene.title}: {article}{model} with {n_features:,} {'feature' if n_features == 1 else 'features'}.",
            "The file has no rows, so the page starts with one in the middle of the ranges. You can open rows for it next.",
        ]
        return {"key": scene.key, "notes": notes + self._add(scene)}

    def _rows(self, request: RowsRequest) -> dict[str, Any]:
        scene, notes = open_rows(self._session.scene(request.scene), request.name, request.text)
        return {"key": scene.key, "notes": notes + self._add(scene)}

    def _add(self, scene: Scene) -> list[str]:
        """Add a data set; return sentences about the one that was closed in its place."""
        self._session.add(scene)
        self._opened.pop(scene.key, None)
        self._opened[scene.key] = scene.title
        if len(self._opened) <= MOST_SCENES:
            return []
        key, title = self._opened.popitem(last=False)
        self._session.remove(key)
        return [f"{title} was closed: at most {MOST_SCENES} models and tables can be open."]


def _class_of(scene: Scene, question: Question) -> int | None:
    """The class whose probability the page shows: the only target, if the model has probabilities."""
    tree = scene.explainer.tree
    if tree.is_regression or not tree.has_probabilities or len(question.target) != 1:
        return None
    labels = [str(label) for label in tree.classes.tolist()]
    return labels.index(question.target[0]) if question.target[0] in labels else None
