"""What `check_law` says: that laws hold, and that it would notice if one did not."""

from __future__ import annotations

from typing import Any

import pytest

from cute_py import Layout, LayoutError, OperandError, make_identity_layout
from cute_py.laws import LAWS, check_law

RIGHT: list[tuple[str, tuple[Any, ...], int]] = [
    ("coalesce", ("(2,(1,6)):(1,(6,2))",), 12),
    ("composition", ("(6,2):(8,2)", "(4,3):(3,1)"), 12),
    ("composition", ("(12,(4,8)):(59,(13,1))", ("3:4", "8:2")), 11),
    ("composition", ("Sw<1,0,1> o _0 o 8:1", "(2,2):(2,1)"), 4),
    ("complement", ("(2,2):(1,6)", 24), 5 + 5 + 1),
    ("right_inverse", ("(4,8):(8,1)",), 32),
    ("left_inverse", ("(3,4):(4,1)",), 12),
    ("logical_divide", ("(4,2,3):(2,1,8)", "4:2"), 24),
    ("zipped_divide", ("(8,12):(12,1)", (4, 3)), 96),
    ("tiled_divide", ("(8,12):(12,1)", (4, 3)), 96),
    ("flat_divide", ("(8,12):(12,1)", (4, 3)), 96),
    ("logical_product", ("(2,2):(4,1)", "6:1"), 24),
    ("zipped_product", ("(2,5):(5,1)", "(3,4):(1,3)"), 120),
    ("tiled_product", ("(2,5):(5,1)", "(3,4):(1,3)"), 120),
    ("flat_product", ("(2,5):(5,1)", "(3,4):(1,3)"), 120),
    ("blocked_product", ("(2,5):(5,1)", "(3,4):(1,3)"), 120),
    ("raked_product", ("(2,5):(5,1)", "(3,4):(1,3)"), 120),
]


@pytest.mark.parametrize(("operation", "arguments", "checked"), RIGHT, ids=lambda value: str(value)[:30])
def test_laws_hold(operation: str, arguments: tuple[Any, ...], checked: int) -> None:
    law = check_law(operation, *arguments)
    assert law.holds
    assert law.checked == checked
    assert str(law).endswith(f"holds at all {checked}")


def test_coordinates_of_other_ranks_are_one_if_zeros_are_all_that_differs() -> None:
    assert check_law("composition", make_identity_layout((4, 8)), "4:1").holds


def test_a_complement_in_a_tuple_and_swizzled_modes() -> None:
    assert check_law("complement", "(2,2):(1,6)", (3, 5)).holds
    with pytest.raises(LayoutError, match=r"by modes of the swizzled .* is not looked at"):
        check_law("logical_product", "Sw<2,0,3> o _0 o (8,8):(8,1)", (4, 3))


def test_every_law_is_tried() -> None:
    assert {operation for operation, *_ in RIGHT} == set(LAWS)


WRONG: list[tuple[str, str, tuple[Any, ...]]] = [
    ("coalesce", "12:2", (Layout("(2,(1,6)):(1,(6,2))"),)),
    ("composition", "(4,3):(24,2)", (Layout("(6,2):(8,2)"), Layout("(4,3):(3,1)"))),
    ("complement", "(3,2):(12,2)", (Layout("(2,2):(1,6)"), 24)),
    ("complement", "(3,2):(1,12)", (Layout("(2,2):(1,6)"), 24)),
    ("complement", "(3,4):(2,12)", (Layout("(2,2):(1,6)"), 24)),
    ("right_inverse", "32:1", (Layout("(4,8):(8,1)"),)),
    ("left_inverse", "12:1", (Layout("(3,4):(4,1)"),)),
    ("logical_divide", "(4,6):(1,4)", (Layout(24), Layout("4:2"))),
    ("zipped_divide", "(12,8):(1,24)", (Layout("(8,12):(12,1)"), (4, 3))),
    ("logical_product", "(4,6):(1,5)", (Layout("(2,2):(4,1)"), Layout("6:1"))),
    ("blocked_product", "(6,20):(1,5)", (Layout("(2,5):(5,1)"), Layout("(3,4):(1,3)"))),
]


@pytest.mark.parametrize(("operation", "wrong", "arguments"), WRONG, ids=lambda value: str(value)[:30])
def test_a_wrong_result_breaks_the_law(operation: str, wrong: str, arguments: tuple[Any, ...]) -> None:
    _, sides = LAWS[operation]
    assert any(left != right for _, left, right in sides(Layout(wrong), *arguments))


def test_what_has_no_law_or_no_result_is_an_error() -> None:
    with pytest.raises(OperandError, match="there is no law of 'zip'; there are: coalesce"):
        check_law("zip", "(2,2)")
    with pytest.raises(OperandError, match="composition does not take 1 arguments"):
        check_law("composition", "(2,2)")
    with pytest.raises(LayoutError, match="65536 at most are looked at"):
        check_law("coalesce", "(1024,1024)")
    with pytest.raises(LayoutError):
        check_law("complement", "4:-1", 8)
