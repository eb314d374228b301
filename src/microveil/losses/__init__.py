"""Losses: what an honest analyst loses by working with the release instead of the original."""

from microveil.entries import offer
from microveil.losses.base import Loss, LossMeasure

__all__ = ["Loss", "LossMeasure"]
__getattr__, __dir__ = offer(globals())
