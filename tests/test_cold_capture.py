"""The first call of a process may be in the capture of a CUDA graph: each kernel, each type and each kind of step, one process a case.

What a first call makes for itself (kernels' modules, a pool of memory, the constant one, tensor maps) must neither end the capture nor
be part of it, and PyTorch's random generator is usable afterwards.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import cute_py
from cute_py import Kernel

pytestmark = pytest.mark.gpu

PROGRAM = """
import json, sys
import torch
import cute_py

case = json.loads(sys.argv[1])
torch.manual_seed(0)


def numbers(shape, strides, dtype):
    values = torch.randint(-2, 3, shape)
    if dtype.startswith("complex"):
        values = torch.complex(values.double(), torch.randint(-2, 3, shape).double())
    exact = values.to(torch.complex128 if dtype.startswith("complex") else torch.float64)
    there = torch.empty_strided(shape, strides, dtype=getattr(torch, dtype), device="cuda")
    there.copy_(values.to(getattr(torch, dtype)))
    return exact, there


operands = [numbers(*x) for x in case["operands"]]
if case["function"] == "permute":
    expected = operands[0][0].permute(case["first"])
    arguments = [operands[0][1], case["first"]]
else:
    expected = torch.einsum(case["first"], *[x for x, _ in operands])
    arguments = [case["first"], *[x for _, x in operands]]
out = torch.full(expected.shape, 77, device="cuda").to(getattr(torch, case["result"]))
if case["m_major"]:
    out = out.t().contiguous().t()
torch.cuda.synchronize()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    getattr(cute_py, case["function"])(*arguments, out=out, **case["options"])
for _ in range(2):
    out.fill_(77)
    graph.replay()
    torch.cuda.synchronize()
    wrong = (out.cpu() != expected.to(out.dtype)).sum().item()
    assert wrong == 0, f"{wrong} of {expected.numel()} are wrong"
torch.rand(3, device="cuda")
print("captured")
"""


def _case(
    function: str, first: Any, operands: list[Any], result: str, *, m_major: bool = False, **options: Any
) -> dict[str, Any]:
    return {
        "function": function, "first": first, "operands": operands, "result": result, "m_major": m_major, "options": options,
    }  # fmt: skip


def _matrix(rows: int, columns: int, dtype: str, *, rows_are_unit: bool) -> list[Any]:
    return [[rows, columns], [1, rows] if rows_are_unit else [columns, 1], dtype]


def _of_variant(variant: Kernel) -> dict[str, Any]:
    """A product of two tiles and more in each mode, with the majorness that the variant was made for."""
    if variant.is_step:
        compute = variant.precisions[0]
        stored = variant.factors[-1] if variant.factors[-1] in ("float64", "complex64", "complex128") else "float32"
        options = {"kernel": variant.name if variant.kernel == "gemm_sm90" else "gemm_sm90", "compute": compute}
        operands = [_matrix(rows, 96, stored, rows_are_unit=rows == 160) for rows in (160, 200)]
        return _case("contract", "mk,nk->mn", operands, stored, **options)
    if not variant.multiplies:
        return _case(
            "permute", [1, 0], [[[96, 160], [160, 1], variant.factors[-1]]], variant.factors[-1], kernel=variant.name
        )
    dtype = variant.factors[-1]
    own = {"tfloat32": "float32", "fast_float32": "bfloat16"}.get(variant.compute, variant.compute)
    result = own if own in variant.results else variant.results[-1]
    m, n, k = (2 * extent for extent in variant.tile)
    m, n, k = min(m, variant.most_m or m), min(n, variant.most_n or n), max(k, 64)
    layout = variant.layout if variant.layout in ("nt", "tn", "nn", "tt") else "tn"
    a = _matrix(m, k, dtype, rows_are_unit=layout[0] == "n")
    b = _matrix(n, k, dtype, rows_are_unit=layout[1] == "t")
    options = {"kernel": variant.name, "compute": variant.compute, "out_dtype": None}
    return _case("contract", "mk,nk->mn", [a, b], result, m_major=True, **options)


def _name(variant: Kernel) -> str:
    return f"{variant.kernel}, {variant.factors[-1]} in {variant.compute}"


KERNELS = {
    _name(variant): _of_variant(variant)
    for variant in cute_py.kernels().values()
    if "cuda" in variant.targets and variant.kernel != "gett"
}


def _product(dtype: str, m: int, n: int, k: int, result: str | None = None, **options: Any) -> dict[str, Any]:
    operands = [_matrix(m, k, dtype, rows_are_unit=False), _matrix(n, k, dtype, rows_are_unit=False)]
    return _case("contract", "mk,nk->mn", operands, result or dtype, **options)


PRODUCTS = {
    f"{dtype} {m}x{n}x{k}": _product(dtype, m, n, k)
    for dtype in ("float32", "float64", "complex64", "complex128", "bfloat16", "float16")
    for m, n, k in ((333, 77, 1000), (128, 256, 20_000), (1, 4096, 4096), (512, 512, 512))
}
PRODUCTS["an index summed first"] = _case(
    "contract", "mkx,nk->mn", [[[130, 70, 9], [630, 9, 1], "float32"], [[50, 70], [70, 1], "float32"]], "float32"
)
PRODUCTS["factors that are packed"] = _case(
    "contract", "mk,nk->mn",
    [[[1000, 3001], [3001, 1], "bfloat16"], [[900, 3001], [3001, 1], "bfloat16"]], "bfloat16",
)  # fmt: skip
PRODUCTS["a sum of complex numbers"] = _case("einsum", "ij->i", [[[300, 200], [200, 1], "complex64"]], "complex64")
PRODUCTS["three operands"] = _case(
    "einsum", "ij,jk,kl->il",
    [[[40, 3000], [3000, 1], "float32"], [[3000, 50], [50, 1], "float32"], [[50, 60], [60, 1], "float32"]], "float32",
)  # fmt: skip
PRODUCTS["a permutation"] = _case("permute", [2, 0, 1], [[[64, 96, 80], [7680, 80, 1], "float32"]], "float32")


def capture(case: dict[str, Any]) -> None:
    pytest.importorskip("torch")
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(case)], capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.stdout.strip() == "captured", ended.stderr[-3000:]


@pytest.mark.parametrize("case", PRODUCTS)
def test_the_first_call_of_a_process_is_captured(case: str) -> None:
    capture(PRODUCTS[case])


@pytest.mark.parametrize("case", KERNELS)
def test_the_first_call_of_each_kernel_and_type_is_captured(case: str) -> None:
    capture(KERNELS[case])
