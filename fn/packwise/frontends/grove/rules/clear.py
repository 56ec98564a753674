"""A quick look: does surely no rule report anything of a part? Of nearly every part that is so, and no rule is called.

Each answers False where it does not know, and the rules are called. The tests hold these answers to the rules.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.grove.podcliqueset import COHERENT, ON_DELETE
from packwise.frontends.grove.rules.cliques import STARTUP_TYPES
from packwise.frontends.grove.rules.name_length import MAX_COMBINED_LENGTH
from packwise.frontends.grove.rules.startup import EXPLICIT
from packwise.kubernetes import validation as kubernetes
from packwise.kubernetes.duration import parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value
    from packwise.frontends.grove.podcliqueset import PodCliqueSet, RollingUpdate
    from packwise.frontends.grove.rules.check import CliqueAt, Context, GroupAt

__all__ = ["clique", "cliques_together", "group", "groups_together", "metadata"]

_FEW_CHARACTERS = kubernetes.MAX_ANNOTATION_BYTES // 4
"""Annotations of so many characters are short enough, whatever characters they are."""

_REFUSED_FIELDS = frozenset({"topologySpreadConstraints", "nodeName"})
_SELDOM = frozenset({"generateName", "generation", "ownerReferences", "finalizers"})


def metadata(pcs: PodCliqueSet, context: Context) -> bool:
    """Whether the set's own metadata, numbers and claims are clear, and it has cliques."""
    return (
        _SELDOM.isdisjoint(pcs.metadata)
        and not kubernetes.dns_subdomain(pcs.name)
        and not kubernetes.dns_label(pcs.namespace)
        and _labels(pcs.labels, context.revision.apimachinery)
        and _annotations(pcs.annotations, context.revision.apimachinery)
        and pcs.replicas >= 0
        and pcs.startup_type in STARTUP_TYPES
        and bool(pcs.cliques)
        and not pcs.claim_templates
        and not pcs.resource_sharing
    )


def clique(at: CliqueAt, context: Context) -> bool:
    """Whether a clique is clear."""
    pcs, _, part, grouped = at
    name, _, replicas, least, labels, annotations, starts_after, scaling, _, pods, sharing, rolling = part
    version = context.revision.apimachinery
    return (
        0 < least <= replicas
        and not (starts_after or scaling or sharing)
        and (rolling is None or (not grouped and _rolls(rolling, pcs.update_strategy, replicas, least)))
        and kubernetes.is_dns_subdomain(name)
        and (grouped or _are_short(pcs.name, name))
        and (not labels or _labels(labels, version))
        and (not annotations or _annotations(annotations, version))
        and _REFUSED_FIELDS.isdisjoint(pods)
        and _environments(pods.get("containers"))
        and ("initContainers" not in pods or _environments(pods["initContainers"]))
    )


def cliques_together(pcs: PodCliqueSet, context: Context) -> bool:
    """Whether what holds among the cliques is clear: names and roles, their scheduler, their dependencies."""
    cliques, known = pcs.cliques, context.schedulers
    names = {part.name for part in cliques}
    schedulers = [part.pod_spec.get("schedulerName") for part in cliques]
    if (
        pcs.startup_type == EXPLICIT
        or len(names) < len(cliques)
        or len({part.role for part in cliques}) < len(cliques)
        or schedulers != schedulers[:1] * len(cliques)
    ):
        return False
    if known is None:
        return not context.revision.scheduler_backends
    return not schedulers or (schedulers[0] or known.default) in known.names


def group(at: GroupAt, _context: Context) -> bool:
    """Whether a scaling group is clear."""
    pcs, _, part, known = at
    name, members, replicas, least, scaling, _, _, _, sharing, rolling = part
    return (
        0 < least <= replicas
        and not sharing
        and (rolling is None or _rolls(rolling, pcs.update_strategy, replicas, least))
        and (scaling is None or scaling.min_replicas is None or scaling.min_replicas >= least)
        and kubernetes.is_dns_subdomain(name)
        and known.issuperset(members)
        and [member for member in members if not _are_short(pcs.name, name, member)] == []
    )


def groups_together(pcs: PodCliqueSet, _context: Context) -> bool:
    """Whether what holds among the scaling groups is clear, and the time that pods have to end."""
    groups, delay = pcs.groups, parse_duration(pcs.termination_delay)
    members = [member for part in groups for member in part.clique_names]
    return (
        delay is not None
        and delay > 0
        and (len(groups) < 2 or len({part.name for part in groups}) == len(groups))
        and len(set(members)) == len(members)
        and [part for part in pcs.cliques if part.auto_scaling] == []
    )


def _labels(labels: Mapping[str, str], version: str) -> bool:
    for key, value in labels.items():
        if kubernetes.qualified_name(key, version) or kubernetes.label_value(value, version):
            return False
    return True


def _annotations(annotations: Mapping[str, str], version: str) -> bool:
    size = 0
    for key, value in annotations.items():
        if kubernetes.qualified_name(key.lower(), version):
            return False
        size += len(key) + len(value)
    return size <= _FEW_CHARACTERS


def _rolls(rolling: RollingUpdate, strategy: str, replicas: int, least: int) -> bool:
    """Whether as many replicas at a time are updated as may be."""
    most, deadline = rolling
    return (
        not deadline
        and strategy != ON_DELETE
        and (most is None or (least if strategy == COHERENT else 1) <= most <= replicas)
    )


def _environments(containers: Value) -> bool:
    """Whether the variables of each container have names that are valid, each its own."""
    for container in containers if isinstance(containers, list) else ():
        env = container.get("env") if isinstance(container, dict) else None
        if not isinstance(env, list):
            continue
        names: set[str] = set()
        for entry in env:
            name = entry.get("name") if isinstance(entry, dict) else None
            if not isinstance(name, str) or kubernetes.env_name(name):
                return False
            names.add(name)
        if len(names) != len(env):
            return False
    return True


def _are_short(*names: str) -> bool:
    joined = "".join(names)
    return len(joined) <= MAX_COMBINED_LENGTH and joined.isascii()
