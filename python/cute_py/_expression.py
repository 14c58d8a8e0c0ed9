"""What ``cute-py draw`` draws, and ``cute-py layout`` and ``cute-py explore`` show: text in CuTe's notation, or a call
of the package's functions.

An expression may come from anywhere, so it is not run as Python. It is made of literals, tuples, calls, subscripts and
products of integers; of the functions and classes in `NAMES`, which compute layouts and do nothing else; and of those
attributes of their results that `ATTRIBUTES` lists. There are no modules among them, no methods of text, and nothing
that touches a file.
"""

from __future__ import annotations

import ast
import difflib
from types import SimpleNamespace
from typing import Any

import cute_py
from cute_py import atoms, layout
from cute_py._notation import read_layout, read_text
from cute_py.atoms import tiled
from cute_py.catalogue.config import KernelConfig
from cute_py.catalogue.kernels import Kernel, Kernels
from cute_py.errors import CuteError, LayoutError, OperandError
from cute_py.layout import tensor

LONGEST = 4096  # characters
DEEPEST = 64  # calls, tuples and the like within one another
MOST = 2**63  # integers are below it

_ATOMS = SimpleNamespace(mma=atoms.mma, copy=atoms.copy, value_type=atoms.value_type)

_LAYOUT_NAMES = [
    "ComposedLayout", "E", "Int", "Layout", "LayoutLeft", "LayoutRight", "ScaledBasis", "Swizzle", "append",
    "blocked_product", "ceil_div", "coalesce", "complement", "composition", "coshape", "cosize", "crd2crd", "crd2idx",
    "dice", "downcast", "filter", "filter_zeros", "flat_divide", "flat_product", "flatten", "get", "group", "idx2crd",
    "left_inverse", "logical_divide", "logical_product", "make_composed_layout", "make_fragment_like",
    "make_identity_layout", "make_layout", "make_layout_like", "make_layout_tv", "make_ordered_layout", "make_swizzle",
    "max_common_layout", "nullspace", "parse", "prepend", "product_each", "raked_product", "recast_layout", "replace",
    "right_inverse", "select", "shape", "size", "slice_", "slice_and_offset", "stride", "take", "tile_to_shape",
    "tiled_divide", "tiled_product", "unflatten", "upcast", "zip", "zipped_divide", "zipped_product",
]  # fmt: skip
_PACKAGE_NAMES = [
    "diagram", "kernels", "local_partition", "local_tile", "make_cotiled_copy", "make_identity_tensor",
    "make_tensor", "make_tiled_copy", "make_tiled_copy_A", "make_tiled_copy_B", "make_tiled_copy_C",
    "make_tiled_copy_D", "make_tiled_copy_S", "make_tiled_mma",
]  # fmt: skip

NAMES = {name: getattr(layout, name) for name in _LAYOUT_NAMES}
NAMES |= {name: getattr(cute_py, name) for name in _PACKAGE_NAMES}
NAMES["atoms"] = _ATOMS

_OF_LAYOUTS = "shape rank depth size cosize compose with_shape get_hier_coord get_flat_coord get_1d_coord"

# The attributes of each type, and no others.
ATTRIBUTES: dict[type, frozenset[str]] = {
    kind: frozenset(names.split())
    for kind, names in {
        SimpleNamespace: "mma copy value_type",
        layout.Layout: f"{_OF_LAYOUTS} stride",
        layout.ComposedLayout: f"{_OF_LAYOUTS} outer offset inner",
        layout.Swizzle: "bits base shift",
        layout.ScaledBasis: "value modes",
        atoms.Catalogue: "find",
        atoms.ValueType: "name bits",
        atoms.MMAAtom: "name architecture shape_mnk thr_id layout_a_tv layout_b_tv layout_c_tv a b c d",
        atoms.CopyTraits: "name architecture thr_id layout_src layout_dst layout_ref atom",
        atoms.CopyAtom: "name traits value_type thr_id val_layout_src val_layout_dst val_layout_ref",
        tensor.Tensor: "layout shape stride rank size offset compose",
        tiled.TiledMMA: "atom atom_layout permutations thr_layout_vmnk size permutation_mnk tile_shape thrfrg_A thrfrg_B "
        "thrfrg_C get_slice layout_a_tv layout_b_tv layout_c_tv tv_A tv_B tv_C",
        tiled.ThrMMA: "mma thr_vmnk partition_A partition_B partition_C fragment_layout_A fragment_layout_B "
        "fragment_layout_C",
        tiled.TiledCopy: "atom layout_tv tiler size tile_shape tidfrg_S tidfrg_D retile layout_src_tv layout_dst_tv "
        "get_slice",
        tiled.ThrCopy: "copy thread partition_S partition_D retile_S retile_D",
        Kernel: "name kernel tile threads stages config tiled_mma tiled_copy_a tiled_copy_b smem_layout_a smem_layout_b",
        KernelConfig: "cta_tiler smem_layout_a smem_layout_b type_a type_b type_c thread_layout_a thread_layout_b "
        "thread_layout_c tiled_copy_a tiled_copy_b tiled_mma layout_c_tv",
    }.items()
}

