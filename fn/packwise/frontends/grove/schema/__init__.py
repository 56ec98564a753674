"""The shape of a PodCliqueSet: refusals of decoding and of the API server's schema, and unknown fields."""

from __future__ import annotations

from packwise.frontends.grove.schema.table import check_shape

__all__ = ["check_shape"]
