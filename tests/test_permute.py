"""Copies from any strides to any strides."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py import EmulatorOptions

TYPES = [np.int8, np.bool_, np.float16, np.int32, np.float32, np.int64, np.float64, np.complex64, np.complex128]
DEVICES = ["cpu", "emulator"]


def bits(array: Any) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def strided(chance: random.Random, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array with modes in any order, gaps, steps, negative strides, and a beginning that is aligned to nothing."""
    rank = len(shape)
    order = chance.sample(range(rank), rank)
    steps = [chance.choice([1, 1, 1, 1, 2]) for _ in order]
    whole = [shape[i] * step + chance.choice([0, 0, 0, 1, 3, 4]) for i, step in zip(order, steps, strict=True)]
    first = chance.choice([0, 0, 0, 1])
    noise = np.random.default_rng(chance.randrange(1 << 30))
    size = (int(np.prod(whole)) + first) * np.dtype(dtype).itemsize
    memory = noise.integers(0, 2 if dtype is np.bool_ else 256, size, dtype=np.uint8)
    array = memory.view(dtype)[first:].reshape(whole)
    array = array[tuple(slice(0, shape[i] * step, step) for i, step in zip(order, steps, strict=True))]
    array = array.transpose([order.index(i) for i in range(rank)])
    flipped = [i for i in range(rank) if chance.random() < 0.1]
    return np.flip(array, flipped) if flipped else array


def shape_of(chance: random.Random) -> tuple[int, ...]:
    while True:
        most = chance.choice([3, 8, 40, 300])
        shape = tuple(
            chance.randint(1, most) if chance.random() < 0.8 else chance.choice([4, 8, 16, 64, 256])
            for _ in range(chance.randint(1, 6))
        )
        if np.prod(shape) <= 150_000:
            return shape


