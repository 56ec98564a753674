"""Renders topology-aware scheduling in Git: a KRM function and a command for Grove and the KAI Scheduler."""

from __future__ import annotations

__all__: list[str] = []
