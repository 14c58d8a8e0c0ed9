"""Every kernel variant of the registry, on every target: right for every extent, stride, alignment, alpha and beta."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import cute_py
from cute_py import Kernel
from cute_py.testing import check_gemm, error_ratio, gemm_reference, strided_array
from problems import (
    FUNCTIONS,
    PRODUCTS,
    edge_extents,
    function_of,
    is_integer,
    make_case,
    takes_all_strides,
    types_of,
    variants_on_targets,
    within,
)

on_every_variant = pytest.mark.parametrize(("variant", "target"), variants_on_targets())


def layout_of(variant: Kernel) -> str:
    return "tn" if variant.layout == "any" else variant.layout


@on_every_variant
def test_integers_multiply_exactly(variant: Kernel, target: str, rng: np.random.Generator) -> None:
    for extents in edge_extents(variant):
        case = make_case(rng, extents, layout_of(variant), exact=True, variant=variant)
        C = case.run(target, function_of(variant, layout_of(variant)), variant)
        np.testing.assert_array_equal(C, gemm_reference(case.A, case.B), err_msg=str(extents))


@on_every_variant
def test_every_element_is_within_its_bound(variant: Kernel, target: str, rng: np.random.Generator) -> None:
    m, n, k = variant.tile
    extents = within(variant, (m + 3, n + 5, 5 * min(k, 16) + 3) if variant.predicated else (m, 2 * n, 3 * k))
    for alpha, beta in itertools.product((1.0, -0.7), (0.0, 1.0, 1.3)):
        case = make_case(rng, extents, layout_of(variant), alpha=alpha, beta=beta, variant=variant)
        C = case.run(target, variant=variant)
        check_gemm(C, case.A, case.B, case.before, alpha=alpha, beta=beta, compute=variant.compute)
        if is_integer(variant) or variant.compute == "tfloat32":
            continue
        if "float8" in variant.factors[0] and target != "cpu":  # tensor cores keep 13 bits of a sum
            continue

        # The statistical gate: errors do not all point one way.
        a, b = (np.linalg.norm(x.astype(np.complex128)) for x in (case.A, case.B))
        reference = gemm_reference(case.A, case.B, case.before, alpha=alpha, beta=beta)
        scale = np.sqrt(extents[2] + 2) * abs(alpha) * a * b
        if beta != 0:
            scale += 2 * abs(beta) * np.linalg.norm(case.before)
        assert np.linalg.norm(C - reference) / scale < 3 * np.finfo(C.dtype).eps


@on_every_variant
def test_padded_leading_dimensions(variant: Kernel, target: str, rng: np.random.Generator) -> None:
    whole = (variant.tile[0], variant.tile[1], 2 * variant.tile[2])
    extents = within(variant, (33, 20, 19) if variant.predicated else whole)
    pads = (3, 5, 1) if takes_all_strides(variant) else (16, 32, 48)
    case = make_case(rng, extents, layout_of(variant), exact=True, beta=-1.0, pads=pads, variant=variant)
    C = case.run(target, function_of(variant, layout_of(variant)), variant)
    np.testing.assert_array_equal(C, gemm_reference(case.A, case.B, case.before, beta=-1.0))


@on_every_variant
def test_alpha_and_beta_decide_what_is_read(variant: Kernel, target: str, rng: np.random.Generator) -> None:
    m, n, k = variant.tile if not variant.predicated else within(variant, (20, 21, 17))
    nan = lambda shape, value: np.full(shape, 77 if is_integer(variant) else value)  # noqa: E731

    # beta == 0: C is not read, so its NaN vanish (make_case fills such a C with NaN)
    case = make_case(rng, (m, n, k), layout_of(variant), variant=variant)
    assert np.isfinite(case.run(target, variant=variant)).all()

    # alpha == 0: A and B are not read
    case = make_case(rng, (m, n, k), layout_of(variant), exact=True, alpha=0.0, beta=2.0, variant=variant)
    case.A[...], case.B[...] = nan((m, k), np.nan), nan((n, k), np.nan)
    np.testing.assert_array_equal(case.run(target, variant=variant), 2 * case.before)

    # alpha == 0 and beta == 0
    case = make_case(rng, (m, n, k), layout_of(variant), alpha=0.0, variant=variant)
    np.testing.assert_array_equal(case.run(target, variant=variant), 0)

    # K == 0: C = beta * C, whatever alpha is
    case = make_case(rng, (m, n, 0), layout_of(variant), exact=True, alpha=np.nan, beta=0.5, variant=variant)
    expected = 0.5 * case.before
    np.testing.assert_array_equal(
        case.run(target, variant=variant), np.rint(expected) if is_integer(variant) else expected
    )

    if is_integer(variant):
        return
    # alpha NaN and infinity propagate
    case = make_case(rng, (m, n, k), layout_of(variant), alpha=np.nan, variant=variant)
    assert np.isnan(case.run(target, variant=variant)).all()


@pytest.mark.parametrize(("variant", "target"), [v for v in variants_on_targets() if not is_integer(v.values[0])])
def test_nan_and_infinity_reach_their_row_or_column_only(
    variant: Kernel, target: str, rng: np.random.Generator
) -> None:
    m, n, k = variant.tile if not variant.predicated else within(variant, (130, 9, 17))
    for i, p in ((0, 0), (m - 1, k - 1), (m // 2, k // 2)):
        case = make_case(rng, (m, n, k), layout_of(variant), exact=True, variant=variant)
        case.A[i, p] = np.nan
        case.B[...] = np.abs(case.B) + 1
        C = case.run(target, variant=variant)
        assert np.isnan(C[i]).all()
        assert np.isfinite(np.delete(C, i, 0)).all()

        if "e4m3" in variant.name:
            continue  # a type without infinity
        case = make_case(rng, (m, n, k), layout_of(variant), exact=True, variant=variant)
        j = min(i, n - 1)
        case.B[j, p] = -np.inf
        case.A[...] = np.abs(case.A) + 1
        C = case.run(target, variant=variant)
        assert np.isinf(C[:, j]).all() or C.dtype.kind == "c"
        assert not np.isfinite(C[:, j]).any()
        assert np.isfinite(np.delete(C, j, 1)).all()


@pytest.mark.parametrize(("variant", "target"), [v for v in variants_on_targets() if takes_all_strides(v.values[0])])
def test_predicated_variants_take_any_layout_stride_and_pointer(
    variant: Kernel, target: str, rng: np.random.Generator, pytestconfig: pytest.Config
) -> None:
    m, n, k = within(variant, (37, 29, 23))
    strides = {
        "m-major": lambda r, c: (1, r),
        "k-major": lambda r, c: (c, 1),
        "both": lambda r, c: (3, 3 * r + 7),
        "negative": lambda r, c: (-1, r),
        "reversed": lambda r, c: (-c, -1),
        "broadcast": lambda r, c: (0, 1),
        "hankel": lambda r, c: (1, 1),
    }
    factor, result = types_of(variant)
    integers = rng.integers(-8, 9, 100).astype(factor)
    pairs = list(zip(itertools.product(strides, strides), itertools.cycle((0, 1, 2, 3)), strict=False))
    if not pytestconfig.getoption("all_cases"):
        pairs = random.Random(variant.name).sample(pairs, len(pairs) // 3)
    for (a_kind, b_kind), offset in pairs:

        def operand(kind: str, rows: int, columns: int, offset: int = offset) -> np.ndarray:
            layout = strides[kind](rows, columns)
            array, _ = strided_array(np.zeros((rows, columns)), layout, offset=offset, dtype=factor)
            if kind in ("broadcast", "hankel"):
                span = rows + columns - 1 if kind == "hankel" else columns
                np.lib.stride_tricks.as_strided(array, (span,), (factor.itemsize,))[:] = integers[:span]
            else:
                array[...] = rng.integers(-8, 9, (rows, columns))
            return array

        A, B = operand(a_kind, m, k), operand(b_kind, n, k)
        for c_strides in ((1, m), (n, 1), (-2, 2 * m + 1), (n + 3, -1)):
            C, check = strided_array(np.full((m, n), 99), c_strides, offset=offset, dtype=result)
            cute_py.gemm(A, B, C, kernel=variant.name, device=target, compute=variant.compute)
            check()
            np.testing.assert_array_equal(C, gemm_reference(A, B), err_msg=f"{a_kind} {b_kind} {c_strides}")


@on_every_variant
def test_the_same_call_gives_the_same_bits(variant: Kernel, target: str, rng: np.random.Generator) -> None:
    m, n, k = variant.tile if not variant.predicated else within(variant, (65, 66, 67))
    case = make_case(rng, (m, n, 4 * k), layout_of(variant), variant=variant)
    first = case.run(target, variant=variant).copy()
    np.testing.assert_array_equal(case.run(target, variant=variant), first)


@pytest.mark.parametrize("layout", FUNCTIONS)
@pytest.mark.parametrize("target", ["cpu", "emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_auto_is_right_for_every_extent(layout: str, target: str, rng: np.random.Generator) -> None:
    extents = (0, 1, 5, 31, 64, 129)
    for m, n, k in itertools.product(extents, extents, (0, 1, 7, 40)):
        case = make_case(rng, (m, n, k), layout, exact=True)
        C = case.run(target, FUNCTIONS[layout])
        np.testing.assert_array_equal(C, gemm_reference(case.A, case.B), err_msg=str((m, n, k)))


@pytest.mark.gpu
@pytest.mark.parametrize("variant", [v for v in PRODUCTS if "emulator" in v.targets], ids=lambda v: v.name)
def test_the_emulator_gives_the_bits_of_the_gpu(variant: Kernel, rng: np.random.Generator) -> None:
    m, n, k = variant.tile if not variant.predicated else within(variant, (131, 35, 50))
    case = make_case(rng, (m, n, 3 * k), layout_of(variant), alpha=1.7, beta=-0.3, variant=variant)
    on_gpu = case.run("cuda", variant=variant).copy()
    case.C[...] = case.before
    in_emulator = case.run("emulator", variant=variant)
    if variant.factors[-1].startswith("float8"):
        check_gemm(on_gpu, case.A, case.B, case.before, alpha=case.alpha, beta=case.beta, compute=variant.compute)
        return
    on_tensor_cores = "sgemm" not in variant.kernel and variant.factors[-1] in ("float16", "bfloat16")
    if on_tensor_cores or variant.compute == "tfloat32":
        # How a tensor core rounds the sums within an instruction is its own affair.
        np.testing.assert_allclose(in_emulator, on_gpu, rtol=1e-4, atol=1e-4)
    else:
        np.testing.assert_array_equal(in_emulator, on_gpu)


def test_error_ratio_notices_one_wrong_element(rng: np.random.Generator) -> None:
    A, B = rng.standard_normal((20, 30)), rng.standard_normal((10, 30))
    C = gemm_reference(A, B).astype(np.float32)
    assert error_ratio(C, A, B) <= 1
    for wrong in (C[3, 4] * (1 + 1e-4), np.nan, np.inf):
        broken = C.copy()
        broken[3, 4] = wrong
        assert error_ratio(broken, A, B) > 1
        with pytest.raises(AssertionError, match="times its bound"):
            check_gemm(broken, A, B)


def test_error_ratio_is_fair(rng: np.random.Generator) -> None:
    """Right results of unusual operands are right: overflow, underflow, scalars that float32 rounds to 0, NaN alpha at K = 0."""
    big, tiny, nan = (np.full((2, 2), value, np.float32) for value in (1e30, 1e-25, np.nan))
    one, none = np.eye(2, dtype=np.float32), np.zeros((2, 0), np.float32)
    assert error_ratio(cute_py.gemm(big, big), big, big) <= 1
    assert error_ratio(cute_py.gemm(tiny, tiny, alpha=1e38), tiny, tiny, alpha=1e38) <= 1
    assert error_ratio(cute_py.gemm(nan, nan, alpha=1e-50), nan, nan, alpha=1e-50) <= 1
    assert error_ratio(cute_py.gemm(one, one, nan.copy(), beta=1e-50), one, one, nan, beta=1e-50) <= 1
    assert error_ratio(cute_py.gemm(none, none, alpha=np.nan), none, none, alpha=np.nan) <= 1


@pytest.mark.parametrize(
    "kernel", sorted({v.kernel for v in PRODUCTS if "float32" in v.factors and v.compute == "float32"})
)
def test_a_large_c_is_not_rounded_with_every_block_of_k(kernel: str) -> None:
    k = 100 * 384
    A, B = np.full((1, k), 1 / 768, np.float32), np.ones((1, k), np.float32)
    before = np.full((1, 1), 2.0**24, np.float32)
    device = "cpu" if kernel in ("cpu", "cpu_loops", "cpu_small", "reference") else "emulator"
    C = cute_py.gemm(A, B, before.copy(), beta=1, kernel=kernel, device=device)
    check_gemm(C, A, B, before, beta=1)


def test_strided_array_notices_a_write_outside(rng: np.random.Generator) -> None:
    for strides in ((1, 7), (9, 1), (-1, 8), (3, 20)):
        array, check = strided_array(rng.standard_normal((5, 6)), strides)
        check()
        np.lib.stride_tricks.as_strided(array, (6, 6), array.strides)[5, 5] = 0  # one row too many
        with pytest.raises(AssertionError, match="outside the array"):
            check()