@pytest.mark.parametrize("device", [*DEVICES, pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("seed", range(12))
def test_random_copies_keep_every_bit(device: str, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(12):
        shape, dtype = shape_of(chance), chance.choice(TYPES)
        A = strided(chance, shape, dtype)
        axes = tuple(chance.sample(range(len(shape)), len(shape)))
        expected = A.transpose(axes)
        result = cute_py.permute(A, axes, device=device)
        assert result.flags.c_contiguous
        assert result.dtype == dtype
        assert bits(result) == bits(expected)
        out = strided(chance, expected.shape, dtype)
        if np.may_share_memory(A, out):
            continue
        options = EmulatorOptions(order="random", seed=seed) if device == "emulator" else None
        assert cute_py.permute(A, axes, out, device=device, emulator=options) is out
        assert bits(out) == bits(expected), (A.shape, A.strides, axes, out.strides, dtype)


@pytest.mark.parametrize("device", [*DEVICES, pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
def test_a_long_mode_beside_a_few_elements(device: str, dtype: str) -> None:
    """A line of A is cut within the long mode, whose words in D are whole."""
    chance = random.Random(dtype)
    word = 16 // np.dtype(dtype).itemsize
    shapes = [(5, 3240), (5, 1728), (7, 2480), (5, 2, 2560)]
    shapes += [
        (*chance.choices(range(2, 14), k=chance.choice([1, 1, 2])), word // 2 * chance.randint(1, 400))
        for _ in range(60)
    ]
    for shape in shapes:
        A = np.asfortranarray((np.arange(np.prod(shape)) % 120).reshape(shape).astype(dtype))
        out = np.zeros(shape, dtype)
        cute_py.permute(A, out=out, device=device)
        assert bits(out) == bits(A), shape


@pytest.mark.parametrize("device", DEVICES)
def test_what_lies_between_the_elements_of_the_result_stays(device: str) -> None:
    for dtype, gap in [(np.int8, 3), (np.float16, 1), (np.float32, 5), (np.complex128, 1)]:
        memory = np.full((130, 70 + gap), 7).astype(dtype)
        A = np.arange(70 * 130).reshape(70, 130).astype(dtype)
        cute_py.permute(A, (1, 0), memory[:, :70], device=device)
        assert bits(memory[:, :70]) == bits(A.T)
        assert (memory[:, 70:] == 7).all()


@pytest.mark.parametrize("bytes_", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("width", [8, 16, 32, 64, 128])
def test_a_named_width_moves_what_lies_so(bytes_: int, width: int) -> None:
    dtype = {1: np.int8, 2: np.float16, 4: np.float32, 8: np.float64, 16: np.complex128}[bytes_]
    A = np.arange(32 * 6 * 32).astype(dtype).reshape(32, 6, 32)
    kernel = f"permute_b{width}"
    # Half of a complex number is the least that can be moved.
    if 8 * bytes_ <= width or (bytes_ == 16 and width == 64):
        assert bits(cute_py.permute(A, (1, 0, 2), kernel=kernel, device="emulator")) == bits(A.transpose(1, 0, 2))
    else:
        with pytest.raises(cute_py.UnsupportedProblemError, match=kernel):
            cute_py.permute(A, (1, 0, 2), kernel=kernel, device="emulator")
    with pytest.raises(cute_py.UnsupportedProblemError, match="do not lie side by side in A and in C"):
        cute_py.permute(np.zeros((4, 5), np.int8), kernel="permute_b128", device="emulator")


def test_the_widest_move_that_strides_allow_is_chosen() -> None:
    def chosen(A: np.ndarray, axes: tuple[int, ...]) -> str | None:
        return cute_py.permute.explain(A, axes, device="emulator").chosen

    A = np.zeros((24, 10, 24), np.float32)
    assert chosen(A, (1, 0, 2)) == "permute_b128"
    assert chosen(A[:, :, :22], (1, 0, 2)) == "permute_b64"
    assert chosen(A, (2, 1, 0)) == "permute_b32"
    assert str(cute_py.permute.explain(A, (2, 1, 0)).chosen).startswith("cpu_copy_")


def test_more_elements_than_32_bits_count() -> None:
    """A mode of each has to be shorter; nothing is allocated."""
    A = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (5, 2**30), (2**30, 1))
    assert cute_py.permute.explain(A, (1, 0), device="emulator").chosen == "permute_b8"
    dense = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (3, 2**31), (2**31, 1))
    assert cute_py.permute.explain(dense, device="emulator").chosen == "permute_b128"
    long = np.broadcast_to(np.int8(0), (2**32,))
    assert cute_py.permute.explain(long, device="emulator").chosen is None


def test_extents_of_zero_and_none_and_one() -> None:
    assert cute_py.permute(np.zeros((0, 3), np.int8), (1, 0)).shape == (3, 0)
    for device in DEVICES:
        assert cute_py.permute(np.array(3.5), device=device) == 3.5
        assert cute_py.permute(np.full((1, 1, 1), 2.0, np.float16), (2, 0, 1), device=device).shape == (1, 1, 1)
        repeated = np.broadcast_to(np.arange(5.0), (3, 5))
        assert bits(cute_py.permute(repeated, (1, 0), device=device)) == bits(repeated.T)


def test_bits_that_arithmetic_would_not_keep() -> None:
    A = np.array([[-0.0, np.nan], [np.inf, 1]], np.float32)
    A.view(np.uint32)[0, 1] = 0x7FA00001  # a signalling NaN with a payload
    for device in DEVICES:
        assert bits(cute_py.permute(A, (1, 0), device=device)) == bits(A.T)


def test_a_plan_copies_arrays_like_those_that_it_was_made_for() -> None:
    A = np.arange(12.0).reshape(3, 4)
    plan = cute_py.permute.plan(A, (1, 0))
    assert plan.shape == (4, 3)
    assert bits(plan(2 * A)) == bits(2 * A.T)
    out = np.empty((4, 3))
    assert plan(A, out) is out
    with pytest.raises(cute_py.OperandError, match="not laid out like"):
        plan(A.T.copy().T)
    with pytest.raises(TypeError, match="positional"):
        plan(A, out, A)


def test_unusual_types_and_libraries() -> None:
    torch = pytest.importorskip("torch")
    A = torch.arange(12, dtype=torch.uint8).reshape(3, 4)
    result = cute_py.permute(A, (1, 0))
    assert result.dtype == torch.uint8
    assert torch.equal(result, A.t())
    for name in ("bool", "bfloat16", "float8_e4m3fn", "float8_e5m2"):
        B = A.to(getattr(torch, name))
        result = cute_py.permute(B, (1, 0))
        assert result.dtype == B.dtype
        assert torch.equal(result.view(torch.int8), B.t().contiguous().view(torch.int8))
    conjugated = torch.ones((2, 2), dtype=torch.complex64).conj()
    with pytest.raises(cute_py.OperandError, match="resolve_conj"):
        cute_py.permute(conjugated)


A = np.zeros((2, 3), np.float32)
BAD = [
    (lambda: cute_py.permute([1, 2]), "is a list, not an array"),
    (lambda: cute_py.permute(A, (0,)), r"axes \(0,\) do not name each of the 2 modes of A once"),
    (lambda: cute_py.permute(A, (0, 0)), "do not name each"),
    (lambda: cute_py.permute(A, (0, 2)), "do not name each"),
    (lambda: cute_py.permute(A, (0, 10**30)), "do not name each"),
    (lambda: cute_py.permute(A, "ji"), "do not name each"),
    (lambda: cute_py.permute(np.broadcast_to(np.int8(0), (2**31,) * 2 + (1,))), "more elements than 64 bits count"),
    (lambda: cute_py.permute(A, 1), "do not name each"),
    (lambda: cute_py.permute(A, (1, 0), np.zeros((2, 3), np.float32)), r"needs out of the shape \(3,2\)"),
    (lambda: cute_py.permute(A, out=np.zeros((2, 3))), "keeps the type of A"),
    (lambda: cute_py.permute(A, (0, 1), A), "cannot write to out, which may overlap A"),
    (lambda: cute_py.permute(A, out=np.broadcast_to(np.float32(0), (2, 3))), "read-only"),
    (lambda: cute_py.permute(A, kernel="sgemm_1", device="emulator"), "no kernel called 'sgemm_1' takes this problem"),
    (lambda: cute_py.permute(A.astype("U3")), "next:"),
    (lambda: cute_py.gemm(A, A, kernel="permute", device="emulator"), "no kernel called 'permute' takes this problem"),
    (lambda: cute_py.tune(cute_py.permute, A), "tune takes a product of two arrays"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message[:30] for _, message in BAD])
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(cute_py.CuteError, match=message):
        call()
    assert (A == 0).all()


def test_arguments_of_products_are_none_of_a_copy() -> None:
    with pytest.raises(TypeError, match="alpha"):
        cute_py.permute(A, alpha=2)
    with pytest.raises(TypeError, match="positional"):
        cute_py.permute(A, None, None, None)


@pytest.mark.gpu
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_many_tiles_on_a_gpu(size: int) -> None:
    torch = pytest.importorskip("torch")
    dtype = {1: torch.int8, 2: torch.float16, 4: torch.float32, 8: torch.float64, 16: torch.complex128}[size]
    chance = random.Random(size)
    for _ in range(20):
        shape = [chance.choice([3, 7, 16, 33, 64, 130, 257]) for _ in range(chance.randint(2, 5))]
        if np.prod(shape) > 3e7:
            continue
        memory = torch.randint(-128, 128, (int(np.prod(shape)) * size,), dtype=torch.int8, device="cuda")
        X = memory.view(dtype).view(shape)
        axes = chance.sample(range(len(shape)), len(shape))
        expected = X.permute(axes).contiguous()
        result = cute_py.permute(X, tuple(axes))
        assert torch.equal(result.view(-1).view(torch.int8), expected.view(-1).view(torch.int8)), (shape, axes)
