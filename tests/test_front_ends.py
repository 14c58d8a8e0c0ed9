"""Every front end gives the core's result: NumPy, PyTorch, JAX and Dask, with every type, compared with the plain function.

Values are small integers, so that every sum is exact in whatever order and width it is made, and bits can be compared; what is
rounded at all is rounded once, on its way to the result's type.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cute_py
from cute_py.cli import main

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
da = pytest.importorskip("dask.array")
ct = pytest.importorskip("cute_py.torch")
cj = pytest.importorskip("cute_py.jax")
cd = pytest.importorskip("cute_py.dask")

Array = Any
TYPES = (
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int8", "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip


def dtype_of(name: str) -> Any:
    return np.dtype(getattr(ml_dtypes, name, name))


def integers(shape: tuple[int, ...], name: str, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, shape)
    if name.startswith("complex"):
        return (values + 1j * rng.integers(-3, 4, shape)).astype(name)
    return values.astype(dtype_of(name))


@dataclass(frozen=True)
class Product:
    """A call of one function: how the plain one is asked, and the shapes of its operands."""

    function: str
    first: tuple[Any, ...]  # in front of the arrays
    shapes: tuple[tuple[int, ...], ...]
    last: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return f"{self.function}{''.join(map(str, self.first + self.last)).replace(' ', '')}"

    def __call__(self, module: Any, arrays: list[Any], **options: Any) -> Any:
        return getattr(module, self.function)(*self.first, *arrays, *self.last, **options)


PRODUCTS = [
    Product("einsum", ("ij,kj->ik",), ((5, 6), (4, 6))),
    Product("einsum", ("bij,bjk->bik",), ((2, 3, 4), (2, 4, 5))),
    Product("einsum", ("ij,jk,kl->il",), ((3, 4), (4, 5), (5, 2))),
    Product("einsum", ("i,i,i->i",), ((7,), (7,), (7,))),
    Product("einsum", ("ij->i",), ((5, 6),)),
    Product("einsum", ("ij->",), ((5, 6),)),
    Product("einsum", ("ij->ji",), ((5, 6),)),
    Product("einsum", ("...i->i",), ((2, 3, 4),)),
    Product("einsum", ("i...,i...->i",), ((3, 2, 2), (3, 2, 2))),
    Product("einsum", ("...ij,...jk->ik",), ((2, 3, 4), (2, 4, 5))),
    Product("einsum", ("ij,kj->k",), ((5, 6), (4, 1))),
    Product("contract", ("abk,ck->acb",), ((2, 3, 4), (5, 4))),
    Product("contract", ("ij,k->k",), ((3, 4), (5,))),
    Product("matmul", (), ((2, 3, 4), (4, 5))),
    Product("tensordot", (), ((2, 3, 4), (4, 3)), (([1, 2], [1, 0]),)),
    Product("gemm", (), ((5, 6), (4, 6))),
]
OPTIONS: list[dict[str, Any]] = [{}, {"compute": "float32"}, {"compute": "float64"}, {"out_dtype": "float32"}]


def bits(x: Any) -> tuple[str, tuple[int, ...], bytes]:
    x = np.asarray(x)
    return x.dtype.name, x.shape, np.ascontiguousarray(x).tobytes()


def from_torch(x: Any) -> Array:
    name = str(x.dtype).removeprefix("torch.")
    x = x.detach().resolve_conj().contiguous()
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        kind = torch.int16 if name == "bfloat16" else torch.uint8
        return x.view(kind).numpy().view(dtype_of(name))
    return x.numpy()


def to_torch(x: Array) -> Any:
    if x.dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        kind = np.int16 if x.dtype.itemsize == 2 else np.uint8
        return torch.from_numpy(x.view(kind)).view(getattr(torch, x.dtype.name))
    return torch.from_numpy(x)


def through_numpy(product: Product, arrays: list[Array], **options: Any) -> Any:
    """The same arrays with other strides: a copy in another order, seen as it was."""
    views = [np.ascontiguousarray(x.transpose()).transpose() for x in arrays]
    return product(cute_py, views, **options)


def through_emulator(product: Product, arrays: list[Array], **options: Any) -> Any:
    return product(cute_py, arrays, device="emulator", **options)


def through_torch(product: Product, arrays: list[Array], **options: Any) -> Any:
    return from_torch(product(ct, [to_torch(x) for x in arrays], **options))


def through_torch_vmap(product: Product, arrays: list[Array], **options: Any) -> Any:
    """A batch of two, of which the second is looked at."""
    stacked = [torch.stack([to_torch(x)] * 2) for x in arrays]
    return from_torch(torch.func.vmap(lambda *xs: product(ct, list(xs), **options))(*stacked)[1])


def through_jax(product: Product, arrays: list[Array], **options: Any) -> Any:
    return product(cj, [jax.numpy.asarray(x) for x in arrays], **options)


def through_jit(product: Product, arrays: list[Array], **options: Any) -> Any:
    return jax.jit(lambda *xs: product(cj, list(xs), **options))(*[jax.numpy.asarray(x) for x in arrays])


def through_jax_vmap(product: Product, arrays: list[Array], **options: Any) -> Any:
    stacked = [jax.numpy.stack([jax.numpy.asarray(x)] * 2) for x in arrays]
    return jax.vmap(lambda *xs: product(cj, list(xs), **options))(*stacked)[1]


def through_dask(product: Product, arrays: list[Array], **options: Any) -> Any:
    return product(cd, [da.from_array(x, chunks=2) for x in arrays], **options).compute(scheduler="synchronous")


def through_dask_whole(product: Product, arrays: list[Array], **options: Any) -> Any:
    return product(cd, [da.from_array(x, chunks=-1) for x in arrays], **options).compute(scheduler="synchronous")


WAYS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "NumPy": (cute_py, through_numpy),
    "the emulator": (cute_py, through_emulator),
    "torch": (ct, through_torch),
    "torch vmap": (ct, through_torch_vmap),
    "JAX": (cj, through_jax),
    "JAX jit": (cj, through_jit),
    "JAX vmap": (cj, through_jax_vmap),
    "Dask": (cd, through_dask),
    "Dask, one chunk": (cd, through_dask_whole),
}


@pytest.fixture(autouse=True)
def wide() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def answer(call: Callable[[], Any]) -> Any:
    """Return the result's type, shape and bits, or that it is refused."""
    try:
        return bits(call())
    except cute_py.CuteError:
        return "refused"


