"""Clusters of records, and how alike two clusterings are."""
