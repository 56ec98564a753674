"""Findings: problems at their places, the rules that they break, and what users see of them."""
