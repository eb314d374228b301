"""Compiled kernels and array helpers: arrays in, arrays out.

Methods import them when they start to work. Kernels of short tables are interpreted, for numba takes longer to load
(`core.compiled`).
"""
