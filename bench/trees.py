"""Trees and rows to measure on: those beside the repository where present, else grown here from scikit-learn's data."""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl
from counterleaf import datasets

SHARED = Path(__file__).resolve().parents[2] / "shared"
MNIST = SHARED / "data/mnist"


_SETS = {
    "breast": ("breast_split0", lambda: datasets.load_breast_cancer(missing="drop").data),
    "spambase": ("spambase_split1", lambda: datasets.load_spambase().data),
    "letter": ("letter_seed0", lambda: datasets.load_letter().data),
    "mnist": ("mnist_best_s1", lambda: datasets.load_mnist(MNIST).split()[1]),
}


def oblique_trees():
    """Yield (name, tree, rows)."""
    if (SHARED / "trees").is_dir():
        for name, (file, rows) in _SETS.items():
            if name == "mnist" and not MNIST.is_dir():
                continue
            z = np.load(SHARED / "trees" / f"{file}.npz")
            tree = cl.Tree(z["children_left"], z["children_right"], z["W"], z["b"], z["leaf_class"])
            yield name, tree, rows().to_numpy(float)
        return
    for name, load, depth in (("breast (30 features)", load_breast_cancer, 4), ("digits", load_digits, 8)):
        X, y = load(return_X_y=True)
        yield name, grow(X, y, depth), X


def grow(X, y, depth):
    """A plain oblique tree: at each node a sparse logistic regression of a random half of the classes against the rest."""
    rng = np.random.default_rng(0)
    left, right, weights, bias, value = [], [], [], [], []
    scale = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)

    def node(index, level):
        i = len(left)
        for array, empty in ((left, -1), (right, -1), (bias, 0.0), (value, -1), (weights, np.zeros(X.shape[1]))):
            array.append(empty)
        present = np.unique(y[index])
        value[i] = int(np.bincount(y[index]).argmax())
        if level == depth or len(present) == 1:
            return i
        half = rng.permutation(present)[: len(present) // 2]
        columns = rng.permutation(X.shape[1])[: X.shape[1] // 2]
        fit = LogisticRegression(C=0.02, max_iter=500).fit((X[index] / scale)[:, columns], np.isin(y[index], half))
        weights[i][columns] = fit.coef_[0] / scale[columns]
        bias[i] = -float(np.median(X[index] @ weights[i]))  # halves, so that the tree grows
        goes_right = X[index] @ weights[i] + bias[i] >= 0
        if goes_right.all() or not goes_right.any():
            return i
        left[i] = node(index[~goes_right], level + 1)
        right[i] = node(index[goes_right], level + 1)
        return i

    node(np.arange(len(y)), 0)
    return cl.Tree(left, right, np.array(weights), bias, value)


def axis_aligned_models():
    """Yield (name, fitted scikit-learn tree, rows)."""
    data, target = datasets.load_letter(return_X_y=True)
    X, y = data.to_numpy(float), target.to_numpy()
    for leaves in (20, 500):
        model = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(X[: len(X) // 2], y[: len(X) // 2])
        yield f"letter, {model.get_n_leaves()} leaves", model, X[len(X) // 2 :]