_WITH_SUBSCRIPTS = (tuple, list, layout.Layout, layout.ComposedLayout, tensor.Tensor, atoms.Catalogue, Kernels)


def evaluate(text: str) -> Any:
    """Return the value of an expression. Raises OperandError for what cannot be read, CuteError for what cannot be
    done.
    """
    try:
        value = read_text(text)
        return value if isinstance(value, layout.Swizzle) else read_layout(text)
    except LayoutError as error:
        notation_error = error
    if len(text) > LONGEST:
        raise OperandError(
            f"the expression has {len(text)} characters, and at most {LONGEST} are read; next: write it in Python"
        )
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise OperandError(f"cannot read {text!r}: neither a layout ({notation_error}) nor an expression") from None
    try:
        return _value(tree.body, 0)
    except CuteError:
        raise
    except KeyError as error:  # says which names are near
        raise OperandError(f"cannot evaluate {text!r}: {error.args[0]}") from None
    except Exception as error:  # whatever a wrong call of a function raises
        raise OperandError(f"cannot evaluate {text!r}: {error}") from None


def _value(node: ast.expr, depth: int) -> Any:
    if depth > DEEPEST:
        raise OperandError(f"the expression is nested deeper than {DEEPEST}; next: write it in Python")

    def value(of: ast.expr) -> Any:
        return _value(of, depth + 1)

    match node:
        case ast.Constant(value=constant) if constant is None or type(constant) is str:
            return constant
        case ast.Constant(value=constant) if type(constant) is int:
            return _integer(constant)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return tuple(value(e) for e in elements)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_factor(value(operand))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _integer(_factor(value(left)) * _factor(value(right)))
        case ast.Name(id=name):
            if name not in NAMES:
                raise OperandError(f"there is no {name}{_near(name, NAMES)}")
            return NAMES[name]
        case ast.Attribute(value=owner, attr=attribute):
            return _attribute(value(owner), attribute)
        case ast.Subscript(value=owner, slice=index):
            of = value(owner)
            if not isinstance(of, _WITH_SUBSCRIPTS):
                raise OperandError(f"{ast.unparse(owner)!r} gives {type(of).__name__}, which takes no subscript")
            return of[value(index)]
        case ast.Call(func=function, args=arguments, keywords=keywords):
            named = {k.arg: value(k.value) for k in keywords if k.arg is not None}
            if len(named) == len(keywords):
                return value(function)(*(value(a) for a in arguments), **named)
    raise OperandError(
        f"cannot evaluate {ast.unparse(node)!r}: only names of cute_py, literals, tuples, subscripts and calls"
    )


def _attribute(value: Any, name: str) -> Any:
    known = ATTRIBUTES.get(type(value), frozenset())
    if name not in known:
        raise OperandError(f"an expression cannot ask {type(value).__name__} for {name!r}{_near(name, known)}")
    return getattr(value, name)


def _factor(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, layout.ScaledBasis)):
        raise OperandError(f"only integers are multiplied and negated, not {type(value).__name__}")
    return value


def _integer(value: Any) -> Any:
    if isinstance(value, int) and not -MOST <= value < MOST:
        raise OperandError("an integer of the expression does not fit in 64 bits")
    return value


def _near(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, known, n=3)
    return f"; near: {', '.join(near)}" if near else ""
