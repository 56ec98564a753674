"""What PodGangs do not say of the workload they are of: queue, scheduler, and where their parts are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from packwise.frontends.grove import names
from packwise.frontends.grove.queue import queue_of, resolve_queue
from packwise.frontends.grove.rules.rule import TEMPLATE
from packwise.plan import GangTraits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = ["gang_traits"]


def gang_traits(pcs: PodCliqueSet, topology: str | None) -> GangTraits:
    """The traits of the PodGangs of `pcs`, whose constraints are about `topology`."""
    queues = [queue_of(owner.labels, owner.annotations) for owner in (pcs, *pcs.cliques)]
    schedulers = [name for clique in pcs.cliques if isinstance(name := clique.pod_spec.get("schedulerName"), str)]
    return GangTraits(
        resolve_queue(pcs),
        tuple(dict.fromkeys([queue for queue in queues if queue])),
        next((name for name in schedulers if name), ""),
        topology,
        _Places(pcs).of,
    )


class _Places(NamedTuple):
    """Where a PodGang of `pcs`, and each of its parts, is written."""

    pcs: PodCliqueSet

    def of(self, gang: str, part: str | None) -> FieldPath:
        """The path of the clique or scaling group; of a base PodGang itself, the template."""
        name = gang if part is None else part
        return next((path for path, found in self._parts(name) if found == name), TEMPLATE)

    def _parts(self, name: str) -> Iterator[tuple[FieldPath, str]]:
        """What a part called `name` may be, in the order of its PodGang: places, and the names these have."""
        pcs = self.pcs
        replica, _, rest = name.removeprefix(f"{pcs.name}-").partition("-")
        if not replica.isdecimal():
            return
        for index, clique in enumerate(pcs.cliques):
            yield (*TEMPLATE, "cliques", index), names.standalone_clique(pcs.name, int(replica), clique.name)
        for index, group in enumerate(pcs.groups):
            within = rest.removeprefix(f"{group.name}-").partition("-")[0]
            if not rest.startswith(f"{group.name}-") or not within.isdecimal():
                continue
            fqn = names.scaling_group(pcs.name, int(replica), group.name)
            yield (*TEMPLATE, "podCliqueScalingGroups", index), f"{fqn}-{int(within)}"
            for place, clique in enumerate(pcs.cliques):
                if clique.name in group.clique_names:
                    name_here = names.grouped_clique(fqn, int(within), clique.name)
                    yield (*TEMPLATE, "cliques", place), name_here
