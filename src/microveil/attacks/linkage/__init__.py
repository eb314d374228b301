"""Attacks that link an intruder's records to released records."""
