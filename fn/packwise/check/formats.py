"""The results of a check for programs and forges: JSON, GitHub, GitLab, JUnit, SARIF, and a Markdown comment.

In JUnit an error is a failure. A warning is the output of a passing case. Source: the Ant task's format in
github.com/windyroad/JUnit-Schema.

Source: docs.github.com "Workflow commands for GitHub Actions"; escaped characters: actions/toolkit,
core/src/command.ts; docs.gitlab.com "Code Quality", "Code Quality report format"; docs.oasis-open.org SARIF v2.1.0
errata 01; docs.github.com "SARIF support for code scanning".
"""

from __future__ import annotations

import json
from importlib.metadata import version
from itertools import groupby
from pathlib import PurePosixPath
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from krmfn.terminal import escape_commands, escape_line
from packwise.console import json_text, markup_text
from packwise.output.findings_text import as_lines, count, sentence, speaker_in
from packwise.output.known_findings import fingerprints
from packwise.output.markdown import CommentPart, Section, code, comment
from packwise.rules.run import RULES_BY_NAME, explanation
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from krmfn.result import Result
    from packwise.check.options import Format
    from packwise.findings import Rule
    from packwise.output.findings_text import Checked


def as_json(checked: Checked) -> str:
    """Return a list of findings. Source: spec/packwise.md#3."""
    return json_text([finding_fields(result) for result in checked.results])


def finding_fields(result: Result) -> dict[str, Any]:
    """Return the fields of one finding."""
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


def as_markdown(checked: Checked) -> str:
    """Return the whole comment."""
    return comment("packwise check", [part_of_check(checked)])


def part_of_check(checked: Checked) -> CommentPart:
    """Return the check as a part of a comment."""
    results = checked.results
    lead = [f"### packwise check: {count(results) or 'no findings'} in {count_text(checked.files, 'file')}"]
    lead.append(code(checked.coverage.line))
    by_severity = [[result for result in results if result.severity is severity] for severity in Severity]
    sections = [
        Section(count(listed), [_lines(result) for result in listed], is_open=listed[0].severity is Severity.ERROR)
        for listed in by_severity
        if listed
    ]
    return CommentPart(lead, sections, "packwise check")


def _lines(result: Result) -> list[str]:
    lines = as_lines([result])
    if "operatorMessage" in result.tags:
        lines.append(f"  {speaker_in(result)}: {result.tags['operatorMessage']}")
    if result.field is not None and result.field.proposed is not None:
        lines.append(f"  help: set it to {json.dumps(result.field.proposed, ensure_ascii=False)}")
    return lines


_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def as_github(checked: Checked) -> str:
    """Return one command for each finding. The message also has the place, because GitHub shows only the message in
    the log.
    """
    return "".join([f"{_command(result)}\n" for result in checked.results])


def _command(result: Result) -> str:
    tags = result.tags
    properties = {
        "file": result.file.path if result.file is not None else "",
        "line": tags.get("line", ""),
        "col": tags.get("column", ""),
        "title": f"packwise ({tags['rule']})" if "rule" in tags else "packwise",
    }
    if not properties["file"]:
        # Without a file, the forge would show the line at another file.
        del properties["line"], properties["col"]
    options = ",".join([f"{name}={_property(value)}" for name, value in properties.items() if value])
    message = result.line_of_text().removeprefix(f"{result.severity.value}: ")
    if "operatorMessage" in tags:
        message += f"\n{speaker_in(result)}: {tags['operatorMessage']}"
    return f"::{_COMMANDS[result.severity]} {options}::{_data(message)}"


