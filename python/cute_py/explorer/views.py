"""What each view of the explorer shows for what was typed."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Any

import cute_py
from cute_py import _core, analysis
from cute_py import atoms as all_atoms
from cute_py import layout as cl
from cute_py._expression import evaluate
from cute_py.catalogue.kernels import Kernel
from cute_py.catalogue.playback import Instruction, Playback
from cute_py.catalogue.report import SECTIONS
from cute_py.catalogue.trace import Trace
from cute_py.drawing.diagrams import diagram
from cute_py.drawing.picture import Drawable, Picture
from cute_py.drawing.subjects import picture_of_layout
from cute_py.errors import CuteError, LayoutError, OperandError
from cute_py.explorer.markup import field, hidden, link, note, options, pre, table, titled
from cute_py.explorer.words import WORDS
from cute_py.laws import LAWS, check_law
from cute_py.layout.steps import OPERATIONS
from cute_py.layout.tensor import Tensor
from cute_py.machine.banks import bank_conflicts, best_swizzle

__all__ = [
    "Part",
    "Query",
    "View",
    "atoms",
    "banks",
    "examples_of",
    "form_of",
    "integer",
    "kernel",
    "kernels",
    "layout",
    "operation",
    "playback_strip",
    "words",
]

Query = Mapping[str, str]
Part = str | Picture

_MOST_ANALYSED = 1 << 16  # coordinates
_MOST_ACCESSED = 1 << 17  # (thread, value) whose banks are looked at
_MOST_SEARCHED = 1 << 12  # elements, which some hundred swizzles move
_MOST_INSTRUCTIONS = 256  # of the writers, and of the readers, for each of these swizzles
_MOST_NAMES = 300  # in a list
_COLOURS = ("", "index", "row", "column", "mode0", "mode1", "tile")


@dataclass(frozen=True)
class View:
    """The form of a page, and what its fields lead to."""

    form: str
    parts: Sequence[Part]

    @property
    def pictures(self) -> tuple[Picture, ...]:
        return tuple(part for part in self.parts if isinstance(part, Picture))


def form_of(view: str, query: Query) -> str:
    """Return the form of a view, as it was filled in."""
    return _FORMS[view](query)


def _examples(view: str, examples: Sequence[tuple[str, dict[str, str]]]) -> str:
    return f'<p class="examples">{"".join(link(view, text, **query) for text, query in examples)}</p>'


# ---- Layouts


def _layout_form(query: Query) -> str:
    return (
        field("text", "Layout or expression", query.get("text", "((2,2),(2,4)):((1,4),(2,8))"), size=60)
        + options("color", "Colour by", _COLOURS, query.get("color", ""))
        + field("tile", "Tiles", query.get("tile", ""), size=8, hint="2,4")
        + field("mark", "Slice", query.get("mark", ""), size=8, hint="1,_")
    )


_LAYOUTS = [
    (text, {"text": text})
    for text in (
        "(4,8):(8,1)", "((2,2),(2,4)):((1,4),(2,8))", "(8,4,2):(4,1,32)", "Sw<2,0,3> o _0 o (8,8):(8,1)", "(4,4):(0,1)",
        "local_tile(make_tensor('(8,12)'), (4,4), (1,2))", "make_tiled_mma(atoms.mma['SM80_16x8x16_F32F16F16F32_TN'], (2,2,1))",
    )
]  # fmt: skip


def layout(query: Query) -> View:
    """A layout, what is known of it as a function, and its picture; of anything else that has a picture, that."""
    form = _layout_form(query)
    value = evaluate(query.get("text", "((2,2),(2,4)):((1,4),(2,8))"))
    parts: list[Part] = [_examples("layout", _LAYOUTS)]
    if isinstance(value, cl.Swizzle):
        value = _on_indices(value)
    if isinstance(value, (cl.Layout, cl.ComposedLayout)):
        if value.size:
            parts.append(_picture(value, query))
        parts += [titled("Layout", _facts_of(value)), titled("As a function", _as_function(value))]
    elif isinstance(value, Drawable):
        parts += [titled(type(value).__name__, pre(value)), value._picture()]
    elif isinstance(value, Tensor):
        parts += [
            titled("Tensor", pre(value)),
            titled("Its layout", _facts_of(value.layout)),
            _picture(value.layout, query),
        ]
    else:
        parts.append(titled(type(value).__name__, pre(_notation(value))))
    return View(form, parts)


def _on_indices(swizzle: cl.Swizzle) -> cl.ComposedLayout:
    """Return a swizzle of the indices that it tells apart, in rows whose number it mixes in."""
    columns = 1 << min(swizzle.base + abs(swizzle.shift), 6)
    rows = 1 << min(max(swizzle.bits, 1), 6)
    return cl.ComposedLayout(swizzle, 0, cl.Layout((rows, columns), (columns, 1)))


def _notation(value: Any) -> str:
    try:
        return _core.print_tiler(value)
    except (CuteError, TypeError):
        return str(value)


def _picture(value: Any, query: Query) -> Picture:
    tile = _numbers("tile", query.get("tile", ""))
    mark = _coordinate(query.get("mark", ""))
    return picture_of_layout(value, color=query.get("color") or None, tile=tile, mark=mark)


def _numbers(name: str, text: str) -> tuple[int, ...] | None:
    """Return integers with commas between them; None of no text."""
    if not text.strip():
        return None
    try:
        return tuple(int(word) for word in text.strip().strip("()").split(","))
    except ValueError:
        raise OperandError(f"{name}: cannot read {text!r}; integers with commas between them, such as 2,4") from None


def _coordinate(text: str) -> Any:
    """Return a coordinate in which _ is None, such as 1,_ and (_,1),2; None of no text."""
    if not text.strip():
        return None
    try:
        return _checked(ast.literal_eval(re.sub(r"\b_\b", "None", text.strip())))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise OperandError(f"Slice: cannot read {text!r}; a coordinate with _ for open modes, such as 1,_") from None


def _checked(coordinate: Any) -> Any:
    if isinstance(coordinate, tuple):
        return tuple(map(_checked, coordinate))
    if coordinate is not None and type(coordinate) is not int:
        raise ValueError
    return coordinate


def _facts_of(value: Any) -> str:
    rows = [
        ("notation", escape(str(value))),
        ("C++", escape(value.to_cpp())),
        ("size, cosize", f"{value.size}, {value.cosize}"),
        ("rank, depth", f"{value.rank}, {value.depth}"),
    ]
    for operation in ("coalesce", "complement", "right_inverse", "left_inverse"):
        try:
            result = getattr(cl, operation)(value)
        except LayoutError as error:
            rows.append((operation, escape(f"none: {_first_line(error)}")))
        else:
            steps = link("operation", "steps", op=operation, a=value) if isinstance(value, cl.Layout) else ""
            rows.append((operation, f"{link('layout', str(result), text=result)} {steps}"))
    return table(rows)


def _first_line(error: Exception) -> str:
    first = str(error).splitlines()[0]
    return first.partition(": ")[2] or first


def _as_function(value: Any) -> str:
    if value.size > _MOST_ANALYSED:
        return note(f"{value.size} coordinates; {_MOST_ANALYSED} at most are looked at one by one")
    if not value.size:
        return note("there are no coordinates")
    if isinstance(value(0), tuple):
        return note("it gives coordinates")
    where = analysis.footprint(value)
    gaps = analysis.gaps(value)
    aliases = analysis.aliases(value)
    rows = [
        ("injective", _yes(not aliases, _listed((f"{_core.print_tiler(tuple(c[:2]))} both give {i}" for i, c in aliases.items()), len(aliases)))),
        ("image without gaps", _yes(not gaps, _listed((f"{a} to {b}" if a < b else str(a) for a, b in gaps), len(gaps), "not reached: "))),
        ("reaches", f"{where.distinct} of {where.span} indices from {where.first} to {where.last}"),
        ("widest vector from 0", str(analysis.contiguity(value))),
    ]  # fmt: skip
    if analysis.is_bijective(value):
        found = analysis.cycles(value)
        shown = _listed(
            (_core.print_tiler(cycle) if len(cycle) < 12 else f"one of {len(cycle)}" for cycle in found), len(found)
        )
        order = analysis.period(value)
        rows.append(
            ("as a permutation", f"order {order}, {len(found)} cycles: {escape(shown)}" if found else "the identity")
        )
    try:
        rows.append(("over GF(2)", _matrix(analysis.f2_matrix(value))))
    except LayoutError as error:
        rows.append(("over GF(2)", escape(_first_line(error))))
    return table(rows)


def _yes(holds: bool, otherwise: str) -> str:
    return "yes" if holds else f"no: {escape(otherwise)}"


def _listed(items: Iterator[str] | Any, count: int, what: str = "") -> str:
    shown = [item for _, item in zip(range(4), items, strict=False)]
    more = f" and {count - len(shown)} more" if count > len(shown) else ""
    return what + "; ".join(shown) + more


def _matrix(matrix: Any) -> str:
    rows = "".join("<tr>" + "".join(f"<td>{bit}</td>" for bit in row) + "</tr>" for row in matrix.tolist())
    return f'<table class="matrix"><caption>column c: the bits of the index at coordinate 2^c, the lowest on top</caption>{rows}</table>'


# ---- Operations


_OF_ONE = tuple(op for op, (_, most) in OPERATIONS.items() if most == 1)
_OF_LAYOUTS = ("blocked_product", "raked_product")


def _operation_form(query: Query) -> str:
    return (
        options("op", "Operation", LAWS, query.get("op", "zipped_divide"))
        + field("a", "A", query.get("a", "(8,12):(12,1)"), size=36)
        + field("b", "B: a layout, or a tiler such as (4,3) or <3:4,8:2>", query.get("b", "(4,3)"), size=36)
    )


_OPERATIONS = [
    (f"{op} {a} {b}".strip(), {"op": op, "a": a, "b": b})
    for op, a, b in (
        ("composition", "(6,2):(8,2)", "(4,3):(3,1)"),
        ("complement", "(2,2):(1,6)", "24"),
        ("zipped_divide", "(8,12):(12,1)", "(4,3)"),
        ("logical_divide", "(4,2,3):(2,1,8)", "4:2"),
        ("blocked_product", "(2,5):(5,1)", "(3,4):(1,3)"),
        ("raked_product", "(2,5):(5,1)", "(3,4):(1,3)"),
        ("right_inverse", "(4,8):(8,1)", ""),
    )
]


def operation(query: Query) -> View:
    """An operation: result, law, steps, picture."""
    form = _operation_form(query)
    op = query.get("op", "zipped_divide")
    if op not in LAWS:
        raise OperandError(f"operation: there is none named {op!r}; there are: {', '.join(LAWS)}")
    first = evaluate(query.get("a", "(8,12):(12,1)"))
    if not isinstance(first, (cl.Layout, cl.ComposedLayout, cl.Swizzle)):
        raise OperandError(f"operation: A is a layout, not {type(first).__name__}")
    arguments = [first]
    second = query.get("b", "(4,3)").strip()
    if op not in _OF_ONE and (second or op != "complement"):
        arguments.append(_second(op, second))
    result = getattr(cl, op)(*arguments)
    rows = [("result", link("layout", str(result), text=result))]
    try:
        law = check_law(op, *arguments)
    except LayoutError as error:
        rows.append(("law", escape(_first_line(error))))
    else:
        how = f"holds at all {law.checked} that were looked at" if law.holds else f"does not hold: {law.counterexample}"
        rows += [("law", escape(law.statement)), ("", escape(how))]
    parts: list[Part] = [_examples("operation", _OPERATIONS), titled("Result", table(rows))]
    if op in _OF_ONE and second:
        parts.append(note(f"{op} takes A alone: B is not used"))
    try:
        parts.append(titled("Steps", pre(cute_py.explain(op, *arguments))))
    except CuteError as error:
        parts.append(titled("Steps", note(_first_line(error))))
    try:
        parts.append(diagram(op, *arguments)._picture())
    except CuteError as error:
        parts += [note(_first_line(error)), picture_of_layout(result)]
    return View(form, parts)


def _second(op: str, text: str) -> Any:
    """Return the second argument: a layout, a tiler or an integer; of a product by layouts, the layout of a
    shape, too.
    """
    if not text:
        raise OperandError(f"operation: {op} needs B; next: a layout such as 4:2, or a tiler such as (4,3)")
    try:
        value = _core.parse(text)
    except LayoutError:
        value = evaluate(text)
    if op in _OF_LAYOUTS and isinstance(value, (int, tuple)):
        value = evaluate(text)  # as a shape
    if isinstance(value, Tensor) or not isinstance(value, (cl.Layout, cl.ComposedLayout, int, tuple)):
        raise OperandError(f"operation: B is a layout or a tiler, not {type(value).__name__}")
    return value


# ---- Banks and swizzles


_BANKS = {
    "tile": "(32,32):(32,1)", "type": "float", "write": "(32,32):(32,1)", "write_vector": "1", "read": "(32,32):(1,32)",
    "read_vector": "1", "global": "(32,32):(32,1)",
}  # fmt: skip
_BANK_EXAMPLES = [
    ("a tile of float, written by rows and read by columns", _BANKS),
    (
        "64x64 half, written in vectors along rows, read by ldmatrix's rows",
        {
            "tile": "(64,64):(64,1)", "type": "half_t", "write": "((8,16),(8,4)):((512,1),(64,16))", "write_vector": "8",
            "read": "(32,8):(1,64)", "read_vector": "8", "global": "(64,64):(64,1)",
        },
    ),
]  # fmt: skip


def _banks_form(query: Query) -> str:
    def of(name: str) -> str:
        return query.get(name, _BANKS[name])

    return (
        field("tile", "Tile in shared memory", of("tile"), size=28)
        + field("type", "Type", of("type"), size=8)
        + field("write", "Writers: (thread, value) to coordinate", of("write"), size=34)
        + field("write_vector", "in vectors of", of("write_vector"), size=3)
        + field("read", "Readers: (thread, value) to coordinate", of("read"), size=34)
        + field("read_vector", "in vectors of", of("read_vector"), size=3)
        + field("global", "From an array in global memory", of("global"), size=22)
    )


def banks(query: Query) -> View:
    """What it costs to write and to read a tile, and the swizzle that makes it cheapest."""

    def of(name: str) -> str:
        return query.get(name, _BANKS[name])

    tile, write, read = (_layout_of(name, of(name)) for name in ("tile", "write", "read"))
    vectors = {name: integer(name, of(name)) for name in ("write_vector", "read_vector")}
    element = all_atoms.value_type(of("type"))
    for name, tv in (("write", write), ("read", read)):
        if tv.size > _MOST_ACCESSED:
            raise OperandError(f"{name}: {tv.size} values; {_MOST_ACCESSED} at most are looked at; next: fewer threads")
    counts = [_instructions(tv, vectors[f"{name}_vector"]) for name, tv in (("write", write), ("read", read))]
    is_small = max(tile.size, write.size, read.size) <= _MOST_SEARCHED and max(counts) <= _MOST_INSTRUCTIONS

    def cost(who: str, tv: Any, vector: int, is_write: bool) -> str:
        try:
            return str(bank_conflicts(tile, tv, element, vector=vector, is_write=is_write))
        except CuteError as error:
            raise OperandError(f"{who}: {error}") from None

    costs = [
        ("write", cost("Writers", write, vectors["write_vector"], True)),
        ("read", cost("Readers", read, vectors["read_vector"], False)),
        ("global memory", _coalesced(write, element, vectors["write_vector"], of("global"))),
    ]
    parts: list[Part] = [
        _examples("banks", _BANK_EXAMPLES),
        titled("As it is", table((n, escape(v)) for n, v in costs)),
    ]
    if is_small and not isinstance(tile, cl.ComposedLayout):
        best = best_swizzle(tile, element, write, read, **vectors)
        rows = [
            ("layout", link("layout", str(best.layout), text=best.layout)),
            ("write", escape(str(best.write))),
            ("read", escape(str(best.read))),
        ]
        parts += [
            titled("With the best swizzle", table(rows)),
            titled("All that were tried", _candidates(best.candidates)),
        ]
        title = "Elements of one colour are in the same four banks"
        parts += [
            picture_of_layout(kind, bank=element.bits, title=f"{title}: {kind}")
            for kind in dict.fromkeys((tile, best.layout))
        ]
    else:
        parts.append(
            note(
                f"a swizzle is looked for where the tile has none yet, of at most {_MOST_SEARCHED} elements and {_MOST_INSTRUCTIONS} instructions"
            )
        )
        parts.append(picture_of_layout(tile, bank=element.bits))
    return View(_banks_form(query), parts)


def _instructions(tv: Any, vector: int) -> int:
    """Return how many instructions the warps of a layout (thread, value) need."""
    if tv.rank != 2 or vector < 1:
        return 0  # which is refused with a reason
    return -(-int(cl.size(tv, 0)) // 32) * int(cl.size(tv, 1)) // vector


def _coalesced(tv: Any, element: Any, vector: int, text: str) -> str:
    """Return what it costs the writers to read the same coordinates of an array in global memory."""
    if not text.strip():
        return "no array was given"
    try:
        return f"{analysis.coalescing(tv, element, gmem=_layout_of('global', text), vector=vector)}, where the writers read"
    except LayoutError as error:
        return _first_line(error)


def _layout_of(name: str, text: str) -> Any:
    value = evaluate(text)
    if not isinstance(value, (cl.Layout, cl.ComposedLayout)):
        raise OperandError(f"{name}: a layout is needed, not {type(value).__name__}")
    return value


def integer(name: str, text: str) -> int:
    """Return a field's one integer. Raises OperandError."""
    numbers = _numbers(name, text)
    if numbers is None or len(numbers) != 1:
        raise OperandError(f"{name}: one integer is needed, not {text!r}")
    return numbers[0]


