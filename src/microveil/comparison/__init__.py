"""An original and a release side by side: common columns, labels read back, and what an intruder is assumed to know."""
