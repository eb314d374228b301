from __future__ import annotations

import operator
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.numerics.evolution.evolve import evolve
from microveil.numerics.evolution.state import generations, score_reached
from microveil.numerics.evolution.survival import Generational, LosersReplaced
from microveil.numerics.evolution.trees import Grammar, Node, Tree, evaluate
from microveil.numerics.evolution.variation import CrossoverOrMutation

GRAMMAR = Grammar({"+": 2, "*": 2, "-": 2, "neg": 1}, ("x", "y", "1"), levels=5)
TREE: Tree = ("x", "1", "y", "*", "+", "neg")  # -(x + 1 * y)
SEEDS = st.integers(0, 2**32)


def is_tree(tree: Tree, grammar: Grammar = GRAMMAR) -> bool:
    left = 0
    for symbol in tree:
        operands = grammar.functions.get(symbol, 0)
        if operands > left or (not operands and symbol not in grammar.terminals):
            return False
        left += 1 - operands
    return left == 1


def depth(tree: Tree) -> int:
    return GRAMMAR.nodes(tree)[-1].depth


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    levels = draw(st.integers(1, 5))
    return GRAMMAR.grow(levels, np.random.default_rng(draw(SEEDS)))


@pytest.mark.spec("05:GP-03")
def test_the_nodes_of_a_tree_have_their_slices_levels_and_depths() -> None:
    assert GRAMMAR.nodes(TREE) == [
        Node(0, 1, 2, 1),
        Node(1, 2, 3, 1),
        Node(2, 3, 3, 1),
        Node(1, 4, 2, 2),
        Node(0, 5, 1, 3),
        Node(0, 6, 0, 4),
    ]


@pytest.mark.spec("05:GP-03")
@given(st.integers(2, 5), SEEDS)
def test_a_full_tree_has_all_its_terminals_at_the_last_level(levels: int, seed: int) -> None:
    tree = GRAMMAR.full(levels, np.random.default_rng(seed))
    assert is_tree(tree)
    ends = [node for node in GRAMMAR.nodes(tree) if node.depth == 1]
    assert {node.level for node in ends} == {levels - 1}


@pytest.mark.spec("05:GP-03")
@given(st.integers(2, 5), SEEDS)
def test_a_grown_tree_has_a_function_at_its_root_and_at_most_its_depth(levels: int, seed: int) -> None:
    tree = GRAMMAR.grow(levels, np.random.default_rng(seed))
    assert is_tree(tree)
    assert tree[-1] in GRAMMAR.functions
    assert 2 <= depth(tree) <= levels


@pytest.mark.spec("05:GP-03")
def test_growing_draws_from_functions_and_terminals_together() -> None:
    grammar, rng = Grammar({"+": 2}, ("x", "y", "z"), levels=3), np.random.default_rng(1)
    below = Counter(grammar.grow(3, rng)[-2] for _ in range(4000))
    assert [below[symbol] / 4000 for symbol in "+xyz"] == pytest.approx([0.25] * 4, abs=0.03)


@pytest.mark.spec("05:GP-03")
@given(SEEDS)
def test_half_and_half_deals_all_depths_and_both_ways_alike(seed: int) -> None:
    """With 8 trees of at most 5 levels each depth from 2 to 5 has a full one; twice as many have two."""
    rng = np.random.default_rng(seed)
    for count, expected in ((8, 1), (16, 2)):
        drawn = GRAMMAR.half_and_half(count, rng)
        assert len(drawn) == count
        full = [t for t in drawn if len({n.level for n in GRAMMAR.nodes(t) if n.depth == 1}) == 1]
        assert all(sum(depth(tree) == levels for tree in full) >= expected for levels in range(2, 6))
    assert len(GRAMMAR.half_and_half(6, rng)) == 6


@pytest.mark.spec("05:GP-03")
def test_the_deal_is_shuffled() -> None:
    assert len({depth(GRAMMAR.half_and_half(1, np.random.default_rng(seed))[0]) for seed in range(50)}) == 4


@pytest.mark.spec("05:GP-04")
@given(trees(), trees(), SEEDS)
def test_crossed_trees_are_trees_of_the_same_symbols_within_the_levels(one: Tree, other: Tree, seed: int) -> None:
    crossed = GRAMMAR.cross(one, other, np.random.default_rng(seed))
    if crossed is None:
        return
    assert all(is_tree(tree) and depth(tree) <= 5 for tree in crossed)
    assert Counter(crossed[0] + crossed[1]) == Counter(one + other)


@pytest.mark.spec("05:GP-04")
def test_crossover_exchanges_two_subtrees() -> None:
    """Each tree gets one subtree of the other in place of one of its own, and both are found again."""
    one, other = ("x", "x", "+"), ("y", "1", "*")
    found = {GRAMMAR.cross(one, other, np.random.default_rng(seed)) for seed in range(300)}

    def replaced(tree: Tree, node: Node, by: Tree) -> Tree:
        return tree[: node.start] + by + tree[node.end :]

    assert found == {
        (replaced(one, a, other[b.start : b.end]), replaced(other, b, one[a.start : a.end]))
        for a in GRAMMAR.nodes(one)
        for b in GRAMMAR.nodes(other)
    }


@pytest.mark.spec("05:GP-04")
def test_two_chains_of_all_levels_fit_at_the_same_level_only_and_not_being_found_is_told() -> None:
    """One try in twelve fits, so fifty in vain happen about once in eighty times."""
    grammar = Grammar({"neg": 1}, ("x", "y"), levels=12)
    one, other = ("x", *["neg"] * 11), ("y", *["neg"] * 11)
    found = {grammar.cross(one, other, np.random.default_rng(seed)) for seed in range(500)}
    assert found == {None, (other, one)}


