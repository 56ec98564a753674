"""Statuses of objects: their conditions, and what a ClusterTopology's says of the scheduler's object made of it.

Source: spec/designs.md#5, ClusterTopology `Ready`.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from packwise.revisions import Revision

__all__ = ["Condition", "LastError", "Status", "topology_status"]

_TYPE = "Ready"


class Condition(NamedTuple):
    """One condition of an object's status, without its times. Source: spec/designs.md#5."""

    type: str
    status: str
    reason: str
    message: str


class LastError(NamedTuple):
    """The last error of an operator, in an object's status, without its time."""

    code: str
    description: str


class Status(NamedTuple):
    """An object's status, as far as a render tells it."""

    conditions: tuple[Condition, ...] = ()
    last_errors: tuple[LastError, ...] = ()


def topology_status(revision: Revision, why: str | None) -> Status:
    """The status of a ClusterTopology; `why` is the refusal of the scheduler's API server, None where there is none."""
    texts = revision.topology_status
    if texts is None:
        return Status()
    if why is None:
        return Status((Condition(_TYPE, *texts.ready),))
    failed = texts.failed._replace(message=texts.failed.message.format(why=why))
    error = LastError(texts.error_code, texts.error_description.format(why=why))
    return Status((Condition(_TYPE, *failed),), (error,))
