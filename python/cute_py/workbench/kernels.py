"""One kernel of a program, called from Python on arrays."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cute_py import _core
from cute_py.errors import OperandError
from cute_py.workbench.gpu_kernels import LAUNCHER, GpuKernel
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
        stream: Any = None,
    ) -> Run | None:
        """Run the kernel where its arrays are: in the emulator on arrays of the host, or on a GPU.

        `arguments` are those of the kernel: arrays become pointers to their first element, float16 to CuTe's
        ``half_t`` if the source includes CuTe; Python's numbers become int, long long or double, NumPy's keep their
        types; what has ``to_cpp()``, such as a `Layout`, becomes an object of its static type; text is C++ as it is.
        `grid`, `block` and `cluster` are up to three extents, `shared` the bytes of dynamic shared memory.

        Arrays of NumPy, and tensors of PyTorch and others on the host, are copied to the emulated device and back. What
        was found is returned; `order` of threads, its `seed` and `timeout` in seconds are those of `Program.run`.

        Arrays of CuPy, PyTorch and JAX on a GPU are the kernel's own memory there. nvcc compiles the source for that
        GPU, unless the cache has it, and the kernel is launched on `stream`, or without one on the first array's
        library's. None is returned, at once: the launch can be captured in a CUDA graph. A kernel that writes to an
        array that is read-only, such as JAX's, does not compile.

        Raises OperandError for an argument that is none of these, an array with gaps, on the host one that overlaps
        another one in part, or is read-only and was written to; UnitError where the call does not compile, and
        CudaError where the GPU takes no such launch.
        """
        extents = [_extents(name, value) for name, value in (("grid", grid), ("block", block), ("cluster", cluster))]
        if any(_is_on_gpu(argument) for argument in arguments):
            if (order, seed, timeout) != ("forward", 0, None):
                raise OperandError(
                    f"{self.name}: order, seed and timeout are the emulator's\n  next: none of them for arrays on a GPU"
                )
            self._on_gpu(arguments, extents, int(shared), stream)
            return None
        if stream is not None:
            raise OperandError(f"{self.name}: stream= is a GPU's\n  next: arrays on one")
        return self._in_emulator(arguments, extents, int(shared), order, seed, timeout)

    def _in_emulator(
        self, arguments: Sequence[Any], extents: list[tuple[int, ...]], shared: int, order: Any, seed: int, timeout: Any
    ) -> Run:
        arrays: list[np.ndarray] = []
        expressions, words, before, after = [], [], [], []
        for position, given in enumerate(arguments):
            argument = self._on_host(given, position)
            if not isinstance(argument, np.ndarray):
                expression, word = self._number_or_type(argument, position)
                expressions.append(expression)
                words.append(word)
                continue
            kind = self._type_of(argument.dtype.name if argument.dtype.isnative else str(argument.dtype), position)
            expressions.append(_POINTER.format(kind=kind, i=position))
            words.append(0)
            same = next((i for i, other in enumerate(arrays) if _is_same_memory(argument, other)), None)
            if same is not None:
                before.append(f"  a[{position}] = at[{same}];")
                continue
            if any(np.may_share_memory(argument, other) for other in arrays):
                raise OperandError(
                    f"{self.name}: argument {position} overlaps another one in part\n"
                    "  next: pass the array that holds both, and offsets"
                )
            i = len(arrays)
            order_of_memory = self._dense(argument.shape, argument.strides, argument.itemsize, position)
            arrays.append(argument.transpose(order_of_memory))
            before.append(f'  a[{position}] = at[{i}] = load_(folder, "{i}", {argument.nbytes});')
            after.append(f'  store_(folder, "{i}", at[{i}], {argument.nbytes});')
        shapes = [f"dim3({', '.join(map(str, x))})" for x in extents]
        launch = f'::cute_py::workbench::ConfiguredLaunch("{self.name}", {shapes[0]}, {shapes[1]}, {shared}, nullptr, {shapes[2]})'
        call = f"{launch}.with([=](auto const&... x_) {{ {self.name}(x_...); }})({_list(expressions)});"
        main = _MAIN.replace("COUNT", str(len(arguments) + 1)).replace("BEFORE", "\n".join(before))
        main = main.replace("USING", _USING if any(hasattr(x, "to_cpp") for x in arguments) else "")
        main = main.replace("CALL", call).replace("AFTER", "\n".join(after))
        # A name of its own, so that the cache knows the same call again.
        source = self._source() + _WORDS + main
        with tempfile.TemporaryDirectory(prefix="cute_py-") as name:
            folder = Path(name)
            compiled = program(self.module.name, text=source, **self.module.settings)
            for i, array in enumerate(arrays):
                array.tofile(folder / f"{i}.bin")
            result = compiled.run(folder, *words, order=order, seed=seed, capture=True, timeout=timeout)
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

    def _on_gpu(self, arguments: Sequence[Any], extents: list[tuple[int, ...]], shared: int, stream: Any) -> None:
        expressions: list[str] = []
        words: list[int] = []
        held: list[_core.Borrowed] = []
        for position, argument in enumerate(arguments):
            if not hasattr(argument, "__dlpack_device__") or isinstance(argument, np.generic):
                expression, word = self._number_or_type(argument, position)
            else:
                array = _core.borrow(
                    f"argument {position}", argument, stream if stream is not None or not held else held[0].stream
                )
                if array.ordinal < 0 or (held and array.ordinal != held[0].ordinal):
                    raise OperandError(
                        f"{self.name}: argument {position} is on {array.device}, and others are on another device\n"
                        "  next: all arrays on one GPU, or all on the host"
                    )
                if array.conjugated:
                    raise OperandError(f"{self.name}: argument {position} is conjugated\n  next: resolve_conj() of it")
                held.append(array)
                kind = self._type_of(array.dtype, position)
                self._dense(array.shape, array.strides, 1, position)
                expression = _POINTER.format(kind=f"{kind} const" if array.read_only else kind, i=position)
                word = array.address
            expressions.append(expression)
            words.append(word)
        uses_types = any(hasattr(x, "to_cpp") for x in arguments)
        call = f"{self.name}<<<grid, block, shared, stream>>>({_list(expressions)});"
        main = LAUNCHER.replace("USING", _USING if uses_types else "").replace("CALL", call)
        compiled = GpuKernel.of(self.module.name, self._source(), _WORDS + main, held[0].ordinal, self.module.settings)
        on = held[0].stream if stream is None else _core.stream_handle(stream)
        compiled.launch(self.name, words, extents, shared, on, held[0].ordinal)
        if any(array.must_wait for array in held):
            _core.synchronize(held[0].ordinal)

    def _source(self) -> str:
        return f'#define main main_of_the_module_\n#line 1 "{self.module.name}"\n{self.module.text}\n#undef main\n'

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

    def _dense(self, shape: Sequence[int], strides: Sequence[int], step: int, position: int) -> list[int]:
        """Return the modes in the order of memory, the last one contiguous, of an array without gaps."""
        modes = [i for i, extent in enumerate(shape) if extent != 1]
        modes.sort(key=lambda i: -strides[i])
        expected = step
        for i in reversed(modes):
            if strides[i] != expected and 0 not in shape:
                raise OperandError(
                    f"{self.name}: argument {position} is an array with gaps, or one that goes backward\n"
                    "  next: a contiguous copy, or pass its base with strides as arguments"
                )
            expected *= shape[i]
        return [i for i, extent in enumerate(shape) if extent == 1] + modes

    def _type_of(self, dtype: str, position: int) -> str:
        uses_cute = "cute/" in self.module.text or "cutlass/" in self.module.text
        kind = (_OF_CUTE.get(dtype) if uses_cute else None) or _TYPES.get(dtype)
        if kind is None:
            raise OperandError(
                f"{self.name}: argument {position} has the type {dtype}, which no kernel's pointer has here\n"
                f"  next: {', '.join(_TYPES)}"
            )
        return kind

    def _number_or_type(self, argument: Any, position: int) -> tuple[str, int]:
        """Return the C++ expression of an argument that is no array, and the word that it reads its number from."""
        if isinstance(argument, str):
            return argument, 0
        if isinstance(argument, bool | np.bool_):
            return f"a[{position}] != 0", int(argument)
        if isinstance(argument, int):
            if not -(2**63) <= argument < 2**64:
                raise OperandError(f"{self.name}: argument {position} is {argument}\n  next: a number of 64 bits")
            kind = "int" if -(2**31) <= argument < 2**31 else "long long" if argument < 2**63 else "unsigned long long"
            return f"static_cast<{kind}>(a[{position}])", argument & _WORD
        if isinstance(argument, float):
            argument = np.float64(argument)
        if isinstance(argument, np.generic) and not isinstance(argument, np.complexfloating):
            kind = self._type_of(argument.dtype.name, position)
            return f"value_<{kind}>(a[{position}])", int.from_bytes(argument.tobytes(), "little")
        if hasattr(argument, "to_cpp"):
            text = argument.to_cpp()
            if re.search(r"\b(int|int32_t|int64_t|long)\b", text):
                raise OperandError(
                    f"{self.name}: argument {position}, {argument}, has numbers that are not static\n  next: cute_py.Int(n)"
                )
            return f"{text}{{}}", 0
        raise OperandError(
            f"{self.name}: argument {position} is a {type(argument).__name__}\n"
            "  next: an array, a number, what has to_cpp(), or a text with C++"
        )


def _is_on_gpu(argument: Any) -> bool:
    if isinstance(argument, (np.ndarray, np.generic)) or not hasattr(argument, "__dlpack_device__"):
        return False
    try:
        return argument.__dlpack_device__()[0] in _CUDA
    except (BufferError, RuntimeError, TypeError, ValueError):
        return False  # it is told why where its memory is asked for


def _is_same_memory(a: np.ndarray, b: np.ndarray) -> bool:
    return a.nbytes == b.nbytes > 0 and a.ctypes.data == b.ctypes.data


def _list(expressions: Sequence[str]) -> str:
    return ", ".join(expressions)


def _extents(name: str, extents: int | Sequence[int]) -> tuple[int, ...]:
    given = (extents,) if isinstance(extents, int) else tuple(extents)
    if not 1 <= len(given) <= 3 or any(not isinstance(x, int) or x < 1 for x in given):
        raise OperandError(f"{name}={extents!r}\n  next: one to three extents, each at least 1")
    return given


_CUDA = (2, 13)  # DLPack's numbers of a GPU's memory, and of managed memory
_WORD = 2**64 - 1
_POINTER = "reinterpret_cast<{kind}*>(a[{i}])"
_USING = "  using namespace cute;\n"

# Arguments are words of 64 bits, so that a call with other numbers is not compiled again.
_WORDS = """
#line 1 "the call"
template <class T>
static T value_(unsigned long long word) {
  T value;
  memcpy(&value, &word, sizeof(value));
  return value;
}
"""

# What the emulator's program does: arrays come from files, and go to others.
_MAIN = """
static unsigned long long load_(std::string const& folder, char const* name, std::size_t bytes) {
  void* to = nullptr;
  cudaMalloc(&to, bytes == 0 ? 1 : bytes);
  std::string host(bytes, 0);
  if (FILE* file = std::fopen((folder + "/" + name + ".bin").c_str(), "rb")) {
    if (std::fread(host.data(), 1, bytes, file) != bytes) std::abort();
    std::fclose(file);
  }
  cudaMemcpy(to, host.data(), bytes, cudaMemcpyHostToDevice);
  return reinterpret_cast<unsigned long long>(to);
}
static void store_(std::string const& folder, char const* name, unsigned long long from, std::size_t bytes) {
  std::string host(bytes, 0);
  cudaMemcpy(host.data(), reinterpret_cast<void*>(from), bytes, cudaMemcpyDeviceToHost);
  cudaFree(reinterpret_cast<void*>(from));
  if (FILE* file = std::fopen((folder + "/" + name + ".out").c_str(), "wb")) {
    std::fwrite(host.data(), 1, bytes, file);
    std::fclose(file);
  }
}
int main(int, char** argv) {
  std::string const folder = argv[1];
  unsigned long long a[COUNT], at[COUNT];
  for (int i = 0; argv[2 + i] != nullptr; ++i) a[i] = std::strtoull(argv[2 + i], nullptr, 10);
USINGBEFORE
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
