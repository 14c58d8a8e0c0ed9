"""Build the site into build/site: ``python docs/make_site.py``. Needs the package and what tests/requirements.txt names.

The pages are those of this folder, a first page, and a reference made of the docstrings. Their sources are put together in build/site_source.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
SOURCE = ROOT / "build" / "site_source"
SITE = ROOT / "build" / "site"

# The pages of the reference: file, title, module, and which of its names (all that it exports, if there are none).
REFERENCE: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("products", "Products", "cute_py", ("gemm", "contract", "einsum", "matmul", "tensordot", "inner", "outer", "vecdot", "gett", "permute", "transpose", "matrix_transpose", "prepare", "PreparedOperand", "Epilogue", "EmulatorOptions", "Plan", "Product", "EinsumPlan", "EinsumExplanation", "tune", "Tuning", "save_tuning", "load_tuning", "forget_tuning")),
    ("blas", "Products with BLAS letters", "cute_py", tuple(f"{type_}gemm_{layout}" for type_ in "sdczhb" for layout in ("nt", "tn", "nn", "tt"))),
    ("explain", "Explanations, kernels, benchmarks", "cute_py", ("explain", "kernels", "Kernel", "Kernels", "KernelConfig", "Roles", "Owner", "Loads", "Load", "ladder", "Ladder", "Rung", "bench", "Bench", "Timing", "Trace", "Explanation", "Candidate", "devices", "Device", "Cpu", "cuda_available", "set_num_threads", "get_num_threads", "set_float32_compute", "get_float32_compute", "register_threadpoolctl")),
    ("layout", "Layouts", "cute_py.layout", ()),
    ("tensor", "Tensors", "cute_py.layout.tensor", ()),
    ("printing", "Printing", "cute_py.layout.printing", ()),
    ("algorithm", "Algorithms on tensors", "cute_py.algorithm", ()),
    ("analysis", "Analyses of layouts", "cute_py.analysis", ()),
    ("laws", "Laws of operations", "cute_py.laws", ()),
    ("atoms", "Atoms", "cute_py.atoms", ("MMAAtom", "CopyTraits", "CopyAtom", "Catalogue", "value_type")),
    ("tiled", "TiledCopy and TiledMMA", "cute_py.atoms.tiled", ()),
    ("memory", "Banks and TMA", "cute_py", ("bank_conflicts", "BankConflicts", "bank_map", "BankMap", "best_swizzle", "SwizzleChoice", "tma_check", "TmaReport", "make_tma_copy", "TmaCopy", "tma_partition")),
    ("playback", "Traces, step by step", "cute_py.catalogue.playback", ("Playback", "Instruction")),
    ("diagram", "Pictures", "cute_py", ("diagram", "Diagram")),
    ("torch", "cute_py.torch", "cute_py.torch", ()),
    ("jax", "cute_py.jax", "cute_py.jax", ()),
    ("dask", "cute_py.dask", "cute_py.dask", ()),
    ("errors", "Errors", "cute_py.errors", ()),
]  # fmt: skip


def stubs() -> dict[str, str]:
    """Return the signatures of what is compiled: of functions and classes by name, of methods and properties as Class.name."""
    found = {}

    def add(name: str, node: ast.FunctionDef, is_method: bool) -> None:
        arguments = ast.unparse(node.args)
        if is_method:
            arguments = re.sub(r"^self(, /)?(, )?", "", arguments)
        returns = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
        is_property = any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)
        found.setdefault(name, returns if is_property else f"({arguments}){returns}")

    for node in ast.parse((ROOT / "python" / "cute_py" / "_core.pyi").read_text()).body:
        if isinstance(node, ast.FunctionDef):
            add(node.name, node, False)
        elif isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    add(node.name if member.name == "__init__" else f"{node.name}.{member.name}", member, True)
    return found


def annotation_text(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"ForwardRef\('([^']*)'(?:, [^)]*)?\)", r"\1", text)


def text_of(signature: inspect.Signature) -> str:
    """Return a signature as it would be typed: annotations that are text without quotes, defaults that are text with them."""
    shown, seen = [], set()
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not seen & {parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL}:
            shown.append("*")
        if parameter.POSITIONAL_ONLY in seen and parameter.kind is not parameter.POSITIONAL_ONLY and "/" not in shown:
            shown.append("/")
        seen.add(parameter.kind)
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        text = stars + parameter.name
        if parameter.annotation is not parameter.empty:
            text += f": {annotation_text(parameter.annotation)}"
        if parameter.default is not parameter.empty:
            text += f" = {parameter.default!r}" if ":" in text else f"={parameter.default!r}"
        shown.append(text)
    if seen == {inspect.Parameter.POSITIONAL_ONLY}:
        shown.append("/")
    returns = signature.return_annotation
    return f"({', '.join(shown)})" + ("" if returns is signature.empty else f" -> {annotation_text(returns)}")


def signature_of(name: str, value: Any, compiled: dict[str, str]) -> str:
    if inspect.isclass(value) and issubclass(value, BaseException):
        return ""
    if name in compiled:
        return compiled[name]
    try:
        text = text_of(inspect.signature(value))
    except (TypeError, ValueError):
        text = ""
    return "" if "(*args, **kwargs)" in text or "*args: Any, **kwargs: Any" in text else text


SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def markdown_of(docstring: str) -> str:
    """Return a docstring as Markdown: examples as code, sections as lists."""
    out: list[str] = []
    pieces = SECTION.split(inspect.cleandoc(docstring))
    out += _paragraphs(pieces[0])
    for title, body in zip(pieces[1::2], pieces[2::2], strict=True):
        out.append(f"**{title}**")
        out += _definitions(body)
    return "\n\n".join(out)


def _definitions(body: str) -> list[str]:
    """Return the entries of a section, and the paragraphs after them."""
    out, rest = [], []
    for block in re.split(r"\n(?=\S)", body.strip("\n")):
        head, _, text = block.partition("\n")
        if text.startswith("    ") and not rest:
            said = " ".join(textwrap.dedent(text).split())
            out.append(f"- `{head.strip()}`: {_inline(said)}")
        else:
            rest.append(block)
    return ["\n".join(out), *_paragraphs("\n".join(rest))] if rest else ["\n".join(out)]


def _paragraphs(text: str) -> list[str]:
    out = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        lines = paragraph.split("\n")
        if lines[0].lstrip().startswith(">>>"):
            out.append("```pycon\n" + paragraph.replace("<BLANKLINE>", "") + "\n```")
        elif lines[0].startswith("    "):
            out.append("```\n" + textwrap.dedent(paragraph) + "\n```")
        elif paragraph.strip():
            out.append(_inline(paragraph))
    return out


def _inline(text: str) -> str:
    return re.sub(r"``([^`]*)``", r"`\1`", text)


def members_of(value: Any) -> Iterable[tuple[str, Any]]:
    """Yield the methods and properties of a class that have a docstring."""
    for name, member in sorted(vars(value).items()):
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if not name.startswith("_") and callable(function) and not isinstance(function, type) and function.__doc__:
            yield name, member


def called(name: str, signature: str) -> str:
    """Return a call, one argument a line if it is long."""
    if len(name) + len(signature) <= 88:
        return name + signature
    arguments, _, returns = signature.rpartition(") -> ") if ") -> " in signature else (signature.rstrip(")"), "", "")
    parts = re.split(r", (?=[*\w]+(?::|=|$|,|\b))(?![^\[\(]*[\]\)])", arguments[1:])
    lines = "".join(f"    {part},\n" for part in parts)
    return f"{name}(\n{lines}){f' -> {returns}' if returns else ''}"


def page_of(title: str, module: ModuleType, names: Iterable[str], compiled: dict[str, str]) -> str:
    out = [f"# {title}", markdown_of(module.__doc__ or "") if module.__name__ != "cute_py" else ""]
    for name in names:
        value = getattr(module, name)
        is_plain = type(value).__module__ == "builtins" and not callable(value)  # with the docstring of its type
        docstring = "" if is_plain else getattr(value, "__doc__", None) or ""
        out.append(f"## {name} {{ #{name} }}")
        if signature := signature_of(name, value, compiled):
            out.append(f"```python\n{called(name, signature)}\n```")
        out.append(markdown_of(docstring))
        if inspect.isclass(value) and not issubclass(value, BaseException):
            for member, what in members_of(value):
                function = what.fget if isinstance(what, property) else what
                shown = signature_of(f"{name}.{member}", function, compiled) if callable(function) else ""
                if isinstance(what, property):
                    shown = shown.rpartition(" -> ")[2] and f" -> {shown.rpartition(' -> ')[2]}"
                out.append(f"### {name}.{member}")
                if shown:
                    out.append(f"```python\n{called(member, shown)}\n```")
                out.append(markdown_of(function.__doc__ or ""))
    return "\n\n".join(part for part in out if part) + "\n"


def write_sources() -> None:
    """Put the pages together in build/site_source."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(DOCS, SOURCE, ignore=shutil.ignore_patterns("*.py", "site", "__pycache__"))
    shutil.copytree(DOCS / "site", SOURCE, dirs_exist_ok=True, ignore=shutil.ignore_patterns("mkdocs.yml"))
    (SOURCE / "api").mkdir()
    compiled = stubs()
    for file, title, module_name, names in REFERENCE:
        module = importlib.import_module(module_name)
        text = page_of(title, module, names or sorted(module.__all__), compiled)
        (SOURCE / "api" / f"{file}.md").write_text(text)
    for page in SOURCE.glob("*.md"):  # what lies outside of the site is named, not linked
        page.write_text(re.sub(r"\[([^\]]*)\]\(\.\./([^)]*)\)", r"\1 (`\2`)", page.read_text()))


def main() -> int:
    write_sources()
    shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(DOCS / "site" / "mkdocs.yml")]
    built = subprocess.run([*command, "-d", str(SITE)], env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=False)
    if built.returncode == 0:
        print(f"{SITE}: {sum(1 for _ in SITE.rglob('*.html'))} pages")
    return built.returncode


if __name__ == "__main__":
    sys.exit(main())
