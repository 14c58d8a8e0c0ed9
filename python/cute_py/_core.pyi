from collections.abc import Callable
from typing import Any

__version__: str
cutlass_version: str
built_with_cuda: bool

def cuda_runtime_version() -> int: ...
def cuda_driver_version() -> int: ...
def device_count() -> int: ...
def devices() -> list[dict[str, Any]]: ...
def host_isa() -> str: ...
def host_processors() -> int: ...
def entries() -> list[dict[str, Any]]: ...
def gemm(
    allocate: Callable[[Any, int, int, bool], Any],
    function: str,
    layout: str,
    A: Any,
    B: Any,
    C: Any,
    alpha: float,
    beta: float,
    kernel: str,
    device: str,
    stream: Any,
    host_threads: int,
    order: int,
    seed: int,
    poison: bool,
) -> Any: ...
def explain(
    function: str, layout: str, A: Any, B: Any, C: Any, kernel: str, device: str, stream: Any
) -> dict[str, Any]: ...

class Buffer:
    def __init__(self, device: int, rows: int, columns: int, row_major: bool) -> None: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any: ...
