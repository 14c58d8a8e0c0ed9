"""The steps of a layout operation, in words and numbers."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from cute_py import _core
from cute_py._core import ComposedLayout, Layout
from cute_py.errors import LayoutError, OperandError

__all__ = ["explain_layout"]


def explain_layout(operation: str, *arguments: Any) -> str:
    """Return the steps of an operation on layouts. `cute_py.explain` says more."""
    if operation not in _STEPS:
        near = difflib.get_close_matches(operation, _STEPS, n=3, cutoff=0.4)
        raise OperandError(
            f"explain: there are no steps for {operation!r}; {'near: ' + ', '.join(near) if near else 'there are: ' + ', '.join(_STEPS)}"
        )
    least, most, steps = _STEPS[operation]
    if not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"{least} or {most}"
        raise OperandError(f"explain: {operation} takes {wanted} arguments, not {len(arguments)}")
    return "\n".join(steps(*(_read(a) for a in arguments)))


def _read(value: Any) -> Any:
    if isinstance(value, str):
        return _core.parse(value) if " o " in value else Layout(value)
    if isinstance(value, ComposedLayout):
        raise LayoutError("explain: a composed layout acts by its inner layout; explain that")
    return value


def _flat(layout: Layout) -> list[tuple[int, Any]]:
    """Return the modes of a layout as pairs of extent and stride."""
    flat = _core.flatten(layout)
    pairs = zip(flat.shape, flat.stride, strict=True) if isinstance(flat.shape, tuple) else [(flat.shape, flat.stride)]
    return [(int(s), d) for s, d in pairs]


def _mode(pair: tuple[int, Any]) -> str:
    return f"{pair[0]}:{_core.print_tiler(pair[1])}"


def _modes(pairs: list[tuple[int, Any]]) -> str:
    return " ".join(_mode(p) for p in pairs) or "nothing"


# ---- coalesce


def _coalesce(layout: Layout) -> list[str]:
    layout = Layout(layout)
    lines = [
        f"coalesce {layout}",
        "The same function of an integer, in as few modes as possible.",
        "",
        "From the right:",
    ]
    pairs = _flat(layout)
    kept = [pairs[-1]]
    lines.append(f"  start with {_mode(pairs[-1])}")
    for pair in reversed(pairs[:-1]):
        head = kept[0]
        if pair[0] == 1:
            lines.append(f"  {_mode(pair)} has extent 1 and vanishes")
        elif head[0] == 1 and len(kept) == 1:
            kept[0] = pair
            lines.append(f"  {_mode(head)} has extent 1 and gives way to {_mode(pair)}")
        elif _multiply(pair[0], pair[1]) == head[1]:
            kept[0] = (pair[0] * head[0], pair[1])
            lines.append(
                f"  {_mode(pair)} ends where {_mode(head)} goes on: {pair[0]} * {_text(pair[1])} = {_text(head[1])}; together "
                f"{_mode(kept[0])}"
            )
        else:
            kept.insert(0, pair)
            lines.append(
                f"  {_mode(pair)} stays: {pair[0]} * {_text(pair[1])} = {_text(_multiply(pair[0], pair[1]))}, the next stride is "
                f"{_text(head[1])}"
            )
    return [*lines, "", f"Result: {_core.coalesce(layout)}"]


def _multiply(extent: int, stride: Any) -> Any:
    return stride * extent if isinstance(stride, _core.ScaledBasis) else int(stride) * extent


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, int) else str(value)


# ---- composition


def _composition(a: Layout, b: Any) -> list[str]:
    a = Layout(a)
    if isinstance(b, tuple):
        lines = [f"composition {a} o {_core.print_tiler(b)}", "A tuple acts by modes:"]
        for i, tiler in enumerate(b):
            if tiler is None:
                lines.append(f"  mode {i}: _ keeps {a[i]}")
            else:
                lines.append(f"  mode {i}: {a[i]} o {_core.print_tiler(tiler)} = {_core.composition(a[i], tiler)}")
        return [*lines, "", f"Result: {_core.composition(a, b)}"]
    b = b if isinstance(b, Layout) else Layout(b, 1)
    lines = [f"composition {a} o {b}", "R(c) = A(B(c)), with the shape of B or a refinement of it.", ""]
    if any(isinstance(d, _core.ScaledBasis) for _, d in [*_flat(a), *_flat(b)]):
        lines.append("Strides are coordinates here: each mode of B picks the mode of A that it steps along.")
        return [*lines, "", f"Result: {_core.composition(a, b)}"]
    digits = _flat(_core.coalesce(a))
    lines.append(f"A as a function of an integer is {_modes(digits)}; the last mode goes on without end.")
    for shape, stride in _flat(b):
        lines += ["", f"Mode {shape}:{int(stride)} of B: {shape} steps of {int(stride)} through A"]
        lines += _one_mode(digits, shape, int(stride))
    return [*lines, "", _outcome(lambda: _core.composition(a, b))]


def _one_mode(digits: list[tuple[int, Any]], shape: int, stride: int) -> list[str]:
    if stride == 0:
        return [f"  a stride of 0 stays where it is: {shape}:0"]
    if len(digits) == 1:
        return [f"  A has one mode: {shape}:{stride} * {int(digits[0][1])} = {shape}:{stride * int(digits[0][1])}"]
    lines: list[str] = []
    rest_shape, rest_stride = shape, stride
    pieces: list[tuple[int, Any]] = []
    for extent, step in digits[:-1]:
        size, sign = abs(rest_stride), -1 if rest_stride < 0 else 1
        if size >= extent:
            if size % extent:
                return [
                    *lines,
                    f"  {size} is no multiple of the extent {extent} of A's mode {extent}:{int(step)}: A does not divide",
                ]
            lines.append(
                f"  {extent}:{int(step)} is stepped over: {size} / {extent} = {size // extent} steps of the next mode"
            )
            rest_stride = sign * (size // extent)
            continue
        fit = -(-extent // size)
        taken = min(fit, rest_shape)
        if rest_shape % taken:
            return [
                *lines,
                f"  {rest_shape} steps of {size} do not fill A's mode {extent}:{int(step)}, {fit} fit: A does not divide",
            ]
        if taken > 1:
            pieces.append((taken, rest_stride * int(step)))
            lines.append(
                f"  {extent}:{int(step)} takes {taken} of the {rest_shape} steps: {taken}:{rest_stride} * {int(step)} = {_mode(pieces[-1])}"
            )
        rest_shape //= taken
        rest_stride = sign
    step = int(digits[-1][1])
    if rest_shape > 1 or not pieces:
        pieces.append((rest_shape, rest_stride * step))
        lines.append(
            f"  the last mode takes the other {rest_shape}: {rest_shape}:{rest_stride} * {step} = {_mode(pieces[-1])}"
        )
    return [*lines, f"  together {_modes(pieces)}"]


def _outcome(compute: Callable[[], Any]) -> str:
    try:
        return f"Result: {compute()}"
    except LayoutError as error:
        return f"No result. {error}"


# ---- complement


def _complement(layout: Layout, cotarget: Any = None) -> list[str]:
    layout = Layout(layout)
    filtered = _core.filter(layout)
    target = _core.cosize(filtered) if cotarget is None else _core.size(cotarget)
    lines = [
        f"complement of {layout} in {int(target)}",
        "What the layout misses: ordered, and disjoint from it but for 0.",
        "",
        f"Without zero strides and extents of 1, coalesced: {filtered}",
        "In ascending order of the strides:",
    ]
    pairs = sorted(((s, int(d)) for s, d in _flat(filtered)), key=lambda p: p[1])
    if len(pairs) == 1 and pairs[0][1] == 0:
        return [
            *lines,
            f"  there is nothing but 0, so everything is missed: {int(target)}:1",
            "",
            f"Result: {_core.complement(layout, target)}",
        ]
    reached = 1
    gaps = []
    for extent, stride in pairs:
        gap = stride // reached
        if gap == 0 or stride < 0:
            lines.append(f"  {extent}:{stride} starts inside the {reached} that are covered so far")
            return [*lines, "", _outcome(lambda: _core.complement(layout, target))]
        gaps.append((gap, reached))
        missed = (
            f"{gap} steps of {reached} fit below {stride}: {gap}:{reached}" if gap > 1 else f"no gap below {stride}"
        )
        lines.append(f"  {extent}:{stride} covers up to {extent * stride}; {missed}")
        reached = extent * stride
    rest = -(-int(target) // reached)
    lines.append(f"  above: {int(target)} / {reached}, rounded up, is {rest}: {rest}:{reached}")
    return [
        *lines,
        "",
        f"Result: {_core.complement(layout, target)}, coalesced from {_modes([*gaps, (rest, reached)])}",
    ]


# ---- divide and product


def _logical_divide(layout: Layout, tiler: Any) -> list[str]:
    layout = Layout(layout)
    lines = [f"logical_divide {layout} by {_core.print_tiler(tiler)}"]
    if isinstance(tiler, tuple):
        lines.append("A tuple acts by modes:")
        for i, t in enumerate(tiler):
            what = (
                f"_ keeps {layout[i]}"
                if t is None
                else f"{layout[i]} by {_core.print_tiler(t)} = {_core.logical_divide(layout[i], t)}"
            )
            lines.append(f"  mode {i}: {what}")
        return [*lines, "", f"Result: {_core.logical_divide(layout, tiler)}"]
    tile = tiler if isinstance(tiler, Layout) else Layout(tiler)
    rest = _core.complement(tile, _core.coalesce(layout).shape)
    both = _core.make_layout(tile, rest)
    return [
        *lines,
        "A o (B, B*): the tile first, then where the tiles are.",
        "",
        f"  B  = {tile}: the elements of a tile",
        f"  B* = complement of B in {_core.print_tiler(_core.size(layout))} = {rest}: the tiles",
        f"  (B, B*) = {both}",
        f"  A o (B, B*): mode by mode A o B = {_core.composition(layout, tile)}",
        "",
        _outcome(lambda: _core.logical_divide(layout, tiler)),
    ]


def _logical_product(block: Layout, tiler: Any) -> list[str]:
    block = Layout(block)
    lines = [f"logical_product of {block} with {_core.print_tiler(tiler)}"]
    if isinstance(tiler, tuple):
        lines.append("A tuple acts by modes:")
        for i, t in enumerate(tiler):
            what = (
                f"_ keeps {block[i]}"
                if t is None
                else f"{block[i]} with {_core.print_tiler(t)} = {_core.logical_product(block[i], t)}"
            )
            lines.append(f"  mode {i}: {what}")
        return [*lines, "", f"Result: {_core.logical_product(block, tiler)}"]
    tile = tiler if isinstance(tiler, Layout) else Layout(tiler)
    reach = int(block.size) * int(tile.cosize)
    free = _core.complement(block, reach)
    return [
        *lines,
        "(A, A* o B): the block first, then its copies, in the order that B says.",
        "",
        f"  copies need room for size(A) * cosize(B) = {block.size} * {tile.cosize} = {reach}",
        f"  A* = complement of A in {reach} = {free}: where copies can start",
        f"  A* o B = {_core.composition(free, tile)}",
        "",
        _outcome(lambda: _core.logical_product(block, tiler)),
    ]


_STEPS: dict[str, tuple[int, int, Callable[..., list[str]]]] = {
    "coalesce": (1, 1, _coalesce),
    "composition": (2, 2, _composition),
    "complement": (1, 2, _complement),
    "logical_divide": (2, 2, _logical_divide),
    "logical_product": (2, 2, _logical_product),
}
