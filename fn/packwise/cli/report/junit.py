"""Findings as JUnit XML, which CI systems show as tests: a suite for each file, a case for each finding.

An error is a failure. A warning fails nothing, so its case passes, and its text stands in the case's output. Source:
the Ant task's format, as github.com/windyroad/JUnit-Schema has it.
"""

from __future__ import annotations

from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.cli.report.lines import sentence
from packwise.cli.report.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.result import Result
    from packwise.cli.report.checked import Checked

__all__ = ["as_junit"]

_NOWHERE = "packwise"
"""The suite of findings about the whole input, or about stdin."""


def as_junit(checked: Checked) -> str:
    """A document with a suite for each file that has findings; without any, one suite with a case that passes."""
    root = Element("testsuites", name="packwise")
    for file, results in groupby(checked.results, _file):
        _add_suite(root, file, list(results))
    if not checked.results:
        suite = SubElement(root, "testsuite", _counts(_NOWHERE, 1, 0))
        SubElement(suite, "testcase", classname=_NOWHERE, name="no findings", time="0")
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _file(result: Result) -> str:
    return result.file.path if result.file is not None else _NOWHERE


def _add_suite(root: Element, file: str, results: list[Result]) -> None:
    failures = sum(result.severity is Severity.ERROR for result in results)
    suite = SubElement(root, "testsuite", _counts(visible(file), len(results), failures))
    for result, name in zip(results, _names(results), strict=True):
        case = SubElement(suite, "testcase", classname=visible(file), name=name, time="0")
        text = _text(result)
        if result.severity is Severity.ERROR:
            failure = SubElement(case, "failure", type=result.tags.get("rule", ""), message=visible(result.message))
            failure.text = text
        else:
            SubElement(case, "system-out").text = text


def _counts(name: str, tests: int, failures: int) -> dict[str, str]:
    return {"name": name, "tests": str(tests), "failures": str(failures), "errors": "0", "skipped": "0", "time": "0"}


def _names(results: Iterable[Result]) -> list[str]:
    """A name for each case: rule, resource and field; with a number where another has the same."""
    counted: dict[str, int] = {}
    names: list[str] = []
    for result in results:
        field = result.field.path if result.field is not None else ""
        parts = [part for part in (result.tags.get("rule"), str(result.resource_ref or ""), field) if part]
        name = visible(" ".join(parts) or "finding")
        counted[name] = counted.get(name, 0) + 1
        names.append(name if counted[name] == 1 else f"{name} ({counted[name]})")
    return names


def _text(result: Result) -> str:
    file, line = _file(result), result.tags.get("line")
    lines = [f"{result.severity.value}: {file}{f':{line}' if line else ''}: {sentence(result)}"]
    if "operatorMessage" in result.tags:
        lines.append(f"operator: {result.tags['operatorMessage']}")
    return "\n".join([visible(each) for each in lines])
