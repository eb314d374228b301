"""Frequencies, contingency tables, equivalence classes, and the cells that local suppression empties."""
