"""Graphs as arrays: statistics of their structure, comparisons, and ways to change them."""
