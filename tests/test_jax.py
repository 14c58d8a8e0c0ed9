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

import cute_py
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
    ("ij->j", [(3, 4)]),
    ("ii->", [(3, 3)]),
    ("ii->i", [(3, 3)]),
    ("iji->j", [(3, 4, 3)]),
    ("i...->i", [(3, 4, 2)]),
    ("...ij->j", [(2, 3, 4)]),
    ("...->", [(3, 4)]),
    ("i...,...j->ij", [(3, 2, 4), (1, 4, 5)]),
    ("i...,ij->j", [(3, 4), (3, 2)]),
    ("i...,...,ij->j", [(3, 4), (4,), (3, 2)]),
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


@pytest.mark.thinned(4)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: case[0])
def test_einsum_is_that_of_jax(case: tuple[str, list[tuple[int, ...]]], dtype: Any, compiled: bool) -> None:
    subscripts, shapes = case
    operands = arrays(shapes, dtype)
    function = lambda *x: cj.einsum(subscripts, *x)  # noqa: E731
    found = (jax.jit(function) if compiled else function)(*operands)
    close(found, jnp.einsum(subscripts, *operands), 1e-4 if dtype in (np.float32, np.complex64) else 1e-10)


@pytest.mark.thinned(4)
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


def on_four_devices(code: str) -> None:
    setting = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **setting},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout


def test_several_devices_share_a_computation() -> None:
    """XLA gathers what a foreign function needs whole."""
    on_four_devices("""
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
parts = A.reshape(4, 16, 32)
assert (jax.pmap(lambda a: cj.gemm(a, B))(parts) == parts @ B.T).all()
found = jax.grad(lambda b: jax.pmap(lambda a: cj.gemm(a, b).sum())(parts).sum())(B)
assert (found == A.sum(0)).all()
other = Mesh(np.array(jax.devices()).reshape(2, 2), ("y", "z"))
assert (cj.gemm(a, jax.device_put(B, NamedSharding(other, P("y", "z")))) == A @ B.T).all()
""")


# What one device contracts, and whether a result is claimed to be the same on all.
ON_DEVICES = """
import itertools, jax, jax.numpy as jnp, numpy as np, cute_py.jax as cj
from jax.sharding import AxisType, PartitionSpec as P
A, B = (jax.random.normal(jax.random.key(i), shape) for i, shape in enumerate([(8, 6), (12, 6)]))
mesh = jax.make_mesh((2, 2), ("i", "j"), axis_types=(AxisType.Auto, AxisType.Auto))

def result(make, einsum):
    try:
        return jax.tree.leaves(make(einsum))
    except ValueError as error:
        assert "shard_map" in str(error) and "out_specs" in str(error), error
        return None

def same(what, make, is_refused=False):
    found, expected = result(make, cj.einsum), result(make, jnp.einsum)
    assert (found is None) == (expected is None) == is_refused, (what, found, expected)
    for x, y in zip(found or (), expected or (), strict=True):
        assert x.dtype == y.dtype, what
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4, err_msg=str(what))
"""


def test_shard_map_is_that_of_jax() -> None:
    """Gradients of what is the same on all devices are summed over these, of what is in parts they are not."""
    on_four_devices(
        ON_DEVICES
        + """
specs = [(P("i"), P()), (P(), P("i")), (P("i"), P("j")), (P(("i", "j")), P()), (P(), P())]
for checks, of_operands in itertools.product((True, False), specs):
    where = dict(mesh=mesh, in_specs=of_operands, check_vma=checks)
    def loss(einsum, **where):
        def part(a, b):
            return jax.lax.psum(jax.lax.psum((einsum("mk,nk->mn", a, b) ** 2).sum(), "i"), "j")
        return jax.shard_map(part, out_specs=P(), **where)
    stack = jnp.stack([A, -A, 2 * A])
    def of(e):
        f = loss(e, **where)
        batch = jax.vmap(f, (0, None))
        return jax.jit(lambda: (
            f(A, B), jax.grad(f, (0, 1))(A, B), jax.jvp(f, (A, B), (A + 1, B - 1)), jax.jvp(jax.grad(f, 1), (A, B), (A + 1, B - 1)),
            batch(stack, B), jax.grad(lambda a, b: batch(a, b).sum(), (0, 1))(stack, B),
        ))()
    same(where, of)
    same(where, lambda e: jax.grad(loss(e, **where), (0, 1))(A, B))
    def claim(e):
        return jax.shard_map(lambda a, b: e("mk,nk->mn", a, b), out_specs=P(), **where)(A, B)
    if checks:
        same(("claims to be the same", where), claim, is_refused=of_operands != (P(), P()))
"""
    )


