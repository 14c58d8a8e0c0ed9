"""CuTe's GEMM kernels for Python: on NVIDIA GPUs, on the CPU, and in an emulator that runs the GPU kernels' own source.

>>> import cute_py, numpy as np
>>> A = np.arange(6, dtype=np.float32).reshape(2, 3)  # (M,K)
>>> B = np.ones((4, 3), dtype=np.float32)             # (N,K)
>>> cute_py.gemm(A, B)                                # (M,N)
array([[ 3.,  3.,  3.,  3.],
       [12., 12., 12., 12.]], dtype=float32)
"""

from __future__ import annotations

from cute_py import errors
from cute_py._core import __version__
from cute_py._gemm import explain, gemm, sgemm_nn, sgemm_nt, sgemm_tn, sgemm_tt
from cute_py._kernels import Kernel, Kernels, kernels
from cute_py.devices import Device, cuda_available, devices
from cute_py.emulator import EmulatorOptions
from cute_py.errors import CudaError, CuteError, LayoutError, OperandError, UnsupportedProblemError
from cute_py.explanation import Explanation
from cute_py.threads import get_num_threads, set_num_threads

__all__ = [
    "CudaError",
    "CuteError",
    "Device",
    "EmulatorOptions",
    "Explanation",
    "Kernel",
    "Kernels",
    "LayoutError",
    "OperandError",
    "UnsupportedProblemError",
    "__version__",
    "cuda_available",
    "devices",
    "errors",
    "explain",
    "gemm",
    "get_num_threads",
    "kernels",
    "set_num_threads",
    "sgemm_nn",
    "sgemm_nt",
    "sgemm_tn",
    "sgemm_tt",
]
