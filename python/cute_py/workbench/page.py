"""What a program did as one HTML page: its source, with findings and costs beside the lines that they are of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from html import escape
from pathlib import Path

from cute_py.workbench.findings import Cost, Finding, Line
from cute_py.workbench.programs import Run

__all__ = ["page", "source_of"]

_AROUND = 12  # lines of a long source that are shown before and after one that something is said of
_SHORT = 400  # lines of a source that is shown whole

_STYLE = """
:root { color-scheme: light dark; --ink: #1d1d1f; --quiet: #6a6a70; --paper: #ffffff; --line: #d8d8dc; --code: #f6f6f8;
  --error: #b3261e; --warning: #8a5a00; --note: #1f5fbf; }
@media (prefers-color-scheme: dark) { :root { --ink: #ececf0; --quiet: #9a9aa2; --paper: #161618; --line: #3a3a40;
  --code: #1f1f23; --error: #ff8a80; --warning: #f0b54a; --note: #8ab4ff; } }
body { margin: 2rem auto; max-width: 76rem; padding: 0 1rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .1rem .8rem .1rem 0; text-align: left; vertical-align: top; }
.source { display: block; overflow-x: auto; background: var(--code); border: 1px solid var(--line); border-radius: 6px; }
.source table { font: 13px/1.45 ui-monospace, monospace; }
.source td { padding: 0 .8rem; white-space: pre; } .number, .cost { color: var(--quiet); text-align: right; }
.marked > td { background: color-mix(in srgb, var(--error) 14%, transparent); }
.said > td { white-space: normal; font-family: system-ui, sans-serif; padding-bottom: .3rem; }
.error { color: var(--error); } .warning { color: var(--warning); } .note, a { color: var(--note); }
.more { color: var(--quiet); }
"""


def page(run: Run, title: str) -> str:
    """Return an HTML page, complete in itself, about what a program did.

    Parameters
    ----------
    run
        What it did.
    title
        Of the page: the program's name, with its arguments.

    >>> print(page(Run(0, (), 0, (), 0.5), "sum.cu 64").split("<h1>")[1].split("</p>")[0])
    sum.cu 64</h1>
    <p><strong class="note">clean</strong>: 0 errors, 0 warnings; exit code 0, 0.5 s in the emulator
    """
    errors = sum(not finding.is_warning for finding in run.findings)
    body = [f"<h1>{escape(title)}</h1>", f"<p>{_outcome(run, errors)}</p>", _launches(run)]
    if run.findings:
        body += [
            "<h2>Findings</h2>",
            "<ol>",
            *(f"<li>{_finding(finding, True)}</li>" for finding in run.findings),
            "</ol>",
        ]
    for file in _files(run):
        body += [f"<h2>{escape(_short(file))}</h2>", source_of(file, run)]
    if run.output:
        body += ["<h2>Output</h2>", f'<pre class="source">{escape(run.output)}</pre>']
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in body if part)
        + "\n</body>\n</html>\n"
    )


def _outcome(run: Run, errors: int) -> str:
    warnings = len(run.findings) - errors
    left_out = f", and {run.left_out} more findings" if run.left_out else ""
    state = "clean" if run.is_clean else "not clean"
    kind = "note" if run.is_clean else "error"
    return (
        f'<strong class="{kind}">{state}</strong>: {errors} errors, {warnings} warnings{left_out}; exit code '
        f"{run.exit_code}, {run.seconds:.1f} s in the emulator"
    )


def _launches(run: Run) -> str:
    if not run.launches:
        return ""
    rows = "".join(
        f"<tr><td>{escape(x['kernel'])}</td><td>{escape(x['shape'])}</td><td>{x['count']}</td><td>{x['seconds']:.3f}</td></tr>"
        for x in run.launches
    )
    return f"<h2>Launches</h2><table><tr><th>kernel</th><th>shape</th><th>times</th><th>s</th></tr>{rows}</table>"


def _finding(finding: Finding, with_place: bool) -> str:
    kind = "warning" if finding.is_warning else "error"
    where = _link(finding.line) + ": " if with_place else ""
    text = str(finding).partition("\n")[0].removeprefix(f"{finding.line}: ").removeprefix("warning: ")
    _, _, said = text.partition(": ")
    other = f"; the other one is at {_link(finding.other_line)}" if finding.other_line is not None else ""
    return f'{where}<span class="{kind}">{escape(finding.kind)}</span>: {escape(said)}{other}'


def _link(line: Line) -> str:
    return f'<a href="#{_anchor(line.file, line.number)}">{escape(f"{Path(line.file).name}:{line.number}")}</a>'


def _anchor(file: str, number: int) -> str:
    return escape(f"{Path(file).name}-{number}", quote=True)


def _short(file: str) -> str:
    return str(Line(file, 0, ""))


def _files(run: Run) -> list[str]:
    """Return the sources that something is said of, in the order of the findings."""
    lines = [line for finding in run.findings for line in (finding.line, finding.other_line) if line is not None]
    lines += [cost.line for cost in run.costs]
    return [file for file in dict.fromkeys(line.file for line in lines) if Path(file).is_file()]


def source_of(file: str, run: Run, now: int | None = None) -> str:
    """Return the lines of a source with what is said of them, as HTML; the line `now` is one that stands out."""
    findings: dict[int, list[Finding]] = defaultdict(list)
    notes: dict[int, list[Finding]] = defaultdict(list)
    costs: dict[int, list[Cost]] = defaultdict(list)
    for finding in run.findings:
        if finding.line.file == file:
            findings[finding.line.number].append(finding)
        if finding.other_line is not None and finding.other_line.file == file:
            notes[finding.other_line.number].append(finding)
    for cost in run.costs:
        if cost.line.file == file:
            costs[cost.line.number].append(cost)
    text = Path(file).read_text(errors="replace").splitlines()
    wanted = {*findings, *notes, *costs, *([] if now is None else [now])}
    shown = range(1, len(text) + 1) if len(text) <= _SHORT else _near(wanted, len(text))
    has_costs = bool(costs)
    rows, before = [], 0
    for number in shown:
        if number != before + 1:
            rows.append(f'<tr class="more"><td class="number">...</td><td colspan="{1 + has_costs}"></td></tr>')
        before = number
        classes = [name for name, holds in (("marked", number in findings), ("current", number == now)) if holds]
        marked = f' class="{" ".join(classes)}"' if classes else ""
        column = f'<td class="cost" title="{_title(costs[number])}">{_cost(costs[number])}</td>' if has_costs else ""
        rows.append(
            f'<tr id="{_anchor(file, number)}"{marked}><td class="number">{number}</td>{column}'
            f"<td>{escape(text[number - 1])}</td></tr>"
        )
        said = [_finding(finding, False) for finding in findings[number]]
        said += [
            f'<span class="note">note</span>: the other one of {_link(finding.line)}, {escape(finding.kind)}'
            for finding in notes[number]
            if finding.line != finding.other_line
        ]
        rows += [f'<tr class="said"><td></td>{"<td></td>" if has_costs else ""}<td>{words}</td></tr>' for words in said]
    head = '<tr class="more"><td></td><td>taken / needed</td><td></td></tr>' if has_costs else ""
    return f'<div class="source"><table>{head}{"".join(rows)}</table></div>'


def _near(wanted: Iterable[int], count: int) -> list[int]:
    near = {line for number in wanted for line in range(number - _AROUND, number + _AROUND + 1)}
    return sorted(line for line in near if 1 <= line <= count)


def _cost(costs: list[Cost]) -> str:
    return ", ".join(f"{cost.taken / max(1, cost.needed):.2f} {cost.space}" for cost in costs)


def _title(costs: list[Cost]) -> str:
    return escape("\n".join(str(cost).partition(": ")[2] for cost in costs), quote=True)
