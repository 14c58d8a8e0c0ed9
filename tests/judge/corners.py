"""Corner cases: those that CUTLASS's own unit tests think of, as values, and the ones that this engine was wrong about once."""

from __future__ import annotations

from typing import Any

import cute_py.layout as cl
from cute_py.layout import Int, Layout
from judge.cases import Case, call, cpp, static

COMPOSITIONS = """
1:0 o 1:0 | 1:0 o 1:1 | 1:1 o 1:0 | 1:1 o 1:1 | (4):(1) o (4):(1) | (4):(2) o (4):(1) | (4):(0) o (4):(1) | (4):(1) o (4):(0)
(4):(1) o (1):(0) | (4):(1) o (2):(1) | (4):(2) o (2):(1) | (4):(1) o (2):(2) | (4):(2) o (2):(2) | (4,3):(1,4) o (12):(1)
(12):(1) o (4,3):(1,4) | (12):(2) o (4,3):(1,4) | (12):(1) o (4,3):(3,1) | (12):(2) o (4,3):(3,1) | (12):(1) o (2,3):(2,4)
(4,3):(1,4) o (4,3):(1,4) | (4,3):(1,4) o (6):(2) | (4,3):(1,4) o (6,2):(2,1) | (4,3):(3,1) o (4,3):(1,4) | (4,3):(3,1) o (12):(1)
(4,3):(3,1) o (6):(2) | (4,3):(3,1) o (6,2):(2,1) | (8,8):(1,8) o ((2,2,2),(2,2,2)):((1,16,4),(8,2,32))
(8,8):(8,1) o ((2,2,2),(2,2,2)):((1,16,4),(8,2,32)) | ((4,2)):((1,16)) o (4,2):(2,1) | (2,2):(2,1) o (2,2):(2,1)
(4,8,2):(1,4,32) o (2,2,2):(2,8,1) | (4,8,2):(2,8,1) o (2,2,2):(1,8,2) | (4,8,2):(2,8,1) o (4,2,2):(2,8,1)
(1):(0) o (4):(1) | (1):(1) o (4):(1) | (4):(1) o (4):(2) | (4,3):(3,1) o (24):(1) | (4,3):(3,1) o (8):(1)
(4,3,1):(3,1,0) o (24):(1) | (4):(-1) o (4):(1) | (4):(1) o (4):(-1) | (4):(-1) o (4):(-1) | (4):(1) o (4):(-2)
(4,4):(-1,1) o (2,4,2):(1,2,8) | (4,4):(-1,1) o (2,4,2):(1,4,2) | (1,(2,4)):(0,(-1,512)) o 2:-1 | (1,(2,4)):(0,(-1,512)) o 4:-1
(4,4):(4,1) o (4,4):(1@1,1@0) | (4,(2,3)):(6,(3,1)) o (2,4):(1@1@1,1@0)
"""

COMPLEMENTS = """
1:0 | 1:0 in 2 | 1:0 in 5 | 1:1 | 1:1 in 5 | 1:2 in 1 | 1:2 in 8 | 4:0 in 1 | 4:0 in 8 | 4:1 in 1 | 4:1 in 8 | 4:2 in 1 | 4:2
4:2 in 16 | 4:2 in 19 | 4:4 in 1 | 4:4 | 4:4 in 17 | (2,4):(1,2) | (2,3):(1,2) | (2,4):(1,4) | (2,4):(1,6) | (2,4,8):(8,1,64)
(2,4,8):(8,1,0) | (2,4,8):(8,1,0) in 460 | ((2,2),(2,2)):((1,4),(8,32)) | ((2,2),(2,2)):((1,32),(8,4)) | (4,6):(1,6) | (4,2):(1,10)
(4,2):(1,16) | 64:1 in 512
"""

INVERSES = """
(1):(0) | ((1,1)):((0,0)) | (1):(1) | (4):(1) | (4):(0) | (4):(2) | (8,4):(1,8) | (8,4):(4,1) | (2,4,6):(1,2,8) | (2,4,6):(4,1,8)
(2,4,4,6):(4,1,0,8) | (4,2):(1,16) | (4,2,3):(1,0,4) | (3,7):(7,1)
"""

# One-dimensional blocks: an integer may meet a tuple.
BLOCKS = """
tile_to_shape 4:1 16 | tile_to_shape (4):(1) 16 | tile_to_shape 4:2 (16) | tile_to_shape 2:1 (16,4) | blocked_product 4:1 (3):(1)
blocked_product 4:1 3:1 | blocked_product 4:2 6:1 | blocked_product 4:2 (6):(1) | blocked_product (4):(1) (3):(1)
raked_product (4):(1) 3:1 | raked_product 4:1 3:1 | raked_product (4):(1) (3):(1) | blocked_product 4:1 (3,2):(1,3)
"""


