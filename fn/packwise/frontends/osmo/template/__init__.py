"""Workflow templates, filled in as OSMO's service does it at a submission."""
