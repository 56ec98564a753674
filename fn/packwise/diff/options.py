"""Options of `packwise diff`, as values."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Literal

    from packwise.inputs.request import Builder

    DiffFormat = Literal["text", "json", "patch", "markdown"]


DIFF_FORMATS: tuple[DiffFormat, ...] = ("text", "json", "patch", "markdown")
"""The formats of a comparison."""


class Diff(Record):
    """`packwise diff` from `before` to `after`. With `exit_code`, a change counts as an error.

    `hidden` are the names of kinds that the user may not list. They are not compared.
    """

    before: str
    after: str
    config: str | None = None
    crds: tuple[str, ...] = ()
    output: DiffFormat = "text"
    exit_code: bool = False
    exclude: tuple[str, ...] = ()
    builder: Builder | None = None
    hidden: frozenset[str] = frozenset()