def test_shard_map_of_all_kinds_of_einsums() -> None:
    on_four_devices(
        ON_DEVICES
        + """
kinds = {
    "vmap": lambda e, a, b: jax.vmap(lambda a: e("k,nk->n", a, b))(a),
    "one operand": lambda e, a, b: e("mk->k", a) * e("nk->k", b),
    "diagonal": lambda e, a, b: e("kk,nk->n", a[:, :4].T @ a[:, :4], b[:, :4]),
    "three operands": lambda e, a, b: e("mk,nk,nj->mj", a, b, b),
    "number": lambda e, a, b: e(",mk,nk->n", 2.0, a, b),
    "captured": lambda e, a, b: e("mk,nk->mn", a, B) * e("mk,nk->mn", a, b),
    "scan": lambda e, a, b: jax.lax.scan(lambda c, _: (e("mk,jk->mj", c, b[:6]), None), a, None, length=2)[0],
    "cond": lambda e, a, b: jax.lax.cond(b.sum() > 0, lambda: e("mk,nk->mn", a, b), lambda: e("mk,nk->mn", a, 2 * b)),
    "checkpoint": lambda e, a, b: jax.checkpoint(lambda a, b: e("mk,nk->mn", a, b))(a, b),
}
for name, kind in kinds.items():
    def loss(e):
        def part(a, b):
            return jax.lax.psum((kind(e, a, b) ** 2).sum(), "i")
        return jax.shard_map(part, mesh=mesh, in_specs=(P("i"), P()), out_specs=P(), axis_names={"i"})
    same(name, lambda e: jax.jit(jax.grad(loss(e), (0, 1)))(A, B))
"""
    )


def test_explicit_sharding() -> None:
    """Results are whole on all devices, and each gradient is sharded as its operand."""
    on_four_devices("""
import itertools, jax, jax.numpy as jnp, numpy as np, cute_py, cute_py.jax as cj
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
A, B = (jax.random.normal(jax.random.key(i), shape) for i, shape in enumerate([(8, 6), (12, 6)]))
mesh = jax.make_mesh((2, 2), ("i", "j"), axis_types=(AxisType.Explicit, AxisType.Explicit))
expected = jax.grad(lambda a, b: ((a @ b.T) ** 2).sum(), (0, 1))(A, B)
with jax.set_mesh(mesh):
    for of_a, of_b in itertools.product([P(), P("i"), P(None, "i"), P(("i", "j"))], [P(), P("j"), P(None, "i")]):
        a, b = jax.device_put(A, NamedSharding(mesh, of_a)), jax.device_put(B, NamedSharding(mesh, of_b))
        for wrap in (lambda f: f, jax.jit):
            np.testing.assert_allclose(wrap(cj.gemm)(a, b), A @ B.T, rtol=1e-5, atol=1e-5)
            found = wrap(jax.grad(lambda a, b: (cj.gemm(a, b) ** 2).sum(), (0, 1)))(a, b)
            for x, y, like in zip(found, expected, (a, b)):
                np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4)
                assert x.sharding.is_equivalent_to(like.sharding, 2), (x.sharding, like.sharding)
    rows, columns = jax.reshard(A[:4, :4], P(None, "i")), jax.reshard(A[:4, :4], P("i"))
    part = jax.jit(lambda a, b: jnp.einsum("mk,kn->mn", a, b, out_sharding=P(unreduced={"i"})))(rows, columns)
    try:
        cj.einsum("mk,kn->mn", part, rows)
        raise AssertionError("a part of a sum passed for the sum")
    except cute_py.OperandError as error:
        assert "unreduced" in str(error)
""")


