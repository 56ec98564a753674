"""Rewrite a PodCliqueSet and keep every comment: apply safe fixes, or migrate it to a later revision of the API.

Source: spec/grove.md#12, #4.3, #3, spec/grove-releases.md#2.2, #2.3 and #2.6 (changes of each release).
"""

from __future__ import annotations

from functools import partial

from krmfn.hints import TYPE_CHECKING
from packwise.findings import Effect
from packwise.frontends.grove.advice import pod_specs, tool_dependent_words, unquoted_quantities
from packwise.frontends.grove.podcliqueset import TEMPLATE, PodCliqueSet, check_shape, replacement
from packwise.frontends.grove.rules.topology import constraint_places
from packwise.lenient import entries, strings, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.edit import Edit
    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.frontends.grove.podcliqueset import TopologyConstraint
    from packwise.revisions.grove import Revision, Step

_CONSTRAINT = "topologyConstraint"


def migrate(workload: KubeObject, step: Step) -> KubeObject:
    """Return `workload` in the form of the target revision. Return `workload` itself if there is no difference.

    Raise FieldError if an anchor prevents the change, or if a comment would be lost.
    """
    if step.packs and not step.keep_pack_domain:
        workload = _write_pack(workload, step.preferred)
    if step.target.constraints_choose and not step.source.constraints_choose:
        workload = _write_topology_name(workload, step)
    return _with_min_available(workload, step)


def _with_min_available(workload: KubeObject, step: Step) -> KubeObject:
    """Return `workload`. If the default of minAvailable changes, write the old default into every clique."""
    if step.source.min_available_default == step.target.min_available_default:
        return workload
    edits: list[tuple[FieldPath, Edit]] = []
    for path, clique in _entries(workload, "cliques"):
        spec = value_at(clique, "spec")
        replicas = value_at(spec, "replicas")
        # Without replicas, the source revision refuses the workload, so there is no default to keep.
        if isinstance(spec, dict) and spec.get("minAvailable") is None and type(replicas) is int and replicas > 0:
            edits.append(((*path, "spec", "minAvailable"), partial(_set, value=replicas)))
    return workload.edit_all(edits)


def _set(item: KubeObject, path: FieldPath, value: Value) -> KubeObject:
    return item.set(path, value)


def _write_pack(workload: KubeObject, preferred: str | None) -> KubeObject:
    """Return `workload` with pack in place of packDomain. `preferred` is the preferred domain to add, or None."""
    named = [path for path in _constraints(workload) if workload.get((*path, "packDomain")) is not None]
    workload = workload.edit_all([(path, _nest_domain) for path in named])
    preferring = _constraints_to_prefer(workload) if preferred is not None else ()
    return workload.edit_all([((*path, "pack", "preferred"), partial(_set, value=preferred)) for path in preferring])


def _nest_domain(item: KubeObject, path: FieldPath) -> KubeObject:
    """Return `item` with packDomain of the constraint at `path` moved to pack.required."""
    return item.rename((*path, "packDomain"), "required").nest((*path, "required"), "pack")


def _write_topology_name(workload: KubeObject, step: Step) -> KubeObject:
    """Return `workload` with the name of its topology in its constraints."""
    name = step.topology
    field = step.source.topology_name_field
    if field is not None:
        chosen = workload.get((*TEMPLATE, field))
        name = chosen if isinstance(chosen, str) else name
    workload = workload.edit_all(
        [((*path, "topologyName"), partial(_set, value=name)) for path in _constraints_to_name(workload)]
    )
    if field is not None:
        workload = workload.remove((*TEMPLATE, field), keep_comments=True)
    return workload


def _constraints_to_prefer(workload: KubeObject) -> list[FieldPath]:
    """Return the paths of the constraints that need a preferred domain, so that every rendered object has one.

    Scaling groups without a constraint are skipped.
    """
    paths = [(*TEMPLATE, _CONSTRAINT)]
    paths += [(*path, _CONSTRAINT) for path, _ in _entries(workload, "cliques")]
    return paths + [path for path in _constraints(workload) if path[2] == "podCliqueScalingGroups"]


