"""Coarser values in place of exact ones: recoding, end coding, suppression, sampling, regions."""
