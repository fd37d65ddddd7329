"""The building blocks of the page: tables, lists and sections; all text is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def clean(text: object) -> str:
    """Return text for HTML on one line, without characters that have no meaning there."""
    kept = "".join(c if c.isprintable() or c == " " else " " for c in str(text))
    return escape(" ".join(kept.split())).replace(" %", "&nbsp;%")


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph."""
    return f'<p class="{kind}">{clean(text)}</p>' if kind else f"<p>{clean(text)}</p>"


def bullets(items: Iterable[str]) -> str:
    """Return a list."""
    return f"<ul>{''.join(f'<li>{clean(item)}</li>' for item in items)}</ul>"


def pairs(items: Iterable[tuple[str, str]]) -> str:
    """Return a list of names and texts."""
    return f"<dl>{''.join(f'<dt>{clean(name)}</dt><dd>{clean(text)}</dd>' for name, text in items)}</dl>"


def table(
    caption: str, head: Sequence[str], lines: Iterable[Sequence[str]], wide: Sequence[int] = (), text: Sequence[int] = ()
) -> str:
    """Return a table that scrolls within itself; ``wide`` and ``text`` are the places of columns of long and of short text."""

    def kind(k: int) -> str:
        names = ["text"] * (k in text or k in wide) + ["wide"] * (k in wide)
        return f' class="{" ".join(names)}"' if names else ""

    top = "".join(f'<th scope="col"{kind(k)}>{clean(name)}</th>' for k, name in enumerate(head))
    body = "".join(
        f'<tr><th scope="row"{kind(0)}>{clean(line[0])}</th>'
        + "".join(f"<td{kind(k)}>{clean(cell)}</td>" for k, cell in enumerate(line[1:], 1))
        + "</tr>"
        for line in lines
    )
    title = f"<caption><span>{clean(caption)}</span></caption>"
    content = f"<table>{title}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{clean(caption)}">{content}</div>'


def details(summary: str, content: str) -> str:
    """Return content that is folded until the reader opens it."""
    return f"<details><summary>{clean(summary)}</summary>{content}</details>"


def section(anchor: str, title: str, *parts: str) -> str:
    """Return a section with a heading."""
    return f'<section id="{anchor}"><h2>{clean(title)}</h2>{"".join(parts)}</section>'
