"""Pictures of explanations; matplotlib is optional and imported inside the functions that draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterleaf.answer.explanation import Explanation
from counterleaf.errors import CounterleafError, check_whole_number
from counterleaf.plot.canvas import style
from counterleaf.plot.changes import draw_changes
from counterleaf.plot.curves import draw_fronts, draw_margins
from counterleaf.plot.image import draw_image, image_shape
from counterleaf.plot.regions import draw_regions
from counterleaf.plot.trees.path import draw_paths
from counterleaf.table.features import Numeric

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_OF_TREES = ("regions", "tree")  # kinds of figures that show the leaves of a single tree

__all__ = ["draw", "draw_fronts", "draw_margins"]


def draw(answer: Explanation, kind: Any, shape: Any, features: Any, count: Any) -> Figure:
    """Return the figure of ``Explanation.plot``, or raise an error that says why there is none."""
    one_tree = answer.decision.model.is_one_tree
    if kind is None:
        plane = features is not None or (len(answer.schema) == 2 and not _not_numeric(answer) and not answer.schema.gaps)
        plane = plane and (features is not None or one_tree)
        kind = "image" if shape is not None else "regions" if plane else "changes"
    if kind not in ("changes", "regions", "image", "tree"):
        raise CounterleafError(f'kind is {kind!r}; expected "changes", "regions", "image" or "tree"')
    if kind in _OF_TREES and not one_tree:
        raise CounterleafError(f'kind is {kind!r}, which shows a single tree, and the model is an ensemble; use kind="changes"')
    check_whole_number("count", count, 1)
    if not len(answer) and kind in ("changes", "image"):
        more = '; kind="tree" shows the source' if one_tree else ""
        raise CounterleafError(f'the status is "{answer.status}", so there is no change to draw{more}')
    most = None if count is None else int(count)
    with style():
        if kind == "changes":
            return draw_changes(answer, most or 1)
        if kind == "image":
            return draw_image(answer, _image_shape(answer, shape), most or 3)
        if kind == "regions":
            return draw_regions(answer, _pair(answer, features), most or 9)
        return draw_paths(answer)


def _not_numeric(answer: Explanation) -> list[str]:
    return [feature.name for feature in answer.schema if not isinstance(feature, Numeric)]


def _image_shape(answer: Explanation, shape: Any) -> tuple[int, ...]:
    n, others = len(answer.schema), _not_numeric(answer)
    if answer.schema.gaps:
        raise CounterleafError(f'feature {next(iter(answer.schema.gaps))!r} may be missing; use kind="changes"')
    if others:
        raise CounterleafError(f'feature {others[0]!r} is not a number, so the row is not an image; use kind="changes"')
    return image_shape(shape, n, "the row has {} features", colour=True)


def _pair(answer: Explanation, features: Any) -> list[int]:
    """Return the variables of the two numbers that span the plane."""
    n = len(answer.schema)
    if features is None and n != 2:
        raise CounterleafError(f'the table has {n} features; regions are drawn over two: pass features=("a", "b")')
    if features is None:
        features = answer.schema.names
    if isinstance(features, (str, bytes)) or not hasattr(features, "__len__") or len(features) != 2:
        raise CounterleafError(f"features is {features!r}; expected the names of two features")
    a, b = (answer.schema.index(name) for name in features)
    if a == b:
        raise CounterleafError(f"features names {features[0]!r} twice; expected two different features")
    for d in (a, b):
        if answer.schema.names[d] in answer.schema.gaps:
            raise CounterleafError(
                f"feature {answer.schema.names[d]!r} may be missing; regions are drawn over two numbers: pass other features"
            )
        if answer.schema.names[d] in _not_numeric(answer):
            raise CounterleafError(
                f"feature {answer.schema.names[d]!r} is not a number; regions are drawn over two numbers: pass other features"
            )
    return [int(answer.schema.starts[d]) for d in (a, b)]
