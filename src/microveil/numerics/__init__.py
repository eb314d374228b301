"""Compiled kernels and array helpers: arrays in, arrays out.

The modules that hold kernels import numba, which takes half a second; methods import them when they start to work.
"""
