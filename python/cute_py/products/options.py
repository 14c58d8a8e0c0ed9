"""What every product takes beside its arrays, and the types of its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsComplex, TypeAlias, TypedDict

if TYPE_CHECKING:
    import numpy as np

    from cute_py._dtypes import Compute, DTypeName
    from cute_py.machine.devices import Device
    from cute_py.products.emulator import EmulatorOptions
    from cute_py.products.epilogue import Epilogue
    from cute_py.products.explanation import Candidate

__all__ = ["OPTIONS", "Array", "CopyOptions", "EinsumOptions", "Number", "Options"]


class Array(Protocol):
    """An array of NumPy, CuPy, PyTorch, JAX or any library with ``__dlpack__``."""

    def __dlpack__(self, *, stream: Any = None) -> Any: ...


class _TorchType(Protocol):
    """A dtype of PyTorch."""

    @property
    def is_floating_point(self) -> bool: ...


class _StreamObject(Protocol):
    """A stream of CuPy, PyTorch or cuda.core: whatever has an attribute that is its handle, or ``__cuda_stream__``."""

    def __eq__(self, other: object) -> bool: ...


Number: TypeAlias = "SupportsComplex | float"
DType: TypeAlias = "type[Any] | np.dtype[Any] | _TorchType"


class Options(TypedDict, total=False):
    """The options that all products share. Described in `cute_py.gemm`."""

    kernel: str
    config: Candidate | None
    device: str | Device | None
    stream: int | _StreamObject | None
    emulator: EmulatorOptions | None
    compute: Compute | DType | None
    out_dtype: DTypeName | DType | None
    conj_a: bool
    conj_b: bool
    epilogue: Epilogue | None
    batch_invariant: bool
    workspace: int | None
    order: Literal["C", "K"]


class EinsumOptions(TypedDict, total=False):
    """The options of `einsum`, whose operands need not be two."""

    kernel: str
    device: str | Device | None
    stream: int | _StreamObject | None
    emulator: EmulatorOptions | None
    compute: Compute | DType | None
    out_dtype: DTypeName | DType | None
    epilogue: Epilogue | None
    batch_invariant: bool
    workspace: int | None
    order: Literal["C", "K"]


class CopyOptions(TypedDict, total=False):
    """The options of copies."""

    kernel: str
    config: Candidate | None
    device: str | Device | None
    stream: int | _StreamObject | None
    emulator: EmulatorOptions | None


# Their defaults, in the order of help().
OPTIONS: dict[str, Any] = {
    "kernel": "auto",
    "config": None,
    "device": None,
    "stream": None,
    "emulator": None,
    "compute": None,
    "out_dtype": None,
    "conj_a": False,
    "conj_b": False,
    "epilogue": None,
    "batch_invariant": False,
    "workspace": None,
    "order": "C",
}
