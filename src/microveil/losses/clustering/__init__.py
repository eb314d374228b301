"""Losses of those who cluster the released file."""
