"""Files, commits and stdin as objects, and the configuration for each."""
