"""The facts that the rewriting of one object needs: the two revisions, and the topology that workloads mean."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from packwise.revisions.revision import Revision

__all__ = ["Step"]


class Step(NamedTuple):
    """From `source` to `target`. `topology` is what the operator's own topology is called after it.

    `preferred` is the domain that the source prefers on everything it renders, None where it prefers none.
    `keep_pack_domain` leaves the deprecated field, which alone a running workload may keep. `dynamo` is the release of
    Dynamo after it, None where nobody names one.
    """

    source: Revision
    target: Revision
    topology: str
    preferred: str | None = None
    keep_pack_domain: bool = False
    dynamo: str | None = None

    @property
    def changes_topologies(self) -> bool:
        """True if topologies are objects of another kind afterwards, which users make of the configuration's levels."""
        return self.source.topology_kind != self.target.topology_kind

    @property
    def packs(self) -> bool:
        """True if constraints say `pack` afterwards, and said packDomain before."""
        return self.target.deprecates_pack_domain and not self.source.deprecates_pack_domain
