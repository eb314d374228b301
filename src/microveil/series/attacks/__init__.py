"""Attacks on released series."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
