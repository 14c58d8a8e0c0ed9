"""DLPack, old and versioned, from producers that behave and from producers that do not."""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py import OperandError


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = (("tensor", DLTensor), ("manager", ctypes.c_void_p), ("deleter", Deleter))


class ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    )


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class Producer:
    """An array whose capsule can be made to say anything."""

    def __init__(self, array: np.ndarray, *, versioned: bool = True, **changes: Any) -> None:
        self.array = array
        self.versioned = versioned
        self.changes = changes
        self.deleted = 0
        self.keep: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.changes.get("device", (1, 0))

    def __dlpack__(self, **options: Any) -> Any:
        if not self.versioned and "max_version" in options:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        array, changes = self.array, self.changes
        shape = changes.get("shape", array.shape)
        strides = changes.get("strides", [s // array.itemsize for s in array.strides])
        managed: Any = ManagedVersioned() if self.versioned else Managed()
        if self.versioned:
            managed.major, managed.minor = changes.get("version", (1, 0))
            managed.flags = changes.get("flags", 0)
        tensor = managed.tensor
        tensor.data = changes.get("data", array.ctypes.data - changes.get("byte_offset", 0))
        tensor.byte_offset = changes.get("byte_offset", 0)
        tensor.device_type, tensor.device_id = self.__dlpack_device__()
        tensor.ndim = changes.get("ndim", len(shape))
        tensor.code, tensor.bits, tensor.lanes = changes.get("dtype", (2, 32, 1))
        tensor.shape = None if changes.get("no_shape") else (ctypes.c_int64 * len(shape))(*shape)
        tensor.strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        managed.deleter = Deleter(self.delete) if changes.get("deleter", True) else Deleter()
        name = changes.get("name", b"dltensor_versioned" if self.versioned else b"dltensor")
        self.keep += [managed, name]
        return new_capsule(ctypes.addressof(managed), name, None)

    def delete(self, _: Any) -> None:
        self.deleted += 1


@pytest.fixture
def array(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(-4, 5, (6, 5)).astype(np.float32)


@pytest.mark.parametrize("versioned", [True, False])
def test_both_kinds_of_capsule(array: np.ndarray, versioned: bool) -> None:
    B = Producer(array, versioned=versioned)
    np.testing.assert_array_equal(cute_py.gemm(array, B), array @ array.T)
    assert B.deleted == 1


@pytest.mark.parametrize("versioned", [True, False])
def test_details_of_a_capsule_are_honoured(array: np.ndarray, versioned: bool) -> None:
    expected = array @ array.T
    compact = Producer(array, versioned=versioned, strides=None)  # null strides: row-major, before DLPack 1.2
    np.testing.assert_array_equal(cute_py.gemm(array, compact), expected)
    shifted = Producer(array, versioned=versioned, byte_offset=64)
    np.testing.assert_array_equal(cute_py.gemm(array, shifted), expected)
    pinned = Producer(array, versioned=versioned, device=(3, 0))  # host memory that CUDA has pinned
    np.testing.assert_array_equal(cute_py.gemm(array, pinned), expected)
    eternal = Producer(array, versioned=versioned, deleter=False)
    np.testing.assert_array_equal(cute_py.gemm(array, eternal), expected)


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("subscripts", ["ij->ji", "ij->i", "ij->", "ij,jk->ik", "ij,jk,kl->il"])
def test_einsum_of_arrays_that_tell_a_shape_and_no_type(array: np.ndarray, subscripts: str, versioned: bool) -> None:
    class Shaped(Producer):
        shape = property(lambda self: self.array.shape)

    arrays = [array, array.T.copy(), array][: subscripts.count(",") + 1]
    result = cute_py.einsum(subscripts, *(Shaped(x, versioned=versioned) for x in arrays))
    np.testing.assert_array_equal(result, np.einsum(subscripts, *arrays))
    assert result.dtype == np.float32
    with pytest.raises(OperandError, match="takes the type of the arrays beside it, and one of them does not tell"):
        cute_py.contract(",ij", 2.0, Shaped(array))
    with pytest.raises(OperandError, match=r"has __dlpack__ and no shape\n  next: numpy\.from_dlpack"):
        cute_py.einsum(subscripts, *map(Producer, arrays))


def test_c_through_a_capsule(array: np.ndarray) -> None:
    memory = np.full((6, 6), np.nan, np.float32)
    C = Producer(memory)
    assert cute_py.gemm(array, array, C) is C
    np.testing.assert_array_equal(memory, array @ array.T)
    memory[...] = 7
    with pytest.raises(OperandError, match="read-only"):
        cute_py.gemm(array, array, Producer(memory, flags=1))
    assert (memory == 7).all()


HOSTILE = {
    "negative rank": ({"ndim": -1}, "rank -1"),
    "huge rank": ({"ndim": 1000}, "rank 1000"),
    "negative extent": ({"shape": (-6, 5)}, "extent -6"),
    "a span over any memory": ({"shape": (2**62, 2**62), "strides": (2**62, 2**62)}, "spans more than any memory"),
    "a compact span over any memory": ({"shape": (2**40, 2**40), "strides": None}, "span more than any memory"),
    "a negative span over any memory": ({"shape": (6, 5), "strides": (-(2**63), 1)}, "spans more than any memory"),
    "an offset beyond every address": ({"byte_offset": 2**64 - 64}, "at addresses that no memory has"),
    "an address whose last element is beyond": ({"data": 2**64 - 64}, "at addresses that no memory has"),
    "elements before the first address": ({"data": 64, "strides": (-5, -1)}, "at addresses that no memory has"),
    "lanes": ({"dtype": (2, 32, 4)}, "float32x4"),
    "float128": ({"dtype": (2, 128, 1)}, "float128"),
    "no memory": ({"data": None}, "has elements but no memory"),
    "a rank and no shape": ({"no_shape": True}, "rank 2 and has no shape"),
    "compact, a rank and no shape": ({"no_shape": True, "strides": None}, "rank 2 and has no shape"),
    "a GPU below the first": ({"device": (2, -1)}, "on GPU number -1"),
    "managed memory of a GPU below the first": ({"device": (13, -7)}, "on GPU number -7"),
    "an unknown type": ({"dtype": (77, 32, 1)}, "unknown32"),
    "an unknown device": ({"device": (99, 0)}, "DLPack device type 99"),
    "a future version": ({"version": (2, 0)}, r"DLPack 2\.0"),
    "a used capsule": ({"name": b"used_dltensor"}, "no DLPack capsule"),
    "another capsule": ({"name": b"sandwich"}, "no DLPack capsule"),
}


@pytest.mark.parametrize("device", [None, "x", 5, (1,), (1, 0, 0), ("cpu", 0), (2**40, 0)], ids=str)
def test_a_strange_device_is_refused(array: np.ndarray, device: Any) -> None:
    class Lost(Producer):
        def __dlpack_device__(self) -> Any:
            return device

    with pytest.raises(OperandError, match=r"B \(.*Lost\) cannot be exported: __dlpack_device__ returned no pair"):
        cute_py.gemm(array, Lost(array))


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("case", HOSTILE)
def test_a_strange_capsule_is_refused(array: np.ndarray, case: str, versioned: bool) -> None:
    changes, message = HOSTILE[case]
    if "version" in changes and not versioned:
        pytest.skip("an old capsule has no version")
    with pytest.raises(OperandError, match=message):
        cute_py.gemm(array, Producer(array, versioned=versioned, **changes))


class ExchangeApi(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        *((name, ctypes.c_void_p) for name in ("previous", "allocate", "from_object", "to_object", "view", "stream")),
    )


View = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
Stream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


def exchanging(view: Any, stream: Any = None) -> type[Producer]:
    """A class of arrays with the C exchange interface, made of two functions."""
    api = ExchangeApi(major=1, view=ctypes.cast(view, ctypes.c_void_p), stream=ctypes.cast(stream, ctypes.c_void_p))
    name = b"dlpack_exchange_api"

    class Exchanging(Producer):
        keep_api = (api, name, view, stream)  # the interface of a type is looked up once and kept
        __dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(api), name, None)

    return Exchanging


NO_STREAM = Stream(lambda device_type, device_id, stream: 0)


def test_the_exchange_interface_is_used(array: np.ndarray) -> None:
    shape, strides = (ctypes.c_int64 * 2)(6, 5), (ctypes.c_int64 * 2)(5, 1)

    @View
    def view(array: Any, tensor: Any) -> int:
        tensor[0] = DLTensor(array.array.ctypes.data, 1, 0, 2, 2, 32, 1, shape, strides, 0)
        return 0

    B = exchanging(view, NO_STREAM)(array)
    np.testing.assert_array_equal(cute_py.gemm(array, B), array @ array.T)
    assert B.deleted == 0  # there was no capsule


def test_int8_through_an_exchange_interface_that_tells_no_type() -> None:
    shape, strides = (ctypes.c_int64 * 2)(6, 5), (ctypes.c_int64 * 2)(5, 1)
    A = np.arange(-15, 15, dtype=np.int8).reshape(6, 5)

    @View
    def view(array: Any, tensor: Any) -> int:
        tensor[0] = DLTensor(array.array.ctypes.data, 1, 0, 2, 0, 8, 1, shape, strides, 0)
        return 0

    B = exchanging(view, NO_STREAM)(A)
    assert not hasattr(B, "dtype")
    np.testing.assert_array_equal(cute_py.gemm(A, B), A.astype(np.int32) @ A.T.astype(np.int32))


def test_an_exchange_interface_without_a_shape(array: np.ndarray) -> None:
    @View
    def view(array: Any, tensor: Any) -> int:
        tensor[0] = DLTensor(array.array.ctypes.data, 1, 0, 2, 2, 32, 1, None, None, 0)
        return 0

    with pytest.raises(OperandError, match="B claims to have rank 2 and has no shape"):
        cute_py.gemm(array, exchanging(view, NO_STREAM)(array))


def test_an_exchange_interface_that_fails_without_a_word(array: np.ndarray) -> None:
    with pytest.raises(OperandError, match="B cannot be exported: it failed without saying why"):
        cute_py.gemm(array, exchanging(View(lambda array, tensor: -1), NO_STREAM)(array))


def test_an_exchange_interface_without_streams_is_not_used(array: np.ndarray) -> None:
    def view(array: Any, tensor: Any) -> int:
        raise AssertionError("not to be called")

    B = exchanging(View(view))(array)
    np.testing.assert_array_equal(cute_py.gemm(array, B), array @ array.T)
    assert B.deleted == 1


def test_strides_that_an_impostor_tells(array: np.ndarray) -> None:
    class Impostor(Producer):
        strides = (4,)

    Impostor.__module__ = "cupy"
    with pytest.raises(OperandError, match="B has 1 strides and rank 2"):
        cute_py.gemm(array, Impostor(array))


@pytest.mark.gpu
def test_a_gpu_that_is_not_there(array: np.ndarray) -> None:
    for number in (2**30, 2**31 - 1):
        with pytest.raises(OperandError, match=f"there is no GPU number {number}"):
            cute_py.gemm(Producer(array, device=(2, number)), Producer(array, device=(2, number)))


def test_a_producer_that_raises(array: np.ndarray) -> None:
    class Broken(Producer):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("not today")

    with pytest.raises(OperandError, match=r"B \(.*Broken\) cannot be exported: not today"):
        cute_py.gemm(array, Broken(array))

    class Crashing(Producer):
        def __dlpack__(self, **options: Any) -> Any:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cute_py.gemm(array, Crashing(array))


def test_nothing_is_leaked(array: np.ndarray) -> None:
    B, C = Producer(array), np.empty((6, 6), np.float32)
    references = [sys.getrefcount(x) for x in (array, C)]
    for _ in range(100):
        cute_py.gemm(array, B, C)
        with pytest.raises(OperandError):
            cute_py.gemm(array, B, array)
    gc.collect()
    assert B.deleted == 200
    assert [sys.getrefcount(x) for x in (array, C)] == references


@pytest.mark.gpu
def test_a_gpu_buffer_is_exported_both_ways() -> None:
    cupy = pytest.importorskip("cupy")
    from cute_py import _core

    buffer = _core.Buffer(device=0, shape=[3, 4], order=[], dtype="float32")
    view = cupy.from_dlpack(buffer)
    view[...] = 5
    assert cupy.from_dlpack(buffer).sum() == 60
    buffer.__dlpack__()  # a capsule that nobody consumes
