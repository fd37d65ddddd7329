"""One question as arrays, as the search and the proof read it. NumPy only."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from counterleaf.types import Array


class Form(IntEnum):
    """What a node splits on: one number, one group of 0/1 variables, or several variables."""

    LEAF, NUMBER, GROUP, OBLIQUE = range(4)


NODE = np.dtype(
    [
        ("left", np.int64),
        ("right", np.int64),
        ("form", np.int64),  # see Form
        ("index", np.int64),  # of the number or group that is split on
        ("cut_left", np.float64),  # the last value of that number sent left
        ("cut_right", np.float64),  # the first one sent right
        ("below", np.float64),  # least class cost of a leaf below; inf if none is a target
        ("leaves", np.int64),  # target leaves below, itself included
        ("first", np.int64),  # the least of them
    ]
)


class Question(NamedTuple):
    """What is asked, as arrays: D variables, N nodes, K rows of the user."""

    nodes: Array  # (N,) NODE
    indptr: Array  # (N + K + 1,) the rows of the splits, then the user's, in CSR
    indices: Array
    data: Array
    bias: Array  # (N + K,) row i is data @ x + bias
    features: Array  # (7, D): source, lower, upper, curve and slope up, curve and slope down
    equal: int  # how many of the user's rows (the first) are equalities
    margin: float
    right_closed: bool
    narrow: bool  # the model sees float32
    widened: bool = False  # the user's rows hold to HOLDS of their terms only: to rounding, nothing meets them
    matrix: tuple[Array, Array, Array] | None = None  # (D, D) in CSR, of a cost that couples features
    kept: Array | None = None  # (D,) what tangents to that cost leave curved

    def row(self, i: int) -> tuple[Array, Array]:
        """The columns and weights of a split, or of a row of the user's."""
        at = slice(self.indptr[i], self.indptr[i + 1])
        return self.indices[at], self.data[at]
