"""Options of `packwise report`, as values."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Literal

    from packwise.inputs.request import Named

    ReportFormat = Literal["html", "svg", "mermaid"]


REPORT_FORMATS: tuple[ReportFormat, ...] = ("html", "svg", "mermaid")
"""The formats of a report."""


class Drawing(Record):
    """A report in a format for `file`, or for stdout if it is None."""

    format: ReportFormat
    file: str | None = None


class ReportOptions(Record):
    """`packwise report`. `nodes` are files with a cluster's nodes and pods.

    `source_url` is a template of links with `{path}` and `{line}`, or None for relative links.
    """

    named: Named
    outputs: tuple[Drawing, ...]
    nodes: tuple[str, ...] = ()
    source_url: str | None = None
