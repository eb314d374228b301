"""What losses of graphs share that are measured attribute by attribute."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.losses.base import Loss, LossMeasure
from microveil.progress import Progress, parts


class MeanOverAttributes(LossMeasure):
    """The mean of what is lost of each attribute."""

    @abstractmethod
    def _lost(self, pair: Pair, name: str) -> float:
        """What is lost of one attribute, as a share of 1."""

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        losses = {}
        for name, part in zip(attributes, parts(progress, len(attributes)), strict=True):
            losses[name] = self._lost(pair, name)
            part(1.0, self.name)
        return Loss.of(
            self.name,
            float(np.mean(list(losses.values()))),
            attributes,
            per_attribute={name: 100 * loss for name, loss in losses.items()},
        )
