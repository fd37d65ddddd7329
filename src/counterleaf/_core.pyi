"""The compiled core, described in cpp/README.md. All arrays are contiguous."""

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Whole = NDArray[np.int64]
_Short = NDArray[np.int32]
_Small = NDArray[np.int8]
_Real = NDArray[np.float64]

class Stop:
    def __init__(self) -> None: ...
    def set(self) -> None: ...
    def is_set(self) -> bool: ...

class Fields:
    def __init__(self, variable: _Whole, size: _Whole, grids: Grids, prices: _Real, charges: _Real, moves: _Real) -> None: ...

class Boxes:
    def __init__(
        self, fields: Fields, left: _Whole, right: _Whole, feature: _Whole, cuts: _Real, sides: _Small, labels: _Whole
    ) -> None: ...
    @property
    def plain(self) -> bool: ...
    def nearest(
        self, rows: _Real, least: _Real, lower: _Real, upper: _Real, limit: float, threads: int = 1, stop: Stop | None = None
    ) -> tuple[_Small, _Whole, _Real, _Real]: ...
    def cheapest(
        self,
        rows: _Real,
        least: _Real,
        kinds: _Whole,
        lower: _Real,
        upper: _Real,
        limit: float,
        changes: tuple[_Small, _Whole],
        threads: int = 1,
        stop: Stop | None = None,
    ) -> tuple[_Small, _Whole, _Real, _Real]: ...

class Router:
    def __init__(
        self,
        left: _Whole,
        right: _Whole,
        indptr: _Whole,
        indices: _Whole,
        data: _Real,
        bias: _Real,
        right_closed: bool,
        narrow: bool,
    ) -> None: ...
    def leaf(self, row: _Real) -> int: ...
    def leaves(self, rows: _Real) -> _Whole: ...

class Rows:
    def __init__(self, indptr: _Whole, indices: _Whole, data: _Real, bias: _Real, width: int) -> None: ...

class Layout:
    def __init__(self, group: _Whole, feature: _Whole, grids: Grids, first: _Whole, last: _Whole) -> None: ...

class Grids:
    def __init__(self, step: _Real, starts: _Whole, values: _Real) -> None: ...

class Coupling:
    def __init__(
        self,
        matrix: tuple[_Whole, _Whole, _Real],
        tangent_curve: _Real,
        order: _Whole,
        scaled: tuple[_Whole, _Whole, _Real],
        theta: float,
    ) -> None: ...

class Prices:
    def __init__(
        self,
        rows: _Real,
        size: _Real,
        moves: Sequence[_Real],
        charges: _Real,
        curved: bool,
        flat: bool,
        runs: bool,
        coupling: Coupling | None = None,
    ) -> None: ...

class Target:
    def __init__(self, below: _Real, first: _Whole, leaves: _Whole) -> None: ...

class Clauses:
    def __init__(self, starts: _Whole, where: _Whole, lower: _Real, upper: _Real) -> None: ...

class ChangeLimits:
    def __init__(self, members: _Whole, most: _Whole) -> None: ...

class Limits:
    def __init__(
        self,
        lower: _Real,
        upper: _Real,
        widens: bool,
        not_choosable: _Whole,
        rows: Rows,
        equal: int,
        changes: ChangeLimits,
        clauses: Clauses,
    ) -> None: ...

class Budget:
    def __init__(
        self,
        count: int | None,
        nodes: int | None = None,
        seconds: float | None = None,
        keep: bool = False,
        stop: Stop | None = None,
    ) -> None: ...
    def lasting(self, seconds: float | None) -> Budget: ...
    @property
    def count(self) -> int | None: ...
    @property
    def seconds(self) -> float | None: ...

class Verdict(Enum):
    OPTIMAL, INFEASIBLE, LIMIT, UNBOUNDED = range(4)

class Answer:
    @property
    def verdict(self) -> Verdict: ...
    @property
    def lower_bound(self) -> float: ...
    @property
    def doubt(self) -> bool: ...
    @property
    def stopped(self) -> bool: ...
    @property
    def thin(self) -> bool: ...
    @property
    def runaway(self) -> int: ...
    @property
    def taken(self) -> int: ...
    @property
    def leaves(self) -> _Whole: ...
    @property
    def costs(self) -> _Real: ...
    @property
    def bounds(self) -> _Real: ...
    @property
    def points(self) -> _Real: ...
    def trace(self) -> dict[str, NDArray[Any]]: ...

class Engine:
    def __init__(
        self,
        nodes: tuple[_Whole, _Whole, _Whole, _Whole, _Real],
        splits: Rows,
        layout: Layout,
        right_closed: bool,
        narrow: bool,
        margins: _Real,
        guard: float,
    ) -> None: ...
    def find(
        self,
        source: _Real,
        leaf: int,
        prices: Prices,
        target: Target,
        limits: Limits,
        budget: Budget,
        earlier: Answer | None = None,
    ) -> Answer: ...
    def find_many(
        self,
        sources: tuple[_Real, _Whole, _Whole],
        prices: Prices,
        targets: Sequence[Target],
        limits: Limits,
        budget: Budget,
        threads: int = 1,
    ) -> tuple[_Small, _Whole, _Real, _Real, _Real]: ...

