"""Methods that draw records anew from a model of the original, or mix them with it."""
