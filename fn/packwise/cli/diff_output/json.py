"""A comparison for programs. Source: docs/reference/diff.md, which is the schema in words."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.diff_output.result import notes
from packwise.cli.report.json import finding_fields
from packwise.cli.report.visible import json_text
from packwise.commands.diff import Action, format_steps

if TYPE_CHECKING:
    from typing import Any

    from krmfn.kubeobject import KubeObject
    from packwise.cli.diff_output.result import Compared
    from packwise.commands.diff import Change, Dropped, FieldChange

__all__ = ["as_json", "resource"]


def as_json(compared: Compared) -> str:
    """One object: what was compared, how much differs, and all of it."""
    difference, (before, after) = compared.difference, compared.coverage
    counts = {action.value: sum(1 for change in difference.changes if change.action is action) for action in Action}
    whole = {
        "before": {"name": compared.before, "rendered": compared.before_rendered, "coverage": before.fields},
        "after": {"name": compared.after, "rendered": compared.after_rendered, "coverage": after.fields},
        "compared": difference.compared,
        "summary": {
            **counts,
            "droppedConstraints": len(difference.dropped),
            "refusals": len(difference.refusals),
            "unreadable": len(difference.unreadable),
        },
        "changes": [_change(change) for change in difference.changes],
        "droppedConstraints": [_dropped(lost) for lost in difference.dropped],
        "refusals": [finding_fields(result) for result in difference.refusals],
        "unreadable": [finding_fields(result) for result in difference.unreadable],
        "notes": notes(compared),
    }
    return json_text(whole)


def resource(item: KubeObject) -> dict[str, str]:
    """What tells the object from others; a part that is no text is left empty."""
    parts = {
        "apiVersion": item.get("apiVersion"),
        "kind": item.get("kind"),
        "namespace": item.get("metadata.namespace"),
        "name": item.get("metadata.name"),
    }
    return {name: part if isinstance(part, str) else "" for name, part in parts.items()}


def _change(change: Change) -> dict[str, Any]:
    return {
        "action": change.action.value,
        "resource": resource(change.subject),
        "meaning": list(change.meaning),
        "fields": [_field(field) for field in change.fields],
    }


def _field(field: FieldChange) -> dict[str, Any]:
    values = {"before": field.before, "after": field.after}
    return {"path": format_steps(field.path), **{key: value for key, value in values.items() if value is not None}}


def _dropped(lost: Dropped) -> dict[str, Any]:
    constraint = lost.constraint
    return {
        "resource": resource(lost.subject),
        "holder": format_steps(constraint.holder),
        "strength": constraint.strength,
        "key": constraint.key,
        "domain": lost.domain,
        "reason": lost.reason.value,
        "message": lost.message,
    }
