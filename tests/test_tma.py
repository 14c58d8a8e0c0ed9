"""The rules of the tensor copy engine: each on its own, and all of them against the driver."""

from __future__ import annotations

import ctypes
import random

import pytest

from cute_py import OperandError, tma_check

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
