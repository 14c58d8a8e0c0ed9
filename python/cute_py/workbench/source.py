"""CUDA C++ as C++ for a host compiler: what three constructs of CUDA become in preprocessed source.

Launches with ``<<<...>>>``, ``__shared__`` variables and ``asm`` statements are rewritten, in the program and in the
headers that it includes. All else of CUDA is declarations, in ``csrc/workbench/prelude.hpp``. Lines keep their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cute_py.errors import OperandError

__all__ = ["included", "rewrite"]

_NAMESPACE = "::cute_py::workbench::"

# What must not be looked into comes first: strings, characters, and line markers, which name files.
_STRING = r'(?:u8|u|U|L)?"(?:[^"\\\n]|\\.)*"'
_RAW_STRING = r'(?:u8|u|U|L)?R"(?P<delimiter>[^ ()\\\t\n]*)\(.*?\)(?P=delimiter)"'
_CHARACTER = r"(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)+'"
_MARKER = r'^# (?P<line>\d+) "(?P<file>(?:[^"\\]|\\.)*)"[^\n]*$'
_PRAGMA = r"^#[^\n]*$"
_FOUND = r"(?P<keyword>\b(?:asm|__asm__|__asm|__shared__|__global__)\b|<<<)"
_SCAN = re.compile("|".join((_MARKER, _PRAGMA, _RAW_STRING, _STRING, _CHARACTER, _FOUND)), re.MULTILINE | re.DOTALL)
_TOKEN = re.compile(
    "|".join((_RAW_STRING, _STRING, _CHARACTER, r"^#[^\n]*$", r"::|[(){}\[\]<>;,:]")), re.MULTILINE | re.DOTALL
)
_ALIGNMENT = re.compile(r"\balignas\s*\((?:[^()]|\([^()]*\))*\)|__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
_TYPE_BODY = re.compile(r"((?:[^;{}]*\s)?)\b(struct|union|class|enum)\b([^;{}]*)\{")


@dataclass(frozen=True)
class _Edit:
    first: int
    last: int
    text: str


@dataclass(frozen=True)
class _Place:
    file: str
    line: int

    def error(self, what: str) -> OperandError:
        return OperandError(f"{self.file}:{self.line}: {what}\n  next: write it as CUDA's programming guide does")


def included(source: str) -> list[Path]:
    """Return the files that preprocessed source was made of, by its line markers."""
    names = {match["file"] for match in re.finditer(_MARKER, source, re.MULTILINE)}
    files = [Path(name.replace("\\\\", "\\").replace('\\"', '"')) for name in names if not name.startswith("<")]
    return sorted(file for file in files if file.is_file())


def rewrite(source: str, *, foreign: tuple[str, ...] = ("/usr/",)) -> str:
    """Return preprocessed CUDA C++, with its line markers, as C++.

    Files whose names begin with one of `foreign` are the host's own headers, and stay as they are. Raises OperandError,
    with file and line, for a construct that is not understood.
    """
    edits: list[_Edit] = []
    place, begin = _Place("<source>", 1), 0
    is_foreign = False
    names: dict[str, int] = {}
    enrolled: list[tuple[str, _Edit]] = []
    end = 0  # of what has been rewritten
    for match in _SCAN.finditer(source):
        if match["file"] is not None:
            place, begin = _Place(match["file"], int(match["line"])), match.end() + 1
            is_foreign = place.file.startswith(foreign)
            continue
        keyword = match["keyword"]
        if keyword is None or is_foreign or match.start() < end:
            continue
        here = _Place(place.file, place.line + source.count("\n", begin, match.start()))
        if keyword == "<<<":
            edit = _launch(source, match.start(), here)
        elif keyword == "__shared__":
            edit = _shared(source, match.start(), match.end(), here)
        elif keyword == "__global__":
            edit = _Edit(match.start(), match.end(), "")
            if kernel := _kernel(source, match.start(), match.end()):
                names[kernel[0]] = names.get(kernel[0], 0) + 1
                enrolled.append(kernel)
        else:
            edit = _asm(source, match.start(), match.end(), here)
        if edit is not None:
            edits.append(edit)
            end = max(end, edit.last)
    # Two kernels of one name have no address without a choice between them.
    edits += [edit for name, edit in enrolled if names[name] == 1]
    return "".join(_applied(source, edits))


def _applied(source: str, edits: list[_Edit]) -> Iterator[str]:
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.first, edit.last)):
        yield source[at : edit.first]
        yield edit.text
        # A construct over several lines: what follows it stays where it is.
        yield "\n" * (source.count("\n", edit.first, edit.last) - edit.text.count("\n"))
        at = edit.last
    yield source[at:]


def _tokens(source: str, at: int) -> Iterator[re.Match[str]]:
    """Yield punctuation, and strings whole."""
    return _TOKEN.finditer(source, at)


def _matching(source: str, at: int) -> int:
    """Return where the bracket at a place is closed."""
    depth = 0
    for token in _tokens(source, at):
        text = token[0]
        if text in "([{":
            depth += 1
        elif text in ")]}":
            depth -= 1
            if depth == 0:
                return token.start()
    return -1


def _split(text: str, *, angles: bool = False) -> list[str]:
    """Split at commas that are in no bracket, nor in a string; with `angles` in none of a template's either."""
    opening, closing = ("([{<", ")]}>") if angles else ("([{", ")]}")
    parts, depth, begin = [], 0, 0
    for token in _tokens(text, 0):
        found = token[0]
        if found in opening:
            depth += 1
        elif found in closing:
            depth -= 1
        elif found == "," and depth == 0:
            parts.append(text[begin : token.start()])
            begin = token.end()
    return [*parts, text[begin:]]


