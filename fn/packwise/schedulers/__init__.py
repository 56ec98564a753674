"""Schedulers: the objects that each reads, written from the placement model, and what each refuses."""

from __future__ import annotations

__all__: list[str] = []
