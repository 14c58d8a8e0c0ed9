"""`cute_py.torch`: values, gradients, tracing, batching, autocast, and a transformer trained with it."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from cute_py import CuteError, OperandError
from cute_py import contract as plain_contract

torch = pytest.importorskip("torch")
ct = importlib.import_module("cute_py.torch")
operators = importlib.import_module("cute_py.torch.operators")

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]

# Subscripts and the shapes of their operands.
EINSUMS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("ij,kj", [(3, 4), (5, 4)]),
    ("abk,ck->abc", [(3, 4, 5), (2, 5)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("i,i->", [(7,), (7,)]),
    ("i,j->ij", [(3,), (4,)]),
    (",ij->ji", [(), (3, 4)]),
    ("ij,ij->ij", [(3, 4), (3, 4)]),
    ("ij,ij->j", [(3, 4), (1, 4)]),
    ("ij,k->k", [(3, 4), (5,)]),
    ("iij,jk->ik", [(3, 3, 4), (4, 5)]),
    ("ii,jj->", [(3, 3), (4, 4)]),
    ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 2)]),
    ("ij,jk,kl,l->i", [(3, 4), (4, 5), (5, 6), (6,)]),
    ("...a,ab,...b->...", [(4, 3), (3, 5), (4, 5)]),
    ("ij,jk,ik->", [(0, 4), (4, 5), (0, 5)]),
    ("ij->ji", [(3, 4)]),
    ("ij->", [(3, 4)]),
]


def tensors(shapes: list[tuple[int, ...]], dtype: Any, device: str = "cpu", seed: int = 0) -> list[Any]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=dtype).to(device) for shape in shapes]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: case[0])
def test_einsum_is_that_of_pytorch(case: tuple[str, list[tuple[int, ...]]], dtype: Any, device: str) -> None:
    subscripts, shapes = case
    operands = tensors(shapes, dtype, device)
    found, expected = ct.einsum(subscripts, *operands), torch.einsum(subscripts, *operands)
    assert found.dtype == expected.dtype
    if dtype == torch.bfloat16:  # intermediate results are wider than PyTorch's
        expected = torch.einsum(subscripts, *[x.float() for x in operands]).to(dtype)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(ct.einsum(subscripts, operands), found, rtol=0, atol=0)


def test_einsum_takes_lists_of_indices() -> None:
    A, B = tensors([(3, 4), (4, 5)], torch.float64)
    torch.testing.assert_close(ct.einsum(A, [0, 1], B, [1, 2], [2, 0]), (A @ B).T)


@pytest.mark.parametrize(
    "case",
    [
        *[case for case in EINSUMS if 0 not in case[1][0]],
        ("...ij,...jk->...ik", [(2, 1, 2, 3), (2, 3, 2)]),
    ],
    ids=lambda case: case[0],
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
def test_first_and_second_derivatives(case: tuple[str, list[tuple[int, ...]]], dtype: Any) -> None:
    subscripts, shapes = case
    shapes = [tuple(min(extent, 3) for extent in shape) for shape in shapes]
    operands = [x.requires_grad_() for x in tensors(shapes, dtype)]
    check = (lambda *x: ct.einsum(subscripts, *x), operands)
    assert torch.autograd.gradcheck(*check)
    assert torch.autograd.gradgradcheck(*check)


def test_derivatives_with_numbers_conjugates_and_c() -> None:
    A, B, C = (x.requires_grad_() for x in tensors([(2, 3), (4, 3), (2, 4)], torch.complex128))

    def pair(conj_a: bool, conj_b: bool) -> Callable[..., Any]:
        def function(A: Any, B: Any, C: Any) -> Any:
            return torch.ops.cute_py.pair(A, B, C, "mk", "nk", "mn", 2 - 1j, 0.5 + 3j, conj_a, conj_b)

        return function

    for conj_a, conj_b in itertools.product([False, True], repeat=2):
        expected = (2 - 1j) * (A.conj() if conj_a else A) @ (B.conj() if conj_b else B).T + (0.5 + 3j) * C
        torch.testing.assert_close(pair(conj_a, conj_b)(A, B, C), expected)
        assert torch.autograd.gradcheck(pair(conj_a, conj_b), (A, B, C))
        assert torch.autograd.gradgradcheck(pair(conj_a, conj_b), (A, B, C))


def test_derivatives_of_a_real_and_a_complex_factor() -> None:
    A, C = tensors([(2, 3), (2, 4)], torch.float64)
    (B,) = tensors([(4, 3)], torch.complex128)
    A.requires_grad_(), B.requires_grad_(), C.requires_grad_()
    assert torch.autograd.gradcheck(lambda A, B: ct.gemm(A, B), (A, B))
    assert torch.autograd.gradcheck(lambda A, B: ct.gemm(B, A.conj()), (A, B))
    assert torch.autograd.gradgradcheck(lambda A, B: ct.gemm(A, B), (A, B))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "dtypes", list(itertools.product([torch.float16, torch.bfloat16, torch.float32], repeat=2)), ids=str
)
def test_gradients_have_the_types_of_what_they_are_of(dtypes: tuple[Any, Any], device: str) -> None:
    A, B = (tensors([shape], dtype, device)[0] for shape, dtype in zip([(6, 9), (5, 9)], dtypes, strict=True))
    wide = [x.double().requires_grad_() for x in (A, B)]
    (wide[0] @ wide[1].T).square().sum().backward()
    narrow = [A.requires_grad_(), B.requires_grad_()]
    ct.gemm(*narrow).float().square().sum().backward()
    for x, y in zip(narrow, wide, strict=True):
        assert x.grad.dtype == x.dtype
        torch.testing.assert_close(x.grad.double(), y.grad, rtol=0.05, atol=0.3)


def test_a_conjugated_view_is_not_copied() -> None:
    A, B = tensors([(30, 40), (50, 40)], torch.complex64)
    seen: list[tuple[Any, ...]] = []

    class Record(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append((str(function), args))
            return function(*args, **(kwargs or {}))

    with Record():
        found = ct.einsum("mk,nk->mn", A.conj(), B.conj())
    torch.testing.assert_close(found, A.conj() @ B.conj().T)
    ((_, arguments),) = [call for call in seen if "pair" in call[0]]
    assert arguments[0].data_ptr() == A.data_ptr()
    assert arguments[1].data_ptr() == B.data_ptr()
    assert not [name for name, _ in seen if "clone" in name or "resolve" in name or "copy" in name]


TYPES = [
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128, torch.int8,
    torch.float8_e4m3fn, torch.float8_e5m2,
]  # fmt: skip
COMPUTES = [None, "float32", "tfloat32", "fast_float32", "float64", "complex64", "complex128", "int32"]


@pytest.mark.parametrize("compute", COMPUTES)
def test_a_traced_result_has_the_type_of_the_real_one(compute: str | None) -> None:
    found = 0
    for a, b in itertools.product(TYPES, TYPES):
        A, B = torch.ones(2, 3).to(a), torch.ones(4, 3).to(b)
        try:
            expected = plain_contract("mk,nk->mn", A, B, compute=compute)
        except CuteError:
            continue
        assert operators.result_type(a, b, compute) == expected.dtype
        found += 1
    assert found >= 1


@pytest.mark.filterwarnings("ignore")  # of PyTorch about itself
def test_the_operators_pass_pytorchs_own_checks() -> None:
    ops = torch.ops.cute_py
    A, B, C = tensors([(2, 3, 4), (5, 4), (5, 3, 2)], torch.float32)
    X, Y = tensors([(2, 3), (3, 4)], torch.complex64)
    for differentiable in (False, True):
        A, B, C, X, Y = (x.detach().requires_grad_(differentiable) for x in (A, B, C, X, Y))
        torch.library.opcheck(ops.pair.default, (A, B, None, "abk", "ck", "abc"))
        torch.library.opcheck(ops.pair.default, (A, B, C, "abk", "ck", "cba", 2.0, 0.5))
        torch.library.opcheck(ops.pair.default, (X, Y, None, "ik", "kj", "ji", 1j, 0, True, False))
        for activation in operators.ACTIVATIONS:
            torch.library.opcheck(ops.affine.default, (A, B, B[:, 0].detach(), activation))
        torch.library.opcheck(ops.contract.default, (A, B, None, "...k,ck->c..."))
        torch.library.opcheck(ops.einsum.default, ([A, B, C], "abk,ck,cba->"))
        torch.library.opcheck(ops.linear.default, (A, B, None, "gelu"))


@pytest.mark.parametrize(
    "in_dims", [d for d in itertools.product([None, 0, 1, 2], [None, 0, -1]) if any(x is not None for x in d)]
)
def test_vmap_is_a_loop(in_dims: tuple[int | None, int | None]) -> None:
    shapes: list[tuple[int, ...]] = [(3, 4), (5, 4)]
    operands = tensors(shapes, torch.float64)
    batched = [
        x if dim is None else torch.stack([x * (i + 1) for i in range(6)], dim)
        for x, dim in zip(operands, in_dims, strict=True)
    ]
    for function in (
        lambda A, B: ct.einsum("mk,nk->nm", A, B),
        lambda A, B: ct.linear(A, B, B[:, 0], "relu"),
        torch.func.grad(lambda A, B: ct.gemm(A, B).square().sum(), argnums=0),
        torch.func.grad(lambda A, B: ct.linear(A, B, None, "silu").sum(), argnums=1),
    ):
        found = torch.func.vmap(function, in_dims)(*batched)
        slices = [
            [x if dim is None else x.select(dim, i) for x, dim in zip(batched, in_dims, strict=True)] for i in range(6)
        ]
        torch.testing.assert_close(found, torch.stack([function(*x) for x in slices]))


def test_vmap_with_a_batch_of_c_alone_and_nested() -> None:
    A, B, C = tensors([(3, 4), (5, 4), (7, 3, 5)], torch.float64)
    function = lambda C: ct.gemm(A, B, C, beta=2)  # noqa: E731
    torch.testing.assert_close(torch.func.vmap(function)(C), A @ B.T + 2 * C)
    X, Y = tensors([(6, 2, 3, 4), (2, 5, 4)], torch.float64)
    found = torch.func.vmap(torch.func.vmap(ct.gemm), (0, None))(X, Y)
    torch.testing.assert_close(found, X @ Y.mT)
    jacobian = torch.func.jacrev(lambda A: ct.gemm(A, B))(A)
    torch.testing.assert_close(jacobian, torch.func.jacrev(lambda A: A @ B.T)(A))


def test_vmap_inside_and_outside_of_derivatives() -> None:
    A, B = tensors([(3, 4), (5, 4)], torch.float64)
    stack = torch.stack([A, 2 * A]).requires_grad_()
    torch.func.vmap(lambda a: ct.gemm(a, B))(stack).square().sum().backward()
    expected = torch.autograd.grad((stack @ B.T).square().sum(), stack)[0]
    torch.testing.assert_close(stack.grad, expected)
    found = torch.func.grad(lambda x: torch.func.vmap(lambda a: ct.gemm(a, B).square().sum())(x).sum())(stack.detach())
    torch.testing.assert_close(found, expected)

    weights = torch.stack([B, 3 * B]).requires_grad_()  # an ensemble of layers
    layers = torch.func.vmap(lambda w: ct.linear(A, w, w[:, 0], "gelu"))(weights)
    torch.testing.assert_close(layers, torch.nn.functional.gelu(A @ weights.mT + weights[:, None, :, 0]))
    assert torch.autograd.gradcheck(torch.func.vmap(lambda w: ct.linear(A, w, w[:, 0], "silu")), weights)

    def function(a: Any) -> Any:
        return ct.einsum("ik,jk,lk->", a, B, a)

    def reference(a: Any) -> Any:
        return torch.einsum("ik,jk,lk->", a, B, a)

    hessian = torch.func.jacrev(torch.func.jacrev(function))(A)
    torch.testing.assert_close(hessian, torch.func.jacrev(torch.func.jacrev(reference))(A))
    _, pull = torch.func.vjp(lambda a: ct.gemm(a, B), A)
    torch.testing.assert_close(pull(torch.ones(3, 5, dtype=A.dtype))[0], torch.ones(3, 5, dtype=A.dtype) @ B)
    jacobian = torch.autograd.functional.jacobian(lambda a: ct.gemm(a, B), A, vectorize=True)
    torch.testing.assert_close(jacobian, torch.autograd.functional.jacobian(lambda a: a @ B.T, A))
    x = A.clone().requires_grad_()
    (found,) = torch.autograd.grad(ct.gemm(x, B), x, torch.ones(2, 3, 5, dtype=A.dtype), is_grads_batched=True)
    torch.testing.assert_close(found, torch.ones(2, 3, 5, dtype=A.dtype) @ B)


def test_vmap_keeps_the_types_of_a_layer() -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.int8):
        x, weight = torch.ones(3, 4, dtype=dtype), torch.ones(2, 5, 4, dtype=dtype)
        bias = torch.zeros(5)
        found = torch.func.vmap(lambda w: ct.linear(x, w, bias, "gelu"))(weight)  # noqa: B023
        expected = ct.linear(x, weight[0], bias, "gelu")
        assert found.dtype == expected.dtype
        torch.testing.assert_close(found[1], expected)


@pytest.mark.filterwarnings("ignore")  # of PyTorch: torch.jit is deprecated
def test_tracers_see_the_operators() -> None:
    A, B = tensors([(3, 4), (5, 4)], torch.float32)
    traced = torch.jit.trace(lambda a, b: ct.linear(ct.gemm(a, b), b.T), (A, B))
    torch.testing.assert_close(traced(2 * A, B), 2 * A @ B.T @ B)
    make_fx = torch.fx.experimental.proxy_tensor.make_fx
    for early in (False, True):
        graph = make_fx(lambda a, b: ct.gemm(a, b), pre_dispatch=early)(A, B)
        assert "cute_py" in graph.code
        torch.testing.assert_close(graph(2 * A, B), 2 * A @ B.T)


def test_tensors_without_memory_have_shapes() -> None:
    A, B = torch.ones(3, 4, device="meta"), torch.ones(5, 4, device="meta")
    for found in (ct.gemm(A, B), ct.linear(A, B), ct.einsum("ik,jk->ij", A, B)):
        assert (found.shape, found.device.type) == ((3, 5), "meta")
    assert ct.einsum("ik,jk,lk->ijl", A, B, B).shape == (3, 5, 5)


def test_negated_and_conjugated_views_go_anywhere() -> None:
    z, y = tensors([(3, 4), (5, 4)], torch.complex64)
    real = z.conj().imag
    assert real.is_neg()
    torch.testing.assert_close(ct.gemm(real, y.real), real @ y.real.T)
    C = z @ y.T
    torch.testing.assert_close(ct.gemm(z, y, C.conj(), beta=1j), C + 1j * C.conj())
    torch.testing.assert_close(ct.linear(z, y.conj(), y[:, 0].conj()), z @ y.conj().T + y[:, 0].conj())
    assert ct.gemm(z, y, alpha=C[0, 0].item()).dtype == torch.complex64


def test_a_layer_keeps_only_what_its_gradients_need() -> None:
    x, weight, bias = (t.requires_grad_() for t in tensors([(3, 4), (5, 4), (5,)], torch.float32))
    y = ct.linear(x, weight, bias)
    with torch.no_grad():
        bias.add_(1)
    y.sum().backward()
    torch.testing.assert_close(bias.grad, torch.full((5,), 3.0))
    kept: list[Any] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.shape) or t, lambda t: t):
        ct.linear(x, weight.detach(), bias)
    assert kept == [weight.shape]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("activation", operators.ACTIVATIONS)
def test_a_layer_is_that_of_pytorch(activation: str, device: str) -> None:
    x, weight, bias = tensors([(2, 5, 7), (6, 7), (6,)], torch.float64, device)
    functional = operators.ACTIVATIONS[activation][0]
    expected = functional(torch.nn.functional.linear(x, weight, bias))
    torch.testing.assert_close(ct.linear(x, weight, bias, activation), expected)
    torch.testing.assert_close(ct.linear(x[0, 0], weight, None, activation), functional(weight @ x[0, 0]))
    given = [t.requires_grad_() for t in (x[:1, :2].clone(), weight, bias)]
    torch.testing.assert_close(ct.linear(*given, activation), expected[:1, :2])
    for layer in (ct.linear, torch.ops.cute_py.affine):
        check = (lambda *t, layer=layer: layer(*t, activation), given)
        assert torch.autograd.gradcheck(*check)
        assert torch.autograd.gradgradcheck(*check)


@pytest.mark.parametrize("device", DEVICES)
def test_autocast(device: str) -> None:
    A, B = tensors([(4, 8), (6, 8)], torch.float32, device)
    (D,) = tensors([(6, 8)], torch.float64, device)
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast(device, dtype=dtype):
            for found in (ct.einsum("mk,nk->mn", A, B), ct.matmul(A, B.T), ct.linear(A, B, B[:, 0]), ct.gemm(A, B)):
                assert found.dtype == dtype
            assert ct.gemm(D, D).dtype == torch.float64
            torch.testing.assert_close(ct.matmul(A, B.T), (A.to(dtype).float() @ B.to(dtype).float().T).to(dtype))
    assert ct.gemm(A, B).dtype == torch.float32


def layers(A: Any, B: Any, w: Any) -> Any:
    y = ct.einsum("...k,nk->...n", A, B)
    z = ct.contract("bmn,bpn->bmp", y, y, alpha=0.25)
    return ct.linear(ct.matmul(z, A), w, w[:, 0], "gelu") + ct.einsum("bmp,bpk,qk->bmq", z, A, w)


COMPILERS = ["aot_eager", pytest.param("inductor", marks=pytest.mark.compiler)]


@pytest.mark.filterwarnings("ignore")  # of PyTorch about itself
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", COMPILERS)
def test_compiled_functions_are_one_graph(backend: str, dynamic: bool, device: str) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(layers, fullgraph=True, backend=backend, dynamic=dynamic)
    for size in (3, 4, 5) if dynamic else (3,):
        operands = [x.requires_grad_() for x in tensors([(2, size, 8), (6, 8), (7, 8)], torch.float32, device)]
        expected = layers(*operands)
        gradients = torch.autograd.grad(expected.square().sum(), operands)
        found = compiled(*operands)
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(torch.autograd.grad(found.square().sum(), operands), gradients)
        with torch.no_grad():
            torch.testing.assert_close(compiled(*operands), expected)


@pytest.mark.filterwarnings("ignore")  # of PyTorch about itself
def test_export() -> None:
    class Module(torch.nn.Module):  # type: ignore[misc]
        def forward(self, A: Any, B: Any, w: Any) -> Any:
            return layers(A, B, w)

    operands = tensors([(2, 3, 8), (6, 8), (7, 8)], torch.float32)
    program = torch.export.export(Module(), tuple(operands))
    torch.testing.assert_close(program.module()(*operands), layers(*operands))
    assert any("cute_py" in str(node.target) for node in program.graph.nodes)


def test_matmul_and_tensordot() -> None:
    for left, right in [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 1, 3, 4), (6, 4, 5)), ((7, 3, 4), (4, 5))]:
        A, B = tensors([left, right], torch.float64)
        torch.testing.assert_close(ct.matmul(A, B), A @ B)
    A, B = tensors([(2, 3, 4), (4, 3, 5)], torch.float64)
    for dims in (0, ([1, 2], [1, 0]), ([-1], [0])):
        torch.testing.assert_close(ct.tensordot(A, B, dims), torch.tensordot(A, B, dims))
    torch.testing.assert_close(ct.tensordot(A, A.permute(1, 2, 0), 2), torch.tensordot(A, A.permute(1, 2, 0), 2))


def test_sums_may_be_wider() -> None:
    A = torch.full((1, 4096), 0.1)
    exact = ct.gemm(A.double(), A.double())
    assert ct.contract("mk,nk->mn", A, A, compute="float64", out_dtype=torch.float64) == exact
    assert ct.gemm(A, A, compute=torch.float64) == exact
    assert ct.contract("mk,nk->mn", A.half(), A.half(), out_dtype="float32").dtype == torch.float32
    int8 = torch.full((2, 3), 100, dtype=torch.int8)
    assert (ct.gemm(int8, int8) == 30000).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ct.einsum("ij,kj->ik", x), "name 2 operands, and there are 1"),
        (lambda x: ct.einsum("ij,jk->ik", x, x), "one extent for index j, got 4 and, in operand 2, 3"),
        (lambda x: ct.einsum("ii,jk->ik", x, x), "one extent for index i, got 3 and 4 in operand 1"),
        (lambda x: ct.einsum("ij,jk->iz", x, x.T), "index z in the result"),
        (lambda x: ct.einsum("ij,jk,kl->il", x, x.T, x.T), "one extent for index k"),
        (lambda x: ct.einsum("ij,jk->ik", x, x.T.numpy()), "operand 2 is a ndarray, not a tensor"),
        (lambda x: ct.einsum(), "takes subscripts"),
        (lambda x: ct.contract("ij,kj->ik", x, x, beta=1), "there is no C"),
        (lambda x: ct.contract(3, x, x), "subscripts are a text"),
        (lambda x: ct.contract("ij,kj->ik", x, x, out_dtype="float99"), "no out_dtype"),
        (lambda x: ct.contract("ij,kj->ik", x, x, x, beta=1), r"has shape \(3, 3\), and C has \(3, 4\)"),
        (lambda x: ct.gemm(x, x[0]), "A is \\(M,K\\)"),
        (lambda x: ct.matmul(x, x[0, 0]), "a number is neither"),
        (lambda x: ct.gemm(x, x[:, :1]), "the same K"),
        (lambda x: ct.gemm(x, x, [1], beta=1), "operand 3 is a list"),
        (lambda x: ct.gemm(x, x, alpha=torch.ones(())), "alpha is a number, not a tensor"),
        (lambda x: ct.matmul(x, x[:1]), r"B \(...,K,N\)"),
        (lambda x: ct.matmul(x[:, :1], x), r"B \(...,K,N\)"),
        (lambda x: ct.einsum("ij,kj,lj->ikl", x, x, x, optimize=[(0, 1), (0, 1)]), "name of a way"),
        (lambda x: ct.tensordot(x, x, 3), "from 0 to 2"),
        (lambda x: ct.tensordot(x, x, ([5], [0])), "does not have"),
        (lambda x: ct.tensordot(x, x, ([0, 0], [0, 1])), "an axis twice"),
        (lambda x: ct.tensordot(x, x[:2], 1), "sums axis 1 of A, of extent 4, with axis 0 of B, of extent 2"),
        (lambda x: ct.tensordot(x, x, 1.0), "no integers"),
        (lambda x: ct.linear(x.cfloat(), x.cfloat(), None, "sigmoid"), "complex numbers is not defined"),
        (lambda x: ct.tensordot(x, x, ([0], [0, 1])), "not as many"),
        (lambda x: ct.linear(x, x, x[0]), "N is 3 in weight and 4 in bias"),
        (lambda x: ct.linear(x, x.T), "K is 4 in x and 3 in weight"),
        (lambda x: ct.linear(x, x, activation="tanh"), "activation is one of"),
        (lambda x: ct.linear(x, x, x), "bias \\(N,\\)"),
        (lambda x: ct.linear(x, x[0], x[0]), "weight \\(K,\\) and bias \\(\\)"),
        (lambda x: ct.matmul(x, x.T, out_dtype="float99"), "matmul: PyTorch has no out_dtype"),
        (lambda x: ct.einsum("ij->i", x, compute="float16"), "float16"),
        (lambda x: ct.einsum("ij->i", x.long()), "int64"),
        (lambda x: ct.einsum("ii->i", x), "one extent for index i, got 3 and 4 in operand 1"),
        (lambda x: torch.ops.cute_py.pair(x, x, None, "ij", "k", "ik"), "B, which has rank 2"),
        (lambda x: torch.ops.cute_py.pair(x, x, None, "ij", "kj", "iz"), "index once"),
        (lambda x: torch.ops.cute_py.pair(x, x, None, "ii", "kj", "ik"), "index once"),
        (lambda x: torch.ops.cute_py.pair(x, x, x, "ij", "kj", "i"), "c has 2 modes"),
        (lambda x: ct.einsum("ij,kj->ik", x.long(), x.long()), "int64"),
    ],
)
@pytest.mark.parametrize("differentiable", [False, True])
def test_mistakes(call: Callable[[Any], Any], message: str, differentiable: bool) -> None:
    x = torch.ones(3, 4)
    with pytest.raises((OperandError, ValueError), match=message):
        call(x.requires_grad_(differentiable) if "numpy" not in message and "ndarray" not in message else x)


class Block(torch.nn.Module):  # type: ignore[misc]
    """One block of a transformer, its products by PyTorch or by cute_py."""

    def __init__(self, width: int, heads: int, ours: bool) -> None:
        super().__init__()
        self.heads, self.ours = heads, ours
        self.norms = torch.nn.ModuleList([torch.nn.LayerNorm(width) for _ in range(2)])
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def linear(self, x: Any, layer: Any, activation: str = "none") -> Any:
        if self.ours:
            return ct.linear(x, layer.weight, layer.bias, activation)
        return operators.ACTIVATIONS[activation][0](torch.nn.functional.linear(x, layer.weight, layer.bias))

    def forward(self, x: Any) -> Any:
        einsum = ct.einsum if self.ours else torch.einsum
        q, k, v = self.linear(self.norms[0](x), self.qkv).unflatten(-1, (3, self.heads, -1)).unbind(-3)
        scores = einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, -torch.inf).softmax(-1)
        x = x + self.linear(einsum("bhqk,bkhd->bqhd", weights, v).flatten(-2), self.out)
        return x + self.linear(self.linear(self.norms[1](x), self.up, "gelu"), self.down)


def losses(ours: bool, device: str) -> list[float]:
    torch.manual_seed(0)
    width, letters = 32, 11
    model = torch.nn.ModuleList([torch.nn.Embedding(letters, width), Block(width, 4, ours), Block(width, 4, ours)])
    head = torch.nn.Linear(width, letters)
    model.to(device), head.to(device)
    optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=3e-3)
    found = []
    for step in range(12):
        start = torch.arange(16).unsqueeze(1) + step
        text = ((start + torch.arange(25)) * 3 % letters).to(device)  # the next letter follows from the last
        x = text[:, :-1]
        for layer in model:
            x = layer(x)
        weight = head.weight
        logits = ct.linear(x, weight, head.bias) if ours else torch.nn.functional.linear(x, weight, head.bias)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("device", DEVICES)
def test_a_transformer_learns_as_with_pytorchs_own_products(device: str) -> None:
    found, expected = losses(True, device), losses(False, device)
    assert expected[-1] < 0.5 * expected[0]
    torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=1e-3, atol=1e-4)


@pytest.mark.gpu
def test_operators_in_a_cuda_graph() -> None:
    operands = tensors([(2, 32, 64), (48, 64), (40, 64)], torch.float16, "cuda")
    layers(*operands)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = layers(*operands)
    for x in operands:
        x.mul_(0.5)
    graph.replay()
    torch.testing.assert_close(found, layers(*operands), rtol=0, atol=0)
