"""Formulas are read from text, written to text, and fill transition matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.numerics.evolution.formulas import TERMS, canonical, formula_matrix, grammar_of, parsed, readable
from microveil.numerics.evolution.trees import Tree

SEEDS = st.integers(0, 2**32)
T = np.array([50.0, 30.0, 20.0])


@st.composite
def formulas(draw: st.DrawFn) -> Tree:
    return grammar_of(5).grow(draw(st.integers(1, 5)), np.random.default_rng(draw(SEEDS)))


# --- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("N", "N"),
        ("freq_i-freq_j-N", "freq_i freq_j - N -"),
        ("freq_i - (freq_j - N)", "freq_i freq_j N - -"),
        ("freq_i + freq_j * N", "freq_i freq_j N * +"),
        ("(freq_i + freq_j) * N", "freq_i freq_j + N *"),
        ("N / freq_i * freq_j", "N freq_i / freq_j *"),
        ("N / (freq_i * freq_j)", "N freq_i freq_j * /"),
        ("freq_j * freq_min / (N - freq_i)", "freq_j freq_min * N freq_i - /"),
        ("2 * N + 0.5", "2 N * 0.5 +"),
        ("((freq_max))", "freq_max"),
    ],
)
def test_signs_bind_as_usual_and_from_the_left(text: str, tree: str) -> None:
    assert parsed(text) == tuple(tree.split())


@given(formulas())
def test_a_readable_formula_is_read_back_as_the_same_tree(tree: Tree) -> None:
    assert parsed(readable(tree)) == tree


@given(formulas())
def test_no_pair_of_parentheses_can_be_left_out(tree: Tree) -> None:
    text = readable(tree)
    opened: list[int] = []
    for i, sign in enumerate(text):
        if sign == "(":
            opened.append(i)
        elif sign == ")":
            start = opened.pop()
            assert parsed(text[:start] + text[start + 1 : i] + text[i + 1 :]) != tree


def test_numbers_are_written_as_they_were_read() -> None:
    assert readable(parsed("2*N+(0.5-freq_i)")) == "2 * N + (0.5 - freq_i)"


@pytest.mark.spec("05:GE-05")
def test_the_order_of_what_is_added_or_multiplied_makes_no_other_formula() -> None:
    assert canonical(parsed("freq_j*(N+freq_i)")) == canonical(parsed("(freq_i+N)*freq_j"))
    for one, other in (("N - freq_i", "freq_i - N"), ("N / freq_i", "freq_i / N"), ("N + freq_i", "N * freq_i")):
        assert canonical(parsed(one)) != canonical(parsed(other))
    assert canonical(parsed("(N + N) + freq_i")) == canonical(parsed("freq_i + (N + N)"))


@given(formulas(), formulas())
def test_formulas_with_the_same_canonical_text_make_the_same_matrix(one: Tree, other: Tree) -> None:
    for sign in "+*":
        both = ((*one, *other, sign), (*other, *one, sign))
        assert canonical(both[0]) == canonical(both[1])
        assert formula_matrix(both[0], T).tolist() == formula_matrix(both[1], T).tolist()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the formula is empty"),
        ("   ", "the formula is empty"),
        ("N +", "ends where a term is expected"),
        ("(", "ends where a term is expected"),
        ("+ N", r"'\+' where a term"),
        ("-N", "'-' where a term"),
        ("N ** 2", r"'\*' where a term"),
        ("()", r"'\)' where a term"),
        ("N freq_i", "'freq_i' where"),
        ("2N", "'N' where"),
        ("N(freq_i)", r"'\(' where"),
        ("(N", "opens a parenthesis that is not closed"),
        ("N)", "closes a parenthesis that is not open"),
        ("freq_k", "no term 'freq_k'; did you mean"),
        ("__import__", "'__import__' where a term"),
        ("N; N", "';' where"),
        ("N.real", "'.' where"),
        ("+".join(["N"] * 600), "1,199 terms and signs"),
    ],
)
def test_what_is_no_formula_is_refused_in_a_sentence(text: str, problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        parsed(text)


@given(st.text(alphabet="Nfreq_ij+-*/(). 12", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        tree = parsed(text)
    except ParameterError:
        return
    assert parsed(readable(tree)) == tree


def test_deep_parentheses_are_no_danger() -> None:
    assert parsed("(" * 499 + "N" + ")" * 499) == ("N",)


# --- matrices ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("05:GE-02")
def test_the_terms_are_those_of_the_source() -> None:
    grammar = grammar_of(5)
    assert grammar.terminals == TERMS == ("N", "freq_max", "freq_min", "freq_i", "freq_j")
    assert dict(grammar.functions) == {"+": 2, "-": 2, "*": 2, "/": 2}
    assert len(grammar.half_and_half(6, np.random.default_rng(1))) == 6


@pytest.mark.spec("05:GE-02")
@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("N", [1, 1, 1]),
        ("freq_j", [50, 30, 20]),
        ("freq_i", [1, 1, 1]),
        ("N - freq_j", [50, 70, 80]),
        ("freq_j - freq_min", [30, 10, 0]),
        ("freq_max - freq_j", [0, 20, 30]),
        ("freq_j * freq_i / (N + freq_max)", [50, 30, 20]),
        ("freq_i / freq_j", [1 / 50, 1 / 30, 1 / 20]),
    ],
)
def test_a_formula_fills_the_first_row_by_the_frequencies(text: str, row: list[float]) -> None:
    assert formula_matrix(parsed(text), T)[0].tolist() == pytest.approx(np.array(row) / sum(row))


@pytest.mark.spec("05:GE-02", "05:GE-04")
@given(formulas(), st.lists(st.integers(0, 1000), min_size=1, max_size=6), st.sampled_from(["literal", "positive"]))
def test_every_formula_makes_a_transition_matrix(tree: Tree, frequencies: list[int], freq_min: str) -> None:
    matrix = formula_matrix(tree, frequencies, freq_min)  # type: ignore[arg-type]
    assert matrix.shape == (len(frequencies),) * 2
    assert (matrix >= 0).all()
    assert matrix.sum(axis=1) == pytest.approx(1)


@given(formulas())
def test_each_cell_is_what_the_formula_says_of_its_two_categories(tree: Tree) -> None:
    """Evaluated one by one with Python's own numbers, in which nothing is done for all cells at once."""

    def value(i: float, j: float) -> float:
        stack = []
        values = {"N": 100.0, "freq_max": 50.0, "freq_min": 20.0, "freq_i": i, "freq_j": j}
        for symbol in tree:
            if symbol in values:
                stack.append(values[symbol])
                continue
            right, left = stack.pop(), stack.pop()
            if symbol == "/":
                divisor = max(abs(right), 1e-9) * (-1 if right < 0 else 1)
                stack.append(left / divisor)
            else:
                stack.append({"+": left + right, "-": left - right, "*": left * right}[symbol])
        return min(max(stack[0], 0.0), 1e30)

    cells = np.array([[value(i, j) for j in T] for i in T])
    rows = [row / row.sum() if row.sum() > 0 else np.full(3, 1 / 3) for row in cells]
    assert formula_matrix(tree, T) == pytest.approx(np.array(rows), abs=1e-12)


