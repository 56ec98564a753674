"""A package to begin with, and levels proposed from the labels of nodes."""
