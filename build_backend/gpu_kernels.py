"""Whether a build has GPU kernels, and for which architectures: what CMake and the build backend both have to know.

Printed as ``ON 90a-real because a GPU is visible``: ON or OFF, the architectures of CMAKE_CUDA_ARCHITECTURES (``-`` for the
default ones), and why.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from typing import NamedTuple

_TRUE = {"ON", "1", "YES", "TRUE", "Y"}
_FALSE = {"OFF", "0", "NO", "FALSE", "N"}

# Attributes of a device, as the CUDA driver numbers them.
_MAJOR, _MINOR = 75, 76

# The least version of the driver, as CUDA counts, that runs what CUDA 13 compiles.
_LEAST_DRIVER = 13000

# The least compute capability that the kernels are written for.
_LEAST = (8, 0)


class Decision(NamedTuple):
    """`architectures` is empty for the default ones."""

    cuda: bool
    architectures: tuple[str, ...]
    reason: str


def decide(environment: Mapping[str, str]) -> Decision:
    """Decide by CUTE_PY_CUDA=ON or OFF, by FORCE_CUDA=1, and else by the GPUs that are visible."""
    asked = environment.get("CUTE_PY_CUDA", "").upper()
    if asked in _TRUE | _FALSE:
        return Decision(asked in _TRUE, (), f"CUTE_PY_CUDA={environment['CUTE_PY_CUDA']}")
    if asked:
        raise SystemExit(f"CUTE_PY_CUDA is ON or OFF, not {environment['CUTE_PY_CUDA']!r}")
    if environment.get("FORCE_CUDA", "").upper() in _TRUE:
        return Decision(True, (), f"FORCE_CUDA={environment['FORCE_CUDA']}")
    capabilities = visible_capabilities()
    suitable = sorted({capability for capability in capabilities if capability >= _LEAST})
    if suitable:
        return Decision(True, tuple(architecture(*capability) for capability in suitable), "a GPU is visible")
    if capabilities:
        return Decision(False, (), "the visible GPU is older than compute capability 8.0")
    return Decision(False, (), "no GPU with a driver for CUDA 13 is visible")


def architecture(major: int, minor: int) -> str:
    """Return what CMake calls the code for a GPU, with the instructions that only it has from Hopper on."""
    return f"{major}{minor}{'a' if major >= 9 else ''}-real"


def visible_capabilities() -> list[tuple[int, int]]:
    """Return the compute capabilities of the GPUs that the driver shows, none without a driver for CUDA 13."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    version, count = ctypes.c_int(), ctypes.c_int()
    if driver.cuDriverGetVersion(ctypes.byref(version)) != 0 or version.value < _LEAST_DRIVER:
        return []
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    found = []
    for ordinal in range(count.value):
        device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        if (
            driver.cuDeviceGet(ctypes.byref(device), ordinal) == 0
            and driver.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device) == 0
            and driver.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device) == 0
        ):
            found.append((major.value, minor.value))
    return found


if __name__ == "__main__":
    decision = decide(os.environ)
    print("ON" if decision.cuda else "OFF", ";".join(decision.architectures) or "-", f"because {decision.reason}")
