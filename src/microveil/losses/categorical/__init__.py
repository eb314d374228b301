"""Losses of ordinal and nominal attributes."""
