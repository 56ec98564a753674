"""What configures a render, picked from its input: settings, revision, topology configuration, definitions."""

from __future__ import annotations

from packwise.select.selection import Configured, Package, Selection, cluster_of, index_package, select, topologies_of

__all__ = ["Configured", "Package", "Selection", "cluster_of", "index_package", "select", "topologies_of"]
