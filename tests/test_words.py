"""The words of the code are the field's: riddles fail here, and docs/architecture.md says where each term is found."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAP = ROOT / "docs" / "architecture.md"
PAGES = [MAP, *sorted((ROOT / "docs" / "architecture").glob("*.md"))]


@dataclass(frozen=True)
class Riddle:
    """A word of our own for what has a name; an example of it; the name; the folders where it is refused, or all."""

    pattern: str
    example: str
    instead: str
    where: tuple[str, ...] = ("",)


KERNELS = tuple(f"csrc/{room}/" for room in ("dispatch", "emulator", "execution", "instances", "kernels", "problem"))
RIDDLES = [
    Riddle(r"\bcopy[- _]engines?\b", "the copy engine brings a box", "TMA"),
    Riddle(r"\bbeside_last\b", "execution.beside_last", "overlaps_previous, programmatic dependent launch (PDL)"),
    Riddle(r"\b(is_)?sums?[ _]of[ _]neighbours\b", "sums of neighbours", "dot product, contiguous reduction"),
    Riddle(r"\b(nearest|second-level|third-level) caches?\b", "in the nearest cache", "L1, L2, L3"),
    Riddle(r"\bpast the caches\b", "written past the caches", "non-temporal stores"),
    Riddle(r"\bthose who (copy|copies|multiply|compute)\b", "those who copy", "producer, consumer"),
    Riddle(r"\bask(s|ed)? for (a )?box(es)?\b", "one thread asks for boxes", "starts TMA loads"),
    Riddle(r"\basked for as\b", "rows are asked for as they lie", "prefetch"),
    Riddle(r"\bparts of K\b", "parts of K are added", "split-K, splits of K"),
    Riddle(r"\bK (is |cut |is cut )?in (\d+ )?(parts|slices)\b", "where K is in parts", "split-K; in a CTA sliced-K"),
    Riddle(r"\brounding loses\b", "what rounding loses", "compensated sums"),
    Riddle(
        r"\bin each other's way\b", "rows in each other's way", "4 KB aliasing, conflict misses", ("csrc/", "docs/c")
    ),
    Riddle(r"\bagainst the grain\b", "against the grain", "uncoalesced"),
    Riddle(r"\b(near rows|NearRows)\b", "NearRows", "packed rows"),
    Riddle(r"\bstands? in line\b", "CTAs would stand in line", "hot spot"),
    Riddle(r"\bgone through column by column\b", "bands are gone through column by column", "raster"),
    Riddle(
        r"\bneighbour(s|ing)?\b", "neighbouring elements", "adjacent threads and modes, contiguous elements", KERNELS
    ),
    Riddle(r"\bso many\b", "in vectors of so many bytes", "the number's name", KERNELS),
]
SOURCES = [
    *((folder, "*" + suffix) for folder in ("csrc",) for suffix in (".hpp", ".cpp", ".cuh", ".cu", ".inl", ".inc")),
    *((folder, "*.py") for folder in ("python", "tests", "benchmarks", "examples", "docs")),
    ("tests", "*.cpp"),
    ("docs", "*.md"),
]


def sources(root: Path) -> list[Path]:
    """Return the files whose words count, but this one."""
    found = {path for folder, pattern in SOURCES for path in (root / folder).rglob(pattern)}
    found |= {root / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")}
    return sorted(path for path in found if path.is_file() and path != Path(__file__))


def unwrapped(text: str) -> tuple[str, list[int]]:
    """Return a text in one line, without the marks of comments, and where each of its lines begins in that."""
    out, starts, length = [], [], 0
    for line in text.splitlines():
        starts.append(length)
        bare = re.sub(r"^\s*(//|#)?\s*", "", line).rstrip()
        out.append(bare)
        length += len(bare) + 1
    return " ".join(out), starts


def riddles(root: Path) -> list[str]:
    """Return each riddle in the sources, with its place and what it is called."""
    found = []
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        text, starts = unwrapped(path.read_text())
        for riddle in RIDDLES:
            if name.startswith(riddle.where):
                for match in re.finditer(riddle.pattern, text, re.IGNORECASE):
                    line = bisect.bisect(starts, match.start())
                    found.append(f"{name}:{line}: {match[0]!r} is called: {riddle.instead}")
    return found


def test_no_riddles() -> None:
    assert riddles(ROOT) == []


@pytest.mark.parametrize("riddle", RIDDLES, ids=lambda riddle: riddle.example)
def test_a_planted_riddle_is_found(tmp_path: Path, riddle: Riddle) -> None:
    path = tmp_path / "csrc" / "kernels" / "kernel.cuh"
    path.parent.mkdir(parents=True)
    for wrapped in {riddle.example, riddle.example.replace(" ", "\n  // ")}:
        path.write_text(f"int x;\n  // Here {wrapped}, too.\n")
        (found,) = [line for line in riddles(tmp_path) if riddle.instead in line]
        assert re.fullmatch(r"csrc/kernels/kernel\.cuh:[2-6]: .*", found)


# ---- The glossary

# Who looks for one of these searches csrc once, and is there.
MAIN_TERMS = {
    "split-K", "sliced-K", "persistent", "warp-specialised", "ping-pong", "cooperative", "producer", "consumer", "raster",
    "multicast", "TMA", "PDL", "epilogue", "mainloop", "GEMV", "L1", "L2", "L3", "non-temporal", "prefetch", "micro-kernel",
    "MR x NR", "panel", "cost model", "regret",
}  # fmt: skip


def glossary(text: str) -> list[tuple[str, str]]:
    """Return the terms of the table of architecture.md, each with its file."""
    rows = re.findall(r"^\| (\[.+) \| .+ \| `([^`]+)` \|$", text, re.MULTILINE)
    return [
        (term, path)
        for links, path in rows
        for link in re.findall(r"\[([^\]]+)\]\[", links)
        for term in link.split(", ")
    ]


def file_of(path: str) -> Path:
    return ROOT / "csrc" / path if (ROOT / "csrc" / path).exists() else ROOT / path


def rotten(text: str) -> list[str]:
    """Return the terms of the glossary whose file is gone, or does not contain them."""
    found = []
    for term, path in glossary(text):
        if not file_of(path).is_file():
            found.append(f"{term}: there is no {path}")
        elif term.lower() not in unwrapped(file_of(path).read_text())[0].lower():
            found.append(f"{term}: not in {path}")
    return found


def test_every_term_is_where_the_glossary_says() -> None:
    text = MAP.read_text()
    assert rotten(text) == []
    assert {term for term, _ in glossary(text)} >= MAIN_TERMS


def test_a_glossary_rots_visibly() -> None:
    row = "| [{}][x], and so on | what it is | `{}` |\n"
    text = row.format("split-K, stream-L", "kernels/common/reduce_global.cuh") + row.format("wave", "kernels/gone.cuh")
    assert rotten(text) == ["stream-L: not in kernels/common/reduce_global.cuh", "wave: there is no kernels/gone.cuh"]


def test_every_term_links_to_its_origin() -> None:
    text = MAP.read_text()
    defined = re.findall(r"^\[(\w+)\]: https://\S+$", text, re.MULTILINE)
    assert sorted(defined) == sorted(set(re.findall(r"\]\[(\w+)\]", text)))


# ---- The pages of the architecture


def long_lines(text: str) -> list[int]:
    return [number for number, line in enumerate(text.splitlines(), 1) if len(line) > 120]


def missing_paths(text: str) -> list[str]:
    """Return the paths in backticks that are neither in csrc nor in the repository."""
    return [path for path in re.findall(r"`([\w./-]+/[\w./-]+)`", text) if not file_of(path).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_of_the_architecture(page: Path) -> None:
    text = page.read_text()
    assert long_lines(text) == []
    assert missing_paths(text) == []


def test_a_long_line_and_a_wrong_path_are_found() -> None:
    assert long_lines("x\n" + "x" * 121) == [2]
    assert missing_paths("`problem/modes.hpp`, `tests/test_words.py`, `problem/gone.hpp`") == ["problem/gone.hpp"]
