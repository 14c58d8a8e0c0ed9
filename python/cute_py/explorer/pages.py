"""The pages of the explorer: a view for each thing that one can look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from cute_py.drawing.picture import Picture, linking_script, linking_style, to_facts, to_svg_in_page
from cute_py.errors import CuteError
from cute_py.explorer import programs, views
from cute_py.explorer.views import Query, View

__all__ = ["Answer", "Explorer"]

_FILES = {"style.css": "text/css", "script.js": "text/javascript"}


@dataclass(frozen=True)
class Answer:
    """What the explorer says to a request."""

    status: int
    content_type: str
    body: str
    headers: dict[str, str] = field(default_factory=dict)


# Of each view: its name in the menu, and what makes it. The kernel's is reached from the list of kernels.
_VIEWS: dict[str, tuple[str, Callable[[Query], View]]] = {
    "layout": ("Layouts", views.layout),
    "operation": ("Operations", views.operation),
    "banks": ("Banks and swizzles", views.banks),
    "atoms": ("Atoms", views.atoms),
    "kernels": ("Kernels", views.kernels),
    "kernel": ("", views.kernel),
    "config": ("Configs", programs.config),
    "program": ("Programs", programs.Programs(()).view),
    "words": ("Words", views.words),
}


class Explorer:
    """Answers requests for pages: the whole state is in the address.

    `folders` have the CUDA programs that may be opened, compiled and run; nothing else is. Raises OperandError for one
    that is none.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._programs = programs.Programs(folders)

    def answer(self, path: str, query: Query) -> Answer:
        """Return the page at a path, such as ``"layout"``, for a query, such as ``{"text": "(4,8):(8,1)"}``."""
        if path == "":
            return Answer(303, "text/plain", "", {"Location": "layout"})
        if path in _FILES:
            return Answer(200, _FILES[path], _file(path))
        if path not in _VIEWS:
            return Answer(404, "text/plain", f"there is no {path!r}; there are: {', '.join(_VIEWS)}\n")
        try:
            view = self._programs.view(query) if path == "program" else _VIEWS[path][1](query)
        except CuteError as error:
            message = f'<p class="error" role="alert">{escape(str(error))}</p>'
            return Answer(
                400, "text/html", _page(path, self._form_of(path, query), message + views.examples_of(path), ())
            )
        body = "".join(_html(part) for part in view.parts)
        return Answer(200, "text/html", _page(path, view.form, body, view.pictures))

    def _form_of(self, path: str, query: Query) -> str:
        if path == "program":
            return self._programs.form(query)
        return programs.config_form(query) if path == "config" else views.form_of(path, query)


def _html(part: str | Picture) -> str:
    if isinstance(part, str):
        return part
    said = " ".join(
        entry for entry in (*part.legend, part.note) if entry
    )  # also at the end of what may have to be scrolled
    return (
        f'<p class="said">{escape(said)}</p><div class="picture" tabindex="0" role="group" aria-label="picture">'
        f"{to_svg_in_page(part)}</div>"
    )


def _file(name: str) -> str:
    own = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return (linking_style() if name == "style.css" else linking_script()) + own


def _page(path: str, form: str, body: str, pictures: Sequence[Picture]) -> str:
    menu = "".join(
        f'<a href="{view}"{_current(view, path)}>{escape(title)}</a>' for view, (title, _) in _VIEWS.items() if title
    )
    facts = f'<aside aria-label="Facts of a cell">{to_facts(pictures)}</aside>' if pictures else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>cute_py explorer</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        '<link rel="stylesheet" href="style.css"><script src="script.js" defer></script></head>\n'
        f'<body><a class="skip" href="#answer">To the answer</a><header><strong>cute_py</strong><nav aria-label="Views">{menu}</nav></header>\n'
        f'<form action="{path}" method="get">{form}<button>Show</button></form>\n'
        f'<div id="answer" tabindex="-1"><main>{body}</main>{facts}</div>\n'
        '<p id="status" role="status"></p></body></html>\n'
    )


def _current(view: str, path: str) -> str:
    return ' aria-current="page"' if path == view or (view, path) == ("kernels", "kernel") else ""
