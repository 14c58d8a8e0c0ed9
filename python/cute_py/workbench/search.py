"""Trying a space of Configs: each is checked, compiled, judged and measured, the best first."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

from cute_py import units
from cute_py.catalogue.bench import bench
from cute_py.catalogue.kernels import Kernel
from cute_py.errors import CuteError, OperandError
from cute_py.machine.banks import WARP
from cute_py.testing import verify
from cute_py.units.emulator import Progress
from cute_py.workbench.configs import FIELDS, Config, config

__all__ = ["Judged", "Search", "judge", "search"]

_MOST = 256  # Configs of a search


@dataclass(frozen=True)
class Judged:
    """A Config that was tried.

    Attributes
    ----------
    config
        The Config; None if it was refused before anything was compiled.
    fields
        What was replaced.
    error
        Why it was refused, why it did not compile, or what it computes wrongly; None if all checks pass.
    checks
        How many products were compared with float64.
    wavefronts, conflicts
        What a warp-wide instruction at a time costs in shared memory, of one tile and two steps of K, and how much of
        that bank conflicts are. None of a kernel that did not run, and of one whose operands TMA brings.
    us
        Microseconds on the GPU, of the product that was asked for; None without one.
    """

    config: Config | None
    fields: dict[str, Any]
    error: str | None
    checks: int = 0
    wavefronts: int | None = None
    conflicts: int | None = None
    us: float | None = None

    @property
    def each(self) -> float | None:
        """Wavefronts for each 1,000 multiply-adds, which tiles of any size can be compared by."""
        if self.wavefronts is None or self.config is None:
            return None
        m, n, k = self.config.tiler
        return 1000 * self.wavefronts / (m * n * 2 * k)

    @property
    def cost(self) -> tuple[float, ...]:
        """What it is sorted by: whether it is wrong, microseconds, wavefronts for each multiply-add, conflicts."""
        far = float("inf")
        if self.error is not None or self.config is None:
            return (1.0, far, far, far)
        each = far if self.each is None else self.each
        return (0.0, far if self.us is None else self.us, each, far if self.conflicts is None else self.conflicts)

    def __str__(self) -> str:
        what = ", ".join(f"{key}={_short(value)}" for key, value in self.fields.items()) or "nothing replaced"
        if self.error is not None:
            return f"{what}: {self.error.splitlines()[0]}"
        parts = [f"{self.checks} products right"]
        if self.us is not None:
            parts.insert(0, f"{self.us:.1f} us")
        if self.wavefronts is not None:
            parts.append(
                f"{self.wavefronts} wavefronts, {self.conflicts} of them bank conflicts; {self.each:.2f} for 1,000 "
                "multiply-adds"
            )
        return f"{what}: {', '.join(parts)}"


def _short(value: Any) -> str:
    text = str(value).splitlines()[0]
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True)
class Search(Sequence[Judged]):
    """What `search` found, the best first, what was refused or is wrong last."""

    base: str
    found: tuple[Judged, ...]

    def __getitem__(self, index: Any) -> Any:
        return self.found[index]

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Judged]:
        return iter(self.found)

    @property
    def best(self) -> Config:
        """The best Config. Raises OperandError if none is right."""
        first = self.found[0] if self.found else None
        if first is None or first.error is not None or first.config is None:
            raise OperandError(f"search: no Config of {self.base} in this space is right\n  next: print() says why")
        return first.config

    def __str__(self) -> str:
        return "\n".join([f"{self.base}, {len(self.found)} Configs, the best first", *map(str, self.found)])


def judge(config: Config) -> Judged:
    """Compile a Config for the emulator, compare its products with float64, and count its bank conflicts.

    The products are those of `cute_py.testing.verify`, ragged ones among them where the kernel takes them. Raises
    UnitError where it does not compile.

    >>> from cute_py import workbench
    >>> mine = workbench.config("sgemm_sm80_nt_f32", stages=2)
    >>> print(workbench.judge(mine))  # doctest: +SKIP
    stages=2: 4 products right, 3424 wavefronts, 0 of them bank conflicts; 6.53 for 1,000 multiply-adds
    """
    fields = {name: getattr(config, name) for name in config.replaced}
    kernel = config.compile()
    checks = list(verify([kernel.name], ["emulator"]))
    wrong = next((f"{check.problem}: {check.error}" for check in checks if check.error is not None), None)
    wavefronts, conflicts = _counted(kernel) if wrong is None else (None, None)
    return Judged(config, fields, wrong, len(checks), wavefronts, conflicts)


def _counted(kernel: Kernel) -> tuple[int | None, int | None]:
    """Return the wavefronts of shared memory of one tile and two steps of K, and those of conflicts."""
    if kernel.copies_boxes:
        return None, None
    traced = kernel.trace(spaces=("shared",))
    taken = conflicts = 0
    for warp in range(kernel.threads // WARP):
        for step in traced.instructions(warp):
            cost = step.bank_conflicts
            if cost is not None:
                taken += cost.wavefronts
                conflicts += cost.conflicts
    return taken, conflicts


def search(
    base: str,
    space: Mapping[str, Iterable[Any]],
    *,
    target: Literal["emulator", "cuda"] = "emulator",
    problem: tuple[int, int, int] = (4096, 4096, 4096),
    dtype: str | None = None,
    workers: int | None = None,
) -> Search:
    """Try every combination of values for the fields of a variant's Config; return all, the best first.

    Parameters
    ----------
    base
        As of `config`.
    space
        Field -> values to try, such as ``{"tiler": [(128, 128, 16), (64, 64, 16)], "stages": [2, 3]}``. None stands for
        the base's. At most 256 combinations.
    target
        Each is judged in the emulator (`judge`). With ``"cuda"`` each is then compiled by nvcc and timed on the GPU,
        and times decide; in the emulator, wavefronts of shared memory for each multiply-add.
    problem, dtype
        (M, N, K) of the product that is timed, and its type, by default the kernel's own.
    workers
        How many are compiled at a time, by default as many as there are cores.

    Raises OperandError for a field that there is not, or for too many combinations. One that is refused, does not
    compile or computes wrongly is a result, too.
    """
    names, choices = list(space), [list(values) for values in space.values()]
    count = 1
    for values in choices:
        count *= len(values)
    if not 1 <= count <= _MOST:
        raise OperandError(f"search: the space has {count} combinations\n  next: 1 to {_MOST}")
    if target not in ("emulator", "cuda"):
        raise OperandError(f"search: target={target!r}\n  next: 'emulator' or 'cuda'")
    unknown = sorted(set(names) - set(FIELDS))
    if unknown:
        raise OperandError(f"search: there is no field {unknown[0]!r}\n  next: {', '.join(FIELDS)}")
    architectures = units.architectures_here("search") if target == "cuda" else []
    results: list[Judged] = []
    made: list[tuple[Config, dict[str, Any]]] = []
    for chosen in itertools.product(*choices):
        fields = {key: value for key, value in zip(names, chosen, strict=True) if value is not None}
        try:
            made.append((config(base, **fields), fields))
        except CuteError as error:
            results.append(Judged(None, fields, str(error)))
    workers = workers or max(1, len(os.sched_getaffinity(0)))
    with Progress(f"compiling {len(made)} Configs of {base}") as progress, ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(_compiled, x, target, architectures) for x, _ in made]
        for i, ((tried, fields), future) in enumerate(zip(made, futures, strict=True)):
            wrong = future.result()
            progress.say(f"{i + 1} of {len(made)}")
            results.append(Judged(tried, fields, wrong) if wrong else replace(judge(tried), fields=fields))
    if target == "cuda":
        results = [_timed(x, problem, dtype) if x.error is None else x for x in results]
    return Search(base, tuple(sorted(results, key=lambda x: x.cost)))


def _compiled(config: Config, target: str, architectures: Sequence[str]) -> str | None:
    """Compile a Config for the emulator, and for a GPU if that is asked for; return what is wrong with it."""
    try:
        config.compile()
        if target == "cuda":
            config.compile("cuda", architectures=architectures)
    except CuteError as error:
        return str(error)
    return None


def _timed(judged: Judged, problem: tuple[int, int, int], dtype: str | None) -> Judged:
    """Time a Config on the GPU. What it computes there is compared first."""
    assert judged.config is not None
    kernel = judged.config.compile("cuda")
    layout = "nt" if kernel.layout == "any" else kernel.layout
    own = dtype or ("tfloat32" if kernel.compute == "tfloat32" else kernel.factors[-1])
    try:
        (timing,) = bench(problem, dtypes=own, layouts=layout, kernels=kernel.name, device="cuda").timings
    except CuteError as error:
        return replace(judged, error=str(error))
    return replace(judged, us=timing.us, error=timing.refused or None)
