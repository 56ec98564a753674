"""Reasons for each value of a render, and for each that is missing."""
