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
from cute_py import atoms, errors, layout
from cute_py._core import Plan, __version__
from cute_py._explain import explain
from cute_py.atoms.tiled import (
    ThrCopy,
    ThrMMA,
    TiledCopy,
    TiledMMA,
    make_cotiled_copy,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_B,
    make_tiled_copy_C,
    make_tiled_copy_D,
    make_tiled_copy_S,
    make_tiled_mma,
)
from cute_py.catalogue.config import KernelConfig, Load, Loads, Owner
from cute_py.catalogue.kernels import Kernel, Kernels, kernels
from cute_py.catalogue.trace import Trace
from cute_py.errors import CudaError, CuteError, LayoutError, OperandError, UnsupportedProblemError
from cute_py.layout import *  # noqa: F403 - its names are in its __all__
from cute_py.layout.tensor import (
    Tensor,
    copy,
    local_partition,
    local_tile,
    make_identity_tensor,
    make_tensor,
    make_tensor_like,
)
from cute_py.machine.banks import BankConflicts, SwizzleChoice, bank_conflicts, best_swizzle
from cute_py.machine.devices import Device, cuda_available, devices
from cute_py.machine.threads import get_num_threads, set_num_threads
from cute_py.machine.tma import TmaReport, tma_check
from cute_py.products.contraction import contract, gett, inner, matmul, outer, tensordot
from cute_py.products.einsum import EinsumExplanation, EinsumPlan, einsum
from cute_py.products.emulator import EmulatorOptions
from cute_py.products.epilogue import Epilogue
from cute_py.products.explanation import Candidate, Explanation
from cute_py.products.gemm import (
    bgemm_nn,
    bgemm_nt,
    bgemm_tn,
    bgemm_tt,
    cgemm_nn,
    cgemm_nt,
    cgemm_tn,
    cgemm_tt,
    dgemm_nn,
    dgemm_nt,
    dgemm_tn,
    dgemm_tt,
    gemm,
    hgemm_nn,
    hgemm_nt,
    hgemm_tn,
    hgemm_tt,
    sgemm_nn,
    sgemm_nt,
    sgemm_tn,
    sgemm_tt,
    zgemm_nn,
    zgemm_nt,
    zgemm_tn,
    zgemm_tt,
)
from cute_py.products.product import Product
from cute_py.products.tuning import Tuning, forget_tuning, load_tuning, save_tuning, tune

__all__ = [
    "BankConflicts",
    "Candidate",
    "CudaError",
    "CuteError",
    "Device",
    "EinsumExplanation",
    "EinsumPlan",
    "EmulatorOptions",
    "Epilogue",
    "Explanation",
    "Kernel",
    "KernelConfig",
    "Kernels",
    "LayoutError",
    "Load",
    "Loads",
    "OperandError",
    "Owner",
    "Plan",
    "Product",
    "SwizzleChoice",
    "Tensor",
    "ThrCopy",
    "ThrMMA",
    "TiledCopy",
    "TiledMMA",
    "TmaReport",
    "Trace",
    "Tuning",
    "UnsupportedProblemError",
    "__version__",
    "atoms",
    "bank_conflicts",
    "best_swizzle",
    "bgemm_nn",
    "bgemm_nt",
    "bgemm_tn",
    "bgemm_tt",
    "cgemm_nn",
    "cgemm_nt",
    "cgemm_tn",
    "cgemm_tt",
    "contract",
    "copy",
    "cuda_available",
    "devices",
    "dgemm_nn",
    "dgemm_nt",
    "dgemm_tn",
    "dgemm_tt",
    "einsum",
    "errors",
    "explain",
    "forget_tuning",
    "gemm",
    "get_num_threads",
    "gett",
    "hgemm_nn",
    "hgemm_nt",
    "hgemm_tn",
    "hgemm_tt",
    "inner",
    "kernels",
    "layout",
    "load_tuning",
    "local_partition",
    "local_tile",
    "make_cotiled_copy",
    "make_identity_tensor",
    "make_tensor",
    "make_tensor_like",
    "make_tiled_copy",
    "make_tiled_copy_A",
    "make_tiled_copy_B",
    "make_tiled_copy_C",
    "make_tiled_copy_D",
    "make_tiled_copy_S",
    "make_tiled_mma",
    "matmul",
    "outer",
    "save_tuning",
    "set_num_threads",
    "sgemm_nn",
    "sgemm_nt",
    "sgemm_tn",
    "sgemm_tt",
    "tensordot",
    "tma_check",
    "tune",
    "zgemm_nn",
    "zgemm_nt",
    "zgemm_tn",
    "zgemm_tt",
]
__all__ += layout.__all__
