"""Search for better releases: evolution of masked files, and what looks for plans."""
