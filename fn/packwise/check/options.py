"""Options of `packwise check`, as values."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.inputs.request import Named, Verbosity

if TYPE_CHECKING:
    from typing import Literal

    Format = Literal["text", "json", "github", "gitlab", "sarif", "junit", "markdown"]


FORMATS: tuple[Format, ...] = ("text", "json", "github", "gitlab", "sarif", "junit", "markdown")
"""The formats of findings."""


class Output(Record):
    """Findings in a format for `file`, or for stdout if it is None."""

    format: Format = "text"
    file: str | None = None


class Fix(Record):
    """Options of `--fix`. `unsafe` includes fixes that change the meaning. `show` prints a diff and writes no file."""

    unsafe: bool = False
    show: bool = False


class FindingChoice(Record):
    """The findings that a check reports, and the limit of warnings.

    If `selected` has rules, only these are reported. `known` is the file of earlier findings. `written` is the file to
    write findings to.
    """

    ignored: tuple[str, ...] = ()
    selected: tuple[str, ...] = ()
    known: str | None = None
    written: str | None = None
    max_warnings: int | None = None


class CheckOptions(Record):
    """`packwise check`. `fix` is None if no files are fixed.

    `changed_since` is a commit: only findings that the change since then affects are reported. With
    `requires_workloads`, at least one workload must be checked.
    """

    named: Named
    outputs: tuple[Output, ...] = (Output(),)
    fix: Fix | None = None
    choice: FindingChoice = FindingChoice()
    verbosity: Verbosity = Verbosity.NORMAL
    nodes: tuple[str, ...] = ()
    changed_since: str | None = None
    requires_workloads: bool = False
