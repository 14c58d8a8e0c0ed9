"""One kernel of a program, called from Python on arrays."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cute_py.errors import OperandError
from cute_py.workbench.programs import Run, program

__all__ = ["Kernel", "Module", "inline", "module"]

_TYPES = {
    "bool": "bool",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
}
_OF_CUTE = {"float16": "cute::half_t", "bfloat16": "cute::bfloat16_t", "complex64": "cute::complex<float>", "complex128": "cute::complex<double>"}  # fmt: skip


@dataclass(frozen=True)
class Module:
    """CUDA source whose kernels are called from Python.

    Attributes
    ----------
    name
        For messages.
    text
        The source.
    settings
        Of `cute_py.workbench.program`: architecture, include, define, flags.
    """

    name: str
    text: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def kernel(self, name: str) -> Kernel:
        """Return a kernel by its name, with template arguments where the call's do not say them: ``"scale<4>"``."""
        bare = name.partition("<")[0].rpartition("::")[2].strip()
        if not bare.isidentifier() or bare not in self.text:
            found = ", ".join(re.findall(r"__global__[^;{]*?(\w+)\s*\(", self.text)) or "a text with a kernel"
            raise OperandError(f"kernel: {self.name} has no {name!r}\n  next: {found}")
        return Kernel(self, name)


@dataclass(frozen=True)
class Kernel:
    """A kernel of a module."""

    module: Module
    name: str

    def __call__(
        self,
        *arguments: Any,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        shared: int = 0,
        cluster: int | Sequence[int] = 1,
        order: Literal["forward", "backward", "random"] = "forward",
        seed: int = 0,
        timeout: float | None = None,
    ) -> Run:
        """Run the kernel in the emulator, and return what was found; arrays have what it wrote.

        `arguments` are those of the kernel: NumPy arrays, and tensors of PyTorch and others on the host, become
        pointers to their elements in C order, float16 to CuTe's ``half_t`` if the source includes CuTe; Python's
        numbers become int, long long or double, NumPy's keep their types; what has ``to_cpp()``, such as a `Layout`,
        becomes an object of its static type; text is C++ as it is. `grid`, `block` and `cluster` are up to three
        extents, `shared` the bytes of dynamic shared memory. An array is copied to the emulated device and back, as it
        would be to a GPU; one that is passed twice is one there, too. Raises OperandError for an argument that is none
        of these, an array that is not contiguous, overlaps another one in part, or is read-only and was written to,
        and UnitError where the call does not compile.
        """
        arrays: list[np.ndarray] = []
        before, expressions, after = [], [], []
        for position, given in enumerate(arguments):
            argument = self._on_host(given, position)
            if isinstance(argument, np.ndarray):
                kind = self._type_of(argument.dtype, position)
                if not argument.flags.c_contiguous:
                    raise OperandError(
                        f"{self.name}: argument {position} is an array that is not contiguous\n"
                        "  next: numpy.ascontiguousarray, or pass its base with strides as arguments"
                    )
                same = next((i for i, other in enumerate(arrays) if _is_same_memory(argument, other)), None)
                if same is not None:
                    expressions.append(f"reinterpret_cast<{kind}*>(a{same})")
                    continue
                if any(np.may_share_memory(argument, other) for other in arrays):
                    raise OperandError(
                        f"{self.name}: argument {position} overlaps another one in part\n"
                        "  next: pass the array that holds both, and offsets"
                    )
                i = len(arrays)
                arrays.append(argument)
                before.append(f'  {kind}* a{i} = load_<{kind}>(folder, "{i}", {argument.nbytes});')
                after.append(f'  store_(folder, "{i}", a{i}, {argument.nbytes});')
                expressions.append(f"a{i}")
            else:
                expressions.append(self._expression(argument, position))
        extents = [_dim3(name, value) for name, value in (("grid", grid), ("block", block), ("cluster", cluster))]
        launch = f'::cute_py::workbench::ConfiguredLaunch("{self.name}", {extents[0]}, {extents[1]}, {int(shared)}, nullptr, {extents[2]})'
        call = f"{launch}.with([=](auto const&... x_) {{ {self.name}(x_...); }})({', '.join(expressions)});"
        if any(hasattr(argument, "to_cpp") for argument in arguments):
            before.append("  using namespace cute;")
        main = _MAIN.replace("BEFORE", "\n".join(before)).replace("CALL", call).replace("AFTER", "\n".join(after))
        with tempfile.TemporaryDirectory(prefix="cute_py-") as name:
            folder = Path(name)
            # A name of its own, so that the cache knows the same call again.
            source = (
                f'#define main main_of_the_module_\n#line 1 "{self.module.name}"\n{self.module.text}\n#undef main\n'
            )
            compiled = program(self.module.name, text=source + main, **self.module.settings)
            for i, array in enumerate(arrays):
                array.tofile(folder / f"{i}.bin")
            result = compiled.run(folder, order=order, seed=seed, capture=True, timeout=timeout)
            for i, array in enumerate(arrays):
                made = folder / f"{i}.out"
                if not made.exists():
                    continue
                found = np.fromfile(made, array.dtype).reshape(array.shape)
                if array.flags.writeable:
                    array[...] = found
                elif found.tobytes() != array.tobytes():
                    raise OperandError(f"{self.name}: wrote to an array that is read-only\n  next: a copy of it")
        return result

    def _on_host(self, argument: Any, position: int) -> Any:
        """Return the memory of another library's array as one of NumPy."""
        if isinstance(argument, (np.ndarray, np.generic)) or not hasattr(argument, "__dlpack__"):
            return argument
        try:
            return np.from_dlpack(argument)
        except (BufferError, RuntimeError, TypeError) as error:
            raise OperandError(
                f"{self.name}: argument {position} is no array on the host that NumPy can see: {error}\n"
                "  next: a copy of it there, as by .cpu(), or numpy.asarray of it"
            ) from None

    def _type_of(self, dtype: np.dtype[Any], position: int) -> str:
        uses_cute = "cute/" in self.module.text or "cutlass/" in self.module.text
        kind = (_OF_CUTE.get(dtype.name) if uses_cute else None) or _TYPES.get(dtype.name)
        if kind is None or not dtype.isnative:
            raise OperandError(
                f"{self.name}: argument {position} has the type {dtype}, which no kernel's pointer has here\n"
                f"  next: {', '.join(_TYPES)}"
            )
        return kind

    def _expression(self, argument: Any, position: int) -> str:
        if isinstance(argument, str):
            return argument
        if isinstance(argument, bool | np.bool_):
            return "true" if argument else "false"
        if isinstance(argument, int):
            return str(argument) if -(2**31) < argument < 2**31 else f"{argument}ll"
        if isinstance(argument, float):
            return _number(argument)
        if isinstance(argument, np.generic):
            kind = self._type_of(argument.dtype, position)
            number = argument.item()
            return f"static_cast<{kind}>({_number(number) if isinstance(number, float) else number})"
        if hasattr(argument, "to_cpp"):
            text = argument.to_cpp()
            if re.search(r"\b(int|int32_t|int64_t|long)\b", text):
                raise OperandError(
                    f"{self.name}: argument {position}, {argument}, has numbers that are not static\n  next: cute_py.Int(n)"
                )
            return f"{text}{{}}"
        raise OperandError(
            f"{self.name}: argument {position} is a {type(argument).__name__}\n"
            "  next: a NumPy array, a number, what has to_cpp(), or a text with C++"
        )