def _before(source: str, at: int) -> int:
    """Return where the expression begins that names a kernel, and ends at a place."""
    i = at
    while True:
        while i > 0 and source[i - 1].isspace():
            i -= 1
        if i > 0 and source[i - 1] == ">":  # template arguments
            depth = 0
            while i > 0:
                i -= 1
                if source[i] in ">)]}":
                    depth += 1
                elif source[i] in "<([{":
                    depth -= 1
                    if depth == 0:
                        break
            continue
        if i > 0 and source[i - 1] in ")]":
            depth = 0
            while i > 0:
                i -= 1
                if source[i] in ")]":
                    depth += 1
                elif source[i] in "([":
                    depth -= 1
                    if depth == 0:
                        break
            if not (source[i - 1].isalnum() or source[i - 1] == "_"):
                return i
            continue
        name = re.search(r"\w+$", source[max(0, i - 200) : i])
        if name is None:
            return i
        i -= len(name[0])
        j = i
        while j > 0 and source[j - 1].isspace():
            j -= 1
        if source[max(0, j - 2) : j] in ("::", "->"):
            i = j - 2
        elif j > 0 and source[j - 1] == ".":
            i = j - 1
        else:
            return i


def _launch(source: str, at: int, here: _Place) -> _Edit | None:
    """Rewrite `kernel<<<grid, block, bytes, stream>>>(arguments)`, up to the arguments."""
    first = _before(source, at)
    kernel = source[first:at].strip()
    if kernel.startswith("operator") or not kernel:
        return None
    depth, close = 0, -1
    for token in _tokens(source, at + 3):
        if token[0] in "([{":
            depth += 1
        elif token[0] in ")]}":
            depth -= 1
        elif token[0] == ">" and depth == 0 and source.startswith(">>>", token.start()):
            close = token.start()
            break
        elif token[0] == ";" and depth == 0:
            break
    if close < 0:
        raise here.error("<<< without >>>")
    configuration = source[at + 3 : close]
    name = re.sub(r"<.*", "", kernel, flags=re.DOTALL).strip("() ").split("::")[-1] or kernel
    text = (
        f'{_NAMESPACE}ConfiguredLaunch("{name}", {configuration}).with([=](auto const&... x_) {{ {kernel}(x_...); }})'
    )
    return _Edit(first, close + 3, text)


def _shared(source: str, at: int, after: int, here: _Place) -> _Edit:
    """Rewrite the declaration of a __shared__ variable."""
    first = at
    while word := re.search(
        r"\b(extern|static|volatile|const|alignas\s*\([^()]*\))\s*$", source[max(0, first - 200) : first]
    ):
        first -= len(word[0])
    before = source[first:at]
    depth, end = 0, -1
    for token in _tokens(source, after):
        if token[0] in "([{":
            depth += 1
        elif token[0] in ")]}":
            depth -= 1
        elif token[0] == ";" and depth == 0:
            end = token.start()
            break
    if end < 0:
        raise here.error("a __shared__ declaration without an end")
    made: list[str] = []
    text = source[after:end]
    if body := _TYPE_BODY.match(text):
        # A type that is declared with the variable: it gets a name, by which a reference's type can be said.
        close = _matching(text, body.end() - 1)
        rest = _ALIGNMENT.sub(" ", body[3])
        named = re.match(r"\s*(?:class\s+)?(\w+)", rest)
        name = named[1] if named else f"cute_py_shared_{at}"
        head = f"{body[2]} {' '.join(_ALIGNMENT.findall(body[3]))}{rest if named else f' {name}{rest}'}"
        made.append(f"{head}{text[body.end() - 1 : close + 1]};")
        text = f"{body[1]} {name} {text[close + 1 :]}"
    declaration = re.sub(r"\b(static|__shared__)\b", " ", f"{before} {text}")
    is_dynamic = bool(re.search(r"\bextern\b", declaration))
    declaration = re.sub(r"\bextern\b", " ", declaration)
    alignment = ""
    if (specifiers := _ALIGNMENT.findall(declaration)) and not is_dynamic:
        made.append(f"struct {' '.join(specifiers)} cute_py_aligned_{at} {{}};")
        alignment = f", alignof(cute_py_aligned_{at})"
    declaration = _ALIGNMENT.sub(" ", declaration)
    kind = ""
    for part in _split(declaration, angles=True):
        declarator = re.search(r"([A-Za-z_]\w*)\s*((?:\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]\s*)*)$", part.strip())
        if declarator is None:
            raise here.error(f"a __shared__ declaration that is not understood: {part.strip()}")
        if not kind:
            kind = part.strip()[: declarator.start()].strip()
            if not kind:
                raise here.error(f"a __shared__ declaration that is not understood: {part.strip()}")
        name, extents = declarator[1], declarator[2].strip()
        if is_dynamic:
            made.append(f"auto& {name} = {_NAMESPACE}dynamic_shared<{kind}>();")
        else:
            made.append(f"auto& {name} = {_NAMESPACE}shared_variable<{kind} {extents}{alignment}>([] {{}});")
    return _Edit(first, end + 1, " ".join(made))


