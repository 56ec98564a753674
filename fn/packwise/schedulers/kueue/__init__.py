"""Kueue: its Topology and ResourceFlavor, and what its webhooks and its scheduler make of workloads."""

from __future__ import annotations

from packwise.schedulers.kueue.scheduler import KUEUE

__all__ = ["KUEUE"]
