"""The requests about all rows and about models and rows that the user opens."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from counterleaf.explorer.session.question import MAX_FEATURES, MAX_FILE, Key, Name, Question, Real, RowNumber, StrictModel

FileName = Annotated[str, Field(max_length=255)]


class ColumnsRequest(StrictModel):
    """Some features of all rows."""

    scene: Key
    names: Annotated[list[Name], Field(max_length=MAX_FEATURES)]


class EffortsRequest(StrictModel):
    """The efforts of all rows for a question, from a row on."""

    question: Question
    start: RowNumber = 0


class GroupsRequest(StrictModel):
    """The groups of all rows by a feature; its numbers are cut at ``cuts``, or at quartiles."""

    question: Question
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