TYPES = ["float16", "bfloat16", "float32", "float64", "complex64", "int8", "float8_e4m3fn"]


def integers(shapes: list[tuple[int, ...]], dtype: str) -> list[Any]:
    return [jnp.asarray(np.round(3 * np.asarray(x))).astype(dtype) for x in arrays(shapes, np.float32)]


def outcome(call: Callable[[], Any]) -> Any:
    """Return type, shape and bits of a result, or the type of the error."""
    try:
        found = np.asarray(call())
    except CuteError as error:
        return type(error)
    return found.dtype, found.shape, found.tobytes()


@pytest.mark.thinned(3)
@pytest.mark.parametrize("options", [
    {}, *({"compute": x} for x in ("float32", "tfloat32", "float64", "complex64", "int32", "fast_float32")),
    *({"out_dtype": x} for x in ("float32", "float64", "float16", "int8")), {"compute": "float64", "out_dtype": "float32"},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("dtype", TYPES)
def test_einsum_is_that_of_the_core(dtype: str, options: dict[str, str]) -> None:
    """Types, bits and refusals, of one, two and three operands."""
    for subscripts, shapes in [
        ("ij->j", [(3, 4)]), ("ii->", [(3, 3)]), ("ij->ji", [(3, 4)]), ("i...->i", [(3, 4)]), ("ij,jk->ik", [(3, 4), (4, 5)]),
        ("i...,ij->j", [(3, 4), (3, 2)]), ("i,i,i->i", [(4,), (4,), (4,)]), ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 2)]),
    ]:  # fmt: skip
        operands = integers(shapes, dtype)
        expected = outcome(
            lambda: cute_py.einsum(subscripts, *map(np.asarray, operands), optimize=False, **options)  # noqa: B023
        )
        found = outcome(lambda: cj.einsum(subscripts, *operands, optimize=False, **options))  # noqa: B023
        assert found == expected, subscripts


@pytest.mark.parametrize("compute", [None, "float32", "tfloat32"])
def test_what_is_between_halves_is_float32(compute: str | None) -> None:
    a, c = jnp.full(4, 300, "float16"), jnp.full(4, 2.0**-10, "float16")
    found = cj.einsum("i,i,i->i", a, a, c, compute=compute, optimize=False)
    exact = 300 * 300 / 1024
    np.testing.assert_allclose(np.asarray(found, np.float64), exact, rtol=2e-3)


def test_one_operand_is_summed_by_the_core() -> None:
    int8 = jnp.full((2, 200), 100, "int8")
    assert cj.einsum("ij->i", int8).tolist() == [20000, 20000]
    assert cj.einsum("ij->ji", int8).dtype == np.int8
    tenth = jnp.full(4096, 0.1, "float32")
    assert cj.einsum("i->", tenth, compute="float64") == np.asarray(tenth, np.float64).sum()
    with pytest.raises(OperandError, match="compute is one of"):
        cj.einsum("ij->ji", int8, compute="float99")
    with pytest.raises(CuteError, match=r"A int8 \(2,200\)\n  next") as refused:
        cj.einsum("ij->i", int8, compute="float32")
    assert "  B " not in str(refused.value)


