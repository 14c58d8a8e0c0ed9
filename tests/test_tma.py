"""The rules of TMA: each on its own, and all of them against the driver."""

from __future__ import annotations

import ctypes
import os
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cute_py import (
    ComposedLayout,
    Int,
    Layout,
    LayoutError,
    OperandError,
    Swizzle,
    composition,
    make_composed_layout,
    make_layout,
    make_tma_copy,
    tma_check,
    tma_partition,
    zipped_divide,
)
from headers import ROOT, cuda_headers

GOOD = {"shape": (4096, 512), "stride": (1, 4096), "dtype": "half_t", "box": (64, 128)}


def test_a_good_tensor_breaks_no_rule() -> None:
    report = tma_check(**GOOD, swizzle=128)
    assert report.ok
    assert report
    assert report.box_bytes == 64 * 128 * 2
    assert "every rule holds" in str(report)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"stride": (1, 4100)},
            "global stride of mode 1: 4100 elements are 8200 bytes, no multiple of 16; next: pad it to 4104",
        ),
        ({"stride": (2, 4096)}, "global stride of mode 0"),
        ({"stride": (1, -4096)}, "not in 0 to"),
        ({"stride": (1, 2**39)}, "not in 0 to 2"),
        ({"box": (257, 1)}, "box extent of mode 0: 257 is not in 1 to 256"),
        ({"box": (64, 0)}, "box extent of mode 1: 0"),
        ({"box": (4, 8)}, "box extent of mode 0: 8 bytes are no multiple of 16"),
        (
            {"box": (128, 8), "swizzle": 128},
            "swizzle span: the box is 256 bytes wide, the swizzle spans 128; next: a box of 64",
        ),
        ({"address": 8}, "address: 0x8"),
        ({"shape": (0, 512)}, "extent of mode 0: 0"),
        ({"shape": (2**32 + 1, 512)}, "extent of mode 0"),
        ({"element_strides": (1, 9)}, "element stride of mode 1: 9"),
        ({"dtype": "int4_t", "box": (64, 128)}, "element type"),
        ({"box": (256, 256), "dtype": "double"}, "do not fit"),
    ],
)
def test_each_rule_is_found_and_named(change: dict[str, object], message: str) -> None:
    report = tma_check(**{**GOOD, **change})  # type: ignore[arg-type]
    assert not report
    assert any(message in rule for rule in report.broken), report


def test_more_than_five_modes() -> None:
    report = tma_check((16,) * 6, tuple(16**i for i in range(6)), "half_t", (16, 1, 1, 1, 1, 1))
    assert any("rank: 6 modes" in rule for rule in report.broken)


@pytest.mark.parametrize(
    "change",
    [
        {"box": (64,)},
        {"swizzle": 48},
        {"dtype": "no such type"},
        {"shape": (4096.0, 512)},
        {"shape": "4096"},
        {"stride": (1, None)},
        {"box": (True, 1)},
        {"shape": (2**60, 512)},
        {"address": "0"},
    ],
)
def test_what_is_no_tensor_is_an_error(change: dict[str, object]) -> None:
    with pytest.raises(OperandError, match=r"tma_check|value_type"):
        tma_check(**{**GOOD, **change})  # type: ignore[arg-type]


DRIVER_TYPES = {"uint8_t": 0, "uint16_t": 1, "uint32_t": 2, "half_t": 6, "float": 7, "double": 8, "bfloat16_t": 9}


def encode(shape, stride, dtype, box, *, swizzle, element_strides, address) -> int:  # type: ignore[no-untyped-def]
    """Return the driver's answer to a tensor map: 0 for success."""
    size = {"uint8_t": 1, "uint16_t": 2, "half_t": 2, "bfloat16_t": 2, "uint32_t": 4, "float": 4, "double": 8}[dtype]
    rank = len(shape)
    raw = (ctypes.c_char * 256)()
    aligned = (ctypes.addressof(raw) + 63) // 64 * 64
    driver = ctypes.CDLL("libcuda.so.1")
    return int(
        driver.cuTensorMapEncodeTiled(
            ctypes.c_void_p(aligned),
            DRIVER_TYPES[dtype],
            rank,
            ctypes.c_void_p(address),
            (ctypes.c_uint64 * rank)(*shape),
            (ctypes.c_uint64 * rank)(*(s * size for s in stride[1:]), 0),
            (ctypes.c_uint32 * rank)(*box),
            (ctypes.c_uint32 * rank)(*element_strides),
            0,
            {0: 0, 32: 1, 64: 2, 128: 3}[swizzle],
            0,
            0,
        )
    )


@pytest.fixture
def context() -> None:
    """Make the first GPU's primary context current: the driver encodes for a device."""
    driver = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    assert driver.cuInit(0) == 0
    assert driver.cuDeviceGet(ctypes.byref(device), 0) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
    assert driver.cuCtxSetCurrent(context) == 0


