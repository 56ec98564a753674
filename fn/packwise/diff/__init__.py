"""What changes for the scheduler between two states: objects compared, and what their changes mean."""

from __future__ import annotations

from packwise.diff.change import Action, Change
from packwise.diff.difference import Difference, diff
from packwise.diff.fields import Entry, FieldChange, format_steps
from packwise.diff.meaning import Dropped
from packwise.diff.state import State, state_after, state_before

__all__ = [
    "Action",
    "Change",
    "Difference",
    "Dropped",
    "Entry",
    "FieldChange",
    "State",
    "diff",
    "format_steps",
    "state_after",
    "state_before",
]
