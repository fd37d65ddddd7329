"""TAOClassifier: small, accurate, sparse oblique trees as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from counterleaf.errors import CounterleafError, brief, flat
from counterleaf.learn.estimator import TreeLearner, blocks, raw_units
from counterleaf.learn.search.shape import Shape, prune
from counterleaf.learn.search.task import LeafSettings, Task
from counterleaf.model.outputs import Outputs
from counterleaf.model.tree import Tree
from counterleaf.types import Array

_TRIFLE = 1e-3  # of an average row's weight: a split that saves no more is removed, however many light rows it separates


class TAOClassifier(ClassifierMixin, TreeLearner):  # type: ignore[misc]  # scikit-learn has no types
    """Decision tree with sparse oblique (or axis-aligned) splits, learned by tree alternating optimisation (TAO).

    The tree has a fixed shape. Sweeps over its nodes, from the deepest up, replace one split at a time by a better one for the
    rows that reach it, and minimise the misclassified weight + alpha * sum of abs(w). Columns should be of comparable size
    (``StandardScaler``), as for any l1 penalty; a row of weight 1 counts as one row.

    Parameters
    ----------
    max_depth : int, default=6
        Maximum number of splits on a path.
    leaves : {"constant", "softmax"}, default="constant"
        A leaf predicts its most common class, or by a multinomial logistic regression of its own, the softmax of a linear
        function of the row. Trees with softmax leaves need far fewer leaves.
    alpha : float, default=1.0
        Strength of the l1 penalty: a larger value gives fewer columns in each split, and fewer splits. A node that n rows
        reach uses alpha * s * sqrt(n / 1000), where s is the median deviation of the columns (1 if they are standardised),
        multiplied by sqrt(columns / 100) if there are more than 100 columns. An axis-aligned split must save rows of weight
        alpha * sqrt(n / 1000).
    leaf_alpha : float, default=1.0
        Strength of the l2 penalty that draws the linear function of a softmax leaf to that of its parent, for columns of
        deviation 1: a leaf of few rows predicts nearly as its parent would. Ignored by constant leaves.
    init : {"auto", "cart", "classes", "random"}, default="auto"
        Start of the sweeps: "cart" is scikit-learn's greedy tree, "classes" separates groups of classes by hyperplanes,
        "random" draws random hyperplanes. "auto" chooses "cart" for two classes, and "classes" or "cart" for more. With 1,000
        rows or more a short trial on held-out rows makes the choice, and decides for "cart" whether the sweeps accept every
        new split or only those that send no more weight to the wrong side. With fewer rows, "auto" is "classes" for more than
        two classes, and every new split is accepted.
    axis_aligned : bool, default=False
        Learn splits of one column each, by exact optimisation; the sweeps then improve a CART tree.
    max_iter : int, default=20
        Maximum number of sweeps; the search ends earlier after six sweeps without a better tree.
    n_restarts : int, default=1
        Number of searches with different random numbers. The one with the least training error is the result.
    ccp_alpha : float, default=0.0
        Share of the training weight that a leaf must save from being misclassified (minimal cost-complexity pruning). At 0,
        pruning removes only splits that save less than a thousandth of an average row.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, as in scikit-learn.
    random_state : int, RandomState instance or None, default=None
        Seed of the search. The result does not depend on ``n_jobs``.
    n_jobs : int or None, default=None
        Number of threads; None means 1, and -1 means one per processor.
    verbose : int, default=0
        If positive, write a line on stderr after each sweep.

    Attributes
    ----------
    tree_ : counterleaf.Tree
        The learned tree, in the units of X. Its ``outputs`` are the shares of the classes at the leaves, or their softmax.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    loss_curve_ : ndarray of shape (n_iter_ + 1,)
        Training error (log-loss if leaves are softmax) of the start and after each sweep, of the best search; the tree is
        the best of them.
    n_iter_ : int
        Number of sweeps of the best search.
    n_features_in_ : int
        Number of columns seen during ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are all strings.

    Notes
    -----
    M. A. Carreira-Perpiñán and P. Tavallali, *Alternating optimization of decision trees, with application to learning sparse
    oblique trees* (NeurIPS 2018). A US patent application (US 2022/0318641 A1, Regents of the University of California)
    describes TAO; see ``docs/learning.md``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TAOClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> model.score(X, y), model.get_n_leaves()
    (0.9733333333333334, 3)
    """

    _INITS = ("auto", "random", "classes", "cart")
    _LEAVES = ("constant", "softmax")

    def __init__(
        self,
        max_depth: int = 6,
        *,
        leaves: str = "constant",
        alpha: float = 1.0,
        leaf_alpha: float = 1.0,
        init: str = "auto",
        axis_aligned: bool = False,
        max_iter: int = 20,
        n_restarts: int = 1,
        ccp_alpha: float = 0.0,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._store(locals())

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        weight = self._weights(X, sample_weight)
        try:
            by_class = compute_sample_weight(self.class_weight, y)
        except Exception as error:  # of any object
            raise CounterleafError(f"class_weight is {brief(self.class_weight)}: {flat(error)}") from None
        if not (np.isfinite(by_class) & (by_class >= 0)).all():
            raise CounterleafError(
                "class_weight contains a number that is negative or not finite; expected weights of 0 or more"
            )
        self.classes_, codes = np.unique(y, return_inverse=True)
        task = self._task(X, codes, weight * by_class, len(self.classes_))
        price, slack = float(self.ccp_alpha) * task.weight.sum(), _TRIFLE * task.weight.mean()
        if self.leaves == "softmax":
            sweeps = self._learn(task, LeafSettings("softmax", True, float(self.leaf_alpha)))
            self.tree_ = self._computed_tree(task, sweeps, price, slack, self.classes_)
        else:
            self.tree_ = self._constant_tree(task, self._learn(task, LeafSettings()).best, price, slack)

    def _constant_tree(self, task: Task, best: Shape, price: float, slack: float) -> Tree:
        """A tree with the classes' shares at its leaves; its own routing decides which branches rows reach."""
        shape, leaf = raw_units(best, task)
        counts = shape.tally(leaf, task.y, task.weight, task.classes)
        weight = counts.sum(axis=1)
        nodes, children = prune(shape, weight, weight - counts.max(axis=1), price, slack)
        counts = counts[nodes]
        left, right, value = children[:, 0], children[:, 1], counts.argmax(axis=1)
        outputs = Outputs("probability", counts / counts.sum(axis=1, keepdims=True))
        return Tree(left, right, shape.W[nodes], shape.b[nodes], value, self.classes_, outputs=outputs)

    def predict_proba(self, X: Any) -> Array:
        """Estimate the probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The share of each class in the training weight of the leaf that a row reaches, or the leaf's softmax.
        """
        X = self._rows(X)
        return np.concatenate([self.tree_.predict_proba(block) for block in blocks(X)])
