"""The node pools of an input. KAI runs one scheduler for each pool, which sees only the pool's own objects.

Source: spec/kai.md#8.1.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.lenient import text_at
from packwise.objects.kinds import QUEUE, SCHEDULING_SHARD
from packwise.placement import Gang, NodePool, Queue
from packwise.schedulers.kai.gang_jobs import is_of_kai, pool_of
from packwise.schedulers.kai.installation import installation_of
from packwise.schedulers.kai.pods import texts_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from packwise.objects.index import Index
    from packwise.placement import Placement


def node_pools(index: Index, placements: Iterable[Placement]) -> tuple[NodePool, ...]:
    """Return the node pools with their members, the default pool first. Return () if no object is in a pool."""
    label = installation_of(index).pool_label
    members: dict[str, dict[str, set[str]]] = {}

    def add(pool: str, role: str, name: str) -> None:
        members.setdefault(pool, {}).setdefault(role, set()).add(name)

    for item in index.of_kind(*SCHEDULING_SHARD.key):
        add(text_at(item.value, "spec", "partitionLabelValue"), "shards", item.name)
    for role, kind in (("queues", QUEUE.key), ("nodes", ("", "Node"))):
        for item in index.of_kind(*kind):
            add(texts_at(item.value, "metadata", "labels").get(label, ""), role, item.name)
    gangs: dict[str, list[Placement]] = {}
    for placement in placements:
        node = placement.node
        if isinstance(node, Queue):
            add(node.labels.get(label, ""), "queues", node.name)
        elif isinstance(node, Gang) and is_of_kai(node):
            gangs.setdefault(pool_of(placement, node, label), []).append(placement)
    names = sorted({*members, *gangs})
    if not any(names):
        return ()
    return tuple(
        NodePool(
            name=name,
            placements=tuple(gangs.get(name, ())),
            **{role: tuple(sorted(each)) for role, each in members.get(name, {}).items()},
        )
        for name in names
    )
