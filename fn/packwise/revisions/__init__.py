"""The design revisions of topology-aware scheduling, as records."""

from __future__ import annotations

from packwise.revisions.revision import DEFAULT, GREP_244, GREP_244_MULTI, REVISIONS, ConditionTexts, Revision

__all__ = ["DEFAULT", "GREP_244", "GREP_244_MULTI", "REVISIONS", "ConditionTexts", "Revision"]
