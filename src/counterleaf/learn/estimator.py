"""The part that ``TAOClassifier`` and ``TAORegressor`` share: their parameters, the search, and the learned tree."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from counterleaf.errors import CounterleafError, brief, check_flag, number, whole
from counterleaf.learn.search.leaves import LeafModels, fit_leaves, members
from counterleaf.learn.search.restarts import learn
from counterleaf.learn.search.shape import Shape, prune
from counterleaf.learn.search.sweeps import Sweeps, start_workers
from counterleaf.learn.search.task import LeafSettings, SearchSettings, SplitSettings, Task, compress
from counterleaf.model.outputs import Outputs
from counterleaf.model.tree import Tree
from counterleaf.types import Array

NARROW = 128  # up to this number of columns the solver forms the Hessian of a split
_MANY = 100  # beyond this number of columns the l1 strength grows with its square root
_FULL = 0.25  # sparse rows with a larger share of entries are made dense
_CELLS = 10_000_000  # of sparse rows made dense at a time
_MOST = 2**31 - 1  # of a parameter that counts
_STEPS = 30  # of an iterative fit of the leaves of the learned tree


class TreeLearner(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A learned tree and its search; subclasses set the parameters and know what the leaves hold."""

    _INITS: tuple[str, ...]
    _LEAVES: tuple[str, ...]

    def _store(self, parameters: Mapping[str, Any]) -> None:
        """Set the parameters of the constructor as attributes, all that scikit-learn lets it do; ``fit`` checks them."""
        for name, value in parameters.items():
            if name != "self":
                setattr(self, name, value)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn a tree.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            The label or the number of each row.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weight of each row; None means 1 for all.

        Returns
        -------
        TAOClassifier or TAORegressor
            The fitted estimator.
        """
        self._check_parameters()
        self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Learn ``tree_`` and set what belongs to it."""
        raise NotImplementedError

    def _weights(self, X: Any, sample_weight: Any) -> Array:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weight < 0).any():
            raise CounterleafError("sample_weight contains a negative number; expected weights of 0 or more")
        return np.asarray(weight)

    def _task(self, X: Any, y: Array, weight: Array, classes: int) -> Task:
        """The rows of positive weight as the search reads them."""
        if not weight.any():
            raise CounterleafError("every row has weight 0; give at least one a positive weight")
        used = weight > 0
        X, y, weight = X[used], y[used], weight[used]
        if sparse.issparse(X) and (self.axis_aligned or X.nnz > _FULL * X.shape[0] * X.shape[1]):
            X = X.toarray()
        # a threshold on one column is exact only in the units of that column
        return Task(X, compress(X, weight, shift=not self.axis_aligned), y, weight, classes)

    def _learn(self, task: Task, leaves: LeafSettings) -> Sweeps:
        """Search for a tree; sets ``loss_curve_`` and ``n_iter_``."""
        narrow = task.X.shape[1] <= NARROW
        splits = SplitSettings(self._strength(task), narrow, bool(self.axis_aligned), leaves)
        search = SearchSettings(self.init, self.max_depth, self.max_iter, self.n_restarts)
        try:
            rng = check_random_state(self.random_state)
        except Exception:  # of any object
            expected = "a whole number below 2**32, a RandomState or None"
            raise CounterleafError(f"random_state is {brief(self.random_state)}; expected {expected}") from None
        # the products of a leaf are small: more threads in BLAS make them slower, and results depend on their number
        with threadpool_limits(1, user_api="blas"), start_workers(effective_n_jobs(self.n_jobs)) as workers:
            sweeps = learn(task, splits, search, rng, workers, self._log)
        self.loss_curve_ = np.array(sweeps.errors) / task.weight.sum()
        self.n_iter_ = max(len(sweeps.errors) - 1, 1)
        return sweeps

    def _strength(self, task: Task) -> float:
        """alpha in the units of the columns, increased if there are many columns, since some of them fit by chance."""
        if self.axis_aligned:
            return float(self.alpha)
        spread = task.rows.spread(task.weight)
        typical = float(np.median(spread[spread > 0])) if spread.any() else 1.0
        return float(float(self.alpha) * typical * max(1.0, np.sqrt(len(spread) / _MANY)))

    def _log(self, text: str) -> None:
        if self.verbose:
            sys.stderr.write(text + "\n")

    def _computed_tree(self, task: Task, sweeps: Sweeps, price: float, slack: float, classes: Any) -> Tree:
        """The tree of the best sweep, pruned, whose leaves compute; its own routing decides which branches rows reach."""
        shape, leaf = raw_units(sweeps.best, task)
        with threadpool_limits(1, user_api="blas"):
            models = fit_leaves(shape, task, leaf, sweeps.settings.leaves, sweeps.best_models, _STEPS)
        rows_of = members(shape, leaf)
        weight = np.array([task.weight[rows].sum() for rows in rows_of])
        loss = np.array([models.wrong(node, task, rows) for node, rows in enumerate(rows_of)])
        nodes, children = prune(shape, weight, loss, price, slack)
        outputs = _outputs(models, nodes, task.rows.origin)
        return Tree(children[:, 0], children[:, 1], shape.W[nodes], shape.b[nodes], None, classes, outputs=outputs)

    def _check_parameters(self) -> None:
        for name, least in (("max_depth", 1), ("max_iter", 1), ("n_restarts", 1)):
            value = getattr(self, name)
            if not whole(value, least):
                raise CounterleafError(f"{name} is {brief(value)}; expected a whole number from {least}")
            if value > _MOST:
                raise CounterleafError(f"{name} is {brief(value)}; expected a whole number up to {_MOST:,}")
        for name in ("alpha", "leaf_alpha", "ccp_alpha"):
            if not _is_strength(value := getattr(self, name)):
                raise CounterleafError(f"{name} is {brief(value)}; expected a number from 0")
        check_flag(self.axis_aligned, "axis_aligned")
        if not isinstance(self.verbose, (bool, np.bool_)) and not whole(self.verbose, 0):
            raise CounterleafError(f"verbose is {brief(self.verbose)}; expected True, False or a level from 0")
        if self.n_jobs is not None and (not whole(self.n_jobs, -_MOST) or self.n_jobs == 0 or self.n_jobs > _MOST):
            raise CounterleafError(f"n_jobs is {brief(self.n_jobs)}; expected a number of threads, -1 for all, or None for one")
        for name, known in (("leaves", self._LEAVES), ("init", self._INITS)):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                raise CounterleafError(f"{name} is {brief(value)}; expected one of {', '.join(map(repr, known))}")
        if self.axis_aligned and self.init not in ("auto", "cart"):
            raise CounterleafError(
                f'init is {self.init!r}; with axis_aligned=True the start is a CART tree: pass "cart" or "auto"'
            )

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def predict(self, X: Any) -> Array:
        """Predict the label or the number of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels of a classifier, numbers of a regressor.
        """
        X = self._rows(X)
        return np.concatenate([self.tree_.predict(block) for block in blocks(X)])

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
        X = self._rows(X)
        return apply(self.tree_, X)

    def get_depth(self) -> int:
        """Count the splits on the longest path.

        Returns
        -------
        int
            The depth of the tree.
        """
        check_is_fitted(self)
        return int(self.tree_.depth)

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


