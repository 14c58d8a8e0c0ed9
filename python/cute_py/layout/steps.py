"""The steps of a layout operation, in words and numbers: derived from the definition of the operation."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from cute_py import _core
from cute_py._core import ComposedLayout, Layout
from cute_py._notation import read_text
from cute_py.errors import LayoutError, OperandError

__all__ = ["OPERATIONS", "Steps", "explain_layout"]

Step = tuple[str, dict[str, Any]]


class Steps(str):
    """The steps of an operation on layouts: a text, which is also what a REPL shows, with the values of each.

    Attributes
    ----------
    operation
        Its name.
    steps
        (kind, values by name) of each step, in the order of the definition.
    result
        The layout, None if there is none.
    error
        Why there is none, else None.
    """

    operation: str
    steps: list[Step]
    result: Any
    error: str | None

    def __repr__(self) -> str:
        return str(self)


def explain_layout(what: Any, *arguments: Any) -> Steps:
    """Return the steps of an operation on layouts, the function or its name. `cute_py.explain` says more."""
    operation = what if isinstance(what, str) else getattr(what, "__name__", repr(what))
    if operation not in OPERATIONS:
        import difflib  # only errors need it

        near = difflib.get_close_matches(operation, OPERATIONS, n=3, cutoff=0.4)
        raise OperandError(
            f"explain: there are no steps for {operation!r}; {'near: ' + ', '.join(near) if near else 'there are: ' + ', '.join(OPERATIONS)}"
        )
    least, most = OPERATIONS[operation]
    if not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"{least} or {most}"
        raise OperandError(f"explain: {operation} takes {wanted} arguments, not {len(arguments)}")
    if operation in _OF_COORDINATES:
        return _of_coordinate(operation, *arguments)
    layout, *rest = (_read(a) for a in arguments)
    layout = Layout(layout)
    if operation in _BUILT_ON:
        return _built(operation, layout, *rest)
    steps, result, error = _core.record(operation, layout, *rest)
    render = _RENDER[operation]
    lines = render(layout, rest[0] if rest else None, steps, result)
    ending = f"No result. {error}" if error else f"Result: {result}{_origin(steps)}"
    return _steps(operation, [*lines, "", ending], steps, result, error)


def _steps(operation: str, lines: list[str], steps: list[Step], result: Any, error: str | None = None) -> Steps:
    text = Steps("\n".join(lines))
    text.operation, text.steps, text.result, text.error = operation, steps, result, error
    return text


def _read(value: Any) -> Any:
    if isinstance(value, str):
        value = read_text(value)
    if isinstance(value, ComposedLayout):
        raise LayoutError("explain: a composed layout acts by its inner layout; next: explain that")
    return tuple(_read(v) for v in value) if isinstance(value, (tuple, list)) else value


# ---- Numbers, plain: whether they are static does not matter here


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({','.join(_plain(v) for v in value)})"
    if isinstance(value, _core.ScaledBasis):
        return str(_core.ScaledBasis(int(value.value), *value.modes))
    return str(int(value))


def _mode(mode: Layout) -> str:
    return f"{_plain(mode.shape)}:{_plain(mode.stride)}"


def _modes(layout: Layout) -> str:
    return " ".join(_mode(layout[i]) for i in range(layout.rank))


def _tiler(value: Any) -> str:
    return _core.print_tiler(value)


def _by_modes(steps: list[Step], how: str) -> list[str]:
    """Return what a tuple does to each mode."""
    lines = ["A tuple acts by modes:"]
    for _, v in steps:
        what = (
            f"_ keeps {v['mode']}" if v["tiler"] is None else f"{v['mode']} {how} {_tiler(v['tiler'])} = {v['result']}"
        )
        lines.append(f"  mode {v['index']}: {what}")
    return lines


def _origin(steps: list[Step]) -> str:
    """Return what the gaps of a complement were before they were coalesced."""
    gaps = [v["layout"] for kind, v in steps if kind == "gaps"]
    return f", coalesced from {_modes(gaps[0])}" if gaps else ""


# ---- coalesce


def _coalesce(layout: Layout, _: Any, steps: list[Step], result: Any) -> list[str]:
    lines = [
        f"coalesce {layout}",
        "The same function of an integer, in as few modes as possible.",
        "",
        "From the right:",
    ]
    for kind, v in steps:
        mode = v["mode"]
        if kind == "start":
            lines.append(f"  start with {_mode(mode)}")
        elif kind == "vanish":
            lines.append(f"  {_mode(mode)} has extent 1 and vanishes")
        elif kind == "give way":
            lines.append(f"  {_mode(v['head'])} has extent 1 and gives way to {_mode(mode)}")
        elif kind == "alone":
            lines.append(f"  {_mode(mode)} is all that is left, and has extent 1: 1:0")
        else:
            product = f"{_plain(mode.shape)} * {_plain(mode.stride)} = {_plain(mode.stride * int(mode.shape))}"
            head = v["head"]
            lines.append(
                f"  {_mode(mode)} ends where {_mode(head)} goes on: {product}; together {_mode(v['result'])}"
                if kind == "merge"
                else f"  {_mode(mode)} stays: {product}, the next stride is {_plain(head.stride)}"
            )
    return lines


# ---- composition


def _composition(a: Layout, b: Any, steps: list[Step], result: Any) -> list[str]:
    if isinstance(b, tuple):
        return [f"composition {a} o {_tiler(b)}", *_by_modes(steps, "o")]
    b = Layout(b, 1) if isinstance(b, int) else b
    lines = [f"composition {a} o {_tiler(b)}", "R(c) = A(B(c)), with the shape of B or a refinement of it."]
    if b is None:
        return [*lines, "_ keeps A."]
    starts = [v for kind, v in steps if kind == "mode"]
    by_integers = not any(isinstance(v["mode"].stride, _core.ScaledBasis) for v in starts)
    if by_integers and starts:
        lines += [
            "",
            f"A as a function of an integer is {_modes(starts[0]['digits'])}; the last mode goes on without end.",
        ]
    before = ""
    for kind, v in steps:
        if kind == "mode":
            lines += ["", _start(v["mode"], v["digits"])]
        elif kind == "check":
            lines += ["", "The modes of B may carry into one another: A(B(c)) is evaluated and compared."]
        elif kind != "together":
            lines.append(f"  {_composition_step(kind, v)}")
        elif before not in {"stay", "scale"}:
            lines.append(f"  together {_modes(v['result'])}")
        before = kind
    return lines


def _start(mode: Layout, digits: Layout) -> str:
    through = f"Mode {_mode(mode)} of B: {_plain(mode.shape)} steps of"
    if not isinstance(mode.stride, _core.ScaledBasis):
        return f"{through} {_plain(mode.stride)} through A"
    modes = mode.stride.modes
    which = modes[0] if len(modes) == 1 else _tiler(modes)
    return f"{through} {_plain(mode.stride.value)} through A's mode {which}, {_modes(digits)}"


def _composition_step(kind: str, v: dict[str, Any]) -> str:
    result = _mode(v["result"]) if "result" in v else ""
    if kind == "stay":
        return f"a stride of 0 stays where it is: {result}"
    step = _plain(v["step"])
    if kind == "scale":
        return f"A has one mode: {_plain(v['result'].shape)}:{step} * {_plain(v['by'])} = {result}"
    if kind == "last":
        extent = _plain(v["result"].shape)
        return f"the last mode takes the other {extent}: {extent}:{step} * {_plain(v['by'])} = {result}"
    digit, size = v["digit"], abs(int(v["step"]))
    extent = _plain(digit.shape)
    if kind == "over":
        return f"{_mode(digit)} is stepped over: {size} / {extent} = {abs(int(v['left']))} steps of the next mode"
    if kind == "take":
        taken = _plain(v["result"].shape)
        return f"{_mode(digit)} takes {taken} of the {_plain(v['of'])} steps: {taken}:{step} * {_plain(digit.stride)} = {result}"
    if kind == "no multiple":
        return f"{size} is no multiple of the extent {extent} of A's mode {_mode(digit)}: A does not divide"
    return f"{_plain(v['of'])} steps of {size} do not fill A's mode {_mode(digit)}, {_plain(v['fit'])} fit: A does not divide"


# ---- complement


def _complement(layout: Layout, target: Any, steps: list[Step], result: Any) -> list[str]:
    filtered = next((v["layout"] for kind, v in steps if kind == "filtered"), None)
    if filtered is None:  # refused at once
        return [f"complement of {layout}"]
    inside = _plain(_core.cosize(filtered) if target is None else _core.shape(target))
    lines = [
        f"complement of {layout} in {inside}",
        "What the layout misses: ordered, and disjoint from it but for 0.",
        "",
        f"Without zero strides and extents of 1, coalesced: {filtered}",
        "In ascending order of the strides:",
    ]
    for kind, v in steps:
        if kind == "nothing":
            lines.append(
                f"  there is nothing but 0, so everything is missed: {_plain(v['result'].shape)}:{_plain(v['result'].stride)}"
            )
        elif kind == "negative":
            lines.append(f"  {_mode(v['mode'])} goes below 0")
        elif kind == "interleave":
            lines.append(f"  {_mode(v['mode'])} starts inside the {_plain(v['reached'])} that are covered so far")
        elif kind == "gap":
            lines.append(f"  {_mode(v['mode'])} covers up to {_plain(v['reached'])}; {_gap(v['mode'], v['result'])}")
        elif kind == "above":
            rest, reached = _plain(v["rest"]), _plain(v["reached"])
            mode = "" if isinstance(v["rest"], tuple) else f": {rest}:{reached}"
            how = "rounded up mode by mode" if isinstance(v["target"], tuple) else "rounded up"
            lines.append(f"  above: {_plain(v['target'])} / {reached}, {how}, is {rest}{mode}")
    return lines


def _gap(mode: Layout, gap: Layout) -> str:
    stride, steps, below = int(mode.stride), int(gap.shape), int(gap.stride)
    end = steps * below
    if end < stride:
        left_out = str(end) if end + 1 == stride else f"{end} to {stride - 1}"
        return f"{_count(steps, 'whole step')} of {below} below {stride}: {_mode(gap)}, which leaves out {left_out}"
    return f"{steps} steps of {below} fit below {stride}: {_mode(gap)}" if steps > 1 else f"no gap below {stride}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


# ---- divide and product


def _logical_divide(layout: Layout, tiler: Any, steps: list[Step], result: Any) -> list[str]:
    lines = [f"logical_divide {layout} by {_tiler(tiler)}"]
    if isinstance(tiler, tuple):
        return [*lines, *_by_modes(steps, "by")]
    lines.append("A o (B, B*): the tile first, then where the tiles are.")
    for _, v in steps:
        lines += [
            "",
            f"  B  = {v['tile']}: the elements of a tile",
            f"  B* = complement of B in {_plain(v['target'])} = {v['rest']}: the tiles",
            f"  (B, B*) = {v['both']}",
        ]
        if result is not None:
            lines.append(f"  A o (B, B*), mode by mode: A o B = {result[0]}, A o B* = {result[1]}")
    return lines


def _logical_product(block: Layout, tiler: Any, steps: list[Step], result: Any) -> list[str]:
    lines = [f"logical_product of {block} with {_tiler(tiler)}"]
    if isinstance(tiler, tuple):
        return [*lines, *_by_modes(steps, "with")]
    lines += ["(A, A* o B): the block first, then its copies, in the order that B says.", ""]
    for kind, v in steps:
        if kind == "copies":
            lines.append(f"  A* o B = {v['result']}")
        else:
            size, cosize, reach = _plain(v["size"]), _plain(v["cosize"]), _plain(v["reach"])
            lines += [
                f"  copies need room for size(A) * cosize(B) = {size} * {cosize} = {reach}",
                f"  A* = complement of A in {reach} = {v['free']}: where copies can start",
            ]
    return lines


# ---- inverses


def _right_inverse(layout: Layout, _: Any, steps: list[Step], result: Any) -> list[str]:
    lines = [
        f"right_inverse of {layout}",
        "The coordinates, in order, whose indices are 0, 1, 2, ...",
        "",
        f"Coalesced: {steps[0][1]['layout']}. In ascending order of the strides:",
    ]
    for kind, v in steps[1:]:
        mode, reached = _mode(v["mode"]), _plain(v["reached"])
        if kind == "take":
            lines.append(
                f"  {mode} goes on at the index {reached}: {_mode(v['result'])}, its extent and its stride among coordinates"
            )
        else:
            lines.append(f"  {mode} does not go on at the index {reached}: left out")
    return lines


def _left_inverse(layout: Layout, _: Any, steps: list[Step], result: Any) -> list[str]:
    lines = [
        f"left_inverse of {layout}",
        "The coordinate of each index, where it has one.",
        "",
        f"Coalesced: {steps[0][1]['layout']}. In ascending order of the strides:",
    ]
    for kind, v in steps[1:]:
        if kind == "below":
            stride, reached = _plain(v["mode"].stride), _plain(v["reached"])
            lines.append(
                f"  below {_mode(v['mode'])}: {stride} / {reached} = {_plain(v['result'].shape)} steps of {_plain(v['result'].stride)}; "
                f"beyond, a step is the coordinate {_plain(v['next'])}"
            )
        else:
            lines.append(f"  the last mode's own extent: {_mode(v['result'])}")
    return lines


# ---- what is built on divide and product, and coordinates


_BUILT_ON = {
    "zipped_divide": (
        "logical_divide",
        "the modes of the tile in front, those of the rest behind: ((tile,...),(rest,...))",
    ),
    "tiled_divide": ("logical_divide", "the tile in front, the modes of the rest behind it: ((tile,...),rest,...)"),
    "flat_divide": ("logical_divide", "the modes of the tile, then those of the rest: (tile,...,rest,...)"),
    "zipped_product": ("logical_product", "the modes of the block in front, those of the copies behind"),
    "tiled_product": ("logical_product", "the block in front, the modes of the copies behind it"),
    "flat_product": ("logical_product", "the modes of the block, then those of the copies"),
    "blocked_product": ("logical_product", "each mode of the block with the mode of the copies: ((block,copies),...)"),
    "raked_product": ("logical_product", "each mode of the copies with the mode of the block: ((copies,block),...)"),
}


def _built(operation: str, layout: Layout, argument: Any) -> Steps:
    """Explain an operation that arranges the modes of another one's result."""
    base, how = _BUILT_ON[operation]
    first, second = layout, argument
    lines = [f"{operation} {layout} {'by' if 'divide' in operation else 'with'} {_tiler(argument)}"]
    if operation in {"blocked_product", "raked_product"}:
        second = Layout(argument) if not isinstance(argument, Layout) else argument
        rank = max(layout.rank, second.rank)
        first, second = _core.append(layout, rank), _core.append(second, rank)
        if rank != layout.rank or rank != second.rank:
            lines.append(f"With as many modes: {first} and {second}.")
    inner = explain_layout(base, first, second)
    lines += [f"First {base}, then {how}.", "", *(f"  {line}".rstrip() for line in inner.split("\n")), ""]
    if inner.error is not None:
        return _steps(operation, [*lines, f"No result. {inner.error}"], inner.steps, None, inner.error)
    try:
        result = getattr(_core, operation)(layout, argument)
    except LayoutError as refused:
        return _steps(operation, [*lines, f"No result. {refused}"], inner.steps, None, str(refused))
    return _steps(operation, [*lines, f"Result: {result}"], inner.steps, result)


