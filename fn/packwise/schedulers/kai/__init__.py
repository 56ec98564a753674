"""The KAI Scheduler: its Topology, PodGroup and Queue, the labels of its pods, and what it refuses."""

from __future__ import annotations

from packwise.schedulers.kai.scheduler import KAI

__all__ = ["KAI"]
