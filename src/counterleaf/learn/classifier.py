"""TAOClassifier: small, accurate, sparse oblique trees as a scikit-learn estimator."""

from __future__ import annotations

import sys
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from counterleaf.errors import CounterleafError
from counterleaf.learn.restarts import learn
from counterleaf.learn.rows import compress
from counterleaf.learn.shape import Shape, prune
from counterleaf.learn.task import SearchSettings, SplitSettings, Task
from counterleaf.learn.threads import start_workers
from counterleaf.model.tree import Tree
from counterleaf.types import Array

_NARROW = 128  # up to this number of columns the solver forms the Hessian of a split
_MANY = 100  # beyond this number of columns the l1 strength grows with its square root
_FULL = 0.25  # sparse rows with a larger share of entries are made dense
_TRIFLE = 1e-3  # of an average row's weight: a split that saves no more is removed, however many light rows it separates
_INITS = ("auto", "random", "classes", "cart")
_CELLS = 10_000_000  # of sparse rows made dense at a time


class TAOClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Decision tree with sparse oblique (or axis-aligned) splits, learned by tree alternating optimisation (TAO).

    The tree has a fixed shape. Sweeps over its nodes, from the deepest up, replace one split at a time by a better one for the
    rows that reach it, and minimise the misclassified weight + alpha * sum of abs(w). Columns should be of comparable size
    (``StandardScaler``), as for any l1 penalty; a row of weight 1 counts as one row.

    Parameters
    ----------
    max_depth : int, default=6
        Maximum number of splits on a path.
    alpha : float, default=1.0
        Strength of the l1 penalty: a larger value gives fewer columns in each split, and fewer splits. A node that n rows
        reach uses alpha * s * sqrt(n / 1000), where s is the median deviation of the columns (1 if they are standardised),
        multiplied by sqrt(columns / 100) if there are more than 100 columns. An axis-aligned split must save rows of weight
        alpha * sqrt(n / 1000).
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
        The learned tree, in the units of X.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    shares_ : ndarray of shape (n_nodes, n_classes)
        Share of each class in the training weight at each node of ``tree_``.
    loss_curve_ : ndarray of shape (n_iter_ + 1,)
        Training error of the start and after each sweep, of the best search; the tree is the best of them.
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

    def __init__(
        self,
        max_depth: int = 6,
        *,
        alpha: float = 1.0,
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
        self.max_depth = max_depth
        self.alpha = alpha
        self.init = init
        self.axis_aligned = axis_aligned
        self.max_iter = max_iter
        self.n_restarts = n_restarts
        self.ccp_alpha = ccp_alpha
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TAOClassifier:
        """Learn a tree.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            The label of each row.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weight of each row; None means 1 for all.

        Returns
        -------
        TAOClassifier
            The fitted estimator.
        """
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weight < 0).any():
            raise CounterleafError("sample_weight contains a negative number; expected weights of 0 or more")
        by_class = compute_sample_weight(self.class_weight, y)
        if not (np.isfinite(by_class) & (by_class >= 0)).all():
            raise CounterleafError(
                "class_weight contains a number that is negative or not finite; expected weights of 0 or more"
            )
        weight = weight * by_class
        if not weight.any():
            raise CounterleafError("every row has weight 0; give at least one a positive weight")
        self.classes_, codes = np.unique(y, return_inverse=True)
        used = weight > 0
        task = self._task(X[used], codes[used], weight[used])
        splits = SplitSettings(self._strength(task), X.shape[1] <= _NARROW, bool(self.axis_aligned))
        search = SearchSettings(self.init, self.max_depth, self.max_iter, self.n_restarts)
        rng = check_random_state(self.random_state)
        with start_workers(effective_n_jobs(self.n_jobs)) as workers:
            sweeps = learn(task, splits, search, rng, workers, self._log)
        self.loss_curve_ = np.array(sweeps.errors) / task.weight.sum()
        self.n_iter_ = max(len(sweeps.errors) - 1, 1)
        self._set_tree(task, sweeps.best)
        return self

    def _task(self, X: Any, y: Array, weight: Array) -> Task:
        """The training rows as the search reads them."""
        if sparse.issparse(X) and (self.axis_aligned or X.nnz > _FULL * X.shape[0] * X.shape[1]):
            X = X.toarray()
        # a threshold on one column is exact only in the units of that column
        return Task(X, compress(X, weight, shift=not self.axis_aligned), y, weight, len(self.classes_))

    def _strength(self, task: Task) -> float:
        """alpha in the units of the columns, increased if there are many columns, since some of them fit by chance."""
        if self.axis_aligned:
            return float(self.alpha)
        spread = task.rows.spread(task.weight)
        typical = float(np.median(spread[spread > 0])) if spread.any() else 1.0
        return float(self.alpha * typical * max(1.0, np.sqrt(len(spread) / _MANY)))

    def _log(self, text: str) -> None:
        """Write a line on stderr if ``verbose``."""
        if self.verbose:
            sys.stderr.write(text + "\n")

    def _set_tree(self, task: Task, best: Shape) -> None:
        """Set ``tree_``, in the units of X, and ``shares_``; the routing of that tree decides which branches rows reach."""
        shape = Shape(best.left, best.right, best.W, best.b - best.W @ task.rows.origin).turned()
        whole = Tree(shape.left, shape.right, shape.W, shape.b, np.zeros(len(shape.left)), self.classes_)
        counts = shape.tally(_apply(whole, task.X), task.y, task.weight, task.classes)
        nodes, children = prune(shape, counts, float(self.ccp_alpha) * task.weight.sum(), _TRIFLE * task.weight.mean())
        counts = counts[nodes]
        self.tree_ = Tree(children[:, 0], children[:, 1], shape.W[nodes], shape.b[nodes], counts.argmax(axis=1), self.classes_)
        self.shares_ = counts / counts.sum(axis=1, keepdims=True)

    def _check_parameters(self) -> None:
        """Raise ``CounterleafError`` if a parameter of the constructor has a wrong type or value."""
        for name, least in (("max_depth", 1), ("max_iter", 1), ("n_restarts", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise CounterleafError(f"{name} is {value!r}; expected a whole number from {least}")
        for name in ("alpha", "ccp_alpha"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= value <= sys.float_info.max:  # type: ignore[operator]  # Real declares no <=
                raise CounterleafError(f"{name} is {value!r}; expected a number from 0")
        if self.axis_aligned not in (True, False):
            raise CounterleafError(f"axis_aligned is {self.axis_aligned!r}; expected True or False")
        if self.n_jobs is not None and (
            isinstance(self.n_jobs, bool) or not isinstance(self.n_jobs, Integral) or self.n_jobs == 0
        ):
            raise CounterleafError(f"n_jobs is {self.n_jobs!r}; expected a number of threads, -1 for all, or None for one")
        if not isinstance(self.init, str) or self.init not in _INITS:
            raise CounterleafError(f"init is {self.init!r}; expected one of {', '.join(map(repr, _INITS))}")
        if self.axis_aligned and self.init not in ("auto", "cart"):
            raise CounterleafError(
                f'init is {self.init!r}; with axis_aligned=True the start is a CART tree: pass "cart" or "auto"'
            )

    def apply(self, X: Any) -> Array:
        """Find the leaf of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Node numbers of ``tree_``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return _apply(self.tree_, X)

    def predict(self, X: Any) -> Array:
        """Predict the label of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.
        """
        leaves = self.apply(X)
        return np.asarray(self.classes_[self.tree_.value[leaves]])

    def predict_proba(self, X: Any) -> Array:
        """Estimate the probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The share of each class in the training weight of the leaf that a row reaches.
        """
        leaves = self.apply(X)
        return np.asarray(self.shares_[leaves])

    def get_depth(self) -> int:
        """Count the splits on the longest path.

        Returns
        -------
        int
            The depth of the tree.
        """
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Count the leaves.

        Returns
        -------
        int
            The number of leaves.
        """
        check_is_fitted(self)
        return len(self.tree_.leaves)

    def __sklearn_tags__(self) -> Any:
        """Declare that sparse rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _apply(tree: Tree, X: Any) -> Array:
    """The leaf of each row; sparse rows are made dense in blocks."""
    if not sparse.issparse(X):
        return tree.apply(X)
    size = max(_CELLS // X.shape[1], 1)
    return np.concatenate([tree.apply(X[k : k + size].toarray()) for k in range(0, X.shape[0], size)])
