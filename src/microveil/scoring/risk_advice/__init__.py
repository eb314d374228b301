"""What would lower the risk of re-identification of a file most: changes of its keys, tried on the file itself."""
