"""Every rule of Kueue."""

from __future__ import annotations

from packwise.schedulers.kueue import chain, ignored, jobs, objects, rendered

__all__ = ["RULES"]

RULES = (*rendered.RULES, *objects.RULES, *jobs.RULES, *chain.RULES, *ignored.RULES)
"""The rules, in the order in which they are checked."""
