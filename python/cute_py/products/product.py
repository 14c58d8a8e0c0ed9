"""Functions that multiply: each is written once, and can be called, planned and explained."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, cast

from cute_py import _core
from cute_py._core import Plan
from cute_py.products.arrays import NUMBERS, as_number, as_result, empty_result, way_to_an_array, with_numbers
from cute_py.products.explanation import Explanation, explanation_of
from cute_py.products.options import OPTIONS, Options
from cute_py.products.types import type_name

__all__ = ["Product", "product"]

P = ParamSpec("P")


class Product(Protocol[P]):
    """A function that multiplies. Its options are described in `cute_py.gemm`."""

    __name__: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Compute it."""

    def plan(self, *args: P.args, **kwargs: P.kwargs) -> Plan:
        """Prepare a call for many arrays that are laid out like these. Nothing is computed."""

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> Explanation:
        """Say where the call would run, on which kernel, and why not on another. Nothing is computed."""


def product(name: str = "", options: Any = Options, **rules: Any) -> Callable[[Callable[P, Any]], Product[P]]:
    """Make a product of a function that has its signature, its description and, unless `name` is given, its name.

    `rules` are those of ``_core.make_product``, which reads the arguments. ``**options`` in the signature stands for
    all of `options`, a TypedDict.
    """

    def make(signature: Callable[P, Any]) -> Product[P]:
        own = name or signature.__name__
        made = _core.make_product(own, **rules)
        made.__name__ = made.__qualname__ = own
        made.__module__ = "cute_py"
        made.__doc__ = signature.__doc__
        made.__signature__ = written_out(signature, options, rules.get("kernel", "auto"))
        return cast(Product[P], made)

    return make


def written_out(function: Callable[..., Any], options: Any, kernel: str = "auto") -> inspect.Signature:
    """Return the signature of a function with every one of `options`, a TypedDict, in the place of ``**options``."""
    signature = inspect.signature(function)
    own = [x for x in signature.parameters.values() if x.kind is not x.VAR_KEYWORD and x.name != "self"]
    annotations = options.__annotations__
    more = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=kernel if name == "kernel" else default,
            annotation=getattr(annotations[name], "__forward_arg__", annotations[name]),
        )
        for name, default in OPTIONS.items()
        if name in annotations
    ]
    return signature.replace(parameters=[*own, *more])


_core.set_hooks(
    empty_result=empty_result,
    as_result=as_result,
    as_number=as_number,
    with_numbers=with_numbers,
    is_number=NUMBERS,
    type_name=type_name,
    explanation=explanation_of,
    way_to_an_array=way_to_an_array,
)
