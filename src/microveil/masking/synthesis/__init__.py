"""Methods that draw records anew from a model of the original, or mix them with it."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
