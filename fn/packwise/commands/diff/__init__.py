"""What changes for the scheduler between two states: objects compared, and what their changes mean."""

from __future__ import annotations

from packwise.commands.diff.change import Action, Change, Entry, FieldChange, format_steps
from packwise.commands.diff.difference import Difference, Dropped, State, diff, state_after, state_before

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
