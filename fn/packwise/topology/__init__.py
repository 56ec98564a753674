"""Domains, levels, and the ClusterTopology they make up."""

from __future__ import annotations

from packwise.topology.levels import DOMAINS, ClusterTopology, Level, is_narrower, rank, sort_levels

__all__ = ["DOMAINS", "ClusterTopology", "Level", "is_narrower", "rank", "sort_levels"]
