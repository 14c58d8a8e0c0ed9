"""The kernels of the CPU: one order of adds for all of them, whatever runs them; non-temporal copies; views."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cute_py
from cute_py import OperandError, UnsupportedProblemError
from cute_py.testing import strided_array
from headers import ROOT, cuda_headers

KERNELS = ("cpu", "cpu_loops", "cpu_small")


@pytest.fixture
def threads() -> object:
    before = cute_py.get_num_threads()
    yield cute_py.set_num_threads
    cute_py.set_num_threads(before)


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    array = rng.standard_normal(shape)
    return (array + 1j * rng.standard_normal(shape)).astype(dtype) if dtype.startswith("c") else array.astype(dtype)


def any_layout(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """The same numbers in another order of memory, with gaps or backwards."""
    order = rng.permutation(array.ndim)
    steps = rng.choice([1, 1, 1, 2, -1], size=array.ndim)
    room = np.zeros([abs(step) * array.shape[i] for i, step in zip(order, steps, strict=True)], array.dtype)
    view = room[tuple(slice(None, None, step) for step in steps)].transpose(np.argsort(order))
    view[...] = array
    return view


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("seed", range(12))
def test_all_kernels_give_the_same_bits(seed: int, dtype: str, threads) -> None:
    """Small, large and strange products: what computes them does not show, nor how many threads do."""
    rng = np.random.default_rng(seed)
    extents = {letter: int(2 ** rng.uniform(0, 6)) for letter in "mnlab"}
    extents["k"] = int(2 ** rng.uniform(0, 14)) if seed % 3 else 7000
    subscripts = ["mk,nk->mn", "lmk,lnk->lmn", "mk,k->m", "k,k->", "mak,nk->nma", "mkb,kbn->mn"][seed % 6]
    left, right = subscripts.split("->")[0].split(",")
    A, B = (any_layout(rng, numbers(rng, tuple(extents[i] for i in part), dtype)) for part in (left, right))
    results = {}
    for kernel in ("auto", *KERNELS):
        for count in (1, 2, 3, 7):
            threads(count)
            try:
                results[kernel, count] = cute_py.contract(subscripts, A, B, kernel=kernel)
            except UnsupportedProblemError as error:
                assert kernel == "cpu_small" or "another order" in str(error)  # noqa: PT017
    # Which factor is called A decides in what order the modes of K are added: that is the choice of the first one.
    is_contiguous_reduction = ("cpu", 1) not in results  # of which test_contiguous_reductions speaks
    assert len(results) >= (8 if is_contiguous_reduction else 12)
    expected = np.einsum(subscripts, A.astype(complex), B.astype(complex))
    for kernel in ("auto", *KERNELS):
        same = [result for (name, _), result in results.items() if name == kernel]
        for result in same:
            np.testing.assert_array_equal(result, same[0])
            scale = np.abs(expected).max() + 1
            assert np.abs(result - expected).max() / scale < (1e-4 if dtype in ("float32", "complex64") else 1e-12)
    if dtype.startswith("f") and subscripts != "mkb,kbn->mn" and not is_contiguous_reduction:
        np.testing.assert_array_equal(results["cpu_loops", 1], results["cpu", 1])
        if ("cpu_small", 1) in results:
            np.testing.assert_array_equal(results["cpu_small", 1], results["cpu", 1])


FAMILIES = sorted(path.parent.name for path in (ROOT / "csrc" / "cpu").glob("*/family.cpp"))


def linked(name: str, tmp_path: Path) -> Path:
    """A program of tests/cpp with the objects of this build's CPU kernels, and nothing above them."""
    builds = sorted(ROOT.glob("build/*/csrc/cpu/CMakeFiles/cute_py_cpu.dir"), key=lambda path: path.stat().st_mtime)
    if not builds and "CI" not in os.environ:
        pytest.skip("there is no build in this checkout")
    sources = [path.relative_to(ROOT / "csrc" / "cpu") for path in (ROOT / "csrc" / "cpu").rglob("*.cpp")]
    objects = [str(builds[-1] / f"{source}.o") for source in sources]
    objects += [str(path) for path in builds[-1].parents[2].glob("problem/CMakeFiles/cute_py_problem.dir/**/*.o")]
    program = tmp_path / name
    command = [os.environ.get("CXX", "g++"), "-std=c++17", "-O2", "-ffp-contract=off", f"-I{ROOT / 'csrc'}"]
    cuda = cuda_headers()
    command += [f"-isystem{path}" for path in (ROOT / "third_party" / "cutlass" / "include", cuda, cuda / "cccl")]
    source = str(ROOT / "tests" / "cpp" / f"{name}.cpp")
    subprocess.run([*command, source, *objects, "-pthread", "-o", str(program)], check=True)
    return program


