"""A comparison as JSON Patches, one for every object that stays."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.diff_output.json import resource
from packwise.cli.rendered_files import without_bookkeeping
from packwise.cli.report.visible import json_text
from packwise.commands.diff import Action
from packwise.commands.diff.difference import json_patch

if TYPE_CHECKING:
    from typing import Any

    from packwise.cli.diff_output.result import Compared
    from packwise.commands.diff import Change

__all__ = ["as_patches"]


def as_patches(compared: Compared) -> str:
    """A list with an entry for every object that differs. Source: docs/reference/diff.md."""
    return json_text([_entry(change) for change in compared.difference.changes])


def _entry(change: Change) -> dict[str, Any]:
    # Of a gang whose epoch differs, the patch is for the object that is there.
    patched = change.before or change.subject
    entry: dict[str, Any] = {"action": change.action.value, "resource": resource(patched)}
    if change.before is not None and change.after is not None:
        entry["patch"] = json_patch(change.before.value, change.after.value)
    if change.after is not None and change.action in (Action.CREATE, Action.RECREATE):
        entry["object"] = without_bookkeeping(change.after).value
    return entry