def cases() -> list[Case]:
    """Return the corner cases."""
    found = []
    for text in pieces(COMPOSITIONS):
        a, b = text.split(" o ")
        found.append(call("composition", layout(a), layout(b)))
    for text in pieces(COMPLEMENTS):
        a, _, target = text.partition(" in ")
        found.append(call("complement", layout(a), *([Int(int(target))] if target else [])))
    for text in pieces(INVERSES):
        found += [call("right_inverse", layout(text)), call("left_inverse", layout(text))]
    for text in pieces(BLOCKS):
        operation, a, b = text.split()
        found.append(call(operation, layout(a), layout(b) if ":" in b else static(cl.parse(b))))
    return [*found, *nested(), *tuples()]


def nested() -> list[Case]:
    """Return composed layouts of composed layouts: as they are made, their modes, and composed. C++ does not slice them."""
    swizzled = cl.composition(cl.Swizzle(3, 0, 3), layout("(8,8):(8,1)"))
    outers: list[Any] = [layout("(4,4):(4,1)"), layout("(8,16):(16,1)"), cl.Swizzle(2, 1, 3)]
    found = []
    for outer in outers:
        made = cl.make_composed_layout(outer, Int(0), swizzled)
        expression = f"make_composed_layout({cpp(outer)},Int<0>{{}},{cpp(swizzled)})"
        found.append(Case("nested", expression, made))
        deeper = cl.make_composed_layout(layout("(64,2):(2,1)"), Int(3), made)
        found.append(
            Case("nested", f"make_composed_layout({cpp(layout('(64,2):(2,1)'))},Int<3>{{}},{expression})", deeper)
        )
        found.append(Case("nested", f"get<1>({expression})", made[1]))
        tiler = (Int(2), Int(4))
        found.append(Case("nested", f"composition({expression},{cpp(tiler)})", cl.composition(made, tiler)))
    return found


def tuples() -> list[Case]:
    """Return the operations on modes, of tuples."""
    shape = static((128, 96, 8))
    flat, profile = static((1, 2, 3, 4, 5)), static(((0, 0), (0, (0, 0))))
    one = Int(1)
    found = [
        Case("select", f"select<0,2>({cpp(shape)})", cl.select(shape, 0, 2)),
        Case("take", f"take<1,3>({cpp(shape)})", cl.take(shape, 1, 3)),
        Case("group", f"group<0,2>({cpp(shape)})", cl.group(shape, 0, 2)),
        Case("append", f"append<5>({cpp(shape)},{cpp(one)})", cl.append(shape, 5, one)),
        Case("prepend", f"prepend<5>({cpp(shape)},{cpp(one)})", cl.prepend(shape, 5, one)),
        Case("replace", f"replace<1>({cpp(shape)},{cpp(one)})", cl.replace(shape, 1, one)),
        call("unflatten", flat, profile),
    ]
    for coord, value in (((None, 0), (3, 4)), ((None, (0, None)), (3, (4, 5))), ((0, None, None), ((1, 2), (3, 4), 5))):
        c, v = static(coord), static(value)
        found.append(Case("slice_", f"slice({cpp(c)},{cpp(v)})", cl.slice_(c, v)))
    for a, b in (
        ((3, 6), (4, 7)),
        ((3, 7), (4, 7)),
        ((3,), (4, 7)),
        ((3, 1, 1), (4, 7)),
        ((1, (2, 3)), (2, (3, 4))),
        (3, 4),
    ):
        x, y = static(a), static(b)
        found.append(Case("elem_less", f"C<bool(elem_less({cpp(x)},{cpp(y)}))>{{}}", Int(cl.elem_less(x, y))))
    return found


def pieces(text: str) -> list[str]:
    return [piece.strip() for line in text.strip().splitlines() for piece in line.split("|")]


def layout(text: str) -> Layout:
    plain = Layout(text)
    return Layout(static(plain.shape), static_stride(plain.stride))


def static_stride(stride: object) -> object:
    if isinstance(stride, tuple):
        return tuple(static_stride(d) for d in stride)
    if isinstance(stride, cl.ScaledBasis):
        return cl.ScaledBasis(Int(int(stride.value)), *stride.modes)
    return Int(int(stride))  # type: ignore[call-overload]
