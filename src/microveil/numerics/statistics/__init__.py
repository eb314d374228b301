"""Scaling, moments, models and distances between distributions."""
