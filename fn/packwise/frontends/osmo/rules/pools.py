"""Rules of pools. Source: spec/osmo.md#1, spec/kai.md#1."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.rule import Rule, Severity, Stage
from packwise.frontends.osmo.pool import one_of_each
from packwise.frontends.osmo.rules.check import Check, problem_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.frontends.osmo.pool import Pool
    from packwise.frontends.osmo.rules.check import ProblemAt

__all__ = ["POOL", "POOLS", "PoolAt"]

_KAI = ("kai", "kai-scheduler")

_BREADTH = {
    name: breadth
    for breadth, names in enumerate((
        ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region", "region"),
        ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone", "zone"),
        ("datacenter",),
        ("block",),
        ("spine",),
        ("rack",),
        ("kubernetes.io/hostname", "hostname"),
    ))
    for name in names
}  # fmt: skip
"""How broad a level is, for labels that say it: by the whole label, else by what follows its slash."""


class PoolAt(NamedTuple):
    """A pool, and the names of the cluster's schedulers; none where nobody configured any."""

    pool: Pool
    schedulers: tuple[str, ...] = ()


def _once(pools: tuple[Pool, ...]) -> Iterator[ProblemAt]:
    first: dict[str, Pool] = {}
    for pool in pools:
        before = first.setdefault(pool.name, pool)
        if before is not pool and not (before.layered and pool.layered):
            message = (
                f'must be the only pool "{pool.name}"; it also stands at {before.place.description}; '
                "remove or rename one"
            )
            yield problem_at(pool.place, message)


def _values(pools: tuple[Pool, ...]) -> Iterator[ProblemAt]:
    taken = {pool.name: pool for pool in one_of_each(pools)}
    for pool in pools:
        other = taken[pool.name]
        if other is not pool and other.layered and pool.layered:
            message = (
                f'must be the only pool "{pool.name}" in Helm values; the one at '
                f"{other.place.description} is taken: give packwise the values of one release, merged as Helm does it"
            )
            yield problem_at(pool.place, message)


def _default_platform(at: PoolAt) -> Iterator[ProblemAt]:
    pool = at.pool
    if pool.default_platform is not None and pool.platform is None and not pool.partial:
        from packwise.wording import told_known

        message = f'must be one of the pool\'s platforms; got "{pool.default_platform}"'
        yield problem_at(
            pool.place.below("default_platform"),
            message + told_known(pool.default_platform, pool.platforms),
            f"Default platform {pool.default_platform} not in platforms",
        )


def _scheduler(at: PoolAt) -> Iterator[ProblemAt]:
    pool, kind = at.pool, at.pool.backend.scheduler_type
    if kind is None and at.schedulers and not any(name in _KAI for name in at.schedulers):
        kind = at.schedulers[0]
    if pool.keys and kind is not None and kind not in _KAI:
        yield problem_at(
            pool.place.below("topology_keys"),
            f'must be empty: backend "{pool.backend_name}" uses the scheduler "{kind}", and only KAI has topologies; '
            "take the keys out, or move the pool to a backend with KAI",
            f'Topology keys cannot be set for pool "{pool.name}" because backend "{pool.backend_name}" uses scheduler '
            f'"{kind}" which does not support topology constraints',
            at_key=True,
        )


def _keys(at: PoolAt) -> Iterator[ProblemAt]:
    names = at.pool.key_names
    for index, key in enumerate(names):
        if key in names[:index]:
            message = (
                f'must be unique among the topology keys; got "{key}" again (topology_keys[{names.index(key)}]): OSMO '
                "would take the last label for workflows, and both for the Topology"
            )
            yield problem_at(at.pool.place.below("topology_keys", index, "key"), message)


def _order(at: PoolAt) -> Iterator[ProblemAt]:
    """A level whose label says that it is broader than one above it: OSMO and KAI would take the order as it is."""
    above: tuple[int, str] | None = None
    for index, key in enumerate(at.pool.keys):
        breadth = _BREADTH.get(key.label, _BREADTH.get(key.label.rpartition("/")[2]))
        if breadth is None:
            continue
        if above is not None and breadth < above[0]:
            message = (
                f'must stand above "{above[1]}": keys go from the broadest level to the finest, and "{key.label}" is '
                "broader by its name"
            )
            yield problem_at(at.pool.place.below("topology_keys", index, "label"), message)
        elif above is None or breadth > above[0]:
            above = (breadth, key.label)


POOLS = (
    Check(Rule("osmo-pool-once", "A pool is configured once.", "spec/osmo.md#1"), _once, Stage.CONFIG),
    Check(
        Rule(
            "osmo-pool-values",
            "A pool stands in the Helm values of one release.",
            "spec/osmo.md#6.4",
            Severity.WARNING,
        ),
        _values,
        Stage.CONFIG,
    ),
)
"""Rules of all pools together."""

POOL = (
    Check(
        Rule("osmo-pool-platform", "The default platform of a pool is one of its platforms.", "spec/osmo.md#1"),
        _default_platform,
        Stage.CONFIG,
    ),
    Check(
        Rule("osmo-pool-scheduler", "A pool with topology keys is scheduled by KAI.", "spec/osmo.md#1"),
        _scheduler,
        Stage.CONFIG,
    ),
    Check(Rule("osmo-pool-keys", "The topology keys of a pool differ.", "spec/osmo.md#1"), _keys, Stage.CONFIG),
    Check(
        Rule(
            "osmo-pool-order",
            "The topology keys of a pool go from the broadest level to the finest.",
            "spec/osmo.md#d10",
            Severity.WARNING,
        ),
        _order,
        Stage.CONFIG,
    ),
)
"""Rules of one pool."""
