"""Findings for programs, as JSON."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.report.visible import json_text
from packwise.cli.rules import RULES_BY_NAME

if TYPE_CHECKING:
    from typing import Any

    from krmfn.result import Result
    from packwise.cli.report.checked import Checked

__all__ = ["as_json", "finding_fields"]


def as_json(checked: Checked) -> str:
    """A list of findings. Source: spec/packwise.md#3."""
    return json_text([finding_fields(result) for result in checked.results])


def finding_fields(result: Result) -> dict[str, Any]:
    """One finding."""
    tags, ref = result.tags, result.resource_ref
    name = tags.get("rule", "")
    rule = RULES_BY_NAME.get(name)
    fields: dict[str, Any] = {"rule": name, "severity": result.severity.value, "message": result.message}
    for key in ("operatorMessage", "stage", "origin"):
        if key in tags:
            fields[key] = tags[key]
    if "order" in tags:
        fields["order"] = int(tags["order"])
    fields["path"] = result.field.path if result.field is not None else ""
    fields["resource"] = {
        "apiVersion": ref.api_version if ref is not None else "",
        "kind": ref.kind if ref is not None else "",
        "namespace": ref.namespace if ref is not None else "",
        "name": ref.name if ref is not None else "",
    }
    fields["file"] = result.file.path if result.file is not None else None
    fields["line"] = int(tags["line"]) if "line" in tags else None
    fields["column"] = int(tags["column"]) if "column" in tags else None
    fields["help"] = rule.summary if rule is not None else ""
    return fields