def raw_units(best: Shape, task: Task) -> tuple[Shape, Array]:
    """A learned shape in the units of X, and the leaf of each row in a tree that routes by it."""
    shape = Shape(best.left, best.right, best.W, best.b - best.W @ task.rows.origin).turned()
    return shape, apply(Tree(shape.left, shape.right, shape.W, shape.b, np.zeros(len(shape.left))), task.X)


def blocks(X: Any) -> list[Any]:
    """Rows in dense blocks: all at once if they are dense."""
    if not sparse.issparse(X):
        return [X]
    size = max(_CELLS // X.shape[1], 1)
    return [X[k : k + size].toarray() for k in range(0, X.shape[0], size)]


def apply(tree: Tree, X: Any) -> Array:
    """The leaf of each row, dense or sparse."""
    return np.concatenate([tree.apply(block) for block in blocks(X)])


def _is_strength(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and number(value, "") >= 0
    except CounterleafError:
        return False


def _outputs(models: LeafModels, nodes: Array, origin: Array) -> Outputs:
    slope, intercept = models.coef[nodes][:, :-1], models.coef[nodes][:, -1]
    if not slope.shape[1]:
        return Outputs(models.kind, intercept)
    rows = slope.transpose(0, 2, 1).reshape(-1, slope.shape[1])
    return Outputs(models.kind, intercept - (rows @ origin).reshape(intercept.shape), rows)
