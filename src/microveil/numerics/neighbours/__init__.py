"""Kernels that find the nearest records, and records within ranges."""
