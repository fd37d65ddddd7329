"""The part that ``TAOClassifier`` and ``TAORegressor`` share: their parameters, the search, and the learned tree."""

from __future__ import annotations

import sys
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from counterleaf.errors import CounterleafError
from counterleaf.learn.search.leaves import LeafModels, fit_leaves, members
from counterleaf.learn.search.restarts import learn
from counterleaf.learn.search.rows import compress
from counterleaf.learn.search.shape import Shape, prune
from counterleaf.learn.search.sweeps import Sweeps
from counterleaf.learn.search.task import LeafSettings, SearchSettings, SplitSettings, Task
from counterleaf.learn.search.threads import start_workers
from counterleaf.model.outputs import Outputs
from counterleaf.model.tree import Tree
from counterleaf.types import Array

NARROW = 128  # up to this number of columns the solver forms the Hessian of a split
_MANY = 100  # beyond this number of columns the l1 strength grows with its square root
_FULL = 0.25  # sparse rows with a larger share of entries are made dense
_CELLS = 10_000_000  # of sparse rows made dense at a time
_STEPS = 30  # of an iterative fit of the leaves of the learned tree


class TreeLearner(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A learned tree and its search; subclasses set the parameters and know what the leaves hold."""

    _INITS: tuple[str, ...]
    _LEAVES: tuple[str, ...]

    def _weights(self, X: Any, sample_weight: Any) -> Array:
        """The weight of each row, checked."""
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
        rng = check_random_state(self.random_state)
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
        return float(self.alpha * typical * max(1.0, np.sqrt(len(spread) / _MANY)))

    def _log(self, text: str) -> None:
        """Write a line on stderr if ``verbose``."""
        if self.verbose:
            sys.stderr.write(text + "\n")

    def _computed_tree(self, task: Task, sweeps: Sweeps, price: float, slack: float, classes: Any) -> Tree:
        """The tree of the best sweep, pruned, whose leaves compute; its own routing decides which branches rows reach."""
        shape, whole = raw_units(sweeps.best, task)
        leaf = apply(whole, task.X)
        with threadpool_limits(1, user_api="blas"):
            models = fit_leaves(shape, task, leaf, sweeps.settings.leaves, sweeps.best_models, _STEPS)
        rows_of = members(shape, leaf)
        weight = np.array([task.weight[rows].sum() for rows in rows_of])
        loss = np.array([models.wrong(node, task, rows) for node, rows in enumerate(rows_of)])
        nodes, children = prune(shape, weight, loss, price, slack)
        outputs = _outputs(models, nodes, task.rows.origin)
        return Tree(children[:, 0], children[:, 1], shape.W[nodes], shape.b[nodes], None, classes, outputs=outputs)

    def _check_parameters(self) -> None:
        """Raise ``CounterleafError`` if a parameter of the constructor has a wrong type or value."""
        for name, least in (("max_depth", 1), ("max_iter", 1), ("n_restarts", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise CounterleafError(f"{name} is {value!r}; expected a whole number from {least}")
        for name in ("alpha", "leaf_alpha", "ccp_alpha"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= value <= sys.float_info.max:  # type: ignore[operator]  # Real declares no <=
                raise CounterleafError(f"{name} is {value!r}; expected a number from 0")
        if self.axis_aligned not in (True, False):
            raise CounterleafError(f"axis_aligned is {self.axis_aligned!r}; expected True or False")
        if self.n_jobs is not None and (
            isinstance(self.n_jobs, bool) or not isinstance(self.n_jobs, Integral) or self.n_jobs == 0
        ):
            raise CounterleafError(f"n_jobs is {self.n_jobs!r}; expected a number of threads, -1 for all, or None for one")
        for name, known in (("leaves", self._LEAVES), ("init", self._INITS)):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                raise CounterleafError(f"{name} is {value!r}; expected one of {', '.join(map(repr, known))}")
        if self.axis_aligned and self.init not in ("auto", "cart"):
            raise CounterleafError(
                f'init is {self.init!r}; with axis_aligned=True the start is a CART tree: pass "cart" or "auto"'
            )

    def _rows(self, X: Any) -> Any:
        """Rows to predict, checked."""
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle; parameters that it is too old to have get their defaults."""
        parameters = signature(type(self).__init__).parameters.values()
        defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
        super().__setstate__({**defaults, **state})

    def __sklearn_tags__(self) -> Any:
        """Declare that sparse rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def raw_units(best: Shape, task: Task) -> tuple[Shape, Tree]:
    """A learned shape in the units of X, and a tree that routes by it."""
    shape = Shape(best.left, best.right, best.W, best.b - best.W @ task.rows.origin).turned()
    return shape, Tree(shape.left, shape.right, shape.W, shape.b, np.zeros(len(shape.left)))


def blocks(X: Any) -> list[Any]:
    """Rows in dense blocks: all at once if they are dense."""
    if not sparse.issparse(X):
        return [X]
    size = max(_CELLS // X.shape[1], 1)
    return [X[k : k + size].toarray() for k in range(0, X.shape[0], size)]


def apply(tree: Tree, X: Any) -> Array:
    """The leaf of each row, dense or sparse."""
    return np.concatenate([tree.apply(block) for block in blocks(X)])


def _outputs(models: LeafModels, nodes: Array, origin: Array) -> Outputs:
    """The models of some nodes as outputs, in the units of X."""
    slope, intercept = models.coef[nodes][:, :-1], models.coef[nodes][:, -1]
    if not slope.shape[1]:
        return Outputs(models.kind, intercept)
    rows = slope.transpose(0, 2, 1).reshape(-1, slope.shape[1])
    return Outputs(models.kind, intercept - (rows @ origin).reshape(intercept.shape), rows)
