"""opt_einsum with cute_py for its products: as a named backend, and under its own test-suite."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import opt_einsum
import pytest

import cute_py
from cute_py import OperandError

# Its suite contracts arrays of NumPy: each of the products that it asks NumPy for goes to cute_py and is compared.
SUITE = """
import sys
import numpy as np, opt_einsum.backends.dispatch as dispatch, pytest
import cute_py

products = 0

def compared(ours, numpys):
    def function(*operands, **options):
        global products
        found, expected = ours(*operands, **options), numpys(*operands, **options)
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
        products += 1
        return found
    return function

dispatch._cached_funcs["einsum", "numpy"] = compared(cute_py.einsum, np.einsum)
dispatch._cached_funcs["tensordot", "numpy"] = compared(cute_py.tensordot, np.tensordot)
dispatch._cached_funcs["transpose", "numpy"] = compared(cute_py.transpose, np.transpose)
code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-c", "/dev/null", "--pyargs", "opt_einsum.tests.test_contract",
                    "-k", "blas or expression or rand"])
print(products, "products")
sys.exit(code)
"""


def test_its_own_tests_pass() -> None:
    done = subprocess.run([sys.executable, "-c", SUITE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(done.stdout.split()[-2]) > 5000


def test_a_backend_by_name() -> None:
    rng = np.random.default_rng(0)
    shapes = [(3, 4, 5), (5, 6), (6, 4, 7), (7,)]
    arrays = [rng.standard_normal(shape) for shape in shapes]
    subscripts = "abc,cd,dbe,e->ad"
    expected = np.einsum(subscripts, *arrays)
    np.testing.assert_allclose(opt_einsum.contract(subscripts, *arrays, backend="cute_py"), expected)
    expression = opt_einsum.contract_expression(subscripts, *shapes)
    np.testing.assert_allclose(expression(*arrays, backend="cute_py"), expected)
    constant = opt_einsum.contract_expression(subscripts, arrays[0], *shapes[1:], constants=[0])
    np.testing.assert_allclose(constant(*arrays[1:], backend="cute_py"), expected)


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_views(library: str) -> None:
    x: Any = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    if library == "torch":
        x = pytest.importorskip("torch").from_numpy(x)
    elif library == "jax":
        x = pytest.importorskip("jax").numpy.asarray(x)
    for axes in [None, (1, 2, 0), (-1, 0, 1)]:
        found = cute_py.transpose(x, axes)
        assert type(found) is type(x)
        np.testing.assert_array_equal(np.asarray(found), np.transpose(np.asarray(x), axes))
    np.testing.assert_array_equal(np.asarray(cute_py.matrix_transpose(x)), np.asarray(x).swapaxes(-1, -2))
    if library != "jax":
        assert np.shares_memory(np.asarray(cute_py.transpose(x)), np.asarray(x))
    for axes in [(0, 1), (0, 1, 1), (0, 1, 3), "abc"]:
        with pytest.raises(OperandError, match="each of the 3 modes of A once"):
            cute_py.transpose(x, axes)
    with pytest.raises(OperandError, match="two modes and more"):
        cute_py.matrix_transpose(x[0, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_vecdot(dtype: Any) -> None:
    rng = np.random.default_rng(0)

    def random(*shape: int) -> Any:
        return (rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype == np.complex128 else 0)).astype(
            dtype
        )

    for left, right, axis in [
        ((4,), (4,), -1),
        ((3, 4), (4,), -1),
        ((5, 1, 4), (3, 4), -1),
        ((4, 3), (4, 3), -2),
        ((2, 4, 3), (4, 1), -2),
        ((4, 3), (4, 3), 0),
        ((4, 3), (4, 3), 1),
        ((4, 2, 3), (4, 2, 3), 0),
        ((4, 2, 3), (4, 3), 0),
        ((3, 4), (5, 4, 3), 1),
    ]:
        A, B = random(*left), random(*right)
        np.testing.assert_allclose(cute_py.vecdot(A, B, axis=axis), np.vecdot(A, B, axis=axis), rtol=1e-5, atol=1e-6)
    out = np.empty(3, dtype)
    A = random(3, 4)
    assert cute_py.vecdot(A, A, out=out) is out
    np.testing.assert_allclose(out, np.vecdot(A, A), rtol=1e-5)
    for axis in (2, -3, "a"):
        with pytest.raises(OperandError, match=r"vecdot has axis from -2 to 1, got .*\n(.*\n)+  next: pass an axis"):
            cute_py.vecdot(A, A, axis=axis)
    for of_a, of_b in [((2, 1), (2, 3)), ((1,), (3,)), ((3,), (1,)), ((4, 2, 1), (2, 5)), ((1,), (0,))]:
        with pytest.raises(OperandError, match=r"vecdot sums over axis -1, of extents \d in A and \d in B"):
            cute_py.vecdot(random(*of_a), random(*of_b))


# ---- cotengra and quimb, which find orders for large networks


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note each product that is asked for by its name."""
    calls: list[str] = []
    for name in ("einsum", "tensordot"):
        ours = getattr(cute_py, name)

        def product(*operands: Any, _name: str = name, _ours: Any = ours, **options: Any) -> Any:
            calls.append(_name)
            return _ours(*operands, **options)

        monkeypatch.setattr(cute_py, name, product)
    return calls


@pytest.mark.filterwarnings("default")  # theirs, about optional packages
def test_cotengra(monkeypatch: pytest.MonkeyPatch) -> None:
    cotengra = pytest.importorskip("cotengra")
    inputs, output, shapes, sizes = cotengra.utils.lattice_equation([3, 3, 3], d_max=3, seed=1)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    tree = cotengra.array_contract_tree(inputs, output, sizes, optimize="greedy")
    expected = tree.contract(arrays)
    calls = counted(monkeypatch)
    pair = (cute_py.einsum, cute_py.tensordot)
    np.testing.assert_allclose(tree.contract(arrays, implementation=pair), expected, rtol=1e-10)
    assert len(calls) >= len(arrays) - 1
    sliced = tree.slice(target_slices=4)
    np.testing.assert_allclose(sliced.contract(arrays, implementation=pair), expected, rtol=1e-10)


@pytest.mark.filterwarnings("default")
def test_quimb() -> None:
    autoray, quimb = pytest.importorskip("autoray"), pytest.importorskip("quimb.tensor")
    assert autoray.get_lib_fn("cute_py", "tensordot") is cute_py.tensordot  # which is how quimb finds products
    circuit = quimb.Circuit(6)
    for i in range(6):
        circuit.apply_gate("H", i)
    for i in range(5):
        circuit.apply_gate("CZ", i, i + 1)
    for i in range(6):
        circuit.apply_gate("RX", 0.3 * i, i)
    sites = tuple(f"k{i}" for i in range(6))
    expected = circuit.psi.contract(output_inds=sites, optimize="greedy")
    found = circuit.psi.contract(output_inds=sites, optimize="greedy", backend="cute_py")
    np.testing.assert_allclose(found.data, expected.data, atol=1e-12)
