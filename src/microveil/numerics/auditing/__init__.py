"""What follows from answers that were given: the row space of query sets, and intervals that hold every value."""
