"""Attacks on a sample of a population: what the records tell of the units outside the sample."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
