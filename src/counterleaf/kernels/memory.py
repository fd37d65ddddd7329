"""What the search is asked and what it remembers, as arrays that compiled code shares with Python."""

from typing import NamedTuple

import numba
import numpy as np

from counterleaf.kernels.compiler import inlined, kernel

BOX, CURVED, FLAT, MIXED, COUPLED = 0, 1, 2, 3, 4  # the ways to bound a region
# the kinds of state; FRESH: not yet bounded; PASSED: its leaf has answered for less; FORKED: split by a choice, not by the tree
OPEN, EXPANDED, REALISED, ANSWERED, DISCARDED, UNSETTLED, FRESH, PASSED, FORKED = range(9)
SPLIT, CUT, COUNT, CLAUSE = 0, 1, 2, 3  # what parts a state from its sibling: see ``kernels.table``
OBLIQUE = -1  # the feature of a split over several; -2 - g for a split on group g
FOUND, NONE, UNASKED = 0, 1, 2  # how one question of many ended; UNASKED: it must be asked on its own
STATES, QUEUED, POINTS, ANSWERS, SOLVED, RUNAWAY, OPEN_ENDS, ASKED = range(8)  # the counters of a pool

NODE = np.dtype(
    [
        ("left", np.int64),
        ("right", np.int64),
        ("feature", np.int64),  # of a split on one variable; OBLIQUE; -2 - g for one on group g
        ("cut_left", np.float64),  # the last value of that feature sent left
        ("cut_right", np.float64),  # the first one sent right
        ("below", np.float64),  # least class cost of a leaf below; inf if none is a target
        ("leaves", np.int64),  # target leaves below, itself included
        ("first", np.int64),  # the least of them
    ]
)

STATE = np.dtype(
    [
        ("node", np.int64),
        ("parent", np.int64),
        ("side", np.int64),  # of what parts it from its sibling: 1 right, -1 left, 0 at the root
        ("how", np.int64),  # what that is: the SPLIT at the parent's node, or a fork of the parent
        ("what", np.int64),  # the variable, feature or clause of a fork
        ("cut", np.float64),  # where a CUT stops
        ("rows", np.int64),  # rows of the region, the user's included
        ("kind", np.int64),
        ("exact", np.int64),  # 1 if ``delta`` is the region's optimum
        ("asked", np.int64),  # how often the caller was asked about the state
        ("point", np.int64),  # its realised row, -1 before
        ("rank", np.int64),  # breaks ties of ``key``: unrealised first, then by node
        ("key", np.float64),
        ("bound", np.float64),
        ("cost", np.float64),  # of the realised row
    ]
)

# kernels run as plain Python then, where only a record's fields can be read by name
if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # numba makes it when it is imported
    NODE, STATE = np.dtype((np.record, NODE)), np.dtype((np.record, STATE))


class Question(NamedTuple):
    """What the search is asked, as arrays: D features, N nodes, K rows of the user."""

    nodes: np.ndarray  # (N,) records, see problem.NODE
    indptr: np.ndarray  # (N + K + 1,) the rows of the splits, then the user's, in CSR
    indices: np.ndarray
    data: np.ndarray
    bias: np.ndarray  # (N + K,) row i is data @ x + bias
    features: np.ndarray  # (9, D): source, lower, upper, curve and slope up, curve and slope down, scale, horizon
    equal: int  # how many of the user's rows (the first) are equalities
    couples: np.ndarray  # (D + 1,) the matrix of a quadratic cost in CSR, empty without one
    coupled: np.ndarray
    coupling: np.ndarray
    method: int
    margin: float
    right_closed: bool
    narrow: bool
    guard: float  # how far from 0 an oblique split must stay, as a share of its terms, where the model sums it in another way
    home: int  # the source's own leaf if it obeys the user's constraints and nothing earns by moving, else -1


class Table(NamedTuple):
    """What a question on a table has beyond numbers in a box: D variables, G groups of which one is 1, C clauses."""

    group: np.ndarray  # (D,) the group of a 0/1 variable, -1 for a number
    first: np.ndarray  # (G,) the first variable of a group
    last: np.ndarray  # (G,) the one after its last
    own: np.ndarray  # (G,) the variable that is 1 in the source
    step: np.ndarray  # (2, D) numerator and denominator of a grid, 0 where any number will do
    feature: np.ndarray  # (D,) the feature that a variable belongs to
    soft: np.ndarray  # (G,) the curvature with which a group's 0/1 variables are charged: z^2 = z, so no row costs more or less
    most: int  # features that may change, or -1
    clauses: np.ndarray  # (C, 3) where the boxes of its two sides begin, and where the second one ends
    where: np.ndarray  # (L,) the variables of those boxes
    lower: np.ndarray  # (L,)
    upper: np.ndarray  # (L,)
    unit: float  # where every row costs a whole multiple of this (beyond the class cost), else 0


