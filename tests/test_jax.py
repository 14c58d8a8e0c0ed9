"""`cute_py.jax`: values, derivatives, batches, compilation, and the binary interface that XLA calls."""

from __future__ import annotations

import importlib
import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cute_py import CuteError, OperandError

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
jax = pytest.importorskip("jax")
jnp = jax.numpy
cj = importlib.import_module("cute_py.jax")
check_grads = importlib.import_module("jax.test_util").check_grads

ROOT = Path(__file__).parents[1]

# Subscripts and the shapes of their operands.
EINSUMS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("ij,kj", [(3, 4), (5, 4)]),
    ("abk,ck->acb", [(3, 4, 5), (2, 5)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("i,i->", [(7,), (7,)]),
    ("i,j->ij", [(3,), (4,)]),
    (",ij->ji", [(), (3, 4)]),
    ("ij,ij->ij", [(3, 4), (3, 4)]),
    ("ij,ij->j", [(3, 4), (1, 4)]),
    ("ij,k->k", [(3, 4), (5,)]),
    ("iij,jk->ik", [(3, 3, 4), (4, 5)]),
    ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 2)]),
    ("ij,jk,kl,l->i", [(3, 4), (4, 5), (5, 6), (6,)]),
    ("ij,jk->ik", [(3, 0), (0, 5)]),
    ("ij->ji", [(3, 4)]),
]


@pytest.fixture(autouse=True)
def wide() -> Any:
    with jax.enable_x64(True):
        yield