@pytest.mark.gpu
@pytest.mark.usefixtures("context")
def test_the_driver_agrees() -> None:
    rng = random.Random(0)
    disagreements = []
    accepted = 0
    for _ in range(20000):
        rank = rng.randint(1, 5)
        dtype = rng.choice(list(DRIVER_TYPES))
        shape = tuple(rng.choice([1, 7, 64, 100, 4096, 2**32, 2**32 + 1, 2**31]) for _ in range(rank))
        stride = (1, *(rng.choice([8, 16, 24, 100, 128, 4096, 2**20, 2**36, 2**40]) for _ in range(rank - 1)))
        box = tuple(rng.choice([1, 2, 4, 8, 16, 32, 64, 128, 256, 257]) for _ in range(rank))
        arguments = {
            "swizzle": rng.choice([0, 32, 64, 128]),
            "element_strides": tuple(rng.choice([1, 1, 1, 1, 2, 8, 9]) for _ in range(rank)),
            "address": rng.choice([0x7F0000000000, 0x7F0000000010, 0x7F0000000008]),
        }
        report = tma_check(shape, stride, dtype, box, **arguments)  # type: ignore[arg-type]
        accepts = encode(shape, stride, dtype, box, **arguments) == 0  # type: ignore[arg-type]
        accepted += accepts
        if len(report.broken) == 1 and report.broken[0].startswith("box: its"):
            continue  # the driver's own limit of a box differs from what a CTA's shared memory holds
        if accepts != report.ok:
            disagreements.append((shape, stride, dtype, box, arguments, accepts, report.broken))
    assert accepted > 100
    assert not disagreements, f"{len(disagreements)}: {disagreements[:5]}"


# What tests/cpp/tma_copy.cpp asks the headers: operation, tensor, tile in shared memory, extents of a tile, type, CTAs, CTA.
K_MAJOR, M_MAJOR = Layout("(1000,520):(520,_1)"), Layout("(1000,520):(_1,1000)")
SMEM_K = composition(Swizzle(3, 3, 3), Layout("((_8,_16),(_64,_1)):((_64,_512),(_1,_0))"))
SMEM_M = composition(Swizzle(3, 3, 3), Layout("((_64,_2),(_8,_8)):((_1,_512),(_64,_1024))"))
SMEM_DEEP = composition(Swizzle(3, 3, 3), Layout("((_64,_1),(_8,_4)):((_1,_0),(_64,_512))"))
LOAD, MULTICAST, STORE = "SM90_TMA_LOAD", "SM90_TMA_LOAD_MULTICAST", "SM90_TMA_STORE"
COPIES: dict[str, tuple[str, Any, Any, tuple[int, ...], str, int, int]] = {
    "k_major": (LOAD, K_MAJOR, SMEM_K, (128, 64), "half_t", 1, 0),
    "m_major": (LOAD, M_MAJOR, SMEM_M, (128, 64), "half_t", 1, 0),
    "shared by two": (MULTICAST, K_MAJOR, SMEM_K, (128, 64), "half_t", 2, 1),
    "shared by four": (MULTICAST, M_MAJOR, SMEM_M, (128, 64), "half_t", 4, 3),
    "store": (STORE, K_MAJOR, SMEM_K, (128, 64), "half_t", 1, 0),
    "no swizzle": (LOAD, M_MAJOR, Layout("(_64,_16):(_1,_64)"), (64, 16), "float", 1, 0),
    "across": (LOAD, K_MAJOR, Layout("(_64,_16):(_16,_1)"), (64, 16), "float", 1, 0),
    "more than 256": (LOAD, M_MAJOR, Layout("(_512,_4):(_1,_512)"), (512, 4), "float", 1, 0),
    "batches": (LOAD, Layout("(1000,520,3):(520,_1,520000)"), SMEM_K, (128, 64, 1), "half_t", 1, 0),
    "nested": (LOAD, Layout("((_64,7),(_32,5)):((_1,2048),(_64,14336))"), SMEM_DEEP, (64, 32), "half_t", 1, 0),
    "merged": (LOAD, Layout("(_8,_16,40):(_1,_8,_128)"), Layout("(_8,_16,_4):(_1,_8,_128)"), (8, 16, 4), "float", 1, 0),
}


def tile_of(smem: Any) -> Any:
    """The same with the whole tile as mode 0."""
    if isinstance(smem, ComposedLayout):
        return make_composed_layout(smem.outer, smem.offset, make_layout(smem.inner))
    return make_layout(smem)


def said(name: str) -> str:
    """One line of what the program says of a copy."""
    op, tensor, smem, tile, dtype, multicast, cta = COPIES[name]
    copy = make_tma_copy(op, tensor, smem, tile, dtype=dtype, multicast=multicast)
    tiles = zipped_divide(copy.coordinates, tuple(Int(extent) for extent in tile))
    of_global, of_shared, offset = tma_partition(copy, tile_of(smem), tiles, cta=cta)
    plain = of_shared.inner if isinstance(of_shared, ComposedLayout) else of_shared
    modes = "".join(f"{extent}:{stride}," for extent, stride in zip(copy.extents, copy.strides, strict=True))
    return (
        f"{name}|{copy.basis}|{modes}|{copy.coordinates.layout}|{of_global.offset}|{of_global.layout}|{offset}|{plain}"
    )


