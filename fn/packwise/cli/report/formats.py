"""The formats by name: each is a module of this folder, imported only where it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from packwise.cli.arguments import Format
    from packwise.cli.report.checked import Checked

__all__ = ["printer"]


def printer(name: Format) -> Callable[[Checked], str]:
    """What prints a check in the format of that name."""
    module = import_module(f"packwise.cli.report.{name}")
    return cast("Callable[[Checked], str]", getattr(module, f"as_{name}"))
