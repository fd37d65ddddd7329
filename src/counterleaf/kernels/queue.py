"""A binary heap of state numbers, ordered by (key, rank): equal bounds leave in a fixed order."""

from counterleaf.kernels.compiler import pure


@pure
def _before(states, a, b):
    if states[a].key != states[b].key:
        return states[a].key < states[b].key
    return states[a].rank < states[b].rank


@pure
def push(heap, size, states, state):
    """Add ``state``; returns the new size."""
    hole = size
    while hole > 0:
        above = (hole - 1) // 2
        if not _before(states, state, heap[above]):
            break
        heap[hole] = heap[above]
        hole = above
    heap[hole] = state
    return size + 1


@pure
def pop(heap, size, states):
    """Move the first state to ``heap[size - 1]``, just behind the shrunken heap; returns the new size."""
    first, last = heap[0], heap[size - 1]
    size -= 1
    hole = 0
    while True:
        below = 2 * hole + 1
        if below >= size:
            break
        if below + 1 < size and _before(states, heap[below + 1], heap[below]):
            below += 1
        if not _before(states, heap[below], last):
            break
        heap[hole] = heap[below]
        hole = below
    heap[hole] = last
    heap[size] = first
    return size
