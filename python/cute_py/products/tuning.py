"""`tune`: which of the ways to compute a product is the fastest, found by trying them."""

from __future__ import annotations

import math
import os
import string
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias

import numpy as np

from cute_py import _core
from cute_py._dtypes import DTYPES, NOT_IN_NUMPY
from cute_py._files import write_whole
from cute_py.errors import CuteError, OperandError
from cute_py.products.arrays import empty_result, type_of
from cute_py.products.contraction import contract
from cute_py.products.explanation import Candidate, Explanation
from cute_py.products.product import Product
from cute_py.products.timing import microseconds

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Tuning", "forget_tuning", "load_tuning", "save_tuning", "tune"]

P = ParamSpec("P")
_Array: TypeAlias = np.ndarray[Any, Any]

_VERSION = 2
_MOST_BY_REFERENCE = 1 << 26  # multiply-adds, in a tenth of a second

# In unit roundoffs, by the bits of the mantissa: how far a result may be off, relative to the sum of the sizes of what
# is added.
_ROUNDOFFS = {2: 1.6, 3: 1.6, 7: 5.12, 10: 4.1, 23: 168.0, 52: 900.0}


@dataclass(frozen=True)
class Tuning:
    """What `tune` measured.

    Attributes
    ----------
    device
        The processor.
    product
        The product in words, by which it is known again.
    measured
        (candidate, microseconds), the fastest first.
    wrong
        Candidates whose result was not within rounding of the product in float64; they are never taken.
    estimated
        The candidate that would have been chosen without measuring.
    """

    device: str
    product: str
    measured: tuple[tuple[Candidate, float], ...]
    wrong: tuple[Candidate, ...]
    estimated: Candidate

    @property
    def best(self) -> Candidate:
        """The fastest."""
        return self.measured[0][0]

    @property
    def regret(self) -> float:
        """The time of the estimated candidate over that of the fastest."""
        times = dict(self.measured)
        return times[self.estimated] / self.measured[0][1]

    def __str__(self) -> str:
        lines = [f"{self.device}: {self.product}"]
        lines += [f"  {us:10.2f} us  {candidate}" for candidate, us in self.measured]
        lines += [f"  WRONG          {candidate}" for candidate in self.wrong]
        return "\n".join(lines)


def tune(product: Product[P], /, *arguments: P.args, **options: P.kwargs) -> Tuning:
    """Measure every way to compute ``product(*arguments, **options)``, and take the fastest from now on.

    Each candidate of `explain` runs on these arrays: its result is compared with the product in float64 or complex128
    on the CPU, and then it is timed. Later calls of any product with arrays of the same types, modes and alignments on
    the same device take the fastest. C and `out` are not written to. What was found lasts as long as the process, and
    longer by `save_tuning`. On the host it needs memory for A, B and the result in float64.

    >>> import cute_py, numpy as np
    >>> A = np.ones((40, 30), np.float32)
    >>> found = cute_py.tune(cute_py.gemm, A, A)
    >>> found.best.kernel == cute_py.gemm.explain(A, A).chosen
    True
    >>> cute_py.forget_tuning()

    Raises OperandError for host arrays that would be copied to a GPU and for `einsum`, whose pairs are tuned one by
    one, CuteError if no candidate is right, and what the product raises.
    """
    if not isinstance(product, _core.Product) or product.__name__ == "permute":
        raise OperandError(
            f"tune takes a product of two arrays, such as cute_py.gemm and cute_py.contract, got {product!r}\n"
            "  next: tune(cute_py.gemm, A, B); for einsum, contract with the subscripts of each pair that einsum.explain shows"
        )
    given = {**dict(zip(_names(product, arguments), arguments, strict=False)), **options}
    for name in ("A", "B"):
        if isinstance(given.get(name), _core.PreparedOperand):
            raise OperandError(
                f"tune: {name} is a prepared operand, and what is found is for arrays\n  next: tune with its array, and compute="
            )
    explanation: Explanation = product.explain(*arguments, **options)
    if explanation.tuned:  # anew
        _core.put_tuned(explanation.device, explanation.product, None)
        explanation = product.explain(*arguments, **options)
    if not explanation.candidates:
        product(*arguments, **options)  # raises why
    expected = _expected(given, explanation)
    run, read = _runner(product, given, explanation)
    measured: list[tuple[Candidate, float]] = []
    wrong: list[Candidate] = []
    for candidate in explanation.candidates:
        try:
            call = run(candidate)
        except CuteError:
            continue  # a schedule that cannot be forced
        call()
        if not _agree(read(), *expected):
            wrong.append(candidate)
            continue
        measured.append((candidate, _microseconds(call, explanation)))
    if not measured:
        raise CuteError(f"tune: no candidate computes {explanation.product} as float64 does; please report this")
    measured.sort(key=lambda x: x[1])
    best = measured[0][0]
    _core.put_tuned(explanation.device, explanation.product, best)
    tuning = Tuning(explanation.device, explanation.product, tuple(measured), tuple(wrong), explanation.candidates[0])
    _FOUND[explanation.device, explanation.product] = tuning.best, measured[0][1]
    return tuning