@pytest.mark.compiler
def test_copies_are_those_of_the_headers(tmp_path: Path) -> None:
    cuda = cuda_headers()
    program = tmp_path / "tma_copy"
    includes = [f"-isystem{path}" for path in (ROOT / "third_party" / "cutlass" / "include", cuda, cuda / "cccl")]
    command = [os.environ.get("CXX", "g++"), "-std=c++17", "-w", "-DNDEBUG", *includes]
    subprocess.run([*command, str(ROOT / "tests" / "cpp" / "tma_copy.cpp"), "-o", str(program)], check=True)
    output = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout

    def plain(line: str) -> str:
        # Static or not, the origin is the same.
        return re.sub(r"(?:ArithTuple)?\(([_0-9, ]+)\)(?=\|\(\(\()", lambda at: re.sub("[_ ]", "", at[1]), line)

    assert [plain(line) for line in output.splitlines()] == [plain(said(name)) for name in COPIES]


@pytest.mark.parametrize("name", COPIES)
def test_boxes_bring_every_element_once(name: str) -> None:
    """All boxes of all CTAs that share a tile, element by element: where each goes, and which of the tensor's it is."""
    op, tensor, smem, tile, dtype, multicast, _ = COPIES[name]
    copy = make_tma_copy(op, tensor, smem, tile, dtype=dtype, multicast=multicast)
    static = tuple(Int(extent) for extent in tile)
    tiles = zipped_divide(copy.coordinates, static)
    places = zipped_divide(tensor, static)
    wanted = {smem(i): places(i, 0) for i in range(smem.size)}
    found = {}
    share = copy.basis.size // multicast
    for cta in range(multicast):
        of_global, _, offset = tma_partition(copy, tile_of(smem), tiles, cta=cta)
        assert offset == cta * share
        whole = tma_partition(copy, tile_of(smem), tiles)[1]
        for box in range(copy.copies):
            for i in range(share):
                at = of_global(((i, box), *([0] * (of_global.rank - 1))))
                place = sum(c * s for c, s in zip(at, copy.strides, strict=True))
                found[whole(((cta * share + i, box),))] = place
    assert found == wanted


def test_what_the_engine_refuses_is_said() -> None:
    good = make_tma_copy(*COPIES["m_major"][:4], dtype="half_t")
    assert good.rules.ok
    assert (good.box, good.box_bytes, good.copies, good.swizzle) == ((64, 8), 1024, 16, 128)
    assert "box     64 x 8, 1024 bytes, 16 for the tile" in str(good)
    wide = make_tma_copy(*COPIES["more than 256"][:4], dtype="float")
    assert not wide.rules.ok
    assert "broken: box extent of mode 0: 512 is not in 1 to 256" in str(wide)
    odd = make_tma_copy(LOAD, Layout("(1000,520):(_1,1001)"), SMEM_M, (128, 64), dtype="half_t")
    assert "1001 elements are 2002 bytes" in str(odd)
    assert good.to_svg().startswith("<svg")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"op": "SM80_CP_ASYNC"}, OperandError, "op must be one of SM90_TMA_LOAD"),
        ({"dtype": "int4_t"}, OperandError, "int4_t has 4 bits; next: give the layouts in bytes"),
        ({"multicast": 3}, OperandError, "1, 2, 4, 8 or 16 CTAs, not 3"),
        ({"multicast": True}, OperandError, "not True"),
        ({"multicast": 2}, OperandError, "next: SM90_TMA_LOAD_MULTICAST for multicast=2"),
        ({"tensor": 3}, OperandError, "tensor must be a layout without a swizzle, not 3"),
        ({"tensor": SMEM_M}, OperandError, "tensor must be a layout without a swizzle"),
        ({"smem": 3}, OperandError, "smem must be a layout, not 3"),
        ({"smem": "(_8,_16):(_16,_1)"}, LayoutError, "contiguous in smem has stride 1000 in the tensor"),
        ({"tile": (8, 8)}, LayoutError, "64 elements, smem"),
        ({"smem": composition(Swizzle(3, 0, 3), Layout("(_8,_16):(_1,_8)"))}, LayoutError, "next: Swizzle(1, 3, 3)"),
        ({"smem": composition(Swizzle(3, 3, 4), Layout("(_64,_16):(_1,_64)"))}, LayoutError, "the engine has no"),
    ],
)
def test_wrong_arguments(change: dict[str, Any], error: type[Exception], message: str) -> None:
    arguments = {"op": LOAD, "tensor": M_MAJOR, "smem": "(_8,_16):(_1,_8)", "dtype": "half_t", **change}
    with pytest.raises(error, match=re.escape(message)):
        make_tma_copy(**arguments)


def test_wrong_partitions() -> None:
    copy = make_tma_copy(*COPIES["m_major"][:4], dtype="half_t")
    tiles = zipped_divide(copy.coordinates, (Int(128), Int(64)))
    with pytest.raises(OperandError, match="cta must be in 0 to 0, not 1"):
        tma_partition(copy, tile_of(SMEM_M), tiles, cta=1)
    with pytest.raises(LayoutError, match="mode 0 of smem has 128 elements, of the coordinates 8192"):
        tma_partition(copy, SMEM_M, tiles)
