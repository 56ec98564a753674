"""What a scheduler has against one of its objects, whoever wrote it, and for which versions that counts."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath
    from packwise.finding import Stage

__all__ = ["Effect", "Fault", "Target"]


class Effect(Enum):
    """What becomes of an object with a fault."""

    REFUSED = auto()
    """The API server does not take it."""
    UNKNOWN = auto()
    """The field is dropped, unless the client looks for unknown ones."""
    IGNORED = auto()
    """It is taken, and does not do what it says."""


class Fault(NamedTuple):
    """What a scheduler has against one of its objects, in the field at `path`.

    `message` is what is wrong, `consequence` who does what about it. `operator_message` is the exact text of the API
    server or webhook that would refuse it at `stage`.
    """

    path: FieldPath
    message: str
    consequence: str
    effect: Effect = Effect.REFUSED
    operator_message: str | None = None
    stage: Stage | None = None

    def told(self) -> str:
        """The whole message."""
        return f"{self.message}: {self.consequence}"


class Target(NamedTuple):
    """What objects are rendered for: the oldest `version` of the scheduler (None: every known one).

    `by_operator`: whether the workloads' operator makes the scheduler's groups of pods, or the scheduler does itself.
    """

    version: str | None = None
    by_operator: bool = False
