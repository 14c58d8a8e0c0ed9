"""`cute_py.torch` under transformations: `torch.func`, forward mode, batches of gradients, and these compiled."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
ct = importlib.import_module("cute_py.torch")
operators = importlib.import_module("cute_py.torch.operators")

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # by what PyTorch imports for these

Function = Callable[..., Any]


def tensors(*shapes: tuple[int, ...], dtype: Any = torch.float64) -> list[Any]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]


def assert_same(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected)


# Each function of two matrices (M,K) and (K,N) beside the same of PyTorch.
FUNCTIONS: dict[str, tuple[Function, Function]] = {
    "einsum": (lambda a, b: ct.einsum("ij,jk->ik", a, b), torch.matmul),
    "einsum of one": (lambda a, b: ct.einsum("i...->i", a), lambda a, b: a.sum(1)),
    "view": (lambda a, b: ct.einsum("ij->ji", a), lambda a, b: a.T),
    "diagonal": (lambda a, b: ct.einsum("...ii->i...", a[..., :2, :2]), lambda a, b: a[:2, :2].diagonal()),
    "einsum of three": (lambda a, b: ct.einsum("ij,jk,lk->il", a, b, b), lambda a, b: a @ b @ b.T),
    "matmul": (lambda a, b: ct.matmul(a, b), torch.matmul),
    "linear": (
        lambda a, b: ct.linear(a, b.T, b[0], "gelu"),
        lambda a, b: torch.nn.functional.gelu(torch.nn.functional.linear(a, b.T, b[0])),
    ),
    "linear of one output": (lambda a, b: ct.linear(a, b[:, 0], b[0, 0]), lambda a, b: a @ b[:, 0] + b[0, 0]),
    "gemm": (lambda a, b: ct.gemm(a, b.T, alpha=2.0), lambda a, b: 2 * a @ b),
    "contract": (
        lambda a, b: ct.contract("ij,jk->ik", a, b, torch.matmul(a, b), alpha=0.5, beta=2.0),
        lambda a, b: 2.5 * a @ b,
    ),
    "tensordot": (lambda a, b: ct.tensordot(a, b, 1), torch.matmul),
}


def scalar(function: Function) -> Function:
    return lambda *operands: function(*operands).sin().sum()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_vmap(name: str, backend: str) -> None:
    ours, theirs = FUNCTIONS[name]
    x, b = tensors((2, 3, 4, 5), (5, 6))
    vmap, grad = torch.func.vmap, torch.func.grad

    def transforms(function: Function) -> list[tuple[Function, Any]]:
        once = vmap(function, (0, None))
        return [(once, x[0]), (vmap(once, (0, None)), x), (vmap(grad(scalar(function)), (0, None)), x[0])]

    for (function, a), (reference, _) in zip(transforms(ours), transforms(theirs), strict=True):
        torch._dynamo.reset()
        assert_same(torch.compile(function, backend=backend, fullgraph=True)(a, b), reference(a, b))


@pytest.mark.parametrize("activation", operators.ACTIVATIONS)
def test_compiled_vmap_over_weights(activation: str) -> None:
    x, weights, biases = tensors((3, 4), (2, 5, 4), (2, 5))
    torch._dynamo.reset()
    layers = torch.compile(
        torch.func.vmap(lambda w, b: ct.linear(x, w, b, activation)), backend="aot_eager", fullgraph=True
    )
    expected = [ct.linear(x, w, b, activation) for w, b in zip(weights, biases, strict=True)]
    assert_same(layers(weights, biases), torch.stack(expected))


def test_gradients_of_a_compiled_vmap() -> None:
    x, weight, bias = tensors((2, 3, 4), (5, 4), (5,))
    given = [weight.requires_grad_(), bias.requires_grad_()]

    def batch(layer: Function) -> Function:
        return torch.func.vmap(lambda x: layer(x, weight, bias).sin())

    torch._dynamo.reset()
    found = torch.compile(batch(ct.linear), backend="aot_eager", fullgraph=True)(x)
    expected = batch(torch.nn.functional.linear)(x)
    assert_same(torch.autograd.grad(found.sum(), given), torch.autograd.grad(expected.sum(), given))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("transform", ["jacfwd", "jacrev", "hessian"])
def test_compiled_derivatives(transform: str, backend: str) -> None:
    a, b = tensors((3, 4), (4, 5))
    for name in ("matmul", "linear", "einsum of three"):
        ours, theirs = (
            getattr(torch.func, transform)(scalar(lambda a, function=function: function(a, b)))
            for function in FUNCTIONS[name]
        )
        torch._dynamo.reset()
        assert_same(torch.compile(ours, backend=backend, fullgraph=True)(a), theirs(a))


VALUES = {
    "float": (0.5, 0.6, 0.7, 0.0, 1.0),
    "int": (2, 3, 4, 0, 1),
    "complex": (1 + 2j, 2 - 1j, 3j),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("kind", VALUES)
def test_compiled_numbers_may_change(kind: str, backend: str) -> None:
    A, B, C = tensors((4, 5), (6, 5), (4, 6), dtype=torch.complex128 if kind == "complex" else torch.float64)
    cases: list[tuple[Function, Function]] = [
        (lambda s: ct.gemm(A, B, alpha=s), lambda s: s * A @ B.T),
        (lambda s: ct.contract("mk,nk->mn", A, B, C, beta=s), lambda s: A @ B.T + s * C),
        (lambda s: ct.gemm(A, B, C, alpha=s, beta=s), lambda s: s * A @ B.T + s * C),
    ]
    for ours, theirs in cases:
        torch._dynamo.reset()
        compiled = torch.compile(ours, backend=backend, fullgraph=True)
        for value in VALUES[kind]:
            assert_same(compiled(value), theirs(value))


@pytest.mark.parametrize("dynamic", [None, True])
def test_compiled_numbers_of_extents(dynamic: bool | None) -> None:
    def scores(q: Any, multiply: Function) -> Any:
        return multiply(q, q.shape[-1] ** -0.5, q.shape[0])

    torch._dynamo.reset()
    compiled = torch.compile(
        lambda q: scores(q, lambda q, s, n: ct.gemm(q, q, q @ q.T, alpha=s, beta=n)),
        backend="aot_eager",
        fullgraph=True,
        dynamic=dynamic,
    )
    for shape in ((3, 4), (4, 5), (5, 6)):
        (q,) = tensors(shape)
        assert_same(compiled(q), scores(q, lambda q, s, n: (s + n) * q @ q.T))


def test_compiled_numbers_have_gradients_beside_them() -> None:
    A, B, C = tensors((4, 5), (6, 5), (4, 6))
    given = [A.requires_grad_(), C.requires_grad_()]
    torch._dynamo.reset()
    compiled = torch.compile(lambda s: ct.gemm(A, B, C, alpha=s, beta=s), backend="aot_eager", fullgraph=True)
    for s in VALUES["float"]:
        expected = torch.autograd.grad((s * A @ B.T + s * C).sin().sum(), given)
        assert_same(torch.autograd.grad(compiled(s).sin().sum(), given), expected)


EINSUMS = [
    ("ij,kj->ik", [(2, 3), (3, 3)]),
    ("iij,jk->ik", [(2, 2, 3), (3, 2)]),
    ("ij,k->k", [(2, 3), (2,)]),
    ("ij->j", [(2, 3)]),
    ("i...->i", [(2, 2, 3)]),
    ("...ik,...j->ij", [(2, 2, 3), (2, 2)]),
    ("ii->", [(3, 3)]),
    ("ij,jk,kl->il", [(2, 3), (3, 2), (2, 2)]),
    ("...i,ij,...j->", [(2, 3), (3, 2), (2, 2)]),
]


@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: case[0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
def test_all_kinds_of_derivatives(case: tuple[str, list[tuple[int, ...]]], dtype: Any) -> None:
    subscripts, shapes = case
    operands = [x.requires_grad_() for x in tensors(*shapes, dtype=dtype)]
    check = (lambda *x: ct.einsum(subscripts, *x), operands)
    assert torch.autograd.gradcheck(
        *check, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True
    )
    assert torch.autograd.gradgradcheck(*check, check_fwd_over_rev=True, check_batched_grad=True)


@pytest.mark.parametrize("layer", ["linear", "affine"])
@pytest.mark.parametrize("activation", operators.ACTIVATIONS)
def test_all_kinds_of_derivatives_of_a_layer(activation: str, layer: str) -> None:
    function = ct.linear if layer == "linear" else torch.ops.cute_py.affine
    cases = [((2, 2, 3), (2, 3), (2,)), ((3,), (2, 3), (2,))]
    for shapes in [*cases, ((2, 3), (3,), ())] if layer == "linear" else cases:
        operands = [x.requires_grad_() for x in tensors(*shapes)]
        check = (lambda *x: function(*x, activation), operands)
        assert torch.autograd.gradcheck(
            *check, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True
        )
        assert torch.autograd.gradgradcheck(*check, check_fwd_over_rev=True, check_batched_grad=True)


@pytest.mark.parametrize("activation", operators.ACTIVATIONS)
def test_batches_of_gradients_of_a_layer(activation: str) -> None:
    operands = tensors((4, 5), (7, 5), (7,))
    functional = operators.ACTIVATIONS[activation][0]

    def ours(*x: Any) -> Any:
        return ct.linear(*x, activation)

    def theirs(*x: Any) -> Any:
        return functional(torch.nn.functional.linear(*x))

    for of in (torch.autograd.functional.jacobian, torch.autograd.functional.hessian):
        f, g = (ours, theirs) if of is torch.autograd.functional.jacobian else (scalar(ours), scalar(theirs))
        assert_same(of(f, tuple(operands), vectorize=True), of(g, tuple(operands), vectorize=True))
    strategies = {"vectorize": True, "strategy": "forward-mode"}
    jacobian = torch.autograd.functional.jacobian
    assert_same(jacobian(ours, tuple(operands), **strategies), jacobian(theirs, tuple(operands), **strategies))


def twice(outer: str, inner: str) -> Function:
    return lambda f: getattr(torch.func, outer)(getattr(torch.func, inner)(f))


@pytest.mark.parametrize("activation", operators.ACTIVATIONS)
@pytest.mark.parametrize("outer", ["jacfwd", "jacrev"])
@pytest.mark.parametrize("inner", ["jacfwd", "jacrev"])
def test_second_derivatives_of_torch_func(inner: str, outer: str, activation: str) -> None:
    a, b, bias = tensors((2, 3), (4, 3), (4,))
    functional = operators.ACTIVATIONS[activation][0]
    expected = twice(outer, inner)(scalar(lambda a: functional(torch.nn.functional.linear(a @ a.T @ a, b, bias))))(a)
    for layer in (ct.linear, torch.ops.cute_py.affine):
        found = twice(outer, inner)(
            scalar(lambda a, layer=layer: layer(ct.einsum("ij,kj,kl->il", a, a, a), b, bias, activation))
        )(a)
        assert_same(found, expected)


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr")  # of PyTorch's linearize
def test_hessian_and_linearize() -> None:
    a, b, c = tensors((2, 3), (4, 3), (2, 4))
    ours, theirs = (lambda a: ct.gemm(a, b, c, alpha=2, beta=0.5)), (lambda a: 2 * a @ b.T + 0.5 * c)
    assert_same(torch.func.hessian(scalar(ours))(a), torch.func.hessian(scalar(theirs))(a))
    value, push = torch.func.linearize(ours, a)
    assert_same((value, push(a)), torch.func.jvp(theirs, (a,), (a,)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_levels_in_any_order(name: str) -> None:
    x, b = tensors((2, 3, 4), (4, 5))
    vmap, grad, functionalize = torch.func.vmap, torch.func.grad, torch.func.functionalize

    def jvp(function: Function) -> Function:
        return lambda a: torch.func.jvp(function, (a,), (a.cos(),))

    def transformed(function: Function) -> list[Any]:
        def of_one(a: Any) -> Any:
            return function(a, b)

        return [
            vmap(jvp(of_one))(x),
            jvp(vmap(of_one))(x),
            vmap(grad(scalar(of_one)))(x),
            grad(scalar(vmap(of_one)))(x),
            jvp(grad(scalar(of_one)))(x[0]),
            grad(lambda a: jvp(scalar(of_one))(a)[1])(x[0]),
            functionalize(of_one)(x[0]),
            functionalize(vmap(of_one))(x),
            functionalize(grad(scalar(of_one)))(x[0]),
            grad(scalar(functionalize(of_one)))(x[0]),
        ]

    ours, theirs = FUNCTIONS[name]
    for found, expected in zip(transformed(ours), transformed(theirs), strict=True):
        assert_same(found, expected)


def test_functionalize_of_each_operator() -> None:
    a, b = tensors((3, 4), (5, 4))
    for name in ("pair", "affine", "gemm", "linear"):
        arguments = (a, b, None, "mk", "nk", "mn") if name == "pair" else (a, b, None)
        assert_same(torch.func.functionalize(getattr(torch.ops.cute_py, name))(*arguments), a @ b.T)


def test_transformations_of_an_operator_itself() -> None:
    a, b = tensors((3, 4), (5, 4))

    def pair(a: Any) -> Any:
        return torch.ops.cute_py.pair(a, b, None, "mk", "nk", "mn")

    assert_same(torch.func.grad(scalar(pair))(a), torch.func.grad(scalar(lambda a: a @ b.T))(a))
    assert_same(torch.func.jacfwd(pair)(a), torch.func.jacfwd(lambda a: a @ b.T)(a))


@pytest.mark.parametrize("activation", operators.ACTIVATIONS)
def test_dual_numbers(activation: str) -> None:
    """Forward mode without `torch.func`, and reverse mode over it and under it."""
    forward_ad = torch.autograd.forward_ad
    a, b, bias = tensors((2, 3), (4, 3), (4,))
    functional = operators.ACTIVATIONS[activation][0]

    def derivatives(function: Function) -> list[Any]:
        x, t = a.clone().requires_grad_(), a.sin().requires_grad_()
        with forward_ad.dual_level():
            y = function(forward_ad.make_dual(x, t))
            value, tangent = forward_ad.unpack_dual(y)
            of_tangent = torch.autograd.grad(tangent.cos().sum(), (x, t), retain_graph=True)
            (of_value,) = torch.autograd.grad(y.cos().sum(), x, create_graph=True)
            return [value, tangent, *of_tangent, *forward_ad.unpack_dual(of_value)]

    expected = derivatives(lambda x: functional(torch.nn.functional.linear(x @ x.T @ x, b, bias)))
    for layer in (ct.linear, torch.ops.cute_py.affine):
        found = derivatives(lambda x, layer=layer: layer(ct.matmul(ct.gemm(x, x), x), b, bias, activation))
        assert_same(found, expected)


@pytest.mark.parametrize("dtypes", [(torch.float16, torch.float32), (torch.bfloat16, torch.bfloat16)], ids=str)
def test_tangents_have_the_type_of_the_result(dtypes: tuple[Any, Any]) -> None:
    a, b = (x.to(dtype) for x, dtype in zip(tensors((3, 8), (4, 8)), dtypes, strict=True))
    value, tangent = torch.func.jvp(ct.gemm, (a, b), (a, b))
    assert value.dtype == tangent.dtype
    torch.testing.assert_close(tangent, 2 * value, rtol=0.02, atol=0.02)
    assert torch.equal(value, ct.gemm(a, b))


def test_tangents_of_conjugates_and_mixed_factors() -> None:
    z, y = tensors((2, 3), (4, 3), dtype=torch.complex128)
    (x,) = tensors((2, 3))

    def jvp(function: Function, a: Any) -> Any:
        return torch.func.jvp(function, (a,), (a.sin(),))

    assert_same(jvp(lambda a: ct.einsum("ij,kj->ik", a.conj(), a), z), jvp(lambda a: a.conj() @ a.T, z))
    assert_same(jvp(lambda a: ct.gemm(a, y, alpha=2 - 1j), z), jvp(lambda a: (2 - 1j) * a @ y.T, z))
    assert_same(jvp(lambda a: ct.gemm(a, y), x), jvp(lambda a: a.to(y.dtype) @ y.T, x))
    assert_same(jvp(lambda c: ct.gemm(z, y, c, beta=3j), z @ y.T), jvp(lambda c: z @ y.T + 3j * c, z @ y.T))


@pytest.mark.parametrize("out_dtype", [None, torch.int8, torch.float32], ids=str)
def test_vmap_over_weights_of_bytes(out_dtype: Any) -> None:
    x, weights = torch.full((2, 3, 4), 100, dtype=torch.int8), torch.full((2, 5, 4), 90, dtype=torch.int8)
    weights[1] = -90
    found = torch.func.vmap(lambda x, w: ct.linear(x, w, out_dtype=out_dtype))(x, weights)
    expected = torch.stack([ct.linear(a, w, out_dtype=out_dtype) for a, w in zip(x, weights, strict=True)])
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