@pytest.mark.parametrize("compiled", [False, True])
def test_real_beside_complex(compiled: bool) -> None:
    """Both parts are multiplied as they are, in sums, too: nothing becomes a NaN that is none in `cute_py`."""
    wrap = jax.jit if compiled else lambda f: f
    for dtype in ("complex64", "complex128"):
        A = jnp.asarray([[complex(np.inf, 1), 2 - 1j], [1 + 1j, complex(0, -np.inf)]], dtype)
        real = jnp.asarray([[1, 2], [3, 4]], "float32")
        for subscripts, operands in [
            ("ij->", (A,)),
            ("ij->j", (A,)),
            (",ij->ij", (2.0, A)),
            ("ij,ij->ij", (real, A)),
            ("ij,ij->i", (A, real)),
        ]:
            found = wrap(lambda *x: cj.einsum(subscripts, *x))(*operands)  # noqa: B023
            given = [x if isinstance(x, float) else np.asarray(x) for x in operands]
            np.testing.assert_array_equal(np.asarray(found), cute_py.einsum(subscripts, *given))
            assert found.dtype == dtype
    A, B = arrays([(3, 4)], np.complex128)[0], arrays([(5, 4)])[0]
    check_grads(cj.gemm, (A, B), order=2, modes=("fwd", "rev"))
    check_grads(cj.gemm, (B, A), order=2, modes=("fwd", "rev"))
    for found, expected in zip(
        *(jax.grad(lambda a, b: abs(f("mk,nk->mn", a, b)).sum(), (0, 1))(A, B) for f in (cj.einsum, jnp.einsum)),  # noqa: B023
        strict=True,
    ):
        close(found, expected)


@pytest.mark.parametrize("wide", [False, True])
def test_numbers_and_weak_types_follow_the_others(wide: bool) -> None:
    with jax.enable_x64(wide):
        for dtype in ("float16", "bfloat16", "float32", "complex64"):
            x = jnp.ones((3, 3), dtype)
            for operands in [
                (",ij->ij", 0.5, x), ("ij,->ij", x, 2), *([] if wide else [(",ij->ij", 2j, x)]), (",ij,jk->ik", 0.5, x, x), ("ij,j->i", x, jnp.full(3, 1.0)),
                ("ij,j->i", jnp.full((3, 3), 1), x[0]), ("ij,j,->i", x, x[0], jnp.full((), 2.0)), (",ij->ij", True, x), (",", 0.5, 2),
                (",ij->ij", np.float32(2), x), ("i,i->", jnp.full(3, 1.0), jnp.full(3, 1.0)), ("i->", jnp.full(3, 1.0)),
            ]:  # fmt: skip
                found, expected = cj.einsum(*operands), jnp.einsum(*operands)
                close(found, expected)
                assert jax.jit(lambda x: cj.einsum(*operands[:-1], x))(operands[-1]).dtype == expected.dtype  # noqa: B023
            assert cj.contract(",ij->ij", 0.5, x).dtype == cj.matmul(x, jnp.full(3, 1.0)).dtype == x.dtype
        assert cj.einsum("i,i->", jnp.full(3, 1.0), jnp.full(3, 1.0)).weak_type
        assert not cj.einsum(
            "i,i->", jnp.full(3, 1.0), jnp.full(3, 1.0), out_dtype="float32" if not wide else "float64"
        ).weak_type


def test_strict_promotion() -> None:
    """What jax.numpy takes if no types may be mixed is taken, with its derivatives; what it refuses is refused."""
    half, brain, single, double = (jnp.full((3, 3), 1.5, x) for x in ("float16", "bfloat16", "float32", "float64"))
    to_single = {"preferred_element_type": "float32"}
    with jax.numpy_dtype_promotion("strict"):
        for subscripts, operands, options in [
            (",ij->ij", (0.5, half), {}), ("ij,jk->ik", (half, half), {}), ("ij,jk->ik", (half, half), to_single), ("ij,j->i", (brain, jnp.full(3, 1.0)), {}),
            ("ij,jk,kl->il", (half, half, half), {}), ("ij,jk,kl->il", (brain, brain, brain), to_single), ("ii->i", (half,), {}), ("ij->j", (half,), {}),
            ("ij,jk->ik", (half, brain), to_single), ("ij,jk->ik", (half, single), to_single), ("ij,jk->ik", (double, double), {}), ("iji,jk->ik", (jnp.ones((2, 3, 2), "float16"), half), {}),
        ]:  # fmt: skip
            close(cj.einsum(subscripts, *operands, **options), jnp.einsum(subscripts, *operands, **options), 1e-3)

            def gradients(einsum: Callable[..., Any]) -> Any:
                def loss(*x: Any) -> Any:
                    return einsum(subscripts, *x, **options).astype("float32").sum()  # noqa: B023

                return jax.jit(jax.grad(loss, tuple(range(len(operands)))))(*operands)  # noqa: B023

            for found, expected in zip(gradients(cj.einsum), gradients(jnp.einsum), strict=True):
                close(found, expected, 1e-2)
        assert jax.grad(lambda x: cj.gemm(x, half, out_dtype="float32").sum())(half).dtype == np.float16
        assert jax.grad(lambda x: cj.einsum("ij->", x, preferred_element_type="float32"))(half).dtype == np.float16
        for types in [(half, single), (half, brain), (single, double), (half, half, single)]:
            subscripts = ",".join(["ij"] * len(types)) + "->ij"
            for einsum in (cj.einsum, jnp.einsum):
                with pytest.raises(Exception, match="no available implicit dtype promotion path") as refused:
                    einsum(subscripts, *types)
                assert refused.type.__name__ == "TypePromotionError"


