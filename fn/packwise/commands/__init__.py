"""What commands do beside a render, as pure functions: compare, migrate, list topologies, explain rules."""

from __future__ import annotations

__all__: list[str] = []
