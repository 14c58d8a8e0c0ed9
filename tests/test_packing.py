"""Factors and results that are brought into dense arrays, and back, where they lie badly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py import Candidate
from problems import PRODUCTS, draw

DEVICES = ["emulator", pytest.param("cuda", marks=pytest.mark.gpu)]

# Kernels that read vectors: of m- and n-major factors, whose lines may have gaps, and of k-major int8, where gaps are 0.
FOR_PACKED = [
    name
    for name in ("sgemm_sm80_nt_f32_64x64", "gemm_sm80_nt_f16_64x64", "gemm_sm80_nt_f64_64x64", "gemm_sm80_tn_i8_64x64")
    if name in cute_py.kernels()
]


def forced(kernel: str, packed: str, transposed: bool = False, parts: int = 1) -> Candidate:
    return Candidate(kernel, transposed, parts, 0, 0.0, "", packed)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("kernel", FOR_PACKED)
def test_packed_factors_multiply_exactly(kernel: str, transposed: bool, device: str, rng: np.random.Generator) -> None:
    """Of a K that ends with no vector, in lines that begin anywhere: what lies behind a line must not count."""
    dtype = np.dtype(cute_py.kernels()[kernel].factors[0])
    A, B = draw(rng, (71, 133), dtype, exact=True), draw(rng, (67, 133), dtype, exact=True)
    expected = (A.astype("f8") @ B.astype("f8").T).astype(np.int64)
    result = cute_py.gemm(A, B, device=device, config=forced(kernel, "AB", transposed))
    np.testing.assert_array_equal(result, expected)
    parted = cute_py.gemm(A[:, :129], B[:, :129], device=device, config=forced(kernel, "AB", transposed))
    np.testing.assert_array_equal(parted, A[:, :129].astype("f8") @ B[:, :129].astype("f8").T)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("packed", ["C", "AC", "BC", "ABC", "AB", "A", "B"])
def test_everything_may_be_packed(packed: str, device: str, rng: np.random.Generator) -> None:
    """Of a batch whose unit stride is its own; C is read where it lies."""
    A, B = draw(rng, (9, 7, 12), exact=True), draw(rng, (10, 7, 12), exact=True)
    C = draw(rng, (9, 10, 12), exact=True)
    expected = np.einsum("mkl,nkl->mnl", A, B) - 2 * C
    kernels = [v.name for v in PRODUCTS if v.kernel == "sgemm_sm80" and v.compute == "float32" and v.modes > 1]
    found = 0
    for kernel in kernels:
        for transposed in (False, True):
            result = C.copy()
            try:
                cute_py.gemm(A, B, result, beta=-2, device=device, config=forced(kernel, packed, transposed))
            except cute_py.UnsupportedProblemError:
                continue  # these do not lie in vectors along what it reads
            found += 1
            np.testing.assert_array_equal(result, expected)
    assert found > 0 or packed in ("A", "B", "AC", "BC")


def test_it_is_chosen_where_it_is_faster() -> None:
    def steps(A: np.ndarray, B: np.ndarray) -> list[str]:
        explanation = cute_py.gemm.explain(A, B, device="emulator")
        assert sum(step.us for step in explanation.steps) == pytest.approx(explanation.candidates[0].us)
        return [step.what for step in explanation.steps]

    dense, ragged = np.empty((2048, 2048), np.float16), np.empty((2047, 2045), np.float16)
    assert steps(dense, dense) == ["multiply"]
    assert steps(ragged, ragged) == ["pack A", "pack B", "multiply"]
    assert steps(ragged[:50, :50], ragged[:50, :50]) == ["multiply"]
    batch = np.empty((256, 8, 300), np.float32)
    assert steps(batch, batch)[-1] == "unpack C"
    together = cute_py.gemm.explain(ragged, ragged, device="emulator", batch_invariant=True)
    assert [step.what for step in together.steps] == ["multiply"]
    named = cute_py.gemm.explain(ragged, ragged, kernel="gemm_sm80", device="emulator")
    assert [step.what for step in named.steps] == ["multiply"]


SETS = ["baseline", "avx2", "avx512", "avx512_vnni"]  # of instructions
MISSING = SETS[SETS.index(cute_py._core.host_isa()) + 1 :]
HOST = [
    v.name
    for v in cute_py.kernels().values()
    if v.kernel in ("cpu", "cpu_small", "cpu_loops")
    and v.compute == "float32"
    and "tf32" not in v.name
    and not any(isa in v.name for isa in MISSING)
]


@pytest.mark.parametrize("packed", ["", "A", "B", "AB", "AC", "BC", "ABC"])
def test_a_host_packs_what_lies_badly(packed: str, rng: np.random.Generator) -> None:
    """K of three modes that both factors have in other orders, one of them backward and one repeated."""
    A = np.broadcast_to(draw(rng, (7, 3, 1, 5), exact=True), (7, 3, 4, 5))[::-1]
    B = draw(rng, (3, 2, 4, 7), exact=True)[:, :, ::-1]
    expected = np.einsum("dcbe,cabd->ae", A, B)
    found = 0
    for kernel in HOST:
        for transposed in (False, True):
            try:
                result = cute_py.contract("dcbe,cabd->ae", A, B, config=forced(kernel, packed, transposed))
            except cute_py.UnsupportedProblemError:
                assert kernel.startswith("cpu_small"), kernel  # takes one mode in each group
                continue
            found += 1
            np.testing.assert_array_equal(result, expected)
    assert found >= 4


def test_a_host_packs_where_that_is_faster(rng: np.random.Generator) -> None:
    A, B = draw(rng, (38, 14, 33)), draw(rng, (14, 33, 38, 3))
    explanation = cute_py.contract.explain("dcb,cbda->a", A, B)
    assert {"pack A", "pack B"} & {step.what for step in explanation.steps}
    assert sum(step.us for step in explanation.steps) == pytest.approx(explanation.candidates[0].us)
    for options in ({"workspace": 0}, {"batch_invariant": True}, {"kernel": "cpu"}):
        alone = cute_py.contract.explain("dcb,cbda->a", A, B, **options)
        assert [step.what for step in alone.steps] == ["multiply"], options
    dense = draw(rng, (500, 300)), draw(rng, (5, 300))
    assert [step.what for step in cute_py.gemm.explain(*dense).steps] == ["multiply"]


@pytest.mark.parametrize("columns", [1, 5])
def test_a_host_packs_few_rows_however_many_the_other_factor_has(columns: int, rng: np.random.Generator) -> None:
    A, B = draw(rng, (36, 4, 10, columns)), draw(rng, (259, 36, 10, 4))
    assert "pack A" in [step.what for step in cute_py.contract.explain("bdce,abcd->ae", A, B).steps]
    expected = np.einsum("bdce,abcd->ae", A, B)
    np.testing.assert_allclose(cute_py.contract("bdce,abcd->ae", A, B), expected, rtol=1e-4, atol=1e-3)


def test_what_would_take_much_of_the_memory_is_not_packed() -> None:
    A = np.empty((2047, 2045), np.float16)
    for memory, packed in ((1 << 30, "AB"), (100 << 20, "")):
        device = cute_py.Device("some", memory_bytes=memory)
        assert cute_py.gemm.explain(A, A, device=device).candidates[0].packed == packed


def test_letters_of_nothing_are_refused(tmp_path: Path) -> None:
    A = np.ones((64, 64), np.float32)
    for letters in ("X", "BA", "AA"):
        with pytest.raises(cute_py.OperandError, match=f"packed is some of the letters 'ABC'.*'{letters}'"):
            cute_py.gemm(A, A, device="emulator", config=forced("sgemm_1_nt_f32", letters))
    entry = {
        "device": "d",
        "product": "p",
        "kernel": "k",
        "transposed": False,
        "split_k": 1,
        "cluster": None,
        "raster": None,
        "packed": "BA",
        "us": 1,
    }
    (tmp_path / "t").write_text(json.dumps({"cute_py_tuning": 2, "products": [entry]}))
    with pytest.raises(cute_py.OperandError, match="nothing is packed as 'BA'"):
        cute_py.load_tuning(tmp_path / "t")


def test_the_explanation_says_what_is_packed_and_what_it_takes() -> None:
    A = np.empty((2047, 2045), np.float16)
    explanation = cute_py.gemm.explain(A, A, device="emulator")
    assert explanation.candidates[0].packed == "AB"
    assert "A and B packed" in str(explanation)
    assert f"step 1: pack A, {2 * 2 * 2047 * 2045} bytes" in str(explanation)
    assert explanation.workspace_bytes >= 2 * 2 * 2048 * 2045
    assert [step.is_main for step in explanation.steps] == [False, False, True]


def test_what_was_tuned_keeps_what_is_packed(tmp_path: Path, rng: np.random.Generator) -> None:
    A, B = draw(rng, (70, 133), exact=True), draw(rng, (60, 133), exact=True)
    kernel = FOR_PACKED[0]
    explanation = cute_py.gemm.explain(A, B, device="emulator")
    path = tmp_path / "tuned.json"
    entry: dict[str, Any] = {"device": explanation.device, "product": explanation.product, "us": 1.0}
    entry |= {"kernel": kernel, "transposed": False, "split_k": 1, "cluster": [1, 1, 1], "raster": 0, "packed": "AB"}
    path.write_text(json.dumps({"cute_py_tuning": 2, "products": [entry]}))
    try:
        assert cute_py.load_tuning(path) == 1
        tuned = cute_py.gemm.explain(A, B, device="emulator")
        assert tuned.tuned
        assert (tuned.candidates[0].kernel, tuned.candidates[0].packed) == (kernel, "AB")
        np.testing.assert_array_equal(cute_py.gemm(A, B, device="emulator"), A @ B.T)
        cute_py.save_tuning(path)
        assert json.loads(path.read_text())["products"][0]["packed"] == "AB"
    finally:
        cute_py.forget_tuning()


@pytest.mark.parametrize("limit", [0, 255, 70_000, 3_000_000, 20_000_000, None])
def test_a_product_takes_no_more_memory_than_it_may(limit: int | None) -> None:
    """Packed factors, a packed result, split-K, and an operand that is summed first."""
    A = np.ones((515, 2049), np.float16)
    B = np.ones((2049, 515), np.float16).T
    short = np.ones((30, 4096), np.float32)
    cases = [
        (cute_py.gemm, (A, B)),
        (cute_py.gemm, (short, short)),
        (cute_py.contract, ("abx,cb->ac", np.ones((200, 50, 40), np.float32), np.ones((60, 50), np.float32))),
        (
            cute_py.contract,
            ("fbea,cdef->dabcf", np.ones((24, 16, 12, 8), np.float32), np.ones((9, 8, 12, 24), np.float32)),
        ),
    ]
    took = [
        product.explain(*args, device=cute_py.Device("H200"), workspace=limit).workspace_bytes
        for product, args in cases
    ]
    if limit is None:
        assert max(took) > 2_000_000
        assert min(took[:3]) > 0
    else:
        assert max(took) <= limit


def test_with_little_memory_results_are_the_same() -> None:
    rng = np.random.default_rng(5)
    A = rng.integers(-3, 4, (40, 50, 6)).astype(np.float32)
    B = rng.integers(-3, 4, (30, 50)).astype(np.float32)
    expected = np.einsum("abx,cb->ac", A, B)
    for device in ("cpu", "emulator"):
        for limit in (0, 10**30):
            assert (cute_py.contract("abx,cb->ac", A, B, device=device, workspace=limit) == expected).all()
    plan = cute_py.contract.plan("abx,cb->ac", A, B, device="emulator", workspace=0)
    assert plan.workspace_bytes == 0
    assert (plan(A, B) == expected).all()
    assert (cute_py.einsum("abx,cb,cd->ad", A, B, B, workspace=0) == np.einsum("abx,cb,cd->ad", A, B, B)).all()


@pytest.mark.parametrize("layout", ["nt", "tn"])
@pytest.mark.parametrize("kernel", ["gemm_sm80_tn_tf32_64x64", "gemm_sm90_tn_tf32_64x64", "gemm_sm90_nn_tf32_64x64"])
def test_what_lies_between_packed_lines_does_not_count(kernel: str, layout: str, rng: np.random.Generator) -> None:
    """Some kernels multiply it, and it is cleared for them; TMA does not read it."""
    if kernel not in cute_py.kernels():
        pytest.skip("this build does not have it")
    A = rng.integers(-3, 4, (68, 1003)).astype(np.float32)
    B = rng.integers(-3, 4, (67, 1003)).astype(np.float32)
    if layout == "nt":
        A, B = np.asfortranarray(A), np.asfortranarray(B)
    C = np.zeros((68, 67), np.float32)
    candidates = cute_py.gemm.explain(A, B, C, compute="tfloat32", device="emulator").candidates
    chosen = [candidate for candidate in candidates if candidate.kernel == kernel and candidate.packed]
    assert chosen or ("_nn_" in kernel and layout == "tn")
    for candidate in chosen:
        plan = cute_py.gemm.plan(A, B, C, compute="tfloat32", device="emulator", config=candidate)
        C[:] = np.nan
        plan(A, B, C, workspace=np.full(plan.workspace_bytes, 255, np.uint8))
        np.testing.assert_array_equal(C, A @ B.T)


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "1 GB", np.float32(3), np.zeros(8)])
def test_a_limit_that_is_no_number_of_bytes(wrong: Any) -> None:
    A = np.ones((3, 4), np.float32)
    with pytest.raises(cute_py.OperandError, match="workspace is the most bytes"):
        cute_py.gemm(A, A, workspace=wrong)


def test_a_config_that_takes_more_memory_than_it_may_names_the_limit() -> None:
    A = np.ones((64, 8192), np.float32)
    split = next(x for x in cute_py.gemm.explain(A, A, device="emulator").candidates if x.split_k > 1)
    with pytest.raises(cute_py.UnsupportedProblemError, match="a larger workspace than 10 bytes"):
        cute_py.gemm(A, A, device="emulator", config=split, workspace=10)


def test_rows_in_short_runs_are_packed(rng: np.random.Generator) -> None:
    """C has c and b side by side, 6 times 71 elements that fill no vectors, and then a, far away; or a single one of 5."""
    device = cute_py.Device.preset("H200")
    for subscripts, extents in (
        ("cgafb,egdf->aedbc", {"a": 24, "b": 71, "c": 6, "d": 112, "e": 22, "f": 13, "g": 428}),
        ("cbgah,ghedf->abdfce", {"a": 58, "b": 12, "c": 12, "d": 6, "e": 5, "f": 67, "g": 6, "h": 281}),
    ):
        arrays = [
            np.lib.stride_tricks.as_strided(
                np.zeros(1, np.float16), shape, [2 * int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
            )
            for shape in ([extents[i] for i in part] for part in subscripts.partition("->")[0].split(","))
        ]
        explanation = cute_py.contract.explain(subscripts, *arrays, device=device)
        assert explanation.candidates[0].packed == "ABC"
        assert "sm90" in explanation.chosen
    A, B = draw(rng, (6, 9, 3, 5, 7), np.float16, exact=True), draw(rng, (4, 9, 11, 5), np.float16, exact=True)
    expected = np.einsum("cgafb,egdf->aedbc", A.astype("f4"), B.astype("f4"))
    kernels = [v.name for v in cute_py.kernels().values() if v.kernel == "gemm_sm90" and "f16" in v.name.split("_")]
    computed = 0
    for kernel in kernels:
        for packed in ("AB", "ABC"):
            try:
                config = forced(kernel, packed)
                result = cute_py.contract(
                    "cgafb,egdf->aedbc", A, B, device="emulator", config=config, out_dtype="float32"
                )
            except cute_py.UnsupportedProblemError:
                continue
            computed += 1
            np.testing.assert_array_equal(result, expected)
    assert computed >= 2 or not kernels
