"""Every refusal of the public API: which rule was broken, and the way out that its `next:` names.

`refusals.py` has the refusals of Python's functions, `COMMANDS` those of the commands; a way out is taken where a test can. The
inventory at the end finds every place in the sources that makes an error, and wants a `next:` of it, or a line that says why
there is none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from cute_py.cli import main
from refusals import REFUSALS, SAYS, A, Refusal

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "refusal", [pytest.param(r, id=f"{group}: {r}") for group, rows in REFUSALS.items() for r in rows]
)
def test_a_refusal_names_the_rule_and_a_way_out_that_works(refusal: Refusal) -> None:
    if refusal.needs:
        pytest.importorskip(refusal.needs)
    with pytest.raises(refusal.error) as raised:
        refusal.call()
    require(str(raised.value), refusal.rule, refusal.next)
    if refusal.way is not None:
        refusal.way()


def require(text: str, rule: str, step: str) -> None:
    """The rule, then, unless the rule says all, one `next:` at the end."""
    broken, *steps = text.split("next: ")
    assert re.search(rule, broken, re.DOTALL)
    assert len(steps) == (step != SAYS), text
    if step != SAYS:
        assert re.search(r"(; |\n  )$", broken), text
        assert re.search(step, steps[0]), text


# ---- Commands


COMMANDS = {
    "gemm of two types": ("gemm a.npy d.npy -o c.npy", "a.npy holds float32 and d.npy float64", "--cast TYPE",
        "gemm a.npy d.npy -o c.npy --cast float32"),
    "gemm of a vector": ("gemm v.npy a.npy -o c.npy", "rank 1, not a matrix", "cute-py einsum",
        "einsum k,nk->n v.npy a.npy -o c.npy"),
    "gemm with beta": ("gemm a.npy a.npy -o c.npy --beta 1", "--beta needs --c", "--c C.npy",
        "gemm a.npy a.npy -o c.npy --beta 1 --c s.npy"),
    "gemm onto itself": ("gemm a.npy a.npy -o a.npy", "which is read", "-o another file", "gemm a.npy a.npy -o c.npy"),
    "gemm of another C": ("gemm a.npy a.npy -o c.npy --beta 1 --c a.npy", "has shape", "a C of the product's shape",
        "gemm a.npy a.npy -o c.npy --beta 1 --c s.npy"),
    "gemm of integers": ("gemm i.npy i.npy -o c.npy", "no kernel multiplies", "--cast TYPE converts it: float16",
        "gemm i.npy i.npy -o c.npy --cast float32"),
    "gemm of text": ("gemm t.npy t.npy -o c.npy --cast float32", "no float32 equivalent", "an array of numbers", None),
    "gemm of complex": ("gemm z.npy z.npy -o c.npy --cast float32", "no float32 equivalent", "--cast complex64",
        "gemm z.npy z.npy -o c.npy --cast complex64"),
    "gemm of large int8": ("gemm l.npy l.npy -o c.npy --cast int8", "numbers that are no int8", "--cast float32",
        "gemm l.npy l.npy -o c.npy --cast float32"),
    "gemm of several arrays": ("gemm m.npz a.npy -o c.npy", "several arrays", "save one with numpy.save", None),
    "gemm of no file": ("gemm none.npy a.npy -o c.npy", "cannot read none.npy", SAYS, None),
    "into a folder": ("gemm a.npy a.npy -o .", "it is a folder", "name a file in it", "gemm a.npy a.npy -o ./c.npy"),
    "into no folder": ("gemm a.npy a.npy -o none/c.npy", "there is no folder", "make it, or name another file",
        "gemm a.npy a.npy -o c.npy"),
    "einsum of two types": ("einsum ij,kj->ik a.npy d.npy -o c.npy", "several types", "--cast TYPE",
        "einsum ij,kj->ik a.npy d.npy -o c.npy --cast float64"),
    "einsum onto itself": ("einsum ij,kj->ik a.npy a.npy -o a.npy", "which is read", "-o another file",
        "einsum ij,kj->ik a.npy a.npy -o c.npy"),
    "explain of two extents": ("explain 4 5", "three numbers", "cute-py explain 512 512 64", "explain 512 512 64"),
    "explain without an extent": ("explain ab,bc a=1 b=2", "no extent of index c", "add c=64",
        "explain ab,bc a=1 b=2 c=64"),
    "explain of another index": ("explain ab,bc a=1 b=2 c=3 d=4", "no index d", "leave out d=4",
        "explain ab,bc a=1 b=2 c=3"),
    "explain of dots": ("explain ...a,a a=1", "name every mode", "a letter for each", "explain xa,a x=2 a=1"),
    "explain of no extent": ("explain ab,bc a", "no extent of an index", "k=128", "explain ab,bc a=128 b=1 c=1"),
    "explain of strides": ("explain 4 5 6 --strides A=1", "1 strides for 2 modes", "one for each mode",
        "explain 4 5 6 --strides A=1,4"),
    "explain of other strides": ("explain 4 5 6 --strides Q=1", "not of an operand", "A=1,4096",
        "explain 4 5 6 --strides A=1,4096"),
    "explain of types": ("explain 4 5 6 --dtype float32,float32,float32", "3 types for 2 operands",
        "one type for all, or 2", "explain 4 5 6 --dtype float32"),
    "explain of a type": ("explain 4 5 6 --dtype foo", "is no type", "float16", "explain 4 5 6 --dtype float16"),
    "explain on a device": ("explain 4 5 6 --device foo", "no device is called", "H100", "explain 4 5 6 --device H100"),
    "draw into another format": ("draw (4,8) -o x.png", r"must end in .*\.svg", SAYS, None),
    "draw of a number": ("draw size(4) -o x.svg", "has no picture", "a layout, a tiled copy", "draw (4,8) -o x.svg"),
    "layout of an atom": ("layout atoms.mma[0]", "cannot evaluate|no mma atom|there is no", SAYS, None),
    "layout of a number": ("layout size(4)", "no layout but int", "cute-py draw", None),
    "layout of a name": ("layout foo(4)", "there is no foo", SAYS, None),
    "layout of a text": ("layout (4,", "cannot read", SAYS, None),
    "atom": ("atom SM80 foo", "no atom has all of SM80, foo", "fewer parts", "atom SM80"),
    "near atom": ("atom SM80_16x8x16_F32F16F16F32_NT", "near: ", SAYS, None),
    "kernel": ("kernel foo", "no kernel is called 'foo'", "cute-py kernels names all", "kernels"),
    "kernels": ("kernels foo", "no kernel's name has foo", "there are sgemm_1", "kernels sgemm_1"),
    "verify": ("verify cpu --target cuda", "nothing to test", "cute-py kernels lists names; leave --target out", None),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_names_the_rule_and_a_way_out_that_works(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    held = {
        "a": A,
        "d": A.astype("float64"),
        "v": A[0],
        "s": np.zeros((4, 4), np.float32),
        "i": A.astype("int64"),
        "l": A * 999,
    }
    held |= {"t": np.array([["a"]]), "z": A + 1j}
    for file, array in held.items():
        np.save(f"{file}.npy", array)
    np.savez("m.npz", A, A)
    command, rule, step, way = COMMANDS[name]
    assert main(command.split()) == 2
    require(capsys.readouterr().err.rstrip("\n"), rule, step)
    if way is not None:
        assert main(way.split()) == 0


# ---- The inventory


_ERRORS = ("OperandError", "LayoutError", "UnsupportedProblemError", "CuteError", "CudaError", "CommandError")


@dataclass(frozen=True)
class Site:
    """A place in the sources that makes an error. `words` is how its text begins, with {} for what is filled in."""

    file: str
    words: str
    has_next: bool


def sites() -> Iterator[Site]:
    for path in sorted((ROOT / "python/cute_py").rglob("*.py")):
        source = path.read_text()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _ERRORS:
                text = "".join(_words(node.args[0], source))
                yield Site(str(path.relative_to(ROOT)), _beginning(text), "next: " in ast.unparse(node))
    thrown = re.compile(r"\bthrow [\w:]*Error\(((?:.|\n)*?)\);\n")
    for path in sorted((ROOT / "csrc").rglob("*")):
        if path.suffix not in (".cpp", ".hpp", ".cu", ".cuh", ".inl"):
            continue
        for match in thrown.finditer(path.read_text()):
            parts = re.split(r'"((?:[^"\\]|\\.)*)"', match[1])
            text = "".join(p if i % 2 else "{}" if p.strip(" +\n") else "" for i, p in enumerate(parts))
            text = text if len(parts) > 1 else " ".join(match[1].split())
            yield Site(str(path.relative_to(ROOT)), _beginning(text), "next: " in match[1])


def _words(text: ast.expr, source: str) -> Iterator[str]:
    match text:
        case ast.Constant(value=str(value)):
            yield value
        case ast.JoinedStr(values=parts):
            for part in parts:
                yield str(part.value) if isinstance(part, ast.Constant) else "{}"
        case ast.Call(func=ast.Name(id="text"), args=[rule, *_]):
            yield from _words(rule, source)
        case ast.BinOp(left=left):
            yield from _words(left, source)
        case _:
            yield " ".join(ast.unparse(text).split())


def _beginning(text: str) -> str:
    return text if len(text) <= 60 else text[:60].rpartition(" ")[0].rstrip()


# Sites without a `next:`: SAYS, where the rule names what works; "none: ..." why nothing can be done; "next: ..." where it is
# added. PASSES is of an error around another one, whose text it ends with.
PASSES = "next: that of the error which it passes on"
WITHOUT: dict[str, dict[str, str]] = {
    "csrc/bindings/arguments.cpp": {
        "stream is a handle >= 0, got {}": SAYS,
        "{} is a name, a str, got {}": SAYS,
        "{} is empty; leave it out, or pass None, for the default": SAYS,
        "{} is a number, got {} is a real number, got {}": SAYS,
        "{} is True or False, got {}": SAYS,
        "{} is the most bytes that a product may take, an integer of": SAYS,
        "device is a name, such as 'cpu', 'emulator' and 'cuda:1',": SAYS,
    },
    "csrc/bindings/buffer.cpp": {
        "Buffer: no type is called {}": "none: the package makes its buffers itself",
        "Buffer: order has numbers of modes": "none: the package makes its buffers itself",
    },
    "csrc/bindings/layout_algebra.cpp": {
        "recast_layout: sizes in bits are 1 or more": SAYS,
        "masks are not negative: {} and {}": SAYS,
    },
    "csrc/bindings/layout_arguments.cpp": {
        "{}: {}: {}": PASSES,
        "{}: {} must be {}, not {}": SAYS,
        "{}: {}: cannot read text with a NUL in it, at character {}": SAYS,
        "{}: {} has an empty tuple in it": SAYS,
    },
    "csrc/bindings/layout_batches.cpp": {
        "{} must have integers of 64 bits with a sign, and has": SAYS,
    },
    "csrc/bindings/layout_classes.cpp": {
        "ScaledBasis: value must be an integer": SAYS,
        "ScaledBasis: give 1 to {} modes, not {}": SAYS,
        "ScaledBasis: a mode is 0 to 255, not {}": SAYS,
        "ComposedLayout: offset must be an integer, not {}": SAYS,
        "coord {} of {}: {}": PASSES,
        "layout[...]: of a mode there is `:` or a number, not {}": SAYS,
    },
    "csrc/bindings/layout_entries.hpp": {
        "prefixed(operation, error.what())": PASSES,
        "{}: {}: {}": PASSES,
        "{}: {} must be an integer": SAYS,
    },
    "csrc/bindings/layout_modes.cpp": {
        "{}: rank is 1 to 255, not {}": SAYS,
        "{}text: {}": PASSES,
    },
    "csrc/bindings/layout_queries.cpp": {
        "make_layout: give a shape, a shape and a stride, or layouts": SAYS,
        "limit must be 0 or more, not {}": SAYS,
        "record: there is no record of {}": "none: Python asks for records that there are",
    },
    "csrc/bindings/plan.cpp": {
        "this plan is being collected": "none: only the garbage collector still has it",
    },
    "csrc/bindings/trace.cpp": {
        "trace: {}: {}": SAYS,
    },
    "csrc/bindings/xla.cpp": {
        "{}cute_py: XLA's type of {} is none that products take": "none: cute_py.jax has checked the operands before",
        "{}cute_py: {} has too many modes": "none: cute_py.jax has checked the operands before",
        "{}cute_py: a call of XLA lacks the attribute {}": "none: cute_py.jax has checked the operands before",
    },
    "csrc/emulator/cta.cpp": {
        "emulator: a CTA cannot have {} bytes of shared memory": "none: a fault of the kernel that runs",
    },
    "csrc/emulator/sm90.cpp": {
        "emulator: a tensor map breaks a rule of TMA: {}": "none: a fault of the kernel that runs",
    },
    "csrc/execution/location.cpp": {
        "kernel": "next: the bindings add the names that are near",
    },
    "csrc/execution/pipeline.cpp": {
        "refuse(outline.program.refused)": "none: dispatch/emulated.cpp says it",
        "refusals_text(request, prepared->outline, step)": "next: the function refusals_text adds it",
        "{} with compute='{}' {}": "next: each refusal of dispatch/emulated.cpp has one",
    },
    "csrc/instances/tensor_map.cu": {
        "the driver takes no such tensor map: error {}{}, {}": "none: a fault of the driver, or of the map, whose broken rule is named",
        "the driver takes no tensor map at this address: error {}": "none: a fault of the driver, or of the map, whose broken rule is named",
    },
    "csrc/layout/algebra.cpp": {
        "{}: the tiler is an empty tuple": SAYS,
        "filter_zeros: {} and {} differ in rank": SAYS,
        "zip: {} is no pair at the leaf {} of the tiler{}": SAYS,
        "upcast: the stride {} neither divides nor is divided by {}": SAYS,
        "{}: the factor {} is below 1": SAYS,
        "make_ordered_layout: order {} has a basis element in it": SAYS,
        "left_inverse: {} has none: the stride {} is negative{} is": "none: there is no inverse",
    },
    "csrc/layout/composer.cpp": {
        "composition: a coordinate stride of B steps along mode {},": SAYS,
        "{}: at coordinate {}: {} = {}, {} = {}": "none: the law does not hold, as the example shows",
        "{}: the law holds at the first {} of {} coordinates and at": "none: no proof is known",
    },
    "csrc/layout/int_tuple.cpp": {
        "coordinate strides reach {} levels of 255 modes, {} has more": SAYS,
        "{}: there is no integer in {}": SAYS,
        "{}: {} is no integer": SAYS,
        "{}: {} and {} have no order": SAYS,
        "the coordinates {} and {} cannot be added": SAYS,
        "the shape {} has no coordinates": SAYS,
        "crd2idx: the coordinate {} is empty": SAYS,
    },
    "csrc/layout/integer.cpp": {
        "overflow: {} {} {} does not fit in 64 bits": "none: 64 bits are all that there are",
        "division of {} by zero": SAYS,
        "an integer and a coordinate cannot be added": SAYS,
        "two coordinate strides cannot be multiplied": SAYS,
    },
    "csrc/layout/layout.cpp": {
        "the shape {} has an empty tuple in it": SAYS,
        "the shape {} has the basis element {} in it; only a stride": SAYS,
        "the shape {} has the extent {} in it; extents are {} or more": SAYS,
        "the shape {} and the stride {} are not congruent: they need": SAYS,
        "make_layout: there is no layout of no modes": SAYS,
        "a coordinate has integers in it, {} has not": SAYS,
    },
    "csrc/layout/modes.cpp": {
        "complement: the stride {} of {} is negative: its indices go": "none: there is no complement",
        "complement: the modes of {} interleave: the mode {}:{}": "none: there is no complement",
    },
    "csrc/layout/swizzle.cpp": {
        "{}: the factor {} is no power of two, which a swizzle needs": SAYS,
        "{}: the bits and the base of a swizzle are 0 or more": SAYS,
        "{}: the shift is at least as far as the swizzle has bits,": SAYS,
        "{}: a swizzle acts on indices of {} bits": SAYS,
        "make_swizzle: the bits {} and {} are no masks of one": SAYS,
        "{}: a swizzle takes an integer, not {}": SAYS,
        "a composed layout has a function in front of its layout": SAYS,
        "a composed layout has at most {} functions, not {}": SAYS,
        "{} gives coordinates, a swizzle takes integers": SAYS,
        "upcast: the offset {} is no multiple of {}": SAYS,
        "{}: of its part {}: {}": PASSES,
        "{}: {} gives coordinates, not indices": SAYS,
        "slice: {} gives coordinates inside": SAYS,
    },
    "csrc/layout/text.cpp": {
        'cannot read \\"{}\\": {} at character {}; a layout is written': SAYS,
    },
    "csrc/problem/product.cpp": {
        "{}: compute is one of {}, got '{}'": SAYS,
    },
    "csrc/runtime/cuda.cpp": {
        "{}: {}, {}": "none: the CUDA runtime's own error",
    },
    "python/cute_py/_expression.py": {
        "cannot evaluate {}: only names of cute_py, literals,": SAYS,
        "an expression cannot ask {} for {}{}": SAYS,
        "only integers are multiplied and negated, not {}": SAYS,
        "an integer of the expression does not fit in 64 bits": SAYS,
        "cannot read {}: neither a layout ({}) nor an expression": SAYS,
        "cannot evaluate {}: {}": PASSES,
        "there is no {}{}": SAYS,
        "{} gives {}, which takes no subscript": SAYS,
    },
    "python/cute_py/algorithm.py": {
        "transform: give (tensor, f), (x, out, f) or (x, y, out, f)": SAYS,
        "copy: give (source, destination) or (atom, source,": SAYS,
        "{}: give the atom an element type:": SAYS,
        "{}: the first argument is a TiledCopy or a copy atom, not {}": SAYS,
        "copy_if: give (p, source, destination) or (atom, p, source,": SAYS,
        "gemm: give (A, B, C), (D, A, B, C), or these after a": SAYS,
        "{}: p must be a Tensor or a function of a coordinate, not {}": SAYS,
        "{}: {} is no number": SAYS,
    },
    "python/cute_py/analysis.py": {
        "f2_matrix: {} is not linear over GF(2): at {} it is {}, the": "none: it has no matrix over GF(2)",
        "from_f2_matrix: expected a matrix of at most {} rows and {}": SAYS,
        "from_f2_matrix: expected a matrix of integers 0 and 1, and": SAYS,
        "coalescing: tv {} has rank {}; it maps (thread, value)": SAYS,
        "coalescing: a vector does not begin with a whole byte": SAYS,
        "{}: expected a layout, not {}": SAYS,
        "{}: {} must be an integer, {} or more and less than 2^62,": SAYS,
        "from_f2_matrix: expected a matrix: {}": PASSES,
    },
    "python/cute_py/atoms/__init__.py": {
        "value_type: {} has no equivalent among {}": SAYS,
        "atoms: there is no {} atom {}{}": SAYS,
        "value_type: {} is no element type; known are {} and NumPy's": SAYS,
        "atoms: the headers' traits of {} are malformed: {}": "none: a fault of the headers",
    },
    "python/cute_py/atoms/tiled.py": {
        "{}: {} must be a Layout or a shape, not {}": SAYS,
        "make_tiled_mma: atom must come from cute_py.atoms.mma, not": SAYS,
        "tile_shape: give a TiledMMA or a TiledCopy, not {}": SAYS,
        "{}: mma must be a TiledMMA, not {}": SAYS,
        '{}: give the atom an element type: {}.atom("float")': SAYS,
        "{}: atom must come from cute_py.atoms.copy, not {}": SAYS,
    },
    "python/cute_py/catalogue/bench.py": {
        "bench: give at least one problem, such as 512 or": SAYS,
        "bench: device is 'cpu' or 'cuda', not {}": SAYS,
        "bench: a problem is one extent, or M, N and K, from 1 to": SAYS,
        "bench: {} are among {}; not {}": SAYS,
        "bench: {} must be a name or several, not {}": SAYS,
    },
    "python/cute_py/catalogue/kernels.py": {
        "_unknown(name, ['auto', *kernels().families(), *kernels()])": SAYS,
        "{}: {} must be a pair of integers, not {}": SAYS,
        "{}: {} must not be negative: {}": SAYS,
        "loads_of: thread must be 0 to {}, not {}": SAYS,
        "loads_of: k_tile must be 0 or more, not {}": SAYS,
        "owner_of: a row of {} has two coordinates: C must be ((i0,": SAYS,
        "trace: {} must be an integer from 1 to {}, not {}": SAYS,
    },
    "python/cute_py/catalogue/ladder.py": {
        "ladder: dtype is one of {}, got {}": SAYS,
        "ladder: layout is one of nt, tn, nn, tt, got {}": SAYS,
        "ladder: {} is an integer from 1 to {}, got {}": SAYS,
    },
    "python/cute_py/catalogue/peers.py": {
        "{}: {} does not compute the product of {} as float64 does;": SAYS,
    },
    "python/cute_py/catalogue/trace.py": {
        "trace.of: space must be one of {}, not {}": SAYS,
        "trace: spaces are {}, not {}": SAYS,
    },
    "python/cute_py/cli/draw.py": {
        "cannot draw into {}: the name must end in {}": SAYS,
        "cannot write {}: {}": PASSES,
    },
    "python/cute_py/cli/files.py": {
        "cannot read {}: {}": PASSES,
        "cannot write {}: {}": PASSES,
    },
    "python/cute_py/cli/kernel.py": {
        "error.args[0]": PASSES,
    },
    "python/cute_py/drawing/diagrams.py": {
        "diagram: there is none of {}; there are: {}": SAYS,
        "diagram: expected a layout, not {}": SAYS,
    },
    "python/cute_py/drawing/subjects.py": {
        "picture: no banks for {}, elements of {} bits and {} phases": SAYS,
        "picture: color is {} or a function, not {}": SAYS,
        "picture: color is a name or a function of coordinate and": SAYS,
        "picture: thread {} cannot access {} elements from {} on": SAYS,
        "picture: mark is a coordinate with None for open modes, and": SAYS,
    },
    "python/cute_py/explorer/server.py": {
        "explore: port must be 0 to 65535, not {}": SAYS,
    },
    "python/cute_py/explorer/views.py": {
        "operation: there is none named {}; there are: {}": SAYS,
        "operation: A is a layout, not {}": SAYS,
        "operation: B is a layout or a tiler, not {}": SAYS,
        "{}: a layout is needed, not {}": SAYS,
        "{}: one integer is needed, not {}": SAYS,
        "kernel: there is no {} to show; there are: {}": SAYS,
        "step: warp {} makes steps 0 to {}, not {}": SAYS,
        "{}: cannot read {}; integers with commas between them, such": SAYS,
        "Slice: cannot read {}; a coordinate with _ for open modes,": SAYS,
        "str(error.args[0])": PASSES,
        "{}: {}": PASSES,
    },
    "python/cute_py/laws.py": {
        "check_law: there is no law of {}; there are: {}": SAYS,
    },
    "python/cute_py/layout/steps.py": {
        "explain: there are no steps for {}; {}": SAYS,
        "explain: {} takes {} arguments, not {}": SAYS,
        "explain: {} takes integers and tuples of them, not {}": SAYS,
    },
    "python/cute_py/layout/tensor.py": {
        "tensor: {}:{} from element {} is no layout of {} copied": "none: a pickle that somebody changed",
        "tensor: {} and {}, a coordinate and an index, cannot be": SAYS,
        "tensor: the elements of an array of {} have no bytes": "none: elements without bytes",
        "make_tensor: give the shape and the stride once": SAYS,
        "make_tensor: give a layout, or shape= and stride=, not both": SAYS,
        "tensor: a coordinate is an integer, None, or a tuple of": SAYS,
        "tensor: the coordinate {} is outside of {}": SAYS,
    },
    "python/cute_py/machine/banks.py": {
        "{}: {} must be a Layout, not {}": SAYS,
        "wavefronts: width must be 1, 2, 4, 8 or 16 bytes, not {}": SAYS,
        "wavefronts: a warp has 1 to {} active threads, not {}": SAYS,
        "bank_conflicts: tv {} has rank {}; it maps (thread, value)": SAYS,
        "bank_map: tv {} has rank {}; it maps (thread, value)": SAYS,
        "{}: the tile {} goes beyond what shared memory could hold": SAYS,
        "{}: {} must be an integer, 1 or more, not {}": SAYS,
        "best_swizzle: {} {} has rank {}; it maps (thread, value)": SAYS,
    },
    "python/cute_py/machine/devices.py": {
        "Device: name is a str, got {}": SAYS,
        "Device: compute_capability is a pair of integers such as": SAYS,
        "Device: copies_arrays is True or False, got {}": SAYS,
        "Device: {} is an integer of at least 1, got {}": SAYS,
        "Device: {} is a number above 0, got {}": SAYS,
        "Device: memory_efficiency is at most 1, got {}": SAYS,
        "Cpu: name is a str, got {}": SAYS,
        "Cpu: {} is an integer from 1 to {}, got {}": SAYS,
        "Cpu: rate {} is a number above 0, got {}": SAYS,
    },
    "python/cute_py/machine/threads.py": {
        "threads is an integer from 1 to 1024, or None; got {}": SAYS,
    },
    "python/cute_py/machine/tma.py": {
        "tma_check: shape, stride, box and element_strides have {},": SAYS,
        "tma_check: swizzle must be one of {} bytes, not {}": SAYS,
        "tma_check: {} must be an integer or a flat tuple of": SAYS,
        "tma_check: {} is beyond 2**59: {}": SAYS,
    },
    "python/cute_py/machine/tma_copy.py": {
        "make_tma_copy: op must be one of {}, not {}": SAYS,
        "make_tma_copy: multicast must be 1, 2, 4, 8 or 16 CTAs, not": SAYS,
        "tma_partition: cta must be in 0 to {}, not {}": SAYS,
        "make_tma_copy: smem {} is a swizzle of no layout": SAYS,
    },
    "python/cute_py/products/einsum.py": {
        "has more than two operands, and int8 takes two: its sums": "next: the function text() adds it",
        "has more than two operands, and float8 takes two: it is": "next: the function text() adds it",
        "multiplies {}, and operand {} is none of them": "next: the function text() adds it",
        "takes a diagonal of operand {} along index {}, whose": "next: the function text() adds it",
        "needs one extent for index {}, got {}": "next: the function text() adds it",
    },
    "python/cute_py/products/emulator.py": {
        "order is one of {}, got {}": SAYS,
        "seed is an integer in [0, 2**64), got {}": SAYS,
        "poison_shared_memory is True or False, got {}": SAYS,
    },
    "python/cute_py/products/epilogue.py": {
        "scale is a real number that float64 holds, got {}": SAYS,
        "activation is one of {}, got {}": SAYS,
        "saturate is True or False, got {}": SAYS,
    },
    "python/cute_py/products/tuning.py": {
        "tune: no candidate computes {} as float64 does; please": SAYS,
    },
    "python/cute_py/testing.py": {
        "target is one of 'cuda', 'emulator' and 'cpu', got {}": SAYS,
    },
    "python/cute_py/torch/__init__.py": {
        "einsum: optimize is the name of a way, such as 'greedy',": SAYS,
    },
    "python/cute_py/torch/affine.py": {
        "activation is one of {}, got {}": SAYS,
    },
    "python/cute_py/torch/pair.py": {
        "text": "next: in the texts of its callers",
    },
}


def test_every_refusal_has_a_next_step_or_a_reason_to_have_none() -> None:
    found = [site for site in sites() if not site.has_next]
    unlisted = [f"{s.file}: {s.words}" for s in found if s.words not in WITHOUT.get(s.file, {})]
    assert not unlisted, "add `next: ` with a way out that works, or a line to WITHOUT: " + "; ".join(unlisted)


def test_the_inventory_lists_only_what_is_there() -> None:
    found = {(site.file, site.words) for site in sites() if not site.has_next}
    listed = {(file, words) for file, rows in WITHOUT.items() for words in rows}
    assert listed <= found, listed - found
    marks = {mark for rows in WITHOUT.values() for mark in rows.values()}
    assert all(mark == SAYS or re.match(r"(none|next): \w", mark) for mark in marks)


def test_the_scan_sees_both_languages() -> None:
    kinds = [(site.file.partition("/")[0], site.has_next) for site in sites()]
    assert all(kinds.count((part, has)) > 50 for part in ("python", "csrc") for has in (True, False))