def arrays(shapes: list[tuple[int, ...]], dtype: Any = np.float64, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    parts = [rng.standard_normal((*shape, 2)) for shape in shapes]
    is_complex = np.issubdtype(dtype, np.complexfloating)
    return [jnp.asarray(x[..., 0] + 1j * x[..., 1] if is_complex else x[..., 0]).astype(dtype) for x in parts]


def close(found: Any, expected: Any, tolerance: float = 1e-10) -> None:
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: case[0])
def test_einsum_is_that_of_jax(case: tuple[str, list[tuple[int, ...]]], dtype: Any, compiled: bool) -> None:
    subscripts, shapes = case
    operands = arrays(shapes, dtype)
    function = lambda *x: cj.einsum(subscripts, *x)  # noqa: E731
    found = (jax.jit(function) if compiled else function)(*operands)
    close(found, jnp.einsum(subscripts, *operands), 1e-4 if dtype in (np.float32, np.complex64) else 1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("case", [case for case in EINSUMS if 0 not in case[1][0]], ids=lambda case: case[0])
def test_derivatives_of_both_modes_and_orders(case: tuple[str, list[tuple[int, ...]]], dtype: Any) -> None:
    subscripts, shapes = case
    operands = arrays([tuple(min(extent, 3) for extent in shape) for shape in shapes], dtype)
    check_grads(lambda *x: cj.einsum(subscripts, *x), operands, order=2, modes=("fwd", "rev"))


def test_derivatives_are_those_of_jax() -> None:
    A, B = arrays([(3, 4, 5), (2, 5)])

    def of(einsum: Callable[..., Any]) -> Callable[..., Any]:
        return lambda a, b: jnp.sin(einsum("abk,ck->abc", a, b)).sum()

    close(jax.hessian(of(cj.einsum), 1)(A, B), jax.hessian(of(jnp.einsum), 1)(A, B))
    close(jax.jacfwd(of(cj.einsum))(A, B), jax.jacrev(of(jnp.einsum))(A, B))
    close(jax.grad(of(jax.checkpoint(cj.einsum, static_argnums=0)))(A, B), jax.grad(of(jnp.einsum))(A, B))


@pytest.mark.parametrize("types", list(itertools.product(["float16", "bfloat16", "float32"], repeat=2)), ids=str)
def test_types_of_gradients(types: tuple[str, str]) -> None:
    A, B = (arrays([shape], dtype)[0] for shape, dtype in zip([(6, 9), (5, 9)], types, strict=True))
    grads = jax.grad(lambda a, b: cj.gemm(a, b).astype("float32").sum(), (0, 1))(A, B)
    assert [grad.dtype.name for grad in grads] == list(types)
    expected = [
        np.asarray(B, np.float64).sum(0) + np.zeros((6, 1)),
        np.asarray(A, np.float64).sum(0) + np.zeros((5, 1)),
    ]
    for grad, exact in zip(grads, expected, strict=True):
        np.testing.assert_allclose(np.asarray(grad, np.float64), exact, rtol=0.02, atol=0.02)


@pytest.mark.parametrize(
    "in_axes", [d for d in itertools.product([None, 0, 1, 2], [None, 0, -1]) if any(x is not None for x in d)]
)
def test_vmap_is_a_loop(in_axes: tuple[int | None, int | None]) -> None:
    operands = arrays([(3, 4), (5, 4)])
    batched = [
        x if axis is None else jnp.stack([x * (i + 1) for i in range(6)], axis)
        for x, axis in zip(operands, in_axes, strict=True)
    ]
    for function in (
        lambda a, b: cj.einsum("mk,nk->nm", a, b),
        jax.grad(lambda a, b: (cj.gemm(a, b) ** 2).sum()),
        jax.jacfwd(lambda a, b: cj.gemm(a, b)[0]),
    ):
        found = jax.jit(jax.vmap(function, in_axes))(*batched)
        slices = [
            [x if axis is None else jnp.take(x, i, axis) for x, axis in zip(batched, in_axes, strict=True)]
            for i in range(6)
        ]
        close(found, jnp.stack([function(*x) for x in slices]))


def test_vmap_nested_and_in_derivatives() -> None:
    X, Y = arrays([(6, 2, 3, 4), (2, 5, 4)])
    close(jax.vmap(jax.vmap(cj.gemm), (0, None))(X, Y), X @ jnp.swapaxes(Y, -1, -2))
    found = jax.grad(lambda x: jax.vmap(lambda a: (cj.gemm(a, Y[0]) ** 2).sum())(x).sum())(X[0])
    close(found, jax.grad(lambda x: ((x @ Y[0].T) ** 2).sum())(X[0]))


def test_other_functions_and_options() -> None:
    for left, right in [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 1, 3, 4), (6, 4, 5))]:
        A, B = arrays([left, right])
        close(cj.matmul(A, B), A @ B)
    A, B = arrays([(2, 3, 4), (4, 3, 5)])
    for axes in (0, ([1, 2], [1, 0]), (-1, 0)):
        close(cj.tensordot(A, B, axes), jnp.tensordot(A, B, axes))
    close(cj.contract("abk,ck->abc", A, B[:, 0, :4], alpha=2), 2 * jnp.einsum("abk,ck->abc", A, B[:, 0, :4]))
    half = A.astype("float16")
    assert cj.contract("abk,abk->", half, half, out_dtype="float32").dtype == np.float32
    assert cj.contract("abk,abk->", A.astype("float32"), half).dtype == np.float32
    tenth = jnp.full((1, 4096), 0.1, "float32")
    exact = cj.gemm(tenth.astype("float64"), tenth.astype("float64"))
    assert cj.gemm(tenth, tenth, compute="float64") == exact
    int8 = jnp.full((2, 3), 100, "int8")
    found = jax.jit(cj.gemm)(int8, int8)
    assert found.dtype == np.int32
    assert (found == 30000).all()
    close(cj.einsum(A, [0, 1, 2], B, [2, 1, 3], [3, 0]), jnp.einsum("ijk,kjl->li", A, B))


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "bfloat16", "float16"])
def test_short_types(dtype: str) -> None:
    A, B = (x.astype(dtype) for x in arrays([(6, 32), (5, 32)], np.float32))
    found = jax.jit(cj.gemm)(A, B)
    exact = np.asarray(A, np.float64) @ np.asarray(B, np.float64).T
    assert found.dtype.name == ("bfloat16" if "float8" in dtype else dtype)
    np.testing.assert_allclose(np.asarray(found, np.float64), exact, rtol=2**-8, atol=1e-2)


