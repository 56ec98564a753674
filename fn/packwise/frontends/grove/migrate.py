"""A PodCliqueSet rewritten, every comment kept: mended without a decision, or for a later revision of the API.

Source: spec/grove.md#12, #4.3, #3, spec/grove-releases.md#2.2, #2.3 and #2.6 (what each release adds).
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Effect
from packwise.frontends.grove.advice import pod_specs, tool_dependent_words, unquoted_quantities
from packwise.frontends.grove.podcliqueset import TEMPLATE, PodCliqueSet
from packwise.frontends.grove.rules.topology import constraint_places
from packwise.frontends.grove.schema import check_shape
from packwise.frontends.grove.schema.table import replacement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.revisions.grove import Revision, Step

_CONSTRAINT = "topologyConstraint"


def migrate(workload: KubeObject, step: Step) -> KubeObject:
    """`workload` in the words of the target revision; itself where they are the same.

    Raises FieldError where an anchor is in the way, or a comment could not stay.
    """
    if step.packs and not step.keep_pack_domain:
        workload = _write_pack(workload, step.preferred)
    if step.target.constraints_choose and not step.source.constraints_choose:
        workload = _write_topology_name(workload, step)
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


def _write_pack(workload: KubeObject, preferred: str | None) -> KubeObject:
    """`workload` with pack in the place of packDomain."""
    for path in list(_constraints(workload)):
        if workload.get((*path, "packDomain")) is not None:
            workload = workload.rename((*path, "packDomain"), "required").nest((*path, "required"), "pack")
    for path in _preferring(workload) if preferred is not None else ():
        workload = workload.set((*path, "pack", "preferred"), preferred)
    return workload


def _write_topology_name(workload: KubeObject, step: Step) -> KubeObject:
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


def mend(workload: KubeObject, revision: Revision) -> KubeObject:
    """`workload` with its quantities and tool-dependent words in quotes and renamed fields by their new names.

    Itself where there is nothing to mend. Raises FieldError where an anchor or alias is in the way.
    """
    for path, _ in list(unquoted_quantities(pod_specs(workload))):
        workload = workload.quote(path)
    for path in tool_dependent_words(workload):
        workload = workload.quote(path)
    # A field by its new name may hold others to be renamed.
    while (renamed := _rename_fields(workload, revision)) is not workload:
        workload = renamed
    # A workload that runs may be of an older API: what it was made with must stay.
    return _pack_required(workload) if revision.deprecates_pack_domain and not workload.get("status") else workload


def _pack_required(workload: KubeObject) -> KubeObject:
    """`workload` with pack.required in the place of packDomain, wherever there is not one of another domain."""
    for place in constraint_places(PodCliqueSet.read(workload.value)):
        path, constraint = (*place.path, "packDomain"), place.constraint
        if constraint is None or not constraint.pack_domain:
            continue
        required = constraint.pack.required if constraint.pack is not None else None
        if constraint.pack is None:
            workload = workload.rename(path, "pack").set((*place.path, "pack"), {"required": constraint.pack_domain})
        elif required is None:
            workload = workload.set((*place.path, "pack", "required"), constraint.pack_domain).remove(path)
        elif required == constraint.pack_domain:
            workload = workload.remove(path)
    return workload


def _rename_fields(workload: KubeObject, revision: Revision) -> KubeObject:
    for problem in check_shape(workload.value, revision):
        name = replacement(problem.path) if problem.effect is Effect.UNKNOWN else None
        # Some were replaced by more than another name.
        if name is not None and name.isidentifier() and workload.get((*problem.path[:-1], name)) is None:
            workload = workload.rename(problem.path, name)
    return workload