@pytest.mark.spec("05:GE-02")
def test_the_two_extremes_can_be_reached() -> None:
    """Everything stays where the diagonal is divided by nothing, and nothing where it alone vanishes; where only its
    values and those below are gone, a row of zeros becomes uniform.
    """
    stays = formula_matrix(parsed("N / (freq_j - freq_i)"), T)
    assert stays == pytest.approx(np.eye(3), abs=1e-9)
    gone = formula_matrix(parsed("(freq_j - freq_i) * (freq_j - freq_i)"), T)
    assert np.diag(gone).tolist() == [0, 0, 0]
    assert formula_matrix(parsed("freq_j - freq_i"), T)[0].tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.spec("05:GE-02")
def test_the_least_frequency_is_that_of_an_empty_category_unless_it_must_have_records() -> None:
    counts = [3, 0, 1]
    assert formula_matrix(parsed("freq_j - freq_min"), counts)[0].tolist() == [0.75, 0, 0.25]
    assert formula_matrix(parsed("freq_j - freq_min"), counts, "positive")[0].tolist() == [1, 0, 0]
    assert formula_matrix(parsed("freq_min"), [0, 0], "positive").tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_cells_beyond_all_bounds_are_capped_and_what_is_no_number_is_nothing() -> None:
    huge = "freq_j" + "*freq_j*freq_j*freq_j" * 40
    assert formula_matrix(parsed(f"{huge} - {huge}"), [1000, 900]).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert formula_matrix(parsed(huge), [1000, 1])[0].tolist() == [0, 1]
    assert formula_matrix(parsed("N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*N*freq_j"), [1000, 900])[0].tolist() == [0.5, 0.5]