class Pool(NamedTuple):
    """The memory of a search; entry s belongs to state s."""

    states: np.ndarray  # (capacity,) STATE
    heap: np.ndarray  # (capacity,) state numbers
    lam: np.ndarray  # (capacity, 2, M) multipliers (or a Farkas vector), and the slack they hold for
    delta: np.ndarray  # (capacity, D) the region's point, as a change; D = 0 where boxes suffice
    tangent: np.ndarray  # (capacity, D) where the cost couples features: with lam, what proves the bound
    basis: np.ndarray  # (capacity, 2, M) simplex only: basis and segments
    seats: np.ndarray  # (capacity, D) simplex: seats; where the cost couples features: pieces
    points: np.ndarray  # (room, D) rows of the realised leaves
    answers: np.ndarray  # (room,) the answered states, in order
    counts: np.ndarray  # (8,) see STATES and the names after it


class Space(NamedTuple):
    """Room for what kernels need for a moment, taken from the front; made once, so that they make no arrays of their own."""

    real: np.ndarray
    whole: np.ndarray
    small: np.ndarray


@inlined
def grid(real, at, m, n):
    """(m, n) of the room that begins at ``at``."""
    return real[at : at + m * n].reshape((m, n))


@kernel
def new_space(m, n):
    """Room for problems of at most m rows and n features."""
    numbers = 4 * m * n + 40 * n + 16 * m * m + 32 * m + 8
    return Space(np.empty(numbers), np.empty(12 * m + 5 * n + 16, np.int64), np.empty(2 * n + m, np.int8))


def new_pool(question: Question, depth: int, table: Table | None = None, many: bool = False) -> Pool:
    """An empty pool for a tree whose paths hold at most ``depth`` rows; ``many``: for one question after another."""
    width = question.features.shape[1]
    m = question.bias.shape[0] - question.nodes.shape[0] + depth
    flat, coupled = question.method == FLAT, question.method == COUPLED
    size = 1024 if many else min(max(32, 8192 // width), 256)  # grows by doubling; at first it comes without a system call
    return Pool(
        np.empty(size, STATE),
        np.empty(size, np.int64),
        np.empty((size, 2, m)),
        np.empty((size, 0 if question.method == BOX and table is None else width)),
        np.empty((size, width if coupled else 0)),
        np.empty((size, 2, m + (0 if table is None else len(table.first)) if flat else 0), np.int64),
        np.empty((size, width if flat or coupled else 0), np.int8),
        np.empty((2, width)),
        np.empty(2, np.int64),
        np.zeros(8, np.int64),
    )


def _doubled(array: np.ndarray) -> np.ndarray:
    longer = np.empty((2 * len(array), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def grown(pool: Pool) -> Pool:
    """The pool with twice the room for whatever is full."""
    arrays = list(pool)
    if pool.counts[STATES] + 3 > len(pool.states):
        arrays[:7] = [_doubled(array) for array in arrays[:7]]
    if pool.counts[POINTS] + 1 > len(pool.points):
        arrays[7:9] = [_doubled(array) for array in arrays[7:9]]
    return Pool(*arrays)


def reopened(pool: Pool) -> Pool:
    """The same partition for a question whose every region lies within the old one (a larger margin).

    Old bounds still hold, and what was proved empty stays so. Whatever else is left is to be bounded anew, from where it
    stood. The old pool, which proves the old answer, is left as it is.
    """
    pool = Pool(*(array.copy() for array in pool))
    states = pool.states[: pool.counts[STATES]]
    again = np.flatnonzero((states["kind"] != EXPANDED) & (states["kind"] != FORKED) & (states["kind"] != DISCARDED))
    states["kind"][again], states["key"][again], states["rank"][again] = FRESH, states["bound"][again], states["node"][again]
    states["exact"][again], states["asked"][again], states["point"][again], states["cost"][again] = 0, 0, -1, np.inf
    pool.lam[again, 1] = 0.0
    again = again[np.lexsort((states["rank"][again], states["key"][again]))]  # a sorted list is a heap
    pool.heap[: len(again)] = again
    counts = np.zeros_like(pool.counts)
    counts[STATES], counts[QUEUED] = len(states), len(again)
    return pool._replace(counts=counts)