def _data(text: str) -> str:
    return escape_commands(escape_line(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}

_NOWHERE = "."
"""The path of a finding about the whole input or stdin. GitLab requires a path."""


def as_gitlab(checked: Checked) -> str:
    """Return a list of violations, each with a file and a line, as GitLab requires."""
    hashes = fingerprints(checked.results)
    violations = [_violation(result, fingerprint) for result, fingerprint in zip(checked.results, hashes, strict=True)]
    return json_text(violations)


def _violation(result: Result, fingerprint: str) -> dict[str, Any]:
    operator = result.tags.get("operatorMessage")
    return {
        "description": sentence(result) + ("" if operator is None else f" ({speaker_in(result)}: {operator})"),
        "check_name": result.tags.get("rule", ""),
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[result.severity],
        "location": {
            "path": result.file.path if result.file is not None else _NOWHERE,
            "lines": {"begin": int(result.tags.get("line", "1"))},
        },
    }


_SUITE = "packwise"
"""The name of the suite with findings about the whole input or stdin."""


def as_junit(checked: Checked) -> str:
    """Return a document with a suite for each file with findings, or one passing case."""
    root = Element("testsuites", name="packwise")
    for file, results in groupby(checked.results, _file):
        _add_suite(root, file, list(results))
    if not checked.results:
        suite = SubElement(root, "testsuite", _counts(_SUITE, 1, 0))
        SubElement(suite, "testcase", classname=_SUITE, name="no findings", time="0")
    indent(root)
    return markup_text(f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n')


def _file(result: Result) -> str:
    return result.file.path if result.file is not None else _SUITE


def _add_suite(root: Element, file: str, results: list[Result]) -> None:
    failures = sum(result.severity is Severity.ERROR for result in results)
    suite = SubElement(root, "testsuite", _counts(escape_line(file), len(results), failures))
    for result, name in zip(results, _names(results), strict=True):
        case = SubElement(suite, "testcase", classname=escape_line(file), name=name, time="0")
        text = _text(result)
        if result.severity is Severity.ERROR:
            failure = SubElement(case, "failure", type=result.tags.get("rule", ""), message=escape_line(result.message))
            failure.text = text
        else:
            SubElement(case, "system-out").text = text


def _counts(name: str, tests: int, failures: int) -> dict[str, str]:
    return {"name": name, "tests": str(tests), "failures": str(failures), "errors": "0", "skipped": "0", "time": "0"}


def _names(results: Iterable[Result]) -> list[str]:
    """Return a name for each case: rule, resource and field. Equal names are numbered."""
    counted: dict[str, int] = {}
    names: list[str] = []
    for result in results:
        field = result.field.path if result.field is not None else ""
        parts = [part for part in (result.tags.get("rule"), str(result.resource_ref or ""), field) if part]
        name = escape_line(" ".join(parts) or "finding")
        counted[name] = counted.get(name, 0) + 1
        names.append(name if counted[name] == 1 else f"{name} ({counted[name]})")
    return names


def _text(result: Result) -> str:
    file, line = _file(result), result.tags.get("line")
    lines = [f"{result.severity.value}: {file}{f':{line}' if line else ''}: {sentence(result)}"]
    if "operatorMessage" in result.tags:
        lines.append(f"{speaker_in(result)}: {result.tags['operatorMessage']}")
    return "\n".join([escape_line(each) for each in lines])


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def as_sarif(checked: Checked) -> str:
    """Return a log of one run, with the rules of its findings."""
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
    explained = explanation(rule.name)
    command = f"packwise rules {rule.name}"
    return {
        "id": rule.name,
        "shortDescription": {"text": _escape_braces(rule.summary)},
        "fullDescription": {"text": _escape_braces(explained.why)},
        "help": {
            "text": _escape_braces(f"{explained.fix}\n\nExamples: {command}".replace("`", "")),
            "markdown": _escape_braces(f"{explained.fix}\n\nExamples: `{command}`"),
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
    fields["message"] = {"text": _escape_braces(_message(result))}
    location = {**_physical_location(result), **_logical_location(result)}
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
    return f"{sentence(result)}." + ("" if operator is None else f" {speaker_in(result)}: {operator}")


def _physical_location(result: Result) -> dict[str, Any]:
    """Return the file and the position, or an empty mapping for stdin, which has no address."""
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


def _logical_location(result: Result) -> dict[str, Any]:
    """Return the resource and its field."""
    ref, field = result.resource_ref, result.field
    locations: list[dict[str, str]] = []
    if ref is not None:
        locations.append({"name": ref.name, "fullyQualifiedName": f"{ref.api_version} {ref}", "kind": "resource"})
    if field is not None and field.path:
        locations.append({"fullyQualifiedName": field.path, "kind": "property"})
    return {"logicalLocations": locations} if locations else {}


def _escape_braces(text: str) -> str:
    """Return `text` with escaped braces, because braces mark placeholders (SARIF 3.11.5)."""
    return text.replace("{", "{{").replace("}", "}}")


PRINTERS: Mapping[Format, Callable[[Checked], str]] = {
    "json": as_json,
    "github": as_github,
    "gitlab": as_gitlab,
    "sarif": as_sarif,
    "junit": as_junit,
    "markdown": as_markdown,
}
"""The formats for programs. `packwise.output.findings_text` formats findings for people."""
