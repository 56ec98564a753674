"""A comparison as JSON Patches, one for every object that stays."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from packwise.cli.differ.json import resource
from packwise.cli.outcome import without_bookkeeping
from packwise.diff import Action
from packwise.diff.patch import json_patch

if TYPE_CHECKING:
    from packwise.cli.differ.compared import Compared
    from packwise.diff import Change

__all__ = ["as_patches"]


def as_patches(compared: Compared) -> str:
    """A list with an entry for every object that differs. Source: docs/reference/diff.md."""
    return json.dumps([_entry(one) for one in compared.difference.changes], ensure_ascii=False, indent=2) + "\n"


def _entry(change: Change) -> dict[str, Any]:
    entry: dict[str, Any] = {"action": change.action.value, "resource": resource(change.subject)}
    if change.before is not None and change.after is not None:
        entry["patch"] = json_patch(change.before.value, change.after.value)
    if change.after is not None and change.action in (Action.CREATE, Action.RECREATE):
        entry["object"] = without_bookkeeping(change.after).value
    return entry
