"""The evolutionary toolbox: representations, selection, crossover, mutation, survival, loops and trees, on arrays."""
