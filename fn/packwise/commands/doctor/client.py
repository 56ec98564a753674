"""A client that would run packwise, and what keeps it from that. Source: spec/clients.md#2a, #2b."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.discovery import KUSTOMIZATIONS
from packwise.settings.topologyrender import GROUP, KIND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value

__all__ = ["CLIENT_FILES", "KPTFILE", "Client", "Problem", "is_settings_value", "words_of"]

KPTFILE = "Kptfile"
CLIENT_FILES = (*KUSTOMIZATIONS, KPTFILE)
"""Names of the files by which clients run functions."""


class Client(NamedTuple):
    """`file` makes the client `name` run packwise as `role`; `command` starts it.

    A "deployer" applies what packwise rendered before. `notes` say what to know of it.
    """

    name: str
    file: str
    role: str
    command: str
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What the client does by which file, and the command."""
        does = "applies what packwise rendered" if self.role == "deployer" else f"runs packwise as a {self.role}"
        return f"{self.name} {does} ({self.file}): {self.command}"


class Problem(NamedTuple):
    """Why a client would pass over packwise, or fail by it; the message says what to do.

    Line and column count from 1; 0 where it is about the whole file.
    """

    file: str
    message: str
    line: int = 0
    column: int = 0


def is_settings_value(value: Mapping[str, Value]) -> bool:
    """Whether the object is a TopologyRender."""
    return value.get("kind") == KIND and str(value.get("apiVersion")).partition("/")[0] == GROUP


def words_of(value: Value) -> list[str]:
    """The strings of a list; none where it is no list."""
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []
