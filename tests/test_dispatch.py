"""The choice of a kernel: data in, a choice or reasons out, no GPU needed."""

from __future__ import annotations

import numpy as np
import pytest

import cute_py
from cute_py.testing import runs_here
from problems import EMULATED, FUNCTIONS, LAYOUTS, PRODUCTS, draw, takes_all_strides, types_of, within


def operands(m: int, n: int, k: int, layout: str) -> tuple[np.ndarray, np.ndarray]:
    A = np.zeros((m, k), np.float32, order="F" if layout[0] == "n" else "C")
    B = np.zeros((n, k), np.float32, order="F" if layout[1] == "t" else "C")
    return A, B


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", ["sgemm_1", "sgemm_2", "sgemm_sm70"])
def test_whole_tiles_are_not_predicated_and_others_are(layout: str, kernel: str) -> None:
    explain = getattr(cute_py, FUNCTIONS[layout]).explain
    options = {"kernel": kernel, "device": "emulator"}
    A, B = operands(256, 128, 64, layout)
    assert explain(A, B, **options).chosen == f"{kernel}_{layout}_f32"
    for m, n, k in ((255, 128, 64), (256, 127, 64), (256, 128, 63)):
        A, B = operands(m, n, k, layout)
        explanation = explain(A, B, **options)
        assert explanation.chosen == f"{kernel}_{layout}_f32_predicated"
        reasons = dict(explanation.rejected)
        assert f"({m},{n},{k}) is no multiple of the tile" in reasons[f"{kernel}_{layout}_f32"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_matrices_of_whole_tiles_take_a_kernel_made_for_them(layout: str) -> None:
    A, B = (
        np.empty(x.shape, x.dtype, order="F" if x.flags.f_contiguous else "C")
        for x in operands(4096, 4096, 4096, layout)
    )
    names = {v.name for v in cute_py.kernels().values()}
    explanation = getattr(cute_py, FUNCTIONS[layout]).explain(A, B, device="emulator")
    if f"sgemm_sm80_{layout}_f32" in names:
        assert explanation.chosen in (f"sgemm_sm80_{layout}_f32", f"sgemm_sm70_{layout}_f32")
    assert [step.what for step in explanation.steps] == ["multiply"]


def test_the_least_estimate_is_chosen_and_of_two_alike_the_simpler() -> None:
    for m, n, k in ((128, 128, 16), (100, 100, 10), (1000, 20, 3000), (7, 9, 100000), (2000, 2100, 50)):
        A, B = operands(m, n, k, "tn")
        chosen, *others = cute_py.gemm.explain(A, B, device="emulator").candidates
        assert chosen.us <= 1.03 * min([chosen.us, *(other.us for other in others)])
        assert [other.us for other in others] == sorted(other.us for other in others)
        if chosen.split_k > 1:
            assert all(other.us > chosen.us / 1.03 for other in others if other.split_k == 1)


def test_unaligned_pointers_and_leading_dimensions_are_predicated() -> None:
    memory = np.zeros(128 * 128 + 1, np.float32)
    unaligned = np.lib.stride_tricks.as_strided(memory[1:], (128, 128), (4, 512))
    aligned = np.zeros((128, 128), np.float32, order="F")
    assert aligned.ctypes.data % 16 == 0
    explain = lambda A: cute_py.sgemm_nt.explain(A, aligned, kernel="sgemm_2", device="emulator")  # noqa: E731
    assert explain(aligned).chosen == "sgemm_2_nt_f32"
    if unaligned.ctypes.data % 16 != 0:
        assert explain(unaligned).chosen == "sgemm_2_nt_f32_predicated"
    padded = np.zeros((130, 128), np.float32, order="F")[:128]
    assert explain(padded).chosen == "sgemm_2_nt_f32_predicated"
    assert "A's pointer or leading dimension" in dict(explain(padded).rejected)["sgemm_2_nt_f32"]


def test_a_row_major_c_is_computed_transposed() -> None:
    A, B = operands(128, 256, 32, "tn")
    assert cute_py.gemm.explain(A, B, kernel="sgemm_sm80", device="emulator").transposed
    assert not cute_py.gemm.explain(A, B, np.zeros((128, 256), np.float32, order="F"), device="emulator").transposed


def test_a_c_with_too_many_columns_for_a_grid_is_computed_transposed() -> None:
    n = 128 * 65535 + 1
    A = np.zeros((2, 1), np.float32)
    B = np.broadcast_to(np.zeros((1, 1), np.float32), (n, 1))
    C = np.zeros((2, n), np.float32, order="F")
    explanation = cute_py.gemm.explain(A, B, C, kernel="sgemm_1", device="emulator")
    assert explanation.transposed
    assert cute_py.kernels()[explanation.chosen or ""].predicated
    few = cute_py.gemm.explain(A, B[1:], C[:, 1:], kernel="sgemm_1", device="emulator")
    assert not few.transposed


def test_as_many_modes_as_a_kernel_takes() -> None:
    """Ten modes of M are taken as they are; for runs of two arrays there would be no room."""
    A = np.zeros((16, *(2,) * 8, 16), np.float32)[..., None]
    order = "jbdfhacegi"
    C = np.zeros([A.shape["abcdefghij".index(x)] for x in order] + [1], np.float32)
    B = np.zeros((3, 1), np.float32)
    contraction = f"abcdefghijk,nk->n{order}"
    explanation = cute_py.contract.explain(contraction, A, B, device="emulator")
    assert len(explanation.main.modes["M"][0]) + len(explanation.main.modes["N"][0]) > 9
    assert explanation.chosen is not None
    assert C.size == A.size


@pytest.mark.gpu
def test_a_c_with_too_many_columns_for_a_grid_is_right() -> None:
    cupy = pytest.importorskip("cupy")
    n = 128 * 65535 + 1
    A, B = cupy.array([[1], [2]], cupy.float32), cupy.arange(n, dtype=cupy.float32)[:, None] % 1000
    C = cupy.full((2, n), cupy.nan, cupy.float32, order="F")
    cute_py.gemm(A, B, C)
    assert bool((C == A * B.T).all())


def test_the_cpu_gets_its_best_instruction_set() -> None:
    order = ["baseline", "avx2", "avx512", "avx512_vnni"]
    for kernel, extents in (("cpu_small", (3, 4, 5)), ("cpu", (700, 700, 700)), ("cpu_loops", (1, 1, 30000))):
        explanation = cute_py.gemm.explain(*operands(*extents, "tn"))
        chosen = cute_py.kernels()[explanation.chosen or ""]
        assert chosen.kernel == kernel
        assert explanation.target == "cpu"
        for variant in cute_py.kernels().values():
            wider = variant.kernel == kernel and order.index(variant.isa) > order.index(chosen.isa)
            if wider and variant.compute == chosen.compute:
                assert dict(explanation.rejected)[variant.name] == "the CPU lacks its instruction set"


def test_the_explanation_is_what_happens(rng: np.random.Generator) -> None:
    """Different kernels round differently: the bits tell which one ran."""
    A, B = (rng.standard_normal((130, 700)).astype(np.float32) for _ in range(2))
    chosen = cute_py.gemm.explain(A, B).chosen
    assert chosen is not None
    np.testing.assert_array_equal(cute_py.gemm(A, B), cute_py.gemm(A, B, kernel=chosen))
    assert not np.array_equal(cute_py.gemm(A, B), cute_py.gemm(A, B, kernel="reference"))


def test_the_explanation_reads_well() -> None:
    A, B = operands(100, 128, 16, "tn")
    text = str(cute_py.gemm.explain(A, B, kernel="sgemm_2", device="emulator"))
    assert text.splitlines()[:8] == [
        "gemm: M=100 N=128 K=16",
        "  A float32 (100,16):(16,1) cpu",
        "  B float32 (128,16):(16,1) cpu",
        "  C float32 (100,128):(128,1) new",
        "work: 409600 flops, 65792 bytes at least, 6.23 flops/byte",
        "target: emulator (emulator), because device='emulator'",
        "as: C^T = B A^T, the roles of A and B exchanged: what refuses A below means B, and M means N",
        "kernel: sgemm_2_tn_f32_predicated",
    ]


# Not of complex numbers: in an imaginary part, the two products change places.
@pytest.mark.parametrize(
    "kernel",
    [
        v.name
        for v in PRODUCTS
        if takes_all_strides(v) and not v.compute.startswith("complex") and ("cpu" in v.targets or v.name in EMULATED)
    ],
)
def test_a_transposed_product_has_the_same_bits(kernel: str, rng: np.random.Generator) -> None:
    variant = cute_py.kernels()[kernel]
    factor, result = types_of(variant)
    m, n, k = within(variant, (100, 97, 411))
    A, B = (draw(rng, (rows, k), factor) for rows in (m, n))
    before = draw(rng, (m, n), result)
    device = "cpu" if "cpu" in variant.targets else "emulator"
    if not runs_here(variant, device):
        pytest.skip("this processor lacks the instructions")
    results = [
        cute_py.gemm(
            A, B, before.copy(order=order), alpha=0.3, beta=0.7, kernel=kernel, device=device, compute=variant.compute
        )
        for order in "CF"
    ]
    np.testing.assert_array_equal(*results)
