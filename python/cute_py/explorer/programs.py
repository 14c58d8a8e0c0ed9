"""The explorer's views of CUDA programs, of folders that the command line names, and of Configs that one types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from pathlib import Path
from subprocess import TimeoutExpired

from cute_py import workbench
from cute_py.errors import OperandError
from cute_py.explorer.markup import field, hidden, link, note, options, pre, table, titled
from cute_py.explorer.views import Part, Query, View, integer, playback_strip
from cute_py.workbench.page import source_of
from cute_py.workbench.timeline import Span, Timeline

__all__ = ["Programs", "config", "config_form"]

_MOST_FILES = 500
_SECONDS = 60.0  # that a program may run
_ORDERS = ("forward", "backward", "random")
_ARCHITECTURES = ("90a", "80", "86", "89", "100a")


class Programs:
    """The view of CUDA programs in some folders. Nothing else is compiled or run."""

    def __init__(self, folders: Sequence[Path]) -> None:
        for folder in folders:
            if not folder.is_dir():
                raise OperandError(f"explore: there is no folder {folder}\n  next: one with CUDA programs (*.cu)")
        self._folders = tuple(folder.resolve() for folder in folders)

    def files(self) -> dict[str, Path]:
        """Return the programs by their names on the page, which begin with that of their folder."""
        found: dict[str, Path] = {}
        for folder in self._folders:
            for file in sorted(folder.rglob("*.cu"))[:_MOST_FILES]:
                if file.resolve().is_relative_to(folder):  # no link that leads elsewhere
                    found[f"{folder.name}/{file.relative_to(folder)}"] = file
        return found

    def form(self, query: Query) -> str:
        """Return the form, as it was filled in."""
        if not self._folders:
            return ""
        names = list(self.files())
        form = options("file", "Program", names, query.get("file", names[0] if names else ""))
        form += field("arguments", "Arguments", query.get("arguments", ""), size=24, hint="256 256 64 T N")
        form += options("order", "Threads", _ORDERS, query.get("order", "forward"))
        form += options("arch", "Architecture", _ARCHITECTURES, query.get("arch", "90a"))
        if query.get("track") and query.get("most", "0") != "0":
            form += hidden("track", query["track"]) + _slider(query)
        return form

    def view(self, query: Query) -> View:
        """A program: what it did, its source with what is said of lines, its timeline, and that step by step."""
        if not self._folders:
            text = "cute-py explore --programs FOLDER shows the CUDA programs of a folder: compiled, run in the emulator, judged."
            return View(
                "", [note(text), note("No program is compiled that is not in a folder which the command line names.")]
            )
        files = self.files()
        if "file" not in query:
            listed = "".join(link("program", name, file=name) for name in files)
            return View(self.form(query), [note(f"{len(files)} programs"), f'<p class="columns">{listed}</p>'])
        if query["file"] not in files:
            raise OperandError(f"file: there is no program {query['file']!r} in the folders\n  next: choose one")
        file = files[query["file"]]
        order = query.get("order", "forward")
        if order not in _ORDERS or query.get("arch", "90a") not in _ARCHITECTURES:
            raise OperandError("order and architecture are chosen from the lists\n  next: choose them")
        if "arguments" not in query:
            text = f"Show compiles it and runs it with these arguments, for at most {_SECONDS:.0f} s."
            return View(self.form(query), [note(text), titled(query["file"], pre(file.read_text(errors="replace")))])
        words = tuple(query["arguments"].split())
        run = _run(file, file.stat().st_mtime_ns, words, order, query.get("arch", "90a"))
        errors = sum(not finding.is_warning for finding in run.findings)
        outcome = (
            f"{errors} errors, {len(run.findings) - errors} warnings; the program's exit code is {run.exit_code}, "
            f"{run.seconds:.1f} s in the emulator"
        )
        parts: list[Part] = [titled(query["file"], note(outcome))]
        if run.findings:
            parts.append(titled("Findings", "".join(pre(finding) for finding in run.findings)))
        now: Span | None = None
        if run.timelines and not run.timelines[-1].is_empty:
            shown, now = self._timeline(run.timelines[-1], query)
            parts += shown
        marked = now.line.number if now is not None and now.line is not None and Path(now.line.file) == file else None
        parts.append(titled("Source", source_of(str(file), run, now=marked)))
        if run.output:
            parts.append(titled("What it printed", pre(run.output[-20000:])))
        return View(self.form({**query, "most": str(_most(run.timelines, query))}), parts)

    def _timeline(self, timeline: Timeline, query: Query) -> tuple[list[Part], Span | None]:
        tracks = timeline.tracks
        shown = [track for track in tracks if track.startswith(("block 0 ", "block 1 "))][:24]
        same = {name: query[name] for name in ("file", "arguments", "order", "arch") if name in query}
        links = " ".join(
            link("program", track, **{**same, "track": track, "step": 0}) for track in shown if _steps(timeline, track)
        )
        steps = _steps(timeline, query.get("track", ""))
        now: Span | None = None
        parts: list[Part] = [
            titled(f"{timeline.kernel}: what warps do and wait for", timeline.to_svg(shown, in_page=True))
        ]
        parts.append(note(f"In {timeline.unit}: a longest path, no measurement.{' Step by step: ' if links else ''}"))
        parts.append(f'<p class="player">{links}</p>')
        if query.get("track") and not steps:
            parts.append(note(f"{query['track']} waits for nothing, and has no sections"))
        if steps:
            number = integer("step", query.get("step", "0"))
            if not 0 <= number < len(steps):
                raise OperandError(
                    f"step: {query['track']} has steps 0 to {len(steps) - 1}, not {number}\n  next: one of them"
                )
            now = steps[number]
            where = f" at {now.line}" if now.line is not None else ""
            parts.append(
                playback_strip([("global", max(1, int(s.end - s.begin))) for s in steps], number, "nominal cycles")
            )
            parts.append(
                note(
                    f"step {number} of 0 to {len(steps) - 1} of {now.track}: {now.name}, {now.begin:g} to {now.end:g}{where}"
                )
            )
        return parts, now


def _steps(timeline: Timeline, track: str) -> list[Span]:
    own = [span for span in timeline.spans if span.track == track and span.kind != "kernel"]
    return sorted(own, key=lambda span: (span.begin, -span.end))


def _most(timelines: Sequence[Timeline], query: Query) -> int:
    return max(0, len(_steps(timelines[-1], query.get("track", ""))) - 1) if timelines else 0


def _slider(query: Query) -> str:
    most, step = query.get("most", "0"), query.get("step", "0")
    value = step if re.fullmatch(r"\d{1,9}", step) else "0"
    return f'<label>Step <input type="range" name="step" min="0" max="{escape(most)}" value="{value}"></label>'


@lru_cache(maxsize=16)
def _run(file: Path, changed: int, arguments: tuple[str, ...], order: str, architecture: str) -> workbench.Run:
    """Compile and run a program; one that has changed since is another one."""
    made = workbench.program(file, architecture=architecture)
    try:
        return made.run(*arguments, order=order, capture=True, timeline=True, timeout=_SECONDS)  # type: ignore[arg-type]
    except TimeoutExpired:
        raise OperandError(
            f"{file.name} runs longer than {_SECONDS:.0f} s\n  next: smaller extents as arguments"
        ) from None


# ---- Configs


_FIELDS = (("tiler", "Tile", "128,64,16"), ("stages", "Stages", "4"), ("ctas", "CTAs", ""), ("smem_a", "Shared memory of A", "(128,16):(1,132)"), ("smem_b", "Shared memory of B", ""), ("threads_a", "Threads of A", ""), ("threads_b", "Threads of B", ""), ("threads_c", "Threads of C", ""))  # fmt: skip


def config_form(query: Query) -> str:
    """Return the form of a Config, as it was filled in."""
    form = field("base", "Kernel", query.get("base", "sgemm_sm80_nt_f32"), size=30)
    for name, label, hint in _FIELDS:
        form += field(name, label, query.get(name, ""), size=22 if "smem" in name else 10, hint=hint)
    form += options("schedule", "Schedule", ("", "cooperative", "pingpong"), query.get("schedule", ""))
    return form + options("judge", "Compile and judge", ("no", "yes"), query.get("judge", "no"))


def config(query: Query) -> View:
    """A Config: what follows from what was typed, or what does not fit; compiled and judged if that is asked for."""
    given: dict[str, object] = {}
    for name, _, _ in _FIELDS:
        text = query.get(name, "").strip()
        if not text:
            continue
        if name == "tiler":
            given[name] = tuple(integer("tiler", part) for part in text.strip("()").split(","))
        elif name in ("stages", "ctas"):
            given[name] = integer(name, text)
        else:
            given[name] = text
    if query.get("schedule"):
        given["schedule"] = query["schedule"]
    made = workbench.config(query.get("base", "sgemm_sm80_nt_f32"), **given)  # type: ignore[arg-type]
    parts: list[Part] = [titled(made.name, pre(made))]
    for name in ("smem_a", "smem_b"):
        layout = getattr(made, name)
        if layout is not None:
            parts.append(table([(name, link("layout", str(layout), text=str(layout)))]))
    if query.get("judge") == "yes":
        judged = workbench.judge(made)
        parts.append(titled("Judged", pre(judged)))
        parts.append(note("A kernel like any other now, for as long as this page's server runs."))
        parts.append(f'<p class="examples">{link("kernel", f"{made.name}: tiles, owners, trace", name=made.name)}</p>')
    parts.append(titled("C++", pre(made.source)))
    return View(config_form(query), parts)
