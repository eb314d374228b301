"""Losses by models: whether a model distinguishes the release from the original, and what models learn from it."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
