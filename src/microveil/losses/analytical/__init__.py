"""Losses of particular analyses: estimates, regressions, and whether conclusions stay the same."""
