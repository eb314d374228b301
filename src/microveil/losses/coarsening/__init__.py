"""Losses of attributes released as labels that stand for several values."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
