"""A method, an attack and a loss for Microveil, as an example of a package that adds its own."""
