"""Formulas that fill a transition matrix, one cell at a time, from the frequencies of its categories.

Marés (2013), section 4.2: one formula serves every attribute of a table. Its terms are the number of records N, the
largest and the least frequency of a category, and those of the true category i and the published one j.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from microveil.errors import ParameterError, nearest_name, shortened
from microveil.numerics.evolution.trees import Grammar, Tree, evaluate
from microveil.typing import FloatArray

TERMS = ("N", "freq_max", "freq_min", "freq_i", "freq_j")
LeastFrequency = Literal["literal", "positive"]
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2}
_ATOM = 3  # what binds a term, or something in parentheses
_SYMBOL = re.compile(r"\s*(\d+(?:\.\d+)?|[^\W\d]\w*|\S)")
_LONGEST = 1000  # terms and signs
_LEAST_DIVISOR = 1e-9
_LARGEST_CELL = 1e30


def grammar_of(levels: int) -> Grammar:
    """The formulas of at most so many levels that can evolve."""
    return Grammar(dict.fromkeys(_PRECEDENCE, 2), TERMS, levels)


# --- a formula as text ------------------------------------------------------------------------------------------------


def parsed(text: str) -> Tree:
    """The tree of a formula that is written with + - * / and parentheses; numbers can stand in it, too.

    >>> parsed("freq_j * freq_min / (N - freq_i)")
    ('freq_j', 'freq_min', '*', 'N', 'freq_i', '-', '/')
    """
    symbols = _SYMBOL.findall(text)
    if len(symbols) > _LONGEST:
        raise ParameterError(f"the formula has {len(symbols):,} terms and signs, and {_LONGEST:,} are allowed")
    tree: list[str] = []
    waiting: list[str] = []  # signs and open parentheses
    complete = False  # whether a sign can follow
    for symbol in symbols:
        if not complete and symbol == "(":
            waiting.append(symbol)
        elif not complete:
            tree.append(_term(symbol))
            complete = True
        elif symbol == ")":
            tree += _taken(waiting, 0)
            if not waiting:
                raise ParameterError("the formula closes a parenthesis that is not open")
            waiting.pop()
        elif symbol in _PRECEDENCE:
            tree += _taken(waiting, _PRECEDENCE[symbol])
            waiting.append(symbol)
            complete = False
        else:
            raise ParameterError(f"the formula has '{shortened(symbol)}' where +, -, * or / is expected")
    if not complete:
        raise ParameterError("the formula ends where a term is expected" if symbols else "the formula is empty")
    tree += _taken(waiting, 0)
    if waiting:
        raise ParameterError("the formula opens a parenthesis that is not closed")
    return tuple(tree)


def _term(symbol: str) -> str:
    if symbol in TERMS or symbol[0].isdecimal():
        return symbol
    if symbol[0].isalpha():
        raise ParameterError(f"a formula has no term '{shortened(symbol)}'{nearest_name(symbol, list(TERMS))}")
    raise ParameterError(f"the formula has '{symbol}' where a term such as freq_j is expected")


def _taken(waiting: list[str], precedence: int) -> list[str]:
    """The signs that bind at least as much, last in first out, up to an open parenthesis."""
    taken = []
    while waiting and waiting[-1] != "(" and _PRECEDENCE[waiting[-1]] >= precedence:
        taken.append(waiting.pop())
    return taken


def readable(tree: Tree) -> str:
    """A formula with no more parentheses than it needs to be read back as the same tree.

    >>> readable(("freq_j", "freq_min", "*", "N", "freq_i", "-", "/"))
    'freq_j * freq_min / (N - freq_i)'
    """

    def joined(sign: str) -> Callable[[tuple[str, int], tuple[str, int]], tuple[str, int]]:
        own = _PRECEDENCE[sign]

        def written(left: tuple[str, int], right: tuple[str, int]) -> tuple[str, int]:
            first = left[0] if left[1] >= own else f"({left[0]})"
            second = right[0] if right[1] > own else f"({right[0]})"
            return f"{first} {sign} {second}", own

        return written

    text: str = evaluate(tree, {sign: joined(sign) for sign in _PRECEDENCE}, {term: (term, _ATOM) for term in tree})[0]
    return text


def canonical(tree: Tree) -> str:
    """A text that two formulas share if they differ in the order of what is added or multiplied alone.

    >>> canonical(parsed("N + freq_i * freq_j")) == canonical(parsed("freq_j * freq_i + N"))
    True
    """

    def joined(sign: str) -> Callable[[str, str], str]:
        def written(left: str, right: str) -> str:
            first, second = sorted((left, right)) if sign in "+*" else (left, right)
            return f"({first}{sign}{second})"

        return written

    text: str = evaluate(tree, {sign: joined(sign) for sign in _PRECEDENCE}, {term: term for term in tree})
    return text


# --- a formula as a matrix --------------------------------------------------------------------------------------------


def formula_matrix(tree: Tree, frequencies: npt.ArrayLike, freq_min: LeastFrequency = "literal") -> FloatArray:
    """The transition matrix that a formula makes of the frequencies of the categories.

    The formula is evaluated for every cell at once. Cells that are negative or no finite number become 0, and rows are
    divided by their sums; a row of zeros is uniform. A divisor is at least 1e-9 in size. `freq_min` is 0 where a
    category is empty, unless it is to be that of a category with records ("positive").

    >>> formula_matrix(parsed("freq_j"), [30, 10]).tolist()
    [[0.75, 0.25], [0.75, 0.25]]
    >>> formula_matrix(parsed("(freq_j - freq_i) * (freq_j - freq_i)"), [30, 10]).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    t = np.asarray(frequencies, dtype=np.float64)
    counted = t[t > 0] if freq_min == "positive" else t
    values: dict[str, Any] = {symbol: np.float64(symbol) for symbol in tree if symbol[0].isdecimal()}
    values |= {"N": t.sum(), "freq_max": t.max(initial=0.0), "freq_min": counted.min(initial=t.max(initial=0.0))}
    values |= {"freq_i": t[:, None], "freq_j": t[None, :]}
    with np.errstate(all="ignore"):
        filled = np.broadcast_to(np.asarray(evaluate(tree, _ARITHMETIC, values)), (len(t), len(t)))
    cells = np.where(np.isfinite(filled), np.clip(filled, 0.0, _LARGEST_CELL), 0.0)
    sums = cells.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(cells, sums, out=np.full(cells.shape, 1.0 / max(len(t), 1)), where=sums > 0))


def _divided(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.asarray(left / np.where(right < 0, np.minimum(right, -_LEAST_DIVISOR), np.maximum(right, _LEAST_DIVISOR)))


_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divided}
