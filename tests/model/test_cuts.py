import numpy as np
import pytest
from support.seeds import seeds

import counterleaf as cl
from counterleaf.model.cuts import cuts


def single(w, b, **how):
    return cl.Tree([1, -1, -1], [2, -1, -1], [[w], [0], [0]], [b, 0, 0], [-1, 0, 1], **how)


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", seeds(30))
def test_the_two_sides_are_neighbours_and_the_tree_agrees(closed, dtype, seed):
    rng = np.random.default_rng(seed)
    w, b = rng.normal() * 10.0 ** rng.integers(-6, 7), rng.normal() * 10.0 ** rng.integers(-6, 7)
    tree = single(w, b, closed=closed, dtype=dtype)
    _, swapped, low, high = (array[0] for array in cuts(tree))
    assert np.nextafter(low, np.inf) == high
    sides = tree.apply([[low], [high]])
    assert sides.tolist() == ([2, 1] if swapped else [1, 2])


def test_a_margin_keeps_both_sides_away():
    _, _, low, high = (array[0] for array in cuts(single(2.0, -3.0), margin=1.0))
    assert (low, high) == (1.0, 2.0)


def test_a_split_without_weights_sends_every_row_one_way():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], np.zeros((3, 2)), [1.0, 0, 0], [-1, 0, 1])
    feature, _, low, high = (array[0] for array in cuts(tree))
    assert (feature, low, high) == (0, -np.inf, -np.inf)


def test_a_cut_beyond_all_numbers_leaves_one_side_empty():
    _, _, low, high = (array[0] for array in cuts(single(1e-300, -1e300)))
    assert high == np.inf
    assert low == np.inf