def _is_same_memory(a: np.ndarray, b: np.ndarray) -> bool:
    return a.nbytes == b.nbytes > 0 and a.ctypes.data == b.ctypes.data


def _number(value: float) -> str:
    if value != value:
        return "double(NAN)"
    if value in (float("inf"), float("-inf")):
        return "double(INFINITY)" if value > 0 else "-double(INFINITY)"
    return value.hex()


def _dim3(name: str, extents: int | Sequence[int]) -> str:
    given = (extents,) if isinstance(extents, int) else tuple(extents)
    if not 1 <= len(given) <= 3 or any(not isinstance(x, int) or x < 1 for x in given):
        raise OperandError(f"{name}={extents!r}\n  next: one to three extents, each at least 1")
    return f"dim3({', '.join(map(str, given))})"


# What the generated program does: arrays come from files, and go to others.
_MAIN = """
#line 1 "the call"
template <class T>
static T* load_(std::string const& folder, char const* name, std::size_t bytes) {
  T* to = nullptr;
  cudaMalloc(&to, bytes == 0 ? 1 : bytes);
  std::string host(bytes, 0);
  if (FILE* file = std::fopen((folder + "/" + name + ".bin").c_str(), "rb")) {
    if (std::fread(host.data(), 1, bytes, file) != bytes) std::abort();
    std::fclose(file);
  }
  cudaMemcpy(to, host.data(), bytes, cudaMemcpyHostToDevice);
  return to;
}
static void store_(std::string const& folder, char const* name, void* from, std::size_t bytes) {
  std::string host(bytes, 0);
  cudaMemcpy(host.data(), from, bytes, cudaMemcpyDeviceToHost);
  cudaFree(from);
  if (FILE* file = std::fopen((folder + "/" + name + ".out").c_str(), "wb")) {
    std::fwrite(host.data(), 1, bytes, file);
    std::fclose(file);
  }
}
int main(int, char** argv) {
  std::string const folder = argv[1];
BEFORE
  CALL
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
AFTER
  return 0;
}
"""


def inline(text: str, **settings: Any) -> Module:
    """Return CUDA source typed in Python, whose kernels can be called.

    `settings` are those of `cute_py.workbench.program`: architecture, include, define, flags.

    >>> from cute_py import workbench
    >>> scale = workbench.inline("__global__ void scale(float* x, float a) { x[threadIdx.x] *= a; }").kernel("scale")
    """
    return Module("<inline>", text, settings)


def module(file: Any, **settings: Any) -> Module:
    """Return a file of CUDA source, whose kernels can be called; its ``main`` is not. `settings`: as for `inline`."""
    path = Path(file).resolve()
    if not path.is_file():
        raise OperandError(f"module: there is no file {path}\n  next: the path of a file with CUDA source")
    include = (path.parent, *settings.pop("include", ()))
    return Module(str(path), path.read_text(), {**settings, "include": include})
