"""The KAI Scheduler: its Topology, and what it refuses."""

from __future__ import annotations

from packwise.schedulers.kai.topology import KAI

__all__ = ["KAI"]
