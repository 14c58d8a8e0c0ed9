"""Units: the emulator's kernels are compiled when they are first used, and kept; families of one's own are loaded."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import cute_py
from cute_py import OperandError, UnitError, units
from cute_py.units import compiler
from headers import ROOT

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(compiler.build()["has_emulator"], reason="this build has the emulator's kernels"),
]

# The kernel that compiles the fastest.
FIRST_USE = """
import cute_py, numpy as np
A = np.arange(35, dtype=np.float32).reshape(5, 7)
C = cute_py.permute(A, (1, 0), kernel="permute_b32", device="emulator")
assert (C == A.T).all()
"""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a program with a cache of its own."""

    def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
        own = {**os.environ, "CUTE_PY_CACHE_DIR": str(tmp_path / "cache"), **environment}
        command = [sys.executable, "-c", textwrap.dedent(program)]
        return subprocess.run(command, env=own, capture_output=True, text=True, check=False)

    return run


def units_in(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "units").glob("*"))


def test_a_kernel_is_compiled_once_and_found_again(run: Run, tmp_path: Path) -> None:
    first = run(FIRST_USE)
    assert first.returncode == 0, first.stderr
    assert first.stderr == "cute_py: compiling permute_b32 for the emulator, once\n"
    (unit,) = units_in(tmp_path)
    made = unit.stat().st_mtime_ns
    # The second time nothing is said, and no compiler preprocesses anything: it is asked for its version alone.
    fake = tmp_path / "only-version"
    fake.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec {compiler.emulator_compiler().path} --version\nexit 1\n')
    fake.chmod(0o755)
    second = run(FIRST_USE, CXX=str(fake))
    assert (second.returncode, second.stderr) == (0, "")
    assert units_in(tmp_path) == [unit]
    assert unit.stat().st_mtime_ns >= made


def test_processes_that_start_together_compile_it_once(run: Run, tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda _: run(FIRST_USE), range(3)))
    assert [process.returncode for process in done] == [0, 0, 0], done[0].stderr
    assert len(units_in(tmp_path)) == 1
    assert (tmp_path / "cache" / "log.txt").read_text().count(" s, ") == 1


def test_a_process_that_is_killed_leaves_no_lock_and_no_half_unit(run: Run, tmp_path: Path) -> None:
    program = textwrap.dedent(f"""
        import os, signal, threading
        threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
        {textwrap.indent(FIRST_USE, " " * 8).strip()}
    """)
    assert run(program).returncode == -9
    again = run(FIRST_USE)
    assert again.returncode == 0, again.stderr
    assert [path.suffix for path in units_in(tmp_path)] == [".so"]


def test_a_unit_that_is_damaged_is_made_again(run: Run, tmp_path: Path) -> None:
    assert run(FIRST_USE).returncode == 0
    (unit,) = units_in(tmp_path)
    unit.write_bytes(unit.read_bytes()[:5000])
    again = run(FIRST_USE)
    assert again.returncode == 0, again.stderr
    assert unit.stat().st_size > 5000


def test_without_a_compiler_the_error_says_what_helps(run: Run) -> None:
    done = run(FIRST_USE, CXX="/nowhere/g++", PATH="/nowhere")
    assert done.returncode == 1
    if "g++" not in compiler.build()["compiler"] or not Path(compiler.build()["compiler"]).exists():
        assert "next: install g++; or a wheel that has them, which CUTE_PY_EMULATOR=ON builds" in done.stderr


def test_what_was_compiled_needs_no_compiler(run: Run, tmp_path: Path) -> None:
    """Such as in a container that has the cache alone."""
    assert run(FIRST_USE).returncode == 0
    program = f"from cute_py.units import compiler\ncompiler.first_program = lambda _: None\n{FIRST_USE}"
    assert run(program).returncode == 0
    done = run(program, CUTE_PY_CACHE_DIR=str(tmp_path / "empty"))
    assert "and there is no C++ compiler\n  next: install g++; or a wheel that has them, which" in done.stderr


