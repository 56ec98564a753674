"""Findings collected by group, fixed, and reported in the requested format."""
