"""Findings for programs, as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from packwise.cli.rules import RULES_BY_NAME

if TYPE_CHECKING:
    from krmfn.result import Result
    from packwise.cli.report.checked import Checked

__all__ = ["as_json", "finding_fields"]


def as_json(checked: Checked) -> str:
    """A list of findings. Source: product.md "Contract"."""
    return json.dumps([finding_fields(result) for result in checked.results], ensure_ascii=False, indent=2) + "\n"


def finding_fields(result: Result) -> dict[str, Any]:
    """One finding."""
    tags, ref = result.tags, result.resource_ref
    name = tags.get("rule", "")
    rule = RULES_BY_NAME.get(name)
    found: dict[str, Any] = {"rule": name, "severity": result.severity.value, "message": result.message}
    for key in ("operatorMessage", "stage"):
        if key in tags:
            found[key] = tags[key]
    if "order" in tags:
        found["order"] = int(tags["order"])
    found["path"] = result.field.path if result.field is not None else ""
    found["resource"] = {
        "apiVersion": ref.api_version if ref is not None else "",
        "kind": ref.kind if ref is not None else "",
        "namespace": ref.namespace if ref is not None else "",
        "name": ref.name if ref is not None else "",
    }
    found["file"] = result.file.path if result.file is not None else None
    found["line"] = int(tags["line"]) if "line" in tags else None
    found["column"] = int(tags["column"]) if "column" in tags else None
    found["help"] = rule.summary if rule is not None else ""
    return found
