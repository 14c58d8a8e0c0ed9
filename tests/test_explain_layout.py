"""The steps that `explain` shows of a layout operation: each is true by itself, and together they are the result."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from cute_py import LayoutError, OperandError, _core, explain
from cute_py import layout as cl
from cute_py.layout import E, Layout

Step = tuple[str, dict[str, Any]]


def outcome(operation: Callable[..., Any], *arguments: Any) -> tuple[Any, str | None]:
    """Return a result, or the text of the refusal."""
    try:
        return operation(*arguments), None
    except LayoutError as refused:
        return None, str(refused)


def random_layout(rng: random.Random, rank: int, strides: list[int]) -> Layout:
    shape = tuple(rng.choice([1, 2, 3, 4, 6]) for _ in range(rank))
    return Layout(shape, tuple(rng.choice(strides) for _ in range(rank)))


def flat(layout: Layout) -> list[tuple[int, int]]:
    modes = cl.flatten(layout)
    pairs = (
        zip(modes.shape, modes.stride, strict=True) if isinstance(modes.shape, tuple) else [(modes.shape, modes.stride)]
    )
    return [(int(s), int(d)) for s, d in pairs]


def pair(mode: Layout) -> tuple[int, int]:
    return int(mode.shape), int(mode.stride)


def check_coalesce(layout: Layout, steps: list[Step], result: Layout | None) -> None:
    modes = flat(layout)
    assert (steps[0][0], pair(steps[0][1]["mode"])) == ("start", modes[-1])
    kept = [modes[-1]]
    rest = iter(reversed(modes[:-1]))
    for kind, v in steps[1:]:
        mode = pair(v["mode"])
        if kind == "alone":
            assert kept == [mode]
            assert mode[0] == 1
            kept = [(1, 0)]
            continue
        assert mode == next(rest)
        if kind == "vanish":
            assert mode[0] == 1
            continue
        assert pair(v["head"]) == kept[0]
        if kind == "give way":
            assert kept[0][0] == 1
            kept = [mode]
        elif kind == "merge":
            assert mode[0] * mode[1] == kept[0][1]
            assert pair(v["result"]) == (mode[0] * kept[0][0], mode[1])
            kept[0] = pair(v["result"])
        else:
            assert (kind, mode[0] * mode[1] == kept[0][1]) == ("stay", False)
            kept.insert(0, mode)
    assert next(rest, None) is None
    assert result is not None
    assert kept == flat(result)


def check_composition(a: Layout, b: Layout, steps: list[Step], result: Layout | None) -> None:
    parts: list[Layout] = []
    digits = step = left = None
    for kind, v in steps:
        made = v.get("result")
        if kind == "mode":
            mode, digits = v["mode"], v["digits"]
            assert [digits(i) for i in range(3 * a.size)] == [a(i) for i in range(3 * a.size)]
            step, left = int(mode.stride), int(mode.shape)
        elif kind == "stay":
            assert (step, pair(made)) == (0, (left, 0))
        elif kind == "scale":
            assert (int(v["step"]), flat(digits)[0][1]) == (step, int(v["by"]))
            assert pair(made) == (left, step * int(v["by"]))
        elif kind == "over":
            extent = int(v["digit"].shape)
            assert int(v["step"]) == step
            assert step == int(v["left"]) * extent
            step = int(v["left"])
        elif kind == "take":
            extent, stride = pair(v["digit"])
            assert (int(v["of"]), int(v["step"])) == (left, step)
            assert pair(made)[1] == step * stride
            assert (pair(made)[0] - 1) * abs(step) < extent
            assert pair(made)[0] in (left, -(-extent // abs(step)))
            assert left % pair(made)[0] == 0
            left //= pair(made)[0]
            step = 1 if step > 0 else -1
        elif kind == "last":
            assert pair(made) == (left, int(v["step"]) * int(v["by"]))
        elif kind == "together":
            parts.append(made)
            if result is not None:
                assert [made(i) for i in range(int(mode.shape))] == [
                    digits(i * int(mode.stride)) for i in range(int(mode.shape))
                ]
        elif kind == "no multiple":
            assert int(v["step"]) % int(v["digit"].shape) != 0
            assert result is None
        elif kind == "no fit":
            assert int(v["of"]) % int(v["fit"]) != 0
            assert int(v["fit"]) == -(-int(v["digit"].shape) // abs(int(v["step"])))
            assert result is None
        else:
            assert (kind, int(v["size"])) == ("check", b.size)
    if result is not None:
        assert (parts[0] if not isinstance(b.shape, tuple) else cl.make_layout(*parts)) == result


def check_complement(layout: Layout, target: Any, steps: list[Step], result: Layout | None) -> None:
    reached, gaps, covered = 1, [], []
    for kind, v in steps:
        if kind == "filtered":
            assert v["layout"] == cl.filter(layout)
        elif kind == "nothing":
            assert v["result"] == result
            gaps = flat(v["result"])
        elif kind == "gap":
            extent, stride = pair(v["mode"])
            steps_below, below = pair(v["result"])
            assert below == reached
            assert steps_below == stride // reached
            assert int(v["reached"]) == extent * stride
            covered.append((stride, extent))
            gaps.append((steps_below, below))
            reached = extent * stride
        elif kind == "above":
            assert int(v["reached"]) == reached
            assert cl.ceil_div(v["target"], reached) == v["rest"] or cl.size(v["rest"]) == cl.size(
                cl.ceil_div(v["target"], reached)
            )
        elif kind == "gaps":
            assert flat(v["layout"])[: len(gaps)] == gaps
            assert cl.coalesce(v["layout"]) == cl.coalesce(result)
        elif kind == "negative":
            assert int(v["mode"].stride) < 0
            assert result is None
        else:
            assert kind == "interleave"
            assert int(v["mode"].stride) < int(v["reached"]) == reached
            assert result is None
    assert covered == sorted(covered)


def test_what_coalesce_notes_is_true() -> None:
    rng = random.Random(1)
    for _ in range(3000):
        layout = random_layout(rng, rng.randint(1, 5), [0, 1, 2, 3, 4, 6, 12, 24, -1])
        steps, result, error = _core.record("coalesce", layout)
        assert error is None
        assert result == cl.coalesce(layout)
        check_coalesce(layout, steps, result)


def test_what_composition_notes_is_true() -> None:
    rng = random.Random(2)
    seen: dict[str, int] = {}
    for _ in range(6000):
        a = random_layout(rng, rng.randint(1, 3), [0, 1, 2, 3, 4, 6, 12, 24])
        b = random_layout(rng, rng.randint(1, 2), [0, 1, 2, 3, 4, 6, -1])
        b = b[0] if b.rank == 1 else b
        steps, result, error = _core.record("composition", a, b)
        assert outcome(cl.composition, a, b) == (result, error)
        check_composition(a, b, steps, result)
        for kind, _ in steps:
            seen[kind] = seen.get(kind, 0) + 1
    kinds = {"mode", "stay", "scale", "over", "take", "last", "together", "no multiple", "no fit", "check"}
    assert {kind for kind, count in seen.items() if count >= 20} == kinds


def test_what_complement_notes_is_true() -> None:
    rng = random.Random(3)
    for _ in range(4000):
        layout = random_layout(rng, rng.randint(1, 3), [0, 1, 2, 3, 4, 6, 12, 24, -1, -2])
        target = rng.choice([24, 48, 100, (4, 8), (2, (3, 5)), None])
        steps, result, error = _core.record("complement", layout, target)
        assert outcome(cl.complement, layout, target) == (result, error)
        if steps:
            check_complement(layout, target, steps, result)


def test_what_divide_and_product_note_is_true() -> None:
    rng = random.Random(4)
    made = 0
    for _ in range(2000):
        layout = random_layout(rng, rng.randint(1, 3), [1, 2, 4, 6, 12, 24])
        tile = Layout(rng.choice([2, 3, 4]), rng.choice([1, 2, 4]))
        steps, result, error = _core.record("logical_divide", layout, tile)
        for _, v in steps:
            assert v["rest"] == cl.complement(v["tile"], v["target"])
            assert v["both"] == cl.make_layout(v["tile"], v["rest"])
            assert cl.size(v["target"]) == layout.size
        if result is not None:
            assert result == cl.logical_divide(layout, tile) == cl.composition(layout, steps[0][1]["both"])
            made += 1
        steps, result, error = _core.record("logical_product", layout, tile)
        if result is not None:
            assert result == cl.logical_product(layout, tile) == cl.make_layout(layout, steps[-1][1]["result"])
            first = steps[0][1]
            assert int(first["reach"]) == int(first["size"]) * int(first["cosize"]) == layout.size * tile.cosize
            assert first["free"] == cl.complement(layout, int(first["reach"]))
            made += 1
        else:
            assert error is not None
    assert made > 1000


def modes_in(text: str) -> Layout:
    pairs = [tuple(map(int, mode.split(":"))) for mode in text.split()]
    return cl.coalesce(Layout(tuple(s for s, _ in pairs), tuple(d for _, d in pairs)))


def test_the_text_of_a_composition_ends_where_its_steps_lead() -> None:
    rng = random.Random(0)
    compared = 0
    for _ in range(3000):
        a = random_layout(rng, rng.randint(1, 3), [0, 1, 2, 3, 4, 6, 12, 24])
        b = Layout(rng.choice([2, 3, 4, 6, 12]), rng.choice([0, 1, 2, 3, 4, 6, -1]))
        text = explain("composition", a, b)
        result, error = outcome(cl.composition, a, b)
        if error:
            assert text.endswith(f"No result. {error}")
            continue
        assert text.endswith(f"Result: {result}")
        together = re.search(r"together (.*)$", text, re.MULTILINE)
        if together:
            compared += 1
            assert modes_in(together[1]) == cl.coalesce(result), text
    assert compared > 500


@pytest.mark.parametrize(
    ("a", "b", "line"),
    [
        ("(2,3,1):(3,0,12)", "4:6", "  together 4:12"),
        ("(10,2):(16,4)", "(5,4):(1,5)", "  together 2:80 2:4"),
        ("(4,6,8):(2,3,5)", "6:4", "  4:2 is stepped over: 4 / 4 = 1 steps of the next mode"),
        ("(6,2):(1,7)", "3:4", "  3 steps of 4 do not fill A's mode 6:1, 2 fit: A does not divide"),
        ("(4,6):(2,3)", "2:6", "  6 is no multiple of the extent 4 of A's mode 4:2: A does not divide"),
        ("(6,2):(1,7)", "(3,2):(2,3)", "The modes of B may carry into one another: A(B(c)) is evaluated and compared."),
        ("(4,(2,3)):(6,(3,1))", "(2,4):(1@1@1,1@0)", "Mode 2:1@1@1 of B: 2 steps of 1 through A's mode (1,1), 3:1"),
        ("8:2", "4:3", "  A has one mode: 4:3 * 2 = 4:6"),
        ("8:2", "4:0", "  a stride of 0 stays where it is: 4:0"),
    ],
)  # fmt: skip
def test_lines_of_compositions(a: str, b: str, line: str) -> None:
    assert line in explain("composition", a, b).splitlines()


def test_lines_of_complements() -> None:
    text = explain("complement", "(3,2):(1,4)", 24)
    assert "  2:4 covers up to 8; 1 whole step of 3 below 4: 1:3, which leaves out 3" in text.splitlines()
    assert text.endswith("Result: 3:8, coalesced from 1:1 1:3 3:8")
    assert (
        "  above: (4,8) / 3, rounded up mode by mode, is 16: 16:3" in explain("complement", "3:1", (4, 8)).splitlines()
    )
    assert "  4:3 starts inside the 4 that are covered so far" in explain("complement", "(4,4):(1,3)", 24).splitlines()
    assert "No result. complement: the stride -1" in explain("complement", "4:-1", 8)


def test_tuples_act_by_modes() -> None:
    assert explain("composition", "(12,(4,8)):(59,(13,1))", (Layout("3:4"), None)).splitlines() == [
        "composition (12,(4,8)):(59,(13,1)) o (3:4,_)",
        "A tuple acts by modes:",
        "  mode 0: 12:59 o 3:4 = 3:236",
        "  mode 1: _ keeps (4,8):(13,1)",
        "",
        "Result: (3,(4,8)):(236,(13,1))",
    ]
    divided = explain("logical_divide", "(9,8)", (3, 2))
    assert "  mode 1: 8:9 by 2 = (2,4):(9,18)" in divided
    refused = explain("logical_divide", "(9,8)", (3, 2, 1))
    assert "No result. logical_divide: the tiler (3,2,1) has more modes than (9,8):(_1,9)" in refused


def test_what_has_no_steps() -> None:
    with pytest.raises(OperandError, match=r"near: composition"):
        explain("compositions", "4", "2")
    with pytest.raises(OperandError, match="takes 2 arguments, not 1"):
        explain("composition", "4")
    with pytest.raises(LayoutError, match="inner layout"):
        explain("coalesce", "Sw<1,1,2> o 0 o (4,8)")
    assert _core.record("size", "4") == ([], None, "size: record: there is no record of size")


@pytest.mark.parametrize(
    "layout", ["(4,8):(8,1)", "(2,4):(1,4)", "(4,2):(2,16)", "(3,7):(7,1)", "6:1", "(2,2,2):(4,0,1)"]
)
@pytest.mark.parametrize("operation", ["right_inverse", "left_inverse"])
def test_inverses(operation: str, layout: str) -> None:
    said = explain(operation, layout)
    assert said.error is None
    assert said.result == getattr(cl, operation)(layout)
    assert said.endswith(f"Result: {said.result}")
    taken = [values["result"] for kind, values in said.steps if "result" in values]
    if operation == "right_inverse":
        assert int(cl.size(said.result)) == math.prod(int(mode.shape) for mode in taken)
    assert repr(said) == str(said)


def test_an_inverse_that_is_none() -> None:
    said = explain("left_inverse", "(4,4):(-1,4)")
    assert said.result is None
    assert said.error is not None
    assert "negative" in said.error


@pytest.mark.parametrize(
    ("operation", "layout", "argument"),
    [
        ("zipped_divide", "(8,12):(12,1)", (4, 3)),
        ("tiled_divide", "(8,12):(12,1)", (4, 3)),
        ("flat_divide", "(9,4)", "<3:3,2>"),
        ("zipped_product", "(2,2):(4,1)", "6:1"),
        ("tiled_product", "(2,2):(4,1)", (2, 3)),
        ("flat_product", "(2,2):(4,1)", (2, 3)),
        ("blocked_product", "(2,5)", "(3,4)"),
        ("raked_product", "(2,5)", "(3,4)"),
    ],
)
def test_what_is_built_on_divide_and_product(operation: str, layout: str, argument: Any) -> None:
    said = explain(operation, layout, argument)
    assert said.result == getattr(cl, operation)(layout, argument)
    assert said.steps
    assert f"First logical_{'divide' if 'divide' in operation else 'product'}, then" in said


def test_what_is_built_may_be_refused() -> None:
    said = explain("raked_product", "4:1", "(3):(1)")
    assert said.result is None
    assert said.error in said
    assert "differ in rank" in said


@pytest.mark.parametrize(
    ("layout", "target"), [("(0,4)", "2"), ("4:1", 2.5), ("6:3", (Layout("2:2"),)), ("(4,8):(1@0,1@1)", (2, 2))]
)
def test_a_complement_that_is_refused_at_once(layout: str, target: Any) -> None:
    refused = explain("complement", layout, target)
    assert refused.startswith("complement of ")
    assert "No result. complement: " in refused


@pytest.mark.parametrize(
    "operation", ["composition", "logical_divide", "zipped_divide", "flat_divide", "logical_product", "flat_product"]
)
def test_a_list_is_a_tuple(operation: str) -> None:
    assert explain(operation, "(4,8)", [2, 2]) == explain(operation, "(4,8)", (2, 2))


def test_digits_of_a_negative_index() -> None:
    steps = explain("idx2crd", -5, (4, 8))
    assert "-5 % 4 = -1, -5 / 4 = -1" in steps
    assert "-1 is left" in steps
    assert steps.result == cl.idx2crd(-5, (4, 8))
    for wrong in (E(0), [1.5], object()):
        with pytest.raises(OperandError, match="idx2crd takes"):
            explain("idx2crd", wrong, (4, 8))
    with pytest.raises(OperandError, match="takes 2 arguments, not 3"):
        explain("idx2crd", 5, (4, 8), (8, 1))


def test_a_function_stands_for_its_name() -> None:
    a, b = Layout("(4,8):(1,4)"), Layout("(2,2)")
    assert explain(cl.composition, a, b) == explain("composition", a, b)
    assert explain(cl.coalesce, a) == explain("coalesce", a)
    for what in (cl.rank, len, None):
        with pytest.raises(OperandError, match="explain: there are no steps for"):
            explain(what, a)


def test_coordinates() -> None:
    for index in range(18):
        said = explain("idx2crd", index, (3, (2, 3)))
        assert said.result == cl.idx2crd(index, (3, (2, 3)))
        assert [values["digit"] for _, values in said.steps] == [index % 3, index // 3 % 2, index // 6]
    said = explain("crd2idx", (1, 5), "(3,(2,3)):(3,(12,1))")
    assert said.result == 17
    assert "1*3 + 1*12 + 2*1" in said
    assert "(1,5) is (1,(1,2))" in said
