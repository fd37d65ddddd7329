"""Leaves that compute: what they give, and arrays that do not describe them."""

import json
import pickle

import numpy as np
import pytest
from support.output_cases import random_tree
from support.seeds import seeds

import counterleaf as cl

ONE = ([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-3.0, 0, 0])


@pytest.mark.parametrize("kind", ["value", "probability", "logistic", "softmax", "score"])
@pytest.mark.parametrize("seed", seeds(5))
def test_outputs_are_linear_functions_of_the_row(kind, seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 4, kind, 2 if kind == "logistic" else 3)
    rows = rng.normal(size=(200, 4))
    leaves, K = tree.apply(rows), tree.outputs.count
    slope = np.zeros((tree.n_nodes * K, 4)) if tree.outputs.slope is None else tree.outputs.slope.toarray()
    made = np.einsum("nkd,nd->nk", slope.reshape(-1, K, 4)[leaves], rows) + tree.outputs.intercept[leaves]
    np.testing.assert_allclose(tree.outputs.at(leaves, rows), made, rtol=1e-12, atol=1e-12)
    if kind == "value":
        np.testing.assert_array_equal(tree.predict(rows), tree.outputs.at(leaves, rows)[:, 0])
    elif kind in ("softmax", "score"):
        assert (tree.predict(rows) == tree.classes[made.argmax(axis=1)]).all()
    if kind == "score":
        with pytest.raises(cl.CounterleafError, match="the leaves of this tree have no probabilities"):
            tree.predict_proba(rows)
    elif kind != "value":
        np.testing.assert_allclose(tree.predict_proba(rows).sum(axis=1), 1.0)
    for again in (cl.Tree.from_json(tree.to_json()), pickle.loads(pickle.dumps(tree))):
        np.testing.assert_array_equal(again.predict(rows), tree.predict(rows))
        assert again.to_json() == tree.to_json()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cl.Outputs("size", [1.0]), "outputs are of kind 'size'; expected one of value, probability, logistic"),
        (lambda: cl.Outputs("value", "x"), "the outputs hold something other than numbers"),
        (lambda: cl.Outputs("value", [[[1.0]]]), r"the outputs' intercept has shape \(1, 1, 1\); expected \(nodes, outputs\)"),
        (lambda: cl.Outputs("value", [np.nan]), "the outputs hold NaN or infinity"),
        (
            lambda: cl.Outputs("value", [1.0], [[1.0], [2.0]]),
            "the outputs' slope has 2 rows; expected 1: one per node",
        ),
        (lambda: cl.Outputs("probability", [[0.5, 0.5]], [[1.0], [0.0]]), 'outputs of kind "probability" are constants'),
        (lambda: cl.Tree(*ONE, outputs=3), r"outputs is 3; expected Outputs\(kind, intercept, slope\)"),
        (lambda: cl.Tree(*ONE), "value is None; expected the position of each leaf's class"),
        (lambda: cl.Tree(*ONE, outputs=cl.Outputs("value", [1.0])), r"has shape \(1, 1\); a tree of 3 nodes needs \(3, 1\)"),
        (lambda: cl.Tree(*ONE, [0, 0, 0], ["a"], outputs=cl.Outputs("value", np.zeros(3))), "leave out value and classes"),
        (
            lambda: cl.Tree(*ONE, [0, 0, 1], ["a", "b", "c"], outputs=cl.Outputs("logistic", np.zeros(3))),
            'outputs of kind "logistic" need two classes; got 3: use "softmax"',
        ),
        (
            lambda: cl.Tree(*ONE, [0, 0, 1], outputs=cl.Outputs("probability", [[0, 0], [2, 0], [0, 1]])),
            "a probability of a leaf is not between 0 and 1",
        ),
        (
            lambda: cl.Tree(*ONE, outputs=cl.Outputs("value", np.zeros(3), np.zeros((3, 2)) + 1)),
            "the outputs' slope has 2 columns; the tree has 1",
        ),
        (lambda: cl.Tree(*ONE, [0, -1, 1], outputs=cl.Outputs("logistic", np.zeros(3))), "leaf 1 has value -1; expected"),
    ],
)
def test_what_is_not_a_tree_with_outputs(make, message):
    with pytest.raises(cl.CounterleafError, match=message):
        make()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda o: None, "lacks or garbles 'outputs'"),
        (lambda o: {"kind": "value"}, "lacks or garbles 'outputs'"),
        (lambda o: {**o, "slope": 3}, "lacks or garbles 'slope'"),
        (lambda o: {**o, "slope": {**o["slope"], "indices": [99]}}, "weights that do not fit together"),
        (lambda o: {**o, "intercept": [[1.0], [1.0, 2.0], [3.0]]}, "lines of 'intercept' of different lengths"),
        (lambda o: {**o, "intercept": [["1"], ["2"], ["3"]]}, "intercept holds something other than numbers"),
        (lambda o: {**o, "kind": ["value"]}, "outputs are of kind"),
    ],
)
def test_json_that_is_not_a_tree_with_outputs(change, message):
    content = json.loads(cl.Tree(*ONE, outputs=cl.Outputs("value", np.ones(3), [[0.0], [2.0], [0.0]])).to_json())
    content["outputs"] = change(content["outputs"])
    with pytest.raises(cl.CounterleafError, match=message):
        cl.Tree.from_json(json.dumps(content))
