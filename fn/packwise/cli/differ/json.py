"""A comparison for programs. Source: docs/reference/diff.md, which is the schema in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from packwise.cli.differ.compared import notes
from packwise.cli.report.json import finding_fields
from packwise.diff import Action, format_steps

if TYPE_CHECKING:
    from krmfn.kubeobject import KubeObject
    from packwise.cli.differ.compared import Compared
    from packwise.diff import Change, Dropped, FieldChange

__all__ = ["as_json", "resource"]


def as_json(compared: Compared) -> str:
    """One object: what was compared, how much differs, and all of it."""
    found = compared.difference
    counts = {action.value: sum(1 for one in found.changes if one.action is action) for action in Action}
    whole = {
        "before": {"name": compared.before, "rendered": compared.before_rendered},
        "after": {"name": compared.after, "rendered": compared.after_rendered},
        "compared": found.compared,
        "summary": {
            **counts,
            "droppedConstraints": len(found.dropped),
            "refusals": len(found.refusals),
            "unreadable": len(found.unreadable),
        },
        "changes": [_change(one) for one in found.changes],
        "droppedConstraints": [_dropped(one) for one in found.dropped],
        "refusals": [finding_fields(one) for one in found.refusals],
        "unreadable": [finding_fields(one) for one in found.unreadable],
        "notes": notes(compared),
    }
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


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
