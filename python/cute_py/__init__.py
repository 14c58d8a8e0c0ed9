"""CuTe's GEMM kernels for Python: on NVIDIA GPUs, on the CPU, and in an emulator that runs the GPU kernels' own source.

>>> import cute_py, numpy as np
>>> A = np.arange(6, dtype=np.float32).reshape(2, 3)  # (M,K)
>>> B = np.ones((4, 3), dtype=np.float32)             # (N,K)
>>> cute_py.gemm(A, B)                                # (M,N)
array([[ 3.,  3.,  3.,  3.],
       [12., 12., 12., 12.]], dtype=float32)
"""

from __future__ import annotations

from cute_py import _interpreter as _interpreter  # refuses what the compiled modules could not bear

# isort: split
from cute_py import _core, atoms, errors, layout
from cute_py._core import Plan, __version__
from cute_py._explain import explain
from cute_py.atoms import tiled as _tiled
from cute_py.atoms.tiled import *  # noqa: F403
from cute_py.catalogue.bench import Bench, Timing, bench
from cute_py.catalogue.config import KernelConfig, Load, Loads, Owner, Roles
from cute_py.catalogue.kernels import Kernel, Kernels, kernels
from cute_py.catalogue.ladder import Ladder, Rung, ladder
from cute_py.catalogue.trace import Trace
from cute_py.drawing.diagrams import Diagram, diagram
from cute_py.errors import CudaError, CuteError, LayoutError, OperandError, UnitError, UnsupportedProblemError
from cute_py.layout import *  # noqa: F403
from cute_py.layout import printing as _printing
from cute_py.layout import tensor as _tensor
from cute_py.layout.printing import *  # noqa: F403
from cute_py.layout.tensor import *  # noqa: F403
from cute_py.machine.banks import BankConflicts, BankMap, SwizzleChoice, bank_conflicts, bank_map, best_swizzle
from cute_py.machine.devices import Cpu, Device, cuda_available, devices
from cute_py.machine.threads import get_num_threads, register_threadpoolctl, set_num_threads
from cute_py.machine.tma import TmaReport, tma_check
from cute_py.machine.tma_copy import TmaCopy, make_tma_copy, tma_partition
from cute_py.products import blas as _blas
from cute_py.products import contraction as _contraction
from cute_py.products.blas import *  # noqa: F403
from cute_py.products.contraction import *  # noqa: F403
from cute_py.products.einsum import EinsumExplanation, EinsumPlan, einsum
from cute_py.products.emulator import EmulatorOptions
from cute_py.products.epilogue import Epilogue
from cute_py.products.explanation import Candidate, Explanation
from cute_py.products.gemm import gemm
from cute_py.products.permutation import permute
from cute_py.products.precision import PreparedOperand, get_float32_compute, prepare, set_float32_compute
from cute_py.products.product import Product
from cute_py.products.tuning import Tuning, forget_tuning, load_tuning, save_tuning, tune
from cute_py.products.views import matrix_transpose, transpose

__all__ = [
    "BankConflicts",
    "BankMap",
    "Bench",
    "Candidate",
    "Cpu",
    "CudaError",
    "CuteError",
    "Device",
    "Diagram",
    "EinsumExplanation",
    "EinsumPlan",
    "EmulatorOptions",
    "Epilogue",
    "Explanation",
    "Kernel",
    "KernelConfig",
    "Kernels",
    "Ladder",
    "LayoutError",
    "Load",
    "Loads",
    "OperandError",
    "Owner",
    "Plan",
    "PreparedOperand",
    "Product",
    "Roles",
    "Rung",
    "SwizzleChoice",
    "Timing",
    "TmaCopy",
    "TmaReport",
    "Trace",
    "Tuning",
    "UnitError",
    "UnsupportedProblemError",
    "__version__",
    "atoms",
    "bank_conflicts",
    "bank_map",
    "bench",
    "best_swizzle",
    "cuda_available",
    "devices",
    "diagram",
    "einsum",
    "errors",
    "explain",
    "forget_tuning",
    "gemm",
    "get_float32_compute",
    "get_num_threads",
    "kernels",
    "ladder",
    "layout",
    "load_tuning",
    "make_tma_copy",
    "matrix_transpose",
    "permute",
    "prepare",
    "register_threadpoolctl",
    "save_tuning",
    "set_float32_compute",
    "set_num_threads",
    "tma_check",
    "tma_partition",
    "transpose",
    "tune",
]
__all__ += layout.__all__
__all__ += _printing.__all__
__all__ += _tensor.__all__
__all__ += _tiled.__all__
__all__ += _blas.__all__
__all__ += _contraction.__all__


def _find_unit(name: str) -> None:
    from cute_py.units import emulator  # only the first use of a kernel needs a compiler

    emulator.find_unit(name)


def _find_profile(name: str) -> tuple[float, ...] | None:
    from cute_py.catalogue import profile  # only the first use of a GPU reads a file

    return profile.find(name)


_core.set_find_unit(_find_unit)
_core.set_find_profile(_find_profile)