@pytest.mark.thinned(2)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("product", PRODUCTS, ids=str)
def test_every_front_end_gives_the_result_of_the_core(product: Product, options: dict[str, Any], way: str) -> None:
    module, through = WAYS[way]
    if not hasattr(module, product.function):
        pytest.skip(f"{module.__name__} has no {product.function}")
    if product.first == ("ij->ji",) and (options or way == "the emulator"):
        pytest.skip("without a sum and without options, einsum gives a view; with them it is a product with a one")
    for name in TYPES:
        arrays = [integers(shape, name, seed) for seed, shape in enumerate(product.shapes)]
        expected = answer(lambda arrays=arrays: product(cute_py, arrays, **options))
        found = answer(lambda arrays=arrays: through(product, arrays, **options))
        assert found == expected, (name, way)


@pytest.mark.parametrize("way", ["NumPy", "emulator", "torch", "JAX", "Dask"])
@pytest.mark.parametrize(
    "types", [("float16", "float32"), ("bfloat16", "float16"), ("float32", "complex64"), ("float64", "float32")]
)
def test_two_types_are_multiplied_as_by_the_core(types: tuple[str, str], way: str) -> None:
    """In PyTorch, too, which would promote or refuse them."""
    through = {
        "NumPy": through_numpy, "emulator": through_emulator, "torch": through_torch, "JAX": through_jax, "Dask": through_dask,
    }[way]  # fmt: skip
    product = Product("einsum", ("ij,kj->ik",), ((5, 6), (4, 6)))
    arrays = [integers(shape, name, i) for i, (shape, name) in enumerate(zip(product.shapes, types, strict=True))]
    assert bits(through(product, arrays)) == bits(product(cute_py, arrays))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_what_is_between_three_operands_keeps_its_digits(name: str) -> None:
    """90,000 is beyond float16: what is between is float32, whether it is asked for or is the default."""
    product = Product("einsum", ("i,i,i->i",), ((4,),) * 3)
    arrays = [np.full(4, x, dtype_of(name)) for x in (300, 300, 1 / 1024)]
    for options in ({}, {"compute": "float32"}, {"compute": "float64"}):
        if (name, options.get("compute")) == ("float64", "float32"):
            continue
        expected = bits(product(cute_py, arrays, **options))
        assert np.isfinite(np.frombuffer(expected[2], dtype_of(expected[0])).astype(float)).all()
        for way, (_, through) in WAYS.items():
            assert bits(through(product, arrays, **options)) == expected, (way, options)


