"""Volcano, which Grove's operator makes PodGroups for."""

from __future__ import annotations

from packwise.schedulers.volcano.podgroup import VOLCANO

__all__ = ["VOLCANO"]
