"""Text made safe for terminals and for the runners of CI jobs.

Runners look for commands in a job's output. Source: actions/runner, `src/Runner.Common/ActionCommand.cs` (`::name …::`
at the start of a line, `##[name …]` anywhere); microsoft/azure-pipelines-agent, `Command.cs` (`##vso[area.event …]`
anywhere); TeamCity's service messages (`##teamcity[name …]`).
"""

from __future__ import annotations

import re

__all__ = ["HASH", "escape_commands", "escape_line"]

HASH = r"#(?=#\w{0,40}\[)"
"""Pattern of a `#` that begins a command anywhere in a line. JSON and HTML need another escape for it."""

# A runner ends lines at a carriage return too, and skips white space before a command.
_COMMAND = rf"(?:^|(?<=\r))([^\S\r\n]*):(?=:[\w-]+(?:[ ][^\r\n]*)?::)|{HASH}"


def escape_line(line: str) -> str:
    """Return `line` with escapes instead of control characters, unusual spaces and marks that change the direction of
    text.
    """
    if line.isprintable():
        return line
    return "".join([char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in line])


def escape_commands(text: str) -> str:
    """Return `text` with an escape at the start of each command that a runner would obey."""
    if "::" not in text and "##" not in text:
        return text
    return re.sub(_COMMAND, _escape, text, flags=re.MULTILINE)


def _escape(command: re.Match[str]) -> str:
    return rf"{command[1]}\x3a" if command[0].endswith(":") else r"\x23"
