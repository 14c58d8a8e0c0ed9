"""The functions of the layout algebra have one description, in Python, and every list of them is the same."""

from __future__ import annotations

import ast
import inspect
import pydoc
from pathlib import Path

import pytest

import cute_py
from cute_py import _core, layout
from cute_py.layout import functions

PACKAGE = Path(__file__).parents[1] / "python" / "cute_py"


def defined(path: Path) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


DESCRIBED = {
    name: node
    for name, node in defined(PACKAGE / "layout" / "functions.py").items()
    if name not in ("compiled", "called")
}
COMPILED = {name: value for name, value in vars(_core).items() if inspect.isbuiltin(value)}
INTERNAL = {"layout_indices", "make_fragment_like", "print_tiler", "record"}


def test_the_signatures_are_those_of_the_stub() -> None:
    stub = defined(PACKAGE / "_core.pyi")
    for name, node in DESCRIBED.items():
        assert ast.unparse(node.args) == ast.unparse(stub[name].args), name
        assert ast.unparse(node.returns or node) == ast.unparse(stub[name].returns or node), name


def test_every_compiled_function_is_described() -> None:
    assert {name for name, function in COMPILED.items() if not function.__doc__} == set()


def test_what_is_described_is_public() -> None:
    assert set(functions.__all__) | INTERNAL | {"filter", "zip"} == set(DESCRIBED)
    assert set(functions.__all__) <= set(layout.__all__) <= set(cute_py.__all__)
    for name in functions.__all__:
        assert getattr(cute_py, name) is getattr(layout, name) is getattr(_core, name)


@pytest.mark.parametrize("name", DESCRIBED)
def test_the_docstring_is_the_description(name: str) -> None:
    first, empty, *text = (COMPILED[name].__doc__ or "").split("\n")
    assert first.startswith(f"{name}(")
    assert empty == ""
    assert "\n".join(text) == ast.get_docstring(DESCRIBED[name])


def test_help_shows_the_call_and_the_law() -> None:
    heading, text = pydoc.plaintext.document(cute_py.composition).split("\n", 1)
    assert heading.startswith("composition(...)")
    assert inspect.cleandoc(text) == inspect.cleandoc(
        """
        composition(a, b)

        Law: result(c) == a(b(c)) for every coordinate c of b, and compatible(b, result).

        `b` is a layout; a tuple acts by modes, None keeps a mode, an integer n stands for n:1. A swizzle on the left gives
        a ComposedLayout. Raises LayoutError, with a coordinate that shows it, where the modes of b carry into one another
        in a, which C++ does not notice, and where a does not divide by a mode of b.

        >>> print(composition(Layout("(10,2):(16,4)"), Layout("(5,4):(1,5)")))
        (5,(2,2)):(16,(80,4))
        """
    )


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("coalesce", "coalesce(layout, profile=None)"),
        ("rank", "rank(x, *modes)"),
        ("compact_col_major", "compact_col_major(shape, first=1)"),
        ("make_layout", "make_layout(shape, stride=None) or make_layout(layout, layout, ...)"),
    ],
)
def test_a_docstring_begins_with_the_call(name: str, call: str) -> None:
    assert (COMPILED[name].__doc__ or "").split("\n")[0] == call


def test_a_docstring_is_given_once() -> None:
    for function in (_core.composition, len):
        with pytest.raises(TypeError, match="takes a compiled function that has none"):
            _core.add_docstring(function, "another one")
