"""What a ClusterTopology's status says of the object that a scheduler gets of it.

Source: revisions.md "Conditions", ClusterTopology `Ready`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.plan import Condition, LastError, Status

if TYPE_CHECKING:
    from packwise.revisions import Revision

__all__ = ["topology_status"]

_TYPE = "Ready"


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
