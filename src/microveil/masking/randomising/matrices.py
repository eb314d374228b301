"""Transition matrices given by a user: as numbers, as tables of categories, or in CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pydantic

from microveil.errors import FileError, MicroveilError, ParameterError
from microveil.microdata.files.inputs import read_text
from microveil.microdata.hierarchy import node_text
from microveil.typing import FloatArray

# rows in the order of the domain, or for a category the probabilities of the categories it is published as
Given = tuple[tuple[float, ...], ...] | dict[str, dict[str, float]]
JOINT = "+"  # between the names of attributes that share a given matrix, and between their categories
_SUM_TOLERANCE = 1e-6


def label_of(category: object) -> str:
    """The name of a category in a table of probabilities; the empty cell has an empty name."""
    return "" if category is None else node_text(category)


def plain_matrix(given: Any) -> Given:
    """A given matrix as a plan can hold it: rows of numbers, or tables by category. A text names a CSV file."""
    if isinstance(given, str | Path):
        return read_matrix(given)
    if isinstance(given, Mapping):
        if not all(isinstance(row, Mapping) for row in given.values()):
            raise ParameterError("by categories, it has for each a table such as { yes = 0.9, no = 0.1 }")
        table = {label_of(k): {label_of(to): _number(cell) for to, cell in row.items()} for k, row in given.items()}
        for label, probabilities in table.items():
            _check_row(list(probabilities.values()), f"category '{label}'")
        return table
    if not isinstance(given, Sequence | np.ndarray) or not all(isinstance(row, Sequence | np.ndarray) for row in given):
        raise ParameterError("it must be a list of rows, a table of categories, or the name of a CSV file")
    rows = tuple(tuple(_number(cell) for cell in row) for row in given)
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows):
            raise ParameterError(f"row {number} of {len(rows)} has {len(row)} numbers")
        _check_row(row, f"row {number}")
    return rows


def _plain_matrices(given: Any) -> Any:
    """The matrices given for some attributes; what is wrong with one comes out in a sentence that names it."""
    if not isinstance(given, Mapping):
        return given
    plain = {}
    for name, matrix in given.items():
        try:
            plain[name] = plain_matrix(matrix)
        except MicroveilError as problem:
            raise ParameterError(f"the matrix given for '{name}' is not allowed; {problem}") from None
    return plain


# the type of a parameter: whatever way the matrices are given, the component holds them as a plan does
GivenMatrices = Annotated[dict[str, Any], pydantic.BeforeValidator(_plain_matrices)]


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise ParameterError("it holds a cell that is not a number") from None


def _check_row(cells: Sequence[float], where: str) -> None:
    if not all(0 <= cell <= 1 + _SUM_TOLERANCE for cell in cells):
        raise ParameterError(f"{where} has a number that is no probability")
    if abs(sum(cells) - 1) > _SUM_TOLERANCE:
        raise ParameterError(f"{where} sums to {sum(cells):.6g} instead of 1")


def read_matrix(path: str | Path) -> dict[str, dict[str, float]]:
    """A matrix from a CSV file: its first line names the published categories, its first column the original ones."""
    try:
        lines = [line for line in csv.reader(io.StringIO(read_text(path), newline="")) if line]
    except (UnicodeDecodeError, csv.Error) as problem:
        raise FileError(path, f"is not a CSV file ({problem})") from None
    if len(lines) < 2:
        raise FileError(path, "a transition matrix has a line of categories and a line for each of them")
    header, table = lines[0][1:], {}
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(header) + 1:
            raise FileError(path, f"has {len(line) - 1} numbers for {len(header)} categories", line=number)
        try:
            cells = [_number(cell or 0) for cell in line[1:]]
            _check_row(cells, f"category '{line[0]}'")
        except ParameterError as problem:
            raise FileError(path, str(problem), line=number) from None
        table[line[0]] = dict(zip(header, cells, strict=True))
    return table


def matrix_for(name: str, given: Given, labels: Sequence[str]) -> FloatArray:
    """A given matrix in the order of these categories; a category without a row stays as it is."""
    if not isinstance(given, Mapping):
        if len(given) != len(labels):
            raise ParameterError(
                f"the matrix given for '{name}' has {len(given)} rows, but there are {len(labels)} categories"
            )
        matrix = np.array(given)
    else:
        position = {label: i for i, label in enumerate(labels)}
        matrix = np.eye(len(labels))
        for label, row in given.items():
            for known in (label, *row):
                if _spelled(known, position) not in position:
                    raise ParameterError(
                        f"the matrix given for '{name}' has a category '{known}', which is not in its domain"
                    )
            origin = position[_spelled(label, position)]
            matrix[origin] = 0.0
            for to, cell in row.items():
                matrix[origin, position[_spelled(to, position)]] = cell
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def _spelled(label: str, known: Mapping[str, int]) -> str:
    """A category as the domain writes it: 1.0 is 1 there."""
    if label in known:
        return label
    try:
        return node_text(float(label))
    except ValueError:
        return label