def test_precision() -> None:
    """float32 in float32 meets every lax.Precision; an algorithm is met to the bit, or refused."""
    A, B = arrays([(5, 40), (40, 6)], np.float32)
    exact, rounded = cj.matmul(A, B), cj.matmul(A, B, compute="tfloat32")
    assert (exact != rounded).any()
    lax = jax.lax
    single = (
        None,
        "default",
        "high",
        "highest",
        "float32",
        "tensorfloat32",
        lax.Precision.HIGH,
        ("high", "highest"),
        [lax.Precision.HIGH] * 2,
    )
    for precision in (*single, "F32_F32_F32", "DEFAULT", lax.DotAlgorithm(np.float32, np.float32, np.float32)):
        for found in (
            cj.matmul(A, B, precision=precision),
            cj.einsum("mk,kn->mn", A, B, precision=precision),
            cj.tensordot(A, B, 1, precision=precision),
        ):
            assert (found == exact).all(), precision
    for precision in ("TF32_TF32_F32", lax.DotAlgorithmPreset.TF32_TF32_F32):
        assert (cj.matmul(A, B, precision=precision) == rounded).all()
        assert (cj.matmul(A, B, precision=precision, compute="tfloat32") == rounded).all()
    found = cj.matmul(A, B, precision="F64_F64_F64")
    assert found.dtype == np.float32
    assert (found == cj.matmul(A, B, compute="float64").astype("float32")).all()
    half = A.astype("float16")
    assert (cj.gemm(half, half) == cj.einsum("mk,nk->mn", half, half, precision="F16_F16_F32")).all()
    float8 = A.astype("float8_e5m2")
    assert cj.einsum("mk,nk->mn", float8, float8, precision="ANY_F8_ANY_F8_F32_FAST_ACCUM").dtype == jnp.bfloat16
    for precision, message in [
        ("F16_F16_F16", "no kernel computes"), ("BF16_BF16_F32_X3", "no kernel computes"), (lax.DotAlgorithmPreset.TF32_TF32_F32_X3, "no kernel computes"),
        ("F16_F16_F32", "for operands of float16, and these are float32"), ("nonsense", "precision is"), (("high", 3), "precision is"), (3, "precision is"),
        (lax.DotAlgorithm("bfloat16", "bfloat16", np.float32, 3, 3, 6), "BF16_BF16_F32_X6"),
    ]:  # fmt: skip
        with pytest.raises(OperandError, match=rf"{message}[\s\S]*\n  next: "):
            cj.matmul(A, B, precision=precision)
    with pytest.raises(OperandError, match="sums in tfloat32, and compute is float32"):
        cj.matmul(A, B, precision="TF32_TF32_F32", compute="float32")