_MOST = (1 << 31) - 1
_PACKED = ("", "A", "B", "AB", "C", "AC", "BC", "ABC")

_FOUND: dict[tuple[str, str], tuple[Candidate, float]] = {}


def save_tuning(path: str | os.PathLike[str]) -> Path:
    """Write what was tuned or loaded so far to a file, one product after the other, in JSON. Return its path."""
    import json
    from pathlib import Path

    entries = [
        {
            "device": device,
            "product": product,
            "kernel": best.kernel,
            "transposed": best.transposed,
            "split_k": best.split_k,
            "cluster": best.cluster,
            "raster": best.raster,
            "packed": best.packed,
            "us": round(us, 3),
        }
        for (device, product), (best, us) in sorted(_FOUND.items(), key=lambda x: x[0])
    ]
    text = json.dumps({"cute_py_tuning": _VERSION, "products": entries}, indent=1)
    place = Path(path)
    write_whole(place, lambda file: file.write((text + "\n").encode()))
    return place


def load_tuning(path: str | os.PathLike[str]) -> int:
    """Take what a file of `save_tuning` says, beside what is known. Return how many products it has.

    What another device was tuned for is kept and not used. A decision that a kernel of this build cannot take is
    ignored when it comes to it. Raises OperandError for a file that is no such file, and OSError for one that cannot be
    read.
    """
    import json
    from pathlib import Path

    content = Path(path).read_bytes()
    try:
        data = json.loads(content.decode("utf-8"))
        if data["cute_py_tuning"] != _VERSION:
            raise OperandError(
                f"load_tuning: {path} is of version {data['cute_py_tuning']}, and this reads {_VERSION}\n  next: tune again, with this version of cute_py"
            )
        entries = [_entry_of(x) for x in data["products"]]
    except OperandError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise OperandError(
            f"load_tuning: {path} is no file of save_tuning ({error!r})\n  next: pass a file that save_tuning wrote, or tune again"
        ) from None
    for device, product, candidate in entries:
        _core.put_tuned(device, product, candidate)
        _FOUND[device, product] = candidate, candidate.us
    return len(entries)


def _entry_of(given: dict[str, Any]) -> tuple[str, str, Candidate]:
    """Return an entry of a tuning file, or raise ValueError, KeyError or TypeError: all are read before one is in
    force.
    """
    texts = {name: given[name] for name in ("device", "product", "kernel", "packed")}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"{name} is no text")
        text.encode("utf-8")  # lone surrogates have no text
    transposed, split_k, us = given["transposed"], given["split_k"], float(given["us"])
    cluster, raster = given["cluster"], given["raster"]
    if texts["packed"] not in _PACKED:
        raise ValueError(f"nothing is packed as {texts['packed']!r}")
    if type(transposed) is not bool or not _is_count(split_k):
        raise ValueError(f"no K is split by {split_k!r}, transposed {transposed!r}")
    if cluster is not None and (type(cluster) is not list or len(cluster) != 3 or not all(map(_is_count, cluster))):
        raise ValueError(f"no cluster is {cluster!r}")
    if raster not in (None, 0) and not _is_count(raster):
        raise ValueError(f"no raster is {raster!r}")
    if not math.isfinite(us):
        raise ValueError(f"nothing takes {us} us")
    candidate = Candidate(
        texts["kernel"],
        transposed,
        split_k,
        0,
        us,
        "measured",
        texts["packed"],
        None if cluster is None else (cluster[0], cluster[1], cluster[2]),
        raster,
    )
    return texts["device"], texts["product"], candidate


def _is_count(x: Any) -> bool:
    return type(x) is int and 1 <= x <= _MOST


def forget_tuning() -> None:
    """Forget everything that was tuned or loaded: choices are by estimates again."""
    _core.clear_tuned()
    _FOUND.clear()


def _runner(
    product: Any, given: dict[str, Any], explanation: Explanation
) -> tuple[Callable[[Candidate], Callable[[], Any]], Callable[[], _Array]]:
    """Return what prepares a call of a candidate, and what reads its result on the host, spoilt before each call."""
    if explanation.staged:
        raise OperandError(
            f"tune: host arrays would be copied to {explanation.device}\n  next: pass arrays on the GPU, or device='emulator'"
        )
    place = given.get("out")
    place = place if place is not None else given.get("C")
    if place is None:
        scratch = empty_result(given["A"], explanation.shape, explanation.order, explanation.dtype)
    else:
        scratch = _like(place)
    call = {name: x for name, x in given.items() if name not in ("config", "kernel", "out")}
    updates = given.get("C") is not None and given.get("out") is None
    if updates:
        call["C"] = scratch
    else:
        call["out"] = scratch

    def spoil() -> None:
        _fill(scratch, given["C"] if updates else None)

    def run(candidate: Candidate) -> Callable[[], Any]:
        plan = product.plan(**call, config=candidate)
        spoil()
        return lambda: plan(call["A"], call["B"], call.get("C"), out=call.get("out"))

    return run, lambda: _on_host(scratch)


