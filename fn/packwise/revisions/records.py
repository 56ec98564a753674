"""Every revision: designs and releases of Grove, in the order in which a cluster comes to run them."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.revisions.designs import DESIGN_1, DESIGN_2, GREP_244, GREP_244_MULTI
from packwise.revisions.releases import (
    ALPHA_8,
    ALPHA_9,
    ALPHA_10,
    ALPHA_12,
    ALPHA_12_RC1,
    ALPHA_14,
    ALPHA_14_RC1,
    UPSTREAM,
)

if TYPE_CHECKING:
    from packwise.revisions.revision import Revision

__all__ = ["NEWEST", "RECORDS", "RELEASES", "REVISIONS", "precedes", "same_record"]

RECORDS: tuple[Revision, ...] = (
    DESIGN_1,
    DESIGN_2,
    GREP_244,
    ALPHA_8,
    GREP_244_MULTI,
    ALPHA_9,
    ALPHA_10,
    ALPHA_12_RC1,
    UPSTREAM,
    ALPHA_12,
    ALPHA_14_RC1,
    ALPHA_14,
)
"""Every record once."""

REVISIONS: dict[str, Revision] = {
    name: record._replace(name=name) for record in RECORDS for name in dict.fromkeys((record.name, *record.releases))
}
"""Every name that `spec.revision` may have: its record, of that name."""

RELEASES = tuple(record for record in RECORDS if record.releases)
"""Every record that clusters run or ran."""

NEWEST = ALPHA_14._replace(name=ALPHA_14.releases[-1])
"""The newest release, which is assumed where the input shows none."""

_PLACES = {
    name: (place, record.releases.index(name) if name in record.releases else -1)
    for place, record in enumerate(RECORDS)
    for name in (record.name, *record.releases)
}
_AFTER_ALL = (len(RECORDS), 0)


def precedes(revision: Revision, other: Revision) -> bool:
    """Whether `revision` came before `other`; of one record's tags, the order in which they were released counts."""
    return _PLACES.get(revision.name, _AFTER_ALL) < _PLACES.get(other.name, _AFTER_ALL)


def same_record(revision: Revision, other: Revision) -> bool:
    """Whether both are names of one record, which do the same."""
    return _PLACES.get(revision.name, _AFTER_ALL)[0] == _PLACES.get(other.name, _AFTER_ALL)[0]
