"""Findings as workflow commands, which GitHub Actions shows beside the changed lines.

Source: docs.github.com "Workflow commands for GitHub Actions"; what is escaped: actions/toolkit, core/src/command.ts.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.cli.report.visible import visible

if TYPE_CHECKING:
    from krmfn.result import Result
    from packwise.cli.report.checked import Checked

__all__ = ["as_github"]

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def as_github(checked: Checked) -> str:
    """One command for each finding; GitHub shows the message in the log, so that it names the place too."""
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
        # A line without a file would be shown beside some other file.
        del properties["line"], properties["col"]
    options = ",".join([f"{name}={_property(value)}" for name, value in properties.items() if value])
    message = result.line_of_text().removeprefix(f"{result.severity.value}: ")
    if "operatorMessage" in tags:
        message += f"\noperator: {tags['operatorMessage']}"
    return f"::{_COMMANDS[result.severity]} {options}::{_data(message)}"


def _data(text: str) -> str:
    return visible(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
