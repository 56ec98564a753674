"""The design revisions of topology-aware scheduling, as records."""

from __future__ import annotations

from packwise.revisions.records import (
    DEFAULT,
    DESIGN_1,
    DESIGN_2,
    GREP_244,
    GREP_244_MULTI,
    REVISIONS,
    UPSTREAM,
)
from packwise.revisions.revision import Revision
from packwise.revisions.texts import ConditionCase, ConditionTexts, TopologyStatus

__all__ = [
    "DEFAULT",
    "DESIGN_1",
    "DESIGN_2",
    "GREP_244",
    "GREP_244_MULTI",
    "REVISIONS",
    "UPSTREAM",
    "ConditionCase",
    "ConditionTexts",
    "Revision",
    "TopologyStatus",
]
