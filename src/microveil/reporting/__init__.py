"""Tables, charts and pages. Everything a page needs lies inside it: it opens without a network."""
