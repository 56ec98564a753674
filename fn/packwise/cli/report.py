"""Findings for people, line by line, and for programs, as JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from krmfn.result import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krmfn.result import Result

__all__ = ["as_json", "as_lines", "as_text", "count"]

_COLOURS = {Severity.ERROR: 31, Severity.WARNING: 33, Severity.INFO: 36}
_PLURALS = {Severity.ERROR: "errors", Severity.WARNING: "warnings", Severity.INFO: "infos"}
# A terminal would act on them, and one finding is one line.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def as_lines(results: Iterable[Result], *, coloured: bool = False) -> list[str]:
    """One line for each result; the word of its severity coloured where that is wanted."""
    return [_line(result, coloured=coloured) for result in results]


def as_text(results: Sequence[Result], files: int) -> str:
    """The results, each with the operator's own text below it, and how many there are in that many `files`."""
    lines: list[str] = []
    for result in results:
        lines.append(_line(result))
        if "operatorMessage" in result.tags:
            lines.append(f"  operator: {_visible(result.tags['operatorMessage'])}")
    where = "1 file" if files == 1 else f"{files} files"
    lines.append(f"{count(results) or 'no findings'} in {where}")
    return "".join([f"{line}\n" for line in lines])


def count(results: Iterable[Result]) -> str:
    """`2 errors, 1 warning`; nothing where there are none."""
    counted = Counter(result.severity for result in results)
    return ", ".join(
        f"{counted[severity]} {severity.value if counted[severity] == 1 else plural}"
        for severity, plural in _PLURALS.items()
        if counted[severity]
    )


def as_json(results: Iterable[Result]) -> str:
    """A list of findings. Source: product.md "Contract"."""
    return json.dumps([_finding(result) for result in results], ensure_ascii=False, indent=2) + "\n"


def _finding(result: Result) -> dict[str, Any]:
    # Only what explains findings knows every rule: text output and renders do without.
    from packwise.cli.rules import RULES_BY_NAME

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


def _line(result: Result, *, coloured: bool = False) -> str:
    line, word = _visible(result.line_of_text()), result.severity.value
    return f"\033[{_COLOURS[result.severity]}m{word}\033[0m{line[len(word) :]}" if coloured else line


def _visible(text: str) -> str:
    """`text` with escapes in the place of control characters."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)
