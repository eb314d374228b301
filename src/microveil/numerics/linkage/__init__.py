"""Kernels of record linkage: agreement, match weights, and files brought into the same order."""
