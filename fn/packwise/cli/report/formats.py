"""The formats by name. Each is imported only where it is asked for: people who read text wait for no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from packwise.cli.arguments import Format
    from packwise.cli.report.checked import Checked

__all__ = ["printer"]


def printer(name: Format) -> Callable[[Checked], str]:
    """What prints a check in the format of that name."""
    match name:
        case "text":
            from packwise.cli.report.text import as_text

            return as_text
        case "json":
            from packwise.cli.report.json import as_json

            return as_json
        case "github":
            from packwise.cli.report.github import as_github

            return as_github
        case "gitlab":
            from packwise.cli.report.gitlab import as_gitlab

            return as_gitlab
        case "markdown":
            from packwise.cli.report.markdown import as_markdown

            return as_markdown
        case "sarif":
            from packwise.cli.report.sarif import as_sarif

            return as_sarif
