"""Losses of ordinal and nominal attributes."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
