"""Attacks on released graphs."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
