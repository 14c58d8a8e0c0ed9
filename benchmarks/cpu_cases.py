"""Time what people compute on a CPU against NumPy and PyTorch: products, vectors, batches, contractions, sums, permutations, epilogues.

    python benchmarks/cpu_cases.py [--threads 1] [--only product vector batch einsum permute epilogue error] [--json FILE]

One line for each case, with the ratio of the faster peer's time to ours, and with NumPy's and PyTorch's own. Each result is
compared with float64 first. The peer of a permutation is a copy of as many bytes. Calls take turns in one process; medians. `error`: the errors of long sums of float32, beside
those of `numpy.einsum`, `numpy.dot` and PyTorch.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from harness import medians, restart_once, spread

PRODUCTS = [("float32", 16), ("float32", 64), ("float32", 256), ("float32", 1024), ("float32", 2048), ("float64", 1024)]
COMPLEX = [("complex64", 512), ("complex128", 512)]
HALVES = ["float16", "bfloat16"]
BATCHES = [(100_000, 3), (10_000, 8), (1_000, 32), (64, 128)]
SUMS = [10**5, 4 * 10**6, 2 * 10**7, 10**8]
# Subscripts, the extents of their indices, and the type.
EINSUMS = [
    ("bqhd,bkhd->bhqk", {"b": 8, "q": 256, "k": 256, "h": 8, "d": 64}, "float32"),
    ("abcd,dbe->eac", {"a": 32, "b": 24, "c": 24, "d": 24, "e": 28}, "float32"),
    ("ijef,klef->ijkl", {"i": 20, "j": 20, "k": 20, "l": 20, "e": 60, "f": 60}, "float64"),
    ("iakc,jbkc->iajb", {"i": 20, "a": 60, "k": 20, "c": 60, "j": 20, "b": 60}, "float64"),
    ("ijk,jr,kr->ir", {"i": 200, "j": 200, "k": 200, "r": 32}, "float32"),
    ("ijk,ia,jb,kc->abc", {"i": 100, "j": 100, "k": 100, "a": 20, "b": 20, "c": 20}, "float32"),
    ("ab,bc,cd,de,ef,fa->", dict.fromkeys("abcdef", 8), "float32"),
    ("ij->i", {"i": 2000, "j": 2000}, "float32"),
    ("ij->ji", {"i": 2000, "j": 2000}, "float32"),
    ("ij,ij->ij", {"i": 2000, "j": 2000}, "float32"),
    ("ij,ij->", {"i": 2000, "j": 2000}, "float32"),
    ("i,j->ij", {"i": 3000, "j": 3000}, "float32"),
    ("bi,ij->bij", {"b": 100, "i": 100, "j": 1000}, "float32"),
    ("ij,ij->i", {"i": 1000, "j": 1000}, "float32"),
    ("bij,bij->b", {"b": 100, "i": 100, "j": 100}, "float32"),
    ("pqrs,pi->iqrs", {"p": 40, "q": 40, "r": 40, "s": 40, "i": 40}, "float64"),
    ("bhqk,bkhd->bqhd", {"b": 8, "q": 256, "k": 256, "h": 8, "d": 64}, "float32"),
    ("ij->j", {"i": 1000, "j": 1000}, "float32"),
    ("ij->", {"i": 1000, "j": 1000}, "float32"),
    ("ii->i", {"i": 1000}, "float32"),
    ("i,i->", {"i": 1_000_000}, "float32"),
    ("i,ij->ij", {"i": 1000, "j": 1000}, "float32"),
    ("ijk,k->ijk", {"i": 100, "j": 100, "k": 100}, "float32"),
    ("ij,ij->ij", {"i": 1000, "j": 1000}, "float64"),
    ("ij->i", {"i": 1000, "j": 1000}, "float64"),
    ("ij->j", {"i": 1000, "j": 1000}, "float64"),
]
VECTORS = [(4096, 4096), (64, 1 << 20), (1 << 20, 64)]
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
GROUPS = ["product", "vector", "batch", "einsum", "permute", "epilogue", "error"]


class Case(NamedTuple):
    name: str
    ours: Callable[[], Any]
    peers: dict[str, Callable[[], Any]]
    right: Any  # of float64, or None: what the first peer gives


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=GROUPS)
    parser.add_argument("--json")
    options = parser.parse_args()
    restart_once(options.threads)

    import numpy as np
    import torch

    import cute_py

    cute_py.set_num_threads(options.threads)
    torch.set_num_threads(options.threads)
    rng = np.random.default_rng(0)

    def draw(shape: tuple[int, ...], letters: str) -> Any:
        x = rng.standard_normal(shape)
        return (x + 1j * rng.standard_normal(shape) if "complex" in letters else x).astype(letters)

    def products() -> Iterator[Case]:
        for letters, extent in PRODUCTS + COMPLEX:
            A, B = (draw((extent, extent), letters) for _ in range(2))
            a, b = torch.from_numpy(A), torch.from_numpy(B)
            yield Case(
                f"{letters} {extent}",
                lambda A=A, B=B: cute_py.matmul(A, B),
                {"numpy": lambda A=A, B=B: A @ B, "torch": lambda a=a, b=b: a @ b},
                A.astype(np.complex128) @ B.astype(np.complex128),
            )
        for letters in HALVES:
            a, b = (torch.randn(512, 512).to(getattr(torch, letters)) for _ in range(2))
            right = (a.double() @ b.double()).numpy()
            yield Case(
                f"{letters} 512", lambda a=a, b=b: cute_py.matmul(a, b), {"torch": lambda a=a, b=b: a @ b}, right
            )
        A, B = (rng.integers(-9, 10, (512, 512)).astype(np.int8) for _ in range(2))
        wide = [x.astype(np.int32) for x in (A, B)]
        yield Case("int8 512", lambda: cute_py.matmul(A, B), {"numpy": lambda: wide[0] @ wide[1]}, wide[0] @ wide[1])
        for name, (m, k, n) in {
            "4096x4096 times 8 columns": (4096, 4096, 8),
            "20000x64 times 64x64": (20000, 64, 64),
        }.items():
            X, Y = draw((m, k), "float32"), draw((k, n), "float32")
            x, y = torch.from_numpy(X), torch.from_numpy(Y)
            yield Case(
                name,
                lambda X=X, Y=Y: cute_py.matmul(X, Y),
                {"numpy": lambda X=X, Y=Y: X @ Y, "torch": lambda x=x, y=y: x @ y},
                X.astype(np.float64) @ Y.astype(np.float64),
            )
        X, Y = draw((2048, 1024), "float32")[::2, ::-1], draw((2048, 1024), "float32")[::-2]
        yield Case(
            "strided views of 1024",
            lambda: cute_py.matmul(X, Y.T),
            {"numpy": lambda: X @ Y.T},
            X.astype(np.float64) @ Y.T.astype(np.float64),
        )

    def vectors() -> Iterator[Case]:
        for m, k in VECTORS:
            A, x = draw((m, k), "float32"), draw((k,), "float32")
            for order, X in (("rows", A), ("columns", np.asfortranarray(A))):
                a, b = torch.from_numpy(X), torch.from_numpy(x)
                yield Case(
                    f"{m}x{k} times a vector, {order}",
                    lambda X=X, x=x: cute_py.matmul(X, x),
                    {"numpy": lambda X=X, x=x: X @ x, "torch": lambda a=a, b=b: a @ b},
                    X.astype(np.float64) @ x.astype(np.float64),
                )

    def permutations() -> Iterator[Case]:
        for subscripts in PERMUTATIONS:
            before, _, after = subscripts.partition("->")
            extent = int((8 * 2**20) ** (1 / len(before)))  # 32 MB
            A = draw((extent,) * len(before), "float32")
            order, out = [before.index(letter) for letter in after], np.empty_like(A)
            yield Case(
                f"{subscripts}, 32 MB",
                lambda order=order, A=A, out=out: cute_py.permute(A, order, out=out),
                {"memcpy": lambda A=A, out=out: np.copyto(out, A)},
                A.transpose(order).astype(np.float64),
            )

    def batches() -> Iterator[Case]:
        for batch, extent in BATCHES:
            X, Y = (draw((batch, extent, extent), "float32") for _ in range(2))
            x, y = torch.from_numpy(X), torch.from_numpy(Y)
            yield Case(
                f"batch of {batch}, {extent}x{extent}",
                lambda X=X, Y=Y: cute_py.matmul(X, Y),
                {"numpy": lambda X=X, Y=Y: X @ Y, "torch": lambda x=x, y=y: torch.bmm(x, y)},
                X.astype(np.float64) @ Y.astype(np.float64),
            )

    def einsums() -> Iterator[Case]:
        for subscripts, extents, letters in EINSUMS:
            arrays = [draw(tuple(extents[i] for i in part), letters) for part in subscripts.split("->")[0].split(",")]
            tensors = [torch.from_numpy(array) for array in arrays]
            best = len(arrays) > 1
            peers = {
                "numpy": lambda s=subscripts, a=arrays, best=best: np.einsum(s, *a, optimize=best),
                "torch": lambda s=subscripts, t=tensors: torch.einsum(s, *t),
            }
            right = np.einsum(subscripts, *(array.astype(np.float64) for array in arrays), optimize=best)
            if subscripts == "ij->ji":  # a view for all of them; what moves is the copy
                peers = {
                    "numpy": lambda a=arrays: np.ascontiguousarray(a[0].T),
                    "torch": lambda t=tensors: t[0].t().contiguous(),
                }
                yield Case(f"{subscripts}, copied", lambda a=arrays: cute_py.permute(a[0], (1, 0)), peers, right)
                continue
            yield Case(f"{subscripts} {letters}", lambda s=subscripts, a=arrays: cute_py.einsum(s, *a), peers, right)

    def epilogues() -> Iterator[Case]:
        m, n, k = 1024, 1024, 64
        A, B, bias = draw((m, k), "float32"), draw((n, k), "float32"), draw((n,), "float32")
        a, b, c = (torch.from_numpy(x) for x in (A, B, bias))
        D = np.empty((m, n), np.float32)
        plain = A.astype(np.float64) @ B.T.astype(np.float64)
        functional = torch.nn.functional

        def bias_gelu() -> Any:
            x = A @ B.T
            x += bias
            y = x * x
            y *= x
            y *= np.float32(0.044715)
            y += x
            y *= np.float32(np.sqrt(2 / np.pi))
            np.tanh(y, out=y)
            y += 1
            y *= x
            y *= np.float32(0.5)
            return y

        right = functional.gelu(torch.from_numpy(plain + bias), approximate="tanh").numpy()
        yield Case(
            "bias and gelu (1024,1024,64)",
            lambda: cute_py.gemm(A, B, D, epilogue=cute_py.Epilogue(bias=bias, activation="gelu_tanh")),
            {"numpy": bias_gelu, "torch": lambda: functional.gelu(functional.linear(a, b, c), approximate="tanh")},
            right,
        )
        yield Case(
            "relu (1024,1024,64)",
            lambda: cute_py.gemm(A, B, D, epilogue=cute_py.Epilogue(activation="relu")),
            {"numpy": lambda: np.maximum(A @ B.T, 0), "torch": lambda: torch.relu(a @ b.t())},
            np.maximum(plain, 0),
        )
        yield Case(
            "no epilogue (1024,1024,64)",
            lambda: cute_py.gemm(A, B, D),
            {"numpy": lambda: A @ B.T, "torch": lambda: a @ b.t()},
            plain,
        )

    rows = []
    groups = {
        "product": products,
        "vector": vectors,
        "batch": batches,
        "einsum": einsums,
        "permute": permutations,
        "epilogue": epilogues,
    }
    for group, cases in groups.items():
        for case in cases() if group in options.only else ():
            got = case.ours()
            got = got.double().numpy() if isinstance(got, torch.Tensor) else np.asarray(got)
            error = float(np.abs(got - case.right).max() / (np.abs(case.right).max() + 1e-30))
            assert error < 1e-2, f"{case.name}: error {error}"
            times = medians({"cute_py": case.ours, **case.peers}, seconds=0.25)
            ratio = min(times[peer] for peer in case.peers) / times["cute_py"]
            rows.append({"group": group, "name": case.name, "us": times, "ratio": ratio})
            text = "  ".join(f"{who} {us:.1f}" for who, us in times.items())
            print(f"{case.name:36} {ratio:6.2f}   {text}", flush=True)
    for group in dict.fromkeys(row["group"] for row in rows):
        print(f"{group}: {spread(row['ratio'] for row in rows if row['group'] == group)}")

    for elements in SUMS if "error" in options.only else ():
        x = rng.random(elements, dtype=np.float32)
        t = torch.from_numpy(x)
        right = float(np.dot(x.astype(np.float64), x.astype(np.float64)))
        errors = {
            "cute_py": cute_py.einsum("i,i->", x, x),
            "numpy.einsum": np.einsum("i,i->", x, x),
            "numpy.dot": np.dot(x, x),
            "torch": torch.dot(t, t),
        }
        text = "  ".join(f"{who} {abs(float(value) / right - 1):.1e}" for who, value in errors.items())
        print(f"errors of x.x, {elements:>9}: {text}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"threads": options.threads, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
