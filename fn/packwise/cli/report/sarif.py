"""Findings as SARIF 2.1.0, for code scanning. Nothing in it depends on the time or the machine.

Source: docs.oasis-open.org SARIF v2.1.0 errata 01; docs.github.com "SARIF support for code scanning".
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import PurePosixPath
from urllib.parse import quote

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.cli.report.lines import sentence
from packwise.cli.report.visible import json_text
from packwise.cli.rules import RULES_BY_NAME
from packwise.findings.known import fingerprints

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from krmfn.result import Result
    from packwise.cli.report.checked import Checked
    from packwise.findings.finding import Rule

__all__ = ["as_sarif"]

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def as_sarif(checked: Checked) -> str:
    """A log of one run, with the rules that occur in it."""
    rules = sorted({result.tags["rule"] for result in checked.results if result.tags.get("rule") in RULES_BY_NAME})
    hashes = fingerprints(checked.results)
    run = {
        "tool": {
            "driver": {
                "name": "packwise",
                "version": version("packwise"),
                "rules": [_descriptor(RULES_BY_NAME[name]) for name in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder in which packwise ran."}}},
        "properties": {"coverage": checked.coverage.fields},
        "results": [
            _result(result, fingerprint, rules) for result, fingerprint in zip(checked.results, hashes, strict=True)
        ],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_text(log)


def _descriptor(rule: Rule) -> dict[str, Any]:
    # Only this format explains rules; the others do without.
    from packwise.commands.rules import explanation

    explained = explanation(rule.name)
    command = f"packwise rules {rule.name}"
    return {
        "id": rule.name,
        "shortDescription": {"text": _literal(rule.summary)},
        "fullDescription": {"text": _literal(explained.why)},
        "help": {
            "text": _literal(f"{explained.fix}\n\nExamples: {command}".replace("`", "")),
            "markdown": _literal(f"{explained.fix}\n\nExamples: `{command}`"),
        },
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(result: Result, fingerprint: str, rules: Sequence[str]) -> dict[str, Any]:
    name = result.tags.get("rule", "")
    fields: dict[str, Any] = {}
    if name:
        fields["ruleId"] = name
    if name in rules:
        fields["ruleIndex"] = rules.index(name)
    fields["level"] = _LEVELS[result.severity]
    fields["message"] = {"text": _literal(_message(result))}
    location = {**_physical(result), **_logical(result)}
    if location:
        fields["locations"] = [location]
    fields["partialFingerprints"] = {"packwise/v1": fingerprint}
    if "ignored" in result.tags:
        reason = result.tags["ignored"]
        fields["suppressions"] = [{"kind": "inSource", **({"justification": reason} if reason else {})}]
    properties = {key: result.tags[key] for key in ("operatorMessage", "stage") if key in result.tags}
    if properties:
        fields["properties"] = properties
    return fields


def _message(result: Result) -> str:
    operator = result.tags.get("operatorMessage")
    return f"{sentence(result)}." + ("" if operator is None else f" The operator: {operator}")


def _physical(result: Result) -> dict[str, Any]:
    """Where in which file; nothing for stdin, which has no address."""
    if result.file is None:
        return {}
    physical: dict[str, Any] = {"artifactLocation": _artifact(result.file.path)}
    tags = (("startLine", "line"), ("startColumn", "column"))
    region = {name: int(result.tags[tag]) for name, tag in tags if tag in result.tags}
    if region:
        physical["region"] = region
    return {"physicalLocation": physical}


def _artifact(path: str) -> dict[str, str]:
    if PurePosixPath(path).is_absolute():
        return {"uri": f"file://{quote(path, errors='surrogateescape')}"}
    return {"uri": quote(path, errors="surrogateescape"), "uriBaseId": _ROOT}


def _logical(result: Result) -> dict[str, Any]:
    """Which resource, and which field of it."""
    ref, field = result.resource_ref, result.field
    locations: list[dict[str, str]] = []
    if ref is not None:
        locations.append({"name": ref.name, "fullyQualifiedName": f"{ref.api_version} {ref}", "kind": "resource"})
    if field is not None and field.path:
        locations.append({"fullyQualifiedName": field.path, "kind": "property"})
    return {"logicalLocations": locations} if locations else {}


def _literal(text: str) -> str:
    """`text` where braces stand for placeholders (SARIF 3.11.5)."""
    return text.replace("{", "{{").replace("}", "}}")
