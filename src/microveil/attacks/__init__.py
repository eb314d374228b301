"""Attacks: what an intruder does with a release and some knowledge, and the risk that follows from it."""

from microveil.attacks.base import Attack, Risk
from microveil.entries import offer

__all__ = ["Attack", "Risk"]
__getattr__, __dir__ = offer(globals())
