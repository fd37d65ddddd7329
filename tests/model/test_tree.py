import json
import pickle

import numpy as np
import pytest
from scipy import sparse
from support.seeds import seeds
from support.strategies import random_tree

import counterleaf as cl
from counterleaf.model.cuts import cuts

STUMP = {
    "left": [1, -1, -1],
    "right": [2, -1, -1],
    "weights": [[1.0, 1.0], [0, 0], [0, 0]],
    "bias": [-1.0, 0, 0],
    "value": [-1, 0, 1],
}


def stump(**changes):
    return cl.Tree(**{**STUMP, **changes})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"left": [3, -1, -1]}, "out of range"),
        ({"left": [2, -1, -1]}, "several parents"),
        ({"left": [0, -1, -1]}, "root must be node 0"),
        ({"left": [-1, -1, -1]}, "one child"),
        ({"left": [-1, 2, 1], "right": [-1, -1, -1]}, "one child"),
        ({"left": [1, -1, -1], "right": [1, -1, -1]}, "several parents"),
        ({"left": [-1, -1, -1], "right": [-1, -1, -1]}, "no parent"),
        ({"left": [1.5, -1, -1]}, "other than integers"),
        ({"left": ["a", -1, -1]}, "other than integers"),
        ({"left": []}, "at least one node"),
        ({"bias": [np.nan, 0, 0]}, "NaN or infinity"),
        ({"bias": [0, 0]}, "one entry per node"),
        ({"bias": ["x", 0, 0]}, r"^bias is \['x', 0, 0\]; expected finite numbers$"),
        ({"weights": [[np.inf, 1], [0, 0], [0, 0]]}, "NaN or infinity"),
        ({"weights": [[1.0, 1.0]]}, "one row per node"),
        ({"weights": [1.0, 1.0, 1.0]}, "expected \\(nodes, features\\)"),
        ({"weights": np.empty((3, 0))}, "at least one feature"),
        ({"value": [-1, 0, 7], "classes": ["a", "b"]}, "leaf 2 has value 7"),
        ({"value": [-1, -1, 1]}, "leaf 1 has value -1"),
        ({"classes": ["a", "a"]}, "twice"),
        ({"classes": "ab"}, "one label per class"),
        ({"closed": "both"}, 'expected "left" or "right"'),
        ({"dtype": "float16"}, 'expected "float32" or "float64"'),
    ],
)
def test_corrupt_trees_are_refused_with_the_reason(changes, reason):
    with pytest.raises(cl.CounterleafError, match=reason):
        stump(**changes)


def test_a_cycle_apart_from_the_root_is_refused():
    with pytest.raises(cl.CounterleafError, match="4 nodes form a cycle"):
        cl.Tree([-1, 2, 1, -1, -1], [-1, 3, 4, -1, -1], np.zeros((5, 1)), np.zeros(5), np.zeros(5, int))


def test_routing_follows_the_formula_on_both_closed_sides():
    rows = [[0.25, 0.75], [0.0, 0.0], [2.0, 0.0]]
    assert stump().apply(rows).tolist() == [2, 1, 2]
    assert stump(closed="left").apply(rows).tolist() == [1, 1, 2]
    tiny = [[1.0 + 1e-12, 0.0]]
    assert stump(closed="left").apply(tiny).tolist() == [2]
    assert stump(closed="left", dtype="float32").apply(tiny).tolist() == [1]


def test_weights_of_leaves_and_values_of_inner_nodes_are_ignored():
    noisy = stump(weights=[[1.0, 1.0], [np.nan, 5], [7, 7]], value=[99, 0, 1], bias=[-1.0, np.inf, 3])
    assert noisy.to_json() == stump().to_json()


def test_sparse_and_dense_weights_give_the_same_tree():
    assert stump(weights=sparse.csr_array(np.array(STUMP["weights"]))).to_json() == stump().to_json()


def test_weights_that_are_not_a_matrix_are_refused():
    weights = sparse.csr_array(np.array(STUMP["weights"]))
    weights.indices = weights.indices + 7
    with pytest.raises(cl.CounterleafError, match="weights is not a valid sparse matrix"):
        stump(weights=weights)


def test_pickles_hold_the_tree():
    tree = stump()
    tree.predict([[0.0, 0.0]])
    again = pickle.loads(pickle.dumps(tree))
    assert again.to_json() == tree.to_json()
    assert again.weights.row(0)[0].tolist() == [0, 1]
    assert again.predict([[0.5, 0.5]]).tolist() == [1]


@pytest.mark.parametrize("rows", [[[np.nan, 0.0]], [[np.inf, 0.0]]])
def test_rows_with_gaps_are_refused(rows):
    with pytest.raises(cl.CounterleafError, match="NaN or infinity"):
        stump().predict(rows)
    with pytest.raises(cl.CounterleafError, match="needs \\(rows, 2\\)"):
        stump().predict([[1.0]])


@pytest.mark.parametrize("seed", seeds(20))
def test_json_round_trips_bit_for_bit(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 6, 7, 4, "mixed", 10.0 ** rng.uniform(-6, 6, 7))
    again = cl.Tree.from_json(tree.to_json())
    assert again.to_json() == tree.to_json()
    for name in ("left", "right", "bias", "value", "classes"):
        assert np.array_equal(getattr(again, name), getattr(tree, name))
    assert again.weights.toarray().tobytes() == tree.weights.toarray().tobytes()
    rows = rng.normal(size=(50, 7))
    assert (again.apply(rows) == tree.apply(rows)).all()


def broken(**changes):
    fields = json.loads(stump().to_json())
    fields.update(changes)
    return json.dumps({k: v for k, v in fields.items() if v is not None})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not valid JSON"),
        (None, "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", "not a counterleaf tree"),
        ('{"format": "other"}', "not a counterleaf tree"),
        (broken(version=3), "reads versions 1 and 2"),
        (broken(left=None), "lacks 'left'"),
        (broken(features=-1), "number of columns"),
        (broken(weights={"indptr": [0, 2, 2, 9], "indices": [0, 1], "data": [1, 1]}), "do not fit together"),
        (broken(weights={"indptr": [0, 2, 2, 2], "indices": [0, 5], "data": [1, 1]}), "do not fit together"),
        (broken(weights={"indptr": [0, 2, 2, 2], "indices": [0, 1], "data": [1, float("nan")]}), "NaN is not valid in JSON"),
        (
            broken(weights={"indptr": [0, 2, 2, 2], "indices": [0, 1], "data": [1, 1e308]}).replace("1e+308", "1e400"),
            "NaN or inf",
        ),
        (broken(left=[2, -1, -1]), "several parents"),
    ],
)
def test_json_that_is_not_a_tree_is_refused(text, reason):
    with pytest.raises(cl.CounterleafError, match=reason):
        cl.Tree.from_json(text)


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
