"""What the cost models of GPU kernels need to know of a GPU: measured once, and kept beside the compiled units."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from cute_py._files import write_whole
from cute_py.errors import OperandError, UnsupportedProblemError
from cute_py.machine.devices import Device, devices
from cute_py.products.permutation import permute
from cute_py.units import cache

__all__ = ["MEASURED", "find", "forget", "measure", "save"]

# The members of a Device that are measured; the others are what the driver says.
MEASURED = ("launch_us", "memory_efficiency", "l2_bytes_per_cycle", "l2_bytes")

# What `raw`, and its driver, find on an H200, whose profile was fitted to runs of all kernels: that of another GPU is
# this profile times what it finds over these.
_ON_H200 = (1.76, 0.8513, 23.9)
_L2_BYTES_OF_H200 = 62_914_560

_COPIES = 50  # of a graph
_LARGE = 1 << 28  # elements of four bytes: 1 GiB


def place() -> Path:
    """Return the file in which profiles are kept."""
    return cache.place() / "profiles.json"


def kept() -> dict[str, Any]:
    """Return what the file has, by the GPUs' names. Raises OperandError for a file that is none of ours."""
    try:
        text = place().read_text()
    except (OSError, RuntimeError):  # there is none, or no home to look in
        return {}
    try:
        found = json.loads(text)
        for name, profile in found.items():
            Device(name, **{field: profile[field] for field in MEASURED})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise OperandError(f"{place()} is no file of profiles: {error}\n  next: cute-py profile --forget") from None
    return dict(found)


def find(name: str) -> tuple[float, ...] | None:
    """Return what was measured of a GPU, in the order of `MEASURED`; None if nothing was."""
    profile = kept().get(name)
    return None if profile is None else tuple(profile[field] for field in MEASURED)


def save(device: Device) -> Path:
    """Keep what was measured of a GPU; processes that start later choose by it."""
    profiles = kept() | {device.name: {field: getattr(device, field) for field in MEASURED}}
    place().parent.mkdir(parents=True, exist_ok=True)
    write_whole(place(), lambda file: file.write((json.dumps(profiles, indent=2) + "\n").encode()))
    return place()


def forget() -> None:
    """Forget what was measured of all GPUs."""
    place().unlink(missing_ok=True)


def measure(ordinal: int = 0) -> Device:
    """Measure a GPU: what a launch takes, what a copy reaches of its memory's speed, and what its L2 delivers.

    Needs PyTorch and about 3 GiB of the GPU's memory, and takes some seconds, in which nothing else should compute
    there. Raises OperandError where there is no such GPU.
    """
    found = [device for device in devices() if device.ordinal == ordinal]
    if not found:
        raise OperandError(f"profile: there is no GPU number {ordinal}\n  next: cute-py info lists those there are")
    try:
        import torch
    except ImportError:
        raise UnsupportedProblemError(
            "profile: PyTorch is needed to measure a GPU\n  next: pip install torch"
        ) from None
    device = found[0]
    l2_bytes = torch.cuda.get_device_properties(ordinal).L2_cache_size
    h200 = Device("H200")
    launch, memory, l2 = (x / on_h200 for x, on_h200 in zip(raw(device, l2_bytes), _ON_H200, strict=True))
    return replace(
        device,
        launch_us=round(h200.launch_us * launch, 2),
        memory_efficiency=round(h200.memory_efficiency * memory, 3),
        l2_bytes_per_cycle=round(h200.l2_bytes_per_cycle * l2, 1),
        l2_bytes=round(h200.l2_bytes * l2_bytes / _L2_BYTES_OF_H200),
    )


def raw(device: Device, l2_bytes: int) -> tuple[float, float, float]:
    """Return microseconds of a copy of one element; of large copies, the bytes moved over what memory can move at
    best; of copies within L2, bytes read and written by a multiprocessor in a cycle.
    """
    import torch

    def copies(elements: int) -> Callable[[], Any]:
        source, target = (torch.zeros(elements, device=f"cuda:{device.ordinal}") for _ in range(2))
        return lambda: permute(source, (0,), out=target)

    with torch.cuda.device(device.ordinal):
        launch = _graph_us(copies(1))
        large = _graph_us(copies(_LARGE))
        near_elements = l2_bytes // 16  # what is read and what is written take half of L2
        near = _graph_us(copies(near_elements)) - launch
    best = device.memory_gb_per_s * 1e3  # bytes in a microsecond
    cycles = near * device.clock_mhz * device.multiprocessors
    return launch, 8 * _LARGE / large / best, 8 * near_elements / cycles


def _graph_us(call: Callable[[], Any]) -> float:
    """Return the device time of a call in microseconds, in a CUDA graph of several: the median of five."""
    import torch

    call()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(_COPIES):
            call()
    times = []
    for _ in range(6):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) * 1e3 / _COPIES)
    return float(statistics.median(times[1:]))
