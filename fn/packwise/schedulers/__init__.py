"""Schedulers: what each must be told of the topologies, one package each."""

from __future__ import annotations

__all__: list[str] = []
