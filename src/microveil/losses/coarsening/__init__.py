"""Losses of attributes released as labels that stand for several values."""