def test_several_devices_share_a_computation() -> None:
    """XLA gathers what a foreign function needs whole."""
    code = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, jax.numpy as jnp, numpy as np, cute_py.jax as cj
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()), ("x",))
A = jnp.arange(64 * 32, dtype=jnp.float32).reshape(64, 32) % 7
B = jnp.arange(16 * 32, dtype=jnp.float32).reshape(16, 32) % 5
a = jax.device_put(A, NamedSharding(mesh, P("x", None)))
b = jax.device_put(B, NamedSharding(mesh, P(None, "x")))
assert (jax.jit(cj.gemm)(a, b) == A @ B.T).all()
rows = jax.shard_map(lambda a, b: cj.gemm(a, b), mesh=mesh, in_specs=(P("x", None), P()), out_specs=P("x", None))
assert (jax.jit(rows)(a, B) == A @ B.T).all()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: cj.einsum("ij,jk->ik", x, x), "one extent for index j"),
        (lambda x: cj.einsum("ij,kj->iz", x, x), "index z"),
        (lambda x: cj.einsum(), "takes subscripts"),
        (lambda x: cj.gemm(x, x[:, :1]), r"B is \(N,K\)"),
        (lambda x: cj.matmul(x, x), r"B \(...,K,N\)"),
        (lambda x: cj.matmul(x, x[0, 0]), "a number is neither"),
        (lambda x: cj.tensordot(x, x, 3), "from 0 to 2"),
        (lambda x: cj.tensordot(x, x[:1], 1), "sums axis"),
        (lambda x: cj.gemm(x.astype("int32"), x.astype("int32")), "int32"),
        (lambda x: cj.gemm(x, x, compute="float99"), "compute is one of"),
        (lambda x: cj.gemm(x, x, compute="tfloat32"), "takes A and B of float16, bfloat16, float32"),
    ],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_mistakes(call: Callable[[Any], Any], message: str, compiled: bool) -> None:
    with pytest.raises((OperandError, CuteError), match=message):
        (jax.jit(call) if compiled else call)(jnp.ones((3, 4)))


def test_what_the_core_refuses_in_a_compiled_program_is_an_error_of_jax() -> None:
    x = jnp.ones((3, 4))
    with pytest.raises(CuteError, match="writes float32, float64, not int8"):
        cj.contract("mk,nk->mn", x, x, out_dtype="int8")
    call = {"of_a": "mk", "of_b": "nk", "of_d": "mn", "alpha": 1, "compute": "", "out_dtype": "int8"}
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"INVALID_ARGUMENT.*writes float32, float64"):
        cj._pair_p.bind(x, x, **call).block_until_ready()


