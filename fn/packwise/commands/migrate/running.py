"""The workloads whose migration a cluster refuses where they run already.

Source: spec/grove.md#5, spec/grove-releases.md#2.6.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.commands.migrate.equivalence import as_admitted
from packwise.findings.finding import Stage
from packwise.objects.kinds import POD_CLIQUE_SET
from packwise.pipeline import render
from packwise.select import Configured

if TYPE_CHECKING:
    from packwise.revisions.step import Step
    from packwise.select import Package

__all__ = ["refused_workloads"]


def refused_workloads(before: Package, after: Package, step: Step) -> tuple[str, ...] | None:
    """`namespace/name` of each workload that the target's webhook refuses to change from its form before.

    None where there are no workloads.
    """
    stored = as_admitted(before, "Auto", step.source.name)
    if not any(item.kind == POD_CLIQUE_SET.name for item in stored.items):
        return None
    earlier = Configured(stored.function_config)
    changed = after._replace(baseline=stored.items, configured_before=earlier)
    rendered = render(as_admitted(changed, "Auto", step.target.name))
    refused = [
        f"{result.resource_ref.namespace}/{result.resource_ref.name}"
        for result in rendered.results
        if result.severity is Severity.ERROR
        and result.tags.get("stage") == Stage.WEBHOOK.value
        and result.resource_ref is not None
        and result.resource_ref.kind == POD_CLIQUE_SET.name
    ]
    return tuple(dict.fromkeys(refused))
