"""Random products on a CPU against NumPy and PyTorch: the distribution of the ratio of the faster one's time to ours.

    python benchmarks/cpu_random.py gemm [--threads 1] [--seed 0] [--count 300] [--types float32 float64] [--json FILE]
    python benchmarks/cpu_random.py contract
    python benchmarks/cpu_random.py tccg

`gemm`: M, N and K log-uniform from 1 to 2048 in all four layouts, against ``np.matmul(out=)`` and ``torch.mm(out=)``.
`contract`: operands of one to six indices in any order, kept, summed or of a batch, 1e4 to 1e8 multiply-adds, against
``np.einsum(optimize=True)`` and ``torch.einsum``. `tccg`: the 48 contractions of the TCCG benchmark, extents made smaller
in proportion until at most 2e9 multiply-adds remain, also against ``np.tensordot`` with a copy into the order that is
asked for, and against pytblis if it is installed. Each problem is drawn anew from its number. Results are compared with
float64 before they are timed; the calls take turns in one process; medians.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from harness import medians, restart_once, spread

ISAS = ("baseline", "avx2", "avx512")
CONTRACTIONS = Path(__file__).parent / "data" / "tccg48.json"


class Problem(NamedTuple):
    """What to compute, in words, and the extents that say it."""

    subscripts: str
    extents: dict[str, int]
    orders: tuple[str, str] = ("C", "C")

    @property
    def work(self) -> int:
        """Multiply-adds."""
        return math.prod(self.extents.values())

    def __str__(self) -> str:
        orders = "" if self.orders == ("C", "C") else " " + "".join(self.orders)
        return f"{self.subscripts} {' '.join(f'{i}{extent}' for i, extent in self.extents.items())}{orders}"


def gemms(chance: random.Random) -> Problem:
    m, n, k = (round(math.exp(chance.uniform(0, math.log(2048)))) for _ in range(3))
    return Problem("mk,kn->mn", {"m": m, "n": n, "k": k}, (chance.choice("CF"), chance.choice("CF")))


def contractions(chance: random.Random) -> Problem | None:
    counts = [
        chance.choice(choices) for choices in ((0, 1, 1, 2, 3), (0, 1, 1, 2, 3), (0, 1, 1, 2, 3), (0, 0, 0, 1, 2))
    ]
    letters = iter("abcdefghijkl")
    m, n, k, batch = (["".join(next(letters) for _ in range(count))][0] for count in counts)
    a, b, c = (
        "".join(chance.sample(indices, len(indices))) for indices in (m + k + batch, k + n + batch, m + n + batch)
    )
    if not (1 <= len(a) <= 6 and 1 <= len(b) <= 6 and len(c) <= 6):
        return None
    extents = {i: round(math.exp(chance.uniform(math.log(2), math.log(512)))) for i in m + n + k + batch}
    problem = Problem(f"{a},{b}->{c}", extents)
    largest = max(math.prod(extents[i] for i in indices) for indices in (a, b, c))
    return problem if 1e4 <= problem.work <= 1e8 and largest <= 2e7 else None


def tccg() -> Iterator[Problem]:
    for entry in json.loads(CONTRACTIONS.read_text()):
        c, a, b = (indices[::-1] for indices in entry["contraction"].split("-"))
        extents = dict(entry["extents"])
        scale = 1.0
        while math.prod(extents.values()) > 2e9:
            scale *= 0.98
            extents = {i: max(2, round(extent * scale)) for i, extent in entry["extents"].items()}
        yield Problem(f"{a},{b}->{c}", extents)


def problems(kind: str, seed: int, count: int) -> Iterator[Problem]:
    if kind == "tccg":
        yield from tccg()
        return
    draw: Callable[[random.Random], Problem | None] = gemms if kind == "gemm" else contractions
    number = 0
    while count > 0:
        problem = draw(random.Random(f"{kind} {seed} {number}"))
        number += 1
        if problem is not None:
            yield problem
            count -= 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=["gemm", "contract", "tccg"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--types", nargs="+", default=["float32", "float64"])
    parser.add_argument("--seconds", type=float, default=0.03, help="for each call of a problem")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--regret", action="store_true", help="time all candidates, too")
    options = parser.parse_args()
    restart_once(options.threads)

    import numpy as np
    import torch

    import cute_py

    cute_py.set_num_threads(options.threads)
    torch.set_num_threads(options.threads)
    try:
        import pytblis
    except ImportError:
        pytblis = None

    def peers(problem: Problem, A: Any, B: Any, out: Any) -> dict[str, Callable[[], Any]]:
        subscripts = problem.subscripts
        tensors = torch.from_numpy(A), torch.from_numpy(B)
        if options.kind == "gemm":
            result = torch.from_numpy(out)
            return {"numpy": lambda: np.matmul(A, B, out=out), "torch": lambda: torch.mm(*tensors, out=result)}
        calls: dict[str, Callable[[], Any]] = {"torch": lambda: torch.einsum(subscripts, *tensors)}
        if options.kind == "contract":
            calls["numpy"] = lambda: np.einsum(subscripts, A, B, optimize=True)
            return calls
        inputs, _, c = subscripts.partition("->")
        a, b = inputs.split(",")
        summed = [i for i in a if i in b]
        axes = [a.index(i) for i in summed], [b.index(i) for i in summed]
        free = [i for i in a + b if i not in summed]
        calls["numpy"] = lambda: np.ascontiguousarray(np.tensordot(A, B, axes).transpose([free.index(i) for i in c]))
        if pytblis is not None:
            pytblis.set_num_threads(options.threads)
            calls["tblis"] = lambda: pytblis.einsum(subscripts, A, B)
        return calls

    def largest_error(problem: Problem, got: Any, A: Any, B: Any) -> float:
        """What is wrong in units of what rounding alone can do."""
        wide = [torch.from_numpy(np.asarray(x)).to(torch.float64) for x in (A, B)]
        right = torch.einsum(problem.subscripts, *wide)
        bound = torch.einsum(problem.subscripts, *(x.abs() for x in wide))
        unit = 2.0**-24 if A.dtype == np.float32 else 2.0**-53
        k = math.prod(extent for i, extent in problem.extents.items() if i not in problem.subscripts.partition("->")[2])
        return float(((torch.from_numpy(np.asarray(got)) - right).abs() / (2 * (k + 2) * unit * bound + 1e-300)).max())

    rows: list[dict[str, Any]] = []
    for problem in problems(options.kind, options.seed, options.count):
        inputs, _, c = problem.subscripts.partition("->")
        generator = np.random.default_rng(0)
        for name in options.types:
            arrays = []
            for indices, order in zip(inputs.split(","), problem.orders, strict=True):
                array = generator.standard_normal([problem.extents[i] for i in indices]).astype(name)
                arrays.append(np.asarray(array, order=order))
            A, B = arrays
            out = np.full([problem.extents[i] for i in c], np.nan, name)
            if options.kind == "gemm":
                given = (A, B.T, out)
                ours = lambda: cute_py.gemm(*given)  # noqa: B023, E731
                product, operands, arguments = cute_py.gemm, given, given
            else:
                ours = lambda: cute_py.einsum(problem.subscripts, A, B)  # noqa: B023, E731
                product, operands, arguments = cute_py.contract, (problem.subscripts, A, B), (A, B)
            chosen = product.explain(*operands)
            error = largest_error(problem, ours(), A, B)
            assert error < 1, f"{problem} {name}: error {error}"
            times = medians(
                {"cute_py": ours, **peers(problem, A, B, out)}, options.seconds, 5, 0.02 * (options.threads > 1)
            )
            best = min(us for who, us in times.items() if who != "cute_py")
            row = {
                "problem": str(problem),
                "type": name,
                "work": problem.work,
                "us": times,
                "ratio": best / times["cute_py"],
            }
            row["kernel"] = chosen.chosen
            if options.regret:
                # Kernels for narrower vectors than the machine has are no choice.
                isa = cute_py.kernels()[chosen.chosen].isa
                narrower = set(ISAS[: ISAS.index(isa)]) if isa else set()
                plans = {
                    str(i): partial(product.plan(*operands, config=candidate), *arguments)
                    for i, candidate in enumerate(chosen.candidates)
                    if i == 0 or (candidate.us < 20 * chosen.us and narrower.isdisjoint(candidate.kernel.split("_")))
                }
                row["candidates"] = {
                    str(chosen.candidates[int(i)]): us for i, us in medians(plans, options.seconds / 2, 3).items()
                }
                row["regret"] = row["candidates"][str(chosen.candidates[0])] / min(row["candidates"].values())
            rows.append(row)
            text = "  ".join(f"{who} {us:.1f}" for who, us in times.items())
            print(f"{row['ratio']:6.2f} {name:8} {problem!s:60} {row['kernel']:20} {text}", flush=True)

    for name in options.types:
        ratios = [row["ratio"] for row in rows if row["type"] == name]
        worst = min((row for row in rows if row["type"] == name), key=lambda row: row["ratio"])
        if options.regret:
            regrets = sorted(row["regret"] for row in rows if row["type"] == name)
            mean_regret = math.exp(sum(map(math.log, regrets)) / len(regrets))
            print(
                f"{name}: regret, geometric mean {mean_regret:.3f}, p90 {regrets[len(regrets) * 9 // 10]:.2f}, most {regrets[-1]:.2f}"
            )
        print(f"{name}: {spread(ratios)} ({worst['problem']})")
    if options.json:
        ran = {"kind": options.kind, "threads": options.threads, "seed": options.seed, "rows": rows}
        options.json.write_text(json.dumps(ran, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
