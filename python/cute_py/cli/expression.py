"""What ``cute-py draw`` draws: text in CuTe's notation, or a call of the package's functions.

Only names of the package, literals, tuples, calls, attributes and subscripts are evaluated.
"""

from __future__ import annotations

import ast
import difflib
from typing import Any

import cute_py
from cute_py import layout
from cute_py.cli.command_error import CommandError
from cute_py.errors import CuteError, LayoutError

NAMES = {name: getattr(layout, name) for name in layout.__all__}
NAMES |= {name: getattr(cute_py, name) for name in cute_py.__all__ if not name.startswith("_")}


def evaluate(text: str) -> Any:
    """Return the value of an expression. Raises CommandError for what cannot be read, CuteError for what cannot be done."""
    try:
        return layout.Layout(text) if "o" not in text else layout.ComposedLayout(text)
    except LayoutError as error:
        notation_error = error
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise CommandError(f"cannot read {text!r}: neither a layout ({notation_error}) nor an expression") from None
    try:
        return _value(tree.body)
    except (CommandError, CuteError):
        raise
    except RecursionError:
        raise CommandError("the expression is nested too deep") from None
    except Exception as error:  # whatever a wrong call of a function raises
        raise CommandError(f"cannot evaluate {text!r}: {error}") from None


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value) if value is None or isinstance(value, (str, int)):
            return value
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return tuple(_value(e) for e in elements)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _value(left) * _value(right)
        case ast.Name(id=name):
            if name not in NAMES:
                near = difflib.get_close_matches(name, NAMES, n=3)
                raise CommandError(f"there is no {name}" + (f"; near: {', '.join(near)}" if near else ""))
            return NAMES[name]
        case ast.Attribute(value=value, attr=attribute) if not attribute.startswith("_"):
            return getattr(_value(value), attribute)
        case ast.Subscript(value=value, slice=index):
            return _value(value)[_value(index)]
        case ast.Call(func=function, args=arguments, keywords=keywords):
            named = {k.arg: _value(k.value) for k in keywords if k.arg is not None}
            return _value(function)(*(_value(a) for a in arguments), **named)
    raise CommandError(f"cannot evaluate {ast.unparse(node)!r}: only names of cute_py, literals, tuples and calls")
