"""``cute-py info``: this build and this machine."""

from __future__ import annotations

import argparse
import json
from typing import Any

from cute_py import _core
from cute_py.catalogue.kernels import kernels
from cute_py.machine.devices import devices


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("info", help="show this build, CUDA, the GPUs and the kernels")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    facts = collect()
    if options.json:
        print(json.dumps(facts, indent=2))
        return 0
    print(f"cute_py {facts['version']}, CUTLASS {facts['cutlass']}")
    if facts["built_with_cuda"]:
        driver = facts["cuda_driver"] or "none"
        print(f"CUDA: runtime {facts['cuda_runtime']}, driver {driver}")
    else:
        print("CUDA: not in this build; for GPU kernels: CUTE_PY_CUDA=ON pip install .")
    if facts["devices"]:
        for device in facts["devices"]:
            major, minor = device["compute_capability"]
            print(
                f"cuda:{device['ordinal']}: {device['name']}, compute capability {major}.{minor}, "
                f"{device['multiprocessors']} multiprocessors, {device['memory_bytes'] / 2**30:.0f} GiB"
            )
    else:
        print("GPUs: none; GPU kernels run in the emulator")
    print(f"CPU: {facts['isa']} instructions, {facts['processors']} processors")
    print(f"kernels: {', '.join(facts['kernels'])} ({facts['variants']} variants; see cute-py kernels)")
    return 0


def collect() -> dict[str, Any]:
    """Return what `run` prints."""
    return {
        "version": _core.__version__,
        "cutlass": _core.cutlass_version,
        "built_with_cuda": _core.built_with_cuda,
        "cuda_runtime": version_text(_core.cuda_runtime_version()),
        "cuda_driver": version_text(_core.cuda_driver_version()),
        "devices": [vars(device) for device in devices()],
        "isa": _core.host_isa(),
        "processors": _core.host_processors(),
        "kernels": kernels().families(),
        "variants": len(kernels()),
    }


def version_text(version: int) -> str | None:
    """Return "13.0" for CUDA's 13000, None for 0."""
    return f"{version // 1000}.{version % 1000 // 10}" if version else None
