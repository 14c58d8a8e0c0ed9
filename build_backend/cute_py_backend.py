"""PEP 517 backend: scikit-build-core's, which asks for CUDA's wheels only where they are needed.

With an nvcc on PATH the machine's own CUDA is used. Without one, the compiler comes from the package index if GPU kernels
are built; a build without them needs CUDA's headers alone. `gpu_kernels` decides, unless CMake's CUTE_PY_CUDA is given.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from typing import Any

from gpu_kernels import decide
from scikit_build_core import build as _skbuild
from scikit_build_core.build import (  # noqa: F401
    build_sdist,
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


def build_wheel(folder: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    name: str = _skbuild.build_wheel(folder, dict(config_settings or {}), metadata_directory)
    _say_what_is_missing(config_settings)
    return name


def build_editable(folder: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    name: str = _skbuild.build_editable(folder, dict(config_settings or {}), metadata_directory)
    _say_what_is_missing(config_settings)
    return name


def _say_what_is_missing(config_settings: Settings) -> None:
    cuda, reason = _decision(config_settings)
    if not cuda:
        print(
            f"cute_py: built without GPU kernels, because {reason}; with them: CUTE_PY_CUDA=ON pip install .",
            file=sys.stderr,
        )


def _cuda_requirements(config_settings: Settings) -> list[str]:
    if shutil.which("nvcc") or os.environ.get("CUDACXX"):
        return []
    return [_COMPILER] if _decision(config_settings)[0] else [_HEADERS]


def _decision(config_settings: Settings) -> tuple[bool, str]:
    settings = dict(config_settings or {})
    value = settings.get("cmake.define.CUTE_PY_CUDA", settings.get("skbuild.cmake.define.CUTE_PY_CUDA"))
    if value is not None:
        return str(value).upper() not in {"OFF", "0", "NO", "FALSE", "N"}, f"CUTE_PY_CUDA={value} was asked for"
    decision = decide(os.environ)
    return decision.cuda, decision.reason