def test_what_the_compiler_says_is_in_the_error_and_in_the_log(run: Run, tmp_path: Path) -> None:
    fake = tmp_path / "broken"
    fake.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo broken 1.0 && exit 0\necho "error: no space left" >&2\nexit 4\n'
    )
    fake.chmod(0o755)
    done = run(FIRST_USE, CXX=str(fake))
    last = done.stderr.partition("UnitError: ")[2]
    assert last.startswith(f"permute_b32 cannot be compiled: {fake} ended with 4\n  error: no space left\n  next: ")
    assert "-DCUTE_PY_BUILD_SET=2" in (tmp_path / "cache" / "log.txt").read_text()
    assert units_in(tmp_path) == []


def test_a_cache_that_cannot_be_written_is_said(run: Run) -> None:
    done = run(FIRST_USE, CUTE_PY_CACHE_DIR="/dev/null/cache")
    assert "UnitError: compiled kernels cannot be kept" in done.stderr
    assert "next: CUTE_PY_CACHE_DIR=" in done.stderr


def test_the_least_recently_used_units_go(run: Run, tmp_path: Path) -> None:
    program = """
        from cute_py.units import cache
        import os
        for number in range(5):
            made = cache.folder() / f"{number}.part"
            made.write_bytes(b"x" * 400_000)
            os.utime(cache.publish(str(number), made), (1000 + number, 1000 + number))
    """
    assert run(program, CUTE_PY_CACHE_MB="1").returncode == 0
    assert [path.stem for path in units_in(tmp_path)] == ["3", "4"]


def test_an_import_looks_for_no_compiler(run: Run) -> None:
    program = """
        import subprocess
        subprocess.Popen.__init__ = None
        import cute_py, numpy as np
        cute_py.gemm(np.ones((4, 4), np.float32), np.ones((4, 4), np.float32))
    """
    done = run(program)
    assert done.returncode == 0, done.stderr


# ---- Families of one's own


@pytest.fixture
def family(tmp_path: Path) -> Path:
    """A family that is sgemm_1 by another name."""
    folder = tmp_path / "my_gemm"
    shutil.copytree(ROOT / "csrc" / "kernels" / "sgemm_1", folder)
    (folder / "variants_full.hpp").unlink()
    for path in folder.iterdir():
        path.write_text(path.read_text().replace("sgemm_1", "my_gemm").replace("Sgemm1", "MyGemm"))
    return folder


def test_a_family_of_ones_own_is_loaded_and_chosen_from(run: Run, family: Path) -> None:
    program = f"""
        import cute_py.units, numpy as np
        before = len(cute_py.kernels())
        A, B = np.random.rand(70, 30).astype("f"), np.random.rand(50, 30).astype("f")
        unit = cute_py.units.compile_unit({str(family)!r})
        names = cute_py.units.load_unit(unit)
        assert "my_gemm_nested_f32" in names, names
        assert len(cute_py.kernels()) == before + len(names)
        kernel = cute_py.kernels()["my_gemm_nt_f32"]
        assert (kernel.kernel, kernel.targets, kernel.tile) == ("my_gemm", ("emulator",), (128, 128, 8))
        assert kernel.config.thread_layout_c is not None
        C = cute_py.gemm(A, B, kernel="my_gemm", device="emulator")
        np.testing.assert_allclose(C, A @ B.T, rtol=1e-5)
        assert cute_py.gemm.explain(A, B, kernel="my_gemm", device="emulator").chosen.startswith("my_gemm")
        listed = {{c.kernel for c in cute_py.gemm.explain(A, B, device="emulator").candidates}}
        assert "my_gemm_nested_f32" in listed
        assert kernel.trace(128, 128, 8).accesses.size > 0
        assert cute_py.units.load_unit(unit) == names  # the same again changes nothing
        assert len(cute_py.kernels()) == before + len(names)
    """
    done = run(program)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def cpu_family(tmp_path: Path) -> Path:
    """The family for the CPU that docs/adding-a-kernel.md shows."""
    page = (ROOT / "docs" / "adding-a-kernel.md").read_text()
    family, rules = re.findall(r"```cpp\n(.*?)```", page, re.DOTALL)
    folder = tmp_path / "outer"
    folder.mkdir()
    (folder / "family.cpp").write_text(family)
    (folder / "rules.cpp").write_text(rules)
    return folder


