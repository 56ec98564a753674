"""Files, commits and stdin as objects, and which configuration judges each."""
