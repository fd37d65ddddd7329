"""Pictures of trees: ``plot_tree`` draws a whole tree, ``draw_paths`` the paths of an explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterleaf.answer.tree_text import tree_and_names
from counterleaf.errors import check_whole_number
from counterleaf.plot.trees.whole import draw_whole
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_tree(model: Any, feature_names: Any = None, *, max_depth: int | None = None, shape: Any = None) -> Figure:
    """Draw a tree as a matplotlib figure, with its splits as conditions and its leaves as classes.

    Parameters
    ----------
    model : Tree, estimator or Pipeline
        A model that ``read_tree`` can read, or a pipeline that ends with one, whose tree is drawn over raw columns.
    feature_names : list of str or Schema, optional
        One name per column, or the schema whose variables the columns are. By default the names that the model was fitted with,
        else x0, x1, ...
    max_depth : int, optional
        The number of levels of splits to draw; a subtree below is a triangle that counts its leaves. By default as many levels
        as are readable.
    shape : tuple of int, optional
        The height and width of the image if the columns are pixels; each split is then a picture of its weights, on its own
        scale.

    Returns
    -------
    Figure
        The figure; it is pyplot's current figure if pyplot is in use.

    Raises
    ------
    CounterleafError
        If the model cannot be read, an argument does not fit it, or matplotlib is not installed.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> figure = plot_tree(DecisionTreeClassifier(max_leaf_nodes=10, random_state=0).fit(X, y), shape=(8, 8))
    >>> len(figure.axes[0].images)  # nine splits and the scale of colours
    10
    """
    tree, names, schema = tree_and_names(model, feature_names)
    check_whole_number("max_depth", max_depth, 1)
    return draw_whole(tree, schema or Schema([Numeric(name) for name in names]), max_depth, shape)
