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
from counterleaf.learn.prune import prune
from counterleaf.learn.restarts import learn
from counterleaf.learn.rows import compress
from counterleaf.learn.shape import Shape
from counterleaf.learn.task import Settings, Task
from counterleaf.learn.threads import crew
from counterleaf.model.tree import Tree
from counterleaf.types import Array

_NARROW = 128  # up to this many columns the Hessian of a split is written down
_MANY = 100  # columns beyond which the l1 strength grows with the root of their number
_FULL = 0.25  # sparse rows with a larger share of entries are written out
_TRIFLE = 1e-3  # of an average row's weight: a split that saves no more does not matter, however many light rows it serves
_INITS = ("auto", "random", "classes", "cart")
_CELLS = 10_000_000  # of sparse rows written out at a time


class TAOClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A decision tree with sparse oblique (or axis-aligned) splits, learned by tree alternating optimisation (TAO).

    The tree has a fixed shape; sweeps over its nodes, from the deepest up, replace one split at a time by a better one for the
    rows about which it decides, towards the least misclassified weight + alpha * sum of abs(w). Columns should be of
    comparable size (``StandardScaler``), as for any l1 penalty; a weight of 1 counts as one row.

    Parameters
    ----------
    max_depth : the greatest number of splits on a path.
    alpha : the l1 strength: larger means fewer columns in each split, and fewer splits. A node that decides about n rows uses
        alpha * s * sqrt(n / 1000) with s the median deviation of the columns (1 if standardised), times
        sqrt(columns / 100) where there are more than 100. An axis-aligned split must save rows of weight
        alpha * sqrt(n / 1000).
    init : where the sweeps start: "cart" from scikit-learn's greedy tree, "classes" from hyperplanes between groups of classes,
        "random" from random ones. "auto": for two classes from "cart", for more from "classes" or "cart". With 1,000 rows or
        more a short trial on held-out rows tells which, and for "cart" whether every new split is taken or only such as send no
        more weight to the wrong side; with fewer rows it is "classes" for more than two, and every new split.
    axis_aligned : splits of one column each, found exactly; the sweeps then improve a CART tree.
    max_iter : the most sweeps; six without a better tree end the search.
    n_restarts : searches from different random numbers, of which the best by training error is kept.
    ccp_alpha : the share of the training weight that a leaf must save from being misclassified (minimal cost-complexity
        pruning). At 0 only splits that save nothing, or less than a thousandth of an average row, are removed.
    class_weight : None, "balanced", or a dict from class to weight.
    random_state : seed or RandomState. The result depends on it alone, not on ``n_jobs``.
    n_jobs : threads; None means 1, -1 all.
    verbose : 1 writes a line on stderr after each sweep.

    Attributes
    ----------
    tree_ : the learned ``counterleaf.Tree``, in the units of X.
    classes_ : the labels, in order.
    shares_ : (nodes, classes), what share of the training weight at each node of ``tree_`` is of each class.
    loss_curve_ : training error of the start and after each sweep, of the search that was kept; the tree is the best of them.
    n_iter_ : the number of its sweeps.
    n_features_in_, feature_names_in_ : as in scikit-learn.

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
        """Learn a tree from rows (dense or scipy sparse), their labels and, if given, their weights."""
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weight < 0).any():
            raise CounterleafError("sample_weight holds a negative number; expected weights of 0 or more")
        by_class = compute_sample_weight(self.class_weight, y)
        if not (np.isfinite(by_class) & (by_class >= 0)).all():
            raise CounterleafError("class_weight holds a number that is negative or not finite; expected weights of 0 or more")
        weight = weight * by_class
        if not weight.any():
            raise CounterleafError("every row has weight 0; give at least one a positive weight")
        self.classes_, codes = np.unique(y, return_inverse=True)
        used = weight > 0
        task = self._task(X[used], codes[used], weight[used])
        settings = Settings(self._strength(task), X.shape[1] <= _NARROW, bool(self.axis_aligned))
        rng = check_random_state(self.random_state)
        with crew(effective_n_jobs(self.n_jobs)) as hands:
            found = learn(task, settings, self.init, self.max_depth, self.max_iter, self.n_restarts, rng, hands, self._tell)
        self.loss_curve_ = np.array(found.errors) / task.weight.sum()
        self.n_iter_ = max(len(found.errors) - 1, 1)
        self._keep(task, found.best)
        return self

    def _task(self, X: Any, y: Array, weight: Array) -> Task:
        if sparse.issparse(X) and (self.axis_aligned or X.nnz > _FULL * X.shape[0] * X.shape[1]):
            X = X.toarray()
        # a cut of one column is exact only over the column itself
        return Task(X, compress(X, weight, shift=not self.axis_aligned), y, weight, len(self.classes_))

    def _strength(self, task: Task) -> float:
        """alpha in the units of the columns, more of it where there are so many that some fit by chance."""
        if self.axis_aligned:
            return float(self.alpha)
        spread = task.rows.spread(task.weight)
        typical = float(np.median(spread[spread > 0])) if spread.any() else 1.0
        return float(self.alpha * typical * max(1.0, np.sqrt(len(spread) / _MANY)))

    def _tell(self, text: str) -> None:
        if self.verbose:
            sys.stderr.write(text + "\n")

    def _keep(self, task: Task, best: Shape) -> None:
        """The tree in the units of the input; its own routing decides which branches rows reach."""
        shape = Shape(best.left, best.right, best.W, best.b - best.W @ task.rows.origin).turned()
        whole = Tree(shape.left, shape.right, shape.W, shape.b, np.zeros(len(shape.left)), self.classes_)
        counts = shape.tally(_apply(whole, task.X), task.y, task.weight, task.classes)
        kept, children = prune(shape, counts, float(self.ccp_alpha) * task.weight.sum(), _TRIFLE * task.weight.mean())
        own = counts[kept]
        self.tree_ = Tree(children[:, 0], children[:, 1], shape.W[kept], shape.b[kept], own.argmax(axis=1), self.classes_)
        self.shares_ = own / own.sum(axis=1, keepdims=True)

    def _check_parameters(self) -> None:
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
        """The leaf of each row, a node number of ``tree_``."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return _apply(self.tree_, X)

    def predict(self, X: Any) -> Array:
        """The label of each row."""
        leaves = self.apply(X)
        return np.asarray(self.classes_[self.tree_.value[leaves]])

    def predict_proba(self, X: Any) -> Array:
        """(rows, classes): the share of each class in the training weight of the leaf that a row reaches."""
        leaves = self.apply(X)
        return np.asarray(self.shares_[leaves])

    def get_depth(self) -> int:
        """The greatest number of splits on a path."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self)
        return len(self.tree_.leaves)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _apply(tree: Tree, X: Any) -> Array:
    if not sparse.issparse(X):
        return tree.apply(X)
    size = max(_CELLS // X.shape[1], 1)
    return np.concatenate([tree.apply(X[k : k + size].toarray()) for k in range(0, X.shape[0], size)])
