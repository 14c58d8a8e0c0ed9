"""The exceptions of cute_py.

A message says which rule was broken, shows the operands as ``name dtype shape:stride device``, and ends with one step
that helps.
"""

from __future__ import annotations

__all__ = ["CudaError", "CuteError", "LayoutError", "OperandError", "UnitError", "UnsupportedProblemError"]


class CuteError(Exception):
    """Base class of every exception that cute_py raises on its own account."""


class LayoutError(CuteError, ValueError):
    """An argument that is no layout, or a layout operation whose mathematical condition does not hold."""


class OperandError(CuteError, ValueError):
    """An argument that does not fit: not an array, a wrong shape, dtype, stride or device, an unknown name."""


class UnsupportedProblemError(CuteError, NotImplementedError):
    """A correct problem that the named kernel, or every kernel of this build, refuses."""


class UnitError(CuteError, RuntimeError):
    """A unit of kernels, a shared object, cannot be compiled or loaded."""


class CudaError(CuteError, RuntimeError):
    """The CUDA runtime reported an error, or a GPU was asked for where there is none."""
