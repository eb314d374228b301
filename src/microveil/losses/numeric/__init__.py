"""Losses of numeric attributes."""
