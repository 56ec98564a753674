"""Problems of the pods of workloads that KAI groups itself, as the API server reports them.

A kind of Kubernetes' own is refused itself, with the pod's errors at its template; of any other one the pods are, or
the Jobs and StatefulSets that its controller makes for them. Source: spec/kubernetes.md#2.
"""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Finding, Stage
from packwise.frontends.pod_rules import layer_problems, pod_problems
from packwise.objects.workload_kinds import ANYWHERE, Grouping

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.findings.finding import Problem, Rule
    from packwise.frontends.workloads.workload import Template, Workload

__all__ = ["pod_findings"]

_BUILT_IN = ("", "apps", "batch")
"""The groups whose kinds the API server validates itself, their pod templates included."""

_BY_TEMPLATE = frozenset({"JobSet", "LeaderWorkerSet", "Notebook"})
"""Kinds whose controller makes Jobs or StatefulSets, which are what is refused."""

_COMPLETED = frozenset({Grouping.REVISION, Grouping.WORKFLOW})
"""The groupings of kinds whose controller fills in what containers lack."""


def pod_findings(workload: Workload) -> Iterator[Finding]:
    """Problems of the pods that KAI schedules."""
    for template in workload.scheduled_templates:
        for order, (rule, problem) in enumerate(_problems(workload, template)):
            path = (*template.path, "spec", *problem.path)
            if workload.grouping is Grouping.WORKFLOW:
                # The container of Argo's template is no entry of a list.
                field = "script" if workload.item.get((*template.path, "script")) is not None else "container"
                path = (*template.path, field, *problem.path[2:])
            yield Finding.about(problem._replace(path=path).bounded, workload.item, rule, order=order)


def _problems(workload: Workload, template: Template) -> Iterator[tuple[Rule, Problem]]:
    kind = workload.kind
    is_whole = kind is not None and workload.grouping not in _COMPLETED and workload.made_from is None
    if kind is None or not is_whole or kind.templates[0].path[0] == ANYWHERE:
        yield from layer_problems(template.spec)
        return
    is_refused = kind.group in _BUILT_IN
    prefix = ""
    if is_refused and template.path:
        prefix = f"{format_path(template.path)}."
    elif kind.name in _BY_TEMPLATE or template.part == "submitterPodTemplate":
        prefix = "spec.template."
    for rule, problem in pod_problems(template.spec):
        if problem.operator_message is not None:
            stage = Stage.SCHEMA if is_refused else Stage.POD
            yield rule, problem._replace(operator_message=f"{prefix}{problem.operator_message}", stage=stage)
        else:
            yield rule, problem