def test_a_family_for_the_cpu_is_loaded_and_chosen_from(run: Run, cpu_family: Path) -> None:
    program = f"""
        import cute_py.units, numpy as np
        A, B = np.random.rand(70, 30).astype("f"), np.random.rand(50, 30).astype("f")
        before = len(cute_py.kernels())
        cute_py.gemm(A, B)  # decided without it
        assert "cpu_outer_f32" not in {{c.kernel for c in cute_py.gemm.explain(A, B).candidates}}
        unit = cute_py.units.compile_unit({str(cpu_family)!r})
        assert cute_py.units.load_unit(unit) == ["cpu_outer_f32"]
        assert len(cute_py.kernels()) == before + 1
        kernel = cute_py.kernels()["cpu_outer_f32"]
        assert (kernel.kernel, kernel.targets, kernel.compute) == ("cpu_outer", ("cpu",), "float32")
        expected = np.zeros((70, 50), np.float32)
        for k in range(30):
            expected += A[:, k : k + 1] * B[:, k]
        assert np.array_equal(cute_py.gemm(A, B, kernel="cpu_outer"), expected)
        C = np.ones((70, 50), np.float32)
        cute_py.gemm(A, B, C, alpha=0.5, beta=2, kernel="cpu_outer_f32")
        np.testing.assert_allclose(C, 0.5 * A @ B.T + 2, rtol=1e-5)
        assert cute_py.gemm.explain(A, B, kernel="cpu_outer").chosen == "cpu_outer_f32"
        listed = {{c.kernel: c.us for c in cute_py.gemm.explain(A, B).candidates}}
        assert listed["cpu_outer_f32"] > min(listed.values())
        for X, options in ((A, {{"epilogue": cute_py.Epilogue(activation="relu")}}), (A.astype("d"), {{}})):
            try:
                cute_py.gemm(X, B.astype(X.dtype), kernel="cpu_outer_f32", **options)
            except cute_py.UnsupportedProblemError as error:
                assert "cpu_outer_f32" in str(error), error
            else:
                raise AssertionError(options)
    """
    done = run(program)
    assert done.returncode == 0, done.stderr


