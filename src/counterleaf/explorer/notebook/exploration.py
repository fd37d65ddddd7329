"""What ``Explainer.explore`` returns: the page inside a notebook, or in a browser."""

from __future__ import annotations

import secrets
import sys
from html import escape
from numbers import Integral
from typing import Any

import numpy as np

import counterleaf as cl
from counterleaf.errors import brief, check_whole_number, number, some
from counterleaf.explorer.notebook.background import Background
from counterleaf.explorer.notebook.widget import make_widget
from counterleaf.explorer.session.opening import check_scene
from counterleaf.explorer.session.scene import Scene
from counterleaf.explorer.session.session import Session
from counterleaf.explorer.web.server import open_page
from counterleaf.question.query import read_goal
from counterleaf.table.frames import Frame, by_name, is_frame, is_polars, make_frame, records

NO_WIDGET = "counterleaf: the page opens in another tab; to show it inside the notebook: pip install anywidget"


class Exploration:
    """The explorer of one model. It ends with ``close()`` or with the program.

    Jupyter shows it where it is the last value of a cell. Elsewhere a browser opens it.
    """

    def __init__(self, session: Session, height: int) -> None:
        self._background = Background(session)
        self._widget: Any = None
        if not _in_notebook():
            open_page(self._background.serve().first_address)
            return
        try:
            self._widget = make_widget(self._background, height)
        except ImportError:
            sys.stderr.write(f"{NO_WIDGET}\n")

    @property
    def url(self) -> str:
        """The address of the page, for any browser of this machine; the first use starts a local server."""
        return self._background.serve().link

    def close(self) -> None:
        """End the server and the widget."""
        self._background.close()
        if self._widget is not None:
            self._widget.close()

    def __repr__(self) -> str:
        if self._background.is_closed:
            return "<Exploration, closed>"
        if self._widget is not None:
            return "<Exploration in this notebook>"
        return f"<Exploration at {self.url}>" if self._background.is_serving else "<Exploration; open its url in a browser>"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, or a link to the page."""
        if self._background.is_closed:
            return {"text/plain": repr(self)}
        if self._widget is not None:
            return self._widget._repr_mimebundle_(**options)
        address = escape(self.url)
        link = f'<a href="{address}" target="_blank" rel="noopener">Open the explorer</a> (on the machine of the kernel)'
        return {"text/plain": repr(self), "text/html": link}


def explore(
    explainer: cl.Explainer, row: Any, rows: Any, target: Any, constraints: Any, time_limit: float, height: int
) -> Exploration:
    """Open the explorer for a model in memory, which confirms the answers."""
    seconds = number(time_limit, "time_limit")
    if seconds <= 0:
        raise cl.CounterleafError(f"time_limit is {time_limit!r}; expected seconds above 0")
    check_whole_number("height", height, 1)
    frame, first = _read_start(explainer, row, rows)
    label, at_least, at_most = _read_target(explainer, target)
    name = type(explainer.model).__name__
    key = f"user-{secrets.token_hex(5)}"  # stored steps belong to this call
    scene = Scene(
        key,
        name,
        f"What would change the answer of this {name}?",
        explainer,
        frame,
        target=label,
        at_least=at_least,
        at_most=at_most,
        constraints=cl.Question(constraints=constraints).constraints,
        first_row=first,
    )
    check_scene(scene)
    return Exploration(Session([scene], seconds), height)


def _in_notebook() -> bool:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "kernel", None) is not None


def _read_start(explainer: cl.Explainer, row: Any, rows: Any) -> tuple[Frame | None, int]:
    """The table, and the position in it of the first row to show."""
    frame = None if rows is None else _read_rows(explainer, rows)
    if row is None:
        return frame, 0
    if isinstance(row, (bool, np.bool_)):
        raise cl.CounterleafError(f"row is {row}; expected a row, or the position of one in rows=")
    if isinstance(row, Integral):  # also those of NumPy, such as np.flatnonzero(...)[0]
        if frame is None:
            raise cl.CounterleafError(f"row is {row}, an index, but there are no rows; pass rows=, or the row itself")
        return frame, int(row)
    if frame is not None:
        raise cl.CounterleafError("got a row and rows; expected rows with the index of one of them, such as row=3")
    return _read_rows(explainer, _one_row(row)), 0


def _one_row(row: Any) -> Any:
    row = by_name(row)
    if not is_frame(row):
        return make_frame([row]) if isinstance(row, dict) else [row]
    if len(row) != 1:
        raise cl.CounterleafError(f"row is a table of {len(row)} rows; expected one row, or pass the table as rows=")
    return row


def _read_rows(explainer: cl.Explainer, rows: Any) -> Frame:
    names = explainer.schema.names
    if is_frame(rows):
        frame = make_frame(records(rows)) if is_polars(rows) else rows.rename(columns=str)
        missing = [name for name in names if name not in frame.columns]
        if missing:
            raise cl.CounterleafError(f"the rows have no column {missing[0]!r}; expected {some(names)}")
    else:
        array = np.asarray(rows)
        if array.shape[1:] != (len(names),):
            raise cl.CounterleafError(f"the rows have the shape {array.shape}; expected {len(names)} columns: {some(names)}")
        frame = make_frame(array, names)
    if len(frame) == 0:
        raise cl.CounterleafError("the table has no rows; expected at least one")
    return frame


def _read_target(explainer: cl.Explainer, target: Any) -> tuple[str | None, float | None, float | None]:
    """The class of a target, and the interval of its probability or of a value."""
    tree = explainer.tree
    if target is not None and (tree.is_regression or isinstance(target, (cl.Probability, cl.Value))):
        read_goal(target, tree, 0)  # raises if it does not fit the model
    is_interval = isinstance(target, (cl.Probability, cl.Value))
    ends = (target.at_least, target.at_most) if is_interval else (None, None)
    label = getattr(target, "label", None) if is_interval else target
    labels = [str(one) for one in tree.classes.tolist()]
    if label is not None and str(label) not in labels:
        raise cl.CounterleafError(f"target is {brief(target)}; expected one of {some(labels)}")
    return (None if label is None else str(label), *ends)