@pytest.mark.compiler
@pytest.mark.parametrize("seed", [1, 2])
def test_every_kernel_keeps_the_law_of_the_order_of_adds(seed: int, tmp_path: Path) -> None:
    """Random products, whose bits a double loop predicts."""
    program = linked("cpu_kernels", tmp_path)
    ran = subprocess.run([str(program), str(seed), "40"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
    computed = {line.split()[0] for line in ran.stdout.splitlines()}
    assert computed >= {f"cpu_loops_{isa}_f32" for isa in isas()} | {f"cpu_{isa}_i32" for isa in isas(of_int8=True)}


@pytest.mark.compiler
def test_smaller_caches_count_and_larger_ones_do_not(tmp_path: Path) -> None:
    """As many estimates as there are caches: unknown ones, those that are counted on, larger ones, smaller ones."""
    printed = subprocess.run(
        [str(linked("cpu_estimates", tmp_path))], capture_output=True, text=True, check=True
    ).stdout
    lines = {name: [float(number) for number in numbers] for name, *numbers in map(str.split, printed.splitlines())}
    of_caches = {name: lines.pop(name) for name in ("MC*KC", "NC*KC", "small-A")}
    assert lines.keys() == {
        k.name
        for k in cute_py.kernels().values()
        if k.targets == ("cpu",) and (k.kernel == "cpu_copy" or (k.name.endswith("_f32") and not k.is_step))
    }
    for unknown, same, larger, smaller in lines.values():
        assert unknown == same == larger < smaller
    for unknown, same, larger, smaller in of_caches.values():
        assert unknown == same == larger > smaller > 0


@pytest.mark.compiler
def test_what_is_a_gemv_and_what_is_not(tmp_path: Path) -> None:
    """The plan of cpu_loops takes the operation that suits the strides; any other takes several times as long."""
    printed = subprocess.run(
        [str(linked("cpu_operations", tmp_path))], capture_output=True, text=True, check=True
    ).stdout
    assert dict(map(str.split, printed.splitlines())) == {
        "column-major-matrix-times-vector": "gemv_lines",
        "row-major-matrix-times-vector": "gemv_rows",
        "dot-product": "dot",
        "row-sums": "dot",
        "outer-product": "elementwise",
        "scaled-rows": "elementwise",
    }


def test_every_folder_with_a_family_is_in_the_list() -> None:
    """A folder that families.cpp forgets is compiled, and in no registry."""
    text = (ROOT / "csrc" / "cpu" / "families.cpp").read_text()
    assert sorted(re.findall(r"&add_(\w+)[,}]", text)) == FAMILIES
    for family in FAMILIES:
        head = (ROOT / "csrc" / "cpu" / family / "family.cpp").read_text().partition("#include")[0]
        assert re.findall(r"^// (Requires|Numerics|Workspace|Threads):", head, re.MULTILINE) == [
            "Requires",
            "Numerics",
            "Workspace",
            "Threads",
        ]
        assert (ROOT / "csrc" / "cpu" / family / "rules.cpp").exists()


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_no_number_of_threads_changes_bits(dtype: str, threads) -> None:
    """Of contractions whose modes of K are in other orders in the two factors: what is packed decides how K is added."""
    for subscripts, extents in (
        ("dae,cedb->abc", (2, 4, 110, 124, 45)),
        ("deac,ebcd->ba", (42, 8, 28, 104, 4)),
        ("aegf,ebcfgd->cabd", (3, 61, 2, 4, 9, 340, 3)),
        ("fdaec,bcdfe->eabf", (41, 2, 5, 17, 141, 5)),
        ("dcb,cbda->a", (3, 33, 14, 38)),
    ):
        extent = dict(zip("abcdefg", extents, strict=False))
        rng = np.random.default_rng(0)
        left, right = subscripts.split("->")[0].split(",")
        A, B = (numbers(rng, tuple(extent[i] for i in part), dtype) for part in (left, right))
        results = set()
        for count in (1, 2, 3, 7, 64):
            threads(count)
            results.add(np.ascontiguousarray(cute_py.contract(subscripts, A, B)).tobytes())
        assert len(results) == 1, subscripts


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [1, 15, 16, 17, 383, 384, 385, 767, 384 * 16, 384 * 16 + 1, 384 * 33 + 5])
@pytest.mark.parametrize("kernel", KERNELS)
def test_blocks_and_groups_of_k(kernel: str, k: int, dtype: str) -> None:
    """At every place where K is cut, for one element, a few and more than a register tile, and with C in place of D."""
    rng = np.random.default_rng(k)
    for m, n in ((1, 1), (3, 2), (37, 19)):
        A, B = numbers(rng, (m, k), dtype), numbers(rng, (n, k), dtype)
        C = numbers(rng, (m, n), dtype)
        expected = 2 * A.astype(np.longdouble) @ B.T.astype(np.longdouble) - C
        bound = (np.abs(A) @ np.abs(B).T + np.abs(C)) * np.finfo(dtype).eps * 12
        out = C.copy(order="F")
        cute_py.gemm(A, B, out, alpha=2, beta=-1, kernel=kernel)
        assert (np.abs(out - expected) <= bound).all()
        other = cute_py.gemm(A, B, C.copy(order="F"), alpha=2, beta=-1, kernel="cpu")
        np.testing.assert_array_equal(out, other)


def test_sums_kept_in_the_result_do_not_reach_beyond_it() -> None:
    rng = np.random.default_rng(0)
    A, B = numbers(rng, (67, 2000), "float32"), numbers(rng, (45, 2000), "float32")
    guarded = np.full((49, 71), 7, np.float32)
    out = guarded[2:-2, 2:-2].T
    cute_py.gemm(A, B, out, kernel="cpu")
    np.testing.assert_allclose(out, A.astype(float) @ B.T.astype(float), rtol=1e-3, atol=1e-3)
    guarded[2:-2, 2:-2] = 7
    assert (guarded == 7).all()


def test_sums_are_kept_in_the_result_only_if_c_is_not_there() -> None:
    """The same shapes with C in the result and beside it, in turns: what was prepared for one must not serve the other."""
    rng = np.random.default_rng(0)
    A, B = numbers(rng, (70, 2000), "float32"), numbers(rng, (60, 2000), "float32")
    C = np.asfortranarray(numbers(rng, (70, 60), "float32"))
    expected = A.astype(float) @ B.T.astype(float) + 2 * C
    for _ in range(2):
        beside, inside, view = np.zeros_like(C), C.copy(order="F"), C.copy(order="F")
        cute_py.gemm(A, B, C, beta=2, out=beside, kernel="cpu")
        cute_py.gemm(A, B, inside, beta=2, kernel="cpu")
        cute_py.gemm(A, B, view, beta=2, out=view[:], kernel="cpu")
        for result in (beside, inside, view):
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("elements", [10**4, 10**6, 10**7])
def test_long_sums_lose_no_digits(elements: int) -> None:
    x = np.random.default_rng(0).random(elements, dtype=np.float32)
    expected = x.astype(np.float64).sum()
    assert abs(float(cute_py.einsum("i->", x)) - expected) <= 4e-7 * expected
    squares = np.dot(x.astype(np.float64), x.astype(np.float64))
    assert abs(float(cute_py.einsum("i,i->", x, x)) - squares) <= 4e-7 * squares


@pytest.mark.parametrize("bytes_", [1, 2, 4, 8, 16])
@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((1500, 1501), (1, 0)),
        ((17, 131, 1031), (2, 1, 0)),
        ((129, 127, 131), (1, 0, 2)),
        ((130, 129, 65), (0, 2, 1)),
        ((40, 41, 42, 33), (3, 2, 1, 0)),
        ((19, 20, 18, 21, 16), (2, 3, 1, 0, 4)),
        ((19, 20, 18, 21, 16), (4, 3, 2, 1, 0)),
        ((5, 100003, 5), (2, 1, 0)),
        ((9001, 17, 3), (1, 0, 2)),
        ((30, 20, 300, 12), (2, 1, 0, 3)),
        ((70, 80, 90, 2), (1, 2, 0, 3)),
    ],
    ids=str,
)
def test_large_copies(shape: tuple[int, ...], order: tuple[int, ...], bytes_: int, threads) -> None:
    """Beyond the size from which caches are passed by, at addresses that no line of a cache begins at."""
    threads(2)
    kind = {1: np.int8, 2: np.float16, 4: np.float32, 8: np.float64, 16: np.complex128}[bytes_]
    rng = np.random.default_rng(0)
    A = rng.integers(0, 100, shape).astype(kind)
    expected = A.transpose(order)
    for offset in (0, 3):
        room = np.full(A.size + 64, 77, kind)
        out = room[32 + offset : 32 + offset + A.size].reshape(expected.shape)
        assert cute_py.permute(A, order, out=out) is out
        np.testing.assert_array_equal(out, expected)
        assert (room[: 32 + offset] == 77).all()
        assert (room[32 + offset + A.size :] == 77).all()


