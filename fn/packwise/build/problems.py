"""Problems that prevent clients from running packwise."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.settings.topologyrender import GROUP, KIND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value

KPTFILE = "Kptfile"


class ClientProblem(Record):
    """The reason why a client would ignore packwise or fail with it. The message names the fix.

    Line and column count from 1. They are 0 if the problem concerns the whole file.
    """

    file: str
    message: str
    line: int = 0
    column: int = 0


def is_settings_value(value: Mapping[str, Value]) -> bool:
    """Return True if the object is a TopologyRender."""
    return value.get("kind") == KIND and str(value.get("apiVersion")).partition("/")[0] == GROUP
