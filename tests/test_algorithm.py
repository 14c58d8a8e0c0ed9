"""CuTe's algorithms on tensors: copies with predicates, sums in order, what they refuse."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py import (
    Layout,
    LayoutError,
    OperandError,
    Tensor,
    atoms,
    elem_less,
    kernels,
    local_tile,
    make_identity_tensor,
    make_tensor,
    make_tiled_copy,
    make_tiled_mma,
    print_layout,
    print_tensor,
)
from cute_py.algorithm import _fused, axpby, clear, copy, copy_if, fill, gemm, transform


def counted(*shape: int, dtype: Any = np.float32) -> Tensor:
    return make_tensor(np.arange(np.prod(shape)).astype(dtype).reshape(shape, order="F"))


def test_fill_clear_and_transform() -> None:
    tensor = make_tensor("int32", (3, 4))
    fill(tensor, 7)
    assert (tensor.numpy() == 7).all()
    transform(tensor, lambda x: x + 1)
    other = make_tensor("int32", (4, 3))  # of its size
    transform(tensor, other, lambda x: 2 * x)
    transform(tensor, other, other, lambda x, y: x - y)
    assert (other.numpy() == -8).all()
    clear(tensor)
    assert not tensor.numpy().any()


def test_a_ragged_tile_is_copied_under_a_predicate() -> None:
    matrix = counted(6, 5)
    for m, n in np.ndindex(2, 2):
        tile = local_tile(matrix, (4, 4), (m, n))
        coords = local_tile(make_identity_tensor((6, 5)), (4, 4), (m, n))
        registers = make_tensor("float32", (4, 4))
        fill(registers, -1)
        copy_if(lambda c, coords=coords: elem_less(coords(c), (6, 5)), tile, registers)
        allowed = make_tensor("bool", (4, 4))
        transform(coords, allowed, lambda c: elem_less(c, (6, 5)))
        by_tensor = make_tensor("float32", (4, 4))
        fill(by_tensor, -1)
        copy_if(allowed, tile, by_tensor)
        expected = np.full((4, 4), -1, np.float32)
        part = matrix.numpy()[4 * m : 4 * m + 4, 4 * n : 4 * n + 4]
        expected[: part.shape[0], : part.shape[1]] = part
        assert (registers.numpy() == expected).all()
        assert (by_tensor.numpy() == expected).all()


def test_axpby_under_a_predicate_and_without_reading() -> None:
    x, y = counted(4), make_tensor("float32", 4)
    fill(y, np.nan)
    axpby(2.0, x, 0.0, y)
    assert y.numpy().tolist() == [0, 2, 4, 6]
    axpby(1.0, x, 0.5, y, lambda i: i % 2 == 1)
    assert y.numpy().tolist() == [0, 2, 4, 6]
    axpby(1.0, x, 1.0, y, make_tensor(np.array([True]), Layout(4, 0)))
    assert y.numpy().tolist() == [0, 3, 6, 9]


@pytest.mark.parametrize("shapes", [((5,), (5,), (5,)), ((5,), (6,), (5, 6)), ((5, 7), (6, 7), (5, 6)), ((2, 5), (2, 6), (2, 5, 6)), ((2, 5, 7), (2, 6, 7), (2, 5, 6))], ids=str)  # fmt: skip
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64"])
def test_gemm_of_all_modes(shapes: Any, dtype: str) -> None:
    chance = np.random.default_rng(0)
    a, b, c = (chance.integers(-5, 6, shape).astype(dtype) for shape in shapes)
    subscripts = {1: "v,v->v", 2: "mk,nk->mn", 3: "vmk,vnk->vmn"}[max(map(len, shapes))]
    if shapes[0] == (5,) and shapes[2] == (5, 6):
        subscripts = "m,n->mn"
    if shapes[0] == (2, 5):
        subscripts = "vm,vn->vmn"
    expected = c + np.einsum(subscripts, a, b)
    apart = np.zeros_like(c)
    gemm(make_tensor(apart), make_tensor(a), make_tensor(b), make_tensor(c))
    assert (apart == expected).all()
    gemm(make_tensor(a), make_tensor(b), make_tensor(c))
    assert (c == expected).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_step_is_rounded_once(dtype: Any) -> None:
    chance = np.random.default_rng(1)
    a, b = chance.standard_normal((2, 4000)).astype(dtype)
    nearly = -(a * b) * (1 + chance.integers(-2, 3, 4000) * np.finfo(dtype).eps)
    c = np.where(
        chance.random(4000) < 0.5, nearly, chance.standard_normal(4000) * 2.0 ** chance.integers(-60, 60, 4000)
    )
    c = c.astype(dtype)
    got = _fused(a, b, c, np.dtype(dtype))
    for x, y, z, sum_ in zip(a, b, c, got, strict=True):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        error = abs(Fraction(float(sum_)) - exact)
        for neighbour in (np.nextafter(sum_, dtype(np.inf)), np.nextafter(sum_, dtype(-np.inf))):
            assert error <= abs(Fraction(float(neighbour)) - exact)
    assert np.isnan(_fused(dtype(np.inf), dtype(0), dtype(1), np.dtype(dtype)))


def test_a_kernels_copy_moves_what_it_should() -> None:
    kernel = kernels()["sgemm_2_nt_f32"]
    copy_a = kernel.tiled_copy_a
    source, destination = counted(128, 8), make_tensor("float32", (128, 8))
    for thread in range(kernel.threads):
        part = copy_a.get_slice(thread)
        copy(copy_a, part.partition_S(source), part.partition_D(destination))
    assert (source.numpy() == destination.numpy()).all()


def test_fragments() -> None:
    mma = make_tiled_mma(atoms.mma["SM80_16x8x16_F32F16F16F32_TN"], Layout((2, 2)))
    thread = mma.get_slice(5)
    part = thread.partition_A(make_tensor("half_t", (64, 32)))
    registers = thread.make_fragment_A(part)
    assert registers.dtype == np.float16
    assert registers.shape == part.shape
    sums = thread.partition_fragment_C(make_identity_tensor((64, 32)))
    assert sums.dtype == np.float32
    assert sums.layout == thread.fragment_layout_C(make_identity_tensor((64, 32)))
    with pytest.raises(OperandError, match="give what partition_A returns"):
        thread.make_fragment_A(make_tensor("half_t", (64, 32)))


def test_factors_keep_their_types() -> None:
    y = make_tensor(np.full(3, 4, np.int32))
    axpby(0.5, y, 1, y)
    assert y.numpy().tolist() == [6, 6, 6]
    axpby(1, make_tensor(np.full(3, 0, np.int32)), 0.5, y)
    assert y.numpy().tolist() == [3, 3, 3]
    small = make_tensor(np.array([200], np.uint8))
    axpby(-1, make_tensor(np.array([10], np.uint8)), 1, small)
    assert small.numpy().tolist() == [190]
    total = make_tensor(np.zeros((1, 1), np.int32))
    gemm(make_tensor(np.full((1, 2), 0.5)), make_tensor(np.full((1, 2), 4.0)), total)
    assert total[0, 0] == 4
    both = make_tensor(np.zeros(2, np.complex64))
    axpby(2j, make_tensor(np.ones(2, np.float32)), 1, both)
    assert both.numpy().tolist() == [2j, 2j]


@pytest.mark.parametrize(("m", "n", "k"), [(0, 3, 2), (2, 0, 3), (2, 3, 0)])
def test_nothing_to_multiply(m: int, n: int, k: int) -> None:
    sums = make_tensor(np.ones((m, n)))
    gemm(make_tensor(np.ones((m, k))), make_tensor(np.ones((n, k))), sums)
    assert (sums.numpy() == 1 + k).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zeros_and_infinities(dtype: Any) -> None:
    def one(a: float, b: float, c: float) -> Any:
        result = make_tensor(np.array([c], dtype))
        gemm(make_tensor(np.array([a], dtype)), make_tensor(np.array([b], dtype)), result)
        return result[0]

    assert np.signbit(one(-0.0, 1.0, -0.0))
    assert not np.signbit(one(-0.0, 1.0, 0.0))
    big = float(np.finfo(dtype).max)
    assert one(big, 2, 0) == np.inf
    assert one(big, -2, 0) == -np.inf
    assert one(big, 2, -big) == big
    assert np.isnan(one(np.inf, 0, 1))


def test_refusals() -> None:
    coords, data = make_identity_tensor((2, 3)), counted(2, 3)
    ldsm = make_tiled_copy(atoms.copy["SM75_U32x4_LDSM_N"].atom("half_t"), Layout(32), Layout(8))
    wrong = {
        "cannot be assigned": lambda: fill(coords, 0),
        "must be a Tensor, not int": lambda: clear(3),
        "p must be a Tensor or a function": lambda: copy_if(3, data, data),
        "differ in size: 6, 4": lambda: copy_if(lambda c: True, data, counted(2, 2)),
        "has 4 elements": lambda: copy_if(make_tensor("bool", 4), data, data),
        "M, N, K or V differ": lambda: gemm(data, data, counted(3, 3)),
        "have .3, 2, 2. modes": lambda: gemm(counted(1, 2, 3), data, data),
        "registers of 32 threads": lambda: gemm(atoms.mma["SM80_16x8x16_F32F16F16F32_TN"], data, data, data),
        "from thread to thread": lambda: copy(ldsm, data, data),
        "a TiledCopy or a copy atom, not str": lambda: copy("x", data, data),
        "no multiple of the 4 values": lambda: copy(kernels()["sgemm_2_nt_f32"].tiled_copy_a, data, data),
        r'UniversalCopy<float>"\]\.atom\("float"\)': lambda: copy(atoms.copy["UniversalCopy<float>"], data, data),
        "D .* and C .* differ in their extents": lambda: gemm(counted(3, 2), data, data, counted(2, 2)),
        "clear: tensor must be a Tensor, not ndarray": lambda: clear(np.ones(3)),
        "copy: source must be a Tensor, not ndarray": lambda: copy(np.ones(6), data),
        "no imaginary parts": lambda: axpby(1j, data, 1, data),
        "elements of <U1 cannot be multiplied": lambda: gemm(make_tensor(np.full(3, "x")), counted(3), counted(3)),
        "holds coordinates, which": lambda: gemm(coords, coords, counted(2, 2)),
        "is no number": lambda: axpby("2", data, 1, data),
        "D's array is read-only": lambda: gemm(
            make_tensor(np.broadcast_to(np.float32(1), (2, 2))), data, data, counted(2, 2)
        ),
        r"\(x, out, f\)": lambda: transform(data),
        "read-only": lambda: fill(make_tensor(np.broadcast_to(np.float32(1), 4)), 0),
    }
    for message, call in wrong.items():
        with pytest.raises((OperandError, LayoutError), match=message):
            call()


def test_printed_tables(capsys: pytest.CaptureFixture[str]) -> None:
    print_layout("(2,2,2)")
    assert capsys.readouterr().out.count("(_,_,") == 2
    print_layout(cute_py.layout.make_identity_layout((2, 2)))
    assert "(1,1)" in capsys.readouterr().out
    print_tensor(counted(2, 2, 2, 2), print_type=False)
    assert capsys.readouterr().out.count("=" * 10) == 1
    tile = local_tile(counted(3, 3), (2, 2), (1, 1))
    print_tensor(tile, print_type=False)
    assert capsys.readouterr().out == "  8.00e+00         .\n         .         .\n"
    with pytest.raises(LayoutError, match="at most"):
        print_layout("(1024,1024)")
    with pytest.raises(OperandError, match="not int"):
        print_tensor(3)


def test_tables_of_what_is_empty_or_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("0:1", "(4,0)", "(0,4)", "(2,0,3)"):
        print_layout(text)
    for dtype in ("U3", "M8[s]", "m8[s]", "i4,f4"):
        print_tensor(make_tensor(np.zeros(2, dtype)))
    assert "(2,0,3)" in capsys.readouterr().out
    one = make_tensor("float32", ())
    fill(one, 3)
    assert one[()] == 3


def test_copy_if_of_a_predicate_that_repeats() -> None:
    """A predicate of (THR_M,THR_K):(1,0) is asked for its first elements, as in NVIDIA's text on predication."""
    source = make_tensor(np.arange(8.0), "(2,4):(4,1)")
    p = make_tensor(np.array([True, False]), "(2,4):(1,0)")
    whole, column = (make_tensor(np.zeros(8), "(2,4):(4,1)") for _ in range(2))
    copy_if(p, source, whole)
    np.testing.assert_array_equal(whole.numpy(), [[0, 1, 2, 3], [0, 0, 0, 0]])
    copy_if(p, source[:, 2], column[:, 2])
    np.testing.assert_array_equal(column.numpy(), [[0, 0, 2, 0], [0, 0, 0, 0]])
    with pytest.raises(LayoutError, match=r"has 2 elements.*next: a predicate of the same shape"):
        copy_if(make_tensor(np.array([True, False])), source, whole)


def test_copy_if_through_an_atom() -> None:
    """The predicate is asked for each coordinate behind mode 0, whose elements go together."""
    atom = atoms.copy["UniversalCopy<uint64_t>"].atom("float")
    source = make_tensor(np.arange(1, 17, dtype=np.float32), "(2,2,4):(1,2,4)")
    for p, expected in (
        (make_tensor(np.array([True, False]), "(2,4):(1,0)"), [[[1, 5, 9, 13], [0] * 4], [[2, 6, 10, 14], [0] * 4]]),
        (lambda c: c == (1, 3), [[[0] * 4, [0, 0, 0, 15]], [[0] * 4, [0, 0, 0, 16]]]),
    ):
        destination = make_tensor(np.zeros(16, np.float32), "(2,2,4):(1,2,4)")
        copy_if(atom, p, source, destination)
        np.testing.assert_array_equal(destination.numpy(), expected)
    with pytest.raises(LayoutError, match=r"with an atom, .* are \(V, Rest...\) both"):
        copy_if(atom, p, source[:, 0, 0], destination[:, 0, 0])
    with pytest.raises(OperandError, match=r"give .p, source, destination."):
        copy_if(source, destination)
