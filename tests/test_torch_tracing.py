"""`cute_py.torch` for those who look on or write down: `torch.fx`, `torch.jit.trace`, `torch.export`, profilers.

And what it promises beyond PyTorch's own products: one operand through the core, types as the core has them.
"""

from __future__ import annotations

import copy
import importlib
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py import OperandError

torch = pytest.importorskip("torch")
ct = importlib.import_module("cute_py.torch")

Function = Callable[..., Any]


def tensors(*shapes: tuple[int, ...], dtype: Any = torch.float64) -> list[Any]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]


# Of a (M,K) and b (K,N), with every public function that multiplies.
CALLS: dict[str, tuple[Function, Function]] = {
    "einsum": (lambda a, b: ct.einsum("ij,jk->ik", a, b), torch.matmul),
    "einsum of lists": (lambda a, b: ct.einsum(a, [..., 1], b, [1, 2], [..., 2]), torch.matmul),
    "einsum of a list": (lambda a, b: ct.einsum("ij,jk->ik", [a, b], optimize=False), torch.matmul),
    "einsum of one": (lambda a, b: ct.einsum("i...->i", a), lambda a, b: a.sum(1)),
    "view": (lambda a, b: ct.einsum("ij->ji", a), lambda a, b: a.t()),
    "diagonal": (lambda a, b: ct.einsum("ii->i", a @ a.t()), lambda a, b: (a @ a.t()).diagonal()),
    "matmul": (lambda a, b: ct.matmul(a, b), torch.matmul),
    "linear": (lambda a, b: ct.linear(a, b.t(), b[0], "relu"), lambda a, b: torch.relu(a @ b + b[0])),
    "contract": (
        lambda a, b: ct.contract("ij,jk->ik", a, b, alpha=a.shape[-1] ** -0.5),
        lambda a, b: a @ b * a.shape[-1] ** -0.5,
    ),
    "gemm": (lambda a, b: ct.gemm(a, b.t(), torch.matmul(a, b), alpha=2, beta=0.5), lambda a, b: 2.5 * a @ b),
    "tensordot": (lambda a, b: ct.tensordot(a, b, 1, compute="float64"), torch.matmul),
}