@pytest.mark.compiler
def test_the_interface_is_that_of_jaxs_headers(tmp_path: Path) -> None:
    """Places and sizes of what csrc/base/xla_ffi.hpp declares, against the headers that come with jaxlib."""
    pairs = {
        "Call": ("XLA_FFI_CallFrame", {"api": "api", "context": "ctx", "stage": "stage", "arguments": "args", "results": "rets", "attributes": "attrs"}),
        "Api": ("XLA_FFI_Api", {"error_create": "XLA_FFI_Error_Create", "stream_get": "XLA_FFI_Stream_Get", "ordinal_get": "XLA_FFI_DeviceOrdinal_Get"}),
        "Buffer": ("XLA_FFI_Buffer", {"type": "dtype", "data": "data", "rank": "rank", "extents": "dims"}),
        "Arguments": ("XLA_FFI_Args", {"count": "size", "kinds": "types", "values": "args"}),
        "Attributes": ("XLA_FFI_Attrs", {"count": "size", "kinds": "types", "names": "names", "values": "attrs"}),
        "Text": ("XLA_FFI_ByteSpan", {"first": "ptr", "size": "len"}),
        "Number": ("XLA_FFI_Scalar", {"type": "dtype", "value": "value"}),
        "Extension": ("XLA_FFI_Extension_Base", {"type": "type", "next": "next"}),
        "Version": ("XLA_FFI_Api_Version", {"major": "major_version", "minor": "minor_version"}),
        "Metadata": ("XLA_FFI_Metadata", {"version": "api_version", "traits": "traits"}),
        "MetadataExtension": ("XLA_FFI_Metadata_Extension", {"metadata": "metadata"}),
        "ErrorCreate": ("XLA_FFI_Error_Create_Args", {"message": "message", "code": "errc"}),
        "StreamGet": ("XLA_FFI_Stream_Get_Args", {"context": "ctx", "stream": "stream"}),
        "OrdinalGet": ("XLA_FFI_DeviceOrdinal_Get_Args", {"context": "ctx", "ordinal": "device_ordinal"}),
    }  # fmt: skip
    values = {
        "kMajor": "XLA_FFI_API_MAJOR", "kMetadataExtension": "XLA_FFI_Extension_Metadata",
        "kCanBeCaptured": "XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE", "Stage::execute": "XLA_FFI_ExecutionStage_EXECUTE",
        "Attribute::number": "XLA_FFI_AttrType_SCALAR", "Attribute::text": "XLA_FFI_AttrType_STRING",
        "Code::invalid_argument": "XLA_FFI_Error_Code_INVALID_ARGUMENT", "Code::unimplemented": "XLA_FFI_Error_Code_UNIMPLEMENTED",
        "Code::internal": "XLA_FFI_Error_Code_INTERNAL",
        **{f"Type::{ours}": f"XLA_FFI_DataType_{theirs}" for ours, theirs in {
            "s8": "S8", "s32": "S32", "f16": "F16", "f32": "F32", "f64": "F64", "c64": "C64", "bf16": "BF16", "c128": "C128",
            "f8e5m2": "F8E5M2", "f8e4m3fn": "F8E4M3FN"}.items()},
    }  # fmt: skip
    lines = ['#include "base/xla_ffi.hpp"', '#include "xla/ffi/api/c_api.h"', "using namespace cute_py;"]
    for ours, (theirs, fields) in pairs.items():
        for a, b in fields.items():
            lines.append(f"static_assert(offsetof(xla::{ours}, {a}) == offsetof({theirs}, {b}));")
            lines.append(f"static_assert(sizeof(xla::{ours}::{a}) == sizeof({theirs}::{b}));")
    lines += [f"static_assert(static_cast<int>(xla::{a}) == static_cast<int>({b}));" for a, b in values.items()]
    source = tmp_path / "interface.cpp"
    source.write_text("\n".join(lines) + "\n")
    include = Path(jax.ffi.include_dir())
    command = [
        os.environ.get("CXX", "g++"),
        "-std=c++17",
        "-fsyntax-only",
        f"-I{ROOT / 'csrc'}",
        f"-I{include}",
        str(source),
    ]
    subprocess.run(command, check=True)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_on_a_gpu(dtype: str) -> None:
    device = jax.devices("gpu")[0]
    A, B = (jax.device_put(x, device) for x in arrays([(300, 4, 200), (150, 200)], dtype))
    function = jax.jit(lambda a, b: cj.einsum("abk,ck->abc", a, b))
    exact = np.einsum("abk,ck->abc", np.asarray(A, np.float64), np.asarray(B, np.float64))
    for _ in range(3):
        np.testing.assert_allclose(
            np.asarray(function(A, B), np.float64),
            exact,
            rtol=1e-2 if dtype == "bfloat16" else 1e-4,
            atol=0.1 if dtype == "bfloat16" else 1e-3,
        )
    grads = jax.jit(jax.grad(lambda a, b: (cj.einsum("abk,ck->abc", a, b) ** 2).sum().astype("float32"), (0, 1)))(A, B)
    assert [grad.dtype.name for grad in grads] == [dtype, dtype]
