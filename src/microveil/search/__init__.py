"""Search: evolution and other ways to let the machine find a better release."""

from microveil.search import toolbox

__all__ = ["toolbox"]
