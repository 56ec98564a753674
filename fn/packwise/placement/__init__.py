"""The model between front ends and schedulers: gangs of pods, and the topology levels that bound them."""

from __future__ import annotations

__all__: list[str] = []
