"""Renders topology-aware scheduling in Git: a KRM function and a command for Grove and the KAI Scheduler."""

__all__: list[str] = []
