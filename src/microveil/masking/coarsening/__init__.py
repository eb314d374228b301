"""Coarser values in place of exact ones: recoding, end coding, suppression, sampling, regions."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