@pytest.mark.spec("05:GP-05")
@given(trees(), SEEDS)
def test_a_point_mutation_changes_one_symbol_and_not_the_shape(tree: Tree, seed: int) -> None:
    mutated = GRAMMAR.point(tree, np.random.default_rng(seed))
    assert is_tree(mutated)
    assert [(node.start, node.level) for node in GRAMMAR.nodes(mutated)] == [
        (node.start, node.level) for node in GRAMMAR.nodes(tree)
    ]
    assert sum(a != b for a, b in zip(tree, mutated, strict=True)) == 1


@pytest.mark.spec("05:GP-05")
def test_a_point_mutation_can_change_every_symbol_that_has_another_of_its_class() -> None:
    found = [GRAMMAR.point(TREE, np.random.default_rng(seed)) for seed in range(200)]
    assert {i for tree in found for i in range(len(TREE)) if tree[i] != TREE[i]} == {0, 1, 2, 3, 4}
    alone = Grammar({"+": 2}, ("x",), levels=3)
    assert alone.point(("x", "x", "+"), np.random.default_rng(1)) == ("x", "x", "+")


@pytest.mark.spec("05:GP-05")
def test_hoisting_leaves_any_proper_subtree() -> None:
    found = {GRAMMAR.hoist(TREE, np.random.default_rng(seed)) for seed in range(200)}
    assert found == {("x",), ("1",), ("y",), ("1", "y", "*"), ("x", "1", "y", "*", "+")}
    assert GRAMMAR.hoist(("x",), np.random.default_rng(1)) == ("x",)


@pytest.mark.spec("05:GP-05")
@given(trees(), SEEDS)
def test_a_new_subtree_keeps_the_levels(tree: Tree, seed: int) -> None:
    mutated = GRAMMAR.subtree(tree, np.random.default_rng(seed))
    assert is_tree(mutated)
    assert depth(mutated) <= 5


@pytest.mark.spec("05:GP-05")
def test_a_new_subtree_can_have_one_level_or_all_there_is_room_for() -> None:
    depths = {depth(GRAMMAR.subtree(("x",), np.random.default_rng(seed))) for seed in range(300)}
    assert depths == {1, 2, 3, 4, 5}


@pytest.mark.spec("05:GP-05")
@given(trees(), SEEDS)
def test_collapsing_puts_a_terminal_in_place_of_a_function(tree: Tree, seed: int) -> None:
    mutated = GRAMMAR.collapse(tree, np.random.default_rng(seed))
    assert is_tree(mutated)
    assert len(mutated) < len(tree) or len(tree) == len(mutated) == 1


@pytest.mark.spec("05:GP-05")
@given(trees(), SEEDS)
def test_expanding_puts_a_function_in_place_of_a_terminal(tree: Tree, seed: int) -> None:
    mutated = GRAMMAR.expand(tree, np.random.default_rng(seed))
    assert is_tree(mutated)
    assert depth(mutated) <= 5
    room = any(node.depth == 1 and node.level < 4 for node in GRAMMAR.nodes(tree))
    assert (len(mutated) > len(tree)) == room


@pytest.mark.spec("05:GE-04")
def test_a_stack_evaluates_a_tree_in_post_order() -> None:
    """Marés (2013), Figures 4.14 and 4.15: a + 2 * b is 7 for a = 1 and b = 3."""
    functions = {"+": operator.add, "*": operator.mul, "-": operator.sub, "/": operator.truediv}
    values = {"a": 1, "2": 2, "b": 3}
    assert evaluate(("a", "2", "b", "*", "+"), functions, values) == 7
    assert evaluate(("a", "b", "-"), functions, values) == -2
    assert evaluate(("b", "2", "/"), functions, values) == 1.5


@pytest.mark.spec("05:GP-01", "05:GP-02")
@pytest.mark.parametrize("survive", [LosersReplaced(6), LosersReplaced(6, "always"), Generational()], ids=repr)
def test_genetic_programming_finds_a_polynomial(survive: LosersReplaced | Generational) -> None:
    grammar = Grammar({"+": 2, "*": 2, "-": 2}, ("x", "1"), levels=5)
    functions = {"+": operator.add, "*": operator.mul, "-": operator.sub}
    x = np.linspace(-1, 1, 11)

    def error(tree: Tree) -> float:
        return float(np.abs(evaluate(tree, functions, {"x": x, "1": 1.0}) - (x * x + x + 1)).sum())

    rng = np.random.default_rng(4)
    ended = evolve(
        grammar.half_and_half(60, rng), error, vary=CrossoverOrMutation(grammar.cross, grammar.subtree),
        survive=survive, stop=lambda state: score_reached(1e-9)(state) or generations(2000)(state), rng=rng,
    )  # fmt: skip
    assert ended.score < 1e-9
    assert all(is_tree(tree, grammar) for tree in ended.population)


def test_grammars_without_symbols_or_with_too_many_levels_are_refused() -> None:
    for functions, terminals in (({}, ("x",)), ({"+": 2}, ()), ({"+": 0}, ("x",))):
        with pytest.raises(ParameterError, match="grammar needs"):
            Grammar(functions, terminals, levels=3)
    for levels in (1, 13):
        with pytest.raises(ParameterError, match=f"levels = {levels}"):
            Grammar({"+": 2}, ("x",), levels=levels)
