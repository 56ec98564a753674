"""What can be mended in a workload without a decision: quotes, and fields that were renamed or deprecated."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Effect
from packwise.frontends.grove.scalars import pod_specs, tool_dependent_words, unquoted_quantities
from packwise.frontends.grove.schema import check_shape
from packwise.frontends.grove.schema.table import replacement

if TYPE_CHECKING:
    from krmfn.kubeobject import KubeObject
    from packwise.revisions.revision import Revision

__all__ = ["mend"]


def mend(workload: KubeObject, revision: Revision) -> KubeObject:
    """`workload` with its quantities and tool-dependent words in quotes and renamed fields by their new names.

    Itself where there is nothing to mend. Raises FieldError where an anchor or alias is in the way.
    """
    for path, _ in list(unquoted_quantities(pod_specs(workload))):
        workload = workload.quote(path)
    for path in tool_dependent_words(workload):
        workload = workload.quote(path)
    # A field by its new name may hold others to be renamed.
    while (renamed := _renamed(workload, revision)) is not workload:
        workload = renamed
    # A workload that runs may be of an older API: what it was made with must stay.
    return _packed(workload) if revision.deprecates_pack_domain and not workload.get("status") else workload


def _packed(workload: KubeObject) -> KubeObject:
    """`workload` with pack.required in the place of packDomain, wherever there is not one of another domain."""
    from packwise.frontends.grove.podcliqueset import PodCliqueSet
    from packwise.frontends.grove.rules.constraints import constraint_places

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


def _renamed(workload: KubeObject, revision: Revision) -> KubeObject:
    for problem in check_shape(workload.value, revision):
        name = replacement(problem.path) if problem.effect is Effect.UNKNOWN else None
        # Some were replaced by more than another name.
        if name is not None and name.isidentifier() and workload.get((*problem.path[:-1], name)) is None:
            workload = workload.rename(problem.path, name)
    return workload
