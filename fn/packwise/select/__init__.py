"""Which items are configuration, topologies, workloads, live state, earlier output; and what the configuration says."""

from __future__ import annotations

from packwise.select.package import Package
from packwise.select.selection import Selection, select

__all__ = ["Package", "Selection", "select"]
