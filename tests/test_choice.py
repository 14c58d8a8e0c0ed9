"""Planning: on invented devices, by estimates, by a config, by what was tuned. No GPU needed."""

from __future__ import annotations

import inspect
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cute_py
from cute_py import Candidate, Cpu, CuteError, Device, Epilogue, OperandError, UnsupportedProblemError
from cute_py.machine.devices import ISAS
from headers import ROOT
from problems import draw

sys.path.insert(0, str(ROOT / "benchmarks"))
import choices

RUNS = ROOT / "benchmarks" / "data" / "choices"
INVENTED = Device("invented", copies_arrays=True)
SOURCES = [
    "tests/cpp/programs.cpp",
    *(f"csrc/dispatch/{name}.cpp" for name in ("choose", "emulated", "program", "real_parts", "refusals")),
    *(f"csrc/problem/{name}.cpp" for name in ("box_rules", "folded", "packing", "residues", "traits")),
    "csrc/problem/tensor_box.cpp",
    "csrc/instances/registry.cpp",
    "csrc/kernels/common/packing.cpp",
    "csrc/instances/variants.cpp",
    *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "csrc" / "kernels").glob("*/rules.cpp"))),
]


@pytest.fixture(autouse=True)
def untuned() -> Iterator[None]:
    yield
    cute_py.forget_tuning()


# ---- Programs


@pytest.mark.compiler
def test_random_programs_compute_what_they_should(tmp_path: Path) -> None:
    """20,000 products planned for invented GPUs with the rules of this project, and computed step by step by four loops."""
    program = tmp_path / "programs"
    command = [os.environ.get("CXX", "g++"), "-std=c++17", "-O2", f"-I{ROOT / 'csrc'}"]
    subprocess.run([*command, *(str(ROOT / source) for source in SOURCES), "-o", str(program)], check=True)
    printed = subprocess.run([str(program), "1", "20000"], check=True, capture_output=True, text=True).stdout
    words = printed.splitlines()[0].split()
    counts = {name: int(count) for name, count in itertools.batched(words, 2)} if sys.version_info >= (3, 12) else {
        words[i]: int(words[i + 1]) for i in range(0, len(words), 2)
    }  # fmt: skip
    assert counts["wrong"] == counts["refused"] == 0, printed
    assert counts["planned"] > 15_000
    assert min(counts["splits"], counts["sums"], counts["exchanged"]) > 1000
    assert counts["packs"] > 200
    assert counts["clusters"] > 100
    used = dict(line.split()[1:] for line in printed.splitlines()[1:])
    assert used.keys() == {
        k.kernel
        for k in cute_py.kernels().values()
        if "float32" in k.factors and "emulator" in k.targets and not k.is_step
    }


# What the estimates of a build must not exceed: the geometric mean of the regrets and the worst, of what is chosen among the candidates
# that were measured; and how often one is chosen that was not: an H100 has never run the kernels of 29 November
# (docs/perf/contractions.md). Nobody raises them without a reason in docs/perf-notes.md.
MOST_REGRET = {
    "h100.jsonl": (1.0407, 2.34, 100),
    "h200.jsonl": (1.0379, 1.49, 0),
    "h200_contractions.jsonl": (1.0594, 2.96, 0),
    "xeon_avx512.jsonl": (1.117, 5.64, 0),
    "xeon_avx2.jsonl": (1.09, 4.49, 0),
}


@pytest.mark.parametrize("name", MOST_REGRET)
def test_estimates_choose_as_well_as_when_they_were_measured(name: str) -> None:
    """A few hundred products whose candidates were all measured, see benchmarks/choices.py."""
    facts, records = choices.read(RUNS / name)
    assert len(records) > 400
    kinds = {"contraction"} if "contractions" in name else {"square", "small", "thin", "batch", "contraction"}
    assert {record.product.kind for record in records} == kinds
    found = choices.regrets(records, dict(enumerate(choices.best_of_measured(facts, records))))
    mean, worst, unmeasured = MOST_REGRET[name]
    assert max(found) <= worst
    assert np.exp(np.mean(np.log(found))) <= mean
    chosen = choices.chosen_now(facts, records)
    assert sum(key not in record.us for key, record in zip(chosen, records, strict=True)) <= unmeasured


