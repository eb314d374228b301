"""Full-domain generalisation: the lattice of hierarchy levels, its equivalence classes, and the search over it."""
