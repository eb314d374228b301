"""Series as rows of a matrix: distances between them, statistics, forecasts, and ways to change them."""
