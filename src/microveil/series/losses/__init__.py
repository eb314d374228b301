"""Losses of time series."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