def test_a_worse_choice_is_a_regret() -> None:
    _, records = choices.read(RUNS / "h200.jsonl")
    worse = {i: max(record.us, key=lambda key: record.us[key]) for i, record in enumerate(records)}
    assert np.exp(np.mean(np.log(choices.regrets(records, worse)))) > 1.5
    assert np.isinf(choices.regrets(records, {0: "sgemm_1_nt_f32 1"})[0])


def test_the_files_of_runs_are_read_as_written(tmp_path: Path) -> None:
    facts, records = choices.read(RUNS / "h200.jsonl")
    choices.write(tmp_path / "runs.jsonl", facts, records)
    assert (tmp_path / "runs.jsonl").read_text() == (RUNS / "h200.jsonl").read_text()


def test_what_is_explained_for_a_gpu_does_not_depend_on_the_build() -> None:
    """Every build plans by all variants, and a call computes with what was chosen."""
    A, B = np.ones((256, 64), np.float16), np.ones((256, 64), np.float16)
    explanation = cute_py.gemm.explain(A, B, device=Device.preset("H100"))
    listed = {candidate.kernel for candidate in explanation.candidates}
    assert {"gemm_sm90_tn_f16_128x256", "gemm_sm90_tn_f16_128x192", "gemm_sm90_tn_f16_64x128"} <= listed
    for candidate in explanation.candidates[:2]:
        np.testing.assert_array_equal(cute_py.gemm(A, B, device=Device.preset("H100"), config=candidate), A @ B.T)


# What a trick is good for on an H200, and what the decision has that takes it.
TRICKS: dict[str, tuple[tuple[int, int, int], str, Callable[[Candidate], bool]]] = {
    "raster": ((8192, 8192, 512), "float16", lambda c: c.raster not in (None, 0)),
    "multicast": ((8192, 8192, 8192), "float16", lambda c: c.cluster in ((2, 1, 1), (1, 2, 1))),
    "split-K in a cluster": ((64, 64, 4096), "float16", lambda c: c.split_k > 1 and c.cluster[2] == c.split_k),
    "split-K by clusters": ((256, 256, 65536), "float16", lambda c: c.split_k > c.cluster[2] > 1),
    "split-K through global memory": ((256, 256, 8192), "float32", lambda c: c.split_k > 1 and c.cluster == (1, 1, 1)),
    "GEMV": ((8192, 1, 8192), "float32", lambda c: c.kernel.startswith("gemm_skinny")),
    "tall and skinny": ((1_000_000, 8, 8), "float32", lambda c: c.kernel.startswith("gemm_tall")),
    "packing": ((2048, 2048, 2047), "float16", lambda c: "A" in c.packed),
}


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_is_taken_where_it_pays(trick: str) -> None:
    """docs/perf-notes.md has what each was measured to bring."""
    (m, n, k), dtype, is_taken = TRICKS[trick]
    one = np.zeros(1, dtype)
    A, B = (np.lib.stride_tricks.as_strided(one, (rows, k), (k * one.itemsize, one.itemsize)) for rows in (m, n))
    assert is_taken(cute_py.gemm.explain(A, B, device=Device.preset("H200")).candidates[0])


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_an_invented_cpu_is_planned_for(isa: str, rng: np.random.Generator) -> None:
    """By the kernels of its instruction set; what this machine can, it computes, with the same bits."""
    A, B = draw(rng, (70, 300)), draw(rng, (90, 300))
    built = {kernel.isa for kernel in cute_py.kernels().values() if kernel.targets == ("cpu",)}
    cpu = Cpu("some", isa=isa, threads=1)
    chosen = cute_py.gemm.explain(A, B, device=cpu).candidates[0].kernel
    assert cute_py.kernels()[chosen].isa == (isa if isa in built else "baseline")
    if isa in built and isa in ISAS[: ISAS.index(Cpu.here().isa) + 1]:
        np.testing.assert_array_equal(cute_py.gemm(A, B, device=cpu), cute_py.gemm(A, B, kernel=f"cpu_{isa}_f32"))
    elif isa in built:
        with pytest.raises(cute_py.UnsupportedProblemError, match="runs on some, and this CPU lacks its instruction"):
            cute_py.gemm(A, B, device=cpu)


