"""What a rule is for, with YAML that breaks it and YAML that keeps it: data for people, no part of a render."""

from __future__ import annotations

from packwise.commands.rules.example import Refusal, refusal, results_of
from packwise.commands.rules.explanation import Explanation, explained, explanation

__all__ = ["Explanation", "Refusal", "explained", "explanation", "refusal", "results_of"]
