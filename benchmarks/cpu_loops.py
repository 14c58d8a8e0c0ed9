"""Time products that are no GEMM on the CPU against NumPy and PyTorch: elements, sums, vectors, small batches, permutations.

Each result is compared with float64 first. Peers and ours take turns in one process; medians. OpenBLAS reads its settings
when it is loaded, so this script starts itself again without the variables that would choose a slower kernel for it.

    python benchmarks/cpu_loops.py [--threads 1] [--only einsum vector batch permute sum] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from cpu_peers import medians, restart_once

EINSUMS = [
    "ij,ij->ij",
    "ij,ij->",
    "ij->i",
    "ij->j",
    "i,ij->ij",
    "ii->i",
    "ijk,k->ijk",
    "i,j->ij",
    "ij,ij->i",
    "ij->",
    "i,i->",
]
VECTORS = [(4096, 4096), (64, 1 << 20), (1 << 20, 64)]
BATCHES = [(100_000, 3), (10_000, 8), (1_000, 32)]
PERMUTATIONS = [
    "ij->ji",
    "ijk->kji",
    "ijk->jik",
    "ijk->ikj",
    "ijkl->lkji",
    "ijkl->kjil",
    "ijklm->mlkji",
    "ijklm->jimlk",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=["einsum", "vector", "batch", "permute", "sum"])
    parser.add_argument("--types", nargs="+", default=["float32", "float64"])
    parser.add_argument("--json")
    options = parser.parse_args()
    restart_once(options.threads)

    import numpy as np
    import torch

    import cute_py

    cute_py.set_num_threads(options.threads)
    torch.set_num_threads(options.threads)
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []

    def compare(
        group: str, name: str, ours: Callable[[], Any], peers: dict[str, Callable[[], Any]], right: Any
    ) -> None:
        got, scale = np.asarray(ours(), np.float64), np.abs(right).max() + 1e-30
        error = float(np.abs(got - right).max() / scale)
        assert error < 1e-3, f"{name}: error {error}"
        times = medians({"cute_py": ours, **peers})
        best = min(times[peer] for peer in peers)
        rows.append({"group": group, "name": name, "us": times, "ratio": best / times["cute_py"]})
        text = "  ".join(f"{who} {us:.1f}" for who, us in times.items())
        print(f"{group:8} {name:28} {best / times['cute_py']:6.2f}   {text}", flush=True)

    for letters in options.types:
        dtype = np.dtype(letters)
        if "einsum" in options.only:
            for subscripts in EINSUMS:
                extents = {"i": 1000, "j": 1000}
                if subscripts == "ijk,k->ijk":
                    extents = {"i": 100, "j": 100, "k": 100}
                if subscripts == "i,i->":
                    extents = {"i": 1_000_000}
                arrays = [
                    rng.standard_normal([extents[i] for i in part]).astype(dtype)
                    for part in subscripts.split("->")[0].split(",")
                ]
                right = np.einsum(subscripts, *(array.astype(np.float64) for array in arrays))
                tensors = [torch.from_numpy(array) for array in arrays]
                compare(
                    "einsum",
                    f"{subscripts} {letters}",
                    lambda s=subscripts, a=arrays: cute_py.einsum(s, *a),
                    {
                        "numpy": lambda s=subscripts, a=arrays: np.einsum(s, *a),
                        "torch": lambda s=subscripts, t=tensors: torch.einsum(s, *t),
                    },
                    right,
                )
        if "vector" in options.only:
            for m, k in VECTORS:
                A, x = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal(k).astype(dtype)
                for name, matrix in (("rows", A), ("columns", np.asfortranarray(A))):
                    tensor, vector = torch.from_numpy(matrix), torch.from_numpy(x)
                    compare(
                        "vector",
                        f"{m}x{k} {name} {letters}",
                        lambda a=matrix, x=x: cute_py.matmul(a, x),
                        {"numpy": lambda a=matrix, x=x: a @ x, "torch": lambda t=tensor, v=vector: t @ v},
                        matrix.astype(np.float64) @ x.astype(np.float64),
                    )
        if "batch" in options.only:
            for batch, extent in BATCHES:
                A, B = (rng.standard_normal((batch, extent, extent)).astype(dtype) for _ in range(2))
                a, b = torch.from_numpy(A), torch.from_numpy(B)
                compare(
                    "batch",
                    f"{batch} x {extent}x{extent} {letters}",
                    lambda A=A, B=B: cute_py.matmul(A, B),
                    {"numpy": lambda A=A, B=B: A @ B, "torch": lambda a=a, b=b: torch.bmm(a, b)},
                    A.astype(np.float64) @ B.astype(np.float64),
                )
        if "permute" in options.only:
            for subscripts in PERMUTATIONS:
                rank = subscripts.index("-")
                elements = 32 * 2**20 // dtype.itemsize
                extent = int(elements ** (1 / rank))
                A = rng.standard_normal((extent,) * rank).astype(dtype)
                order = [subscripts.index(letter) for letter in subscripts.split("->")[1]]
                out = np.empty_like(A)
                compare(
                    "permute",
                    f"{subscripts} {letters}",
                    lambda order=order, A=A, out=out: cute_py.permute(A, order, out=out),
                    {"memcpy": lambda A=A, out=out: np.copyto(out, A)},
                    A.transpose(order).astype(np.float64),
                )
        if "sum" in options.only and letters == "float32":
            for elements in (10**4, 10**6, 10**8):
                x = rng.random(elements, dtype=np.float32)
                right = x.astype(np.float64).sum()
                compare(
                    "sum",
                    f"i-> {elements}",
                    lambda x=x: cute_py.einsum("i->", x),
                    {"numpy": lambda x=x: np.einsum("i->", x)},
                    right,
                )
                errors = [abs(float(f("i->", x)) - right) / right for f in (cute_py.einsum, np.einsum)]
                print(f"         errors: cute_py {errors[0]:.2e}, numpy {errors[1]:.2e}")

    for group in dict.fromkeys(row["group"] for row in rows):
        ratios = sorted(row["ratio"] for row in rows if row["group"] == group)
        mean = float(np.exp(np.mean(np.log(ratios))))
        print(f"{group}: geometric mean {mean:.2f}, least {ratios[0]:.2f}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"threads": options.threads, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