def _of_coordinate(operation: str, value: Any, shape: Any, stride: Any = None) -> Steps:
    """Explain, digit by digit, what idx2crd and crd2idx compute."""
    shape = _read(shape)
    if isinstance(shape, Layout):
        shape, stride = shape.shape, shape.stride if operation == "crd2idx" else stride
    value, shape = _numbers(operation, value), _core.shape(_core.make_layout(shape))
    extents = [int(extent) for extent in _as_leaves(shape)]
    steps: list[Step] = []
    if operation == "idx2crd":
        if isinstance(value, tuple):
            raise OperandError("explain: idx2crd takes one index apart; next: explain it mode by mode")
        result = _core.idx2crd(value, shape)
        lines = [
            f"idx2crd {_plain(value)} in {_plain(shape)}",
            "Digit by digit, the first mode fastest; the last one takes what is left. Quotients are rounded towards 0, as in C++.",
            "",
        ]
        left = int(value)
        for number, extent in enumerate(extents):
            last = number + 1 == len(extents)
            quotient = 0 if last else abs(left) // extent * (-1 if left < 0 else 1)
            digit = left - quotient * extent if not last else left
            steps.append(("digit", {"of": left, "extent": extent, "digit": digit}))
            lines.append(
                f"  {left} is left" if last else f"  {left} % {extent} = {digit}, {left} / {extent} = {quotient}"
            )
            left = quotient
    else:
        strides = _as_leaves(_core.stride(_core.make_layout(shape)) if stride is None else stride)
        result = _core.crd2idx(value, shape) if stride is None else _core.crd2idx(value, shape, stride)
        digits = _as_leaves(_spread(value, shape))
        lines = [f"crd2idx {_tiler(value)} in {_plain(shape)}", "Each coordinate times its stride, and their sum.", ""]
        if _as_leaves(value) != digits:
            lines.append(
                f"  {_tiler(value)} is {_tiler(_spread(value, shape))}, integers taken apart in colexicographic order"
            )
        for digit, step in zip(digits, strides, strict=True):
            steps.append(("term", {"digit": digit, "stride": step}))
        lines.append("  " + " + ".join(f"{digit}*{_plain(step)}" for digit, step in zip(digits, strides, strict=True)))
    return _steps(operation, [*lines, "", f"Result: {_tiler(result)}"], steps, result)