class Calls(torch.nn.Module):  # type: ignore[misc]
    """A module of one of them. Its function is found by name, so that it can be pickled."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, a, b):  # type: ignore[no-untyped-def]  # torch.fx pickles no annotation that is a text
        return CALLS[self.name][0](a, b)


# ---- __torch_function__


@pytest.mark.parametrize("name", CALLS)
def test_symbolic_trace(name: str) -> None:
    a, b = tensors((3, 4), (4, 5))
    traced = torch.fx.symbolic_trace(Calls(name))
    assert "cute_py_torch_" in traced.code
    expected = CALLS[name][1](a, b)
    for module in (traced, copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))):
        torch.testing.assert_close(module(a, b), expected)


class Marked(torch.Tensor):  # type: ignore[misc]
    """A subclass that adds nothing."""


class Wrapped:
    """No tensor, but like one."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @classmethod
    def __torch_function__(cls, function: Function, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def plain(x: Any) -> Any:
            return x.value if isinstance(x, Wrapped) else [plain(y) for y in x] if isinstance(x, list) else x

        kwargs = {key: plain(x) for key, x in (kwargs or {}).items()}
        return cls(function(*[plain(x) for x in args], **kwargs))


@pytest.mark.parametrize("name", CALLS)
def test_subclasses_go_in_and_come_out(name: str) -> None:
    a, b = tensors((3, 4), (4, 5))
    found = CALLS[name][0](a.as_subclass(Marked), b)
    assert type(found) is Marked
    torch.testing.assert_close(found.as_subclass(torch.Tensor), CALLS[name][1](a, b))


def test_what_is_like_a_tensor() -> None:
    a, b = tensors((3, 4), (4, 5))
    x = Wrapped(a)
    calls = [
        (lambda: ct.einsum("ij,jk->ik", x, b), a @ b),
        (lambda: ct.einsum(b, [1, 2], x, [0, 1], [0, 2]), a @ b),
        (lambda: ct.matmul(x, b), a @ b),
        (lambda: ct.linear(x, b.T), a @ b),
        (lambda: ct.gemm(b.T, b.T, Wrapped(b.T @ b), beta=1), 2 * b.T @ b),
        (lambda: ct.contract("ij,jk->ik", a, b, alpha=Wrapped(2.0)), 2 * a @ b),
        (lambda: ct.tensordot(x, b, ([1], [0])), a @ b),
    ]
    for call, expected in calls:
        found = call()
        assert type(found) is Wrapped
        torch.testing.assert_close(found.value, expected)


def test_a_mode_sees_each_function_once() -> None:
    a, b = tensors((3, 4), (5, 4))
    seen = []

    class Record(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(function)
            return function(*args, **(kwargs or {}))

    with Record():
        found = ct.gemm(a, b)
    assert seen == [ct.gemm]
    torch.testing.assert_close(found, a @ b.T)


# ---- torch.jit


class Layers(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        weight, bias = tensors((5, 4), (5,))
        self.weight, self.bias = torch.nn.Parameter(weight), torch.nn.Parameter(bias)

    def forward(self, x: Any) -> Any:
        y = ct.gemm(ct.matmul(ct.linear(x, self.weight, self.bias, "gelu"), self.weight), self.weight, alpha=0.5)
        z = ct.contract("ij,kj->ik", ct.tensordot(y, self.weight, 1), self.weight, y, beta=2.0)
        sums = ct.einsum("ij->j", z) * ct.einsum("ii->i", z.t() @ z)
        return ct.einsum("ij,kj,kl->il", z, z, ct.einsum("ij->ji", z).t()) + sums


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # of PyTorch, of which none may come from us
def test_traced_modules_have_parameters_and_are_saved(tmp_path: Path) -> None:
    module = Layers()
    (x, other) = tensors((3, 4), (7, 4))
    traced = torch.jit.trace(module, (x,))
    parameters = list(module.parameters())
    for _ in range(3):  # TorchScript rewrites what has run twice
        found, expected = traced(other), module(other)
        torch.testing.assert_close(found, expected)
        gradients = torch.autograd.grad(found.sin().sum(), parameters)
        torch.testing.assert_close(gradients, torch.autograd.grad(expected.sin().sum(), parameters))
    torch.jit.save(traced, str(tmp_path / "traced.pt"))
    torch.save((other, expected.detach()), tmp_path / "values.pt")
    program = (
        "import torch, cute_py.torch\n"
        f"x, y = torch.load({str(tmp_path / 'values.pt')!r})\n"
        f"module = torch.jit.load({str(tmp_path / 'traced.pt')!r})\n"
        "torch.testing.assert_close(module(x), y)\n"
        "module(x).sum().backward()\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=120)


@pytest.mark.filterwarnings("ignore")  # of PyTorch: an extent becomes a constant
def test_traced_numbers_of_extents() -> None:
    (a,) = tensors((3, 4))
    traced = torch.jit.trace(lambda q: ct.gemm(q, q, alpha=q.shape[-1] ** -0.5), (a,))
    torch.testing.assert_close(traced(a), a @ a.T / 2)


# ---- torch.export


@pytest.mark.filterwarnings("ignore")  # of PyTorch about itself
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("optimize", [False, True, "greedy"])
def test_exported_einsums_have_symbols_for_extents(optimize: Any, strict: bool) -> None:
    class Chain(torch.nn.Module):  # type: ignore[misc]
        def forward(self, a: Any, b: Any, c: Any) -> Any:
            return ct.einsum("mk,kn,nj->mj", a, b, c, optimize=optimize)

    k = torch.export.Dim("k")
    program = torch.export.export(
        Chain(),
        tuple(tensors((4, 5), (5, 6), (6, 3))),
        dynamic_shapes={"a": {1: k}, "b": {0: k}, "c": None},
        strict=strict,
    )
    for extent in (9, 2, 1):
        a, b, c = tensors((4, extent), (extent, 6), (6, 3))
        torch.testing.assert_close(program.module()(a, b, c), a @ b @ c)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_exported_functions_have_symbols_for_extents(name: str) -> None:
    m, k = torch.export.Dim("m"), torch.export.Dim("k")
    program = torch.export.export(
        Calls(name), tuple(tensors((4, 5), (5, 6))), dynamic_shapes={"a": {0: m, 1: k}, "b": {0: k}}
    )
    a, b = tensors((7, 9), (9, 6))
    torch.testing.assert_close(program.module()(a, b), CALLS[name][1](a, b))


@pytest.mark.filterwarnings("ignore")
def test_extents_that_nobody_knows() -> None:
    class Chosen(torch.nn.Module):  # type: ignore[misc]
        def forward(self, a: Any, b: Any, c: Any) -> Any:
            x = a[a.nonzero().squeeze(1)]
            return ct.einsum("k,kn,nj->j", x, x[:, None] * b, c)

    a, b, c = tensors((4,), (5,), (5, 3))
    program = torch.export.export(Chosen(), (a.relu(), b, c))
    torch.testing.assert_close(program.module()(a, b, c), torch.einsum("k,k,n,nj->j", a, a, b, c))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_decompositions_leave_none_of_our_operators(dtype: Any) -> None:
    class Everything(torch.nn.Module):  # type: ignore[misc]
        def forward(self, a: Any, b: Any) -> Any:
            wide = torch.float32 if half else None
            results = [function(a, b) for function, _ in CALLS.values()]
            return *results, ct.contract("...i,ij->...j", a, b, a @ b, beta=3, out_dtype=wide)

    half = dtype == torch.bfloat16
    a, b = tensors((3, 4), (4, 5), dtype=dtype)
    table = torch.export.default_decompositions()
    table.update(ct.decompositions())
    program = torch.export.export(Everything(), (a, b)).run_decompositions(table)
    assert not any("cute_py" in str(node.target) for node in program.graph.nodes)
    if half:
        return  # PyTorch's own roundings
    torch.testing.assert_close(program.module()(a, b), Everything()(a, b))


# ---- Profilers, flops


@pytest.mark.filterwarnings("ignore")
def test_profilers_see_products() -> None:
    a, b = tensors((3, 4), (5, 4))
    a.requires_grad_()

    def names(call: Function) -> set[str]:
        with torch.autograd.profiler.profile() as seen:
            call()
        return {event.key for event in seen.key_averages()}

    assert "cute_py::pair" in names(lambda: ct.gemm(a.detach(), b))
    assert "cute_py::affine" in names(lambda: ct.linear(a.detach(), b, None, "relu"))
    y = ct.gemm(a, b).sum()
    assert "cute_py::pair" in names(lambda: y.backward())


def test_flops_are_counted() -> None:
    counter = torch.utils.flop_counter.FlopCounterMode
    a, b = tensors((16, 8), (24, 8))
    product = 2 * 16 * 8 * 24

    def flops(call: Function) -> int:
        with counter(display=False) as counted:
            call()
        return int(counted.get_total_flops())

    bias = b[:, 0].contiguous()
    assert flops(lambda: ct.gemm(a, b)) == flops(lambda: torch.matmul(a, b.T)) == product
    assert flops(lambda: ct.linear(a, b, bias, "relu")) == product
    assert flops(lambda: torch.func.vmap(ct.gemm)(a.expand(3, 16, 8), b.expand(3, 24, 8))) == 3 * product
    operands = [x.numpy() for x in (a, b, a)]
    subscripts = "ij,kj,il->kl"
    assert flops(lambda: ct.einsum(subscripts, a, b, a)) == cute_py.einsum.explain(subscripts, *operands).flops
    a.requires_grad_(), b.requires_grad_()
    assert flops(lambda: ct.gemm(a, b).sum().backward()) == 3 * product
    assert flops(lambda: ct.linear(a, b, bias, "relu").sum().backward()) == 3 * product


@pytest.mark.filterwarnings("ignore")
def test_flops_of_compiled_functions_are_counted() -> None:
    a, b = tensors((16, 8), (24, 8))
    torch._dynamo.reset()
    compiled = torch.compile(lambda a, b: ct.gemm(a, b) + 1, backend="aot_eager")
    compiled(a, b)
    with torch.utils.flop_counter.FlopCounterMode(display=False) as counted:
        compiled(a, b)
    assert counted.get_total_flops() == 2 * 16 * 8 * 24


@pytest.mark.filterwarnings("ignore")
def test_operators_are_as_pytorch_wants_them() -> None:
    a, b = (x.requires_grad_() for x in tensors((3, 4), (5, 4)))
    bias = b[:, 0].detach().contiguous()
    for name, arguments in {
        "pair": (a, b, None, "mk", "nk", "mn"),
        "affine": (a, b, bias, "gelu"),
        "matmul": (a, b.T),
        "gemm": (a, b, None, 0.5),
        "contract": (a, b, None, "mk,nk->mn"),
        "tensordot": (a, b, "ab,cb->ac"),
        "einsum": ([a, b], "ij,kj->ik"),
        "linear": (a, b, bias, "relu"),
    }.items():
        torch.library.opcheck(getattr(torch.ops.cute_py, name).default, arguments)


# ---- The core's results


def as_bits(x: Any) -> Any:
    """The numbers themselves, in a type that holds those of all others."""
    x = torch.as_tensor(np.asarray(x)) if not isinstance(x, torch.Tensor) else x
    return x.to(torch.complex128 if x.is_complex() else torch.float64)


ONE = ["ijk->i", "ijk->", "...k->k", "i...->i", "i...->", "iij->j", "ijk->kij", "ijk", "kji", "iij->ij"]
TYPES = [
    torch.int8,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float32,
    torch.float64,
    torch.complex64,
]


@pytest.mark.parametrize("subscripts", ONE)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_one_operand_goes_through_the_core(dtype: Any, subscripts: str) -> None:
    generator = torch.Generator().manual_seed(0)
    x = (torch.randn((3, 3, 50), generator=generator) * 40).to(dtype)
    found = ct.einsum(subscripts, x)
    expected = cute_py.einsum(subscripts, x if dtype in (torch.bfloat16, *TYPES[3:5]) else x.numpy())
    assert str(found.dtype).rpartition(".")[2] == str(expected.dtype).rpartition(".")[2]
    assert torch.equal(as_bits(found), as_bits(expected))


def test_one_operand_is_summed_in_what_is_asked_for() -> None:
    x = torch.full((1 << 12,), 0.1)
    for compute in ("float64", torch.float64):
        found = ct.einsum("i->", x, compute=compute)
        assert found.dtype == torch.float64
        assert found == cute_py.einsum("i->", x.numpy(), compute="float64")
    assert ct.einsum("i->", x.half(), out_dtype=torch.float32).dtype == torch.float32
    bytes_ = torch.full((300,), 100, dtype=torch.int8)
    assert ct.einsum("i->", bytes_) == 30000
    assert ct.einsum("i->", bytes_).dtype == torch.int32
    copied = ct.einsum("ij->ji", x.view(64, 64), compute="float64")
    assert (copied.dtype, copied.shape) == (torch.float64, (64, 64))


def test_one_operand_without_a_sum_is_a_view() -> None:
    (x,) = tensors((3, 3, 4))
    for subscripts in ("ijk->kij", "iij->ji", "...i->i..."):
        found, expected = ct.einsum(subscripts, x), torch.einsum(subscripts, x)
        assert (found.data_ptr(), found.shape, found.stride()) == (x.data_ptr(), expected.shape, expected.stride())


SUMMED = [
    ("i...->i", [(3, 4, 5)]),
    ("...->", [(3, 4)]),
    ("...ik,...j->ij", [(2, 2, 3), (2, 4)]),
    ("...i,...i->", [(2, 3), (2, 3)]),
    ("...i,...i->i", [(5, 1, 3), (4, 3)]),
    ("...i,ij,...j->", [(2, 3), (3, 4), (2, 4)]),
    ("...i,ij,j...->i", [(2, 2, 3), (3, 4), (4, 2)]),
]


@pytest.mark.parametrize("case", SUMMED, ids=lambda case: case[0])
def test_an_ellipsis_that_the_result_leaves_out_is_summed(case: tuple[str, list[tuple[int, ...]]]) -> None:
    subscripts, shapes = case
    operands = [x.requires_grad_() for x in tensors(*shapes)]
    found, expected = ct.einsum(subscripts, *operands), torch.einsum(subscripts, *operands)
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(y.sin().sum(), operands) for y in (found, expected)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("types", [("float32", "float32", "float64"), ("float32", "complex64", "float64")], ids=str)
def test_pairs_are_as_wide_as_the_widest_operand(types: tuple[str, ...]) -> None:
    operands = [x.to(getattr(torch, t)) for x, t in zip(tensors((3, 40), (40, 5), (5, 6)), types, strict=True)]
    found = ct.einsum("ij,jk,kl->il", *operands)
    expected = cute_py.einsum("ij,jk,kl->il", *[x.numpy() for x in operands], order="C")
    assert np.array_equal(found.numpy(), expected)


@pytest.mark.parametrize("dims", [([1], [0]), ([1, 0], [0, 1]), 1, 2])
@pytest.mark.parametrize("shapes", [((3, 1), (4, 3)), ((3, 4), (1, 3)), ((1, 4), (4, 1)), ((1, 1), (4, 3))])
def test_tensordot_sums_beside_an_extent_of_1(shapes: Any, dims: Any) -> None:
    A, B = (x.requires_grad_() for x in tensors(*shapes))
    try:
        expected = torch.tensordot(A, B, dims)
    except RuntimeError:
        with pytest.raises(OperandError, match="tensordot sums axis"):
            ct.tensordot(A, B, dims)
        return
    found = ct.tensordot(A, B, dims)
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(y.sin().sum(), (A, B)) for y in (found, expected)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("activation", ["none", "gelu"])
def test_a_layer_of_one_output(activation: str) -> None:
    x, weight, bias = tensors((2, 3, 4), (4,), ())
    torch.testing.assert_close(ct.linear(x, weight), torch.nn.functional.linear(x, weight))
    torch.testing.assert_close(ct.linear(x[0, 0], weight, bias), torch.nn.functional.linear(x[0, 0], weight, bias))
    row = ct.linear(x, weight[None], bias[None], activation)
    assert torch.equal(ct.linear(x, weight, bias, activation), row[..., 0])


@pytest.mark.parametrize("out_dtype", [torch.float32, "float32", np.float32, "bfloat16"], ids=str)
def test_every_function_takes_a_type_for_its_result(out_dtype: Any) -> None:
    a, b = tensors((3, 64), (5, 64), dtype=torch.bfloat16)
    name = "bfloat16" if out_dtype == "bfloat16" else "float32"
    expected = cute_py.gemm(a, b, out_dtype=name)
    bias = torch.zeros(5)
    for found in (
        ct.gemm(a, b, out_dtype=out_dtype),
        ct.contract("mk,nk->mn", a, b, out_dtype=out_dtype),
        ct.einsum("mk,nk->mn", a, b, out_dtype=out_dtype),
        ct.matmul(a, b.T, out_dtype=out_dtype),
        ct.tensordot(a, b, ([1], [1]), out_dtype=out_dtype),
        ct.linear(a, b, bias, out_dtype=out_dtype),
        ct.linear(a.clone().requires_grad_(), b, bias, out_dtype=out_dtype).detach(),
    ):
        assert found.dtype == expected.dtype
        assert torch.equal(found, expected)
    assert ct.einsum("mk,nk,nl->ml", a, b, b, out_dtype=out_dtype).dtype == expected.dtype


KINDS = {
    "sparse_coo": (lambda x: x.to_sparse(), "to_dense"),
    "sparse_csr": (lambda x: x.to_sparse_csr(), "to_dense"),
    "mkldnn": (lambda x: x.float().to_mkldnn(), "to_dense"),
    "nested": (lambda x: torch.nested.nested_tensor([x, x[:2]]), "to_padded_tensor"),
    "jagged": (lambda x: torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged), "to_padded_tensor"),
}


@pytest.mark.filterwarnings("ignore")  # of PyTorch: these kinds are prototypes
@pytest.mark.parametrize("kind", KINDS)
def test_tensors_without_strides_are_refused(kind: str) -> None:
    make, way_out = KINDS[kind]
    a, b = tensors((3, 4), (5, 4))
    x = make(a)
    for call in (
        lambda: ct.gemm(b, x),
        lambda: ct.contract("...k,nk->...n", x, b),
        lambda: ct.einsum("...k,nk->...n", x, b),
        lambda: ct.einsum("ij->ji", x),
        lambda: ct.matmul(x, b.T),
        lambda: ct.tensordot(x, b, ([-1], [1])),
        lambda: ct.linear(x, b),
    ):
        with pytest.raises(OperandError, match=rf"(?s){kind.replace('jagged', 'nested')} tensor.*next: .*{way_out}"):
            call()


def test_pytorchs_functions_may_be_replaced_by_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = tensors((3, 4), (4, 5))
    expected = [reference(a, b) for _, reference in CALLS.values()]
    for name in ("einsum", "matmul", "tensordot"):
        monkeypatch.setattr(torch, name, getattr(ct, name))
    monkeypatch.setattr(torch.nn.functional, "linear", ct.linear)
    for (ours, _), value in zip(CALLS.values(), expected, strict=True):
        torch.testing.assert_close(ours(a, b), value)
    (decomposed,) = [f for op, f in ct.decompositions().items() if op is torch.ops.cute_py.pair.default]
    torch.testing.assert_close(decomposed(a, b, None, "ij", "jk", "ik"), a @ b)
