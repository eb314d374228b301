"""The formulas of the literature that make one score of losses and risks: a file each family."""
