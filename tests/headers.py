"""Where the C++ headers are that some tests compile against."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def cuda_headers() -> Path:
    """Find CUDA's headers, which CuTe includes: beside nvcc, or in the wheels. In CI it is an error if there are none."""
    candidates = [Path("/usr/local/cuda/include")]
    if nvcc := shutil.which("nvcc"):
        candidates.insert(0, Path(nvcc).resolve().parents[1] / "include")
    if spec := importlib.util.find_spec("nvidia"):
        candidates += [
            path for place in spec.submodule_search_locations or [] for path in Path(place).glob("cu*/include")
        ]
    for path in candidates:
        if (path / "cuda_runtime.h").exists() and (path / "cccl").exists():
            return path
    if os.environ.get("CI"):
        pytest.fail("there are no CUDA headers")
    pytest.skip("there are no CUDA headers; pip install 'cuda-toolkit[crt,cudart,cccl]==13.0.*' brings them")
