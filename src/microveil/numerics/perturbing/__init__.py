"""Transition matrices, rounding, swapping and perturbation."""
