"""Findings: judged by group, fixed, and reported in the format that is asked for."""