def test_every_figure_of_an_invented_device_counts() -> None:
    """What was prepared for one is not taken for another."""
    A = np.ones((600, 600), np.float32)
    slow = {"fma_per_us": 1e3}
    assert "cpu_small" in repr(cute_py.gemm.plan(A, A, device=Cpu("x", isa="baseline", rates=slow)))
    assert "cpu_small" not in repr(cute_py.gemm.plan(A, A, device=Cpu("x", isa="baseline")))
    figures = ({}, {"rates": {"fma_per_us": 1e5}}, {"threads": 7}, {"l3_bytes": 1 << 20})
    us = {sum(c.us for c in cute_py.gemm.explain(A, A, device=Cpu("x", **figure)).candidates) for figure in figures}
    assert len(us) == len(figures)
    B = np.ones((2048, 64), np.float16)
    us = {
        cute_py.gemm.explain(B, B, device=Device("x", **figure)).candidates[0].us
        for figure in ({}, {"launch_us": 5.0}, {"memory_efficiency": 0.4}, {"l2_bytes_per_cycle": 8.0})
    }
    assert len(us) > 2


@pytest.mark.parametrize(("multiprocessors", "splits"), [(1, False), (132, True)])
def test_a_long_k_is_cut_where_there_is_room(multiprocessors: int, splits: bool, rng: np.random.Generator) -> None:
    A, B = draw(rng, (130, 3000), exact=True), draw(rng, (140, 3000), exact=True)
    device = Device("some", multiprocessors=multiprocessors)
    explanation = cute_py.gemm.explain(A, B, device=device)
    assert [step.what for step in explanation.steps] == ["multiply"]
    assert (explanation.workspace_bytes > 0) == splits
    chosen = explanation.candidates[0]
    assert (chosen.split_k > 1) == splits
    np.testing.assert_array_equal(cute_py.gemm(A, B, device=device), A @ B.T)
    np.testing.assert_array_equal(cute_py.gemm(A, B, device="cpu"), A @ B.T)


def test_sums_between_steps_are_placed_apart(rng: np.random.Generator) -> None:
    A, B = draw(rng, (30, 9, 4000), exact=True), draw(rng, (20, 7, 4000), exact=True)
    explanation = cute_py.contract.explain("mak,nbk->mn", A, B, device=INVENTED)
    steps = [step.what for step in explanation.steps]
    assert steps[:2] == ["sum A over its own indices", "sum B over its own indices"]
    assert explanation.workspace_bytes >= 4 * 4000 * (30 + 20)
    np.testing.assert_array_equal(
        cute_py.contract("mak,nbk->mn", A, B, device=INVENTED), np.einsum("mak,nbk->mn", A.astype("f8"), B.astype("f8"))
    )


def test_bits_do_not_depend_on_rows_if_they_must_not(rng: np.random.Generator) -> None:
    A, B = draw(rng, (300, 2000)), draw(rng, (70, 2000))
    for dtype in ("float32", "float16"):
        a, b = A.astype(dtype), B.astype(dtype)
        full = cute_py.gemm(a, b, device=INVENTED, batch_invariant=True)
        for rows in (1, 3, 17, 130):
            few = cute_py.gemm(a[:rows], b, device=INVENTED, batch_invariant=True)
            np.testing.assert_array_equal(few, full[:rows])


# ---- Staging


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64", "int8"])
def test_arrays_are_copied_there_and_back(dtype: str, rng: np.random.Generator) -> None:
    """What lies between the elements stays as it is, and operands are not written to."""
    if not any(dtype in v.factors and "emulator" in v.targets for v in cute_py.kernels().values()):
        pytest.skip(f"this build has no kernel for {dtype}")
    result = "int32" if dtype == "int8" else dtype
    for order, step in itertools.product("CF", (1, 2)):
        memory = [np.full((40 * step, 30), 77, dtype, order=order), np.full((20, 30 * step), 77, dtype, order=order)]
        A, B = memory[0][::step], memory[1][:, ::step]
        A[...], B[...] = draw(rng, A.shape, exact=True), draw(rng, B.shape, exact=True)
        C_memory = np.full((40, 20 * step), 77, result, order=order)
        C = C_memory[:, ::step]
        before = [x.copy() for x in memory]
        cute_py.gemm(A, B, C, device=INVENTED)
        expected = A.astype("c16") @ B.astype("c16").T
        np.testing.assert_array_equal(C.astype("c16"), expected)
        for x, y in zip(memory, before, strict=True):
            np.testing.assert_array_equal(x, y)
        if step > 1:
            assert (C_memory[:, 1::2] == 77).all()