def test_copies_at_odd_addresses_and_backwards() -> None:
    rng = np.random.default_rng(1)
    A = rng.standard_normal((300, 70)).astype(np.float32)
    for dtype in (np.float32, np.float64):
        room = np.zeros(300 * 70 * np.dtype(dtype).itemsize + 1, np.uint8)
        out = room[1:].view(dtype).reshape(70, 300)
        cute_py.permute(A.astype(dtype)[::-1, ::-1], (1, 0), out=out)
        np.testing.assert_array_equal(out, A.astype(dtype)[::-1, ::-1].T)


@pytest.mark.parametrize(
    "subscripts",
    [
        "ij,ij->ij",
        "ij,ij->",
        "ij->i",
        "ij->j",
        "i,ij->ij",
        "ii->i",
        "ii->",
        "ijk,k->ijk",
        "i,j->ij",
        "ij,ji->ij",
        "ijk->ik",
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_products_of_elements_and_sums(subscripts: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    arrays = [any_layout(rng, numbers(rng, (33,) * len(part), dtype)) for part in subscripts.split("->")[0].split(",")]
    expected = np.einsum(subscripts, *(array.astype(np.complex128) for array in arrays))
    result = cute_py.einsum(subscripts, *arrays)
    np.testing.assert_allclose(result, expected, rtol=1e-2 if dtype == "float16" else 1e-4, atol=1e-2)


def test_small_products_write_nothing_but_the_result() -> None:
    """Rows that do not fill a vector, columns that do not fill a tile, in a batch, with C and an epilogue."""
    rng = np.random.default_rng(2)
    for m, n, k in ((1, 1, 1), (3, 3, 3), (8, 8, 8), (17, 15, 5), (33, 29, 31)):
        A, B = numbers(rng, (m, k, 6), "float32"), numbers(rng, (n, k, 6), "float32")
        C, check_guard = strided_array(numbers(rng, (m, n, 6), "float32"), (1, m + 3, (m + 3) * (n + 2)))
        before = np.array(C)
        bias = numbers(rng, (n, 1), "float32")
        cute_py.gemm(
            A, B, C, alpha=0.5, beta=2, epilogue=cute_py.Epilogue(bias=bias, activation="relu"), kernel="cpu_small"
        )
        expected = 0.5 * np.einsum("mkl,nkl->mnl", A, B) + 2 * before + bias
        np.testing.assert_allclose(C, np.maximum(expected, 0), rtol=1e-4, atol=1e-5)
        check_guard()


def test_one_operand_is_a_view_of_it() -> None:
    A = np.arange(60.0).reshape(3, 4, 5)
    turned = cute_py.einsum("ijk->kij", A)
    assert np.shares_memory(turned, A)
    np.testing.assert_array_equal(turned, A.transpose(2, 0, 1))
    square = np.zeros((4, 4), np.float32)
    cute_py.einsum("ii->i", square)[...] = 1
    np.testing.assert_array_equal(square, np.eye(4))
    assert "a view of its operand" in str(cute_py.einsum.explain("ii->i", square))
    square.flags.writeable = False
    assert not cute_py.einsum("ii->i", square).flags.writeable
    # With an option, or somewhere to go to, it is computed.
    assert not np.shares_memory(cute_py.einsum("ijk->kij", A, alpha=2.0), A)
    out = np.empty((5, 3, 4))
    assert cute_py.einsum("ijk->kij", A, out=out) is out
    np.testing.assert_array_equal(out, A.transpose(2, 0, 1))
    assert cute_py.einsum.explain("ijk->kij", A, out=out).pairs[0].compute == "copy"


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("subscripts", ["ii->i", "ij->ji"])
def test_views_of_subclasses_are_plain_arrays_that_can_be_written(subscripts: str, tmp_path: Path) -> None:
    for square in (np.memmap(tmp_path / "file", np.float32, "w+", shape=(4, 4)), np.matrix(np.zeros((4, 4)))):
        view = cute_py.einsum(subscripts, square)
        assert type(view) is np.ndarray
        view[...] = 1
        np.testing.assert_array_equal(np.einsum(subscripts, np.asarray(square)), 1)
    with pytest.raises(OperandError, match="A is a masked array"):
        cute_py.einsum(subscripts, np.ma.masked_array(np.zeros((4, 4)), mask=np.eye(4)))


def test_one_operand_of_pytorch_is_a_view_of_it() -> None:
    torch = pytest.importorskip("torch")
    A = torch.arange(27.0).reshape(3, 3, 3)
    for subscripts in ("ijk->kji", "iji->ij", "iii->i", "...ij->...ji"):
        result = cute_py.einsum(subscripts, A)
        assert torch.equal(result, torch.einsum(subscripts, A))
        assert result.untyped_storage().data_ptr() == A.untyped_storage().data_ptr()


def test_the_threads_of_a_call_leave_the_callers_affinity_alone(threads) -> None:
    """They begin on other processors. One that has ended must not be mistaken for its caller, nor pass on where it began."""
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("this system has no affinities")
    before = os.sched_getaffinity(0)
    A = np.ones((256, 256), np.float32)
    threads(8)
    for _ in range(1500):
        cute_py.gemm(A, A, kernel="cpu")
        assert os.sched_getaffinity(0) == before


def isas(of_int8: bool = False) -> list[str]:
    """The instruction sets that this processor has, the widest last; one of them is for products of int8 alone."""
    found = ["baseline", "avx2", "avx512", "avx512_vnni"]
    here = found[: found.index(cute_py._core.host_isa()) + 1]
    return here if of_int8 else here[:3]


@pytest.mark.parametrize("isa", isas(of_int8=True))
@pytest.mark.parametrize("number", [1, 3])
def test_words_of_int8(isa: str, number: int, threads) -> None:
    """Every rest of K in a word, whole and ragged tiles, blocks of K, numbers without their opposites: exact, and guarded."""
    threads(number)
    rng = np.random.default_rng(0)
    kernel = f"cpu_{isa}_i32"
    shapes = [(m, n, k) for k in (*range(10), 63, 64, 65) for m, n in ((1, 1), (7, 3), (97, 9))]
    shapes += [(49, 17, 255), (48, 8, 1536), (50, 11, 1537), (97, 19, 2305), (3, 5, 26000), (300, 260, 130)]
    for m, n, k in shapes:
        A, B = (rng.choice(np.array([-128, -127, -1, 0, 1, 127], np.int8), (rows, k)) for rows in (m, n))
        A[0], B[0] = -128, -128
        expected = A.astype(np.int64) @ B.T.astype(np.int64)
        wide = np.zeros((2 * m, 2 * k + 2), np.int8)[::2, 1:-1:2] if k else A
        wide[...] = A
        for a in (A, np.asfortranarray(A), wide, np.ascontiguousarray(A[:, ::-1])[:, ::-1]):
            for b in (B, np.asfortranarray(B)):
                for order in "CF":
                    room = np.full((m + 2, n + 2), 7, np.int32, order)
                    cute_py.gemm(a, b, room[1:-1, 1:-1], kernel=kernel)
                    np.testing.assert_array_equal(room[1:-1, 1:-1], expected)
                    room[1:-1, 1:-1] = 7
                    assert (room == 7).all()
        C = rng.integers(-1000, 1000, (m, n)).astype(np.int32)
        np.testing.assert_array_equal(
            cute_py.gemm(A, B, C.copy(), alpha=-1, beta=3, kernel=kernel), 3 * C.astype(np.int64) - expected
        )
        np.testing.assert_array_equal(
            cute_py.gemm(A, B, kernel=kernel, out_dtype="float32"), expected.astype(np.float32)
        )


def test_words_of_int8_of_several_modes() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.integers(-128, 128, (5, 6, 7, 9), np.int8), rng.integers(-128, 128, (9, 8, 6, 5), np.int8)
    expected = np.einsum("abcd,debf->acef", A.astype(np.int64), B[:, :, :, :3].astype(np.int64))
    for isa in isas(of_int8=True):
        found = cute_py.contract("abcd,debf->acef", A, B[:, :, :, :3], kernel=f"cpu_{isa}_i32")
        np.testing.assert_array_equal(found, expected)


def test_a_plan_says_what_it_takes_beside_the_arrays(threads) -> None:
    for number in (1, 2):
        threads(number)
        for dtype, least in (("float32", 1 << 20), ("float64", 1 << 20), ("complex128", 1 << 20), ("int8", 1 << 18)):
            A = np.ones((1000, 1000), dtype)
            plan = cute_py.gemm.plan(A, A, kernel="cpu")
            assert number * least <= plan.scratch_bytes <= number * (16 << 20), dtype
        along_k = np.ones((64, 100_000), np.float32)
        assert 0 < cute_py.gemm.plan(along_k, along_k, kernel="cpu").scratch_bytes <= 2 * number << 20
        packed = cute_py.gemm.plan(np.ones((40, 4000), np.float16), np.ones((4, 4000), np.float16), kernel="cpu_small")
        assert 0 < packed.scratch_bytes <= number * (2 << 20)
    x = np.ones((3, 5), np.float32)
    assert cute_py.gemm.plan(x, x).scratch_bytes == 0
    assert cute_py.gemm.plan(np.ones((0, 5)), np.ones((3, 5)), kernel="cpu").scratch_bytes == 0
    assert cute_py.gemm.plan(x, x, device="emulator").scratch_bytes == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("isa", isas())
def test_few_rows_and_columns(isa: str, dtype: str) -> None:
    """Every number of columns that has a register tile of its own, in every layout, up to and beyond a whole tile of rows."""
    rng = np.random.default_rng(0)
    names = {"float32": "f32", "float64": "f64"}
    for n in (*range(1, 17), 31):
        for m, k in ((1, 7), (5, 16), (17, 3), (47, 19), (130, 33)):
            A, B = numbers(rng, (m, k), dtype), numbers(rng, (n, k), dtype)
            expected = A.astype(np.longdouble) @ B.T.astype(np.longdouble)
            for a in (A, np.asfortranarray(A)):
                for b in (B, np.asfortranarray(B)):
                    for order in "CF":
                        room = np.full((m + 2, n + 2), 7, dtype, order)
                        out = room[1:-1, 1:-1]
                        cute_py.gemm(a, b, out, kernel=f"cpu_small_{isa}_{names[dtype]}")
                        np.testing.assert_allclose(out, expected, rtol=0, atol=k * np.finfo(dtype).eps * 20)
                        same = cute_py.gemm(a, b, kernel=f"cpu_{isa}_{names[dtype]}")
                        np.testing.assert_array_equal(out, same)
                        room[1:-1, 1:-1] = 7
                        assert (room == 7).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("isa", isas())
def test_rows_in_each_others_way(isa: str, dtype: str) -> None:
    """Rows a multiple of 1 KB apart are read by way of a buffer: the same bits as of rows that are not, and for any K."""
    rng = np.random.default_rng(0)
    end = {"float32": "f32", "float64": "f64"}[dtype]
    for pitch in (256, 512, 1024, 2048):
        for m, k in ((1, 17), (15, 64), (33, 129), (70, 255), (130, min(pitch, 700))):
            k = min(k, pitch)
            wide_a, wide_b = (numbers(rng, (m, pitch), dtype) for _ in range(2))
            A, B = wide_a[:, :k], wide_b[:, :k]
            apart_a, apart_b = (np.full((m, k + 3), np.nan, dtype)[:, :k] for _ in range(2))
            apart_a[:], apart_b[:] = A, B
            wide_a[:, k:] = wide_b[:, k:] = np.nan
            for kernel in ("cpu", "cpu_small", "cpu_loops"):
                name = f"{kernel}_{isa}_{end}"
                for n in (1, 2, 5, 9):
                    np.testing.assert_array_equal(
                        cute_py.gemm(A, B[:n], kernel=name), cute_py.gemm(apart_a, apart_b[:n], kernel=name)
                    )
                if kernel == "cpu_loops":
                    np.testing.assert_array_equal(
                        cute_py.contract("ij,ij->i", A, B, kernel=name),
                        cute_py.contract("ij,ij->i", apart_a, apart_b, kernel=name),
                    )


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize(("m", "k"), [(9, 1 << 19), (37, 1 << 17), (4500, 1024)])
def test_rows_from_memory_that_share_a_set_of_a_cache(isa: str, m: int, k: int) -> None:
    rng = np.random.default_rng(m)
    A, B = numbers(rng, (m, k), "float32"), numbers(rng, (1, k), "float32")
    apart = np.zeros((m, k + 48), np.float32)[:, :k]
    apart[...] = A
    expected = cute_py.gemm(apart, B, kernel=f"cpu_loops_{isa}_f32")
    np.testing.assert_array_equal(cute_py.gemm(A, B, kernel=f"cpu_loops_{isa}_f32"), expected)
    np.testing.assert_array_equal(cute_py.gemm(A, B, kernel=f"cpu_small_{isa}_f32"), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize(("m", "k"), [(4099, 1100), (1 << 19, 9), ((1 << 22) + 5, 2)])
def test_columns_from_memory(isa: str, m: int, k: int, dtype: str) -> None:
    """They are read in longer pieces than what lies in a cache; where these end does not show."""
    rng = np.random.default_rng(m)
    A, B = numbers(rng, (m, k), dtype), numbers(rng, (1, k), dtype)
    end = {"float32": "f32", "float64": "f64"}[dtype]
    expected = cute_py.gemm(A, B, kernel=f"cpu_small_{isa}_{end}")
    np.testing.assert_array_equal(cute_py.gemm(np.asfortranarray(A), B, kernel=f"cpu_loops_{isa}_{end}"), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [63, 64, 65, 127, 383, 384, 385, 1000, 6144, 6145, 40_007])
def test_contiguous_reductions(k: int, dtype: str, threads) -> None:
    """Numbers that follow one another are added in partial sums: whatever instructions, threads, rows and addresses there are."""
    rng = np.random.default_rng(k)
    rows = 21
    A, B = (rng.standard_normal((rows, k)).astype(dtype) for _ in range(2))
    one, number = np.ones((), dtype), np.array(0.3, dtype)
    np.testing.assert_array_equal(cute_py.einsum("lk->l", A), cute_py.contract("lk,->l", A, one))
    for subscripts, given in (("lk,->l", [A, one]), ("lk,lk->l", [A, B]), ("lk,->l", [A, number])):
        found = cute_py.contract(subscripts, *given)
        wide = [x.astype(np.float64) for x in given]
        size = np.einsum(subscripts, *map(np.abs, wide))
        assert (np.abs(found - np.einsum(subscripts, *wide)) <= 12 * np.finfo(dtype).eps * size).all()
        for row in range(rows):
            of_row = [x[row] if x.ndim == 2 else x for x in given]
            np.testing.assert_array_equal(cute_py.contract(subscripts.replace("l", ""), *of_row), found[row])
        odd = []
        for x in given:
            room = np.zeros(x.nbytes + 1, np.uint8)
            room[1:] = x.reshape(-1).view(np.uint8)
            odd.append(room[1:].view(dtype).reshape(x.shape))
        np.testing.assert_array_equal(cute_py.contract(subscripts, *odd), found)
        for count in (1, 2, 3, 7):
            threads(count)
            np.testing.assert_array_equal(cute_py.contract(subscripts, *given), found)
        for isa in isas():
            if isa == "baseline" and given[1] is not one:
                continue  # it rounds products before it adds them
            name = f"cpu_loops_{isa}_{'f32' if dtype == 'float32' else 'f64'}"
            np.testing.assert_array_equal(cute_py.contract(subscripts, *given, kernel=name), found)


@pytest.mark.parametrize("lie", ["windows", "every second", "backwards", "parts of rows", "columns"])
def test_how_many_sums_there_are_does_not_change_them(lie: str) -> None:
    """Whether numbers are transposed, packed first or added where they lie must not depend on the extent of what stays."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 2400)).astype(np.float32)
    A, of_a = {
        "windows": (np.lib.stride_tricks.sliding_window_view(x.reshape(-1)[:4000], 1000), "lk"),
        "every second": (x[:, ::2], "lk"),
        "backwards": (x[:, ::-1], "lk"),
        "parts of rows": (x.reshape(2000, 40, 60)[:, :, :50], "lkj"),
        "columns": (x.T.reshape(40, 60, 2000).transpose(2, 0, 1), "lkj"),
    }[lie]
    B = np.ascontiguousarray(A)
    for subscripts, factors in ((f"{of_a}->l", [A]), (f"{of_a},{of_a}->l", [A, A]), (f"{of_a},{of_a}->l", [A, B])):
        all_rows = cute_py.einsum(subscripts, *factors)
        for rows in (1, 3, 20, 300):
            some = cute_py.einsum(subscripts, *(factor[:rows] for factor in factors))
            np.testing.assert_array_equal(some, all_rows[:rows])


def test_contiguous_reductions_have_one_order() -> None:
    """Infinity and NaN stay what they are, and kernels that add in another order say so."""
    x = np.ones(1000, np.float32)
    for at in (0, 63, 64, 383, 384, 999):
        for value in (np.inf, np.nan, -np.inf):
            x[at] = value
            np.testing.assert_array_equal(cute_py.einsum("i->", x), np.float32(value))
            np.testing.assert_array_equal(cute_py.einsum("i,i->", x, x), np.float32(value * value))
            np.testing.assert_array_equal(cute_py.contract("i,->", x, np.float32(-2)), np.float32(-2 * value))
        x[at] = 1
    for kernel in ("cpu", "cpu_small"):
        with pytest.raises(UnsupportedProblemError, match="another order"):
            cute_py.contract("i,i->", x, x, kernel=kernel)
    np.testing.assert_array_equal(cute_py.contract("i,i->", x[::2], x[::2], kernel="cpu"), 500)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("isa", isas())
def test_few_columns_of_a_dense_result_that_is_row_major(isa: str, dtype: str) -> None:
    """Rows are put together in registers; nothing is written behind the last."""
    rng = np.random.default_rng(0)
    kernel = f"cpu_small_{isa}_{'f32' if dtype == 'float32' else 'f64'}"
    for m in (1, 2, 3, 7, 8, 9, 16, 17, 33, 64, 65, 129):
        for n in range(1, 10):
            for k in (1, 5, 400):
                A = np.asfortranarray(rng.integers(-4, 5, (m, k)).astype(dtype))
                B = rng.integers(-4, 5, (n, k)).astype(dtype)
                room = np.full(m * n + 64, 7, dtype)
                out = room[32 : 32 + m * n].reshape(m, n)
                cute_py.gemm(A, B, out, alpha=2, kernel=kernel)
                np.testing.assert_array_equal(out, 2 * A @ B.T)
                assert (room[:32] == 7).all()
                assert (room[32 + m * n :] == 7).all()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize(("conj_a", "conj_b"), [(False, False), (True, False), (False, True), (True, True)])
def test_complex_register_tiles(isa: str, dtype: str, conj_a: bool, conj_b: bool) -> None:
    """Whole and ragged tiles, one block of K and several, in every layout: exact, and nothing beside the result."""
    rng = np.random.default_rng(0)
    letters = "c64" if dtype == "complex64" else "c128"
    for m, n, k in ((97, 9, 30), (96, 8, 384), (131, 37, 801), (1, 1, 400)):
        A, B = ((rng.integers(-4, 5, s) + 1j * rng.integers(-4, 5, s)).astype(dtype) for s in ((m, k), (n, k)))
        right = (A.conj() if conj_a else A) @ (B.conj() if conj_b else B).T
        for a in (A, np.asfortranarray(A)):
            for b in (B, np.asfortranarray(B)):
                for alpha in (1, 2 - 1j):
                    room = np.full((m + 2, n + 2), 7, dtype, "F")
                    out = room[1:-1, 1:-1]
                    options = {"alpha": alpha, "conj_a": conj_a, "conj_b": conj_b}
                    cute_py.gemm(a, b, out, kernel=f"cpu_{isa}_{letters}", **options)
                    np.testing.assert_array_equal(out, alpha * right)
                    room[1:-1, 1:-1] = 7
                    assert (room == 7).all()


def test_infinity_times_a_complex_alpha_of_one_stays_infinity() -> None:
    A = np.array([[np.inf + 0j]], np.complex64)
    result = cute_py.gemm(A, np.ones((1, 1), np.float32), kernel="cpu", compute="complex64")
    assert np.isinf(result[0, 0].real)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", ["cpu", "cpu_small"])
@pytest.mark.parametrize("isa", isas())
def test_biases_and_activations_of_whole_tiles(kernel: str, isa: str, dtype: str) -> None:
    """A bias along the rows, along the columns, of one number, of each element and none; tiles that are cut; guarded."""
    rng = np.random.default_rng(0)
    name = f"{kernel}_{isa}_{'f32' if dtype == 'float32' else 'f64'}"
    activations = {
        "relu": lambda x: np.maximum(x, 0),
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "gelu_tanh": lambda x: x / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    }
    for m, n, k in ((97, 19, 12), (5, 3, 400), (130, 16, 7)):
        A, B = numbers(rng, (m, k), dtype), numbers(rng, (n, k), dtype)
        for bias in (None, *(numbers(rng, shape, dtype) for shape in ((m, 1), (n,), (1, 1), (m, n)))):
            for activation, right in activations.items():
                room = np.full((m + 2, n + 2), 7, dtype, "F")
                out = room[1:-1, 1:-1]
                epilogue = cute_py.Epilogue(bias=bias, activation=activation)
                cute_py.gemm(A, B, out, alpha=0.5, epilogue=epilogue, kernel=name)
                sums = 0.5 * A.astype(np.longdouble) @ B.T.astype(np.longdouble)
                expected = right(sums if bias is None else sums + bias)
                np.testing.assert_allclose(out, expected, rtol=1e-5, atol=k * np.finfo(dtype).eps * 20)
                room[1:-1, 1:-1] = 7
                assert (room == 7).all()


@pytest.mark.parametrize(("dtype", "error"), [("float32", 2e-7), ("float64", 4e-16)])
@pytest.mark.parametrize("activation", ["sigmoid", "silu", "gelu", "gelu_tanh"])
@pytest.mark.parametrize("isa", isas())
def test_activations_are_as_exact_as_the_documentation_says(
    isa: str, activation: str, dtype: str, error: float
) -> None:
    x = np.concatenate([np.linspace(-12, 12, 4801), np.geomspace(1e-30, 1e-3, 100)]).astype(dtype)
    epilogue = cute_py.Epilogue(activation=activation)
    one = np.ones((1, 1), dtype)
    y = cute_py.gemm(x[:, None], one, epilogue=epilogue, kernel=f"cpu_{isa}_f{8 * one.itemsize}")[:, 0]
    wide = x.astype(np.longdouble)
    expected = {
        "sigmoid": lambda: 1 / (1 + np.exp(-wide)),
        "silu": lambda: wide / (1 + np.exp(-wide)),
        "gelu_tanh": lambda: wide / (1 + np.exp(-2 * np.sqrt(2 / np.longdouble(np.pi)) * (wide + wide**3 * 0.044715))),
        "gelu": lambda: 0.5 * wide * np.vectorize(math.erfc)(-x.astype(np.float64) / math.sqrt(2)),
    }[activation]()
    scale = abs(expected) if activation == "sigmoid" else abs(wide)
    assert (abs(y - expected) <= error * scale + np.finfo(dtype).smallest_subnormal).all()
    if activation == "gelu" and dtype == "float64":  # what is left of it far below zero keeps its digits
        np.testing.assert_allclose(y[x < -1], expected[x < -1].astype(np.float64), rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [385, 1500, 4097])
def test_panels_that_are_packed_once(k: int, dtype: str) -> None:
    rng = np.random.default_rng(k)
    A, B = numbers(rng, (50, k), dtype), numbers(rng, (21, k), dtype)
    same = cute_py.gemm(A, B, kernel="cpu")
    np.testing.assert_array_equal(cute_py.gemm(A, B, kernel="cpu_small"), same)
    np.testing.assert_allclose(same, A.astype(np.longdouble) @ B.T.astype(np.longdouble), atol=1e-2)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("seed", range(40))
def test_rectangles_of_products(seed: int, isa: str, threads) -> None:
    """Products of elements and short sums, in any order of the modes and at any strides: the bits of the engine."""
    rng = np.random.default_rng(seed)
    dtype = ("float32", "float64")[seed % 2]
    letters = "".join(rng.permutation(list("abcdk"[: rng.integers(3, 6)])))
    extents = {letter: int(2 ** rng.uniform(0, 5)) for letter in letters}
    a = "".join(letter for letter in letters if rng.random() < 0.8) or letters[0]
    b = "".join(rng.permutation([letter for letter in letters if letter not in a or rng.random() < 0.6]))
    result = "".join(rng.permutation([letter for letter in letters if letter != "k"]))
    A, B = (any_layout(rng, numbers(rng, tuple(extents[i] for i in part), dtype)) for part in (a, b))
    expected = np.einsum(f"{a},{b}->{result}", A.astype(np.longdouble), B.astype(np.longdouble))
    room = np.full([2 * extents[i] for i in result], 7, dtype)
    end = {"float32": "f32", "float64": "f64"}[dtype]
    for count in (1, 3):
        threads(count)
        for alpha in (1.0, -0.5):
            out = room[tuple(slice(extents[i] // 2, extents[i] // 2 + extents[i]) for i in result)]
            cute_py.contract(f"{a},{b}->{result}", A, B, out=out, alpha=alpha, kernel=f"cpu_loops_{isa}_{end}")
            np.testing.assert_allclose(out, alpha * expected, rtol=1e-4, atol=1e-4)
            same = cute_py.contract(f"{a},{b}->{result}", A, B, alpha=alpha, kernel=f"cpu_{isa}_{end}")
            np.testing.assert_array_equal(out, same)
            out[...] = 7
            assert (room == 7).all()


def at_odd_address(array: np.ndarray) -> np.ndarray:
    copy = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize(
    ("subscripts", "extents"),
    [
        ("d,abdc->abdc", {"a": 5, "b": 130, "c": 3, "d": 88}),  # each number for a line of three
        ("abdc,d->abdc", {"a": 2, "b": 3, "c": 64, "d": 300}),  # in several parts
        ("abdc,ad->abdc", {"a": 7, "b": 4, "c": 5, "d": 9}),  # other numbers for each a, the same for each b
        ("fgd,fgdc->fgdc", {"f": 3, "g": 41, "c": 2, "d": 1100}),
    ],
)
def test_numbers_of_short_lines(
    subscripts: str, extents: dict[str, int], isa: str, dtype: str, threads, rng: np.random.Generator
) -> None:
    x, y = (rng.standard_normal([extents[i] for i in x]).astype(dtype) for x in subscripts.split("->")[0].split(","))
    kernel = f"cpu_loops_{isa}_{dtype[0]}{dtype[-2:]}"
    for backwards in (False, True):
        if backwards:  # the numbers, and both at odd addresses
            x, y = (at_odd_address(z)[..., :: -1 if z.ndim < 4 else 1] for z in (x, y))
        for number in (1, 3):
            threads(number)
            out = np.full([extents[i] for i in subscripts[-4:]], np.nan, dtype)
            cute_py.contract(subscripts, x, y, out=out, alpha=0.5, kernel=kernel)
            np.testing.assert_array_equal(out, np.dtype(dtype).type(0.5) * np.einsum(subscripts, x, y))


def test_a_result_in_short_pieces_is_ordered_anew(threads) -> None:
    """If the fastest mode of a result is one of the batch, or short, products are computed side by side and moved.

    From which size on depends on the processor, and many threads write pieces as fast as they would move them.
    """
    threads(1)
    rng = np.random.default_rng(0)
    subscripts = "deca,dcbe->bade"
    ways = set()
    for c, a, b in ((12, 94, 39), (48, 94, 64), (160, 128, 64)):
        A, B = numbers(rng, (13, 23, c, a), "float32"), numbers(rng, (13, c, b, 23), "float32")
        explanation = cute_py.contract.explain(subscripts, A, B)
        ways.add(tuple(step.what for step in explanation.steps))
        assert 0 <= explanation.workspace_bytes <= 16 << 20
        expected = np.einsum(subscripts, A.astype(float), B.astype(float), optimize=True)
        np.testing.assert_allclose(cute_py.contract(subscripts, A, B), expected, atol=1e-3)
        C = numbers(rng, expected.shape, "float32")
        updated = cute_py.contract(subscripts, A, B, C.copy(), alpha=2, beta=3)
        np.testing.assert_allclose(updated, 2 * expected + 3 * C, atol=1e-3)
    assert ("multiply", "unpack C") in ways


@pytest.mark.parametrize(
    "subscripts", ["acb,c->cba", "deca,dcbe->bade", "ab,bc->ca", "abk,kc->bca", "a,bc->cab", "ab->"]
)
def test_a_new_result_lies_as_suits_the_product(subscripts: str) -> None:
    rng = np.random.default_rng(0)
    extents = dict(zip("abcdek", (4, 5, 6, 2, 3, 7), strict=True))
    operands = [
        numbers(rng, tuple(extents[i] for i in part), "float32") for part in subscripts.split("->")[0].split(",")
    ]
    expected = np.einsum(subscripts, *operands)
    found = cute_py.einsum(subscripts, *operands)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=1e-4)
    plain = cute_py.einsum(subscripts, *operands, order="C")
    assert plain.flags.c_contiguous
    np.testing.assert_array_equal(plain, found)
    np.testing.assert_array_equal(cute_py.einsum.plan(subscripts, *operands)(*operands), found)
    if len(operands) == 2:
        assert cute_py.contract(subscripts, *operands).flags.c_contiguous
        same = cute_py.contract(subscripts, *operands, order="K")
        assert same.strides == found.strides
        explanation = cute_py.contract.explain(subscripts, *operands, order="K")
        assert explanation.order == tuple(np.argsort([-stride for stride in found.strides], kind="stable"))


def test_the_order_of_a_batch_and_of_one_factor() -> None:
    A, B = np.ones((2, 3, 4, 5), np.float32), np.ones((2, 5, 70), np.float32)
    assert cute_py.einsum("lmnk,lkj->jnml", A, B).strides == (4, 70 * 4, 4 * 70 * 4, 3 * 4 * 70 * 4)
    assert cute_py.einsum("abcd,b->dcba", A, np.ones(3, np.float32)).transpose(3, 2, 1, 0).flags.c_contiguous
    with pytest.raises(cute_py.OperandError, match="order is 'C'"):
        cute_py.contract("ab,b->a", A[0, 0], np.ones(5, np.float32), order="F")


def test_the_choice_knows_how_many_threads_there_are(threads) -> None:
    A, B = np.ones((400, 500), np.float32), np.ones((300, 500), np.float32)
    threads(1)
    alone = cute_py.gemm.explain(A, B).us
    threads(8)
    assert cute_py.gemm.explain(A, B).us < alone / 2


@pytest.mark.parametrize(
    ("files", "groups", "processors"),
    [
        ({"cpu.max": "max 100000"}, "0::/", 0),
        ({"cpu.max": "250000 100000"}, "0::/", 2.5),
        ({"a/cpu.max": "400000 100000", "a/b/cpu.max": "max 100000"}, "0::/a/b", 4),
        ({"a/cpu.max": "100000 100000", "a/b/cpu.max": "400000 100000"}, "0::/a/b", 1),
        (
            {"cpu/x/cpu.cfs_quota_us": "150000", "cpu/x/cpu.cfs_period_us": "100000"},
            "4:cpu,cpuacct:/x\n3:memory:/x",
            1.5,
        ),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "4:cpu:/", 0),
        ({"cpu.max": "nonsense"}, "nonsense", 0),
        ({}, "0::/../../x", 0),
    ],
)
def test_quotas_of_control_groups(files: dict[str, str], groups: str, processors: float, tmp_path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    (tmp_path / "groups").write_text(groups + "\n")
    assert cute_py._core.processors_of_quota(str(tmp_path / "groups"), str(tmp_path)) == processors


@pytest.mark.parametrize(("text", "threads"), [("3", 3), ("2,4", 2), ("0", None), ("many", None), ("99999", 1024)])
def test_omp_num_threads(text: str, threads: int | None) -> None:
    program = "import cute_py; print(cute_py.get_num_threads(), cute_py._core.host_processors())"
    environment = {**os.environ, "OMP_NUM_THREADS": text}
    found = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    used, processors = map(int, found.stdout.split())
    assert used == (threads or processors)


def test_threadpoolctl(threads) -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    threads(3)
    cute_py.register_threadpoolctl()
    assert [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "cute_py"] == [3]
    with threadpoolctl.threadpool_limits(1, user_api="cute_py"):
        assert cute_py.get_num_threads() == 1
    assert cute_py.get_num_threads() == 3
