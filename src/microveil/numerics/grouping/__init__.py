"""Kernels that divide records into groups of at least k, and what groups have in common."""