def test_a_result_that_is_added_is_copied_once(rng: np.random.Generator) -> None:
    A, B = draw(rng, (40, 30), exact=True), draw(rng, (20, 30), exact=True)
    C = draw(rng, (40, 20), exact=True)
    bias = draw(rng, (20,), exact=True)
    expected = np.maximum(A @ B.T + 2 * C + bias, 0) + C
    out = cute_py.gemm(A, B, C, beta=2, device=INVENTED, epilogue=Epilogue(bias=bias, activation="relu", residual=C))
    assert out is C
    np.testing.assert_array_equal(C, expected)
    D = np.empty_like(C)
    cute_py.gemm(A, B, C, beta=1, out=D, device=INVENTED)
    np.testing.assert_array_equal(D, A @ B.T + C)


def test_repeated_arrays_are_repeated_there(rng: np.random.Generator) -> None:
    A = np.broadcast_to(draw(rng, (1, 30), exact=True), (40, 30))
    B = np.broadcast_to(draw(rng, (20, 1), exact=True), (20, 30))
    np.testing.assert_array_equal(cute_py.gemm(A, B, device=INVENTED), A @ B.T)


def test_arrays_are_taken_to_lie_on_a_device_that_was_invented(rng: np.random.Generator) -> None:
    """What must be packed depends on the strides that arrays have, not on those of copies."""
    device = Device("invented")
    for line, packed in ((4104, ""), (4097, "AB")):
        A = np.lib.stride_tricks.as_strided(np.zeros(1, np.float16), (4093, 4089), (2 * line, 2))
        explanation = cute_py.gemm.explain(A, A, device=device)
        assert explanation.candidates[0].packed == packed
        assert not explanation.staged
        assert f"A float16 (4093,4089):({line},1)" in str(explanation)
    A, B = draw(rng, (40, 30)), draw(rng, (20, 30))
    np.testing.assert_array_equal(cute_py.gemm(A, B, device=device), cute_py.gemm(A, B, device="emulator"))
    plan = cute_py.gemm.plan(A, B, device=device)
    np.testing.assert_array_equal(plan(A, B), cute_py.gemm(A, B, device="emulator"))


def test_a_plan_does_not_copy_host_arrays(rng: np.random.Generator) -> None:
    A = draw(rng, (4, 5))
    with pytest.raises(OperandError, match="a plan does not copy host arrays to a GPU"):
        cute_py.gemm.plan(A, A, device=INVENTED)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": 3}, "name is a str"),
        ({"multiprocessors": 0}, "multiprocessors is an integer of at least 1"),
        ({"multiprocessors": True}, "multiprocessors is an integer of at least 1"),
        ({"multiprocessors": 2**40}, "multiprocessors is an integer of at least 1"),
        ({"compute_capability": 90}, "compute_capability is a pair of integers"),
        ({"memory_gb_per_s": -1}, "memory_gb_per_s is an integer of at least 1"),
        ({"copies_arrays": 1}, "copies_arrays is True or False"),
    ],
)
def test_devices_that_cannot_be(fields: dict[str, object], message: str) -> None:
    with pytest.raises(OperandError, match=message):
        Device(**{"name": "some", **fields})  # type: ignore[arg-type]


def test_a_device_that_lacks_what_kernels_need(rng: np.random.Generator) -> None:
    A = draw(rng, (40, 50))
    with pytest.raises(OperandError, match="runs on the CPU, not on invented"):
        cute_py.gemm(A, A, kernel="reference", device=INVENTED)
    for value in (3, [INVENTED], object()):
        with pytest.raises(OperandError, match="device"):
            cute_py.gemm(A, A, device=value)  # type: ignore[arg-type]


# ---- Configs and tuning


