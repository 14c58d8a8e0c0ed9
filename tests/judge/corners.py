"""Corner cases: those that CUTLASS's own unit tests think of, as values, and the ones that this engine was wrong about once."""

from __future__ import annotations

import cute_py.layout as cl
from cute_py.layout import Int, Layout
from judge.cases import Case, call, static

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
