"""Kubernetes objects: their kinds, their identity, and places within them."""

from __future__ import annotations

__all__: list[str] = []