class learn:  # noqa: N801  # a module of the extension
    class Rows:
        def __init__(self, indptr: _Whole, indices: _Short, values: _Real, width: int) -> None: ...
        def project(self, chosen: _Whole, w: _Real) -> _Real: ...
        def sum_groups(self, chosen: _Whole, group: _Whole, weight: _Real, groups: int) -> _Real: ...

    class Tree:
        def __init__(self, left: _Whole, right: _Whole, W: _Real, b: _Real) -> None: ...
        def leaves(self, rows: learn.Rows) -> _Whole: ...

    class Columns:
        def __init__(self, X: _Real) -> None: ...

    class Logistic:
        def __init__(self, rows: learn.Rows, chosen: _Whole, side: _Real, weight: _Real) -> None: ...
        def fit_narrow(
            self, w: _Real, b: float, lam: float, steps: int, passes: int, tolerance: float
        ) -> tuple[_Real, float]: ...
        def fit_wide(
            self, w: _Real, b: float, lam: float, steps: int, passes: int, tolerance: float
        ) -> tuple[_Real, float]: ...

    class Cut:
        @property
        def feature(self) -> int | None: ...
        @property
        def threshold(self) -> float: ...
        @property
        def sign(self) -> float: ...
        @property
        def missed(self) -> float: ...

    @staticmethod
    def best_cut(columns: learn.Columns, chosen: _Whole, side: _Real, weight: _Real, lam: float) -> learn.Cut: ...
    @staticmethod
    def strength(alpha: float, total: float) -> float: ...

    class Sweep:
        def __init__(
            self, rows: learn.Rows, tree: learn.Tree, labels: _Whole, weight: _Real, columns: learn.Columns | None = None
        ) -> None: ...
        def route(self, first: int, last: int) -> None: ...
        def leaves(self) -> _Whole: ...
        def label(self, label: _Whole, sure: _Whole) -> None: ...
        def compute(self, loss: int, intercept: _Real, slope: _Real, targets: _Real) -> None: ...
        def losses(self) -> _Real: ...
        def enter(self, depth: int) -> None: ...
        def judge(self, first: int, last: int) -> None: ...
        def gather(self) -> _Whole: ...
        def improve(self, nodes: _Whole, alpha: float, cautious: bool, narrow: bool) -> None: ...
        def refresh(self, first: int, last: int) -> None: ...

class testing:  # noqa: N801  # a module of the extension
    @staticmethod
    def newton(A: _Real, r: _Real, equal: int, curves: _Real) -> tuple[int, float, _Real, _Real, _Real]: ...
    @staticmethod
    def proximal(A: _Real, r: _Real, equal: int, curves: _Real) -> tuple[int, float, _Real, _Real, _Real]: ...
    @staticmethod
    def simplex(A: _Real, r: _Real, equal: int, curves: _Real) -> tuple[int, float, _Real, _Real, _Real]: ...
    @staticmethod
    def coupled(
        A: _Real, r: _Real, equal: int, curves: _Real, P: _Real, theta: float, by_interior: bool
    ) -> tuple[int, float, _Real, _Real]: ...
    @staticmethod
    def farkas_gap(A: _Real, r: _Real, equal: int, curves: _Real, ray: _Real) -> float: ...

class ForestProgress:
    def __init__(self) -> None: ...
    @property
    def cost(self) -> float: ...
    @property
    def lower_bound(self) -> float: ...
    @property
    def nodes(self) -> int: ...

class Forest:
    def __init__(
        self,
        first_cell: _Whole,
        grouped: NDArray[np.uint8],
        roots: _Whole,
        nodes: _Whole,
        subsets: tuple[_Whole, NDArray[np.uint8]],
        value: _Real,
        sums: tuple[_Real, _Whole, bool, bool, float],
    ) -> None: ...
    def scores(self, rows: _Whole) -> _Real: ...
    def find(
        self,
        target: ForestTarget,
        cost: _Real,
        moved: NDArray[np.uint8],
        members: NDArray[np.uint8],
        most: _Whole,
        budget: Budget,
        below: float = ...,
        proof: bool = True,
        progress: ForestProgress | None = None,
    ) -> ForestAnswer: ...

class ForestTarget:
    def __init__(
        self,
        forest: Forest,
        coefficients: _Real,
        bias: _Real,
        tolerances: tuple[float, float],
        winner: int,
        margin: float,
        intervals: _Real,
        closed: NDArray[np.uint8],
    ) -> None: ...
    @property
    def rows(self) -> int: ...

class ForestAnswer:
    @property
    def verdict(self) -> int: ...
    @property
    def cost(self) -> float: ...
    @property
    def lower_bound(self) -> float: ...
    @property
    def nodes(self) -> int: ...
    @property
    def cells(self) -> _Whole: ...
    def proof(self) -> dict[str, NDArray[Any]]: ...