def _numbers(operation: str, value: Any) -> Any:
    """Return an index or a coordinate, plain integers."""
    if isinstance(value, str):
        value = _core.shape(value)
    if isinstance(value, (tuple, list)):
        return tuple(_numbers(operation, v) for v in value)
    try:
        return operator.index(value)
    except TypeError:
        raise OperandError(
            f"explain: {operation} takes integers and tuples of them, not {type(value).__name__}"
        ) from None


def _spread(coord: Any, shape: Any) -> Any:
    if isinstance(coord, tuple) and isinstance(shape, tuple):
        return tuple(_spread(c, s) for c, s in zip(coord, shape, strict=True))
    return _core.idx2crd(coord, shape)


def _as_leaves(value: Any) -> list[Any]:
    return [leaf for v in value for leaf in _as_leaves(v)] if isinstance(value, tuple) else [value]


_RENDER: dict[str, Callable[[Layout, Any, list[Step], Any], list[str]]] = {
    "coalesce": _coalesce,
    "composition": _composition,
    "complement": _complement,
    "logical_divide": _logical_divide,
    "logical_product": _logical_product,
    "right_inverse": _right_inverse,
    "left_inverse": _left_inverse,
}
_OF_COORDINATES = ("idx2crd", "crd2idx")

# The least and the most arguments of each.
OPERATIONS: dict[str, tuple[int, int]] = {
    "coalesce": (1, 1),
    "composition": (2, 2),
    "complement": (1, 2),
    "right_inverse": (1, 1),
    "left_inverse": (1, 1),
    **dict.fromkeys(("logical_divide", "logical_product", *_BUILT_ON), (2, 2)),
    "idx2crd": (2, 2),
    "crd2idx": (2, 3),
}
