"""Findings by group: made, fixed, and reported in the requested format."""