def _candidates(candidates: Sequence[tuple[Any, int, int]]) -> str:
    rows = "".join(
        f"<tr><td>{escape(str(swizzle))}</td><td>{write}</td><td>{read}</td></tr>"
        for swizzle, write, read in candidates[:12]
    )
    head = '<tr><th scope="col">swizzle</th><th scope="col">wavefronts to write</th><th scope="col">to read</th></tr>'
    more = note(f"and {len(candidates) - 12} more, none better") if len(candidates) > 12 else ""
    return f"<table>{head}{rows}</table>{more}"


# ---- Atoms


def _atoms_form(query: Query) -> str:
    return (
        field("find", "Parts of a name", query.get("find", "SM80 16x8x16 F32"), size=30)
        + field("type", "Elements of a copy", query.get("type", "half_t"), size=10)
        + hidden("name", query.get("name", ""))
    )


def atoms(query: Query) -> View:
    """The atoms whose names have all the parts, and one of them."""
    find, name, kind = query.get("find", "SM80 16x8x16 F32"), query.get("name", ""), query.get("type", "half_t")
    found = [*all_atoms.mma.find(*find.split()), *all_atoms.copy.find(*find.split())]
    parts: list[Part] = []
    if name and (name in all_atoms.mma or name in all_atoms.copy):
        parts += _atom(name, kind)
    elif name:
        raise OperandError(f"atoms: there is none named {name!r}\n  next: look for parts of its name")
    links = "".join(link("atoms", n, find=find, name=n, type=kind) for n in found[:_MOST_NAMES])
    more = note(f"and {len(found) - _MOST_NAMES} more") if len(found) > _MOST_NAMES else ""
    parts.append(titled(f"{len(found)} atoms have all of: {find}", f'<div class="columns">{links}</div>{more}'))
    return View(_atoms_form(query), parts)


