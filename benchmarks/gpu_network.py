"""A slice of a random quantum circuit's tensor network, contracted pair by pair: cute_py against torch.einsum.

    python benchmarks/gpu_network.py make circuit_5x6x14.json --rows 5 --columns 6 --depth 14 --most 27
    python benchmarks/gpu_network.py run circuit_5x6x14.json [--modes complex64 fast_complex64] [--pairs 10]

`make` draws a circuit like Google's Sycamore experiment: on a grid of qubits, layers of random single-qubit gates and of fSim gates on every
fourth pattern of neighbours. quimb makes an amplitude's network of it, cotengra finds the order of contractions and slices indices until no
intermediate has more than 2**MOST elements. The file has the pairs, each an equation and the shapes of its operands: modes of extent 2, up to
30 of them. `run` contracts one slice of random numbers with both libraries, compares the results, and times them as CUDA graphs in turns;
`--pairs` lists the longest. `run` needs PyTorch with CUDA; `make` needs quimb and cotengra.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def circuit(rows: int, columns: int, depth: int, seed: int) -> Any:
    """Return a quimb circuit."""
    import numpy as np
    import quimb.tensor as qtn

    rng = np.random.default_rng(seed)
    made = qtn.Circuit(rows * columns)

    def layer_of_one() -> None:
        for qubit in range(rows * columns):
            made.apply_gate("U3", *rng.uniform(0, 2 * np.pi, 3), qubit)

    def neighbours(pattern: int) -> list[tuple[int, int]]:
        # Two patterns of vertical pairs and two of horizontal ones, alternating like the bricks of a wall.
        found = []
        for row in range(rows):
            for column in range(columns):
                if (row + column) % 2 != pattern % 2:
                    continue
                if pattern < 2 and row + 1 < rows:
                    found.append((row * columns + column, (row + 1) * columns + column))
                if pattern >= 2 and column + 1 < columns:
                    found.append((row * columns + column, row * columns + column + 1))
        return found

    for number in range(depth):
        layer_of_one()
        for pair in neighbours((0, 2, 1, 3, 2, 0, 3, 1)[number % 8]):
            made.apply_gate("FSIM", np.pi / 2, np.pi / 6, *pair)
    layer_of_one()
    return made


def make(options: argparse.Namespace) -> int:
    import cotengra

    made = circuit(options.rows, options.columns, options.depth, options.seed)
    network = made.amplitude_tn("0" * (options.rows * options.columns))
    network.full_simplify_(output_inds=())
    tree = network.contraction_tree(
        cotengra.HyperOptimizer(
            max_repeats=options.repeats,
            slicing_reconf_opts={"target_size": 2**options.most},
            progbar=False,
            parallel=False,
        ),
        output_inds=(),
    )
    tree.sort_contraction_indices()  # so that modes that stay, and those that are summed over, lie side by side
    pairs = []
    for parent, left, right in tree.traverse():
        of_left, of_right, of_parent = (list(tree.get_inds(node)) for node in (left, right, parent))
        letters = {index: number for number, index in enumerate(dict.fromkeys(of_left + of_right))}
        pairs.append(
            {
                "left": [letters[x] for x in of_left],
                "right": [letters[x] for x in of_right],
                "out": [letters[x] for x in of_parent],
                "extents": [tree.size_dict[x] for x in letters],
                "nodes": [left, right, parent],
            }
        )
    found = {
        "circuit": f"{options.rows}x{options.columns}, depth {options.depth}, seed {options.seed}",
        "slices": tree.multiplicity,
        "flops_of_slice": 8 * tree.contraction_cost() / tree.multiplicity,
        "pairs": pairs,
    }
    options.file.write_text(json.dumps(found, separators=(",", ":")) + "\n")
    largest = max(len(pair["out"]) for pair in pairs)
    print(
        f"{len(pairs)} pairs, at most {largest} modes, {tree.multiplicity} slices, {found['flops_of_slice']:.3g} flops each"
    )
    return 0


def equation_of(pair: dict[str, Any]) -> str:
    def letter(number: int) -> str:
        return chr(ord("a") + number) if number < 26 else chr(ord("A") + number - 26)

    left, right, out = ("".join(map(letter, pair[name])) for name in ("left", "right", "out"))
    return f"{left},{right}->{out}"


def run(options: argparse.Namespace) -> int:
    import torch
    from gpu_random import times_of

    import cute_py

    found = json.loads(options.file.read_text())
    torch.manual_seed(0)

    def shape(pair: dict[str, Any], name: str) -> list[int]:
        return [pair["extents"][x] for x in pair[name]]

    # Tensors of the network are random; a result has a place, which the pairs that take it read.
    tensors: dict[int, torch.Tensor] = {}
    steps = []
    for pair in found["pairs"]:
        left, right, out = pair["nodes"]
        for name, node in (("left", left), ("right", right)):
            if node not in tensors:
                tensors[node] = torch.randn(shape(pair, name), device="cuda", dtype=torch.complex64) / 2
        tensors[out] = torch.empty(shape(pair, "out"), device="cuda", dtype=torch.complex64)
        steps.append((equation_of(pair), left, right, out))

    def theirs() -> Any:
        results = dict(tensors)
        for equation, left, right, out in steps:
            results[out] = torch.einsum(equation, results[left], results[right])
        return results[steps[-1][3]]

    def ours(mode: str) -> Any:
        for equation, left, right, out in steps:
            cute_py.contract(equation, tensors[left], tensors[right], tensors[out], compute=mode)
        return tensors[steps[-1][3]]

    expected = theirs().clone()
    torch.cuda.synchronize()
    print(f"{found['circuit']}: {len(steps)} pairs, {found['flops_of_slice']:.3g} flops")
    for mode in options.modes:
        got = ours(mode)
        error = ((got - expected).abs() / expected.abs()).max().item()
        us, peer_us = times_of([lambda mode=mode: ours(mode), theirs])[""]
        tflops = found["flops_of_slice"] / us / 1e6
        print(
            f"{mode:16} {us / 1e3:8.2f} ms, {tflops:5.1f} TFLOP/s; torch.einsum {peer_us / 1e3:8.2f} ms, "
            f"{peer_us / us:5.2f} times; results differ by {error:.1e}",
            flush=True,
        )
        if not error < 1e-3:
            return 1
    times = []
    for equation, *nodes in steps:
        left, right, out = (tensors[node] for node in nodes)
        if max(left.numel(), right.numel(), out.numel()) < 1 << 16:
            continue
        pair_us = times_of(
            [
                lambda x=(equation, left, right, out): cute_py.contract(*x, compute=options.modes[-1]),
                lambda x=(equation, left, right): torch.einsum(*x),
            ]
        )[""]
        times.append((pair_us[0], pair_us[1], equation))
    for us, peer_us, equation in sorted(times, reverse=True)[: options.pairs]:
        print(f"  {us:9.1f} us, torch.einsum {peer_us:9.1f}: {equation}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    kinds = parser.add_subparsers(required=True)
    of_make = kinds.add_parser("make", help="a file with the pairs of a slice")
    of_make.add_argument("file", type=Path)
    for name, default in (("rows", 5), ("columns", 6), ("depth", 14), ("most", 27), ("repeats", 32), ("seed", 0)):
        of_make.add_argument(f"--{name}", type=int, default=default)
    of_make.set_defaults(call=make)
    of_run = kinds.add_parser("run", help="contract a slice with both libraries")
    of_run.add_argument("file", type=Path)
    of_run.add_argument("--modes", nargs="+", default=["complex64", "fast_complex64"])
    of_run.add_argument("--pairs", type=int, default=0)
    of_run.set_defaults(call=run)
    options = parser.parse_args()
    return int(options.call(options))


if __name__ == "__main__":
    sys.exit(main())
