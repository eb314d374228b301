"""Frequencies, contingency tables, equivalence classes, and local suppression."""
