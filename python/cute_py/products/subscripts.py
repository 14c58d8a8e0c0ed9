"""Subscripts of contractions, ``"abk,ck->abc"``: read, checked, and made a letter for each mode."""

from __future__ import annotations

import string
from functools import lru_cache

from cute_py.errors import OperandError

LETTERS = string.ascii_letters
# For modes that nobody names, of two operands with up to 64 each.
SYMBOLS = LETTERS + "".join(x for x in map(chr, range(1, 128)) if x not in LETTERS)
_LETTERS = frozenset(LETTERS)


@lru_cache(maxsize=4096)
def parse(function: str, subscripts: str, ranks: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """Return a letter for each mode of each operand and of the result.

    An ellipsis stands for the modes that are not named; its letters are control characters, the last mode "\\x01".
    Without "->", the result has the ellipsis and then, in alphabetical order, the letters that occur once. An ellipsis
    that the result leaves out is summed over, as in PyTorch, JAX and opt_einsum. Raises OperandError for anything that
    is no such text, and for one that does not fit the ranks.
    """

    def refuse(rule: str) -> OperandError:
        return OperandError(f"{function}: subscripts {subscripts!r} {rule}\n  next: write them like 'abk,ck->abc'")

    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    if "->" in output or "-" in output or ">" in output or "-" in inputs or ">" in inputs:
        raise refuse("have a misplaced '-' or '>'")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        if strange := next((x for x in inputs if x not in _LETTERS and x not in ".,"), ""):
            raise refuse(f"have {strange!r}, which is no index and separates nothing: ',' separates operands")
        raise refuse(f"name {len(terms)} operand{'s' * (len(terms) != 1)}, and there are {len(ranks)}")
    if "," in output:
        raise refuse("have a ',' after '->': there is one result")

    labels = []
    widest = 0
    for number, (term, rank) in enumerate(zip(terms, ranks, strict=True), 1):
        named = _named(term)
        if named is None:
            raise refuse(f"have {_strange(term)!r} in operand {number}: indices are letters, and '...' at most once")
        before, dots, after = named
        hidden = rank - len(before) - len(after)
        if hidden < 0 or (hidden > 0 and not dots):
            raise refuse(f"name {len(before) + len(after)} indices of operand {number}, which has rank {rank}")
        labels.append(before + _hidden(hidden) + after)
        if dots:
            widest = max(widest, hidden)

    everything = "".join(labels)
    if not arrow:
        once = sorted(letter for letter in set(everything) & _LETTERS if everything.count(letter) == 1)
        return tuple(labels), _hidden(widest) + "".join(once)
    named = _named(output)
    if named is None:
        raise refuse(f"have {_strange(output)!r} in the result: indices are letters, and '...' at most once")
    before, dots, after = named
    for letter in before + after:
        if letter not in everything:
            raise refuse(f"have index {letter} in the result and in no operand")
        if (before + after).count(letter) > 1:
            raise refuse(f"have index {letter} twice in the result")
    return tuple(labels), before + _hidden(widest if dots else 0) + after


def _named(term: str) -> tuple[str, bool, str] | None:
    """Return the letters before an ellipsis, whether there is one, and those after it; None for anything else."""
    before, dots, after = term.partition("...")
    if any(letter not in _LETTERS for letter in before + after):
        return None
    return before, bool(dots), after


def _strange(term: str) -> str:
    return next((letter for letter in term.replace("...", "", 1) if letter not in _LETTERS), term)


def _hidden(count: int) -> str:
    return "".join(chr(i) for i in range(count, 0, -1))
