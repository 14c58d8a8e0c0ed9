"""Configs typed in Python: what is refused, with which sentence; what is compiled is right; searches; estimates."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cute_py as cp
from cute_py import Layout, atoms, kernels, make_tiled_copy, make_tiled_mma, testing, workbench
from cute_py.errors import OperandError
from cute_py.workbench import config
from cute_py.workbench.search import Judged

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")


def in_own_process(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test in a process of its own: kernels that it adds stay, and other tests would find them."""

    @functools.wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        if os.environ.get("CUTE_PY_OWN_PROCESS"):
            return test(*arguments, **named)
        node = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:xdist",
            "-p",
            "no:cacheprovider",
            "--all-cases",
            node,
        ]
        environment = {**os.environ, "CUTE_PY_OWN_PROCESS": "1"}
        done = subprocess.run(command, cwd=Path(__file__).parents[1], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
        assert "1 passed" in done.stdout

    return run


REPLACEABLE = [
    name
    for name, kernel in kernels().items()
    if kernel.multiplies
    and kernel.kernel
    in ("sgemm_1", "sgemm_2", "sgemm_sm70", "sgemm_sm80", "gemm_sm80", "wgmma_sm90", "wgmma_tma_sm90", "gemm_sm90")
    and not (kernel.kernel in ("sgemm_1", "sgemm_2", "sgemm_sm70") and ("nested" in name or "gett" in name))
]


@pytest.mark.parametrize("name", REPLACEABLE)
def test_a_config_with_nothing_replaced_is_that_of_its_base(name: str) -> None:
    made, base = config(name), kernels()[name]
    assert made.tiler == base.tile
    assert (made.stages, made.threads, made.ctas) == (base.stages, base.threads, base.ctas_per_multiprocessor)
    # A whole tile of sgemm_sm80 has two empty tables.
    assert 0 <= base.shared_bytes - made.shared_bytes <= 16
    assert made.replaced == ()
    for operand in "ab" if made.smem_a is not None else "":
        assert getattr(made, f"copy_{operand}") == getattr(base.config, f"tiled_copy_{operand}") or base.copies_boxes
        if not base.copies_boxes:
            assert getattr(made, f"smem_{operand}") == getattr(base.config, f"smem_layout_{operand}")


MMA = make_tiled_mma(atoms.mma["UniversalFMA<float>"], Layout("(_16,_16,_1)"))
WIDE = atoms.copy["SM80_CP_ASYNC_CACHEALWAYS<uint128_t>"].atom("float")

# Base, what is replaced, what the message says, and the way out that it names.
REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("gemm_tall_f32_1024x16", {}, "cannot be replaced", "a variant of sgemm_1"),
    ("sgemm_2_nested_f32", {}, "by strides that they are given", "sgemm_2_nt_f32"),
    ("sgemm_1_nt_f32", {"copy_a": None, "mma": MMA}, "a Config of sgemm_1 has none", "threads_a"),
    ("sgemm_sm80_nt_f32", {"tiler": (128, 64)[:1]}, "tiler: it is (128,)", "three extents"),
    ("sgemm_sm80_nt_f32", {"tiler": (48, 128, 16)}, "BLK_M=48 is no multiple of the 64 that the MMA covers", "64, 128"),
    ("sgemm_sm80_nt_f32", {"tiler": (128, 128, 1)}, "BLK_K=1 is one k-block", "BLK_K of 2"),
    ("sgemm_sm80_nt_f32", {"tiler": (512, 128, 16)}, "are more than the registers", "a smaller tile"),
    ("sgemm_sm80_nt_f32", {"stages": 1}, "stages: it is 1", "2 to 64"),
    ("sgemm_sm80_nt_f32", {"stages": 20}, "are more than the 232448", "stages, or a smaller tile"),
    ("sgemm_sm80_nt_f32_128x128", {"stages": 5}, "stages: it is 5", "2 to 4"),
    ("sgemm_sm80_nt_f32_128x128", {"tiler": (128, 128, 24)}, "BLK_K=24", "16, 32 or 64"),
    ("sgemm_sm80_nt_f32", {"smem_a": "(128,16):(1,0)"}, "elements (0, 0) and (0, 1) share the place 0", "of its own"),
    ("sgemm_sm80_nt_f32", {"smem_a": "(128,16):(1,130)"}, "they are at the places 130", "side by side"),
    ("sgemm_sm80_nt_f32", {"smem_a": "(128,16):(16,1)"}, "they are at the places", "a multiple of 4"),
    ("sgemm_sm80_nt_f32", {"smem_a": "(96,16):(1,96)"}, "96 elements of mode 0 do not divide BLK_M=128", "128"),
    ("sgemm_sm80_nt_f32", {"smem_b": "(128,16,2):(1,128,2048)"}, "its third mode has 2 stages", "a mode of 3"),
    ("sgemm_2_tn_f32", {"smem_a": "(128,8):(1,127)"}, "share the place 127", "greater strides"),
    ("sgemm_2_tn_f32", {"smem_a": "(128,8):(1,-128)"}, "before its beginning", "not negative"),
    ("sgemm_2_tn_f32", {"smem_a": "(128,8):(1,20000)"}, "it reaches over 560512 bytes", "smaller strides"),
    ("sgemm_2", {}, "is a family of kernels", "sgemm_2_nt_f32"),
    ("sgemm_sm80_nt_f32", {"smem_b": "128:1"}, "has rank 1", "two modes of 128 and 16"),
    ("sgemm_sm80_nt_f32", {"smem_b": "(128,16"}, "is no layout", "or its text"),
    ("sgemm_sm80_nt_f32", {"copy_a": make_tiled_copy(WIDE, Layout((32, 4)), Layout((4, 1)))}, "it has 128 threads", "256 threads"),
    ("sgemm_sm80_nt_f32", {"copy_a": make_tiled_copy(WIDE, Layout((8, 32)), Layout((4, 1)))}, "it covers 32 of BLK_K=16", "a divisor of 16"),
    ("sgemm_sm80_nt_f32", {"copy_a": make_tiled_copy(WIDE, Layout((64, 4), (4, 1)), Layout((1, 4)))}, "do not lie along m or n", "values along it"),
    ("sgemm_sm80_nt_f32", {"copy_a": make_tiled_copy(atoms.copy["UniversalCopy<uint128_t>"].atom("float"), Layout((32, 8)), Layout((4, 1)))}, "copies by cp.async", "SM80_CP_ASYNC"),
    ("sgemm_sm80_nt_f32", {"copy_a": 3}, "it is a int", "make_tiled_copy"),
    ("sgemm_sm80_nt_f32", {"mma": make_tiled_mma(atoms.mma["SM80_16x8x16_F32F16F16F32_TN"])}, "takes A of", "UniversalFMA<float>"),
    ("sgemm_sm80_nt_f32", {"mma": make_tiled_mma(atoms.mma["UniversalFMA<float>"], Layout("(_8,_2,_1)"))}, "it has 16 threads", "a multiple of 32"),
    ("sgemm_sm80_nt_f32", {"mma": make_tiled_mma(atoms.mma["UniversalFMA<float>"], Layout("(_16,_12,_1)")), "tiler": (64, 96, 16)}, "192 threads, and the epilogue", "64, 128, 256"),
    ("sgemm_sm80_nt_f32_32x32", {"tiler": (64, 64, 16)}, "sliced-K", "one warp along K"),
    ("sgemm_sm80_nt_f32", {"ctas": 9}, "ctas: it is 9", "1 to 8"),
    ("sgemm_sm80_nt_f32", {"name": "sgemm_1_nt_f32"}, "is a kernel of the package", "another name"),
    ("sgemm_sm80_nt_f32", {"name": "Mine"}, "name: it is 'Mine'", "lower-case"),
    ("gemm_sm80_tn_f16_64x64", {"smem_a": "(64,64):(1,64)"}, "they are at the places", "side by side"),
    ("gemm_sm80_nt_f16_64x64", {"tiler": (96, 64, 64)}, "96 is no multiple of 64", "a multiple of it"),
    ("gemm_sm80_tn_f16_128x128", {"tiler": (128, 128, 32)}, "32 is no multiple of 64", "smem_a and smem_b"),
    ("sgemm_1_nt_f32", {"threads_a": "(32,4)"}, "it has 128 threads, and threads_c has 256", "256 threads"),
    ("sgemm_1_nt_f32", {"threads_c": "(16,16):(1,32)"}, "does not number its threads", "compact"),
    ("sgemm_1_nt_f32", {"tiler": (96, 128, 8), "threads_c": "(64,4)"}, "64 threads of mode 0 do not divide its 96", "a divisor of 96"),
    ("gemm_sm90_nt_f16_128x128", {"tiler": (128, 100)}, "BLK_N=100", "64, 128, 192 or 256"),
    ("gemm_sm90_nt_f16_128x128", {"tiler": (64, 128), "schedule": "cooperative"}, "BLK_M=64", "BLK_M of 128"),
    ("gemm_sm90_nt_f16_128x128", {"tiler": (128, 256), "schedule": "pingpong"}, "more than its registers", "cooperative"),
    ("gemm_sm90_nt_f16_128x128", {"tiler": (128, 128, 32)}, "BLK_K=32", "64"),
    ("gemm_sm90_nt_f16_128x128", {"stages": 7}, "are more than the 232448", "6 stages"),
    ("gemm_sm90_nt_f16_128x128", {"stages": 2}, "do not hold", "3 stages or more"),
    ("gemm_sm90_nt_f16_128x128", {"schedule": "none"}, "schedule: it is 'none'", "'cooperative' or 'pingpong'"),
    ("wgmma_sm90_nt_f16", {"tiler": (128, 64)}, "the threads copy 128 columns at a time", "128, 256"),
    ("wgmma_sm90_nt_f16", {"smem_a": "(128,64):(1,128)"}, "a Config of wgmma_sm90 has none", "tiler, stages"),
    ("wgmma_tma_sm90_tn_f16", {"tiler": (64, 128)}, "two warpgroups have 64 rows each", "BLK_M of 128"),
    ("wgmma_tma_sm90_tn_f16", {"tiler": (128, 128, 32)}, "BLK_K=32", "64"),
    ("wgmma_tma_sm90_tn_f16", {"tiler": (128, 96)}, "BLK_N=96", "64, 128, 192, 256"),
    ("wgmma_tma_sm90_tn_f16", {"stages": 1}, "stages: it is 1", "2 to 32"),
    ("wgmma_tma_sm90_tn_f16", {"stages": 8}, "are more than the 232448", "7 stages"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("base", "fields", "says", "next_"), REFUSED, ids=[f"{r[0]}-{i}" for i, r in enumerate(REFUSED)]
)
def test_what_does_not_fit_is_refused_in_a_sentence(base: str, fields: dict[str, Any], says: str, next_: str) -> None:
    with pytest.raises(OperandError) as error:
        config(base, **fields)
    text = str(error.value)
    assert says in text
    assert "\n  next: " in text
    assert next_ in text.partition("\n  next: ")[2]


# One of each way to make a Config, and what its kernel computes in.
COMPILED: list[tuple[str, dict[str, Any]]] = [
    ("sgemm_1_nt_f32", {"tiler": (64, 64, 8), "threads_a": "(32,4)", "threads_b": "(32,4)", "threads_c": "(16,8)"}),
    ("sgemm_2_tn_f32_predicated", {"smem_a": "(128,8):(1,129)"}),
    ("sgemm_sm80_nt_f32", {"tiler": (128, 64, 16), "stages": 4}),
    (
        "sgemm_sm80_nn_f32_128x64",
        {
            "tiler": (64, 64, 16),
            "mma": make_tiled_mma(
                atoms.mma["UniversalFMA<float>"],
                Layout("((_8,_2),(_4,_2),_1):((_1,_32),(_8,_64),_0)"),
                (Layout("(_16,_4):(_4,_1)"), Layout("(_8,_4):(_4,_1)"), None),
            ),
        },
    ),
    ("gemm_sm80_nn_f16_64x64", {"tiler": (64, 64, 32), "stages": 3, "smem_b": "Sw<2,3,3> o _0 o (8,32):(32,1)"}),
    ("gemm_sm90_nt_f16_128x128", {"tiler": (64, 192), "stages": 6}),
    ("wgmma_sm90_tn_f16", {"tiler": (128, 64), "stages": 5}),
    ("wgmma_tma_sm90_nn_f16", {"tiler": (128, 192), "stages": 4}),
]


def is_first_of_its_kind(base: str, **_: object) -> bool:
    return base in ("sgemm_sm80_nt_f32", "gemm_sm90_nt_f16_128x128")


@pytest.mark.compiler
@pytest.mark.thinned(1000, by=is_first_of_its_kind)
@pytest.mark.parametrize(("base", "fields"), COMPILED, ids=[base for base, _ in COMPILED])
@in_own_process
def test_what_was_typed_is_compiled_and_right(base: str, fields: dict[str, Any]) -> None:
    made = config(base, **fields)
    judged = workbench.judge(made)
    assert judged.error is None
    assert judged.checks > 0
    kernel = kernels()[made.name]
    assert kernel.kernel == made.name
    assert (kernel.tile, kernel.stages, kernel.threads) == (made.tiler, made.stages, made.threads)
    assert (kernel.shared_bytes, kernel.ctas_per_multiprocessor) == (made.shared_bytes, made.ctas)
    # The layouts that the compiler made are the ones that were asked for.
    for operand in "ab":
        layout = getattr(made, f"smem_{operand}")
        if layout is not None:
            compiled = getattr(kernel.config, f"smem_layout_{operand}")
            index = np.arange(layout.size)
            assert np.array_equal(layout(index), compiled(index))
            assert getattr(kernel.config, f"tiled_copy_{operand}") == getattr(made, f"copy_{operand}")
    assert kernel.tiled_mma == made.mma or made.mma is None
    assert made.compile() is kernels()[made.name]  # again: there is nothing to do
    # It is a kernel like any other, and taken by its name alone.
    m, n, k = (x * 2 for x in made.tiler)
    rng = np.random.default_rng(1)
    dtype = kernel.factors[-1]
    a, b = (rng.integers(-3, 4, (rows, k)).astype(dtype) for rows in (m, n))
    a, b = (x if major == "t" else np.asfortranarray(x) for x, major in zip((a, b), (kernel.layout[0], "t" if kernel.layout[1] == "n" else "n"), strict=True))  # fmt: skip
    out = np.zeros((m, n), dtype, order="F")
    cp.gemm(a, b, out=out, kernel=kernel, device="emulator")
    assert np.array_equal(out.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64).T)
    chosen = cp.explain(cp.gemm, a, b, out=out, device="emulator")
    assert made.name not in str(chosen)
    odd = cp.explain(cp.contract, "ab,cb->ac", a[:, ::2], b[:, ::2], device="emulator")  # nor among what is refused
    assert made.name not in f"{odd}{odd.rejected}"
    assert made.name in str(cp.explain(cp.gemm, a, b, out=out, kernel=made.name, device="emulator"))