def test_preferred_element_type() -> None:
    for dtype, preferred in [
        ("float16", "float32"), ("bfloat16", np.float32), ("float32", jnp.bfloat16), ("float32", "float32"), ("float32", jnp.float64), ("float16", float),
        ("int8", "int32"), ("int8", "int16"), ("int8", "float32"), ("int8", "bfloat16"), ("int8", "float64"), ("complex64", "complex128"),
        ("float8_e4m3fn", "float32"), ("float8_e5m2", "float64"), ("float32", "complex64"),
    ]:  # fmt: skip
        A, B = integers([(5, 4), (4, 6)], dtype)
        options = {"preferred_element_type": preferred}
        for found, expected in (
            (cj.einsum("mk,kn->mn", A, B, **options), jnp.einsum("mk,kn->mn", A, B, **options)),
            (cj.matmul(A, B, **options), jnp.matmul(A, B, **options)),
            (cj.tensordot(A, B, 1, **options), jnp.tensordot(A, B, 1, **options)),
            (cj.einsum("mk->km", A, **options), jnp.einsum("mk->km", A, **options)),
        ):
            close(found, expected)
    A, B = integers([(5, 4), (4, 6)], "float16")
    for options in ({"out_dtype": "float32"}, {"out_dtype": "float32", "preferred_element_type": jnp.float32}):
        assert cj.matmul(A, B, **options).dtype == cj.tensordot(A, B, 1, **options).dtype == np.float32
    assert cj.gemm(A, A, out_dtype="float32").dtype == np.float32
    third = jnp.full((1, 3), 1 / 3, "float32")
    exact = (np.asarray(third, np.float64) ** 2).sum()
    assert cj.einsum("mk,nk->", third, third, preferred_element_type="float64") == exact
    for options, message in [
        ({"preferred_element_type": "float99"}, "a type of numbers"), ({"preferred_element_type": "int16"}, "not int16"),
        ({"preferred_element_type": "float32", "out_dtype": "float16"}, "both name the result's type"),
    ]:  # fmt: skip
        with pytest.raises(CuteError, match=message):
            cj.matmul(A, B, **options)


def test_derivatives_of_preferred_element_type() -> None:
    A, B = arrays([(3, 4), (4, 2)], np.float32)
    check_grads(
        lambda a, b: cj.matmul(a, b, preferred_element_type="float64"),
        (A, B),
        order=2,
        modes=("fwd", "rev"),
        atol=0.05,
        rtol=0.05,
    )
    half = A.astype("float16")
    grads = jax.grad(lambda a, b: cj.einsum("ij,jk->", a, b, preferred_element_type="float32"), (0, 1))(
        half, B.astype("float16")
    )
    assert [grad.dtype.name for grad in grads] == ["float16", "float16"]
    found = jax.jacfwd(lambda a: cj.einsum("ij->j", a, preferred_element_type="float32"))(half)
    close(found, jax.jacrev(lambda a: a.astype("float32").sum(0))(half).astype(found.dtype))


@pytest.mark.parametrize("call", [
    lambda x: cj.gemm(x, x, compute="float64"), lambda x: cj.gemm(x, x, out_dtype="float64"), lambda x: cj.matmul(x, x, preferred_element_type=jnp.float64),
    lambda x: cj.einsum("ij->j", x, compute="float64"), lambda x: cj.einsum("ij->ji", x, preferred_element_type="float64"),
    lambda x: cj.contract("ij,kj->ik", x, x, compute="complex128"), lambda x: cj.einsum("ij,jk,kl->il", x, x, x, compute="float64"),
])  # fmt: skip
def test_no_result_of_64_bits_where_jax_has_none(call: Callable[[Any], Any]) -> None:
    with jax.enable_x64(False):
        x = jnp.ones((3, 3))
        for wrap in (lambda f: f, jax.jit):
            with pytest.raises(OperandError, match=r"next: jax\.config\.update\('jax_enable_x64', True\)"):
                wrap(call)(x)
        assert cj.gemm(x, x, compute="float64", out_dtype="float32").dtype == np.float32


