"""What the assembler made of the GPU kernels: is a register read before it can have been set to zero?

ptxas 13.0 sets pairs of registers to zero with CS2R. Where one of them is then overwritten under a condition, it may let the next instruction read
it after the latency of that write, which is shorter. If the condition is false, what was there before is read.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from cute_py import _core

LINE = re.compile(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:(@!?U?P\w+) )?(\S+) ?(.*?);\s+/\* 0x")
ENCODING = re.compile(r"/\* 0x([0-9a-f]{16}) \*/")
REGISTER = re.compile(r"(?<![UA-Z])R(\d+)")
LEAST_CYCLES = 7  # 5 have been seen to be too few, 7 and more to be enough
LEAVES = ("BRA", "BSYNC", "EXIT", "BSSY", "CALL", "RET")
WRITES_NONE = ("ST", "RED", "BAR", "LDGSTS")


def early_reads(code: Iterator[str]) -> Iterator[str]:
    """Yield what reads a register too early, from the words of cuobjdump."""
    function, cycle = "", 0
    zeroed: dict[int, int] = {}  # register -> the cycle of its CS2R, as far as that may still count
    for line in code:
        if "Function :" in line:
            function, cycle = line.split(":")[1].strip(), 0
            zeroed.clear()
        if (found := LINE.match(line)) is None:
            continue
        condition, operation, operands = found.groups()
        encoding = ENCODING.search(next(code))
        assert encoding is not None
        first, _, rest = operands.partition(",")
        target = None if operation.startswith(WRITES_NONE) else re.match(r"R(\d+)", first)
        for register in map(int, REGISTER.findall(rest if target else operands)):
            if cycle - zeroed.pop(register, -1000) < LEAST_CYCLES:
                yield f"{function}: {operation} {operands.rstrip()}"
        if target:
            is_zero = operation.startswith("CS2R")
            is_pair = "WIDE" in operation or ".64" in operation or (is_zero and ".32" not in operation)
            for register in range(int(target[1]), int(target[1]) + 1 + is_pair):
                if is_zero:
                    zeroed[register] = cycle
                elif condition is None:
                    zeroed.pop(register, None)
        cycle += max(1, int(encoding[1], 16) >> 41 & 15)
        if operation.startswith(LEAVES):
            zeroed.clear()


def test_the_reader_sees_an_early_read() -> None:
    def instruction(text: str, stall: int) -> list[str]:
        return [f"        /*6b80*/    {text} ;   /* 0x0000000000027805 */", f"   /* 0x{stall << 41:016x} */"]

    def code(stall: int) -> Iterator[str]:
        yield "Function : f"
        yield from instruction("CS2R R2, SRZ", 2)
        yield from instruction("@!P5 IMAD.WIDE.U32 R2, R16, 0x10000, RZ", stall)
        yield from instruction("LOP3.LUT R2, R2, 0xffff, R19, 0xf8, !PT", 1)

    assert list(early_reads(code(3))) == ["f: LOP3.LUT R2, R2, 0xffff, R19, 0xf8, !PT"]
    assert list(early_reads(code(8))) == []


@pytest.mark.gpu
def test_no_register_is_read_before_it_is_zero() -> None:
    cuobjdump = shutil.which("cuobjdump", path="/usr/local/cuda/bin") or shutil.which("cuobjdump")
    if cuobjdump is None:
        pytest.skip("there is no cuobjdump")
    with subprocess.Popen([cuobjdump, "-sass", _core.__file__], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = list(early_reads(process.stdout))
    assert process.returncode == 0
    assert not found
