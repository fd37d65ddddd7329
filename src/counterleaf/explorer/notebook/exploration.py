"""What ``Explainer.explore`` returns: the page inside a notebook, or in a browser."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, some
from counterleaf.explainer import Explainer
from counterleaf.explorer.notebook.background import Background
from counterleaf.explorer.notebook.widget import make_widget
from counterleaf.explorer.session.scene import Scene
from counterleaf.explorer.session.session import Session
from counterleaf.explorer.web.server import open_page
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
        return f"<Exploration at {self.url}>" if self._widget is None else "<Exploration in this notebook>"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, or a link to the page."""
        if self._widget is not None:
            return self._widget._repr_mimebundle_(**options)
        address = escape(self.url)
        link = f'<a href="{address}" target="_blank" rel="noopener">Open the explorer</a> (on the machine of the kernel)'
        return {"text/plain": repr(self), "text/html": link}


def explore(
    explainer: Explainer, row: Any, rows: Any, target: Any, constraints: Iterable[Any], time_limit: float, height: int
) -> Exploration:
    """Open the explorer for a model in memory, which confirms the answers."""
    frame = None if rows is None else _read_rows(explainer, rows)
    first = 0
    if frame is not None and (row is None or isinstance(row, int)):
        first = row or 0
    elif isinstance(row, int):
        raise CounterleafError(f"row is {row}, an index, but there are no rows; pass rows=, or the row itself")
    elif row is not None:
        if frame is not None:
            raise CounterleafError("got a row and rows; expected rows with the index of one of them, such as row=3")
        frame = _read_rows(explainer, _one_row(row))
    name = type(explainer.model).__name__
    key = f"user-{secrets.token_hex(5)}"  # stored steps belong to this call
    scene = Scene(
        key,
        name,
        f"What would change the answer of this {name}?",
        explainer,
        frame,
        target=_read_target(explainer, target),
        constraints=tuple(constraints),
        first_row=first,
    )
    scene.check_row(first)
    scene.predict(scene.values(first, {}))  # raises for an invalid row now, before the page opens
    return Exploration(Session([scene], time_limit), height)


def _in_notebook() -> bool:
    """Whether this program is the kernel of a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "kernel", None) is not None


def _one_row(row: Any) -> Any:
    """One row as a table."""
    row = by_name(row)
    if not is_frame(row):
        return make_frame([row]) if isinstance(row, dict) else [row]
    if len(row) != 1:
        raise CounterleafError(f"row is a table of {len(row)} rows; expected one row, or pass the table as rows=")
    return row


def _read_rows(explainer: Explainer, rows: Any) -> Frame:
    """The rows as a pandas frame with the columns of the model."""
    names = explainer.schema.names
    if is_frame(rows):
        frame = make_frame(records(rows)) if is_polars(rows) else rows.rename(columns=str)
        missing = [name for name in names if name not in frame.columns]
        if missing:
            raise CounterleafError(f"the rows have no column {missing[0]!r}; expected {some(names)}")
    else:
        array = np.asarray(rows)
        if array.shape[1:] != (len(names),):
            raise CounterleafError(f"the rows have the shape {array.shape}; expected {len(names)} columns: {some(names)}")
        frame = make_frame(array, names)
    if len(frame) == 0:
        raise CounterleafError("the table has no rows; expected at least one")
    return frame


def _read_target(explainer: Explainer, target: Any) -> str | None:
    labels = [] if explainer.tree.is_regression else [str(label) for label in explainer.tree.classes.tolist()]
    if target is not None and str(target) not in labels:
        expected = f"expected one of {some(labels)}" if labels else "choose the value on the page"
        raise CounterleafError(f"target is {target!r}; {expected}")
    return None if target is None else str(target)
