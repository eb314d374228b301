"""Methods that exchange values between records: every column keeps exactly the values it had."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
