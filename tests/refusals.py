"""Refusals of the public API, group by group: the call, its rule, its `next:`, and the way out taken.

See `test_refusals.py`, which provokes them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cute_py as cp
import cute_py.algorithm as algorithm
import cute_py.layout as cl
from cute_py import Cpu, CudaError, Device, EmulatorOptions, Epilogue, LayoutError, OperandError, atoms
from cute_py import UnsupportedProblemError as Unsupported
from cute_py.analysis import coalescing, f2_matrix, from_f2_matrix
from cute_py.laws import check_law
from cute_py.layout import E, Layout, Swizzle, X

SAYS = "says"  # the rule itself names what works

A = np.ones((4, 8), np.float32)
B = np.ones((6, 8), np.float32)
PLAIN = Layout((4, 8))
GRID = cl.make_identity_layout((4, 8))
SWIZZLED = cl.composition(Swizzle(1, 1, 2), PLAIN)


@dataclass(frozen=True)
class Refusal:
    """A call that is refused: patterns of its rule and of its `next:`, and the way out taken, which has to work."""

    name: str
    error: type[Exception]
    call: Callable[[], Any]
    rule: str
    next: str = SAYS
    way: Callable[[], Any] | None = None
    needs: str = ""  # a library

    def __str__(self) -> str:
        return self.name


def of(array: Any, *layout: Any) -> Any:
    return cp.make_tensor(array, *layout)


def read_only() -> Any:
    return np.broadcast_to(np.float32(1), (4, 6))


@cache
def fma() -> Any:
    return cp.make_tiled_mma(atoms.mma["UniversalFMA<float>"], Layout((2, 2, 1)))


@cache
def wide() -> Any:
    return atoms.copy["UniversalCopy<uint128_t>"].atom("float")


@cache
def tiled() -> Any:
    return cp.make_tiled_copy(wide(), Layout((32, 1)), Layout((1, 4)))


@cache
def traced() -> Any:
    return cp.kernels()["sgemm_1_nt_f32"].trace()


def kernel(name: str) -> Any:
    return cp.kernels()[name]


def named(name: str, text: str) -> Path:
    path = Path(tempfile.mkdtemp()) / name
    path.write_text(text)
    return path


def torch() -> Any:
    return pytest.importorskip("torch")


def in_torch() -> Any:
    return pytest.importorskip("cute_py.torch")


def in_jax() -> Any:
    return pytest.importorskip("cute_py.jax")


def in_dask() -> Any:
    return pytest.importorskip("cute_py.dask")


def unknown_chunks() -> Any:
    array = pytest.importorskip("dask.array")
    return array.ones((4, 4), chunks=2)[array.ones(4, chunks=2) > 0]


def part_of_records() -> Any:
    return np.ones((4, 8), [("a", "i1"), ("b", "f4")])["b"]


def bfloat16(shape: tuple[int, int], order: Any) -> Any:
    return np.empty(shape, pytest.importorskip("ml_dtypes").bfloat16, order=order)


def short(matrix: Any) -> Any:
    return np.asfortranarray(matrix).astype(pytest.importorskip("ml_dtypes").bfloat16, order="F")


def many_modes() -> Any:
    return np.ones((1,) * 64, np.float32)


def ones(*shape: int) -> Any:
    return torch().ones(shape)


def tma(
    op: str = "SM90_TMA_LOAD",
    tensor: Any = "(64,64):(1,64)",
    smem: Any = "(8,8):(1,8)",
    tile: Any = None,
    dtype: str = "float",
    multicast: int = 1,
) -> Any:
    return cp.make_tma_copy(op, tensor, smem, tile, dtype=dtype, multicast=multicast)


R = Refusal

PRODUCTS = [
    R("list", OperandError, lambda: cp.gemm([[1.0]], A), "A is a list", r"numpy\.asarray\(A\)",
        lambda: cp.gemm(np.asarray([[1.0] * 8]), A)),
    R("list of integers", OperandError, lambda: cp.gemm([[1] * 8], A), "A is a list", r"asarray\(A, 'float64'\)",
        lambda: cp.gemm(np.asarray([[1] * 8], "float64"), A)),
    R("list of texts", OperandError, lambda: cp.gemm([["a"]], A), "A is a list", "array of numbers"),
    R("number", OperandError, lambda: cp.gemm(3.0, A), "A is a float", r"numpy\.full\(shape",
        lambda: cp.gemm(np.full((2, 8), 3.0, "float32"), A)),
    R("number for C", OperandError, lambda: cp.gemm(A, B, 3), "C is a int", r"numpy\.full\(shape, C, 'float32'\)",
        lambda: cp.gemm(A, B, np.full((4, 6), 3, "float32"))),
    R("class", OperandError, lambda: cp.gemm(np.float32, A), "A is the class float32", "array of it",
        lambda: cp.gemm(np.ones((1, 8), np.float32), A)),
    R("text", OperandError, lambda: cp.outer(A[0], "x"), "B is a str", "pass an array of NumPy"),
    R("masked", OperandError, lambda: cp.gemm(np.ma.ones((4, 8), dtype="float32"), A), "masked", r"A\.filled\(0\)",
        lambda: cp.gemm(np.ma.ones((4, 8), dtype="float32").filled(0), A)),
    R("objects", OperandError, lambda: cp.gemm(A.astype(object), A), "cannot be exported",
        r"numpy\.array\(A, dtype=numpy\.float64\)", lambda: cp.gemm(np.array(A.astype(object), dtype=np.float64), A)),
    R("byte order", OperandError, lambda: cp.gemm(A.astype(">f4"), A), "byte order",
        r"A\.astype\(A\.dtype\.newbyteorder", lambda: cp.gemm(A.astype(">f4").astype(A.dtype.newbyteorder("=")), A)),
    R("strides of a part", OperandError, lambda: cp.gemm(part_of_records(), A), "multiple of itemsize", r"A\.copy\(\)",
        lambda: cp.gemm(part_of_records().copy(), A)),
    R("texts", OperandError, lambda: cp.gemm(np.array([["a"]]), A), "cannot be exported",
        "^pass an array of numbers in native byte order whose strides are whole elements$"),
    R("rank", OperandError, lambda: cp.gemm(A[0], A), "A has rank 1", r"v\[None, :\]",
        lambda: cp.gemm(A[0][None, :], A)),
    R("K by N", OperandError, lambda: cp.gemm(A, B.T), "needs the same K", r"pass B\.T", lambda: cp.gemm(A, B.T.T)),
    R("batch first", OperandError, lambda: cp.gemm(np.ones((2, 3, 4), np.float32), np.ones((2, 4, 5), np.float32)),
        "same K", r"cute_py\.matmul",
        lambda: cp.matmul(np.ones((2, 3, 4), np.float32), np.ones((2, 4, 5), np.float32))),
    R("K", OperandError, lambda: cp.gemm(A, B[:, :5]), "needs the same K", "check the shapes"),
    R("batch", OperandError, lambda: cp.gemm(np.ones((2, 3, 4), np.float32), np.ones((2, 3, 5), np.float32)),
        "needs the same L", "without its last mode",
        lambda: cp.gemm(np.ones((2, 3, 4), np.float32), np.ones((2, 3), np.float32))),
    R("int64", OperandError, lambda: cp.gemm(A.astype("int64"), A), "A is none of them",
        "convert A, for instance to float64", lambda: cp.gemm(A.astype("float64"), A)),
    R("int8 by float", Unsupported, lambda: cp.gemm(A.astype("int8"), A), "int8 only by int8",
        "convert the int8 array to the other's type", lambda: cp.gemm(A.astype("int8").astype("float32"), A)),
    R("shape of C", OperandError, lambda: cp.gemm(A, B, np.zeros((3, 3), np.float32)), r"C \(M,N\) = \(4,6\)",
        "a C of that shape, or none", lambda: cp.gemm(A, B)),
    R("type of out", OperandError, lambda: cp.gemm(A, B, out=np.zeros((4, 6), np.int32)), "writes .*float32",
        "pass a float32 out, or none", lambda: cp.gemm(A, B, out=np.zeros((4, 6), np.float32))),
    R("read-only out", OperandError, lambda: cp.gemm(A, B, out=read_only()), "read-only", "a writable out, or none",
        lambda: cp.gemm(A, B, out=read_only().copy())),
    R("overlap", OperandError, lambda: cp.gemm(A[:, :4], A[:, :4], out=A[:, :4]), "may overlap",
        "copy A, or pass no out", lambda: cp.gemm(A[:, :4], A[:, :4])),
    R("elements in one place", OperandError,
        lambda: cp.gemm(A, B, out=np.lib.stride_tricks.as_strided(np.zeros(6, np.float32), (4, 6), (0, 4))),
        "several elements in one place", "its own memory for every element"),
    R("beta without C", OperandError, lambda: cp.gemm(A, B, beta=1), "no C was given", "pass C, or beta=0",
        lambda: cp.gemm(A, B, beta=0)),
    R("alpha is text", OperandError, lambda: cp.gemm(A, B, alpha="x"), "alpha is a number, got 'x'"),
    R("complex alpha", OperandError, lambda: cp.gemm(A, B, alpha=1j), "alpha is a real number",
        "convert A or B to a complex type", lambda: cp.gemm(A.astype("complex64"), B, alpha=1j)),
    R("out_dtype", Unsupported, lambda: cp.gemm(A, B, out_dtype="int32"), "not int32", "leave out_dtype out",
        lambda: cp.gemm(A, B)),
    R("wider out_dtype", Unsupported, lambda: cp.gemm(A, B, out_dtype="float64"), "not float64", "compute='float64'",
        lambda: cp.gemm(A, B, out_dtype="float64", compute="float64")),
    R("out_dtype of another order", OperandError, lambda: cp.gemm(A, B, out_dtype=">f4"), "byte order",
        "out_dtype='float32'", lambda: cp.gemm(A, B, out_dtype="float32")),
    R("compute", OperandError, lambda: cp.gemm(A, B, compute="x"), "compute is one of float32,"),
    R("compute of other types", Unsupported, lambda: cp.gemm(A, B, compute="int32"), "takes A and B of int8",
        "convert them, or leave compute out", lambda: cp.gemm(A.astype("int8"), B.astype("int8"), compute="int32")),
    R("order", OperandError, lambda: cp.gemm(A, B, order="F"), "order is 'C'.* or 'K'", "pass out",
        lambda: cp.gemm(A, B, out=np.empty((4, 6), np.float32, order="F"))),
    R("workspace", OperandError, lambda: cp.gemm(A, B, workspace=-1), "an integer of at least 0, got -1"),
    R("batch_invariant", OperandError, lambda: cp.gemm(A, B, batch_invariant=3), "True or False, got 3"),
    R("stream", OperandError, lambda: cp.gemm(A, B, stream="x"), "neither a handle nor a stream",
        "cudaStream_t as an int", lambda: cp.gemm(A, B, stream=0)),
    R("negative stream", OperandError, lambda: cp.gemm(A, B, stream=-1), "a handle >= 0, got -1"),
    R("config", OperandError, lambda: cp.gemm(A, B, config=3), "candidates of explain",
        r"config=explanation\.candidates\[0\]", lambda: cp.gemm(A, B, config=cp.gemm.explain(A, B).candidates[0])),
    R("kernel", OperandError, lambda: cp.gemm(A, B, kernel="foo"), "no kernel is called 'foo'; there are: "),
    R("kernel of another type", OperandError, lambda: cp.gemm(A, B, kernel=3), "kernel is a name, a str",
        "kernel='auto'", lambda: cp.gemm(A, B, kernel=cp.kernels()["sgemm_1_nested_f32"], device="emulator")),
    R("near kernel", OperandError, lambda: cp.gemm(A, B, kernel="sgemm_9"), "near: sgemm_"),
    R("kernel that cannot", Unsupported, lambda: cp.gemm(A, B, kernel="sgemm_1_nt_f32", device="emulator"),
        "no kernel called", "kernel='auto'", lambda: cp.gemm(A, B, kernel="auto", device="emulator")),
    R("major", OperandError, lambda: cp.sgemm_nt(A, B), "needs A m-major", r"numpy\.asfortranarray\(A\)",
        lambda: cp.sgemm_nt(np.asfortranarray(A), np.asfortranarray(B))),
    R("major of a bfloat16 C", OperandError, lambda: cp.bgemm_nt(short(A), short(B), bfloat16((4, 6), "C")),
        "needs C m-major", r"numpy\.empty\(\(M, N\), ml_dtypes\.bfloat16, order='F'\)",
        lambda: cp.bgemm_nt(short(A), short(B), bfloat16((4, 6), "F")), "ml_dtypes"),
    R("type of a BLAS name", OperandError, lambda: cp.sgemm_tn(A.astype("float64"), B), "multiplies float32",
        r"convert A to float32, or use cute_py\.gemm", lambda: cp.gemm(A.astype("float64"), B)),
    R("gett", OperandError, lambda: cp.gett(A, B), "A has rank 2", "contract takes arrays of any rank",
        lambda: cp.contract("ak,bk->ab", A, B)),
    R("permute", OperandError, lambda: cp.permute(A, (0, 0)), "do not name each", r"such as \(1, 0\)",
        lambda: cp.permute(A, (1, 0))),
    R("out of permute", OperandError, lambda: cp.permute(A, (1, 0), np.zeros((3, 3), np.float32)),
        r"out of the shape \(8,4\)", "an out of that shape, or none",
        lambda: cp.permute(A, (1, 0), np.zeros((8, 4), np.float32))),
    R("type of permute", OperandError, lambda: cp.permute(A, (1, 0), np.zeros((8, 4))), "keeps the type of A",
        "an out of the type float32", lambda: cp.permute(A, (1, 0), np.zeros((8, 4), np.float32))),
    R("matrix_transpose", OperandError, lambda: cp.matrix_transpose(A[0]), "two modes and more", r"A\[None, :\]\.T",
        lambda: A[0][None, :].T),
    R("transpose of a list", OperandError, lambda: cp.transpose([1.0, 2.0]), "A is a list", r"numpy\.asarray\(A\)",
        lambda: cp.transpose(np.asarray([1.0, 2.0]))),
    R("matmul", OperandError, lambda: cp.matmul(A, B), "last mode of A", r"gemm takes B \(N,K\)",
        lambda: cp.gemm(A, B)),
    R("matmul by a number", OperandError, lambda: cp.matmul(A, 3.0), "neither", r"contract\(',\.\.\.->\.\.\.', a, b\)",
        lambda: cp.contract(",...->...", 3.0, A)),
    R("vecdot", OperandError, lambda: cp.vecdot(A, A[:, :5]), "sums over axis -1", "check the shapes"),
    R("inner", OperandError, lambda: cp.inner(A, A[:, :5]), "last axes", "check the shapes"),
    R("tensordot", OperandError, lambda: cp.tensordot(A, A, 3), "a number from 0 to 2",
        r"a number of axes, or \(\[of A\], \[of B\]\)", lambda: cp.tensordot(A, A, ([1], [1]))),
    R("extents of tensordot", OperandError, lambda: cp.tensordot(A, A, ([0], [1])), "axis 0 of A, of extent 4",
        "check the axes"),
    R("modes", OperandError, lambda: cp.tensordot(many_modes(), many_modes(), 0), "has more than 64 modes",
        "merge modes, with reshape", lambda: cp.tensordot(many_modes().reshape(1, 1), many_modes().reshape(1, 1), 0)),
]  # fmt: skip
EINSUM = [
    R("contract without text", OperandError, lambda: cp.contract(3, A, B), "a text such as 'abk,ck->abc'",
        r"contract\('abk,ck->abc', A, B\)"),
    R("arrow", OperandError, lambda: cp.contract("ab,bc->ac->d", A, A.T), "misplaced", "write them like",
        lambda: cp.contract("ab,bc->ac", A, A.T)),
    R("index of the result", OperandError, lambda: cp.contract("ab,bc->ad", A, A.T), "index d in the result",
        "write them like"),
    R("too many indices", OperandError, lambda: cp.contract("abc,cb->ac", A, A), "name 3 indices", "write them like"),
    R("extent", OperandError, lambda: cp.contract("ab,cb->ac", A, A[:, :5]),
        "one extent for index b, got 8 in A and 5 in B", "check the subscripts and the shapes"),
    R("nothing", OperandError, lambda: cp.einsum(), "got nothing", r"einsum\('ij,jk->ik', A, B\)",
        lambda: cp.einsum("ij,jk->ik", A, A.T)),
    R("no array", OperandError, lambda: cp.einsum("ij"), "got no array", r"einsum\('ij,jk->ik', A, B\)",
        lambda: cp.einsum("ij,jk->ik", A, A.T)),
    R("list", OperandError, lambda: cp.einsum("ij,kj->ik", [[1] * 8], A), "operand 1 is a list",
        r"numpy\.asarray\(x, 'float64'\)", lambda: cp.einsum("ij,kj->ik", np.asarray([[1] * 8], "float64"), A)),
    R("count", OperandError, lambda: cp.einsum("ij,jk->ik", A), "name 2 operands, and there are 1", "write them like"),
    R("lists", OperandError, lambda: cp.einsum(A, [0, 99], A, [0, 1]), "from 0 to 51",
        r"einsum\(A, \[0, 1\], B, \[1, 2\], \[0, 2\]\)", lambda: cp.einsum(A, [0, 1], A.T, [1, 2], [0, 2])),
    R("diagonal", OperandError, lambda: cp.einsum("ii->i", A), "extents 4 and 8 differ", "check the shapes"),
    R("way", OperandError, lambda: cp.einsum("ij,jk,kl->il", A, A.T, A, optimize="foo"),
        "no way to order pairs called 'foo'", "'greedy'",
        lambda: cp.einsum("ij,jk,kl->il", A, A.T, A, optimize="greedy"), "opt_einsum"),
    R("path", OperandError, lambda: cp.einsum("ij,jk,kl->il", A, A.T, A, optimize=[(0, 5)]), "no path for 3 operands",
        "a list of tuples of positions", lambda: cp.einsum("ij,jk,kl->il", A, A.T, A, optimize=[(0, 1), (0, 1)])),
    R("int8 by three", Unsupported, lambda: cp.einsum("ij,jk,kl->il", *(x.astype("int8") for x in (A, A.T, A))),
        "int8 takes two", "for instance to float32", lambda: cp.einsum("ij,jk,kl->il", A, A.T, A), "opt_einsum"),
    R("int64 by three", OperandError, lambda: cp.einsum("ij,jk,kl->il", A.astype("int64"), A.T, A),
        "operand 1 is none of them", "convert operand 1, for instance to float64",
        lambda: cp.einsum("ij,jk,kl->il", A.astype("float64"), A.T, A), "opt_einsum"),
    R("extent of three", OperandError, lambda: cp.einsum("ij,jk,kl->il", A, A.T, B), "one extent for index k",
        "check the subscripts", None, "opt_einsum"),
]  # fmt: skip
PLANS = [
    R("other layout", OperandError, lambda: cp.gemm.plan(A, A)(A.T, A.T), "not laid out like those of the plan",
        "make a plan for these", lambda: cp.gemm.plan(A.T, A.T)(A.T, A.T)),
    R("other shapes", OperandError, lambda: cp.gemm.plan(A, A)(A, A[:, ::2]), "needs the same K", "check the shapes"),
    R("count of arrays", OperandError, lambda: cp.einsum.plan("ij,kj->ik", A, A)(A), "takes 2 arrays, got 1",
        "those that it was made for", lambda: cp.einsum.plan("ij,kj->ik", A, A)(A, A)),
    R("device of a plan", CudaError, lambda: cp.gemm.plan(A, A, device="cuda:99"), "asked for", "device='emulator'",
        lambda: cp.gemm.plan(A, A, device="emulator")),
]  # fmt: skip
EPILOGUE = [
    R("activation", OperandError, lambda: Epilogue(activation="x"), "activation is one of none, relu,"),
    R("scale", OperandError, lambda: Epilogue(scale="x"), "a real number that float64 holds"),
    R("saturate", OperandError, lambda: Epilogue(saturate=3), "True or False, got 3"),
    R("dict", OperandError, lambda: cp.gemm(A, B, epilogue={}), "a cute_py.Epilogue or None",
        r"cute_py\.Epilogue\(activation='relu'\)", lambda: cp.gemm(A, B, epilogue=cp.Epilogue(activation="relu"))),
    R("complex activation", Unsupported, lambda: cp.gemm(A + 0j, B + 0j, epilogue=Epilogue(activation="relu")),
        "complex numbers is not defined", "leave the activation out", lambda: cp.gemm(A + 0j, B + 0j)),
    R("bias", OperandError, lambda: cp.gemm(A, B, epilogue=Epilogue(bias=np.ones(7, np.float32))), "cannot repeat bias",
        r"one per column \(N,\)", lambda: cp.gemm(A, B, epilogue=Epilogue(bias=np.ones(6, np.float32)))),
    R("type of bias", OperandError, lambda: cp.gemm(A, B, epilogue=Epilogue(bias=np.ones(6, np.int32))),
        "adds a bias of", "convert bias to float32",
        lambda: cp.gemm(A, B, epilogue=Epilogue(bias=np.ones(6, np.float32)))),
]  # fmt: skip
DEVICES = [
    R("device", OperandError, lambda: cp.gemm(A, B, device="x"), "'x' is none of 'cpu', 'emulator', 'cuda'",
        r'Device\.preset\("H100"\)', lambda: cp.gemm.explain(A, B, device=Device.preset("H100"))),
    R("type of device", OperandError, lambda: cp.gemm(A, B, device=3), "a name, such as 'cpu'.*, or a cute_py.Device"),
    R("no GPU", CudaError, lambda: cp.gemm(A, B, device="cuda:99"), "'cuda:99' asked for",
        "device='cpu' computes on the CPU", lambda: cp.gemm(A, B, device="cpu")),
    R("CPU kernel elsewhere", OperandError, lambda: cp.gemm(A, B, kernel="cpu", device="emulator"), "runs on the CPU",
        "leave device out", lambda: cp.gemm(A, B, kernel="cpu")),
    R("GPU kernel on a CPU", OperandError, lambda: cp.gemm(A, B, kernel="sgemm_sm80", device="cpu"),
        "does not run on the CPU", "device='emulator'", lambda: cp.gemm(A, B, kernel="sgemm_sm80", device="emulator")),
    R("preset", OperandError, lambda: Device.preset("x"), "'x' is none of H200", r"Device\(name, \.\.\.\)",
        lambda: Device("x")),
    R("name", OperandError, lambda: Device(3), "name is a str"),
    R("capability", OperandError, lambda: Device("x", compute_capability=3), r"a pair of integers such as \(9, 0\)"),
    R("figure", OperandError, lambda: Device("x", clock_mhz=0), "at least 1, got 0"),
    R("measured figure", OperandError, lambda: Device("x", launch_us=0), "launch_us is a number above 0, got 0"),
    R("efficiency", OperandError, lambda: Device("x", memory_efficiency=2), "at most 1, got 2"),
    R("name of a CPU", OperandError, lambda: Cpu(3), "Cpu: name is a str"),
    R("isa", OperandError, lambda: Cpu("x", isa="avx"), "there is no isa 'avx'", "'baseline', 'avx2', 'avx512'",
        lambda: Cpu("x", isa="avx2")),
    R("threads of a CPU", OperandError, lambda: Cpu("x", threads=0), "threads is an integer from 1 to 1024, got 0"),
    R("rate", OperandError, lambda: Cpu("x", rates={"gemm": 1}), "there is no rate 'gemm'", "one of .*fma_per_us",
        lambda: cp.gemm.explain(A, B, device=Cpu("x", rates={"fma_per_us": 5e4}))),
    R("value of a rate", OperandError, lambda: Cpu("x", rates={"fma_per_us": 0}), "rate fma_per_us is a number above 0"),
    R("GPU kernel on an invented CPU", OperandError, lambda: cp.gemm(A, B, kernel="sgemm_1", device=Cpu("x")),
        "runs on a GPU, not on x", "leave device out", lambda: cp.gemm(A, B, kernel="sgemm_1", device="emulator")),
    R("emulator", OperandError, lambda: cp.gemm(A, B, device="emulator", emulator={}),
        "cute_py.EmulatorOptions or None", r"EmulatorOptions\(seed=1\)",
        lambda: cp.gemm(A, B, device="emulator", emulator=EmulatorOptions(seed=1))),
    R("order of threads", OperandError, lambda: EmulatorOptions(order="x"), "one of forward, backward, random"),
    R("seed", OperandError, lambda: EmulatorOptions(seed=-1), r"in \[0, 2\*\*64\)"),
    R("poison", OperandError, lambda: EmulatorOptions(poison_shared_memory=3), "True or False"),
    R("a generation without tensor cores", OperandError, lambda: EmulatorOptions(compute_capability=(6, 1)), r"from \(7, 5\) on", "compute_capability",
        lambda: EmulatorOptions(compute_capability=Device.preset("A100").compute_capability)),
    R("a generation as a number", OperandError, lambda: EmulatorOptions(compute_capability=9.0), r"from \(7, 5\) on", "compute_capability",
        lambda: EmulatorOptions(compute_capability=(9, 0))),
    R("threads", OperandError, lambda: cp.set_num_threads(0), "from 1 to 1024, or None"),
]  # fmt: skip
TUNING = [
    R("what", OperandError, lambda: cp.tune(3), "a product of two arrays", r"tune\(cute_py\.gemm, A, B\)",
        lambda: cp.tune(cp.gemm, A, B)),
    R("einsum", OperandError, lambda: cp.tune(cp.einsum, "ij,kj->ik", A, B), "a product of two arrays",
        "for einsum, contract with the subscripts of each pair", lambda: cp.tune(cp.contract, "ij,kj->ik", A, B)),
    R("another file", OperandError, lambda: cp.load_tuning(named("x.json", "[1]")), "no file of save_tuning",
        "pass a file that save_tuning wrote"),
    R("another version", OperandError, lambda: cp.load_tuning(named("x.json", '{"cute_py_tuning": 0, "products": []}')),
        "is of version 0", "tune again"),
]  # fmt: skip
ALGEBRA = [
    R("stride", LayoutError, lambda: Layout((4, 8), (1,)), "not congruent: they need the same nesting"),
    R("text", LayoutError, lambda: cl.parse("(4,8"),
        r"expected '\)' at character 4; a layout is written \(4,8\):\(1,4\)"),
    R("extent", LayoutError, lambda: Layout((4, -1)), "extents are 0 or more"),
    R("empty tuple", LayoutError, lambda: Layout((4, ())), "an empty tuple in it"),
    R("basis in a shape", LayoutError, lambda: Layout((4, E(0))), "only a stride can be one"),
    R("no argument", LayoutError, lambda: cl.make_layout(), "give a shape, a shape and a stride, or layouts"),
    R("what", LayoutError, lambda: Layout(PLAIN, 1), "must be an integer or a tuple of integers"),
    R("coordinate", LayoutError, lambda: PLAIN((1, 2, 3)), "does not fit the shape",
        "an integer for each mode, or one index", lambda: (PLAIN((1, 2)), PLAIN(9))),
    R("coordinate of a shape", LayoutError, lambda: cl.crd2idx((1, 2, 3), (4, 8)), "does not fit the shape",
        "an integer for each mode", lambda: cl.crd2idx((1, 2), (4, 8))),
    R("stride of a layout", LayoutError, lambda: cl.crd2idx((1, 1), PLAIN, (1, 4)), "the layout has its own",
        "leave it out", lambda: cl.crd2idx((1, 1), PLAIN)),
    R("index", LayoutError, lambda: cl.idx2crd((1, 2, 3), (4, 8)), "differ in rank", "two of one nesting",
        lambda: cl.idx2crd((1, 2), (4, 8))),
    R("nested index", LayoutError, lambda: cl.idx2crd((1, (2, 3)), (4, 8)), "differ in rank", "two of one nesting",
        lambda: cl.idx2crd((1, 2), (4, 8))),
    R("inverse of a coordinate stride", LayoutError, lambda: cl.idx2crd(3, (4, 8), (E(0), 1)), "no inverse",
        "integers of 1 or more", lambda: cl.idx2crd(3, (4, 8), (1, 4))),
    R("arrays by stride 0", LayoutError, lambda: cl.idx2crd(np.arange(3), (4, 8), (0, 1)),
        "no inverse along the stride 0", "integers of 1 or more", lambda: cl.idx2crd(np.arange(3), (4, 8), (1, 4))),
    R("arrays that do not broadcast", LayoutError, lambda: PLAIN((np.arange(3), np.arange(4))), "do not broadcast",
        r"x\[:, None\]", lambda: PLAIN((np.arange(3)[:, None], np.arange(4)))),
    R("arrays of another rank", LayoutError, lambda: PLAIN((np.arange(3), 1, 2)), "does not fit the shape",
        "an element for each mode", lambda: PLAIN((np.arange(3), 1))),
    R("arrays of large numbers", LayoutError, lambda: PLAIN(np.array([2**60])), "55 bits", "one coordinate at a time",
        lambda: PLAIN(2**60)),
    R("arrays of large values", LayoutError, lambda: Layout((4, 8), (2**55, 1))(np.array([3])), "55 bits",
        "one coordinate at a time", lambda: Layout((4, 8), (2**55, 1))(3)),
    R("array of floats", LayoutError, lambda: PLAIN(np.ones(3)), "integers in its arrays", r"astype\(np\.int64\)",
        lambda: PLAIN(np.ones(3).astype(np.int64))),
    R("masked array", LayoutError, lambda: PLAIN(np.ma.arange(3)), "masked array", r"x\.filled\(value\)",
        lambda: PLAIN(np.ma.arange(3).filled(0))),
    R("open mode beside an array", LayoutError, lambda: PLAIN((np.arange(3), None)), "no mode open",
        r"np\.arange in the place of None", lambda: PLAIN((np.arange(3)[:, None], np.arange(8)))),
    R("kinds of strides", LayoutError, lambda: cl.crd2idx((np.arange(3), np.arange(3)), (4, 8), (E(0), 1)),
        "cannot be added", "all integers, or all basis elements",
        lambda: cl.crd2idx((np.arange(3), np.arange(3)), (4, 8), (E(0), E(1)))),
    R("mode", LayoutError, lambda: cl.select(PLAIN, 5), "no mode 5", "count them from 0 to 1",
        lambda: cl.select(PLAIN, 1)),
    R("mode of a tuple", LayoutError, lambda: cl.get((1, 2), 5), "no mode 5", "count them from 0",
        lambda: cl.get((1, 2), 1)),
    R("mode of a shape", LayoutError, lambda: cl.rank(PLAIN, 5), "no mode 5", "count them from 0",
        lambda: cl.rank(PLAIN, 0)),
    R("range of modes", LayoutError, lambda: cl.group(PLAIN, 0, 5), "no range of modes", "0 <= begin < end <= 2",
        lambda: cl.group(PLAIN, 0, 2)),
    R("range with a step", LayoutError, lambda: PLAIN[0:2:2], "has the step 1", r"select\(layout, 0, 2\)",
        lambda: cl.select(Layout((2, 3, 4)), 0, 2)),
    R("append", LayoutError, lambda: cl.append(Layout((4, 8, 2)), 2), "more than 2 modes", r"take\(layout, 0, 2\)",
        lambda: cl.take(Layout((4, 8, 2)), 0, 2)),
    R("prepend", LayoutError, lambda: cl.prepend(Layout((4, 8, 2)), 2), "more than 2 modes", r"take\(layout, 0, 2\)",
        lambda: cl.take(Layout((4, 8, 2)), 0, 2)),
    R("profile", LayoutError, lambda: cl.coalesce(Layout(4), (1, 1)), "more modes than", "give 1 or fewer",
        lambda: cl.coalesce(Layout(4), 1)),
    R("tiler", LayoutError, lambda: cl.logical_divide(Layout(4), (2, 2)), "more modes than", "give it 1 or fewer",
        lambda: cl.logical_divide(Layout(4), 2)),
    R("tiler of a composition", LayoutError, lambda: cl.composition(Layout(4), (2, 2)), "more modes than",
        "give it 1 or fewer", lambda: cl.composition(Layout(4), 2)),
    R("open mode of a tiler", LayoutError, lambda: cl.zipped_divide(PLAIN, (X, 2)), "no pair at the leaf _",
        "an extent in the place of `_`", lambda: (cl.zipped_divide(PLAIN, (1, 2)), cl.zipped_divide(PLAIN, (4, 2)))),
    R("depths of strides", LayoutError,
        lambda: cl.composition(Layout((2, (3, 4)), (1, (8, 2))), Layout((2, 2), (1, E(0)))),
        "other strides of B lead into a mode of that", "all integers, or all basis elements of one depth",
        lambda: (cl.composition(Layout((2, (3, 4)), (1, (8, 2))), Layout((2, 2), (E(1), E(0)))),
                 cl.composition(Layout((2, (3, 4)), (1, (8, 2))), Layout((2, 2), (1, 2))))),
    R("zip of one", LayoutError, lambda: cl.zip(PLAIN), "no tuple of tuples", r"zip\(a, b\)",
        lambda: cl.zip(PLAIN, PLAIN)),
    R("zip of ranks", LayoutError, lambda: cl.zip(PLAIN, Layout(3)), "differ in rank", r"append\(layout, rank\)",
        lambda: cl.zip(PLAIN, cl.append(Layout(3), 2))),
    R("zip of tuples", LayoutError, lambda: cl.zip(((1, 2), (3,))), "differ in rank", "tuples of one rank",
        lambda: cl.zip(((1, 2), (3, 4)))),
    R("order twice", LayoutError, lambda: cl.make_ordered_layout((4, 8), (0, 0)), "twice", "each mode another rank",
        lambda: cl.make_ordered_layout((4, 8), (1, 0))),
    R("order of a basis", LayoutError, lambda: cl.make_ordered_layout((4, 8), (E(0), 1)), "a basis element in it"),
    R("composition", LayoutError, lambda: cl.composition(Layout((4, 8), (8, 1)), Layout(6, 3)), "A o B is no layout",
        r"make_composed_layout\(A, 0, B\)", lambda: cl.make_composed_layout(Layout((4, 8), (8, 1)), 0, Layout(6, 3))),
    R("composition with a swizzle inside", LayoutError, lambda: cl.composition(GRID, Swizzle(1, 1, 2)),
        "gives coordinates", r"make_composed_layout\(A, 0, composition\(B, Layout\(size\(A\)\)\)\)",
        lambda: cl.make_composed_layout(GRID, 0, cl.composition(Swizzle(1, 1, 2), Layout(cl.size(GRID))))),
    R("composition with an offset inside", LayoutError,
        lambda: cl.composition(Layout(32), cl.make_composed_layout(Swizzle(1, 1, 2), 3, PLAIN)), "has an offset inside",
        r"make_composed_layout\(A, 0, B\)",
        lambda: cl.make_composed_layout(Layout(32), 0, cl.make_composed_layout(Swizzle(1, 1, 2), 3, PLAIN))),
    R("shifts", LayoutError, lambda: cl.composition(Swizzle(1, 1, 2), Swizzle(1, 1, 3)), "different shifts",
        r"make_composed_layout\(A, 0, composition\(B, layout\)\)",
        lambda: cl.make_composed_layout(Swizzle(1, 1, 2), 0, cl.composition(Swizzle(1, 1, 3), Layout(64)))),
    R("swizzle of a tuple", LayoutError, lambda: Swizzle(1, 1, 2)((1, 2)), "must be an integer"),
    R("bits of a swizzle", LayoutError, lambda: Swizzle(-1, 0, 3), "0 or more"),
    R("shift of a swizzle", LayoutError, lambda: Swizzle(3, 0, 1), "at least as far"),
    R("masks", LayoutError, lambda: cl.make_swizzle(3, 5), "no masks of one swizzle"),
    R("complement that goes below 0", LayoutError, lambda: cl.complement(Layout(4, -1)), "is negative"),
    R("complement", LayoutError, lambda: cl.complement(Layout((4, 4), (2, 3))), "interleave"),
    R("left_inverse", LayoutError, lambda: cl.left_inverse(Layout((4, 4), (2, 3))), "has none"),
    R("inverse of coordinates", LayoutError, lambda: cl.right_inverse(GRID), "no place in an order of integers",
        "strides are integers", lambda: cl.right_inverse(PLAIN)),
    R("block of more modes", LayoutError, lambda: cl.tile_to_shape(Layout((4, 4)), 16), "more modes than the shape",
        "an extent for each mode of the block", lambda: cl.tile_to_shape(Layout((4, 4)), (16, 16))),
    R("block that does not divide", LayoutError, lambda: cl.tile_to_shape(Layout((4, 4)), (6, 8)), "does not divide",
        r"round_up\(shape, block\.shape\)",
        lambda: cl.tile_to_shape(Layout((4, 4)), cl.round_up((6, 8), Layout((4, 4)).shape))),
    R("upcast", LayoutError, lambda: cl.upcast(Layout(4, 3), 2), "neither divides nor is divided"),
    R("downcast", LayoutError, lambda: cl.downcast(Layout(4, 2), 2), "not adjacent", "a mode of stride 1",
        lambda: cl.downcast(Layout(4, 1), 2)),
    R("factor", LayoutError, lambda: cl.upcast(PLAIN, 0), "below 1"),
    R("factor of a swizzle", LayoutError, lambda: cl.upcast(SWIZZLED, 3), "no power of two"),
    R("bits", LayoutError, lambda: cl.recast_layout(PLAIN, 0, 8), "1 or more"),
    R("slice without an open mode", LayoutError, lambda: cl.slice_((1, 2), PLAIN), "leaves no mode open",
        r"layout\(coord\)", lambda: PLAIN((1, 2))),
    R("slice of another rank", LayoutError, lambda: cl.slice_((1,), PLAIN), "does not fit",
        "an integer, or None to keep it, for each mode", lambda: cl.slice_((1, None), PLAIN)),
    R("unflatten", LayoutError, lambda: cl.unflatten(PLAIN, (1, 1, 1)), "more modes", "give it 2",
        lambda: cl.unflatten(PLAIN, (1, 1))),
    R("ceil_div", LayoutError, lambda: cl.ceil_div((4, 8), (2, 2, 2)), "more modes than", "for each mode, or fewer",
        lambda: (cl.ceil_div((4, 8), (2, 2)), cl.ceil_div((4, 8), (2,)))),
    R("shape_div", LayoutError, lambda: cl.shape_div(8, 3), "divides the other", "ceil_div rounds up",
        lambda: cl.ceil_div(8, 3)),
    R("ranks", LayoutError, lambda: cl.inner_product((1, 2), (1, 2, 3)), "differ in rank", "two of one nesting",
        lambda: cl.inner_product((1, 2), (1, 2))),
    R("max of nothing", LayoutError, lambda: cl.tuple_max(()), "no integer in"),
    R("overflow", LayoutError, lambda: Layout((2**40, 2**40)), "64 bits"),
    R("product of bases", LayoutError, lambda: E(0) * E(1), "cannot be multiplied"),
]  # fmt: skip
TENSORS = [
    R("list", OperandError, lambda: of([[1, 2]]), "an array or a layout, not list", r"numpy\.asarray\(x\)",
        lambda: of(np.asarray([[1, 2]]))),
    R("objects", OperandError, lambda: of(np.ones(3, object)), "Python objects", r"x\.astype\(float\)",
        lambda: of(np.ones(3, object).astype(float))),
    R("masked", OperandError, lambda: of(np.ma.ones(3)), "mask would be lost", r"x\.filled\(value\)",
        lambda: of(np.ma.ones(3).filled(0))),
    R("strides", OperandError, lambda: of(np.ones(3, [("a", "i1"), ("b", "f4")])["b"]), "no multiples of its 4 bytes",
        r"make_tensor\(x\.copy\(\)\)", lambda: of(np.ones(3, [("a", "i1"), ("b", "f4")])["b"].copy())),
    R("type", OperandError, lambda: of("bfloatx", PLAIN), "no element type", "float32, or CuTe's half_t",
        lambda: (of("float32", PLAIN), of("half_t", PLAIN))),
    R("type without a layout", LayoutError, lambda: of("float32"), "needs a layout",
        r"make_tensor\('float32', \(4, 8\)\)", lambda: of("float32", (4, 8))),
    R("stride without a shape", LayoutError, lambda: cp.make_tensor(A, stride=(8, 1)), "stride= needs shape=",
        r"make_tensor\(x, \(4, 8\), \(8, 1\)\)", lambda: of(A, (4, 8), (8, 1))),
    R("layout and shape", LayoutError, lambda: cp.make_tensor(A, (4, 8), shape=(2, 2)), "not both"),
    R("two layouts", LayoutError, lambda: of(PLAIN, PLAIN), "one layout is enough", r"composition\(A, B\)",
        lambda: of(cl.composition(PLAIN, PLAIN))),
    R("too large", LayoutError, lambda: of("float32", Layout((2**20, 2**20))), "is the most", "a tile of it",
        lambda: of("float32", Layout((2**5, 2**5)))),
    R("reach", LayoutError, lambda: of(A, Layout((100, 100))),
        "reaches the elements 0 to 9999 of an array that has 0 to 31", "indices are among these",
        lambda: of(A, Layout((4, 8)))),
    R("coordinates", LayoutError, lambda: of(A, GRID), "an array needs indices", r"make_tensor\(layout\)",
        lambda: of(GRID)),
    R("with_layout", LayoutError, lambda: of(A).with_layout(GRID), "an array needs indices", r"make_tensor\(layout\)",
        lambda: of(GRID)),
    R("outside", LayoutError, lambda: of(A)[5, 1], "outside of 4"),
    R("rank", LayoutError, lambda: of(A)[1, 1, 1], "does not fit the shape", "one for each mode", lambda: of(A)[1, 1]),
    R("slice", LayoutError, lambda: of(A)[0:2, 1], "an integer, None, or a tuple", "None leaves a mode open",
        lambda: of(A)[None, 1]),
    R("text for a coordinate", LayoutError, lambda: of(A)["a"], "an integer, None, or a tuple"),
    R("assigned index", OperandError, lambda: of(PLAIN).__setitem__((0, 0), 1), "cannot be assigned",
        r"make_tensor\('int64', tensor\.shape\)", lambda: of("int64", of(PLAIN).shape).__setitem__((0, 0), 1)),
    R("read-only", OperandError, lambda: of(read_only()).__setitem__((0, 0), 1), "read-only", r"make_tensor_like\(x\)",
        lambda: cp.make_tensor_like(of(read_only())).__setitem__((0, 0), 1)),
    R("assigned array", LayoutError, lambda: of(A.copy()).__setitem__((None, None), np.ones((3, 3))), "is assigned to",
        "one value, or an array of that shape", lambda: of(A.copy()).__setitem__((None, None), np.ones((4, 8)))),
    R("stride of a swizzle", LayoutError, lambda: of("float32", SWIZZLED).stride, "has no strides",
        r"tensor\.layout\.inner\.stride", lambda: of("float32", SWIZZLED).layout.inner.stride),
    R("numpy of a swizzle", LayoutError, lambda: of("float32", SWIZZLED).numpy(), "swizzled", r"numpy\(copy=True\)",
        lambda: of("float32", SWIZZLED).numpy(copy=True)),
    R("has", LayoutError, lambda: of(A).has((None, 1)), "leaves modes open", "an integer for each",
        lambda: of(A).has((1, 1))),
    R("like without a type", OperandError, lambda: cp.make_tensor_like(of(GRID)), "no element type",
        r"make_tensor\('float32', tensor\.shape\)", lambda: of("float32", of(GRID).shape)),
    R("like an array", OperandError, lambda: cp.make_tensor_like(A), "must be a Tensor", "make_tensor of an array",
        lambda: cp.make_tensor_like(of(A))),
    R("fragment without a type", OperandError, lambda: cp.make_fragment_like(of(PLAIN)), "no element type",
        "dtype='float32'", lambda: cp.make_fragment_like(of(PLAIN), dtype="float32")),
    R("origin", LayoutError, lambda: cp.make_counting_tensor(PLAIN, (1, 2)), "cannot be the origin", "an integer",
        lambda: cp.make_counting_tensor(PLAIN, 3)),
    R("origin of coordinates", LayoutError, lambda: cp.make_counting_tensor(GRID, 3), "cannot be the origin",
        r"a tuple such as \(0, 0\)", lambda: cp.make_counting_tensor(GRID, (0, 0))),
    R("recast of indices", OperandError, lambda: cp.recast(of(PLAIN), "int8"), "have no bits", "a tensor of an array",
        lambda: cp.recast(of(A), "int8")),
    R("recast", LayoutError, lambda: cp.recast(of(np.ones(4, "S3")), "int16"), "none is a multiple",
        "recast to uint8 first", lambda: cp.recast(cp.recast(of(np.ones(4, "S3")), "uint8"), "int16")),
    R("tile", LayoutError, lambda: cp.local_tile(of(A), (2, 2), (5, 5)), "no tile", "count them from 0",
        lambda: cp.local_tile(of(A), (2, 2), (0, 0))),
    R("tile of an array", OperandError, lambda: cp.local_tile(A, (2, 2), (0, 0)), "expected a Tensor",
        "make_tensor of an array", lambda: cp.local_tile(of(A), (2, 2), (0, 0))),
    R("thread", LayoutError, lambda: cp.local_partition(of(A), Layout((2, 2)), 9), "no thread 9", "one of 0 to 3",
        lambda: cp.local_partition(of(A), Layout((2, 2)), 3)),
    R("domain_offset", LayoutError, lambda: cp.domain_offset((None, 1), of(A)), "leaves modes open",
        "an integer for each", lambda: cp.domain_offset((0, 1), of(A))),
    R("copy of sizes", LayoutError, lambda: cp.copy(of(A), of(B)), "elements", r"make_tensor_like\(source\)",
        lambda: cp.copy(of(A), cp.make_tensor_like(of(A)))),
    R("copy to indices", OperandError, lambda: cp.copy(of(A), of(PLAIN)), "cannot be assigned",
        r"make_tensor\('int64', destination\.shape\)", lambda: cp.copy(of(A), of("int64", of(PLAIN).shape))),
    R("copy of coordinates", OperandError, lambda: cp.copy(of(GRID), of(A.copy())), "holds coordinates",
        r"source\.numpy\(\)", lambda: of(GRID).numpy()),
    R("print_tensor", OperandError, lambda: cp.print_tensor(A), "expected a Tensor",
        r"make_tensor\(x\), or print_layout", lambda: cp.print_tensor(of(A))),
    R("print_layout", OperandError, lambda: cp.print_layout(A), "expected a layout",
        r"print_tensor\(make_tensor\(x\)\)", lambda: cp.print_tensor(of(A))),
    R("print_layout of many", LayoutError, lambda: cp.print_layout(Layout((1000, 1000))), "65536 at most",
        "a slice of it", lambda: cp.print_layout(cl.slice_((0, None), Layout((1000, 8))))),
]  # fmt: skip
ALGORITHMS = [
    R("transform", OperandError, lambda: algorithm.transform(1), r"give \(tensor, f\)"),
    R("copy", OperandError, lambda: algorithm.copy(1, 2, 3, 4), r"give \(source, destination\)"),
    R("copy_if", OperandError, lambda: algorithm.copy_if(1), r"give \(p, source, destination\)"),
    R("predicate", OperandError, lambda: algorithm.copy_if(3, of(A), of(A.copy())), "a Tensor or a function"),
    R("gemm", OperandError, lambda: algorithm.gemm(1), r"give \(A, B, C\)"),
    R("extents", LayoutError, lambda: algorithm.gemm(of(A), of(A), of(A.copy())), "do not fit",
        r"B \(N,K\) and C \(M,N\)", lambda: algorithm.gemm(of(A), of(B), of(np.zeros((4, 6), np.float32)))),
    R("D", LayoutError,
        lambda: algorithm.gemm(of(np.zeros((3, 3), np.float32)), of(A), of(B), of(np.zeros((4, 6), np.float32))),
        "differ in their extents", r"make_tensor_like\(C\)",
        lambda: algorithm.gemm(cp.make_tensor_like(of(np.zeros((4, 6), np.float32))), of(A), of(B), of(np.zeros((4, 6), np.float32)))),
    R("complex sums", OperandError, lambda: algorithm.axpby(1j, of(A), 1, of(A.copy())), "no imaginary parts",
        "a result of complex64", lambda: algorithm.axpby(1j, of(A), 1, of(A.astype(np.complex64)))),
    R("text", OperandError, lambda: algorithm.axpby("a", of(A), 1, of(A.copy())), "'a' is no number"),
    R("elements", OperandError, lambda: algorithm.axpby(1, of(np.ones(3, "S2")), 1, of(np.ones(3, "S2"))),
        "cannot be multiplied", "an array of numbers"),
    R("fill of indices", OperandError, lambda: algorithm.fill(of(PLAIN), 1), "cannot be assigned",
        r"make_tensor\('float32', tensor\.shape\)", lambda: algorithm.fill(of("float32", of(PLAIN).shape), 1)),
    R("fill of a number", OperandError, lambda: algorithm.fill(3, 1), "must be a Tensor", "make_tensor of an array",
        lambda: algorithm.fill(of(A.copy()), 1)),
    R("read-only", OperandError, lambda: algorithm.fill(of(read_only()), 1), "read-only", "make_tensor_like",
        lambda: algorithm.fill(cp.make_tensor_like(of(read_only())), 1)),
    R("sizes", LayoutError, lambda: algorithm.axpby(1, of(A), 1, of(B.copy())), "differ in size", "make_tensor_like",
        lambda: algorithm.axpby(1, of(A), 1, cp.make_tensor_like(of(A)))),
    R("atom without a type", OperandError,
        lambda: algorithm.copy(atoms.copy["UniversalCopy<uint128_t>"], of(A), of(A.copy())),
        r'give the atom an element type: .*\.atom\("float"\)'),
]  # fmt: skip
ATOMS = [
    R("MMA", OperandError, lambda: atoms.mma["foo"], "no mma atom 'foo'; cute_py.atoms.mma lists all"),
    R("near MMA", OperandError, lambda: atoms.mma["SM80_16x8x16_F32F16F16F32_NT"],
        "near: SM80_16x8x16_F32F16F16F32_TN"),
    R("type", OperandError, lambda: atoms.value_type("foo"), "known are .*half_t"),
    R("no equivalent", OperandError, lambda: atoms.value_type("S3"), "no equivalent among"),
    R("bits", OperandError, lambda: atoms.value_type(0), "does not exist", "1 or more", lambda: atoms.value_type(1)),
    R("type of a copy", LayoutError, lambda: atoms.copy["SM75_U32x4_LDSM_N"].atom("double"),
        "whole elements of 64 bits", "a smaller type, such as uint8_t",
        lambda: atoms.copy["SM75_U32x4_LDSM_N"].atom("uint8_t")),
]  # fmt: skip
TILED = [
    R("atom", OperandError, lambda: cp.make_tiled_mma(3), r"must come from cute_py\.atoms\.mma"),
    R("atom_layout", LayoutError, lambda: cp.make_tiled_mma(atoms.mma["UniversalFMA<float>"], Layout((2, 2, 2, 2))),
        "its modes are M, N and K", r"Layout\(\(2, 2, 1\)\)", fma),
    R("kind of atom_layout", LayoutError, lambda: cp.make_tiled_mma(atoms.mma["UniversalFMA<float>"], 3.0),
        "a Layout or a shape"),
    R("permutations", LayoutError,
        lambda: cp.make_tiled_mma(atoms.mma["UniversalFMA<float>"], Layout((2, 2, 1)), (1, 2, 3, 4)), "for M, N and K",
        "None for a mode",
        lambda: cp.make_tiled_mma(atoms.mma["UniversalFMA<float>"], Layout((2, 2, 1)), (None, None, None))),
    R("thread of an MMA", LayoutError, lambda: fma().get_slice(99), "no thread 99", "one of the 4",
        lambda: fma().get_slice(3)),
    R("operand of one mode", LayoutError, lambda: fma().get_slice(0).partition_A(Layout(4)), "two modes or more",
        r"\(M,K\)", lambda: fma().get_slice(0).partition_A(Layout((4, 8)))),
    R("fragment", OperandError, lambda: fma().get_slice(0).make_fragment_A(PLAIN), "what partition_A returns",
        r"partition_fragment_A\(tensor\)", lambda: fma().get_slice(0).partition_fragment_A(of(A))),
    R("partition_fragment_C", OperandError, lambda: cp.partition_fragment_C(fma(), of(A)), "give a shape",
        r"mma\.get_slice\(thread\)\.partition_fragment_C\(tensor\)",
        lambda: fma().get_slice(0).partition_fragment_C(of(A))),
    R("partition_shape_A", OperandError, lambda: cp.partition_shape_A(3, (4, 8)), "must be a TiledMMA"),
    R("tile_shape", OperandError, lambda: cp.tile_shape(3), "a TiledMMA or a TiledCopy"),
    R("tile_size", LayoutError, lambda: cp.tile_size(fma(), 7), "no mode 7", "from 0 to 2",
        lambda: cp.tile_size(fma(), 2)),
    R("copy without a type", OperandError,
        lambda: cp.make_tiled_copy(atoms.copy["UniversalCopy<uint128_t>"], Layout(4), Layout(1)), r'\.atom\("float"\)'),
    R("copy of a number", OperandError, lambda: cp.make_tiled_copy(3, Layout(4), Layout(1)), r"cute_py\.atoms\.copy"),
    R("values", LayoutError, lambda: cp.make_tiled_copy(wide(), Layout((32, 1)), Layout((1, 1))),
        "no multiple of the 4", "a multiple of 4 elements", tiled),
    R("threads", LayoutError,
        lambda: cp.make_tiled_copy(atoms.copy["SM75_U32x4_LDSM_N"].atom("half_t"), Layout((3, 1)), Layout((1, 8))),
        "no multiple of the 32", "32 threads, or a multiple",
        lambda: cp.make_tiled_copy(atoms.copy["SM75_U32x4_LDSM_N"].atom("half_t"), Layout((32, 1)), Layout((1, 8)))),
    R("thread of a copy", LayoutError, lambda: tiled().get_slice(77), "no thread 77", "one of 0 to 31",
        lambda: tiled().get_slice(31)),
    R("rank of a copy", LayoutError, lambda: tiled().get_slice(0).partition_S(Layout(4)), "needs 2",
        "a mode for each of the tiler", lambda: tiled().get_slice(0).partition_S(Layout((32, 4)))),
]  # fmt: skip
KERNELS = [
    R("name", KeyError, lambda: kernel("foo"), "no kernel is called 'foo'", r"list\(cute_py\.kernels\(\)\)",
        lambda: kernel(next(iter(cp.kernels())))),
    R("near name", KeyError, lambda: kernel("sgemm_1"), "near: sgemm_1_"),
    R("owner", OperandError, lambda: kernel("sgemm_1_nt_f32").owner_of(C=3), "a pair of integers"),
    R("negative owner", OperandError, lambda: kernel("sgemm_1_nt_f32").owner_of(C=(-1, 3)), "must not be negative"),
    R("loads", Unsupported, lambda: kernel("sgemm_1_gett_f32").loads_of((0, 0), 0, 0),
        "depends on the operand's extents", r"trace\(\)", lambda: kernel("sgemm_1_gett_f32").trace()),
    R("thread", OperandError, lambda: kernel("sgemm_1_nt_f32").loads_of((0, 0), 9999, 0), "0 to 255"),
    R("k_tile", OperandError, lambda: kernel("sgemm_1_nt_f32").loads_of((0, 0), 0, -1), "0 or more"),
    R("multiple", OperandError, lambda: kernel("sgemm_1_nt_f32").trace(4, 5, 6), "a multiple of 128",
        r"`multiples` are \(1, 1, 1\)",
        lambda: next(k for k in cp.kernels().values() if k.multiples == (1, 1, 1)).trace(4, 5, 6)),
    R("trace", OperandError, lambda: kernel("sgemm_1_gett_f32").trace(0), "from 1 to"),
    R("large trace", OperandError, lambda: kernel("sgemm_1_gett_f32").trace(4000, 4000, 600), "more than",
        r"one tile, trace\(\)", lambda: kernel("sgemm_1_gett_f32").trace()),
    R("spaces", OperandError, lambda: kernel("sgemm_1_gett_f32").trace(4, 5, 6, spaces=("x",)), "A, B, C, shared"),
    R("space", OperandError, lambda: traced().of("x"), "one of A, B, C, shared"),
    R("block", OperandError, lambda: traced().instructions(0, (9, 9)), "has no block", r"block=\(0, 0\)",
        lambda: traced().instructions(0, (0, 0))),
    R("warp", OperandError, lambda: traced().instructions(99), "one of 0 to", "warp=0",
        lambda: traced().instructions(0)),
]  # fmt: skip
MACHINE = [
    R("rank of tv", LayoutError, lambda: cp.bank_conflicts(PLAIN, Layout(4), "float"), r"it maps \(thread, value\)"),
    R("vector", LayoutError, lambda: cp.bank_conflicts(PLAIN, PLAIN, "float", vector=3), "do not divide", "vector=1",
        lambda: cp.bank_conflicts(PLAIN, PLAIN, "float", vector=1)),
    R("wide vector", LayoutError, lambda: cp.bank_conflicts(PLAIN, PLAIN, "float", vector=8), "16 bytes",
        "vectors of 1, 2, 4", lambda: cp.bank_conflicts(PLAIN, Layout((4, 8), (8, 1)), "float", vector=4)),
    R("not contiguous", LayoutError, lambda: cp.bank_conflicts(PLAIN, PLAIN, "float", vector=2), "not contiguous",
        "vector=1", lambda: cp.bank_conflicts(PLAIN, PLAIN, "float", vector=1)),
    R("tile", LayoutError, lambda: cp.bank_conflicts(PLAIN, Layout((4, 16)), "float"), "does not have", "a larger tile",
        lambda: cp.bank_conflicts(Layout((4, 16)), Layout((4, 16)), "float")),
    R("coordinates", LayoutError, lambda: cp.bank_conflicts(GRID, PLAIN, "float"), "gives coordinates",
        "strides are integers", lambda: cp.bank_conflicts(PLAIN, PLAIN, "float")),
    R("negative", LayoutError, lambda: cp.bank_conflicts(Layout(32, -1), PLAIN, "float"), "goes beyond"),
    R("number", LayoutError, lambda: cp.bank_conflicts(3, PLAIN, "float"), "must be a Layout"),
    R("bank_map", LayoutError, lambda: cp.bank_map(PLAIN, Layout(4), "float"), r"it maps \(thread, value\)"),
    R("swizzled", LayoutError, lambda: cp.best_swizzle(SWIZZLED, "float", PLAIN, PLAIN), "swizzled already",
        r"tile\.inner", lambda: cp.best_swizzle(SWIZZLED.inner, "float", PLAIN, PLAIN)),
    R("write_vector", LayoutError, lambda: cp.best_swizzle(PLAIN, "float", PLAIN, PLAIN, write_vector=3),
        "do not divide", "write_vector=1", lambda: cp.best_swizzle(PLAIN, "float", PLAIN, PLAIN, write_vector=1)),
    R("TMA modes", OperandError, lambda: cp.tma_check((4, 8), (1, 4), "float", (4,)), "give each as many"),
    R("TMA swizzle", OperandError, lambda: cp.tma_check((4, 8), (1, 4), "float", (4, 8), swizzle=7),
        "one of 0, 32, 64, 128 bytes"),
    R("TMA box", OperandError, lambda: cp.tma_check((4, 8), (1, 4), "float", ("a", 8)), "a flat tuple of integers"),
    R("TMA operation", OperandError, lambda: tma(op="foo"), "one of SM90_TMA_LOAD,"),
    R("TMA smem", OperandError, lambda: tma(smem=3), "smem must be a layout", r"Layout\(\(64, 64\)\)",
        lambda: tma(smem=Layout((64, 64)))),
    R("TMA tensor", OperandError, lambda: tma(tensor=3), "without a swizzle", r"'\(256,256\):\(1,256\)'",
        lambda: tma(tensor="(256,256):(1,256)")),
    R("TMA multicast", OperandError, lambda: tma(multicast=2), "for one CTA", "SM90_TMA_LOAD_MULTICAST",
        lambda: tma(op="SM90_TMA_LOAD_MULTICAST", multicast=2)),
    R("TMA CTAs", OperandError, lambda: tma(multicast=3), "1, 2, 4, 8 or 16 CTAs"),
    R("TMA tile", LayoutError, lambda: tma(tile=(4, 4)), "a tile of", "leave tile out", lambda: tma()),
    R("TMA bits", OperandError, lambda: tma(dtype="int4_t"), "4 bits", "the layouts in bytes",
        lambda: tma(tensor=Layout((32, 64)), smem=Layout((16, 8)), dtype="uint8_t")),
    R("TMA order", LayoutError, lambda: tma(smem=Layout((8, 8), (8, 1))), "contiguous in smem", "order smem's modes",
        lambda: tma(tensor=Layout((64, 64), (64, 1)), smem=Layout((8, 8), (8, 1)))),
    R("TMA Swizzle", LayoutError, lambda: tma(smem=cl.composition(Swizzle(2, 0, 3), Layout((16, 8)))),
        "the engine has no", r"Swizzle\(2, 2, 3\)",
        lambda: tma(smem=cl.composition(Swizzle(2, 2, 3), Layout((16, 8))))),
]  # fmt: skip
REPORTS = [
    R("no problem", OperandError, lambda: cp.bench(), "such as 512 or '512x1024x256'"),
    R("problem", OperandError, lambda: cp.bench("x"), "such as 512 or '512x1024x256', not 'x'"),
    R("device", OperandError, lambda: cp.bench(64, device="tpu"), "'cpu' or 'cuda'"),
    R("types", OperandError, lambda: cp.bench(64, dtypes="foo"), "among float16, .* not 'foo'"),
    R("kernels", OperandError, lambda: cp.bench(64, kernels="foo"), "there are: "),
    R("dtype of a ladder", OperandError, lambda: cp.ladder(dtype="x"), "one of float16, "),
    R("layout of a ladder", OperandError, lambda: cp.ladder(layout="xx"), "one of nt, tn, nn, tt"),
    R("type of a ladder's kernel", OperandError, lambda: cp.ladder(256, more="gemm_sm80_nt_bf16_64x64"), "multiplies bfloat16",
        "dtype= of the kernel", lambda: cp.ladder(256, dtype="bfloat16", more="gemm_sm80_nt_bf16_64x64", device=Device("H200"))),
    R("kernel of a ladder twice", OperandError, lambda: cp.ladder(256, more=["reference_f32", "reference_f32"]), "is a rung already", "each kernel once"),
    R("family of a ladder", OperandError, lambda: cp.ladder(256, more=["gemm_sm80"]), "is a family", "one of it"),
    R("extent of a ladder", OperandError, lambda: cp.ladder(0), "from 1 to"),
    R("device of a ladder", OperandError, lambda: cp.ladder(256, device="cpu"), "Device that you invent",
        r"cute_py\.Device\.preset\('H100'\)", lambda: cp.ladder(256, device=Device.preset("H100"))),
    R("matrix of a size", LayoutError, lambda: f2_matrix(Layout(6)), "no power of two", "pad it, or take a part",
        lambda: (f2_matrix(Layout(8)), f2_matrix(Layout(4)))),
    R("matrix below 0", LayoutError, lambda: f2_matrix(Layout((4, 4), (1, -4))), "goes below 0", "0 or more",
        lambda: f2_matrix(Layout((4, 4), (1, 4)))),
    R("no matrix", LayoutError, lambda: f2_matrix(Layout((4, 4), (1, 3))), "not linear over GF"),
    R("bits", OperandError, lambda: from_f2_matrix([[1, 2]]), "integers 0 and 1"),
    R("tv of coalescing", LayoutError, lambda: coalescing(Layout(4), "float"), r"it maps \(thread, value\)"),
    R("vector of coalescing", LayoutError, lambda: coalescing(PLAIN, "float", vector=3), "do not divide", "vector=1",
        lambda: coalescing(PLAIN, "float", vector=1)),
    R("bytes of coalescing", LayoutError, lambda: coalescing(PLAIN, "int4_t"), "no whole bytes", "vector=2",
        lambda: coalescing(Layout((4, 8), (8, 1)), "int4_t", vector=2)),
    R("gmem of coalescing", LayoutError, lambda: coalescing(PLAIN, "float", gmem=Layout(4)), "does not have",
        "a larger gmem", lambda: coalescing(PLAIN, "float", gmem=Layout(32))),
    R("not contiguous in coalescing", LayoutError, lambda: coalescing(PLAIN, "float", vector=2), "not contiguous",
        "vector=1", lambda: coalescing(PLAIN, "float")),
    R("law", OperandError, lambda: check_law("x", PLAIN), "there are: coalesce"),
    R("arguments of a law", OperandError, lambda: check_law("complement", Layout(4), 3, 4), "does not take 3 arguments",
        r"those of cute_py\.complement", lambda: check_law("complement", Layout(4), 8)),
    R("large law", LayoutError, lambda: check_law("complement", Layout(2**40)), "65536 at most", "a smaller one",
        lambda: check_law("complement", Layout(2**4))),
    R("steps", OperandError, lambda: cp.explain("x", PLAIN), "there are: coalesce"),
    R("steps of one index", OperandError, lambda: cp.explain("idx2crd", (1, 2), (4, 8)), "one index apart",
        "mode by mode", lambda: (cp.explain("idx2crd", 1, 4), cp.explain("idx2crd", 2, 8))),
    R("steps of a composed layout", LayoutError, lambda: cp.explain("coalesce", SWIZZLED), "by its inner layout",
        "explain that", lambda: cp.explain("coalesce", SWIZZLED.inner)),
    R("diagram", OperandError, lambda: cp.diagram("foo"), "there are: logical_divide"),
    R("arguments of a diagram", OperandError, lambda: cp.diagram("logical_divide", PLAIN), "does not take 1 arguments",
        r"cute_py\.logical_divide", lambda: cp.diagram("logical_divide", PLAIN, 2)),
    R("picture of nothing", LayoutError, lambda: Layout((4, 0)).to_svg(), "no elements", "one that has",
        lambda: PLAIN.to_svg()),
    R("option of a picture", LayoutError, lambda: PLAIN.to_svg(foo=1), "no option foo", "tile=, color=, mark=, bank=",
        lambda: PLAIN.to_svg(color="row")),
    R("colour", LayoutError, lambda: PLAIN.to_svg(color="x"), "'index', 'tile'"),
    R("colour by tiles", LayoutError, lambda: PLAIN.to_svg(color="tile"), "needs tile=", r"tile=\(2, 2\)",
        lambda: PLAIN.to_svg(color="tile", tile=(2, 2))),
    R("tile of a picture", LayoutError, lambda: PLAIN.to_svg(tile="x"), "not 'x'", r"tile=\(2, 2\)",
        lambda: PLAIN.to_svg(tile=(2, 2))),
    R("function of colours", LayoutError, lambda: PLAIN.to_svg(color=lambda c, i: "a"), "neither an integer nor None",
        "one of these", lambda: PLAIN.to_svg(color=lambda c, i: i)),
    R("mark", LayoutError, lambda: PLAIN.to_svg(mark=(1, 2, 3)), "does not fit", "an integer or None for each mode",
        lambda: PLAIN.to_svg(mark=(1, None))),
    R("bank", LayoutError, lambda: GRID.to_svg(bank=16), "has no banks", "bank=16, of a layout of indices",
        lambda: PLAIN.to_svg(bank=16)),
]  # fmt: skip
FRONT_ENDS = [
    R("torch rank", OperandError, lambda: in_torch().gemm(ones(8), ones(4, 8)), r"got shapes \(8,\)", r"v\[None, :\]",
        lambda: in_torch().gemm(ones(8)[None, :], ones(4, 8))),
    R("torch K", OperandError, lambda: in_torch().gemm(ones(4, 8), ones(8, 4)), "the same K", r"for A @ X pass X\.T",
        lambda: in_torch().gemm(ones(4, 8), ones(8, 4).T)),
    R("torch array", OperandError, lambda: in_torch().gemm(A, ones(4, 8)), "operand 1 is a ndarray",
        r"torch\.as_tensor", lambda: in_torch().gemm(torch().as_tensor(A), ones(4, 8))),
    R("torch sparse", OperandError, lambda: in_torch().gemm(ones(4, 8).to_sparse(), ones(4, 8)), "sparse",
        r"x\.to_dense\(\)", lambda: in_torch().gemm(ones(4, 8).to_sparse().to_dense(), ones(4, 8))),
    R("torch subscripts", OperandError, lambda: in_torch().contract(3, ones(4, 8), ones(4, 8)), "a text such as",
        r"contract\('abk,ck->abc', A, B\)"),
    R("torch C", OperandError, lambda: in_torch().contract("ab,cb->ac", ones(4, 8), ones(4, 8), ones(3, 3), beta=1.0),
        "C has", "a C of that shape",
        lambda: in_torch().contract("ab,cb->ac", ones(4, 8), ones(4, 8), ones(4, 4), beta=1.0)),
    R("torch beta", OperandError, lambda: in_torch().contract("ab,cb->ac", ones(4, 8), ones(4, 8), beta=1.0),
        "there is no C", "leave beta out", lambda: in_torch().contract("ab,cb->ac", ones(4, 8), ones(4, 8))),
    R("torch alpha", OperandError, lambda: in_torch().contract("ab,cb->ac", ones(4, 8), ones(4, 8), alpha=ones()),
        "no gradient goes to it", "multiply the result",
        lambda: ones() * in_torch().contract("ab,cb->ac", ones(4, 8), ones(4, 8))),
    R("torch out_dtype", OperandError,
        lambda: in_torch().contract("ab,cb->ac", ones(4, 8), ones(4, 8), out_dtype="foo"), "no out_dtype 'foo'",
        r"out_dtype=torch\.float32",
        lambda: in_torch().contract("ab,cb->ac", ones(4, 8), ones(4, 8), out_dtype=torch().float32)),
    R("torch extent", OperandError, lambda: in_torch().contract("ab,cb->ac", ones(4, 8), ones(4, 5)),
        "one extent for index b", "check the subscripts"),
    R("torch tensordot", OperandError, lambda: in_torch().tensordot(ones(4, 8), ones(4, 8), ([0], [1])), "of extent 4",
        "check the axes"),
    R("torch optimize", OperandError, lambda: in_torch().einsum("ab,cb->ac", ones(4, 8), ones(4, 8), optimize=3),
        "such as 'greedy', True or False"),
    R("torch weight", OperandError, lambda: in_torch().linear(ones(4, 8), ones(8, 3)), "K is 8 in x and 3 in weight",
        r"weight is \(N,K\)", lambda: in_torch().linear(ones(4, 8), ones(8, 3).T)),
    R("torch bias", OperandError, lambda: in_torch().linear(ones(4, 8), ones(3, 8), ones(4)),
        "N is 3 in weight and 4 in bias", "a bias of 3", lambda: in_torch().linear(ones(4, 8), ones(3, 8), ones(3))),
    R("torch activation", OperandError, lambda: in_torch().linear(ones(4, 8), ones(3, 8), activation="foo"),
        "one of none, relu"),
    R("torch complex activation", OperandError,
        lambda: in_torch().linear(ones(4, 8) + 0j, ones(3, 8) + 0j, activation="relu"), "not defined",
        "activation='none'", lambda: in_torch().linear(ones(4, 8) + 0j, ones(3, 8) + 0j, activation="none")),
    R("torch gradient", OperandError, lambda: cp.gemm(ones(4, 8).requires_grad_(), ones(4, 8)), "requires grad",
        r"A\.detach\(\)", lambda: cp.gemm(ones(4, 8).requires_grad_().detach(), ones(4, 8))),
    R("jax rank", OperandError, lambda: in_jax().gemm(A[0], A), "got shapes", r"v\[None, :\]",
        lambda: in_jax().gemm(A[0][None, :], A)),
    R("jax K", OperandError, lambda: in_jax().gemm(A, B.T), "got shapes", r"pass X\.T", lambda: in_jax().gemm(A, B)),
    R("jax float64", OperandError, lambda: in_jax().gemm(A, A, compute="float64"), "no types of 64 bits",
        "jax_enable_x64"),
    R("jax types", OperandError,
        lambda: in_jax().einsum("ab,cb->ac", A, A, out_dtype="float32", preferred_element_type="float16"),
        "both name the result's type", "pass one of them",
        lambda: in_jax().einsum("ab,cb->ac", A, A, out_dtype="float32")),
    R("jax preferred type", OperandError, lambda: in_jax().einsum("ab,cb->ac", A, A, preferred_element_type="foo"),
        "got 'foo'", r"preferred_element_type=jax\.numpy\.float32",
        lambda: in_jax().einsum("ab,cb->ac", A, A, preferred_element_type="float32")),
    R("jax precision", OperandError, lambda: in_jax().einsum("ab,cb->ac", A, A, precision="foo"), "got 'foo'",
        "precision='highest'", lambda: in_jax().einsum("ab,cb->ac", A, A, precision="highest")),
    R("jax index", OperandError, lambda: in_jax().einsum("ab,cb->ad", A, A), "index d in the result",
        "write them like"),
    R("dask extents", OperandError, lambda: in_dask().einsum("aa->a", unknown_chunks()), "unknown extents",
        r"compute_chunk_sizes\(\)",
        lambda: in_dask().einsum("aa->a", unknown_chunks().compute_chunk_sizes()).compute()),
    R("dask in the core", OperandError, lambda: cp.gemm(unknown_chunks(), A),
        "not an array|cannot be exported|dask|Array", r"cute_py\.dask|A\.compute\(\)",
        lambda: cp.gemm(unknown_chunks().compute(), np.ones((2, 4)))),
]  # fmt: skip

REFUSALS = {
    "products": PRODUCTS, "einsum": EINSUM, "plans": PLANS, "epilogue": EPILOGUE, "devices": DEVICES, "tuning": TUNING,
    "algebra": ALGEBRA, "tensors": TENSORS, "algorithms": ALGORITHMS, "atoms": ATOMS, "tiled": TILED, "kernels": KERNELS,
    "machine": MACHINE, "reports": REPORTS, "front ends": FRONT_ENDS,
}  # fmt: skip
