"""Files by which clients run functions, and the problems that keep a client from doing what they say."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from packwise.settings.topologyrender import GROUP, KIND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value

KPTFILE = "Kptfile"


class ClientProblem(Record):
    """Why a client would pass over packwise, or fail by it; the message says what to do.

    Line and column count from 1; 0 where it is about the whole file.
    """

    file: str
    message: str
    line: int = 0
    column: int = 0


def is_settings_value(value: Mapping[str, Value]) -> bool:
    """True if the object is a TopologyRender."""
    return value.get("kind") == KIND and str(value.get("apiVersion")).partition("/")[0] == GROUP


def words_of(value: Value) -> list[str]:
    """The strings of a list; none where it is no list."""
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []
