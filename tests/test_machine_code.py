"""What the assembler made of the GPU kernels: which instructions multiply, what is in memory for want of registers, and is a
register read before it can have been set to zero?

ptxas 13.0 sets pairs of registers to zero with CS2R. Where one of them is then overwritten under a condition, it may let the next instruction read
it after the latency of that write, which is shorter. If the condition is false, what was there before is read.

The sums of DMMA.16x8, SM90's multiplication of doubles, arrive after a while. Where ptxas puts some of them aside in a loop that ends with such
multiplications, it may do so before they have arrived.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from cute_py import _core

LINE = re.compile(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:(@!?U?P\w+) )?(\S+) ?(.*?);\s+/\* 0x")
ENCODING = re.compile(r"/\* 0x([0-9a-f]{16}) \*/")
REGISTER = re.compile(r"(?<![UA-Z])R(\d+)")
LEAST_CYCLES = 7  # 5 have been seen to be too few, 7 and more to be enough
LEAST_CYCLES_OF_SUMS = 36  # 16 have been seen to be too few, 36 and more to be enough
REGISTERS_OF_SUMS = 8
LEAVES = ("BRA", "BSYNC", "EXIT", "BSSY", "CALL", "RET")
WRITES_NONE = ("ST", "RED", "BAR", "LDGSTS")


class Instruction(NamedTuple):
    """One of a function, and when others may follow: after so many cycles, and with or without waiting for scoreboards."""

    condition: str | None
    operation: str
    operands: str
    cycles: int
    sets: int  # the scoreboard that it sets; 7: none
    waits_for: int  # a bit for each

    def waits(self, scoreboard: int) -> bool:
        """Does it wait for all who set a scoreboard?"""
        empties = self.operation.startswith("DEPBAR") and re.match(rf"SB{scoreboard}, 0x0\b", self.operands)
        return bool(self.waits_for >> scoreboard & 1 or empties)

    def uses(self, registers: range) -> bool:
        """Does it read or write one of them?"""
        return any(int(number) in registers for number in REGISTER.findall(self.operands))


def functions_of(code: Iterator[str]) -> Iterator[tuple[str, dict[int, Instruction]]]:
    """Yield functions and their instructions by address, from the words of cuobjdump."""
    name, found = "", {}
    for line in code:
        if "Function :" in line:
            yield name, found
            name, found = line.split(":")[1].strip(), {}
        if (match := LINE.match(line)) is None:
            continue
        encoding = ENCODING.search(next(code))
        assert encoding is not None
        control = int(encoding[1], 16) >> 41
        address = int(line.split("/*")[1].split("*/")[0], 16)
        found[address] = Instruction(*match.groups(), max(1, control & 15), control >> 5 & 7, control >> 11 & 63)
    yield name, found


def early_reads(code: Iterator[str]) -> Iterator[str]:
    """Yield what reads a register too early, from the words of cuobjdump: one that is zeroed, and then overwritten under a condition.

    What is zeroed alone is read after 4 to 6 cycles, by instructions that differ in when they read; there ptxas knows the latency.
    """
    for name, instructions in functions_of(code):
        cycle = 0
        zeroed: dict[int, int] = {}  # register -> the cycle of its CS2R, as far as that may still count
        overwritten: set[int] = set()  # of these, those that were written since
        for condition, operation, operands, cycles, *_ in instructions.values():
            first, _, rest = operands.partition(",")
            target = None if operation.startswith(WRITES_NONE) else re.match(r"R(\d+)", first)
            for register in map(int, REGISTER.findall(rest if target else operands)):
                if cycle - zeroed.pop(register, -1000) < LEAST_CYCLES and register in overwritten:
                    yield f"{name}: {operation} {operands.rstrip()}"
            if target:
                is_zero = operation.startswith("CS2R")
                is_pair = "WIDE" in operation or ".64" in operation or (is_zero and ".32" not in operation)
                for register in range(int(target[1]), int(target[1]) + 1 + is_pair):
                    if is_zero:
                        zeroed[register] = cycle
                        overwritten.discard(register)
                    elif condition is None:
                        zeroed.pop(register, None)
                    else:
                        overwritten.add(register)
            cycle += cycles
            if operation.startswith(LEAVES):
                zeroed.clear()
                overwritten.clear()


def early_sums(code: Iterator[str]) -> Iterator[str]:
    """Yield what uses sums of DMMA.16x8 before they have arrived."""
    for name, instructions in functions_of(code):
        addresses = list(instructions)
        places = {address: place for place, address in enumerate(addresses)}
        for place, address in enumerate(addresses):
            product = instructions[address]
            target = re.match(r"R(\d+)", product.operands)
            if not product.operation.startswith("DMMA.16x8") or target is None:
                continue
            sums = range(int(target[1]), int(target[1]) + REGISTERS_OF_SUMS)
            ways = [(place + 1, product.cycles)]
            while ways:
                at, cycle = ways.pop()
                while at < len(addresses) and cycle < LEAST_CYCLES_OF_SUMS:
                    follows = instructions[addresses[at]]
                    if follows.waits(product.sets):
                        break
                    if follows.uses(sums):
                        # The tensor cores take their sums in order.
                        if not follows.operation.startswith("DMMA"):
                            yield f"{name}: {follows.operation} {follows.operands.rstrip()} after {cycle} cycles"
                        break
                    cycle += follows.cycles
                    if follows.operation == "BRA" and (to := re.search(r"0x([0-9a-f]+)", follows.operands)):
                        ways.append((places[int(to[1], 16)], cycle))
                        if follows.condition is None:
                            break
                    at += 1


def test_the_reader_sees_an_early_sum() -> None:
    def code(stall: int, waits_for: int = 0) -> Iterator[str]:
        yield "Function : f"
        words = [
            (0x10, "STL.64 [R1+0x8], R68", 1, waits_for),
            (0x20, "DMMA.16x8x8 R64, R104, R128, R64", stall, 0),
            (0x30, "@!P0 BRA 0x10", 5, 0),
        ]
        for address, text, cycles, waits in words:
            yield f"        /*{address:04x}*/    {text} ;   /* 0x0000000000027805 */"
            yield f"   /* 0x{(cycles | 5 << 5 | waits << 11) << 41:016x} */"

    assert list(early_sums(code(11))) == ["f: STL.64 [R1+0x8], R68 after 16 cycles"]
    assert list(early_sums(code(11, 1 << 5))) == []


def test_the_reader_sees_an_early_read() -> None:
    def instruction(address: int, text: str, stall: int) -> list[str]:
        return [f"        /*{address:04x}*/    {text} ;   /* 0x0000000000027805 */", f"   /* 0x{stall << 41:016x} */"]

    def code(stall: int) -> Iterator[str]:
        yield "Function : f"
        yield from instruction(0x6B80, "CS2R R2, SRZ", 2)
        yield from instruction(0x6B90, "@!P5 IMAD.WIDE.U32 R2, R16, 0x10000, RZ", stall)
        yield from instruction(0x6BA0, "LOP3.LUT R2, R2, 0xffff, R19, 0xf8, !PT", 1)

    assert list(early_reads(code(3))) == ["f: LOP3.LUT R2, R2, 0xffff, R19, 0xf8, !PT"]
    assert list(early_reads(code(8))) == []

    def zeroed_alone() -> Iterator[str]:
        yield "Function : f"
        yield from instruction(0x3D0, "CS2R R6, SRZ", 4)
        yield from instruction(0x3E0, "LDC R8, c[0x0][R7+0x6bc]", 8)

    assert list(early_reads(zeroed_alone())) == []


@pytest.fixture
def cuobjdump() -> str:
    """Find CUDA's program that shows machine code: beside nvcc, or in the wheels, with the disassembler that it calls."""
    places = ["/usr/local/cuda/bin"]
    if spec := importlib.util.find_spec("nvidia"):
        places += [str(path) for place in spec.submodule_search_locations or [] for path in Path(place).glob("cu*/bin")]
    found = shutil.which("cuobjdump", path=os.pathsep.join(places)) or shutil.which("cuobjdump")
    if not _core.built_with_cuda:
        pytest.skip("this build has no GPU kernels")
    if found is None:
        pytest.skip("there is no cuobjdump; pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm brings it")
    return found


