"""Wrong usage that the arguments alone do not show."""

from __future__ import annotations

__all__ = ["UsageError"]


class UsageError(Exception):
    """What is named does not exist, or does not go together. The text says what to give instead."""
