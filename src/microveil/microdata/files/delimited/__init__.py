"""CSV and its relatives: fields divided by one character, records by line ends."""
