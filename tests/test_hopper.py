"""What SM90's TMA and warpgroups add: edge tiles, modes that TMA follows, split-K in a cluster, one kernel after the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py import Candidate, EmulatorOptions, Kernel, UnsupportedProblemError
from cute_py.testing import numpy_type
from problems import EMULATED

VARIANTS = [v for v in cute_py.kernels().values() if v.kernel == "gemm_sm90" and v.multiplies]
IN_EMULATOR = [v for v in VARIANTS if v.name in EMULATED]


def is_multicast_with_split_k(candidate: Candidate) -> bool:
    """Whether a cluster has two tiles of C, which share what TMA loads, and the CTAs that share their K."""
    m, n, k = candidate.cluster or (1, 1, 1)
    return m * n > 1 and k > 1


def padded(values: np.ndarray, first_unit: bool) -> np.ndarray:
    """The same numbers with a unit stride along the first or the second mode, and gaps between lines that end anywhere."""
    rows, columns = values.shape
    lines, length = (columns, rows) if first_unit else (rows, columns)
    memory = np.full((lines, -(-length // 16) * 16 + 16), 7, values.dtype)
    array = memory[:, :length].T if first_unit else memory[:, :length]
    array[...] = values
    return array


def result_types(variant: Kernel) -> list[str]:
    """Those that TMA writes, or that are written in vectors, and for float8 one that is not."""
    factor = variant.factors[0]
    if factor == "int8":
        return ["int32", "float32"]
    if factor.startswith("float8"):
        return ["bfloat16", "float32", "float8_e4m3fn"]
    return sorted({factor, "float32"})


def operands(variant: Kernel, m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Small integers, so that every sum is exact, and their product."""
    generator = np.random.default_rng(m * 10007 + n * 101 + k)
    dtype = numpy_type(variant.factors[0])
    a, b = generator.integers(-3, 4, (m, k)), generator.integers(-2, 3, (n, k))
    return padded(a.astype(dtype), variant.layout[0] == "n"), padded(b.astype(dtype), variant.layout[1] == "t"), a @ b.T


@pytest.mark.parametrize(
    ("variant", "result"),
    [(v, result) for v in IN_EMULATOR for result in result_types(v)],
    ids=lambda v: getattr(v, "name", v),
)
def test_ends_lie_anywhere(variant: Kernel, result: str) -> None:
    """The engine fills with zeros what it reads beyond an end, and leaves out what it would write there."""
    m, n, k = variant.tile
    dtype = numpy_type(result)
    for extents in ((1, 1, 1), (m - 1, n + 3, k + 1), (2 * m + 5, n - 9, 2 * k - 3), (m, 1, 3 * k)):
        A, B, expected = operands(variant, *extents)
        for along_m in (True, False):
            C = padded(np.zeros(expected.shape, dtype), along_m)
            guard = C.base.copy()
            cute_py.gemm(
                A,
                B,
                C,
                kernel=variant.name,
                compute=variant.compute,
                device="emulator",
                emulator=EmulatorOptions("random", seed=3),
            )
            wanted = np.clip(expected, -448, 448) if result == "float8_e4m3fn" else expected
            np.testing.assert_array_equal(C, wanted.astype(dtype))
            C[...] = 0
            np.testing.assert_array_equal(C.base, guard)  # nothing else was written


def test_the_engine_follows_modes() -> None:
    """Two modes in M, N and K and one in L: a tile has elements of the first of each group."""
    generator = np.random.default_rng(0)
    A = generator.integers(-2, 3, (3, 2, 72, 3, 40)).astype(np.float16)  # l m1 m0 k1 k0
    B = generator.integers(-2, 3, (3, 3, 56, 40, 2)).astype(np.float16).transpose(0, 4, 2, 1, 3)  # l n1 n0 k1 k0
    B = np.ascontiguousarray(B)
    C = np.zeros((3, 2, 56, 2, 72), np.float16)  # l n1 n0 m1 m0
    cute_py.contract("lbakj,ldckj->ldcba", A, B, C, kernel="gemm_sm90", device="emulator")
    expected = np.einsum("lbakj,ldckj->ldcba", A.astype(np.float64), B.astype(np.float64))
    np.testing.assert_array_equal(C, expected.astype(np.float16))


# Of CUTLASS's example 51, whose first mode is the fastest one.
EXAMPLE_51 = {
    "mnl,mkl,knl": {"m": 4096, "n": 4096, "k": 4096, "l": 1},
    "lmn,mlk,knl": {"m": 128, "n": 128, "k": 128, "l": 64},
    "mabpqnl,mlbka,knpql": {"m": 32, "a": 32, "b": 3, "n": 128, "k": 128, "l": 4, "p": 3, "q": 3},
}