# Bytes of a thread's stack, and numbers that a step of K reads from there. Three accumulators of 64 registers are more
# than products of planes can keep all of: those of two planes spill outside of the main loop alone, those of three read two
# numbers back in a step (issue 47).
STACK = 72
SPILLS = {
    "PlaneTileILi128ELi64E": (128, 0),
    "PlaneTileILi128ELi128ELi3ELi2E": (120, 0),
    "PlaneTileILi128ELi128ELi2ELi3E": (216, 2),
}


def allowed(name: str) -> tuple[int, int]:
    """Return how much of the stack a kernel of warpgroups may use, and how often in a step of K."""
    return next((limits for tile, limits in SPILLS.items() if tile in name), (STACK, 0))


def test_kernels_of_warpgroups_keep_what_they_need_in_registers(cuobjdump: str) -> None:
    """The stack of a thread holds modes of nested arrays, found by their numbers. Spilled registers would be more."""
    report = subprocess.run(
        [cuobjdump, "-res-usage", _core.__file__], check=True, capture_output=True, text=True
    ).stdout
    found = re.findall(r"Function (\S*(?:gemm|wgmma|wgmma_tma)_sm90\S*):\s+REG:(\d+) STACK:(\d+)", report)
    if not found:
        pytest.skip("this build is for other architectures")
    assert max(int(registers) for _, registers, _ in found) <= 168  # of 384 threads
    assert [name for name, _, stack in found if int(stack) > allowed(name)[0]] == []