@pytest.mark.compiler
@in_own_process
def test_bank_conflicts_of_a_layout_show_and_go() -> None:
    """sgemm_sm80 reads A along m: columns a multiple of 32 banks apart are no harm, but shared k-major rows are."""
    base = "sgemm_2_tn_f32"
    found = workbench.search(base, {"smem_a": ["(128,8):(1,128)", "(128,8):(1,132)"]})
    assert all(isinstance(judged, Judged) and judged.error is None for judged in found)
    padded, plain = found[0], found[1]
    assert "132" in str(padded.fields["smem_a"])
    assert padded.conflicts is not None
    assert plain.conflicts is not None
    assert padded.conflicts < plain.conflicts
    assert found.best == padded.config
    assert re.search(r"smem_a=.*: \d+ products right, \d+ wavefronts, \d+ of them bank conflicts", str(found))


def test_a_search_says_what_was_refused() -> None:
    found = workbench.search("sgemm_sm80_nt_f32", {"tiler": [(48, 128, 16)], "smem_a": [None, "(128,16):(1,127)"]})
    assert [judged.config for judged in found] == [None, None]
    assert "no multiple" in str(found)
    with pytest.raises(OperandError, match="no Config of sgemm_sm80_nt_f32 in this space is right"):
        _ = found.best


