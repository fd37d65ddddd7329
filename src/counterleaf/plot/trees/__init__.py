"""Pictures of trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

from typing import Any

from counterleaf.answer.tree_text import named
from counterleaf.errors import check_whole_number
from counterleaf.plot.trees.whole import draw_whole
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema


def plot_tree(model: Any, feature_names: Any = None, *, max_depth: int | None = None, shape: Any = None) -> Figure:
    """The tree as a matplotlib figure: splits as conditions, leaves as classes.

    Parameters
    ----------
    model : whatever ``read`` takes.
    feature_names : one name per column, or the schema whose variables the columns are; by default the names that the model was
        fitted with, else x0, x1, ...
    max_depth : how many levels of splits are drawn; a subtree below is a triangle that counts its leaves. None: as many
        levels as keep the picture readable.
    shape : (height, width) where the columns are pixels: each split is then the picture of its weights, on its own scale.

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
    tree, names = named(model, feature_names)
    check_whole_number("max_depth", max_depth, 1)
    schema = feature_names if isinstance(feature_names, Schema) else Schema([Numeric(name) for name in names])
    return draw_whole(tree, schema, max_depth, shape)
