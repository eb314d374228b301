"""Methods for graphs: what the profiles of nodes say, and who is linked to whom."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