@pytest.mark.parametrize(
    "types",
    [("float32", "float32", "float64"), ("complex64", "complex64", "complex128"), ("float16", "float32", "complex128")],
)
def test_an_einsum_is_as_wide_as_its_widest_operand(types: tuple[str, ...]) -> None:
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(100).astype(name) for name in types]
    expected = np.einsum("i,i,i->i", *arrays)
    product = Product("einsum", ("i,i,i->i",), ((100,),) * 3)
    for optimize in ("greedy", False):
        for way, (_, through) in WAYS.items():
            found = np.asarray(through(product, arrays, optimize=optimize))
            assert found.dtype == expected.dtype, way
            np.testing.assert_allclose(found, expected, rtol=1e-14, err_msg=way)


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_infinity_in_a_sum_has_no_nan_beside_it(name: str) -> None:
    z = np.array([[complex(np.inf, 1), 1 + 1j], [complex(2, -np.inf), 3]], name)
    for subscripts in ("ij->i", "ij->j", "ij->"):
        expected = np.einsum(subscripts, z)
        product = Product("einsum", (subscripts,), ((2, 2),))
        for way, (_, through) in WAYS.items():
            np.testing.assert_array_equal(np.asarray(through(product, [z])), expected, err_msg=way)


def test_gradients_are_those_of_the_library() -> None:
    product = Product("einsum", ("ij,jk,kl->il",), ((3, 4), (4, 5), (5, 2)))
    arrays = [integers(shape, "float32", seed) for seed, shape in enumerate(product.shapes)]
    tensors = [to_torch(x).requires_grad_() for x in arrays]
    of_torch = torch.autograd.grad((product(ct, tensors) ** 2).sum(), tensors)
    of_jax = jax.grad(lambda xs: (product(cj, xs) ** 2).sum())([jax.numpy.asarray(x) for x in arrays])
    expected = torch.autograd.grad((torch.einsum(*product.first, *tensors) ** 2).sum(), tensors)
    for a, b, c in zip(of_torch, of_jax, expected, strict=True):
        np.testing.assert_array_equal(a.numpy(), c.numpy())
        np.testing.assert_array_equal(np.asarray(b), c.numpy())


@pytest.mark.parametrize("name", TYPES)
def test_the_command_line_explains_what_the_core_chooses(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    A, B = (np.empty(shape, dtype_of(name)) for shape in ((64, 32), (48, 32)))
    for device in ("cpu", "emulator"):
        assert main(["explain", "64", "48", "32", "--dtype", name, "--device", device, "--json"]) == 0
        steps = json.loads(capsys.readouterr().out)["steps"]
        expected = cute_py.contract.explain("mk,nk->mn", A, B, device=device)
        assert [step["kernel"] for step in steps] == [step.kernel for step in expected.steps]


def test_numbers_take_the_type_of_the_arrays_beside_them() -> None:
    for name in ("float16", "bfloat16", "float32", "complex64"):
        x = integers((4,), name, 0)
        expected = bits(cute_py.einsum(",i->i", 0.5, x))
        assert expected[0] == name
        assert bits(cj.einsum(",i->i", 0.5, jax.numpy.asarray(x))) == expected
        assert bits(cd.einsum(",i->i", 0.5, da.from_array(x, chunks=2)).compute()) == expected
