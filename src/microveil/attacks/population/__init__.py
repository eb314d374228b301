"""The risk of records under a sampling design: what the released file says about the population it was drawn from."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
