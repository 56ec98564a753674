"""Who refuses."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Stage"]


class Stage(StrEnum):
    """`decode`: the typed decoder; `schema`: the API server's schema."""

    DECODE = "decode"
    SCHEMA = "schema"