def test_every_candidate_can_be_forced(rng: np.random.Generator) -> None:
    A, B = draw(rng, (60, 700), exact=True), draw(rng, (50, 700), exact=True)
    explanation = cute_py.gemm.explain(A, B, device="emulator")
    assert {candidate.split_k > 1 for candidate in explanation.candidates} == {False, True}
    for candidate in explanation.candidates:
        forced = cute_py.gemm.explain(A, B, device="emulator", config=candidate)
        assert (forced.chosen, forced.transposed) == (candidate.kernel, candidate.transposed)
        np.testing.assert_array_equal(cute_py.gemm(A, B, device="emulator", config=candidate), A @ B.T)


def test_configs_that_cannot_be(rng: np.random.Generator) -> None:
    A, B = draw(rng, (60, 70), exact=True), draw(rng, (50, 70), exact=True)
    candidate = cute_py.gemm.explain(A, B, kernel="sgemm_sm80", device="emulator").candidates[0]
    with pytest.raises(UnsupportedProblemError, match="next: config=None"):
        cute_py.gemm(A, B, device="emulator", config=candidate._replace(split_k=1000))
    with pytest.raises(OperandError, match="no kernel is called"):
        cute_py.gemm(A, B, device="emulator", config=candidate._replace(kernel="sgemm_9"))
    for value in ("sgemm_1", 3, candidate._replace(split_k=0), object()):
        with pytest.raises(OperandError, match="config is one of the candidates of explain"):
            cute_py.gemm(A, B, device="emulator", config=value)  # type: ignore[arg-type]


def test_what_was_tuned_comes_before_estimates(tmp_path: Path, rng: np.random.Generator) -> None:
    A, B = draw(rng, (20, 130), exact=True), draw(rng, (30, 130), exact=True)
    C = np.full((20, 30), 5, np.float32)
    tuning = cute_py.tune(cute_py.gemm, A, B, C, device="emulator")
    assert not tuning.wrong
    assert (C == 5).all(), "nothing of the caller's is written to"
    assert tuning.regret == dict(tuning.measured)[tuning.estimated] / tuning.measured[0][1]
    assert [us for _, us in tuning.measured] == sorted(us for _, us in tuning.measured)
    explanation = cute_py.gemm.explain(A, B, C, device="emulator")
    assert explanation.tuned
    assert len(explanation.candidates) == len(tuning.measured)
    again = cute_py.tune(cute_py.gemm, A, B, C, device="emulator")
    assert again.estimated == tuning.estimated
    assert len(again.measured) == len(tuning.measured)
    assert (explanation.chosen, explanation.transposed) == (tuning.best.kernel, tuning.best.transposed)
    assert "measured as the best" in str(explanation)
    np.testing.assert_array_equal(cute_py.gemm(A, B, C, device="emulator"), A @ B.T)

    path = cute_py.save_tuning(tmp_path / "tuned.json")
    entry = json.loads(path.read_text())["products"][0]
    assert entry["device"] == "emulator"
    assert "M=(20)" in entry["product"] or "M=(30)" in entry["product"]
    cute_py.forget_tuning()
    assert not cute_py.gemm.explain(A, B, C, device="emulator").tuned
    assert cute_py.load_tuning(path) == 1
    assert cute_py.gemm.explain(A, B, C, device="emulator").tuned
    assert not cute_py.gemm.explain(A, B[1:], C[:, 1:], device="emulator").tuned

    # A kernel that this build lacks is passed over.
    path.write_text(path.read_text().replace(entry["kernel"], "sgemm_sm200"))
    cute_py.forget_tuning()
    cute_py.load_tuning(path)
    assert not cute_py.gemm.explain(A, B, C, device="emulator").tuned
    np.testing.assert_array_equal(cute_py.gemm(A, B, C, device="emulator"), A @ B.T)