@pytest.mark.parametrize("mode", ["disable_jit", "checking_leaks", "log_compiles"])
def test_ways_to_run_a_program(mode: str) -> None:
    A, B = arrays([(3, 4), (5, 4)])
    expected = A @ B.T
    with getattr(jax, mode)():
        for wrap in (lambda f: f, jax.jit):
            close(wrap(cj.gemm)(A, B), expected)
            close(wrap(lambda a: cj.einsum("ij->j", a))(A), A.sum(0))
            close(wrap(jax.grad(lambda a: (cj.gemm(a, B) ** 2).sum()))(A), 2 * expected @ B)
            close(wrap(jax.vmap(lambda a: cj.einsum("j,kj->k", a, B)))(A), expected)


def test_debug_nans() -> None:
    A = arrays([(3, 3)])[0]
    with jax.debug_nans(True):
        for call in (
            lambda x: cj.gemm(x, x),
            lambda x: cj.einsum("ij->j", x),
            lambda x: cj.einsum("ij,jk,kl->il", x, x, x),
            jax.grad(lambda x: (cj.gemm(x, x) ** 2).sum()),
        ):
            for wrap in (lambda f: f, jax.jit):
                assert np.isfinite(wrap(call)(A)).all()
                with pytest.raises(FloatingPointError, match="nan"):
                    wrap(call)(A.at[0, 0].set(jnp.nan))
        with jax.disable_jit(), pytest.raises(FloatingPointError, match="nan"):
            cj.gemm(A, A.at[0, 0].set(jnp.nan))


def test_names_of_jax_may_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [(subscripts, arrays(shapes)) for subscripts, shapes in EINSUMS]
    expected = [jnp.einsum(subscripts, *operands) for subscripts, operands in cases]
    for name in ("einsum", "matmul", "tensordot"):
        monkeypatch.setattr(jnp, name, getattr(cj, name))
    monkeypatch.setattr(jnp, "dot", cj.matmul)
    for (subscripts, operands), result in zip(cases, expected, strict=True):
        close(jnp.einsum(subscripts, *operands), result)
    A = arrays([(3, 3)])[0]
    for function in (jnp.matmul, jnp.dot, lambda a, b: jnp.tensordot(a, b, 1)):
        close(function(A, A), A @ A)


def test_axes_of_tensordot() -> None:
    A, B = arrays([(2, 3, 4), (4, 3, 5)])
    expected = jnp.tensordot(A, B, ([1, 2], [1, 0]))
    for axes in [
        ((1, 2), (1, 0)), np.array([[1, 2], [1, 0]]), jnp.array([[1, 2], [1, 0]]), (np.array([1, 2]), [1, 0]), (range(1, 3), range(1, -1, -1)),
        ([np.int64(1), -1], [np.int32(1), 0]),
    ]:  # fmt: skip
        close(cj.tensordot(A, B, axes), expected)
    close(cj.tensordot(A, B, np.int64(1)), jnp.tensordot(A, B, 1))
    close(cj.tensordot(A, B, (np.array(2), np.array(0))), jnp.tensordot(A, B, (2, 0)))


def test_export() -> None:
    A, B = arrays([(3, 4), (5, 4)])
    jitted = jax.jit(cj.gemm)
    with pytest.raises(ValueError, match="custom calls"):
        jax.export.export(jitted)(A, B)
    allowed = jax.export.DisabledSafetyCheck.custom_call("cute_py_contract")
    close(jax.export.export(jitted, disabled_checks=[allowed])(A, B).call(A, B), A @ B.T)
    rows = jax.ShapeDtypeStruct(jax.export.symbolic_shape("rows, 4"), A.dtype)
    program = jax.export.export(jitted, disabled_checks=[allowed])(rows, B)
    close(program.call(A, B), A @ B.T)


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
        (lambda x: cj.gemm(x, x, compute="tfloat32"), r"A float64 \(3,4\)\n  B float64 \(3,4\)"),
        (lambda x: cj.gemm(x, x, alpha=1j), "alpha is a real number"),
        (lambda x: cj.tensordot(x, x, "ab"), "are no integers"),
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