@pytest.mark.parametrize(
    ("space", "says"),
    [
        ({"tiles": [(64, 64, 16)]}, "there is no field 'tiles'"),
        ({"stages": list(range(300))}, "300 combinations"),
        ({"stages": []}, "0 combinations"),
    ],
)
def test_a_search_that_cannot_be(space: dict[str, Any], says: str) -> None:
    with pytest.raises(OperandError, match=says):
        workbench.search("sgemm_sm80_nt_f32", space)


@pytest.mark.compiler
@in_own_process
def test_a_name_is_one_config() -> None:
    first = config("sgemm_sm80_nt_f32", tiler=(128, 64, 16), stages=4, name="mine_once")
    assert first.compile().name == "mine_once"
    other = config("sgemm_sm80_nt_f32", stages=2, name="mine_once")
    with pytest.raises(OperandError, match="there is a kernel mine_once already"):
        other.compile()
    with pytest.raises(OperandError, match="is a Config of yours already"):
        config("mine_once", stages=2)
    assert "mine_once: sgemm_sm80_nt_f32 with tiler, stages" in str(first)
    assert all(check.error is None for check in testing.verify(["mine_once"], ["emulator"]))


def test_a_base_of_another_type_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit of a user's may add a variant to a family of ours, with a Config that is not written as ours are."""
    base = "sgemm_1_nt_f32"
    theirs = replace(kernels()[base].config, cpp_type="theirs::Config")
    monkeypatch.setattr(type(kernels()[base]), "config", property(lambda _: theirs))
    with pytest.raises(OperandError, match=r"no Config to start from, theirs::Config\n  next: .*cute_py\.kernels\(\)"):
        config(base)


def test_types_in_cpp() -> None:
    copy = make_tiled_copy(WIDE, Layout("(_32,_8)"), Layout("(_4,_1)"))
    assert copy.to_cpp() == (
        "TiledCopy<Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>,float>,Layout<Shape<_256,_4>,Stride<_4,_1>>,"
        "Tile<Int<128>,Int<8>>>"
    )
    assert MMA.to_cpp() == (
        "TiledMMA<MMA_Atom<UniversalFMA<float>>,Layout<Shape<_16,_16,_1>,Stride<_1,_16,_0>>,"
        "Tile<Underscore,Underscore,Underscore>>"
    )
    wgmma = next(name for name in atoms.mma if "64x64x16" in name and "SS" in name)
    with pytest.raises(cp.LayoutError, match="says how A and B lie in shared memory"):
        atoms.mma[wgmma].to_cpp()