TUNED = {
    "epilogue": lambda r: (
        cute_py.gemm, (draw(r, (40, 30)), draw(r, (20, 30))),
        {"epilogue": Epilogue(bias=draw(r, (20,)), activation="gelu", scale=0.5, residual=draw(r, (40, 1)))},
    ),
    "sums that float16 cannot hold": lambda r: (
        cute_py.gemm, (np.full((9, 40), 200, "f2"), np.full((7, 40), 200, "f2")), {"alpha": 0.5},
    ),
    "conjugates": lambda r: (
        cute_py.contract, ("kam,bk->abm", draw(r, (9, 4, 3)) * (1 + 2j), draw(r, (5, 9)) - 1j), {"conj_a": True},
    ),
    "int8": lambda r: (cute_py.matmul, (np.full((3, 8, 16), 3, "i1"), np.full((16, 4), -2, "i1")), {}),
    "an update": lambda r: (
        cute_py.sgemm_tn, (draw(r, (8, 5)), draw(r, (6, 5)), np.asfortranarray(draw(r, (8, 6)))), {"beta": -2},
    ),
    "one number": lambda r: (cute_py.tensordot, (draw(r, (4, 5)), draw(r, (5, 4)), ([0, 1], [1, 0])), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", TUNED)
@pytest.mark.parametrize("device", ["cpu", "emulator"])
def test_a_candidate_that_is_wrong_is_not_taken(
    name: str, device: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    product, arguments, options = TUNED[name](rng)
    before = [np.copy(x) for x in arguments]
    tuning = cute_py.tune(product, *arguments, **options, device=device)
    assert not tuning.wrong
    assert all(np.array_equal(x, y) for x, y in zip(arguments, before, strict=True))

    from cute_py.products import tuning as module

    runner, readings = module._runner, []

    def with_one_wrong(*given: Any) -> Any:
        run, read = runner(*given)

        def spoilt() -> Any:
            result = read()
            readings.append(result)
            if len(readings) == 1:
                first = result[(0,) * result.ndim]
                off = 1 if result.dtype.kind == "i" else abs(result).max() / 50
                result[(0,) * result.ndim] = 0 if np.isinf(first) else first - off
            return result

        return run, spoilt

    monkeypatch.setattr(module, "_runner", with_one_wrong)
    if len(tuning.measured) == 1:
        with pytest.raises(CuteError, match=r"no candidate computes .* as float64 does"):
            cute_py.tune(product, *arguments, **options, device=device)
    else:
        again = cute_py.tune(product, *arguments, **options, device=device)
        assert len(again.wrong) == 1
        assert again.wrong[0] not in [candidate for candidate, _ in again.measured]


def test_what_cannot_be_tuned(rng: np.random.Generator) -> None:
    A = draw(rng, (4, 5))
    for product in (cute_py.einsum, 3, None, np.matmul):
        with pytest.raises(OperandError, match="tune takes a product of two arrays"):
            cute_py.tune(product, A, A)  # type: ignore[arg-type]
    with pytest.raises(OperandError, match="host arrays would be copied to invented"):
        cute_py.tune(cute_py.gemm, A, A, device=INVENTED)
    assert cute_py.tune(cute_py.gemm, A[:0], A).measured


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cute_py_tuning": 2}', '{"cute_py_tuning": 3, "products": []}'])
def test_files_that_are_no_tuning(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    path.write_text(text)
    with pytest.raises(OperandError, match="load_tuning"):
        cute_py.load_tuning(path)


# ---- Products: written once, and called, planned and explained


def products() -> list[str]:
    public = {name: getattr(cute_py, name) for name in cute_py.__all__}
    return [name for name, value in public.items() if hasattr(value, "plan") and not inspect.isclass(value)]


def test_every_product_is_there() -> None:
    blas = [f"{t}gemm_{layout}" for t in "sdczhb" for layout in ("nt", "tn", "nn", "tt")]
    others = {"contract", "einsum", "gemm", "gett", "inner", "matmul", "outer", "permute", "tensordot"}
    assert set(products()) == {*others, *blas}


@pytest.mark.parametrize("name", products())
def test_help_shows_every_argument(name: str) -> None:
    product = getattr(cute_py, name)
    parameters = inspect.signature(product).parameters
    expected = {"kernel", "device", "stream", "out"}
    if name != "permute":
        expected |= {"compute", "epilogue", "batch_invariant", "alpha"}
    assert expected | ({"config"} if name != "einsum" else set()) <= set(parameters)
    assert all(x.kind is not x.VAR_KEYWORD for x in parameters.values())
    assert product.__name__ == name
    assert inspect.isroutine(product)
    import pydoc

    shown = pydoc.plain(pydoc.render_doc(product))
    assert all(argument in shown for argument in expected)
    assert inspect.getdoc(product).splitlines()[0] in shown


@pytest.mark.parametrize(
    "call",
    [
        lambda product: product("mk,nk->mn", np.ones((2, 3), "f4"), np.ones((4, 3), "f4")),
        lambda product: product(np.ones((2, 3), "f4"), np.ones((4, 3), "f4")),
    ],
)
def test_the_three_verbs_take_the_same_arguments(call: object) -> None:
    for name in ("contract", "gemm", "einsum", "inner"):
        product = getattr(cute_py, name)
        try:
            expected = call(product)  # type: ignore[operator]
        except (TypeError, OperandError) as error:
            for verb in (product.plan, product.explain):
                with pytest.raises(type(error), match=re.escape(str(error).splitlines()[0])):
                    call(verb)  # type: ignore[operator]
            continue
        assert call(product.explain).shape if name != "einsum" else call(product.explain).pairs  # type: ignore[operator]
        plan = call(product.plan)  # type: ignore[operator]
        np.testing.assert_array_equal(plan(np.ones((2, 3), "f4"), np.ones((4, 3), "f4")), expected)


def test_unknown_and_missing_arguments_are_named() -> None:
    A = np.ones((2, 3), np.float32)
    for verb in (cute_py.gemm, cute_py.gemm.plan, cute_py.gemm.explain):
        with pytest.raises(TypeError, match=r"gemm\(\) got an unexpected keyword argument 'kernle'"):
            verb(A, A, kernle="auto")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"gemm\(\) missing required argument: 'B'"):
            verb(A)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"gemm\(\) got multiple values for argument 'A'"):
            verb(A, A, A=A)  # type: ignore[misc]
        with pytest.raises(TypeError, match="takes up to 3 positional arguments but 4 were given"):
            verb(A, A, A, A)  # type: ignore[misc]


WRONG = """
import numpy as np
import cute_py

A = np.ones((2, 3), np.float32)
cute_py.gemm(A, A, kernle="sgemm_1")
cute_py.contract.plan(A, A)
cute_py.gemm.explain(A, A, compute="fast")
cute_py.sgemm_nt(A)
cute_py.sgemm_nt.plan(A, A, beta="2")
cute_py.matmul(A, A, beta=1.0)
cute_py.tensordot.explain(A, A, axes="ij")
cute_py.einsum.plan("ij,jk", A, A, conj_a=True)
cute_py.gett(A, A, batch_invariant="yes")
cute_py.contract("ij,kj", A, A, epilogue="relu")
cute_py.tune(cute_py.gemm, A, A, kernle="sgemm_1")
cute_py.gemm.plan(A, A).workspace
"""
RIGHT = """
import numpy as np
import cute_py

A = np.ones((2, 3), np.float32)
cute_py.gemm(A, A, kernel="sgemm_1", batch_invariant=True)
cute_py.contract.plan("ij,kj->ik", A, A, compute="tfloat32")(A, A)
print(cute_py.gemm.explain(A, A, beta=1.0).candidates[0].us)
cute_py.einsum("ij,kj->ik", A, A, compute=np.float64)
cute_py.tune(cute_py.sgemm_nt, A, A).best
"""


def mypy(path: Path) -> str:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(path)]
    return subprocess.run(command, capture_output=True, text=True, cwd=path.parent).stdout


def test_mypy_finds_every_wrong_call(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG)
    found = {int(line) for line in re.findall(r"wrong\.py:(\d+): error", mypy(wrong))}
    expected = {n for n, line in enumerate(WRONG.splitlines(), 1) if line.startswith("cute_py.")}
    assert found == expected
    right = tmp_path / "right.py"
    right.write_text(RIGHT)
    assert mypy(right) == ""


def test_presets() -> None:
    assert Device.preset("h100") == Device.preset("H100") != Device("H100")
    with pytest.raises(OperandError, match="'GTX' is none of H200, H100, A100"):
        Device.preset("GTX")
    A = np.ones((4, 5), np.float32)
    with pytest.raises(
        OperandError, match=r'next: to plan for a GPU that is not here, device=cute_py.Device.preset\("H100"\)'
    ):
        cute_py.gemm.explain(A, A, device="H100")
