"""The search for commands in a job's output, as CI runners make it. Tests check that no input becomes a command.

Source: actions/runner, `src/Runner.Common/ActionCommand.cs`, `TryParseV2` and `TryParse`;
microsoft/azure-pipelines-agent, `src/Agent.Sdk/Command.cs`, `TryParse`.
"""

from __future__ import annotations

import re

REGISTERED = frozenset(
    (
        *("add-mask", "add-matcher", "add-path", "debug", "echo", "endgroup", "error", "group", "notice"),
        *("remove-matcher", "save-state", "set-env", "set-output", "stop-commands", "warning"),
    )
)
"""The commands of GitHub's runner."""


def commands_in(output: str) -> list[str]:
    """Return the lines of `output` that a runner treats as commands."""
    return [line for line in re.split(r"\r\n|\r|\n", output) if is_command(line)]


def is_command(line: str) -> bool:
    """Return True if a runner obeys `line`."""
    return _is_second_syntax(line) or _is_first_syntax(line) or _is_of_azure(line)


def _is_second_syntax(line: str) -> bool:
    line = line.lstrip()
    end = line.find("::", 2)
    return line.startswith("::") and end >= 0 and line[2:end].partition(" ")[0].lower() in REGISTERED


def _is_first_syntax(line: str) -> bool:
    start = line.find("##[")
    end = line.find("]", start)
    return 0 <= start < end and line[start + 3 : end].partition(" ")[0].lower() in REGISTERED


def _is_of_azure(line: str) -> bool:
    start = line.find("##vso[")
    return 0 <= start < line.find("]", start)