def _constraints_to_name(workload: KubeObject) -> list[FieldPath]:
    """Return the paths of the constraints that must name the topology, because they inherit no name."""
    of_set = (*TEMPLATE, _CONSTRAINT)
    constrained = list(_constraints(workload))
    if of_set in constrained:
        return [of_set]
    groups = [path for path in constrained if path[2] == "podCliqueScalingGroups"]
    inheriting: set[Value] = set()
    for path in groups:
        names = workload.get((*path[:-1], "cliqueNames"))
        inheriting.update(strings(names))
    cliques = [path for path in constrained if path[2] == "cliques"]
    return groups + [path for path in cliques if workload.get((*path[:-1], "name")) not in inheriting]


def _constraints(workload: KubeObject) -> Iterator[FieldPath]:
    """Yield the paths of the constraints of the set, its cliques and its groups."""
    owners = [(TEMPLATE, workload.get(TEMPLATE)), *_entries(workload, "cliques")]
    for path, owner in [*owners, *_entries(workload, "podCliqueScalingGroups")]:
        if isinstance(owner, dict) and isinstance(owner.get(_CONSTRAINT), dict):
            yield (*path, _CONSTRAINT)


def _entries(workload: KubeObject, key: str) -> list[tuple[FieldPath, Value]]:
    path = (*TEMPLATE, key)
    return [((*path, index), entry) for index, entry in enumerate(entries(workload.get(path)))]


def fix_workload(workload: KubeObject, revision: Revision) -> KubeObject:
    """Return `workload` with safe fixes, or `workload` itself if none is needed.

    The fixes quote quantities and words that tools read differently, and rename fields that have a new name. Raise
    FieldError if an anchor or alias prevents a fix.
    """
    workload = workload.edit_all([(path, _quote) for path, _ in unquoted_quantities(pod_specs(workload))])
    workload = workload.edit_all([(path, _quote) for path in tool_dependent_words(workload)])
    # A renamed field may contain other fields to rename.
    while (renamed := _rename_fields(workload, revision)) is not workload:
        workload = renamed
    # A workload with a status is running, and may have been created with an older API. Keep its fields.
    return _pack_required(workload) if revision.deprecates_pack_domain and not workload.get("status") else workload


def _quote(item: KubeObject, path: FieldPath) -> KubeObject:
    return item.quote(path)


def _pack_required(workload: KubeObject) -> KubeObject:
    """Return `workload` with pack.required in place of packDomain, unless pack.required has another domain."""
    places = constraint_places(PodCliqueSet.read(workload.value))
    return workload.edit_all(
        [
            (place.path, partial(_require, constraint=place.constraint))
            for place in places
            if place.constraint is not None and place.constraint.pack_domain
        ]
    )


def _require(item: KubeObject, path: FieldPath, constraint: TopologyConstraint) -> KubeObject:
    """Return `item` with pack.required in place of packDomain in the `constraint` at `path`."""
    old, required = (*path, "packDomain"), constraint.pack.required if constraint.pack is not None else None
    if constraint.pack is None:
        return item.rename(old, "pack").set((*path, "pack"), {"required": constraint.pack_domain})
    if required is None:
        return item.set((*path, "pack", "required"), constraint.pack_domain).remove(old)
    return item.remove(old) if required == constraint.pack_domain else item


def _rename_fields(workload: KubeObject, revision: Revision) -> KubeObject:
    edits: list[tuple[FieldPath, Edit]] = []
    for problem in check_shape(workload.value, revision):
        name = replacement(problem.path) if problem.effect is Effect.UNKNOWN else None
        # Some fields need more than another name. Their replacement is a sentence.
        if name is not None and name.isidentifier():
            edits.append((problem.path, partial(_rename, name=name)))
    return workload.edit_all(edits)


def _rename(item: KubeObject, path: FieldPath, name: str) -> KubeObject:
    return item.rename(path, name) if item.get((*path[:-1], name)) is None else item
