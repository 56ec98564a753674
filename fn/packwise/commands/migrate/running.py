"""The workloads whose migration a cluster refuses where they run already.

Source: operator.md 5, grove-releases.md 2.6.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.commands.migrate.equivalence import as_admitted
from packwise.commands.rewrite import migrate_workload
from packwise.findings.finding import Stage
from packwise.objects.identity import is_generated
from packwise.objects.kinds import POD_CLIQUE_SET
from packwise.pipeline import render
from packwise.revisions.step import Step

if TYPE_CHECKING:
    from packwise.select import Package

__all__ = ["refused_workloads"]


def refused_workloads(before: Package, after: Package, step: Step) -> tuple[str, ...] | None:
    """`namespace/name` of each workload that the target's webhook refuses to change from its form before.

    None where there are no workloads.
    """
    # An object in the cluster holds what its own operator filled in.
    defaults = step.source._replace(min_available_default=step.target.min_available_default)
    stored_step = Step(step.source, defaults, step.topology)
    own = [item for item in before.items if not is_generated(item.value)]
    if not any(item.kind == POD_CLIQUE_SET.name for item in own):
        return None
    stored = tuple([migrate_workload(item, stored_step) for item in own])
    rendered = render(as_admitted(after._replace(baseline=stored), "Auto", step.target.name))
    refused = [
        f"{result.resource_ref.namespace}/{result.resource_ref.name}"
        for result in rendered.results
        if result.severity is Severity.ERROR
        and result.tags.get("stage") == Stage.WEBHOOK.value
        and result.resource_ref is not None
        and result.resource_ref.kind == POD_CLIQUE_SET.name
    ]
    return tuple(dict.fromkeys(refused))
