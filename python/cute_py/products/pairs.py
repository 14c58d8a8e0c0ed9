"""Operands of einsums as those need them who compute pairs themselves: views that have each index once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from cute_py.errors import OperandError
from cute_py.products.subscripts import parse

__all__ = ["read"]


def _single(x: Any, letters: str, extents: dict[str, Any]) -> tuple[Any, str]:
    """Return views with each index once: diagonals, and without the modes of one element that others repeat."""
    while len(set(letters)) < len(letters):
        letter = next(x for x in letters if letters.count(x) > 1)
        first = letters.index(letter)
        second = letters.index(letter, first + 1)
        x = x.diagonal(0, first, second)
        letters = letters[:first] + letters[first + 1 : second] + letters[second + 1 :] + letter
    for at in range(len(letters) - 1, -1, -1):
        if x.shape[at] == 1 and extents[letters[at]] != 1:
            x = x.squeeze(at)
            letters = letters[:at] + letters[at + 1 :]
    return x, letters


def _indices(
    name: str, subscripts: str, shapes: tuple[tuple[Any, ...], ...]
) -> tuple[tuple[str, ...], str, dict[str, Any], bool]:
    """Return the indices of each operand, of the result, their extents, and whether each is once in all that
    have it.
    """
    labels, result = parse(name, subscripts, tuple(len(shape) for shape in shapes))
    rule = f"{name}({subscripts!r}) needs one extent for index"
    extents: dict[str, Any] = {}
    is_simple = True
    for number, (letters, shape) in enumerate(zip(labels, shapes, strict=True), 1):
        own: dict[str, Any] = {}
        for letter, extent in zip(letters, shape, strict=True):
            index = letter if letter.isalpha() else "of the ellipsis"
            if letter in own:
                is_simple = False
                if own[letter] != extent:
                    raise OperandError(
                        f"{rule} {index}, got {own[letter]} and {extent} in operand {number}\n  next: check the subscripts "
                        "and the shapes"
                    )
            own[letter] = extent
            known = extents.setdefault(letter, extent)
            if known == extent:
                continue
            is_simple = False
            if known == 1:
                extents[letter] = extent
            elif extent != 1:
                raise OperandError(
                    f"{rule} {index}, got {known} and, in operand {number}, {extent}\n  next: check the subscripts and the "
                    "shapes"
                )
    return labels, result, extents, is_simple


_known_indices = lru_cache(maxsize=1024)(_indices)


def read(name: str, subscripts: str, operands: list[Any]) -> tuple[list[Any], list[str], str]:
    """Return the operands as views that have each index once, with the same extent; their indices; those of
    the result.
    """
    shapes = tuple(x.shape for x in operands)
    try:
        labels, result, extents, is_simple = _known_indices(name, subscripts, shapes)
    except TypeError:  # extents that are symbols have no hash
        labels, result, extents, is_simple = _indices(name, subscripts, shapes)
    if is_simple:
        return operands, list(labels), result
    views = [_single(x, letters, extents) for x, letters in zip(operands, labels, strict=True)]
    return [x for x, _ in views], [letters for _, letters in views], result
