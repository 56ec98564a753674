"""Objects against the cluster's own CustomResourceDefinitions, as its API server validates them."""

from __future__ import annotations

__all__: list[str] = []
