"""Bank conflicts against a count in plain Python, and the search for a swizzle."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest

import cute_py.layout as cl
from cute_py import LayoutError, OperandError, bank_conflicts, bank_map, best_swizzle
from cute_py.atoms import value_type
from cute_py.layout import Layout
from cute_py.machine.banks import wavefronts


def count(addresses: list[int], width: int) -> int:
    """The busiest bank of each part of a warp: the model without shared vectors."""
    part = 32 // max(width // 4, 1)
    total = 0
    for first in range(0, len(addresses), part):
        banks = defaultdict(set)
        for address in addresses[first : first + part]:
            for byte in range(address, address + width):
                banks[byte // 4 % 32].add(byte // 4)
        total += max(len(words) for words in banks.values())
    return total


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_wavefronts(width: int, rng: np.random.Generator) -> None:
    for _ in range(200):
        where = (width * rng.integers(0, 4096 // width, 32)).tolist()
        cost = wavefronts(where, width, is_write=True)
        assert cost.wavefronts == count(where, width)
        assert cost.ideal <= cost.wavefronts
        assert cost.parts == max(width // 4, 1)


def test_lanes_that_share_vectors_in_pairs_are_served_together() -> None:
    lanes = np.arange(32)
    for bit, parts in ((1, 2), (2, 2), (4, 4)):
        shared = np.unique(lanes & ~bit, return_inverse=True)[1]
        assert wavefronts(16 * shared, 16).wavefronts == parts
        assert wavefronts(16 * shared, 16, is_write=True).wavefronts == 4


@pytest.mark.parametrize(("stride", "expected"), [(1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (16, 16), (32, 32), (33, 1)])
def test_strided_columns(stride: int, expected: int) -> None:
    cost = bank_conflicts(Layout(2048), Layout((32, 1), (stride, 0)), "float")
    assert (cost.wavefronts, cost.conflicts) == (expected, expected - 1)


def test_a_swizzle_is_found_for_the_textbook_tile() -> None:
    tile = Layout("(_64,_64):(_64,_1)")
    write = Layout("((_8,_16),(_8,_4)):((_512,_1),(_64,_16))")
    read = Layout("(_32,(_8,_2,_8)):(_1,(_64,_32,_512))")
    choice = best_swizzle(tile, "half_t", write, read, write_vector=8, read_vector=8)
    assert str(choice.layout) == "Sw<3,3,3> o _0 o (_64,_64):(_64,_1)"
    assert choice.write.conflicts == choice.read.conflicts == 0
    assert choice.read == bank_conflicts(choice.layout, read, "half_t", vector=8)
    plain = next(c for c in choice.candidates if c[0].bits == 0)
    assert plain[2] == bank_conflicts(tile, read, "half_t", vector=8).wavefronts > choice.read.wavefronts
    assert list(choice.candidates) == sorted(choice.candidates, key=lambda c: c[1] + c[2])


def test_a_tile_that_needs_no_swizzle_gets_none() -> None:
    threads = Layout((32, 1), (1, 0))
    choice = best_swizzle(Layout(32), "float", threads, threads)
    assert choice.swizzle.bits == 0
    assert choice.layout == Layout(32)


def test_bad_input() -> None:
    tile, tv = Layout((32, 32)), Layout((32, 4))
    for call, error, message in [
        (lambda: wavefronts([0], 3), OperandError, "width must be"),
        (lambda: wavefronts([2], 4), OperandError, "no multiple"),
        (lambda: wavefronts(range(0, 132, 4), 4), OperandError, "33"),
        (lambda: wavefronts([], 4), OperandError, "1 to 32"),
        (lambda: bank_conflicts(tile, Layout(32), "float"), LayoutError, "rank 1"),
        (lambda: bank_conflicts(tile, tv, "float", vector=3), LayoutError, "do not divide"),
        (lambda: bank_conflicts(tile, tv, "float", vector=2), LayoutError, "not contiguous"),
        (lambda: bank_conflicts(tile, Layout((32, 64)), "float"), LayoutError, "does not have"),
        (lambda: bank_conflicts(tile, 3.5, "float"), LayoutError, "tv must be a Layout"),
        (lambda: bank_conflicts(tile, tv, "nonsense"), OperandError, "value_type"),
        (
            lambda: best_swizzle(cl.composition(cl.Swizzle(1, 0, 1), tile), "float", tv, tv),
            LayoutError,
            "swizzled already",
        ),
    ]:
        with pytest.raises(error, match=message):
            call()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(("banks", "word", "group"), [(32, 4, 32), (64, 4, 64), (32, 8, 16), (16, 4, 8)])
@pytest.mark.parametrize("dtype", ["float", "half_t", "double"])
def test_a_map_of_banks_by_hand(dtype: str, banks: int, word: int, group: int) -> None:
    smem, tv = Layout("(64,8):(8,1)"), Layout("(64,4):(1,64)")
    bits = value_type(dtype).bits
    found = bank_map(smem, tv, dtype, banks=banks, word=word, group=group)
    assert len(found.groups) == 64 // group
    for number, (threads, words) in enumerate(zip(found.groups, found.words, strict=True)):
        expected: dict[int, set[tuple[int, int]]] = {}
        distinct: dict[int, set[int]] = {}
        for t, v in itertools.product(range(number * group, (number + 1) * group), range(4)):
            first = smem(tv(t, v)) * bits
            for bit in range(first, first + bits):
                expected.setdefault(bit // 8 // word % banks, set()).add((t, v))
                distinct.setdefault(bit // 8 // word % banks, set()).add(bit // 8 // word)
        assert {bank: set(who) for bank, who in threads.items()} == expected
        assert words == {bank: len(which) for bank, which in distinct.items()}
    assert found.depth == max(max(words.values()) for words in found.words)
    assert str(found).startswith(f"{len(found.groups)} groups, at most {found.depth} words")


def test_maps_of_banks_that_cannot_be() -> None:
    with pytest.raises(OperandError, match="banks must be an integer, 1 or more"):
        bank_map("64", "(32,1)", "float", banks=0)
    with pytest.raises(LayoutError, match=r"maps \(thread, value\)"):
        bank_map("64", "32", "float")
    with pytest.raises(LayoutError, match="does not have"):
        bank_map("16", "(32,1)", "float")
    with pytest.raises(LayoutError, match="threads' values, 4194304 are looked at"):
        bank_map("1024", "(32,100000000):(1,0)", "float")
    with pytest.raises(LayoutError, match="gives coordinates"):
        bank_map(cl.make_identity_layout((8, 8)), "(32,1)", "float")
    with pytest.raises(LayoutError, match="beyond what shared memory could hold"):
        bank_map("2:1000000000000000", "(2,1):(1,0)", "float")
    with pytest.raises(OperandError, match="vector must be an integer"):
        bank_conflicts("64", "(32,1)", "float", vector="a")  # type: ignore[arg-type]


def test_nothing_has_no_conflicts() -> None:
    assert bank_conflicts("1024", "(0,1):(1,0)", "float").wavefronts == 0
    assert bank_map("1024", "(0,1):(1,0)", "float").depth == 0
    assert "group 0: nothing" in str(bank_map("1024", "(32,0):(1,0)", "float"))


def test_a_tile_is_looked_at_where_threads_go() -> None:
    assert bank_map("1099511627776", "(32,1):(1,0)", "float").depth == 1
