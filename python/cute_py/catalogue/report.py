"""One HTML page about a kernel: tiles, shared memory, copies, MMA, who owns what, banks. Its pictures are linked with
one another.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, Protocol

import numpy as np

from cute_py import _core
from cute_py._core import Layout
from cute_py.catalogue.config import KernelConfig
from cute_py.catalogue.trace import Trace, audit
from cute_py.drawing.picture import LINK_ALL, Picture, linking_script, linking_style, to_facts, to_html_fragment
from cute_py.drawing.subjects import picture_of_banks, picture_of_layout, picture_of_tv
from cute_py.errors import OperandError
from cute_py.layout.tensor import local_tile, make_tensor

__all__ = ["SECTIONS", "Described", "Part", "kernel_report"]

Part = str | Picture  # HTML, or what becomes HTML

_STYLE = """
body { display: grid; grid-template-columns: minmax(0, 1fr) 17em; gap: 2rem; font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto;
  padding: 0 1rem; max-width: 150ch; color: #1a1a1a; background: #fff; }
aside { position: sticky; top: 1rem; align-self: start; max-height: calc(100vh - 2rem); overflow: auto; font-size: 14px; }
@media (max-width: 60em) {
  body { display: block; padding-bottom: 14em; }
  aside { position: fixed; inset: auto 0 0 0; height: 12em; padding: 1em; border-top: 1px solid #999; background: #fff; }
}
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid #999; }
table { border-collapse: collapse; } td, th { border: 1px solid #bbb; padding: .2rem .6rem; text-align: left; }
pre { background: #f3f3f3; padding: .6rem; overflow-x: auto; } nav a { margin-right: 1rem; }
"""


class Described(Protocol):
    """What a report asks of a kernel. A `Kernel` has it, and imports this module."""

    @property
    def name(self) -> str: ...
    @property
    def targets(self) -> tuple[str, ...]: ...
    @property
    def compute_capability(self) -> int: ...
    @property
    def layout(self) -> str: ...
    @property
    def modes_m(self) -> int: ...
    @property
    def most_m(self) -> int | None: ...
    @property
    def tile(self) -> tuple[int, int, int]: ...
    @property
    def threads(self) -> int: ...
    @property
    def stages(self) -> int: ...
    @property
    def shared_bytes(self) -> int: ...
    @property
    def registers(self) -> int | None: ...
    @property
    def predicated(self) -> bool: ...
    @property
    def alignment_bytes(self) -> int: ...
    @property
    def copies_boxes(self) -> bool: ...
    @property
    def config(self) -> KernelConfig: ...
    def trace(self, *, spaces: tuple[str, ...]) -> Trace: ...


def kernel_report(kernel: Described) -> str:
    """Return the page."""
    sections = [(title, section(kernel)) for title, section in SECTIONS.items()]
    pictures = [part for _, parts in sections for part in parts if isinstance(part, Picture)]
    links = "".join(f'<a href="#{_anchor(title)}">{escape(title)}</a>' for title, _ in sections)
    body = "".join(
        f'<section><h2 id="{_anchor(title)}">{escape(title)}</h2>{"".join(map(_html, parts))}</section>'
        for title, parts in sections
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(kernel.name)}</title><style>{_STYLE}{linking_style()}</style></head>"
        f"<body><main><h1>{escape(kernel.name)}</h1><nav>{links}</nav>{body}</main><aside>{to_facts(pictures)}</aside>"
        f"<script>{linking_script()}{LINK_ALL}</script></body></html>\n"
    )


def _html(part: Part) -> str:
    return to_html_fragment(part) if isinstance(part, Picture) else part


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _facts(kernel: Described) -> list[Part]:
    rows = [
        ("runs on", ", ".join(kernel.targets)),
        ("made for", f"compute capability {kernel.compute_capability / 10:.1f} and later"),
        ("CTA tile (BLK_M,BLK_N,BLK_K)", _core.print_tiler(kernel.tile)),
        ("threads", str(kernel.threads)),
        ("stages", str(kernel.stages)),
        ("shared memory", f"{kernel.shared_bytes} bytes"),
        *_roles(kernel),
        ("registers of a thread", str(kernel.registers or "not known without a GPU")),
        (
            "takes",
            "any extents and strides" if kernel.predicated else f"whole tiles, {kernel.alignment_bytes}-byte aligned",
        ),
    ]
    return [_table(rows)]


def _roles(kernel: Described) -> list[tuple[str, str]]:
    roles = kernel.config.roles
    if roles is None:
        return []
    how = "share a tile" if roles.of_tile == roles.multiplying else "alternate: one multiplies while the other writes"
    return [
        ("warpgroups", f"threads 0 to {roles.multiplying - 1} multiply and {how}"),
        ("", f"of {roles.copying} more threads one starts TMA loads, up to {kernel.stages} tiles ahead"),
    ]


def _tiles(kernel: Described) -> list[Part]:
    config = kernel.config
    owners = f"tCgC  {config.layout_c_tv}  (thread,value) of the tile of C"
    if not _copies_are_fixed(kernel):
        return [_pre(f"CTA tile (BLK_M,BLK_N,BLK_K): {_core.print_tiler(config.cta_tiler)}\n{owners}")]
    m, n, k = (3 * extent for extent in kernel.tile)
    lines = [f"A product of M={m}, N={n}, K={k}, seen by the CTA (1,2) and its thread 37:", ""]
    a = make_tensor(Layout((m, k), (1, m) if kernel.layout[0] == "n" else (k, 1)))
    tile = local_tile(a, config.cta_tiler, (1, 2, None), (1, None, 1))
    source, destination, vector = config.copy_partition("a", 37, 0)
    lines += [
        f"mA    {a.layout}",
        f"gA    {tile.layout}  at {tile.offset}",
        f"tAgA  {source.layout}  of a tile, at {source.offset}",
        f"tAsA  {destination.layout}  of shared memory, at {destination.offset}",
        f"elements per copy instruction: {vector}",
        owners,
    ]
    return [_pre("\n".join(lines))]


def _copies_are_fixed(kernel: Described) -> bool:
    """Do the layouts alone say what a thread copies? Else the strides and extents of the operands do, too."""
    return kernel.modes_m == 1 and kernel.most_m is None and not kernel.copies_boxes


def _shared_memory(kernel: Described) -> list[Part]:
    parts: list[Part] = []
    for operand, layout, element in (
        ("A", kernel.config.smem_layout_a, kernel.config.type_a),
        ("B", kernel.config.smem_layout_b, kernel.config.type_b),
    ):
        if layout is None:
            parts.append(_pre(f"{operand}: straight to registers"))
            continue
        stage = layout if layout.rank == 2 else _core.slice_((None, None, 0), layout)
        parts.append(_pre(f"{operand}: {layout}"))
        title = f"Shared memory of {operand}, one stage"
        parts.append(picture_of_layout(stage, title=title, bank=element.bits))
    return parts


def _copies(kernel: Described) -> list[Part]:
    parts: list[Part] = []
    config = kernel.config
    for operand, copy, threads, box, element in (
        ("A", config.tiled_copy_a, config.thread_layout_a, config.box_a, config.type_a),
        ("B", config.tiled_copy_b, config.thread_layout_b, config.box_b, config.type_b),
    ):
        if copy is not None:
            parts += [_pre(f"{operand}: {copy}"), copy._picture()]
        elif threads is not None:
            parts += [_pre(f"{operand}: threads {threads}"), _thread_picture(operand, threads)]
        elif box is not None:
            lines, steps = box
            rows = "rows" if operand == "A" else "columns"
            size = f"{lines * steps * element.bits // 8} bytes"
            parts.append(
                _pre(f"{operand}: by TMA, in boxes of {lines} {rows} and {steps} steps of k, {size}, swizzled in 128")
            )
        else:
            parts.append(_pre(f"{operand}: by all threads, in vectors where the operand lies so"))
    return parts


def _math(kernel: Described) -> list[Part]:
    mma = kernel.config.tiled_mma
    if mma is not None:
        return [_pre(str(mma)), mma._picture()]
    threads = kernel.config.thread_layout_c
    if threads is None:
        return [
            _pre(f"C: {kernel.config.layout_c_tv}  (thread,value) of products of {kernel.tile[0]}x{kernel.tile[1]}")
        ]
    return [_pre(f"C: threads {threads}"), _thread_picture("C", threads)]


def _thread_picture(operand: str, threads: Layout) -> Picture:
    tv = _core.right_inverse(threads).with_shape(threads.size, 1)
    return picture_of_tv(f"Threads of {operand}", _core.product_each(threads), tv)


def _owners(kernel: Described) -> list[Part]:
    m, n, _ = kernel.tile
    return [picture_of_tv(f"Owners of a {m}x{n} tile of C: thread, accumulator", (m, n), kernel.config.layout_c_tv)]


def _banks(kernel: Described) -> list[Part]:
    trace = kernel.trace(spaces=("shared",))
    try:
        costs = _table([(access.rstrip(":"), str(cost)) for access, cost in audit(trace).items()])
    except OperandError:
        costs = "<p>The threads of a warp part in this kernel, so its accesses cannot be paired and counted.</p>"
    shared = trace.of("shared")
    first = shared[(shared["thread"] < 32) & ~shared["is_write"]]
    order = np.argsort(first["thread"], kind="stable")
    lanes = np.split(first[order], np.searchsorted(first["thread"][order], range(1, 32)))
    phase = [
        (lane, int(accesses["offset"][0]) // 4, max(int(accesses["bytes"][0]) // 4, 1))
        for lane, accesses in enumerate(lanes)
        if len(accesses)
    ]
    words = Layout(kernel.shared_bytes // 4)
    return [costs, picture_of_banks(words, 32, [phase])]


def _table(rows: list[tuple[str, str]]) -> str:
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
    return f"<table>{cells}</table>"


def _pre(text: Any) -> str:
    return f"<pre>{escape(str(text).rstrip())}</pre>"


# What a report says, in order.
SECTIONS: dict[str, Callable[[Described], list[Part]]] = {
    "Facts": _facts,
    "Tiles": _tiles,
    "Shared memory": _shared_memory,
    "Copies": _copies,
    "Math": _math,
    "Owners of C": _owners,
    "Banks": _banks,
}
