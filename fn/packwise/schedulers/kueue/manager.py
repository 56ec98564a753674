"""The jobs that Kueue manages, by the configuration and the default queues in the input.

Source: spec/kueue.md#7.2; Kueue v0.19.2, pkg/controller/jobframework (defaults.go, reconciler.go, setup.go).
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.lenient import strings, text, value_at
from packwise.objects.kinds import LOCAL_QUEUE
from packwise.objects.workload_kinds import Integration
from packwise.schedulers.kueue.configuration import read_configurations
from packwise.schedulers.node_selection import NAMESPACE_NAME, namespace_labels, read_selector, selects_namespace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index
    from packwise.objects.workload_kinds import WorkloadKind
    from packwise.schedulers.kueue.configuration import Configuration
    from packwise.schedulers.node_selection import LabelRequirement

DEFAULT_QUEUE = "default"
"""The LocalQueue of jobs that name no queue (gate LocalQueueDefaulting, on by default since v0.12)."""

_POD = "pod"
_WITH_PODS = frozenset({"deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"})
"""The integrations that also enable the integration of pods."""

_NAMESPACE = "kueue-system"
_SYSTEM = "kube-system"


class Manager(Record):
    """Kueue's manager, as the input describes it.

    `configuration` is the only configuration in the input. It is None if there is none or there are several, and
    packwise then assumes that all integrations are enabled. `default_queues` are the namespaces with a LocalQueue
    `default`. `namespaces` are the labels of the input's Namespaces.
    """

    configuration: Configuration | None
    default_queues: frozenset[str]
    namespaces: Mapping[str, Mapping[str, Value] | None]

    @property
    def manages_all(self) -> bool:
        """Return True if Kueue also manages jobs that name no queue."""
        return self._value("manageJobsWithoutQueueName") is True

    @property
    def copied_labels(self) -> tuple[str, ...]:
        """Return the labels that Kueue copies from a job to its Workload.

        All pods of a group must have the same values of these labels.
        """
        return tuple(strings(self._value("integrations", "labelKeysToCopy")))

    def is_enabled(self, kind: WorkloadKind) -> bool:
        """Return True if Kueue or another controller manages the kind."""
        if self.configuration is None or self.is_external(kind.group, kind.name):
            return True
        # Without a list, Kueue enables only Jobs.
        frameworks = set(strings(self._value("integrations", "frameworks"))) or {"batch/job"}
        frameworks |= {_POD} if frameworks & _WITH_PODS else set()
        return framework_of(kind) in frameworks

    def is_external(self, group: str, name: str) -> bool:
        """Return True if `externalFrameworks` lists the kind as `Kind.version.group`: another controller manages it."""
        for written in strings(self._value("integrations", "externalFrameworks")):
            kind, _, rest = written.partition(".")
            if kind == name and rest.partition(".")[2] == group:
                return True
        return False

    def selects(self, namespace: str) -> bool | None:
        """Return True if Kueue manages jobs of the namespace. Return None if it depends on unknown labels."""
        if self.configuration is None:
            return True
        selector = self._value("managedJobsNamespaceSelector")
        requirements = read_selector(selector) if isinstance(selector, dict) else self._default_selector()
        # A manifest without a namespace is for a namespace of users. Such a selector excludes only other namespaces.
        if not namespace and all(key == NAMESPACE_NAME and word == "NotIn" for key, word, _ in requirements):
            return True
        return selects_namespace(requirements, namespace, self.namespaces)

    def manages(self, kind: WorkloadKind, namespace: str) -> bool:
        """Return True if Kueue may manage a job of the kind in the namespace."""
        return self.is_enabled(kind) and self.selects(namespace) is not False

    def has_default_queue(self, item: KubeObject) -> bool:
        """Return True if Kueue's webhook adds the default queue to an object that names no queue.

        It does so only if the object has no owner and the namespace has the default queue.
        """
        return (item.namespace or "") in self.default_queues and not item.get("metadata.ownerReferences")

    def _default_selector(self) -> tuple[LabelRequirement, ...]:
        own = text(self._value("namespace")) or _NAMESPACE
        return ((NAMESPACE_NAME, "NotIn", (_SYSTEM, own)),)

    def _value(self, *steps: str) -> Value:
        return None if self.configuration is None else value_at(self.configuration.value, *steps)


def read_manager(items: Index) -> Manager:
    """Return Kueue's manager, as the objects of the input describe it."""
    known = read_configurations(items)
    # Different configurations belong to different clusters.
    is_one = bool(known) and all(each.value == known[0].value for each in known)
    defaults = [item.namespace or "" for item in items.of_kind(*LOCAL_QUEUE.key) if item.name == DEFAULT_QUEUE]
    return Manager(known[0] if is_one else None, frozenset(defaults), namespace_labels(items))


def framework_of(kind: WorkloadKind) -> str:
    """Return the name of a kind's integration in Kueue's configuration, such as `kubeflow.org/pytorchjob`."""
    if kind.integration in (Integration.POD, Integration.BARE_PODS):
        return _POD
    if kind.integration is Integration.JOBS:
        return "batch/job"
    name = kind.name.lower()
    return name if kind.group == "apps" else f"{kind.group}/{name}"
