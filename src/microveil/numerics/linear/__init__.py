"""Exact linear algebra on sparse matrices of whole numbers."""
