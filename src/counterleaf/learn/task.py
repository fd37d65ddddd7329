"""What is to be learned, and how."""

from __future__ import annotations

from typing import Any, NamedTuple

from counterleaf.learn.rows import Rows
from counterleaf.tree import Array


class Task(NamedTuple):
    """Rows of positive weight with their classes 0 to ``classes`` - 1."""

    X: Any  # as given
    rows: Rows  # the same, compressed
    y: Array
    weight: Array
    classes: int


class Settings(NamedTuple):
    """The problem of each node."""

    alpha: float
    narrow: bool  # few columns: the Hessian is written down
    axis_aligned: bool