def _kernel(source: str, at: int, after: int) -> tuple[str, _Edit] | None:
    """Return a kernel's name, and what its body begins with, so that its address is known; None for a declaration."""
    # The parameters: the first parentheses behind a name that is no attribute's.
    position = after
    while True:
        head = re.compile(r"[^();{}]*?([A-Za-z_]\w*)\s*\(", re.DOTALL).match(source, position)
        if head is None:
            return None
        close = _matching(source, head.end() - 1)
        if close < 0:
            return None
        if head[1] not in ("__launch_bounds__", "__attribute__", "alignas", "decltype"):
            break
        position = close + 1
    body = re.compile(r"\s*(?:noexcept\s*)?\{").match(source, close + 1)
    if body is None:
        return None
    name = head[1]
    template = _template_before(source, at)
    arguments = ""
    if template is not None:
        parameters = []
        for part in _split(template, angles=True):
            parameter = re.search(r"(\.\.\.)?\s*([A-Za-z_]\w*)\s*(?:=.*)?$", part.strip(), flags=re.DOTALL)
            if parameter is None or parameter[2] in ("class", "typename", "int", "bool", "unsigned"):
                return None  # without a name
            parameters.append(parameter[2] + (parameter[1] or ""))
        arguments = f"<{', '.join(parameters)}>"
    text = f" static_cast<void>({_NAMESPACE}Enrolled<&{name}{arguments}>::done);"
    return name, _Edit(body.end(), body.end(), text)


def _template_before(source: str, at: int) -> str | None:
    """Return the parameters of the template that a declaration belongs to, if it does."""
    text = source[max(0, at - 4000) : at]
    # Between the parameters and here are only words, such as static, and attributes.
    end = len(text)
    while end > 0 and text[end - 1] != ">":
        if text[end - 1] == ")":
            end = text.rfind("(", 0, end)
        elif not (text[end - 1].isalnum() or text[end - 1] in "_ \n\t"):
            return None
        else:
            end -= 1
    i, depth = end - 1, 0
    while i >= 0:
        if text[i] == ">":
            depth += 1
        elif text[i] == "<":
            depth -= 1
            if depth == 0:
                break
        i -= 1
    if i < 0 or not re.search(r"\btemplate\s*$", text[:i]):
        return None
    return text[i + 1 : end - 1]


def _asm(source: str, at: int, after: int, here: _Place) -> _Edit | None:
    """Rewrite an asm statement; None for another use of the word, such as a name for the linker."""
    opening = re.compile(r"\s*(?:(?:volatile|__volatile__|goto|inline)\s*)*\(").match(source, after)
    if opening is None:
        return None
    close = _matching(source, opening.end() - 1)
    if close < 0:
        raise here.error("asm without an end")
    if re.fullmatch(r'(?:\s*"\w*")+\s*', source[opening.end() : close]):  # extern int f(int) __asm__("name");
        return None
    parts = _colons(re.sub(r"^#[^\n]*$", "", source[opening.end() : close], flags=re.MULTILINE))
    template = " ".join(parts[0].split("\n")).strip()
    if not re.sub(r'["\s]', "", template):
        return _Edit(at, close + 1, "static_cast<void>(0)")
    operands = []
    for index, part in enumerate(parts[1:3]):
        # CuTe leaves out a comma between two operands (copy_sm100.hpp), and nvcc takes it.
        for operand in _split(re.sub(r'\)(\s*"\w+"\s*\()', r"),\1", part)):
            if not operand.strip():
                continue
            found = re.match(r'\s*(?:\[\w+\]\s*)?"([^"]*)"\s*\((.*)\)\s*$', operand, flags=re.DOTALL)
            if found is None:
                raise here.error(f"an operand of asm that is not understood: {operand.strip()}")
            constraint, expression = found[1], found[2]
            function = "in_and_out" if "+" in constraint else "output" if index == 0 else "input"
            operands.append(f"{_NAMESPACE}{function}({expression})")
    return _Edit(at, close + 1, f"{_NAMESPACE}ptx({', '.join([template, *operands])})")


def _colons(text: str) -> list[str]:
    """Split the inside of an asm statement at its colons."""
    parts, depth, begin = [], 0, 0
    for token in _tokens(text, 0):
        found = token[0]
        if found in "([{":
            depth += 1
        elif found in ")]}":
            depth -= 1
        elif found == "::" and depth == 0:  # no outputs, for instance
            parts += [text[begin : token.start()], ""]
            begin = token.end()
        elif found == ":" and depth == 0:
            parts.append(text[begin : token.start()])
            begin = token.end()
    return [*parts, text[begin:]]
