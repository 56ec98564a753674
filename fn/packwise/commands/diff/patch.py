"""A change as JSON Patch (RFC 6902)."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.commands.diff.comparable import with_counted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from krmfn.value import Value

__all__ = ["json_patch"]


def json_patch(before: Mapping[str, Value], after: Mapping[str, Value]) -> list[dict[str, Any]]:
    """The operations that give the object `before` what counts of `after`, and leave alone what does not count."""
    # Costs as much at start as the rest of a comparison's imports.
    from jsonpatch import make_patch

    target = with_counted(before, after)
    return list(make_patch(dict(before), target))
