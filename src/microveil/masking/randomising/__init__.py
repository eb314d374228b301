"""Methods that change values at random, by a mechanism the analyst can be told."""
