"""Trees for genetic programming: how they are drawn, crossed, mutated and evaluated.

A tree is the tuple of its symbols in post-order, so that a subtree is a slice and ends with its root. The root of a
tree has level 0, and a terminal has depth 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from microveil.errors import ParameterError

Tree = tuple[str, ...]
Item = TypeVar("Item")
_MOST_LEVELS = 12  # a full tree of functions with two operands has 4095 nodes then
_TRIES = 50  # pairs of nodes, until two trees are said not to fit


class Node(NamedTuple):
    """A node of a tree with the subtree below it: the slice from `start` to `end`, whose last symbol is the node."""

    start: int
    end: int
    level: int
    depth: int


@dataclass(frozen=True)
class Grammar:
    """The symbols of trees: functions with their numbers of operands, and terminals; and the most levels of a tree.

    Every function must accept every terminal and whatever a function gives.

    >>> grammar = Grammar({"+": 2, "*": 2}, ("a", "b", "2"), levels=3)
    >>> grammar.full(3, np.random.default_rng(1))
    ('2', '2', '*', 'a', '2', '+', '+')
    """

    functions: Mapping[str, int]
    terminals: tuple[str, ...]
    levels: int

    def __post_init__(self) -> None:
        if not self.functions or not self.terminals or min(self.functions.values()) < 1:
            raise ParameterError("a grammar needs a terminal and a function, and a function at least one operand")
        if not 2 <= self.levels <= _MOST_LEVELS:
            raise ParameterError(f"levels = {self.levels} is not allowed; a tree has 2 to {_MOST_LEVELS} levels")

    def nodes(self, tree: Tree) -> list[Node]:
        """The nodes in post-order."""
        starts, depths, operands, open_ends = list(range(len(tree))), [1] * len(tree), {}, list[int]()
        for i, symbol in enumerate(tree):
            count = self.functions.get(symbol, 0)
            if count:
                operands[i] = open_ends[-count:]
                del open_ends[-count:]
                starts[i] = starts[operands[i][0]]
                depths[i] = 1 + max(depths[k] for k in operands[i])
            open_ends.append(i)
        levels = [0] * len(tree)
        for i in reversed(operands):
            for k in operands[i]:
                levels[k] = levels[i] + 1
        return [Node(starts[i], i + 1, levels[i], depths[i]) for i in range(len(tree))]

    # --- drawing ------------------------------------------------------------------------------------------------------

    def grow(self, depth: int, rng: np.random.Generator) -> Tree:
        """A tree of at most this depth: below its root any symbol can stand, at the last level a terminal."""
        return self._drawn(depth, rng, (*self.functions, *self.terminals))

    def full(self, depth: int, rng: np.random.Generator) -> Tree:
        """A tree whose terminals all stand at the last level."""
        return self._drawn(depth, rng, tuple(self.functions))

    def _drawn(self, depth: int, rng: np.random.Generator, below: Sequence[str], *, root: bool = True) -> Tree:
        symbols = self.terminals if depth == 1 else tuple(self.functions) if root else below
        symbol = _any(symbols, rng)
        operands = (self._drawn(depth - 1, rng, below, root=False) for _ in range(self.functions.get(symbol, 0)))
        return (*(part for operand in operands for part in operand), symbol)

    def half_and_half(self, count: int, rng: np.random.Generator) -> list[Tree]:
        """So many trees of all depths from 2, full ones and grown ones: all pairs of depth and way are shuffled and
        dealt in turn.
        """
        ways = [(draw, depth) for depth in range(2, self.levels + 1) for draw in (self.full, self.grow)]
        order = rng.permutation(len(ways))
        dealt = (ways[order[i % len(ways)]] for i in range(count))
        return [draw(depth, rng) for draw, depth in dealt]

    # --- crossover ----------------------------------------------------------------------------------------------------

    def cross(self, one: Tree, other: Tree, rng: np.random.Generator) -> tuple[Tree, Tree] | None:
        """Both trees with a subtree exchanged; none if no two were found with which both keep the levels allowed."""
        nodes, others = self.nodes(one), self.nodes(other)
        for _ in range(_TRIES):
            a, b = _any(nodes, rng), _any(others, rng)
            if max(a.level + b.depth, b.level + a.depth) <= self.levels:
                return _replaced(one, a, _subtree(other, b)), _replaced(other, b, _subtree(one, a))
        return None

    # --- mutations ----------------------------------------------------------------------------------------------------

    def point(self, tree: Tree, rng: np.random.Generator) -> Tree:
        """One symbol becomes another of its class: a terminal, or a function with as many operands."""
        able = [(i, others) for i, symbol in enumerate(tree) if (others := self._others(symbol))]
        if not able:
            return tree
        i, others = _any(able, rng)
        return (*tree[:i], _any(others, rng), *tree[i + 1 :])

    def _others(self, symbol: str) -> list[str]:
        operands = self.functions.get(symbol, 0)
        alike = [name for name, count in self.functions.items() if count == operands] if operands else self.terminals
        return [name for name in alike if name != symbol]

    def hoist(self, tree: Tree, rng: np.random.Generator) -> Tree:
        """A subtree alone, smaller than the tree; a terminal stays."""
        if len(tree) == 1:
            return tree
        return _subtree(tree, _any(self.nodes(tree)[:-1], rng))

    def subtree(self, tree: Tree, rng: np.random.Generator) -> Tree:
        """A subtree is replaced by one that is grown anew, of 1 to as many levels as there is room for."""
        node = _any(self.nodes(tree), rng)
        return _replaced(tree, node, self.grow(int(rng.integers(1, self.levels - node.level + 1)), rng))

    def collapse(self, tree: Tree, rng: np.random.Generator) -> Tree:
        """A function with all below it is replaced by a terminal; a terminal alone by a terminal."""
        nodes = self.nodes(tree)
        return _replaced(tree, _any([node for node in nodes if node.depth > 1] or nodes, rng), self.grow(1, rng))

    def expand(self, tree: Tree, rng: np.random.Generator) -> Tree:
        """A terminal is replaced by a grown subtree of 2 to as many levels as there is room for; without room the tree
        stays.
        """
        ends = [node for node in self.nodes(tree) if node.depth == 1 and node.level + 2 <= self.levels]
        if not ends:
            return tree
        node = _any(ends, rng)
        return _replaced(tree, node, self.grow(int(rng.integers(2, self.levels - node.level + 1)), rng))


def _any(items: Sequence[Item], rng: np.random.Generator) -> Item:
    return items[int(rng.integers(len(items)))]


def _subtree(tree: Tree, node: Node) -> Tree:
    return tree[node.start : node.end]


def _replaced(tree: Tree, node: Node, by: Tree) -> Tree:
    return tree[: node.start] + by + tree[node.end :]


def evaluate(tree: Iterable[str], functions: Mapping[str, Callable[..., Any]], values: Mapping[str, Any]) -> Any:
    """The value of a tree of functions of two operands (Marés 2013, Algorithm 8): terminals are pushed on a stack, and
    a function takes the last two off it, the right operand first.

    >>> from operator import add, mul
    >>> evaluate(("a", "2", "b", "*", "+"), {"+": add, "*": mul}, {"a": 1, "2": 2, "b": 3})
    7
    """
    stack: list[Any] = []
    for symbol in tree:
        if symbol in functions:
            right = stack.pop()
            left = stack.pop()
            stack.append(functions[symbol](left, right))
        else:
            stack.append(values[symbol])
    return stack.pop()
