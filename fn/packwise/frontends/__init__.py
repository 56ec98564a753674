"""Front ends: the workload APIs that packwise reads, one package each."""

from __future__ import annotations

__all__: list[str] = []
