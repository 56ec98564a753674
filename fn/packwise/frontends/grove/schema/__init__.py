"""The shape of a PodCliqueSet: what decoding and the API server's schema refuse, and fields that nobody knows."""

from __future__ import annotations

from packwise.frontends.grove.schema.table import check_shape

__all__ = ["check_shape"]
