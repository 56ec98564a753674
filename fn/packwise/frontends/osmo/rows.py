"""What users may ask of a pool: its topology keys, and who uses them. Source: osmo.md 8."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from packwise.frontends.osmo.document import read_documents
from packwise.frontends.osmo.objects import named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from packwise.frontends.osmo.pool import Pool, TopologyKey
    from packwise.frontends.osmo.workflow import Workflow
    from packwise.select.selection import Selection

__all__ = ["PoolRow", "pool_of", "pool_rows"]


class PoolRow(NamedTuple):
    """A pool: `topology` is the name of its Topology, None where it has no keys.

    `keys` stand broadest first; `workflows` are the names of those that ask for one of them, sorted.
    """

    pool: str
    topology: str | None
    keys: tuple[TopologyKey, ...]
    workflows: tuple[str, ...]


def pool_rows(selection: Selection) -> tuple[PoolRow, ...]:
    """The pools of the input in their order; what cannot be read is left out, and a render says why."""
    if not selection.foreign:
        return ()
    documents = read_documents(selection.foreign)
    names = named(documents.pools, (), selection.settings.osmo)
    users = [(pool_of(workflow, documents.pools), workflow) for workflow in documents.workflows]
    return tuple([
        PoolRow(
            pool.name,
            names.topology(pool.name) if pool.keys else None,
            pool.keys,
            tuple(sorted([workflow.name for used, workflow in users if used is pool and _asks(workflow)])),
        )
        for pool in documents.pools
    ])  # fmt: skip


def pool_of(workflow: Workflow, pools: Sequence[Pool]) -> Pool | None:
    """The pool that a workflow names, else the first; None where it is not there."""
    if not workflow.pool:
        return pools[0] if pools else None
    return next((pool for pool in pools if pool.name == workflow.pool), None)


def _asks(workflow: Workflow) -> bool:
    used = {task.resource for task in workflow.tasks()}
    return any(resource.topology for name, resource in workflow.resources.items() if name in used)
