"""The requests that the page may send, validated before any other code reads them.

Values of features are always numbers: the value of a numeric feature, or the index of a category or level among the values of
its feature. The index after the last one means that the value is missing. Classes are named by their labels, data sets by their
keys.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Real = Annotated[float, Field(allow_inf_nan=False, ge=-1e300, le=1e300)]
Name = Annotated[str, Field(max_length=500)]
Key = Annotated[str, Field(max_length=100)]
Index = Annotated[int, Field(ge=0, le=100_000)]
RowNumber = Annotated[int, Field(ge=0, le=10**9)]
FileName = Annotated[str, Field(max_length=255)]

MAX_ALTERNATIVES, MAX_STEPS, MAX_FEATURES = 12, 60, 5000
MAX_FILE = 30_000_000  # characters of a model or of rows that the user opens on the page


class StrictModel(BaseModel):
    """A record that refuses unknown fields and numbers in quotes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Control(StrictModel):
    """The settings of one feature."""

    lock: bool = False
    direction: Literal["any", "only_increase", "only_decrease"] = "any"
    low: Real | None = None
    high: Real | None = None
    allowed: Annotated[list[Index], Field(max_length=MAX_FEATURES)] | None = None
    step: Annotated[float, Field(gt=0, allow_inf_nan=False, ge=1e-9, le=1e15)] | None = None
    multiplier: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] = 1.0

    @property
    def ends(self) -> list[float]:
        """The bounds of the range, as far as there are any."""
        return [end for end in (self.low, self.high) if end is not None]


class PageQuestion(StrictModel):
    """A row of a data set, possibly edited, with the target, the cost and all settings."""

    scene: Key
    row: RowNumber = 0
    edits: Annotated[dict[Name, Real | None], Field(max_length=MAX_FEATURES)] = Field(default_factory=dict)
    controls: Annotated[dict[Name, Control], Field(max_length=MAX_FEATURES)] = Field(default_factory=dict)
    target: Annotated[list[Name], Field(max_length=1000)] = Field(default_factory=list)  # empty: any class but the row's
    at_least: Real | None = None  # a value's interval, or the interval of the probability of the one target class
    at_most: Real | None = None
    cost: Literal["L1", "L2", "mixed", "Q"] = "L1"
    spread: Literal["range", "std", "mad", "none"] = "range"
    margin: Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)] = 0.0
    count: Annotated[int, Field(ge=1, le=MAX_ALTERNATIVES)] = 3
    max_changes: Annotated[int, Field(ge=0, le=10**6)] | None = None
    ink: Literal["any", "add", "erase"] = "any"  # images: pixels may only increase, or only decrease
    locked_pixels: Annotated[list[Index], Field(max_length=MAX_FEATURES)] = Field(default_factory=list)  # images

    def replace(self, **fields: Any) -> PageQuestion:
        """The question with other values of some fields, which are not validated again."""
        return self.model_copy(update=fields)

    @property
    def multipliers(self) -> dict[str, float]:
        """The factors of the cost that are not 1, by feature."""
        return {name: control.multiplier for name, control in self.controls.items() if control.multiplier != 1.0}


class PlaneRequest(StrictModel):
    """The two features that span a plane through the row of a question."""

    question: PageQuestion
    x_feature: Name
    y_feature: Name
    whole: bool = False  # show the whole range of both features, also if the options are close to the row


class ExportRequest(StrictModel):
    """Questions to write into one file."""

    format: Literal["csv", "json", "html"]
    questions: Annotated[list[PageQuestion], Field(min_length=1, max_length=MAX_STEPS)]
    kept: Annotated[list[Index], Field(max_length=MAX_STEPS)] = Field(default_factory=list)  # the option of each question


class ColumnsRequest(StrictModel):
    """Some features of all rows."""

    scene: Key
    names: Annotated[list[Name], Field(max_length=MAX_FEATURES)]


class EffortsRequest(StrictModel):
    """The efforts of all rows for a question, from a row on."""

    question: PageQuestion
    start: RowNumber = 0


class GroupsRequest(StrictModel):
    """The groups of all rows by a feature; its numbers are cut at ``cuts``, or at quartiles."""

    question: PageQuestion
    by: Name
    cuts: Annotated[list[Real], Field(max_length=11)] = Field(default_factory=list)


class OpenRequest(StrictModel):
    """The JSON of a model."""

    name: FileName
    text: Annotated[str, Field(max_length=MAX_FILE)]


class RowsRequest(StrictModel):
    """Rows for the model of a data set; None is a typical row."""

    scene: Key
    name: FileName
    text: Annotated[str, Field(max_length=MAX_FILE)] | None = None


REQUESTS: dict[str, type[StrictModel]] = {  # the requests with a body, by verb
    **dict.fromkeys(("answer", "front", "tree", "check"), PageQuestion),
    "plane": PlaneRequest,
    "export": ExportRequest,
    "columns": ColumnsRequest,
    "efforts": EffortsRequest,
    "groups": GroupsRequest,
    "open": OpenRequest,
    "rows": RowsRequest,
}
