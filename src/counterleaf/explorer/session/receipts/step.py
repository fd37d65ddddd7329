"""A step of an exploration: a question, its answer, and both in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from counterleaf.answer.explanation import Explanation
from counterleaf.explorer.session.answers.measures import describe_measure, scale_of
from counterleaf.explorer.session.question import Question
from counterleaf.explorer.session.scene import Scene
from counterleaf.explorer.session.words import label_of, value_text


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A question and its answer; ``reply`` is the answer as the page shows it, ``scenery`` the description of the data set.

    ``kept`` are the indices of the options that the user kept; empty if the whole answer is exported.
    """

    scene: Scene
    question: Question
    answer: Explanation
    reply: Mapping[str, Any]
    scenery: Mapping[str, Any]
    kept: tuple[int, ...] = ()

    @property
    def scale(self) -> str:
        """The unit of the changes in the cost."""
        return scale_of(self.question)

    @property
    def who(self) -> str:
        """The row in words, counted from 0."""
        return f"{self.scene.noun} {self.question.row}"

    @property
    def place(self) -> str:
        """The row with the numbers that rows have."""
        if self.scene.rows is None:
            return f"{self.who} (the only row)"
        return f"{self.who} (rows are counted from 0 to {self.scene.n_rows - 1:,})"

    @property
    def says(self) -> str:
        """What the model says of the row."""
        return outcome_text(self.reply["source"], self.scene.kind)

    @property
    def edits(self) -> list[str]:
        """The edits of the row, in words."""
        schema, source = self.answer.schema, self.answer.source_values
        features = [schema.features[schema.index(name)] for name in self.question.edits]
        return [f"{label_of(feature)} set to {value_text(feature, source[feature.name])}" for feature in features]

    @property
    def settings(self) -> list[str]:
        """The edits of the row and the settings."""
        return [*self.edits, *self.reply["settings"]]

    @property
    def measure(self) -> str:
        """How changes are measured, in words and in the terms of the field."""
        return describe_measure(self.question)


def outcome_text(outcome: Mapping[str, Any], kind: str) -> str:
    """What a model says of a row: a class with its probability, or a value."""
    number = outcome["number"]
    return f"{outcome['label']} ({number['text']})" if number and kind == "class" else str(outcome["label"])
