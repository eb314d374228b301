"""Coarser values in place of exact ones: recoding, top and bottom coding, suppression, sampling, regions."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
