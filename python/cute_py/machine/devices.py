"""The GPUs that this process can use, and processors that are invented to plan for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cute_py import _core
from cute_py.errors import OperandError

__all__ = ["Cpu", "Device", "cuda_available", "devices"]

ISAS = ("baseline", "avx2", "avx512", "avx512_vnni")


@dataclass(frozen=True)
class Device:
    """An NVIDIA GPU: one that there is, see `devices`, or one that you invent.

    As the `device` of a product, an invented one is planned for like any other, and the emulator computes in its place.
    What is left out is that of an H200, whatever the name; `preset` knows some GPUs by theirs.

    >>> import cute_py, numpy as np
    >>> A = np.ones((64, 4096), np.float32)
    >>> cute_py.gemm.explain(A, A, device=cute_py.Device("small", multiprocessors=4)).candidates[0].split_k
    16

    Attributes
    ----------
    name
        As the driver gives it.
    ordinal
        The number in ``"cuda:0"``; None of one that was invented.
    compute_capability
        (major, minor).
    multiprocessors
        How many there are.
    memory_bytes
        Device memory, in bytes.
    shared_bytes_per_cta
        The most shared memory that one CTA can have, in bytes.
    clock_mhz
        The highest clock of the multiprocessors.
    memory_gb_per_s
        What its memory can move, in 10^9 bytes per second.
    launch_us
        Microseconds of a launch. This and what follows is measured, not said by the driver: ``cute-py profile``
        measures a GPU that `cute_py` does not know, and which has an H200's figures until then.
    memory_efficiency
        What a copy reaches of `memory_gb_per_s`: above 0, at most 1.
    l2_bytes_per_cycle
        What a multiprocessor gets out of L2.
    l2_bytes
        Of L2, what a kernel finds there again.
    copies_arrays
        Of one that was invented: False, host arrays are taken to lie there with the strides that they have; True, they
        are copied there and results back, as for ``device="cuda"``.
    """

    name: str
    ordinal: int | None = None
    compute_capability: tuple[int, int] = (9, 0)
    multiprocessors: int = 132
    memory_bytes: int = 141 * 2**30
    shared_bytes_per_cta: int = 227 * 1024
    clock_mhz: int = 1980
    memory_gb_per_s: int = 4800
    launch_us: float = 2.4
    memory_efficiency: float = 0.85
    l2_bytes_per_cycle: float = 31.2
    l2_bytes: int = 50_000_000
    copies_arrays: bool = False

    def __post_init__(self) -> None:
        """Refuse what no GPU can be."""
        capability = self.compute_capability
        if not isinstance(self.name, str):
            raise OperandError(f"Device: name is a str, got {self.name!r}")
        is_pair = isinstance(capability, tuple) and len(capability) == 2 and all(map(_is_count, capability))
        if not is_pair or capability[0] < 1:
            raise OperandError(f"Device: compute_capability is a pair of integers such as (9, 0), got {capability!r}")
        for name in ("multiprocessors", "memory_bytes", "shared_bytes_per_cta", "clock_mhz", "memory_gb_per_s"):
            value = getattr(self, name)
            if not _is_count(value) or value < 1 or (name != "memory_bytes" and value > 2**31 - 1):
                raise OperandError(f"Device: {name} is an integer of at least 1, got {value!r}")
        for name in ("launch_us", "memory_efficiency", "l2_bytes_per_cycle", "l2_bytes"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e18:
                raise OperandError(f"Device: {name} is a number above 0, got {value!r}")
        if self.memory_efficiency > 1:
            raise OperandError(f"Device: memory_efficiency is at most 1, got {self.memory_efficiency!r}")
        if not isinstance(self.copies_arrays, bool):
            raise OperandError(f"Device: copies_arrays is True or False, got {self.copies_arrays!r}")

    @classmethod
    def preset(cls, name: str) -> Device:
        """Return an H200, H100 or A100 with 80 GiB as NVIDIA's data sheets have them, whether there is one or not.

        >>> Device.preset("H100").memory_gb_per_s
        3350

        Raises OperandError for other names.
        """
        if isinstance(name, str) and name.upper() in PRESETS:
            return PRESETS[name.upper()]
        raise OperandError(
            f"Device.preset: {name!r} is none of {', '.join(PRESETS)}; next: Device(name, ...) with its figures"
        )


@dataclass(frozen=True)
class Cpu:
    """A CPU that you invent, to see what is chosen on one.

    As the `device` of `explain`. A product with one computes on this machine, which must have its instruction set, and
    with this machine's threads.

    >>> import cute_py, numpy as np
    >>> A = np.ones((600, 600), np.float32)
    >>> cute_py.gemm.explain(A, A, device=cute_py.Cpu("laptop", isa="avx2", threads=4)).candidates[0].kernel
    'cpu_avx2_f32'

    Attributes
    ----------
    name
        Whatever you call it.
    isa
        "baseline" (SSE2, or another processor's), "avx2", "avx512" or "avx512_vnni".
    threads
        As many as a call may use, 1 to 1024.
    l1_bytes, l2_bytes, l3_bytes
        Of the caches that a thread can use.
    rates
        Of the cost model by name, in place of those that it has: see `rates_by_default`.
    """

    name: str
    isa: str = "avx512"
    threads: int = 1
    l1_bytes: int = 32 << 10
    l2_bytes: int = 1 << 20
    l3_bytes: int = 16 << 20
    rates: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Refuse what no CPU can be."""
        if not isinstance(self.name, str):
            raise OperandError(f"Cpu: name is a str, got {self.name!r}")
        if self.isa not in ISAS:
            raise OperandError(f"Cpu: there is no isa {self.isa!r}\n  next: {', '.join(map(repr, ISAS))}")
        for name, most in ("threads", 1024), ("l1_bytes", 1 << 62), ("l2_bytes", 1 << 62), ("l3_bytes", 1 << 62):
            value = getattr(self, name)
            if not _is_count(value) or not 1 <= value <= most:
                raise OperandError(f"Cpu: {name} is an integer from 1 to {most}, got {value!r}")
        known = self.rates_by_default()
        for name, value in self.rates.items():
            if name not in known:
                raise OperandError(f"Cpu: there is no rate {name!r}\n  next: one of {', '.join(known)}")
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e18:
                raise OperandError(f"Cpu: rate {name} is a number above 0, got {value!r}")

    @staticmethod
    def rates_by_default() -> dict[str, float]:
        """Return the rates of the cost model, csrc/problem/cpu_profile.hpp, of one core with AVX-512."""
        return _core.cpu_rates()

    @classmethod
    def here(cls) -> Cpu:
        """Return the CPU of this machine, with the threads of `get_num_threads`."""
        l1, l2, l3 = _core.host_caches()
        usual = cls("")
        return cls(
            "cpu",
            isa=_core.host_isa(),
            threads=_core.num_threads(),
            l1_bytes=l1 or usual.l1_bytes,
            l2_bytes=l2 or usual.l2_bytes,
            l3_bytes=l3 or usual.l3_bytes,
        )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


PRESETS = {
    "H200": Device("H200"),
    "H100": Device("H100", memory_bytes=80 * 2**30, memory_gb_per_s=3350),
    "A100": Device(
        "A100",
        compute_capability=(8, 0),
        multiprocessors=108,
        memory_bytes=80 * 2**30,
        shared_bytes_per_cta=163 * 1024,
        clock_mhz=1410,
        memory_gb_per_s=2039,
    ),
}


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
