"""The revisions of topology-aware scheduling as records: designs, and releases of Grove."""

from __future__ import annotations

from packwise.revisions.designs import DESIGN_1, DESIGN_2, GREP_244, GREP_244_MULTI
from packwise.revisions.records import NEWEST, RECORDS, RELEASES, REVISIONS, precedes, same_record
from packwise.revisions.releases import (
    ALPHA_8,
    ALPHA_9,
    ALPHA_10,
    ALPHA_12,
    ALPHA_12_RC1,
    ALPHA_14,
    ALPHA_14_RC1,
    UPSTREAM,
)
from packwise.revisions.revision import Revision
from packwise.revisions.texts import ConditionCase, ConditionTexts, TopologyStatus

__all__ = [
    "ALPHA_8",
    "ALPHA_9",
    "ALPHA_10",
    "ALPHA_12",
    "ALPHA_12_RC1",
    "ALPHA_14",
    "ALPHA_14_RC1",
    "DESIGN_1",
    "DESIGN_2",
    "GREP_244",
    "GREP_244_MULTI",
    "NEWEST",
    "RECORDS",
    "RELEASES",
    "REVISIONS",
    "UPSTREAM",
    "ConditionCase",
    "ConditionTexts",
    "Revision",
    "TopologyStatus",
    "precedes",
    "same_record",
]
