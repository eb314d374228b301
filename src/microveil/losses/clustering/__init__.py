"""Losses of a cluster analysis of the release."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
