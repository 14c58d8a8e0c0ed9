"""The GPUs that this process can use."""

from __future__ import annotations

from dataclasses import dataclass

from cute_py import _core

__all__ = ["Device", "cuda_available", "devices"]


@dataclass(frozen=True)
class Device:
    """An NVIDIA GPU.

    Attributes
    ----------
    name
        As the driver gives it.
    ordinal
        The number in ``"cuda:0"``.
    compute_capability
        (major, minor).
    multiprocessors
        How many there are.
    memory_bytes
        Device memory, in bytes.
    shared_bytes_per_cta
        The most shared memory that one CTA can have, in bytes.
    """

    name: str
    ordinal: int
    compute_capability: tuple[int, int]
    multiprocessors: int
    memory_bytes: int
    shared_bytes_per_cta: int


def cuda_available() -> bool:
    """Return whether this build has GPU kernels and the machine has a GPU. Makes no CUDA context."""
    return _core.device_count() > 0


def devices() -> list[Device]:
    """Return the GPUs of this machine; an empty list where there is none, no driver, or no CUDA in this build.

    >>> import cute_py
    >>> (len(cute_py.devices()) > 0) == cute_py.cuda_available()
    True
    """
    return [Device(**device) for device in _core.devices()]