@pytest.mark.parametrize("modes", EXAMPLE_51)
@pytest.mark.parametrize("target", ["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_the_contractions_of_example_51(modes: str, target: str) -> None:
    """Factors and C of float16, D of float32, alpha = beta = 1: in modes as they are, through TMA."""
    extents = EXAMPLE_51[modes]
    if target == "emulator":
        extents = {
            mode: extent if extent < 4 else max(2, extent // 32) * 8 if mode in "mk" else 4
            for mode, extent in extents.items()
        }
    generator = np.random.default_rng(51)
    c, a, b = (mode[::-1] for mode in modes.split(","))

    def draw(names: str) -> np.ndarray:
        return generator.integers(-1, 3, [extents[mode] for mode in names]).astype(np.float16)

    A, B, C = draw(a), draw(b), draw(c)
    D = np.full(C.shape, np.nan, np.float32)
    cute_py.contract(f"{a},{b}->{c}", A, B, C, beta=1, out=D, kernel="gemm_sm90", device=target)
    expected = np.einsum(f"{a},{b}->{c}", A.astype(np.float32), B.astype(np.float32), optimize=True) + C
    np.testing.assert_array_equal(D, expected)


def test_what_the_engine_cannot_follow_is_said() -> None:
    whole = np.zeros((64, 64), np.float16)
    for B, rule in (
        (
            np.zeros((64, 65), np.float16)[:, :64],
            "a stride: 65 elements are 130 bytes, no multiple of 16; next: pad it to 72",
        ),
        (whole[::-1], "a stride is -64, not positive"),
        (np.broadcast_to(whole[0], (64, 64)), "a stride is 0, not positive"),
        (np.zeros((64, 128), np.float16)[:, ::2], "its stride along k is 2, not 1"),
        (np.zeros(64 * 64 + 4, np.float16)[4:].reshape(64, 64), "its address is no multiple of 16 bytes"),
    ):
        with pytest.raises(cute_py.UnsupportedProblemError, match=f"tn_f16.*TMA cannot follow [AB]: {rule}"):
            cute_py.gemm(whole, B, kernel="gemm_sm90", device="emulator")
    many = np.zeros((8,) * 6, np.float16)
    with pytest.raises(
        cute_py.UnsupportedProblemError, match=r"cannot follow B: it has 6 modes, of which 5 are possible"
    ):
        cute_py.contract(
            "abcdek,nk->eadbcn", many[::2, ::2, ::2, ::2, ::2], whole[:, :8], kernel="gemm_sm90", device="emulator"
        )


def test_other_generations_lack_its_instructions() -> None:
    A = np.zeros((256, 256), np.float16)
    for capability, has in (((8, 0), False), ((9, 0), True), ((10, 0), False), ((12, 0), False)):
        explanation = cute_py.gemm.explain(A, A, device=cute_py.Device("some", compute_capability=capability))
        assert any("gemm_sm90" in candidate.kernel for candidate in explanation.candidates) == has


@pytest.mark.parametrize("order", ["F", "C"])
def test_clusters_share_k(order: str) -> None:
    """Split-K in one cluster or in several, the last splits of which are empty, gives what one split gives."""
    variant = cute_py.kernels()["gemm_sm90_tn_f16_64x64"]
    A, B, expected = operands(variant, variant.tile[0], variant.tile[1], 35 * variant.tile[2])
    bias = np.arange(expected.shape[0], dtype=np.float32)[:, None]
    epilogue = cute_py.Epilogue(bias=bias, activation="relu")
    C = np.full(expected.shape, np.nan, np.float32, order=order)
    found = set()
    for candidate in cute_py.gemm.explain(A, B, C, device="emulator").candidates:
        if candidate.kernel != variant.name or candidate.packed or candidate.transposed:
            continue
        for _ in range(2):
            C[...] = 1
            cute_py.gemm(A, B, C, beta=2, epilogue=epilogue, config=candidate, device="emulator")
            np.testing.assert_array_equal(C, np.maximum(expected + 2 + bias, 0))
        C[...] = np.nan
        cute_py.gemm(A, B, C, config=candidate, device="emulator")
        np.testing.assert_array_equal(C, expected)
        found.add(candidate.split_k)
    assert found == {1, 2, 4, 8, 16}


@pytest.mark.parametrize("order", ["F", "C"])
@pytest.mark.parametrize("shape", [(128, 72), (60, 250)])
def test_pairs_share_k(shape: tuple[int, int], order: str) -> None:
    """CTAs of adjacent tiles share loads (multicast) where lines begin anywhere, also with split-K."""
    generator = np.random.default_rng(0)
    k = 64 * 35 + 8
    A, B = (generator.integers(-3, 4, (rows, k)).astype(np.float16) for rows in shape)
    expected = A.astype(np.float64) @ B.T.astype(np.float64)
    C = np.full(shape, np.nan, np.float32, order=order)
    found = set()
    for candidate in cute_py.gemm.explain(A, B, C, device="emulator").candidates:
        if candidate.kernel != "gemm_sm90_tn_f16_64x64" or not is_multicast_with_split_k(candidate) or candidate.packed:
            continue
        assert "clusters of" in str(candidate)
        C[...] = 1
        random = EmulatorOptions("random", seed=candidate.split_k)
        cute_py.gemm(A, B, C, beta=2, config=candidate, device="emulator", emulator=random)
        np.testing.assert_array_equal(C, expected + 2)
        found.add(candidate.split_k)
    assert found >= {2, 4}


ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "none": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


@pytest.mark.parametrize("device", ["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("bias", "activation", "residual", "beta", "scale"),
    [
        ((1, 136), "gelu_tanh", None, 0, 1),
        ((72, 1), "silu", "float16", 0, 2),
        ((72, 136), "sigmoid", None, 1, 1),
        ((1, 1), "gelu", "float32", -2, 0.5),
        (None, "relu", "bfloat16", 0, 1),
        (None, "none", "float16", 3, 1),
    ],
)
def test_the_whole_epilogue_in_registers(
    bias: tuple[int, int] | None,
    activation: str,
    residual: str | None,
    beta: float,
    scale: float,
    order: str,
    device: str,
    rng: np.random.Generator,
) -> None:
    """D leaves in boxes, after everything that an epilogue may ask for."""
    A, B = (rng.standard_normal((rows, 200)).astype(np.float16) for rows in (72, 136))
    memory = np.full((72 + 8, 136 + 8) if order == "C" else (136 + 8, 72 + 8), 7, np.float16)
    D = memory[:72, :136] if order == "C" else memory[:136, :72].T
    C = rng.standard_normal(D.shape).astype(np.float16)
    D[...] = C
    epilogue = cute_py.Epilogue(
        bias=None if bias is None else rng.standard_normal(bias).astype(np.float32),
        activation=activation,
        residual=None if residual is None else rng.standard_normal(D.shape).astype(numpy_type(residual)),
        scale=scale,
    )
    wanted = 0.25 * (A.astype(float) @ B.astype(float).T) + beta * C.astype(float)
    wanted = ACTIVATIONS[activation](wanted + (0 if bias is None else epilogue.bias)) * scale
    wanted += 0 if residual is None else epilogue.residual.astype(float)
    cute_py.gemm(A, B, D, alpha=0.25, beta=beta, epilogue=epilogue, kernel="gemm_sm90", device=device)
    assert (np.abs(D - wanted) <= 2.0**-10 * (np.abs(wanted) + 0.01)).all()
    D[...] = 7
    assert (memory == 7).all()  # nothing else was written


# ---- On a GPU


def gpu_operand(torch: Any, dtype: Any, rows: int, columns: int, first_unit: bool, bound: int) -> Any:
    lines, length = (columns, rows) if first_unit else (rows, columns)
    memory = torch.randint(-bound, bound + 1, (lines, -(-length // 16) * 16 + 16), device="cuda").float().to(dtype)
    return memory[:, :length].t() if first_unit else memory[:, :length]


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("variant", "result"),
    [(v, result) for v in VARIANTS for result in result_types(v)[:2]],
    ids=lambda v: getattr(v, "name", v),
)
def test_every_extent_up_to_two_tiles(variant: Kernel, result: str) -> None:
    torch = pytest.importorskip("torch")
    dtype = getattr(torch, variant.factors[0])
    out_dtype = getattr(torch, result)
    m, n, k = variant.tile
    some = (m + 24, n - 24, 2 * k + 16)
    wrong = torch.zeros((), dtype=torch.int64, device="cuda")
    for mode, tile in enumerate((m, n, k)):
        for extent in range(1, 2 * tile + 2):
            extents = [*some]
            extents[mode] = extent
            A = gpu_operand(torch, dtype, extents[0], extents[2], variant.layout[0] == "n", 3)
            B = gpu_operand(torch, dtype, extents[1], extents[2], variant.layout[1] == "t", 2)
            # Lines of the result along m, or along n.
            along_m = extent % 2 == 0
            lines, length = (extents[1], extents[0]) if along_m else (extents[0], extents[1])
            memory = torch.full((lines + 1, -(-length // 8) * 8 + 8), 7, device="cuda", dtype=out_dtype)
            C = memory[:lines, :length].t() if along_m else memory[:lines, :length]
            cute_py.gemm(A, B, C, kernel=variant.name, compute=variant.compute)
            wrong += ((A.float().double() @ B.float().double().t()).to(out_dtype) != C).sum()
            C[...] = 7
            wrong += (memory != 7).sum()  # nothing else was written
    assert wrong.item() == 0


@pytest.mark.gpu
@pytest.mark.parametrize("tiles", [3, 2])  # along M: two may be a pair
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.name)
def test_clusters_share_k_on_a_gpu(variant: Kernel, tiles: int) -> None:
    torch = pytest.importorskip("torch")
    dtype = getattr(torch, variant.factors[0])
    m, n, k = variant.tile
    m, n, k = (2 * m + 8 if tiles == 3 else 2 * m - 8), n - 24, 67 * k + 16
    A = gpu_operand(torch, dtype, m, k, variant.layout[0] == "n", 1)
    B = gpu_operand(torch, dtype, n, k, variant.layout[1] == "t", 1)
    expected = A.float().double() @ B.float().double().t()
    for C in (torch.zeros(m, n, device="cuda"), torch.zeros(n, m, device="cuda").t()):
        explanation = cute_py.gemm.explain(A, B, C, kernel=variant.name, compute=variant.compute)
        if explanation.chosen != variant.name:
            continue  # made for the other order
        config = explanation.candidates[0]
        for parts in (2, 4, 6, 8, 12, 14, 16, 24, 28, 32, 64):
            for _ in range(3):
                C[...] = 1
                cute_py.gemm(
                    A,
                    B,
                    C,
                    beta=2,
                    compute=variant.compute,
                    config=config._replace(split_k=parts, cluster=None, raster=None),
                )
                assert torch.equal(C.double(), expected + 2), parts


@pytest.mark.gpu
def test_pairs_share_k_on_a_gpu() -> None:
    """The CTAs of two tiles share what they copy, and the results leave in vectors, or element by element."""
    torch = pytest.importorskip("torch")
    found = set()
    for m, n, k in ((250, 130, 2056), (130, 200, 2056), (60, 384, 4104)):
        A = gpu_operand(torch, torch.float16, m, k, False, 1)
        B = gpu_operand(torch, torch.float16, n, k, False, 1)
        expected = A.double() @ B.double().t()
        for C in (torch.zeros(m, n, device="cuda"), torch.zeros(n, m, device="cuda").t()):
            for candidate in cute_py.gemm.explain(A, B, C).candidates:
                if not is_multicast_with_split_k(candidate) or candidate.packed:
                    continue
                for beta in (0, 2):
                    C[...] = 1
                    cute_py.gemm(A, B, C, beta=beta, config=candidate)
                    assert torch.equal(C.double(), expected + beta), candidate
                found.add(candidate.kernel.rpartition("_")[2])
    assert found == {"64x64", "64x128", "128x128", "128x192", "128x256"}


@pytest.mark.gpu
def test_each_product_reads_what_the_one_before_wrote() -> None:
    """A kernel may begin while the one before runs, but for its arrays it waits."""
    torch = pytest.importorskip("torch")
    for n in (64, 200, 1000, 2048):
        shift = torch.roll(torch.eye(n, device="cuda"), 1, 0).half()
        first = torch.randint(-8, 9, (n, n), device="cuda").half()
        at = [first.clone(), torch.empty_like(first)]
        for i in range(400):
            cute_py.gemm(shift, at[i % 2].t(), at[1 - i % 2], kernel="gemm_sm90")
        assert torch.equal(at[0], torch.roll(first, 400, 0))


@pytest.mark.gpu
def test_a_thousand_runs_give_the_same_bits() -> None:
    torch = pytest.importorskip("torch")
    for m, n, k in ((256, 256, 8192), (1000, 1000, 1000), (4096, 512, 1024)):
        A, B = (torch.randn(rows, k, device="cuda").bfloat16() for rows in (m, n))
        first = cute_py.gemm(A, B)
        C = torch.empty_like(first)
        different = torch.zeros((), dtype=torch.int64, device="cuda")
        for _ in range(1000):
            cute_py.gemm(A, B, C)
            different += (first != C).sum()
        assert different.item() == 0


def test_more_tiles_than_32_bits_count_are_refused_and_not_divided_by() -> None:
    memory = np.zeros((1 << 25) + 64, np.float16)  # nobody touches it
    A = np.lib.stride_tricks.as_strided(memory, (4_194_240, 64), (16, 2), writeable=False)
    with pytest.raises(UnsupportedProblemError, match="the result has more tiles than 32 bits count"):
        cute_py.gemm.plan(A, A, device="emulator", kernel="gemm_sm90_tn_f16_64x64")
