"""Trees to draw, and the contents of a figure: its texts and its lines of one colour."""

import matplotlib
import numpy as np
from matplotlib.colors import to_rgb

import counterleaf as cl

matplotlib.use("Agg")


def stump(weights, bias, **fields):
    """A tree with one split, whose left leaf is "no"."""
    zeros = np.zeros(len(weights))
    return cl.Tree([1, -1, -1], [2, -1, -1], [weights, zeros, zeros], [bias, 0, 0], [0, 0, 1], ["no", "yes"], **fields)


def chain(length):
    """A tree that splits off one leaf on each level."""
    n = 2 * length + 1
    left, right = np.full(n, -1), np.full(n, -1)
    left[: 2 * length : 2], right[: 2 * length : 2] = np.arange(1, n, 2), np.arange(2, n, 2)
    return cl.Tree(left, right, np.ones((n, 1)), -np.arange(n), np.arange(n) % 3)


def words(figure):
    """All visible texts of the figure."""
    figure.draw_without_rendering()
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text() and text.get_visible()]


def lines(figure, colour):
    return [line for axes in figure.axes for line in axes.lines if to_rgb(line.get_color()) == to_rgb(colour)]
