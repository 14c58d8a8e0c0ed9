"""PEP 517 backend: scikit-build-core's, which asks for CUDA's wheels only where they are needed.

With an nvcc on PATH the machine's own CUDA is used. Without one, the compiler comes from the package index. A build with
CUTE_PY_CUDA=OFF compiles no GPU code and needs CUDA's headers alone.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import Any

from scikit_build_core import build as _skbuild
from scikit_build_core.build import (  # noqa: F401
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

_COMPILER = "cuda-toolkit[nvcc,crt,nvvm,cudart,cccl]==13.0.*"
_HEADERS = "cuda-toolkit[crt,cudart,cccl]==13.0.*"

Settings = Mapping[str, Any] | None


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return [*_skbuild.get_requires_for_build_wheel(config_settings), *_cuda_requirements(config_settings)]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return [*_skbuild.get_requires_for_build_editable(config_settings), *_cuda_requirements(config_settings)]


def _cuda_requirements(config_settings: Settings) -> list[str]:
    if shutil.which("nvcc") or os.environ.get("CUDACXX"):
        return []
    return [_HEADERS] if _cuda_is_off(config_settings) else [_COMPILER]


def _cuda_is_off(config_settings: Settings) -> bool:
    settings = dict(config_settings or {})
    value = settings.get("cmake.define.CUTE_PY_CUDA", settings.get("skbuild.cmake.define.CUTE_PY_CUDA", "ON"))
    return str(value).upper() in {"OFF", "0", "NO", "FALSE", "N"}
