"""Losses of particular analyses: estimates, regressions, and whether conclusions stay the same."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