INSTRUCTIONS = {
    "half_t": "HGMMA",
    "bfloat16_t": "HGMMA",
    "tfloat32_t": "HGMMA",
    "float_e4m3_t": "QGMMA",
    "float_e5m2_t": "QGMMA",
    "GemmSm90Ia": "IGMMA",
}


def in_main_loops(instructions: dict[int, Instruction]) -> list[Instruction]:
    """Return what is in the innermost loops around a warpgroup's products."""
    ends = [
        (int(target[1], 16), address)
        for address, x in instructions.items()
        if x.operation.startswith("BRA") and (target := re.search(r"0x([0-9a-f]+)", x.operands))
    ]
    products = [address for address, x in instructions.items() if "GMMA" in x.operation]
    around = [[loop for loop in ends if loop[0] <= product <= loop[1]] for product in products]
    loops = {min(some, key=lambda loop: loop[1] - loop[0]) for some in around if some}
    return [x for address, x in instructions.items() if any(first <= address <= last for first, last in loops)]


def test_kernels_of_warpgroups_multiply_by_their_instruction_and_out_of_registers(cuobjdump: str) -> None:
    """A step of K touches no memory of a thread, which is where ptxas puts registers that it has not got."""
    report = subprocess.run(
        [cuobjdump, "-res-usage", _core.__file__], check=True, capture_output=True, text=True
    ).stdout
    names = re.findall(r"Function (\S*(?:gemm|wgmma|wgmma_tma)_sm90I\S*):", report)
    if not names:
        pytest.skip("this build is for other architectures")
    command = [cuobjdump, "-sass", "-fun", ",".join(names), _core.__file__]
    code = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    functions = {name: found for name, found in functions_of(iter(code.splitlines())) if found}
    assert functions.keys() == set(names)
    for name, instructions in functions.items():
        (factor,) = (factor for factor in INSTRUCTIONS if factor in name)
        loop = in_main_loops(instructions)
        products = [x.operation for x in loop if "GMMA" in x.operation]
        assert products, name
        assert all(operation.startswith(f"{INSTRUCTIONS[factor]}.64x") for operation in products), name
        spilled = [x.operation for x in loop if x.operation.startswith(("LDL", "STL"))]
        assert spilled == ["LDL"] * allowed(name)[1], name


def test_the_reader_sees_a_loop() -> None:
    def x(operation: str, operands: str = "") -> Instruction:
        return Instruction(None, operation, operands, 1, 7, 0)

    code = [
        x("LDL", "R1, [R1]"),
        x("MOV"),
        x("HGMMA.64x64x16.F32", "R24, gdesc[UR8], R24"),
        x("STL", "[R1], R2"),
        x("BRA", "0x10"),
    ]
    instructions = {16 * place: x for place, x in enumerate(code)}
    assert [x.operation[:4] for x in in_main_loops(instructions)] == ["MOV", "HGMM", "STL", "BRA"]


@pytest.mark.gpu
@pytest.mark.parametrize("early", [early_reads, early_sums])
def test_nothing_is_read_too_early(early: Callable[[Iterator[str]], Iterator[str]], cuobjdump: str) -> None:
    with subprocess.Popen([cuobjdump, "-sass", _core.__file__], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = list(early(process.stdout))
    assert process.returncode == 0
    assert not found
