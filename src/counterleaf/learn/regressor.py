"""TAORegressor: small, accurate trees with oblique splits and constant or linear leaves as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from counterleaf.learn.estimator import TreeLearner
from counterleaf.learn.search.task import LeafSettings

_TRIFLE = 1e-9  # of the sum of squares around the mean: a split that saves no more is removed
_ROUNDING = 1e-15  # of the sum of squares: less is the rounding error of a fit


class TAORegressor(RegressorMixin, TreeLearner):  # type: ignore[misc]  # scikit-learn has no types
    """Regression tree with sparse oblique (or axis-aligned) splits and constant or linear leaves, learned by TAO.

    As ``TAOClassifier``, for numbers: sweeps over the nodes of a tree of fixed shape replace one split at a time by a better
    one for the rows that reach it, and refit the leaves, to minimise the sum of squared errors. A row counts at a split by the
    difference of its squared errors through the two children. Columns should be of comparable size (``StandardScaler``).

    Parameters
    ----------
    max_depth : int, default=4
        Maximum number of splits on a path.
    leaves : {"linear", "constant"}, default="linear"
        A leaf predicts a linear function of the row, or the mean of its training rows.
    alpha : float, default=1.0
        Strength of the l1 penalty on the weights of a split, as in ``TAOClassifier``.
    leaf_alpha : float, default=1.0
        Strength of the l2 penalty that draws the linear function of a node to that of its parent, for columns of deviation 1:
        a leaf of few rows, compared with ``leaf_alpha``, predicts nearly as its parent would. Ignored by constant leaves.
    init : {"auto", "cart", "random"}, default="auto"
        Start of the sweeps: "cart" is a greedy tree, "random" draws random hyperplanes. With 1,000 rows or more, "auto"
        chooses the better one by a short trial on held-out rows; with fewer rows it is "random" for linear leaves and "cart"
        for constant ones.
    axis_aligned : bool, default=False
        Learn splits of one column each, by exact optimisation; the sweeps then improve a CART tree.
    max_iter : int, default=20
        Maximum number of sweeps; the search ends earlier after six sweeps without a better tree.
    n_restarts : int, default=1
        Number of searches with different random numbers. The one with the least training error is the result.
    ccp_alpha : float, default=0.0
        Share of the sum of squares around the mean that a leaf must save (minimal cost-complexity pruning).
    random_state : int, RandomState instance or None, default=None
        Seed of the search. The result does not depend on ``n_jobs``.
    n_jobs : int or None, default=None
        Number of threads; None means 1, and -1 means one per processor.
    verbose : int, default=0
        If positive, write a line on stderr after each sweep.

    Attributes
    ----------
    tree_ : counterleaf.Tree
        The learned tree, in the units of X; its ``outputs`` are of kind "value".
    loss_curve_ : ndarray of shape (n_iter_ + 1,)
        Mean squared error on the training rows of the start and after each sweep, of the best search.
    n_iter_ : int
        Number of sweeps of the best search.
    n_features_in_ : int
        Number of columns seen during ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are all strings.

    Notes
    -----
    See ``TAOClassifier`` for the reference and the note on patents.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 3 * X[:, 0], 5 - X[:, 1])
    >>> model = TAORegressor(max_depth=1, random_state=0).fit(X, y)
    >>> model.get_n_leaves(), bool(model.score(X, y) > 0.95)
    (2, True)
    """

    _INITS = ("auto", "cart", "random")
    _LEAVES = ("constant", "linear")

    def __init__(
        self,
        max_depth: int = 4,
        *,
        leaves: str = "linear",
        alpha: float = 1.0,
        leaf_alpha: float = 1.0,
        init: str = "auto",
        axis_aligned: bool = False,
        max_iter: int = 20,
        n_restarts: int = 1,
        ccp_alpha: float = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._store(locals())

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True)
        task = self._task(X, y.astype(np.float64), self._weights(X, sample_weight), 0)
        sweeps = self._learn(task, LeafSettings("value", self.leaves == "linear", float(self.leaf_alpha)))
        squares = float(task.weight @ (task.y - np.average(task.y, weights=task.weight)) ** 2)
        slack = _TRIFLE * squares + _ROUNDING * float(task.weight @ task.y**2)
        self.tree_ = self._computed_tree(task, sweeps, float(self.ccp_alpha) * squares, slack, None)
