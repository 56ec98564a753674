"""The sets of nodes that KAI tries for a job or a subgroup with a topology constraint, in its order.

Source: spec/placement.md#4.
"""

from __future__ import annotations

from functools import lru_cache

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.schedulers.kai.allocate.domains import ROOT
from packwise.schedulers.kai.allocate.fit import Accounting
from packwise.schedulers.kai.allocate.fit_errors import FitError, Shortage, unsatisfied, unschedulable
from packwise.schedulers.kai.allocate.levels import Levels, Silent, depth_of, levels_of, no_such_topology

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from packwise.schedulers.kai.allocate.domains import Domain, DomainTree
    from packwise.schedulers.kai.allocate.scene import Constraint, Job, Pod
    from packwise.schedulers.kai.allocate.state import ClusterState, NodeState

__all__ = ["Candidates", "Scores", "Wanted", "candidates"]

_SCORES = 10
_SCORE = 100_000


class Scores:
    """The scores of nodes by the preferred domain that they are in: the later it stands, the looser, the higher.

    Source: spec/placement.md#4h.
    """

    def __init__(self, tree: DomainTree, depth: int, domains: Sequence[Domain]) -> None:
        self._paths = tree.paths
        self._depth = depth
        self._by_domain = dict(zip(domains, _scores(len(domains)), strict=True))

    def of(self, node: NodeState) -> int | None:
        """The score of a node; None where it is in none of the domains."""
        path = self._paths.get(node.name)
        return None if path is None else self._by_domain.get(path[self._depth + 1])


@lru_cache(maxsize=16)
def _scores(count: int) -> tuple[int, ...]:
    """The scores of so many domains, in their order."""
    # In floats, as KAI computes it: in whole numbers the quotient would differ where it is not exact.
    return tuple([int(((index + 1) / count) * _SCORES) * _SCORE for index in range(count)])


class Candidates(NamedTuple):
    """What comes of a constraint: the sets of nodes to try, or `errors`, or a mistake that KAI keeps to itself.

    `scores` are those of nodes, where a level is preferred.
    """

    sets: Iterable[Sequence[NodeState]] = ()
    start: Domain | None = None
    scores: Scores | None = None
    errors: tuple[FitError, ...] = ()
    silent: Silent | None = None


class Wanted(NamedTuple):
    """What is to be placed: `pods` of `sub_group`, which `constraint` bounds.

    `running` are the nodes of pods that run already and pin the others.
    """

    job: Job
    sub_group: str
    constraint: Constraint | None
    pods: Sequence[Pod]
    running: Sequence[str]


def candidates(cluster: ClusterState, wanted: Wanted, nodes: Sequence[NodeState]) -> Candidates:
    """The sets to try of `nodes`; `nodes` themselves where nothing bounds the pods."""
    constraint = wanted.constraint
    if constraint is None or not constraint.topology:
        return Candidates((nodes,))
    tree = cluster.trees.get(constraint.topology)
    if tree is None:
        missing = unschedulable(no_such_topology(constraint.topology))
        return Candidates(errors=(missing,))
    return _bounded(cluster, tree, wanted, constraint, nodes) if wanted.pods else Candidates((nodes,))


def _bounded(
    cluster: ClusterState, tree: DomainTree, wanted: Wanted, constraint: Constraint, nodes: Sequence[NodeState]
) -> Candidates:
    job, sub_group = wanted.job, wanted.sub_group
    preferred = depth_of(tree.topology, constraint.preferred) if constraint.preferred else None
    valid = tree.root.nodes if nodes is cluster.nodes else [node for node in nodes if node.name in tree.paths]
    start = tree.common(valid, len(tree.by_depth) - 1 if preferred is None else preferred)
    accounting = Accounting(cluster, tree, start, wanted.pods)
    levels = levels_of(tree.topology, constraint, sub_group)
    if not accounting.fits(start):
        where = "the cluster" if start.id == ROOT else start.id
        error = unsatisfied(job, sub_group, constraint, where)
        return Candidates(start=start, errors=(error._replace(shortage=_nearest(accounting, tree, levels, sub_group)),))
    if isinstance(levels, Silent):
        return Candidates(start=start, silent=levels)
    ordered = accounting.levels(levels.finest)
    pinned = _pinned(tree, levels, wanted.running)
    fitting = _fitting(accounting, tree, levels, ordered, pinned)
    if not fitting:
        bounds = sorted(tree.at(levels.coarsest), key=lambda domain: domain.id)
        errors = [accounting.error(domain, sub_group) for domain in bounds if pinned is None or domain in pinned]
        return Candidates(start=start, errors=(*errors, unsatisfied(job, sub_group, constraint)))
    scores = None if levels.preferred is None else Scores(tree, levels.preferred, ordered.get(levels.preferred, ()))
    return Candidates(_cut(fitting, tree, valid), start, scores)


def _cut(domains: Iterable[Domain], tree: DomainTree, valid: Sequence[NodeState]) -> Iterator[Sequence[NodeState]]:
    """The nodes of each domain that are among `valid`; mostly the first set is the only one that is tried."""
    if valid is tree.root.nodes:
        for domain in domains:
            yield domain.nodes
        return
    among = {node.name for node in valid}
    for domain in domains:
        yield [node for node in domain.nodes if node.name in among]


def _nearest(accounting: Accounting, tree: DomainTree, levels: Levels | Silent, sub_group: str) -> Shortage:
    """Where the start is too small: the domain of the coarsest level below it that lacks least, or the start."""
    depth = -1 if isinstance(levels, Silent) else levels.coarsest
    below = [domain for domain in tree.at(depth) if domain.is_within(accounting.start)]
    nearest = min(below or [accounting.start], key=lambda domain: (accounting.ratio(domain), domain.id))
    if accounting.largest is not None and below:
        nearest = min(below, key=lambda domain: (-(accounting.held(domain) or 0), domain.id))
    return accounting.shortage(nearest, sub_group)


def _pinned(tree: DomainTree, levels: Levels, running: Iterable[str]) -> set[Domain] | None:
    """The required domains that hold running pods; None where no pod runs or no level is required."""
    if levels.required is None:
        return None
    names = list(running)
    if not names:
        return None
    return {tree.paths[name][levels.required + 1] for name in names if name in tree.paths}


def _fitting(
    accounting: Accounting,
    tree: DomainTree,
    levels: Levels,
    ordered: Mapping[int, Sequence[Domain]],
    pinned: set[Domain] | None,
) -> list[Domain]:
    """The domains that the pods fit in, the finest level first."""
    fitting: list[Domain] = []
    for depth in range(levels.finest, levels.coarsest - 1, -1):
        if depth in ordered:
            fitting += accounting.fitting(ordered, depth)
        else:
            # Above the start nothing is counted, so that only pods which ask for nothing fit.
            above = sorted(tree.at(depth), key=lambda domain: domain.id)
            fitting += [domain for domain in above if accounting.fits(domain)]
    if pinned is None:
        return fitting
    return [domain for domain in fitting if any(domain.is_within(bound) for bound in pinned)]
