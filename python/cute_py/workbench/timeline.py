"""What the warps of a kernel did and waited for, and what worked beside them: for Perfetto, and as a picture."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from cute_py._files import write_whole
from cute_py.errors import OperandError
from cute_py.workbench.findings import Line, Symbols

__all__ = ["Span", "Timeline", "read_marks", "timelines_of"]

_COLOURS = {"wait": "#d9a0a0", "product": "#7aa6d6", "load": "#8fc48f", "store": "#c9b26b", "section": "#b9a6d9", "kernel": "#e8e8e8"}  # fmt: skip


class Span(NamedTuple):
    """Something that lasted.

    Attributes
    ----------
    kind
        ``"wait"``, ``"product"`` of tensor cores, ``"load"`` and ``"store"`` by TMA or cp.async, ``"section"`` of the
        program, or ``"kernel"``, all of it.
    track
        Whose: ``"block 0 warp 4"``, ``"block 0 TMA"``, ``"block 0 tensor cores of warpgroup 1"``. In the emulator
        blocks are counted within the cluster.
    name
        What: ``"wgmma m64n128k16"``, ``"load of 16384 bytes"``, ``"wait for ..."``, ``"the kernel"``, or a section's
        name, which ``CUTE_PY_MARK`` gave.
    begin, end
        In the timeline's unit.
    line
        The line of the program; None if it is not known.
    """

    kind: str
    track: str
    name: str
    begin: float
    end: float
    line: Line | None = None


@dataclass(frozen=True)
class Timeline:
    """What one cluster of a kernel did.

    Attributes
    ----------
    kernel
        The kernel's name.
    unit
        ``"nominal cycles"`` of the emulator: a longest path through what happens before what, with fixed costs for
        instructions, cp.async, TMA and wgmma (csrc/workbench/timeline.hpp), not a measurement. ``"ns"`` of a GPU.
    spans
        In no order.
    """

    kernel: str
    unit: str
    spans: tuple[Span, ...]

    @property
    def tracks(self) -> list[str]:
        """The tracks: of each block its warps, then what works beside them."""

        def key(track: str) -> tuple[int, int, str, int]:
            words = track.split()
            return (int(words[1]), 0 if words[2] == "warp" else 1, " ".join(words[2:-1]), _number(words[-1]))

        return sorted({span.track for span in self.spans}, key=key)

    @property
    def is_empty(self) -> bool:
        """Whether nothing lasts: there is nothing to draw."""
        return not any(span.end > span.begin for span in self.spans)

    def to_chrome(self) -> dict[str, Any]:
        """Return it in the trace format of Chrome, which ui.perfetto.dev opens. A cycle is a microsecond there."""
        scale = 1e-3 if self.unit == "ns" else 1.0
        events: list[dict[str, Any]] = [
            {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": f"{self.kernel} ({self.unit})"}}
        ]
        number = 0
        for track in self.tracks:
            for lane in _lanes([span for span in self.spans if span.track == track]):
                number += 1
                named = {"ph": "M", "pid": 1, "tid": number}
                events.append({**named, "name": "thread_name", "args": {"name": track}})
                events.append({**named, "name": "thread_sort_index", "args": {"sort_index": number}})
                for span in lane:
                    times = {"ts": span.begin * scale, "dur": (span.end - span.begin) * scale}
                    event = {"ph": "X", "name": span.name, "cat": span.kind, "pid": 1, "tid": number, **times}
                    if span.line is not None:
                        event["args"] = {"line": str(span.line)}
                    events.append(event)
        return {"traceEvents": events, "displayTimeUnit": "ns"}

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file, and return its path: a picture if its name ends in ``.svg``, else JSON for Perfetto."""
        place = Path(path)
        text = self.to_svg() if place.suffix == ".svg" else json.dumps(self.to_chrome())
        write_whole(place, lambda file: file.write(text.encode()))
        return place

    def to_svg(
        self,
        tracks: Sequence[str] | None = None,
        *,
        begin: float | None = None,
        end: float | None = None,
        in_page: bool = False,
    ) -> str:
        """Return a picture: a line for each track, or for those named, from `begin` to `end`.

        With `in_page` it has no style of its own: that is the page's. Raises OperandError for a track that there is
        not, and for no time at all.
        """
        shown = self.tracks if tracks is None else list(tracks)
        for track in shown:
            if track not in self.tracks:
                raise OperandError(f"to_svg: there is no track {track!r}\n  next: one of {', '.join(self.tracks)}")
        spans = [span for span in self.spans if span.track in shown]
        first = min((s.begin for s in spans), default=0.0) if begin is None else begin
        last = max((s.end for s in spans), default=0.0) if end is None else end
        if not last > first:
            raise OperandError(f"to_svg: nothing happens between {first:g} and {last:g}\n  next: begin= and end= apart")
        label, width, row, top = 210, 900, 24, 40
        height = top + row * len(shown) + 34
        scale = width / (last - first)
        total = label + width + 20
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="timeline" viewBox="0 0 {total} {height}" '
            'font-family="sans-serif" font-size="11" role="img">',
            ""
            if in_page
            else "<style>text{fill:#222}.axis{stroke:#999}@media(prefers-color-scheme:dark){text{fill:#ddd}.in{fill:#111}}</style>",
            f"<title>{escape(self.kernel)}: what its warps do and wait for</title>",
            f'<text x="0" y="14" font-size="13">{escape(self.kernel)}</text>',
        ]
        for i, kind in enumerate(("wait", "product", "load", "store", "section")):
            colour, what = _COLOURS[kind], f"{kind}s"
            at_x = label + 90 * i
            lines.append(
                f'<rect x="{at_x}" y="20" width="12" height="12" fill="{colour}"/><text x="{at_x + 16}" y="30">{what}</text>'
            )
        for i, track in enumerate(shown):
            y = top + row * i
            lines.append(f'<text x="0" y="{y + 14}">{escape(track)}</text>')
            own = sorted(
                (s for s in spans if s.track == track), key=lambda s: (s.kind != "section", s.begin - s.end, s.begin)
            )
            own.sort(key=lambda s: s.kind != "kernel")
            has_sections = any(span.kind == "section" for span in own)
            for span in own:
                x0, x1 = (min(max(x, first), last) for x in (span.begin, span.end))
                if x1 <= x0:
                    continue
                # What is waited for stands below the names of sections.
                above = 11 if has_sections and span.kind not in ("kernel", "section") else 0
                inset = 0 if span.kind == "kernel" else 2
                high = row - 6 - 2 * inset - above
                colour = _COLOURS[span.kind]
                where = f", {span.line}" if span.line is not None else ""
                title = escape(f"{span.name}: {span.begin:g} to {span.end:g}{where}")
                x, w = label + (x0 - first) * scale, max((x1 - x0) * scale, 0.4)
                lines.append(
                    f'<rect x="{x:.1f}" y="{y + 2 + inset + above}" width="{w:.1f}" height="{high}" fill="{colour}" '
                    f'stroke="#fff" stroke-width=".3"><title>{title}</title></rect>'
                )
                if span.kind == "section" and w > 6 * len(span.name):
                    lines.append(
                        f'<text class="in" x="{x + 3:.1f}" y="{y + (13 if has_sections else 14)}">{escape(span.name)}</text>'
                    )
        y = top + row * len(shown) + 6
        lines.append(f'<line class="axis" x1="{label}" y1="{y}" x2="{label + width}" y2="{y}"/>')
        step = _step((last - first) / 8)
        at = -(-first // step) * step
        while at <= last:
            x = label + (at - first) * scale
            anchor = "end" if x > label + width - 40 else "start"
            lines.append(f'<line class="axis" x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{y + 4}"/>')
            lines.append(
                f'<text x="{x:.1f}" y="{y + 16}" text-anchor="{anchor}">{abs(at):g}{"" if at > first else " " + self.unit}</text>'
            )
            at += step
        return "\n".join([*lines, "</svg>"]) + "\n"

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __str__(self) -> str:
        last = max((span.end for span in self.spans), default=0.0)
        return f"{self.kernel}: {len(self.spans)} spans on {len(self.tracks)} tracks, {last:g} {self.unit}"


def _lanes(spans: list[Span]) -> list[list[Span]]:
    """Return spans of a track in as few rows as need be, so that two of a row are apart, or one holds the other."""
    lanes: list[tuple[list[Span], list[float]]] = []
    for span in sorted(spans, key=lambda s: (s.begin, -s.end)):
        for own, open_ends in lanes:
            while open_ends and open_ends[-1] <= span.begin:
                open_ends.pop()
            if not open_ends or span.end <= open_ends[-1]:
                own.append(span)
                open_ends.append(span.end)
                break
        else:
            lanes.append(([span], [span.end]))
    return [own for own, _ in lanes]


def _number(text: str) -> int:
    return int(text) if text.isdigit() else -1


def _step(least: float) -> float:
    """Return a round number that is no less."""
    power = 1.0
    while power * 10 <= least:
        power *= 10
    return next(power * x for x in (1, 2, 5, 10) if power * x >= least)


def timelines_of(symbols: Symbols, reported: list[dict[str, Any]]) -> tuple[Timeline, ...]:
    """Return timelines as a program reported them, with lines in place of addresses."""
    lines = symbols.lines(span[5] for found in reported for span in found["spans"])
    return tuple(
        Timeline(
            found["kernel"],
            "nominal cycles",
            tuple(Span(s[0], s[1], s[2], s[3], s[4], lines[s[5]]) for s in found["spans"]),
        )
        for found in reported
    )


def read_marks(path: Path, kernel: str) -> Timeline:
    """Return the timeline of what a program marked on a GPU, as cute_py/marks.hpp writes it."""
    marks = [line.split(" ", 3) for line in path.read_text().splitlines()]
    first = min((int(mark[0]) for mark in marks), default=0)
    spans = []
    of_track: dict[str, list[tuple[float, str]]] = {}
    for ns, block, warp, name in marks:
        of_track.setdefault(f"block {block} warp {warp}", []).append((float(int(ns) - first), name))
    for track, own in of_track.items():
        own.sort()
        for (begin, name), (end, _) in pairwise(own):
            if name:
                spans.append(Span("section", track, name, begin, end))
    return Timeline(kernel, "ns", tuple(spans))
