"""Findings: problems at their places, their rules, and their form for users."""