def _atom(name: str, kind: str) -> list[Part]:
    if name in all_atoms.mma:
        mma = all_atoms.mma[name]
        return [titled(name, note(mma.about) + pre(mma)), mma._picture()]
    copy = all_atoms.copy[name].atom(kind)
    return [titled(name, note(f"moves {copy.traits.layout_ref.cosize} bits") + pre(copy)), copy._picture()]


# ---- Kernels


def _kernels_form(query: Query) -> str:
    return field("find", "Parts of a name", query.get("find", "nt f32"), size=30)


def kernels(query: Query) -> View:
    """The kernels that are programs of layouts and whose names have all the parts."""
    find = query.get("find", "nt f32")
    found = [k for k in cute_py.kernels().find(*find.split()).values() if "emulator" in k.targets and k.multiplies]
    head = "".join(
        f'<th scope="col">{title}</th>'
        for title in ("name", "computes in", "tile", "threads", "stages", "shared memory, bytes")
    )
    rows = "".join(
        f"<tr><td>{link('kernel', k.name, name=k.name)}</td><td>{k.compute}</td><td>{'x'.join(map(str, k.tile))}</td><td>{k.threads}</td>"
        f"<td>{k.stages}</td><td>{k.shared_bytes}</td></tr>"
        for k in found[:_MOST_NAMES]
    )
    return View(
        _kernels_form(query),
        [titled(f"{len(found)} kernels", f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>')],
    )


def words(query: Query) -> View:
    """What the words on the pages mean."""
    find = query.get("find", "")
    parts: list[Part] = []
    for group, meanings in WORDS.items():
        rows = [(word, escape(what)) for word, what in meanings.items() if find.lower() in f"{word} {what}".lower()]
        if rows:
            parts.append(titled(group, table(rows)))
    return View(form_of("words", query), parts or [note(f"no word has {find!r} in it")])


def examples_of(view: str) -> str:
    """Return the examples of a view, for a page that has nothing else to show."""
    examples = {"layout": _LAYOUTS, "operation": _OPERATIONS, "banks": _BANK_EXAMPLES}.get(view)
    return "" if examples is None else _examples(view, examples)


_TRACE = "Trace"


def _kernel_form(query: Query) -> str:
    name, show = query.get("name", "sgemm_sm80_nt_f32"), query.get("show", "Facts")
    form = field("name", "Kernel", name, size=34) + options("show", "Show", (*SECTIONS, _TRACE), show)
    if show == "Owners of C":
        form += field("i", "i", query.get("i", "0"), size=5) + field("j", "j", query.get("j", "0"), size=5)
    if show == _TRACE:
        form += field("warp", "Warp", query.get("warp", "0"), size=3)
        try:
            most = len(_playback(name, integer("warp", query.get("warp", "0")))) - 1
            step = min(max(integer("step", query.get("step", "0")), 0), most)
        except CuteError:
            return form
        form += f'<label>Step, 0 to {most} <input type="range" name="step" min="0" max="{most}" value="{step}"></label>'
    return form


def kernel(query: Query) -> View:
    """A kernel: its layouts, who owns what, and its accesses one after the other."""
    found = _kernel(query.get("name", "sgemm_sm80_nt_f32"))
    show = query.get("show", "Facts")
    if show not in (*SECTIONS, _TRACE):
        raise OperandError(f"kernel: there is no {show!r} to show; there are: {', '.join((*SECTIONS, _TRACE))}")
    tabs = "".join(
        f"<b>{title}</b>" if title == show else link("kernel", title, name=found.name, show=title)
        for title in (*SECTIONS, _TRACE)
    )
    parts: list[Part] = [f'<p class="examples">{tabs}</p>']
    if show == _TRACE:
        parts += _trace(found, query)
    else:
        if show == "Owners of C":
            parts.append(_owner(found, query))
        parts += SECTIONS[show](found)
    return View(_kernel_form(query), parts)


def _kernel(name: str) -> Kernel:
    try:
        return cute_py.kernels()[name]
    except KeyError as error:
        raise OperandError(str(error.args[0])) from None


def _owner(found: Kernel, query: Query) -> str:
    i, j = (integer(name, query.get(name, "0")) for name in "ij")
    row = (i, 0) if found.modes_m > found.modes else i
    owner = found.owner_of(C=(row, j))
    return note(
        f"C[{_core.print_tiler(row)}, {j}]: block {_core.print_tiler(owner.block)}, thread {owner.thread} (warp {owner.warp}, lane "
        f"{owner.lane}), accumulator {owner.register}"
    )


@lru_cache(maxsize=8)
def _playback(name: str, warp: int) -> Playback:
    return _traced(name).instructions(warp)


@lru_cache(maxsize=2)
def _traced(name: str) -> Trace:
    return _kernel(name).trace()


@lru_cache(maxsize=8)
def _costs(name: str, warp: int) -> tuple[tuple[str, int], ...]:
    """Return, of each step, what kind it is and how many wavefronts or segments it takes."""
    return tuple((_kind(step), _waves(step)) for step in _playback(name, warp))


def _kind(step: Instruction) -> str:
    if step.space != "shared":
        return "global"
    return "write" if step.is_write else "read"


def _waves(step: Instruction) -> int:
    conflicts = step.bank_conflicts
    if step.space != "shared":
        return step.segments[0]
    return 1 if conflicts is None else conflicts.wavefronts


def _trace(found: Kernel, query: Query) -> list[Part]:
    warp = integer("warp", query.get("warp", "0"))
    steps = _playback(found.name, warp)
    number = integer("step", query.get("step", "0"))
    if not 0 <= number < len(steps):
        raise OperandError(f"step: warp {warp} makes steps 0 to {len(steps) - 1}, not {number}")
    trace = _traced(found.name)
    (m, n), k = trace.C.shape, trace.A.shape[1]

    def at(step: int) -> dict[str, object]:
        return {"name": found.name, "show": _TRACE, "warp": warp, "step": step}

    phases = " ".join(link("kernel", f"phase {phase}", **at(first)) for phase, first in steps.phases.items())
    costs = _costs(found.name, warp)
    conflicts = [i for i, step in enumerate(costs) if step[0] != "global" and _has_conflicts(steps[i])]
    following = next((i for i in conflicts if i > number), conflicts[0] if conflicts else None)
    worst = (
        "no step has bank conflicts"
        if following is None
        else link("kernel", f"next of {len(conflicts)} steps with bank conflicts", **at(following))
    )
    around = [
        link("kernel", text, **at(i)) for text, i in (("back", number - 1), ("on", number + 1)) if 0 <= i < len(steps)
    ]
    return [
        note(f"M={m} N={n} K={k} in the emulator, block (0,0). Phases are what lies between barriers; a multiplication of a warpgroup "
             "reads shared memory element by element here."),
        f'<p class="player">{phases} {worst} <noscript>{" ".join(around)}</noscript></p>',
        playback_strip(costs, number),
        note(f"step {number} of 0 to {len(steps) - 1}, in phase {steps[number].phase}"),
        steps[number]._picture(),
    ]  # fmt: skip


def _has_conflicts(step: Instruction) -> bool:
    found = step.bank_conflicts
    return found is not None and found.conflicts > 0


_STRIP = (1000, 60)  # units across and up


def playback_strip(costs: Sequence[tuple[str, int]], now: int, unit: str = "") -> str:
    """Return a bar for each step, as high as its wavefronts or segments, or for some steps the highest of them; or as
    what it costs in another unit.
    """
    across, up = _STRIP
    together = -(-len(costs) // across)
    most = {kind == "global": 1 for kind, _ in costs}
    for kind, waves in costs:
        most[kind == "global"] = max(most[kind == "global"], waves)
    bars = []
    for first in range(0, len(costs), together):
        kind, waves = max(costs[first : first + together], key=lambda step: step[1] / most[step[0] == "global"])
        x, width = across * first / len(costs), across * together / len(costs)
        height = max(up * waves / most[kind == "global"], 1)
        bars.append(
            f'<rect class="{kind}" x="{x:.2f}" y="{up - height:.1f}" width="{width:.2f}" height="{height:.1f}"/>'
        )
    position = across * now / len(costs)
    shared, memory = most.get(False, 0), most.get(True, 0)
    said = (
        f"Wavefronts of each step that reads (blue) or writes (orange) shared memory, at most {shared}; segments of global "
        f"memory (green), at most {memory}, on a scale of their own."
    )
    if unit:
        said = f"How long each step lasts, at most {memory} {unit}."
    return (
        f'<svg class="strip" role="img" aria-label="What each of the {len(costs)} steps costs" data-steps="{len(costs)}" '
        f'viewBox="0 -4 {across} {up + 4}" width="100%" height="{up + 4}" preserveAspectRatio="none">{"".join(bars)}'
        f'<rect class="now" x="{position:.2f}" y="-4" width="2" height="{up + 4}"/></svg>'
        f'<p class="note">{said}</p>'
    )


_FORMS: dict[str, Callable[[Query], str]] = {
    "layout": _layout_form,
    "operation": _operation_form,
    "banks": _banks_form,
    "atoms": _atoms_form,
    "kernels": _kernels_form,
    "kernel": _kernel_form,
    "words": lambda query: field("find", "Word", query.get("find", ""), size=20),
}
