"""Losses of those who cluster the released file."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
