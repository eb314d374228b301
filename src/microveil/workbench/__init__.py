"""The workbench: a local web application to load a table, see its risk, try protections and export a release."""