def _names(product: Any, arguments: tuple[Any, ...]) -> list[str]:
    return list(product.__signature__.parameters)[: len(arguments)]


def _like(place: Any) -> Any:
    """Return an array with the strides of another, whatever library it is of."""
    if isinstance(place, np.ndarray):
        extent = [(e - 1) * abs(s) for e, s in zip(place.shape, place.strides, strict=True)]
        memory = np.zeros(sum(extent) + place.itemsize + 64, np.uint8)
        start = -memory.ctypes.data % 64 + sum(e for e, s in zip(extent, place.strides, strict=True) if s < 0)
        return np.ndarray(place.shape, place.dtype, memory.data, start, place.strides)
    copy = getattr(place, "clone", None) or place.copy
    return copy()


def _fill(array: Any, source: Any) -> None:
    if source is not None:
        array[...] = source
    elif "int" in str(array.dtype):
        array[...] = 77
    else:
        array[...] = float("nan")


def _on_host(array: Any) -> _Array:
    if hasattr(array, "cpu"):
        array = array.cpu()
        if type_of(array) in NOT_IN_NUMPY:
            array = array.float()
        return np.array(array.numpy())
    return np.array(array.get() if hasattr(array, "get") else array)


def _expected(given: dict[str, Any], explanation: Explanation) -> tuple[_Array, float, float]:
    """Return the product in float64 or complex128, how far rounding may lead away, and the largest number of the
    result.
    """
    A, B = _wide(given["A"]), _wide(given["B"])
    C = None if given.get("C") is None else _wide(given["C"])
    epilogue = given.get("epilogue")
    if epilogue is not None:
        bias, residual = (None if x is None else _wide(x) for x in (epilogue.bias, epilogue.residual))
        epilogue = replace(epilogue, bias=bias, residual=residual, saturate=False)
    same = {name: given[name] for name in ("alpha", "beta", "conj_a", "conj_b") if given.get(name) is not None}
    a, b, d = _lettered(explanation.labels)
    # On a CPU by another kernel than the candidates', as far as that is not too slow.
    work = explanation.m * explanation.n * explanation.k * explanation.l
    other = explanation.target == "cpu" and work <= _MOST_BY_REFERENCE
    where: dict[str, Any] = {"device": "cpu", "kernel": "reference" if other else "auto"}
    expected = np.asarray(contract(f"{a},{b}->{d}", A, B, C, epilogue=epilogue, **same, **where))
    sizes = np.asarray(contract(f"{a},{b}->{d}", np.abs(A), np.abs(B), device="cpu"))
    if "int" in explanation.dtype:
        limits = np.iinfo(explanation.dtype)
        return np.clip(np.rint(expected), limits.min, limits.max), 0.5, np.inf
    row = DTYPES["float16" if explanation.compute == "tfloat32" else explanation.dtype]
    coarse = _ROUNDOFFS[row.mantissa] * row.roundoff
    scale = abs(given.get("alpha", 1)) * sizes.max(initial=0) + np.abs(expected[np.isfinite(expected)]).max(initial=1)
    return expected, coarse * max(1.0, explanation.k**0.5 / 8) * float(scale), DTYPES[explanation.dtype].largest


def _lettered(labels: tuple[str, ...]) -> list[str]:
    letters = {label: string.ascii_letters[i] for i, label in enumerate(dict.fromkeys("".join(labels)))}
    return ["".join(letters[label] for label in group) for group in labels]


def _wide(array: Any) -> _Array:
    values = _on_host(array)
    return values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)


def _agree(result: _Array, expected: _Array, allowed: float, largest: float) -> bool:
    """Whether all numbers are near; what the type of the result cannot hold counts as its largest."""
    if not np.iscomplexobj(expected):
        result, expected = (np.clip(x.astype(np.float64), -largest, largest) for x in (result, expected))
    with np.errstate(invalid="ignore"):
        close = np.abs(result - expected) <= allowed
    return bool(np.all(close | (result == expected) | (np.isnan(result) & np.isnan(expected))))


def _microseconds(call: Callable[[], Any], explanation: Explanation) -> float:
    """Return the median of some repetitions, without the way there and back."""
    ordinal = int(explanation.operands[0].rpartition("cuda:")[2].split()[0]) if explanation.target == "cuda" else None

    def wait() -> None:
        if ordinal is not None:
            _core.synchronize(ordinal)

    return microseconds([call], wait)[0]
