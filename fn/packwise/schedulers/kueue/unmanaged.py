"""Jobs that Kueue ignores although they name a queue, or suspends although they name no queue.

Kueue's configuration decides this. Source: spec/kueue.md#7.2; Kueue v0.19.2, pkg/controller/jobframework (defaults.go,
reconciler.go, setup.go).
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Finding, Rule
from packwise.lenient import mapping_at
from packwise.objects.index import identity
from packwise.objects.kinds import DYNAMO_GRAPH, POD_CLIQUE_SET
from packwise.objects.workload_kinds import POD_KIND, QUEUE_NAME, WORKLOAD_KINDS, Integration, pod_templates_in
from packwise.objects.wrapped import WORKLOAD_SOURCES
from packwise.schedulers.kueue.manager import framework_of, read_manager

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.kubeobject import KubeObject
    from packwise.objects.index import Index
    from packwise.objects.workload_kinds import WorkloadKind
    from packwise.schedulers.kueue.manager import Manager

UNQUEUED = Rule("kueue-unqueued", "Kueue suspends a job that names no queue.", "spec/kueue.md#7.2", Severity.WARNING)
INTEGRATION = Rule(
    "kueue-integration",
    "Kueue ignores the queue of a job, because its configuration excludes the kind or the namespace.",
    "spec/kueue.md#7.2",
    Severity.WARNING,
)
RULES = (UNQUEUED, INTEGRATION)
"""Rules about jobs that Kueue ignores or suspends."""

_KINDS_OF_OTHER_RULES = (POD_CLIQUE_SET.key, DYNAMO_GRAPH.key, *WORKLOAD_SOURCES)


def check_unmanaged(items: Index) -> Iterator[Finding]:
    """Yield findings about jobs that Kueue ignores although they name a queue, or suspends although they name none."""
    manager = read_manager(items)
    for kind in WORKLOAD_KINDS.values():
        for item in items.of_kind(*kind.key) if kind.integration is not None else ():
            yield from _known_kind(item, kind, manager)
    for item in items.users.values():
        key = identity(item.value)[:2]
        kind = WORKLOAD_KINDS.get(key)
        is_unknown = (kind is None or kind.integration is None) and key not in _KINDS_OF_OTHER_RULES
        if is_unknown and item.labels.get(QUEUE_NAME) and not manager.is_external(*key):
            yield from _unknown_kind(item, manager)


def _known_kind(item: KubeObject, kind: WorkloadKind, manager: Manager) -> Iterator[Finding]:
    queue, namespace = kind.queue_of(item.value), item.namespace or ""
    path = (*kind.owner.path, "labels", QUEUE_NAME)
    if queue and not manager.is_enabled(kind):
        message = (
            f'Kueue\'s configuration does not enable "{framework_of(kind)}", and Kueue ignores this queue. The '
            f"{kind.name} starts at once. Add it to integrations.frameworks"
        )
        yield Finding.of(INTEGRATION, item, path, message)
    elif queue and manager.selects(namespace) is False:
        message = (
            f'the managedJobsNamespaceSelector of Kueue\'s configuration does not select the namespace "{namespace}", '
            f"and Kueue ignores this queue. The {kind.name} starts at once"
        )
        yield Finding.of(INTEGRATION, item, path, message)
    elif (
        not queue
        and manager.manages_all
        and manager.is_enabled(kind)
        and manager.selects(namespace) is True
        and not manager.is_external(*kind.key)
        and not manager.has_default_queue(item)
        and not item.get("metadata.ownerReferences")
    ):
        message = (
            f"Kueue's configuration sets manageJobsWithoutQueueName, and Kueue suspends a {kind.name} without a queue. "
            f"It never starts. Add the label {QUEUE_NAME}"
        )
        yield Finding.of(UNQUEUED, item, kind.owner.path, message)
    if not queue and not manager.is_enabled(POD_KIND):
        yield from _queues_of_pods(item, kind)


def _queues_of_pods(item: KubeObject, kind: WorkloadKind) -> Iterator[Finding]:
    """Yield a finding for each queue that only a pod template names.

    Kueue's configuration does not enable pods, so Kueue ignores these queues.
    """
    for part in kind.templates if kind.integration in (Integration.PODS, Integration.BARE_PODS) else ():
        path = (*part.path, "labels", QUEUE_NAME)
        if item.get(path):
            message = (
                f'Kueue\'s configuration does not enable "{framework_of(POD_KIND)}", and Kueue ignores this queue. '
                "The pods start at once"
            )
            yield Finding.of(INTEGRATION, item, path, message)


def _unknown_kind(item: KubeObject, manager: Manager) -> Iterator[Finding]:
    """Yield a finding if an object of a kind without an integration names a queue, but its pod templates do not."""
    templates = [template for _, template in pod_templates_in(item.value)]
    if not templates or any(mapping_at(each, "metadata", "labels").get(QUEUE_NAME) for each in templates):
        return
    message = f"Kueue has no integration for the kind {item.kind}, and packwise does not check it. "
    severity = None
    if manager.configuration is None:
        severity = Severity.INFO
        message += "Kueue reads this queue only if its configuration names the kind in integrations.externalFrameworks"
    else:
        message += (
            "Kueue's configuration does not name it in integrations.externalFrameworks, and Kueue ignores this queue. "
            "Set the label in the pod templates"
        )
    yield Finding.of(INTEGRATION, item, ("metadata", "labels", QUEUE_NAME), message, severity=severity)
