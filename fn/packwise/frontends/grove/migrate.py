"""A PodCliqueSet rewritten for a later revision of the API, every comment kept.

Source: spec/grove.md#12, #4.3, #3, spec/grove-releases.md#2.2,
#2.3 and #2.6 (what each release adds).
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.grove.rules.check import TEMPLATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.revisions.step import Step

__all__ = ["migrate"]

_CONSTRAINT = "topologyConstraint"


def migrate(workload: KubeObject, step: Step) -> KubeObject:
    """`workload` in the words of the target revision; itself where they are the same.

    Raises FieldError where an anchor is in the way, or a comment could not stay.
    """
    if step.packs and not step.keep_pack_domain:
        workload = _packed(workload, step.preferred)
    if step.target.constraints_choose and not step.source.constraints_choose:
        workload = _named(workload, step)
    return _with_min_available(workload, step)


def _with_min_available(workload: KubeObject, step: Step) -> KubeObject:
    """`workload` with every clique's minAvailable as the source has it by default, where the target has another one."""
    if step.source.min_available_default == step.target.min_available_default:
        return workload
    for path, clique in _entries(workload, "cliques"):
        spec = clique.get("spec") if isinstance(clique, dict) else None
        replicas = spec.get("replicas") if isinstance(spec, dict) else None
        # Without replicas the source refuses the workload.
        if isinstance(spec, dict) and spec.get("minAvailable") is None and type(replicas) is int and replicas > 0:
            workload = workload.set((*path, "spec", "minAvailable"), replicas)
    return workload


def _packed(workload: KubeObject, preferred: str | None) -> KubeObject:
    """`workload` with pack in the place of packDomain."""
    for path in list(_constraints(workload)):
        if workload.get((*path, "packDomain")) is not None:
            workload = workload.rename((*path, "packDomain"), "required").nest((*path, "required"), "pack")
    for path in _preferring(workload) if preferred is not None else ():
        workload = workload.set((*path, "pack", "preferred"), preferred)
    return workload


def _named(workload: KubeObject, step: Step) -> KubeObject:
    """`workload` with the topology's name in its constraints."""
    name = step.topology
    field = step.source.topology_name_field
    if field is not None:
        chosen = workload.get((*TEMPLATE, field))
        name = chosen if isinstance(chosen, str) else name
    for path in _naming(workload):
        workload = workload.set((*path, "topologyName"), name)
    if field is not None:
        workload = workload.remove((*TEMPLATE, field), keep_comments=True)
    return workload


def _preferring(workload: KubeObject) -> list[FieldPath]:
    """The constraints that must exist for all that is rendered to prefer a domain: not at groups that have none."""
    paths = [(*TEMPLATE, _CONSTRAINT)]
    paths += [(*path, _CONSTRAINT) for path, _ in _entries(workload, "cliques")]
    return paths + [path for path in _constraints(workload) if path[2] == "podCliqueScalingGroups"]


def _naming(workload: KubeObject) -> list[FieldPath]:
    """The constraints that must name their topology, since they inherit it from none."""
    of_set = (*TEMPLATE, _CONSTRAINT)
    constrained = list(_constraints(workload))
    if of_set in constrained:
        return [of_set]
    groups = [path for path in constrained if path[2] == "podCliqueScalingGroups"]
    inheriting: set[Value] = set()
    for path in groups:
        names = workload.get((*path[:-1], "cliqueNames"))
        inheriting.update(name for name in (names if isinstance(names, list) else ()) if isinstance(name, str))
    cliques = [path for path in constrained if path[2] == "cliques"]
    return groups + [path for path in cliques if workload.get((*path[:-1], "name")) not in inheriting]


def _constraints(workload: KubeObject) -> Iterator[FieldPath]:
    """The paths of the constraints: the set's, the cliques', the groups'."""
    owners = [(TEMPLATE, workload.get(TEMPLATE)), *_entries(workload, "cliques")]
    for path, owner in [*owners, *_entries(workload, "podCliqueScalingGroups")]:
        if isinstance(owner, dict) and isinstance(owner.get(_CONSTRAINT), dict):
            yield (*path, _CONSTRAINT)


def _entries(workload: KubeObject, key: str) -> list[tuple[FieldPath, Value]]:
    entries = workload.get((*TEMPLATE, key))
    return [
        ((*TEMPLATE, key, index), entry) for index, entry in enumerate(entries if isinstance(entries, list) else ())
    ]
