"""Findings judged by group, fixed, and reported in the requested format."""
