"""What the page may ask, checked before anything else sees it.

Values of features are numbers throughout: a number itself, or the place of a category or level among its values (one past the
last for a missing one). Classes are named by their words, scenes by their keys.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Real = Annotated[float, Field(allow_inf_nan=False, ge=-1e300, le=1e300)]
Name = Annotated[str, Field(max_length=500)]
Key = Annotated[str, Field(max_length=100)]
Place = Annotated[int, Field(ge=0, le=100_000)]

MOST_ALTERNATIVES, MOST_STEPS, MOST_FEATURES = 12, 60, 5000


class Strict(BaseModel):
    """No field that is not asked for, no number in quotes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Control(Strict):
    """What a person says about one feature."""

    lock: bool = False
    way: Literal["any", "up", "down"] = "any"
    low: Real | None = None
    high: Real | None = None
    allowed: Annotated[list[Place], Field(max_length=MOST_FEATURES)] | None = None
    step: Annotated[float, Field(gt=0, allow_inf_nan=False, ge=1e-9, le=1e15)] | None = None
    weight: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] = 1.0


class Question(Strict):
    """A row of a scene, with its edits, and everything that was set about it."""

    scene: Key
    row: Annotated[int, Field(ge=0, le=10**9)] = 0
    edits: Annotated[dict[Name, Real | None], Field(max_length=MOST_FEATURES)] = Field(default_factory=dict)
    controls: Annotated[dict[Name, Control], Field(max_length=MOST_FEATURES)] = Field(default_factory=dict)
    target: Annotated[list[Name], Field(max_length=1000)] = Field(default_factory=list)  # none: any class but the row's own
    cost: Literal["L1", "L2", "mixed", "Q"] = "L1"
    spread: Literal["range", "std", "mad", "none"] = "range"
    margin: Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)] = 0.0
    count: Annotated[int, Field(ge=1, le=MOST_ALTERNATIVES)] = 3
    most: Annotated[int, Field(ge=0, le=10**6)] | None = None
    ink: Literal["any", "add", "erase"] = "any"  # pictures: every pixel may only rise, or only fall
    locked: Annotated[list[Place], Field(max_length=MOST_FEATURES)] = Field(default_factory=list)  # pictures: these pixels stay


class PlaneQuestion(Strict):
    """The plane of two numbers around a question."""

    question: Question
    across: Name
    up: Name


class ExportQuestion(Strict):
    """Steps to write down, in one of three formats."""

    format: Literal["csv", "json", "html"]
    questions: Annotated[list[Question], Field(min_length=1, max_length=MOST_STEPS)]
