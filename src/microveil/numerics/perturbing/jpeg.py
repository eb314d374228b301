"""JPEG compression of a grey image: cosine transform of squares of 8 x 8, quantised frequencies."""

from __future__ import annotations

import numpy as np

from microveil.typing import FloatArray

_SIDE = 8
_DIGITS = 9
_LONGEST = 1 << 16  # rows of squares that are transformed at once
# the luminance table of the standard: how coarse each frequency becomes at quality 50
_COARSENESS = np.array(
    [
        [16, 11, 10, 16, 24, 40, 51, 61],
        [12, 12, 14, 19, 26, 58, 60, 55],
        [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62],
        [18, 22, 37, 56, 68, 109, 103, 77],
        [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101],
        [72, 92, 95, 98, 112, 100, 103, 99],
    ],
    dtype=np.float64,
)


def coarseness(quality: int) -> FloatArray:
    """The table of the standard, scaled as usual: 5000/q percent below quality 50, 200 - 2q percent from there on.

    >>> coarseness(50)[0, :3].tolist(), coarseness(100).max().item()
    ([16.0, 11.0, 10.0], 1.0)
    """
    percent = 5000 // quality if quality < 50 else 200 - 2 * quality
    return np.clip(np.floor((_COARSENESS * percent + 50.0) / 100.0), 1.0, 255.0)


def compressed(grey: FloatArray, quality: int) -> FloatArray:
    """The image compressed and decompressed, in whole steps from 0 to 255; its edges are repeated to fill the squares.

    >>> compressed(np.full((3, 2), 200.0), 50).tolist()
    [[200.0, 200.0], [200.0, 200.0], [200.0, 200.0]]
    """
    rows, columns = grey.shape
    filled = np.pad(grey, ((0, -rows % _SIDE), (0, -columns % _SIDE)), mode="edge")
    steps = coarseness(quality)
    out = np.empty_like(filled)
    for start in range(0, len(filled), _SIDE * _LONGEST):
        part = filled[start : start + _SIDE * _LONGEST]
        out[start : start + _SIDE * _LONGEST] = _through_frequencies(part, steps)
    return np.clip(_whole(out[:rows, :columns]), 0.0, 255.0)


def _whole(values: FloatArray) -> FloatArray:
    """Rounded; exact halves, which whole greys often give, must not depend on how the transform rounds."""
    return np.round(np.round(values, _DIGITS))


def _through_frequencies(image: FloatArray, steps: FloatArray) -> FloatArray:
    from scipy.fft import dctn, idctn

    down, across = image.shape[0] // _SIDE, image.shape[1] // _SIDE
    squares = image.reshape(down, _SIDE, across, _SIDE) - 128.0
    frequencies = dctn(squares, axes=(1, 3), norm="ortho")
    coarse = _whole(frequencies / steps[:, None, :]) * steps[:, None, :]
    return np.asarray(idctn(coarse, axes=(1, 3), norm="ortho") + 128.0).reshape(image.shape)


def correlated_order(correlations: FloatArray) -> list[int]:
    """A chain of columns: first the one most correlated with all, then always the one most correlated with the last.

    >>> correlated_order(np.array([[1.0, 0.1, 0.9], [0.1, 1.0, 0.2], [0.9, 0.2, 1.0]]))
    [2, 0, 1]
    """
    strength = np.abs(correlations)
    chain = [int(np.argmax(strength.sum(axis=1)))]
    while len(chain) < len(strength):
        left = [j for j in range(len(strength)) if j not in chain]
        chain.append(max(left, key=lambda j: (strength[chain[-1], j], -j)))
    return chain
