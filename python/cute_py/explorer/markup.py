"""HTML in the explorer's pages."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from urllib.parse import urlencode

__all__ = ["field", "hidden", "link", "note", "options", "pre", "table", "titled"]


def link(view: str, text: str, /, **query: object) -> str:
    """Return a link to a view of the explorer."""
    to = urlencode({name: str(value) for name, value in query.items()})
    return f'<a href="{escape(f"{view}?{to}")}">{escape(text)}</a>'


def field(name: str, label: str, value: str, *, size: int = 30, hint: str = "") -> str:
    """Return a line to type text in."""
    described = f' placeholder="{escape(hint)}"' if hint else ""
    return (
        f'<label>{escape(label)} <input name="{name}" value="{escape(value)}" size="{size}"{described} autocomplete="off" '
        'spellcheck="false" autocapitalize="none"></label>'
    )


def options(name: str, label: str, values: Iterable[str], chosen: str) -> str:
    """Return a choice of values."""
    items = "".join(
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(value or "default")}</option>'
        for value in values
    )
    return f'<label>{escape(label)} <select name="{name}">{items}</select></label>'


def hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{name}" value="{escape(value)}">'


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Return names and what they are; these are HTML already."""
    cells = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{value}</td></tr>' for name, value in rows)
    return f"<table>{cells}</table>"


def pre(text: object) -> str:
    return f'<pre tabindex="0">{escape(str(text).rstrip())}</pre>'


def note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def titled(title: str, html: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{html}</section>"
