"""Representations: what the genes of a string stand for, and numbers written as strings of bits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from microveil.errors import ParameterError
from microveil.numerics.evolution.gray import from_gray, gray
from microveil.typing import FloatArray, IntArray

_LONGEST_WORD = 52  # bits of a number that floating point holds exactly


@dataclass(frozen=True)
class Strings:
    """Strings of genes: gene j has the alleles 0 to `alleles[j]` - 1.

    >>> Strings.of(3).alleles, Strings.of(2, alleles=5).alleles
    ((2, 2, 2), (5, 5))
    """

    alleles: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.alleles or min(self.alleles) < 1:
            raise ParameterError("a string needs at least one gene, and a gene at least one allele")

    @classmethod
    def of(cls, length: int, alleles: int = 2) -> Strings:
        """Strings of bits, or of genes that all have so many alleles."""
        return cls((alleles,) * length)

    def draw(self, count: int, rng: np.random.Generator) -> IntArray:
        """So many strings drawn at random, one a row."""
        return rng.integers(0, self.alleles, size=(count, len(self.alleles)))


@dataclass(frozen=True)
class Variable:
    """A number between two ends, known to some precision; a whole number has whole ends and precision 1."""

    low: float
    high: float
    precision: float = 1.0

    def __post_init__(self) -> None:
        steps = (self.high - self.low) / self.precision if self.precision > 0 else np.nan
        if not 0 < steps < 2**_LONGEST_WORD:
            raise ParameterError(
                f"a variable needs low < high and a precision above 0 that is met with at most {_LONGEST_WORD} bits"
            )

    @property
    def steps(self) -> int:
        """How many steps of at most the precision lead from one end to the other."""
        return int(np.ceil((self.high - self.low) / self.precision - 1e-9))


@dataclass(frozen=True)
class Quantised:
    """Numbers as strings of bits: each is quantised to equal steps within its ends and written with just enough bits,
    the highest first, in Gray code unless that is not wanted.

    Every string stands for numbers within their ends, so that none has to be repaired.

    >>> both = Quantised((Variable(0, 63), Variable(-1, 1, 0.5)))
    >>> both.encode([47, 0.5]).tolist()
    [1, 1, 1, 0, 0, 0, 1, 1, 1]
    >>> both.decode(np.array([1, 0, 1, 0, 0, 0, 1, 1, 1])).tolist()
    [48.0, 0.5]
    """

    variables: tuple[Variable, ...]
    gray_coded: bool = True

    def __post_init__(self) -> None:
        if not self.variables:
            raise ParameterError("there is no variable to write as bits")

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The bits of each variable."""
        return tuple(variable.steps.bit_length() for variable in self.variables)

    @property
    def strings(self) -> Strings:
        """The strings that stand for these variables."""
        return Strings.of(sum(self.widths))

    def encode(self, values: npt.ArrayLike) -> IntArray:
        """The string of these numbers, or one a row for rows of numbers; a number beyond an end becomes the end."""
        given = np.asarray(values, dtype=np.float64)
        bits = []
        for j, (variable, width) in enumerate(zip(self.variables, self.widths, strict=True)):
            share = np.clip((given[..., j] - variable.low) / (variable.high - variable.low), 0.0, 1.0)
            step = np.rint(share * variable.steps)
            word = np.rint(step * (2**width - 1) / variable.steps).astype(np.int64)
            word = gray(word) if self.gray_coded else word
            bits.append((word[..., None] >> np.arange(width)[::-1]) & 1)
        return np.concatenate(bits, axis=-1)

    def decode(self, strings: IntArray) -> FloatArray:
        """The numbers of a string, or of every row."""
        values = []
        ends = np.cumsum(self.widths)
        for variable, width, end in zip(self.variables, self.widths, ends, strict=True):
            word = np.asarray(strings[..., end - width : end] @ (1 << np.arange(width)[::-1]))
            word = from_gray(word) if self.gray_coded else word
            step = np.rint(word * (variable.steps / (2**width - 1)))
            values.append(variable.low + (variable.high - variable.low) * step / variable.steps)
        return np.stack(values, axis=-1)
