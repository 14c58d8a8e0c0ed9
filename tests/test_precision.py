"""Emulated precision: bounds, rows that are not finite, bits that depend on nothing, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py.errors import OperandError, UnsupportedProblemError
from cute_py.machine.devices import ISAS
from cute_py.products.precision import bound_of
from cute_py.testing import check_contract, check_gemm, strided_array

# A way to compute, the type of A and B, and a kernel that multiplies the planes.
RESIDUES = "gemm_sm90_tn_i8_128x128_residues"
WAYS = {
    "fp16x3": ("fp16x3", "float32", "auto"),
    "bf16x6": ("bf16x6", "float32", "auto"),
    "reproducible float32": ("reproducible", "float32", "auto"),
    "reproducible complex64": ("reproducible", "complex64", "auto"),
    "reproducible float64": ("reproducible", "float64", "auto"),
    "fast_complex64": ("fast_complex64", "complex64", RESIDUES),
    "fast_complex128": ("fast_complex128", "complex128", RESIDUES),
    "fast_float64": ("fast_float64", "float64", RESIDUES),
}
KINDS = ("normal", "uniform", "eighth", "wide", "graded", "integers", "identity", "cancelling")
OF_DOUBLE = ("float64", "complex128")


def drawn(generator: np.random.Generator, kind: str, rows: int, k: int, dtype: str) -> np.ndarray:
    """Return a factor (rows,k): numbers of a kind, of each part of complex ones."""
    if dtype.startswith("complex"):
        parts = [drawn(generator, kind, rows, k, "float64") for _ in range(2)]
        return (parts[0] + 1j * parts[1]).astype(dtype)
    normal = generator.standard_normal((rows, k))
    if kind in ("uniform", "eighth"):
        normal = generator.random((rows, k)) * (1 if kind == "uniform" else 0.125)
    elif kind == "wide":
        normal *= np.exp(2 * generator.standard_normal((rows, k)))
    elif kind == "graded":
        normal *= 2.0 ** np.linspace(-60, 50, rows)[:, None]
    elif kind == "integers":
        normal = generator.integers(-8, 9, (rows, k)).astype(float)
    elif kind == "identity":
        normal = np.eye(rows, k)
    elif kind == "cancelling":
        normal[:, k // 2 :] = -normal[:, : k - k // 2] * (1 + 1e-4 * normal[:, : k - k // 2])
    return normal.astype(dtype)


# Of the ways, those of residues are computed by a CPU as well.
OF_CPU = [way for way in WAYS if not way.endswith("x3") and not way.endswith("x6")]
OF_HOST = [*[(way, "emulator") for way in WAYS], *[(way, "cpu") for way in OF_CPU]]
RUNS = [*OF_HOST, *[pytest.param(way, "cuda", marks=pytest.mark.gpu) for way in WAYS]]
of_all_runs = pytest.mark.parametrize(("way", "target"), RUNS)


def call_of(way: str, target: str) -> tuple[str, dict[str, Any]]:
    """Return the type of A and B of a way, and the options of a call that computes in it."""
    compute, dtype, kernel = WAYS[way]
    if target == "cpu" and kernel == RESIDUES:
        kernel = "cpu_residues"
    return dtype, {"compute": compute, "kernel": kernel, "device": target}


@pytest.fixture(params=["emulator", "cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(47)


@pytest.mark.parametrize("kind", KINDS)
@of_all_runs
def test_bounds_hold(generator: np.random.Generator, way: str, kind: str, target: str) -> None:
    dtype, options = call_of(way, target)
    for layout, (m, n, k) in {"tn": (40, 35, 130), "nt": (17, 50, 77), "nn": (33, 16, 64), "tt": (20, 30, 1)}.items():
        A, B = (drawn(generator, kind, rows, k, dtype) for rows in (m, n))
        A = np.asfortranarray(A) if layout[0] == "n" else A
        B = np.asfortranarray(B) if layout[1] == "t" else B
        C = np.full((m, n), np.nan, dtype)
        cute_py.gemm(A, B, C, **options)
        check_gemm(C, A, B, compute=options["compute"])
        if kind == "integers":
            assert np.array_equal(C, A.astype("complex128" if C.dtype.kind == "c" else "float64") @ B.T)


@of_all_runs
def test_one_row_one_column_one_step_and_none(generator: np.random.Generator, way: str, target: str) -> None:
    dtype, options = call_of(way, target)
    for m, n, k in ((1, 1, 1), (1, 1, 30), (1, 17, 5), (17, 1, 5), (2, 3, 1), (3, 16, 2)):
        A, B = (drawn(generator, "normal", rows, k, dtype) for rows in (m, n))
        for order in "CF":
            C = np.full((m, n), np.nan, dtype, order=order)
            cute_py.gemm(A, B, C, **options)
            check_gemm(C, A, B, compute=options["compute"])
    A, B = (drawn(generator, "normal", rows, 30, dtype) for rows in (5, 6))
    assert cute_py.gemm(A[:0], B, **options).shape == (0, 6)
    C = drawn(generator, "normal", 5, 6, dtype)
    assert not cute_py.gemm(A[:, :0], B[:, :0], **options).any()
    assert not cute_py.gemm(A * np.nan, B, alpha=0, **options).any()
    assert np.array_equal(cute_py.gemm(A[:, :0], B[:, :0], C.copy(), beta=2.0, **options), 2 * C)
    # Backward, and the same elements again and again; not aligned: refused with the reason.
    for x, y in ((A[::-1, ::-1], B[:, ::-1]), (np.broadcast_to(A[0], (5, 30)), np.broadcast_to(B[:, :1], (6, 30)))):
        check_gemm(cute_py.gemm(x, y, **options), x, y, compute=options["compute"])
    odd = np.ndarray(A.shape, dtype, buffer=bytearray(A.nbytes + 1), offset=1)
    if target != "emulator":  # a GPU has a copy of it
        odd[:] = A
        check_gemm(cute_py.gemm(odd, B, **options), odd, B, compute=options["compute"])
        return
    with pytest.raises(UnsupportedProblemError, match=r"step 'split A': A's pointer .* is not a multiple of"):
        cute_py.gemm(odd, B, **options)


@of_all_runs
def test_each_part_of_the_epilogue(generator: np.random.Generator, way: str, target: str) -> None:
    dtype, options = call_of(way, target)
    A, B, C = (drawn(generator, "normal", *shape, dtype) for shape in ((33, 70), (49, 70), (33, 49)))
    alpha = -0.5 + 0.25j if dtype.startswith("complex") else -0.5
    for of_c in (C, np.asfortranarray(C)):
        got = of_c.copy(order="K")
        cute_py.gemm(A, B, got, alpha=alpha, beta=2.0, **options)
        check_gemm(got, A, B, C, alpha=alpha, beta=2.0, compute=options["compute"])
    bias = drawn(generator, "normal", 1, 49, dtype)[0]
    epilogue = cute_py.Epilogue(bias=bias, residual=C, scale=3.0)
    got = cute_py.gemm(A, B, epilogue=epilogue, **options)
    wide = "complex128" if dtype.startswith("complex") else "float64"
    expected = 3.0 * (A.astype(wide) @ B.astype(wide).T + bias) + C
    assert np.abs(got - expected).max() < (1e-4 if dtype not in OF_DOUBLE else 1e-12)
    if dtype.startswith("complex"):
        got = cute_py.gemm(A, B, conj_a=True, **options)
        check_gemm(got, A.conj(), B, compute=options["compute"])


@of_all_runs
def test_what_is_not_finite_is_as_in_exact_arithmetic(generator: np.random.Generator, way: str, target: str) -> None:
    dtype, options = call_of(way, target)
    A, B, C = (drawn(generator, "normal", *shape, dtype) for shape in ((140, 33), (133, 33), (140, 133)))
    A[3, 5] = np.inf
    A[7, 0] = np.nan
    A[9] = 0  # infinity times 0
    B[1, 2] = -np.inf
    B[130, 32] = np.nan
    B[4, 5] = 0
    exact, got = C.copy(), C.copy()
    with np.errstate(invalid="ignore"):
        cute_py.gemm(A, B, exact, beta=2.0, device=target)
        cute_py.gemm(A, B, got, beta=2.0, **options)
        for part in ("real", "imag"):
            x, y = getattr(got, part), getattr(exact, part)
            assert np.array_equal(np.isnan(x), np.isnan(y))
            infinite = np.isinf(y)
            assert infinite.any() or part == "imag" or dtype.startswith("complex")
            assert np.array_equal(x[infinite], y[infinite])
            finite = np.isfinite(y)
            assert np.abs(x[finite] - y[finite]).max() < (1e-4 if dtype not in OF_DOUBLE else 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float64"])
def test_reproducible_bits_depend_on_nothing(generator: np.random.Generator, dtype: str, target: str) -> None:
    k = 530  # two warps share a row
    A, B = (drawn(generator, "wide", rows, k, dtype) for rows in (20, 136))
    whole = cute_py.gemm(A, B, compute="reproducible", device=target)

    def same(rows: slice, columns: slice, result: np.ndarray) -> None:
        assert np.array_equal(result, whole[rows, columns])

    # Other kernels, tiles and splits of K; the roles of A and B exchanged, because of the result; factors that lie otherwise.
    candidates = cute_py.gemm.explain(A, B, compute="reproducible", device=target).candidates
    if target != "cpu":
        assert {c.kernel for c in candidates} == {
            f"gemm_{x}_residues"
            for x in ("sm80_tn_i8_64x64", "sm80_tn_i8_128x256", "sm90_tn_i8_128x128", "sm90_tn_i8_128x256")
        }
        alone = {c.kernel: c for c in candidates if c.split_k == 1}
        splits = [(name, n) for name in alone for n in ((1, 2, 4) if name == RESIDUES else (1, 2))]
        splits = splits if dtype == "float32" else [(RESIDUES, 2), ("gemm_sm80_tn_i8_64x64_residues", 2)]
        candidates = [alone[name]._replace(split_k=n, cluster=None, raster=None) for name, n in splits]
    for candidate in candidates:
        got = cute_py.gemm(A, B, compute="reproducible", config=candidate, device=target)
        same(np.s_[:], np.s_[:], got)
    C = np.zeros((20, 136), dtype, order="F")
    same(np.s_[:], np.s_[:], cute_py.gemm(A, B, C, compute="reproducible", device=target))
    of_f = (np.asfortranarray(A), np.asfortranarray(B))
    same(np.s_[:], np.s_[:], cute_py.gemm(*of_f, compute="reproducible", device=target))
    # Some of the rows and columns, and batches of them.
    same(np.s_[3:4], np.s_[100:120], cute_py.gemm(A[3:4], B[100:120], compute="reproducible", device=target))
    batch = cute_py.contract(
        "lmk,lnk->lmn", A.reshape(2, 10, k), B.reshape(2, 68, k), compute="reproducible", device=target
    )
    same(np.s_[:10], np.s_[:68], batch[0])
    same(np.s_[10:], np.s_[68:], batch[1])


@pytest.mark.parametrize("target", ["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("way", ["fp16x3", "bf16x6"])
def test_planes_have_split_k(generator: np.random.Generator, way: str, target: str) -> None:
    """In a cluster and in several; a row that is not finite is left to the next kernel, whatever the epilogue."""
    A, B, C = (drawn(generator, "wide", *shape, "float32") for shape in ((20, 2900), (40, 2900), (20, 40)))
    A[3, 5] = np.inf
    B[7, 11] = np.nan
    finite = np.isfinite(A).all(1)[:, None] & np.isfinite(B).all(1)
    found = cute_py.gemm.explain(A, B, compute=way, device=target).candidates
    narrow = {c.split_k: c for c in found if "128x64" in c.kernel and c.split_k > 1}
    assert any(c.reduction == "cluster, then global" for c in narrow.values())
    for split_k in (2, max(narrow)):
        for beta in (0.0, 2.0):
            got = C.copy() if beta else np.full_like(C, np.nan)
            with np.errstate(invalid="ignore"):
                cute_py.gemm(A, B, got, beta=beta, compute=way, device=target, config=narrow[split_k])
            assert np.array_equal(np.isfinite(got), finite)
            rows, columns = finite.any(1), finite.any(0)
            check_gemm(
                got[np.ix_(rows, columns)], A[rows], B[columns], C[np.ix_(rows, columns)], beta=beta, compute=way
            )


@of_all_runs
def test_contractions_of_many_modes(generator: np.random.Generator, way: str, target: str) -> None:
    dtype, options = call_of(way, target)
    extents = {"a": 5, "b": 6, "c": 4, "d": 7, "e": 9, "f": 3, "l": 2}
    for subscripts in ("abcd,eafd->fbec", "lace,lbde->lbcda", "abc,bad->cd", "lac,lbc->lab", "ae,eb->ab"):
        first, second = subscripts.partition("->")[0].split(",")
        A, B = (
            drawn(generator, "normal", 1, int(np.prod([extents[x] for x in letters])), dtype).reshape(
                [extents[x] for x in letters]
            )
            for letters in (first, second)
        )
        check_contract(subscripts, cute_py.contract(subscripts, A, B, **options), A, B, compute=options["compute"])
    A = drawn(generator, "normal", 12, 40, dtype)
    of_steps, check = strided_array(A[:, ::-1], (-80, 2), dtype=dtype)
    check_gemm(cute_py.gemm(of_steps, A, **options), of_steps, A, compute=options["compute"])
    check()


@of_all_runs
def test_numbers_at_the_ends_of_their_type(generator: np.random.Generator, way: str, target: str) -> None:
    dtype, options = call_of(way, target)
    info = np.finfo(dtype)
    A, B = (drawn(generator, "normal", rows, 40, dtype) for rows in (20, 24))
    small, large = float(info.tiny), float(info.max)
    for of_a, of_b in ((small, 2.0**-6 / small), (small / 64, 1.0), (large / 64, 1 / large), (1.0, large**0.5)):
        x, y = (A * np.asarray(of_a, A.real.dtype)).astype(dtype), (B * np.asarray(of_b, A.real.dtype)).astype(dtype)
        with np.errstate(all="ignore"):
            check_gemm(cute_py.gemm(x, y, **options), x, y, compute=options["compute"])


@pytest.mark.parametrize("way", OF_CPU)
@pytest.mark.parametrize("target", ["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_a_cpu_has_the_bits_of_a_gpu(generator: np.random.Generator, way: str, target: str) -> None:
    """With each instruction set that the processor has, and any number of threads; ends of the type, NaN, epilogues."""
    dtype, of_gpu = call_of(way, target)
    _, of_cpu = call_of(way, "cpu")
    info = np.finfo(dtype)
    extremes = np.array([info.tiny / 8, info.tiny, 1.0, info.max / 64], info.dtype)
    shapes = [(1, 1, 1), (5, 40, 3), (30, 70, 530)]
    shapes += [(3, 4, 2100)] if way.startswith("reproducible") else []
    shapes += [(3, 4, 8200)] if way == "reproducible float32" else []  # so many that squares are added in 16 groups
    for number, (m, n, k) in enumerate(shapes):
        A, B = (drawn(generator, KINDS[number + i], rows, k, dtype) for i, rows in enumerate((m, n)))
        C, bias = drawn(generator, "normal", m, n, dtype), drawn(generator, "normal", 1, n, dtype)[0]
        with np.errstate(all="ignore"):
            A[0] *= extremes[number % 4]
        B[n // 2, k // 2] = [1, np.inf, np.nan][number % 3]
        calls: list[dict[str, Any]] = [{"alpha": -0.75, "beta": 0.5, "C": C}]
        if k < 1000:
            calls += [{"epilogue": cute_py.Epilogue(bias=bias, residual=C, scale=3.0)}]
            calls += [{"conj_a": True, "alpha": 1 + 2j}] if dtype.startswith("complex") else []
        for call in calls:
            with np.errstate(all="ignore"):
                result = {key: C.copy() for key in call if key == "C"}
                expected = cute_py.gemm(A, B, **{**call, **result}, **of_gpu)
                for isa in ISAS[: ISAS.index(cute_py.Cpu.here().isa) + 1]:
                    for threads in (1, 3):
                        device = cute_py.Cpu("some", isa=isa, threads=threads)
                        result = {key: C.copy() for key in call if key == "C"}
                        got = cute_py.gemm(np.asfortranarray(A), B, **{**call, **result, **of_cpu, "device": device})
                        np.testing.assert_array_equal(got, expected)


def test_fast_is_exact_where_that_is_faster() -> None:
    small, large = np.ones((64, 64), np.complex64), np.broadcast_to(np.complex64(1), (4096, 4096)).copy()
    device = cute_py.Device("H200")
    assert cute_py.gemm.explain(small, small, compute="fast_complex64", device=device).planes is None
    found = cute_py.gemm.explain(large, large, compute="fast_complex64", device=device)
    assert found.planes == ("gaussian", 7)
    assert [step.what for step in found.steps] == ["split A", "split B", "multiply", "combine"]
    assert "14 products of int8, modulo 7 numbers; error at most" in str(found)
    assert found.error_bound is not None
    assert found.error_bound.of_norms < 2e-6
    # Before Hopper residues are multiplied by mma.sync. A GPU without these kernels, and a CPU, compute exactly.
    older = cute_py.Device.preset("A100")
    found = cute_py.gemm.explain(large, large, compute="fast_complex64", device=older)
    assert found.planes == ("gaussian", 7)
    assert found.chosen.startswith("gemm_sm80")
    assert cute_py.gemm.explain(large.real, large.real, compute="fast_float32", device=older).planes is None
    assert cute_py.gemm.explain(small, small, compute="fast_complex64", device="cpu").planes is None
    # What may depend on extents alone is not chosen by them.
    call = {"compute": "fast_complex64", "device": device, "batch_invariant": True}
    assert cute_py.gemm.explain(large, large, **call).planes is None


@pytest.mark.parametrize("way", ["fp16x3", "fast_complex64"])
def test_candidates_can_be_forced(generator: np.random.Generator, way: str) -> None:
    compute, dtype, kernel = WAYS[way]
    A, B = (drawn(generator, "normal", rows, 60, dtype) for rows in (140, 20))
    options: Any = {"compute": compute, "device": "emulator"}
    expected = cute_py.gemm(A, B, kernel=kernel, **options)
    for candidate in cute_py.gemm.explain(A, B, kernel=kernel, **options).candidates:
        assert cute_py.gemm.explain(A, B, config=candidate, **options).chosen == candidate.kernel
        assert np.array_equal(cute_py.gemm(A, B, config=candidate, **options), expected)


def test_emulated_precision_can_be_tuned(generator: np.random.Generator) -> None:
    A, B = (drawn(generator, "normal", rows, 60, "float32") for rows in (140, 20))
    options: Any = {"compute": "fp16x3", "device": "emulator"}
    try:
        tuned = cute_py.tune(cute_py.gemm, A, B, **options)
        assert np.array_equal(cute_py.gemm(A, B, **options), cute_py.gemm(A, B, config=tuned.best, **options))
    finally:
        cute_py.forget_tuning()


@pytest.mark.parametrize(("way", "target"), OF_HOST)
def test_a_prepared_operand_stands_for_its_array(generator: np.random.Generator, way: str, target: str) -> None:
    dtype, options = call_of(way, target)
    batch = (2,) if "float32" in way or target == "cpu" else ()
    A, B = (drawn(generator, "normal", rows * 2, 60, dtype).reshape(2, rows, 60) for rows in (20, 33))
    A[0, 3, 5] = np.inf
    A, B = (A, B) if batch else (A[0], B[0])
    of_prepare = {key: options[key] for key in ("compute", "device")}
    P, Q = (cute_py.prepare(x, **of_prepare) for x in (A, B))
    W = np.ascontiguousarray(np.swapaxes(B, -1, -2))
    of_matmul = cute_py.prepare(W, axis=-2, **of_prepare)
    assert P.array is A
    assert (P.shape, P.dtype, P.ndim, P.axis, P.compute) == (A.shape, A.dtype, A.ndim, -1, options["compute"])
    assert Q.nbytes > B.nbytes // 2
    assert np.asarray(P) is A
    without = {key: value for key, value in options.items() if key != "compute"}
    with np.errstate(invalid="ignore"):
        for order in "CF":
            C = np.empty((*batch, 20, 33), dtype, order=order)
            subscripts = "lmk,lnk->lmn" if batch else "mk,nk->mn"
            expected = cute_py.contract(subscripts, A, B, C, **options).copy()
            for x, y in ((P, B), (A, Q), (P, Q))[:: 1 if order == "C" else 2]:
                C[...] = 7
                np.testing.assert_array_equal(cute_py.contract(subscripts, x, y, C, **without), expected)
        if not batch:
            np.testing.assert_array_equal(cute_py.gemm(P, Q, **without), cute_py.gemm(A, B, **options))
        plan = cute_py.matmul.plan(A, of_matmul, **without)
        np.testing.assert_array_equal(plan(A, of_matmul), cute_py.matmul(A, W, **options))
        other = cute_py.prepare(2 * W, axis=-2, **of_prepare)
        np.testing.assert_array_equal(plan(A, other), cute_py.matmul(A, 2 * W, **options))
        with pytest.raises(OperandError, match=r"(?s)B is no prepared operand, and was one.*next: make a plan"):
            plan(A, W)
    assert "split B" not in [step.what for step in cute_py.matmul.explain(A, of_matmul, **without).steps]


@pytest.mark.gpu
@pytest.mark.parametrize("way", WAYS)
def test_a_prepared_operand_of_a_gpu(way: str) -> None:
    torch = pytest.importorskip("torch")
    dtype, options = call_of(way, "cuda")
    compute = options.pop("compute")
    A, B = (torch.randn(rows, 700, device="cuda", dtype=getattr(torch, dtype)) for rows in (150, 333))
    A[3, 5] = torch.inf
    B = B.t().contiguous().t()
    P, Q = (cute_py.prepare(x, compute=compute) for x in (A, B))
    expected = cute_py.gemm(A, B, compute=compute, **options)
    for x, y in ((P, B), (A, Q), (P, Q)):
        got = torch.full_like(expected, 7)
        cute_py.gemm(x, y, got, **options)
        torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.gpu
def test_a_prepared_operand_of_the_host_is_not_read_by_a_gpu() -> None:
    A = np.ones((4, 4), np.float32)
    P = cute_py.prepare(A, compute="reproducible", device="cpu")
    with pytest.raises(OperandError, match=r"(?s)a prepared operand is where it was.*next: pass its array"):
        cute_py.gemm(P, A, device="cuda")
    with pytest.raises(OperandError, match=r"(?s)splits arrays where they are.*next: an array on the GPU"):
        cute_py.prepare(A, compute="reproducible", device="cuda")


def test_what_cannot_be_prepared_or_taken_says_so() -> None:
    A = np.ones((4, 4), np.float32)
    P = cute_py.prepare(A, compute="reproducible")
    assert repr(P).startswith("<PreparedOperand (4, 4) for compute='reproducible'")
    mistakes: list[tuple[Any, str]] = [
        (lambda: cute_py.prepare(P, compute="reproducible"), "A is prepared already.*next: prepare\\(x.array"),
        (lambda: cute_py.prepare(A, compute="float32"), "has nothing to split.*next: compute='fp16x3'"),
        (lambda: cute_py.prepare(A[:, :0], compute="reproducible"), "has nothing to split.*next: .*with elements"),
        (lambda: cute_py.prepare(A[0], compute="reproducible"), "A has two modes, or three of a batch.*next: "),
        (lambda: cute_py.prepare(A, compute="reproducible", axis=0), "axis is -1, .*got 0.*next: "),
        (lambda: cute_py.prepare(A, compute=np.float32), "compute is a name and axis a number.*next: "),  # type: ignore[arg-type]
        (lambda: cute_py.prepare([[1.0]], compute="reproducible"), "A is a list.*next: "),
        (lambda: cute_py.tune(cute_py.gemm, A, P), "tune: B is a prepared operand.*next: tune with its array"),
        (lambda: cute_py.gemm(P, A, compute="bf16x6"), "A was prepared for compute='reproducible'.*next: prepare it"),
    ]
    for call, message in mistakes:
        with pytest.raises(OperandError, match=f"(?s){message}"):
            call()
    with pytest.raises(UnsupportedProblemError, match=r"(?s)no kernel here for the step 'split A'.*next: "):
        cute_py.prepare(A, compute="fp16x3", device="cpu")
    with pytest.raises(
        UnsupportedProblemError, match=r"(?s)does not take A as it was prepared: its rows.*next: .*axis="
    ):
        cute_py.matmul(cute_py.prepare(A, compute="reproducible", axis=-2), A)


@of_all_runs
def test_a_small_workspace_takes_blocks_of_columns(generator: np.random.Generator, way: str, target: str) -> None:
    """Along M or N, whichever the result is contiguous along; batches, biases and rows that are not finite, too."""
    dtype, options = call_of(way, target)
    A, B = (drawn(generator, "normal", rows, 40, dtype) for rows in (20, 300))
    A[3, 5] = np.inf
    B[290, 7] = np.nan
    C = drawn(generator, "normal", 20, 300, dtype)
    epilogue = cute_py.Epilogue(bias=drawn(generator, "normal", 1, 300, dtype)[0], residual=C)
    cases: list[tuple[Any, Any, Any, dict[str, Any]]] = [
        (A, B, C, {"epilogue": epilogue}),
        (B, A, np.asfortranarray(C.T), {"beta": 2.0}),
    ]
    for x, y, of_c, more in cases:
        whole = cute_py.gemm.explain(x, y, of_c, **more, **options)
        few = {**options, **more, "workspace": whole.workspace_bytes * 95 // 100}
        explained = cute_py.gemm.explain(x, y, of_c, **few)
        assert explained.workspace_bytes <= few["workspace"]
        assert [step.what for step in explained.steps].count("multiply") > 1
        assert "more blocks of columns" in str(explained)
        with np.errstate(invalid="ignore"):
            expected = cute_py.gemm(x, y, of_c.copy(order="K"), **more, **options)
            got = cute_py.gemm(x, y, of_c.copy(order="K"), **few)
        np.testing.assert_array_equal(got, expected)


def test_bounds_of_residues_follow_from_their_product() -> None:
    assert bound_of("residues", 8, 4096).of_norms < bound_of("residues", 7, 4096).of_norms / 15
    assert bound_of("gaussian", 8, 4096).of_norms < bound_of("gaussian", 7, 4096).of_norms / 12
    assert bound_of("fp16", 2, 1 << 16).of_products < 2.0**-24 * (1 << 16)  # that of one sum in float32
    assert str(bound_of("fp16", 2, 64)).startswith("3.5e-06 |A||B|")


def test_refusals_say_a_way_out() -> None:
    A = np.ones((4, 6), np.float32)

    def refused(match: str, kind: type[Exception] = UnsupportedProblemError, **call: Any) -> None:
        with pytest.raises(kind, match=rf"(?s){match}.*next: "):
            cute_py.gemm(call.pop("A", A), call.pop("B", A), **call)

    refused("has no kernel here for the step 'split A'", compute="fp16x3", device="cpu")
    refused("multiplies float32", A=A.astype("float64"), B=A.astype("float64"), compute="fp16x3", device="emulator")
    refused("multiplies complex64", compute="fast_complex64", device="emulator")
    refused("splits A and B of float32 alone", A=A.astype("float16"), compute="bf16x6", device="emulator")
    refused("needs a workspace of", compute="fp16x3", device="emulator", workspace=100)
    refused("is not batch_invariant", compute="fp16x3", device="emulator", batch_invariant=True)
    long = np.broadcast_to(np.float32(1), (1, (1 << 17) + 1))
    refused("sums at most 131072 products", A=long, B=long, compute="reproducible", device="emulator")
    with pytest.raises(OperandError, match=r"compute is one of .*fp16x3.*reproducible"):
        cute_py.gemm(A, A, compute="fp16x4")  # type: ignore[call-overload]


@pytest.mark.gpu
@pytest.mark.parametrize("way", WAYS)
def test_a_cold_capture_and_a_thousand_repeats_give_the_same_bits(way: str) -> None:
    torch = pytest.importorskip("torch")
    compute, dtype, kernel = WAYS[way]
    A, B = (torch.randn(rows, 333, device="cuda", dtype=getattr(torch, dtype)) for rows in (150, 200))
    C = torch.empty(150, 200, device="cuda", dtype=A.dtype)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        cute_py.gemm(A, B, C, compute=compute, kernel=kernel)
    graph.replay()
    first = C.clone()
    check_gemm(C.cpu().numpy(), A.cpu().numpy(), B.cpu().numpy(), compute=compute)
    for _ in range(1000):
        C.zero_()
        cute_py.gemm(A, B, C, compute=compute, kernel=kernel)
        assert torch.equal(C, first)


@pytest.mark.gpu
def test_gradients_of_pytorch_are_computed_in_the_same_way() -> None:
    torch = pytest.importorskip("torch")
    import cute_py.torch as ct

    A, B = (torch.randn(shape, device="cuda", dtype=torch.float64, requires_grad=True) for shape in ((5, 40), (40, 6)))
    assert torch.autograd.gradcheck(lambda a, b: ct.matmul(a, b, compute="reproducible"), (A, B))
    x, y = (torch.randn(300, 300, device="cuda", requires_grad=True) for _ in range(2))
    ct.matmul(x, y, compute="fp16x3").sum().backward()
    expected = torch.ones(300, 300, device="cuda", dtype=torch.float64) @ y.double().t()
    assert (x.grad - expected).abs().max() < 1e-3
    with cute_py.set_float32_compute("fp16x3"):
        assert torch.equal(ct.matmul(x, y), ct.matmul(x, y, compute="fp16x3"))