def test_what_is_no_unit_is_refused(tmp_path: Path, family: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("no library")
    with pytest.raises(UnitError, match=r"text\.so"):
        units.load_unit(text)
    library = tmp_path / "library.so"
    subprocess.run(["g++", "-shared", "-x", "c++", "-", "-o", str(library)], input="int x;", text=True, check=True)
    with pytest.raises(UnitError, match="no function cute_py_unit"):
        units.load_unit(library)
    old = tmp_path / "old.so"
    source = 'extern "C" unsigned* cute_py_unit() { static unsigned unit[8] = {999}; return unit; }'
    subprocess.run(["g++", "-shared", "-x", "c++", "-", "-o", str(old)], input=source, text=True, check=True)
    with pytest.raises(UnitError, match=r"another version of cute_py\n  next: compile it again"):
        units.load_unit(old)
    (family / "rules.cpp").unlink()
    with pytest.raises(OperandError, match=r"has no rules\.cpp\n  next: a folder like those of csrc/kernels"):
        units.compile_unit(family)


def test_an_error_in_a_family_is_the_compilers(family: Path) -> None:
    (family / "kernel.cuh").write_text("#error this kernel is not done\n")
    with pytest.raises(UnitError, match="this kernel is not done"):
        units.compile_unit(family)


@pytest.fixture
def one_kernel(family: Path) -> Path:
    """The family with one variant, which nvcc compiles in seconds."""
    variants = family / "variants.hpp"
    text, _, rest = variants.read_text().partition("List<")
    row = "Row<MyGemm, Form::nested, NamedNested, kAlways, Types<float>, Layouts<AnyLayout>>"
    variants.write_text(f"{text}List<{row}>;\n{rest.partition(';')[2]}")
    return family


def test_another_unit_with_the_same_names_is_refused(run: Run, one_kernel: Path) -> None:
    """A family that was changed cannot take the place of one that may be in use."""
    program = f"""
        import cute_py.units, pathlib, pytest
        cute_py.units.load_unit(cute_py.units.compile_unit({str(one_kernel)!r}))
        kernel = pathlib.Path({str(one_kernel / "kernel.cuh")!r})
        kernel.write_text(kernel.read_text() + "namespace cute_py {{ inline int changed = 1; }}")
        count = len(cute_py.kernels())
        with pytest.raises(cute_py.UnitError, match=r"there is a kernel my_gemm_nested_f32 already\\n  next: another name"):
            cute_py.units.load_unit(cute_py.units.compile_unit({str(one_kernel)!r}))
        assert len(cute_py.kernels()) == count
    """
    done = run(program)
    assert done.returncode == 0, done.stderr


# ---- For a GPU


def test_a_unit_for_a_gpu_needs_nvcc_and_an_architecture(
    family: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OperandError, match=r"target='cpu'\n  next: 'emulator' or 'cuda' for a folder like this"):
        units.compile_unit(family, target="cpu")
    with pytest.raises(OperandError, match="architectures= are those of GPUs"):
        units.compile_unit(family, architectures=["80"])
    with pytest.raises(OperandError, match=r"there is no architecture 'sm_80'\n  next: such as '80', '90a'"):
        units.compile_unit(family, target="cuda", architectures=["sm_80"])
    if not cute_py.cuda_available():
        with pytest.raises(OperandError, match=r"no GPU here to compile for\n  next: architectures=\['90a'\]"):
            units.compile_unit(family, target="cuda")
    monkeypatch.setattr(compiler, "first_program", lambda _: None)
    with pytest.raises(UnitError, match=r"compiled by nvcc, and there is none\n  next: put that of CUDA 13 on PATH"):
        units.compile_unit(family, target="cuda", architectures=["80"])


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
def test_a_unit_for_a_gpu_is_known_where_there_is_none(run: Run, one_kernel: Path) -> None:
    """nvcc compiles it anywhere; what it is for, and how it is estimated, every build can say."""
    program = f"""
        import cute_py.units, numpy as np
        unit = cute_py.units.compile_unit({str(one_kernel)!r}, target="cuda", architectures=["80", "90a"])
        assert cute_py.units.compile_unit({str(one_kernel)!r}, target="cuda", architectures=["80", "90a"]) == unit
        assert cute_py.units.load_unit(unit) == ["my_gemm_nested_f32"]
        assert cute_py.kernels()["my_gemm_nested_f32"].targets == ("cuda",)
    """
    done = run(program)
    assert done.returncode == 0, done.stderr


@pytest.mark.gpu
def test_a_unit_for_a_gpu_computes_there(run: Run, one_kernel: Path) -> None:
    program = f"""
        import cute_py.units, torch
        cute_py.units.load_unit(cute_py.units.compile_unit({str(one_kernel)!r}, target="cuda"))
        A, B = torch.randn(70, 30, device="cuda"), torch.randn(50, 30, device="cuda")
        C = cute_py.gemm(A, B, kernel="my_gemm")
        assert torch.equal(C, cute_py.gemm(A, B, kernel="sgemm_1_nested_f32"))
        assert (C.double() - A.double() @ B.double().T).abs().max() < 1e-4
    """
    done = run(program)
    assert done.returncode == 0, done.stderr
