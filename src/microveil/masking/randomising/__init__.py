"""Methods that change values at random, by a mechanism the analyst can be told."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
