"""Files of statistics packages (SPSS, Stata, SAS), which carry labels, missing codes and measurement levels."""
