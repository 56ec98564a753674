"""What can be mended in a workload without a decision: quotes, and fields that were renamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.frontends.grove.schema import check_shape
from packwise.frontends.grove.schema.table import replacement
from packwise.frontends.grove.written import pod_specs, tool_dependent_words, unquoted_quantities

if TYPE_CHECKING:
    from krmfn.kubeobject import KubeObject

__all__ = ["mend"]


def mend(workload: KubeObject, *, topology_name_field: str | None) -> KubeObject:
    """`workload` with its quantities and tool-dependent words in quotes and renamed fields by their new names.

    Itself where there is nothing to mend. Raises FieldError where an anchor or alias is in the way.
    """
    for path, _ in list(unquoted_quantities(pod_specs(workload))):
        workload = workload.quote(path)
    for path in tool_dependent_words(workload):
        workload = workload.quote(path)
    # A field by its new name may hold others to be renamed.
    while (renamed := _renamed(workload, topology_name_field)) is not workload:
        workload = renamed
    return workload


def _renamed(workload: KubeObject, topology_name_field: str | None) -> KubeObject:
    for problem in check_shape(workload.value, topology_name_field=topology_name_field):
        name = replacement(problem.path) if problem.is_unknown_field else None
        # Some were replaced by more than another name.
        if name is not None and name.isidentifier() and workload.get((*problem.path[:-1], name)) is None:
            workload = workload.rename(problem.path, name)
    return workload
