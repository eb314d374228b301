"""Losses: what an honest analyst loses by working with the release instead of the original."""

from microveil.losses.base import Loss, LossMeasure

__all__ = ["Loss", "LossMeasure"]
