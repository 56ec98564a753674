"""Front ends: the workload APIs that packwise reads, one package each; their protocol, and how their inputs are known.

Documents of other tools are no Kubernetes objects, and workloads that the scheduler groups itself are of any kind.
"""

from __future__ import annotations

from krmfn.fieldpath import FieldError, FieldPath
from krmfn.hints import TYPE_CHECKING, Protocol
from krmfn.record import Record
from packwise.objects import Place
from packwise.objects.kinds import KINDS, POD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Literal, TypeAlias

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings.finding import Finding
    from packwise.objects import Index, Inventory
    from packwise.placement import Cluster, Omission, WorkloadPlan
    from packwise.revisions.grove import Revision, Step
    from packwise.settings import TopologyRender
    from packwise.topology.known import KnownTopologies, ListedTopology, Use
    from packwise.validate import Definitions

# The protocol between the pipeline and a front end: an API of workloads.


class OmissionsOf(Protocol):
    """Finds values that are missing in the objects of a front end's workloads, and says why."""

    def __call__(
        self, plans: Sequence[WorkloadPlan], inventory: Inventory, cluster: Cluster, settings: TopologyRender
    ) -> Iterable[tuple[WorkloadPlan, Omission]]:
        """The omissions of those of `plans`, which have no error, that are the front end's; each with its plan."""
        ...


class FrontEnd(Protocol):
    """A front end reads its own kinds of workloads: read → default → rules → placement.

    One of which nothing can be mended, whose words no revision changes, or that has no topologies of its own, takes
    these methods from here.
    """

    def plans(
        self, inventory: Inventory, cluster: Cluster, settings: TopologyRender, definitions: Definitions
    ) -> Iterable[WorkloadPlan]:
        """The plan of each of its workloads, in order of namespace and name."""
        ...

    def mend(self, item: KubeObject, revision: Revision, settings: TopologyRender) -> KubeObject:  # noqa: ARG002
        """One of its workloads with what can be mended without a decision; anything else as it is.

        Raises FieldError where an anchor or alias is in the way.
        """
        return item

    def migrate(self, item: KubeObject, step: Step) -> KubeObject:  # noqa: ARG002
        """One of its workloads in the words of the step's later revision; anything else as it is.

        Raises FieldError where an anchor or alias is in the way, or a comment could not stay.
        """
        return item

    def uses(self, inventory: Inventory, settings: TopologyRender, revision: Revision) -> Iterable[Use]:
        """The topology that each of its workloads uses: named, by default, or none."""
        ...

    def topologies(
        self,
        inventory: Inventory,  # noqa: ARG002
        settings: TopologyRender,  # noqa: ARG002
        revision: Revision,  # noqa: ARG002
        known: KnownTopologies,  # noqa: ARG002
    ) -> Iterable[ListedTopology]:
        """The topologies that its workloads choose from, in order of name; also those that a render would refuse."""
        return ()


# Documents of other tools, which are no Kubernetes objects: OSMO's pool configs and workflow specs.
#
# As files they stand for themselves; among the items of a ResourceList each travels as a ConfigMap with a label that
# says so. Source: spec/osmo.md#input.

Form: TypeAlias = 'Literal["file", "labelled", "values", "service"]'
"""The form in which a document of OSMO travels, as DocumentAt says it."""


LABEL = "packwise.dev/osmo"
"""Label of a ConfigMap that carries a document: `pool` or `workflow`."""


_CONFIGS: tuple[FieldPath, ...] = (("services", "configs"), ("configuration",))
"""Where the values of OSMO's charts hold its configuration: the chart `service`, and the chart `osmo`."""

_RELEASES: tuple[tuple[str, str, FieldPath], ...] = (
    ("helm.toolkit.fluxcd.io", "HelmRelease", ("spec", "values")),
    ("argoproj.io", "Application", ("spec", "source", "helm", "valuesObject")),
)
"""The objects that hold Helm values, and where."""

_SERVICE_KEY = "config.yaml"
"""The key that the chart writes OSMO's whole configuration to, in a ConfigMap."""

_POD_TEMPLATES = ("podTemplates", "pod_templates")
"""The key of the charts' values, and that of OSMO's own configuration."""

_POOL_FIELDS = frozenset({"backend", "platforms", "topology_keys", "default_platform", "common_pod_template"})
_KNOWN_FIELDS = _POOL_FIELDS | {
    "name", "description", "status", "enable_maintenance", "default_exec_timeout", "default_queue_timeout",
    "max_exec_timeout", "max_queue_timeout", "default_exit_actions", "resources", "common_default_variables",
    "common_resource_validations", "common_group_templates",
}  # fmt: skip
_TELLING_FIELDS = _POOL_FIELDS - {"backend"}
_GITLAB_FIELDS = frozenset({"rules", "auto_cancel"})


class DocumentAt(Record):
    """Where a document of OSMO stands.

    `form`: a `file` by itself; the data of a `labelled` ConfigMap; the part of Helm `values` that holds pools; the data
    of the ConfigMap that the chart makes for OSMO's `service`.
    """

    place: Place
    form: Form


def is_document(value: Value) -> bool:
    """True if a document is OSMO's, by its content."""
    if not isinstance(value, dict) or all(isinstance(value.get(key), str) for key in ("apiVersion", "kind")):
        return False
    if "workflow" in value:
        workflow = value["workflow"]
        # GitLab's pipelines have a section of that name too.
        return not (isinstance(workflow, dict) and _GITLAB_FIELDS & workflow.keys())
    if "topology_keys" in value or isinstance(value.get("pools"), dict):
        return True
    return _is_pool(value) or any(_configs_in_values(value))


def _is_pool(value: Mapping[str, Value]) -> bool:
    """True if it is a pool by itself; OSMO's answer about a workflow has a backend and a name too."""
    keys = value.keys()
    return {"backend", "name"} <= keys and (keys <= _KNOWN_FIELDS or not _TELLING_FIELDS.isdisjoint(keys))


def may_be_document(text: str) -> bool:
    """True if a text that is no YAML may be a workflow all the same: OSMO's may be templates."""
    lines = text.splitlines()
    return any(line.startswith("workflow:") for line in lines) and not any(line.startswith("kind:") for line in lines)


def document_places(inventory: Inventory) -> tuple[DocumentAt, ...]:
    """The places of OSMO's documents: those of files, then the data of ConfigMaps, then Helm values within objects."""
    return tuple(_places(inventory.documents, inventory.items))


def document_places_before(inventory: Inventory) -> tuple[DocumentAt, ...]:
    """The places of OSMO's documents in the baseline."""
    baseline = inventory.baseline
    return () if baseline is None else tuple(_places(inventory.documents_before, baseline))


def _places(documents: Iterable[KubeObject], index: Index) -> Iterator[DocumentAt]:
    for document in documents:
        configs = list(_configs_in(document))
        yield from configs or [DocumentAt(Place(document), "file")]
    for item in index.of_kind("", "ConfigMap"):
        data = item.get(("data",))
        if item.get(("metadata", "labels", LABEL)) is not None:
            keys = list(data) if isinstance(data, dict) else []
            # Which key is free to choose; where there is not one of them, the front end says so.
            place = Place(item, ("data", *keys), embedded=True) if len(keys) == 1 else Place(item, ("data",))
            yield DocumentAt(place, "labelled")
        elif isinstance(data, dict) and _is_service(data.get(_SERVICE_KEY)):
            yield DocumentAt(Place(item, ("data", _SERVICE_KEY), embedded=True), "service")
    for group, kind, path in _RELEASES:
        for item in index.of_kind(group, kind):
            yield from _configs_below(item, path)


def _is_service(text: Value) -> bool:
    return isinstance(text, str) and "backend:" in text and any(line.startswith("pools:") for line in text.splitlines())


def _configs_in(document: KubeObject) -> Iterator[DocumentAt]:
    """The pools of a file that holds Helm values; nothing of one that is a document of OSMO's own."""
    try:
        value = document.value
    except FieldError:
        return
    if "workflow" not in value and not isinstance(value.get("pools"), dict):
        yield from _configs_below(document, ())


def _configs_below(item: KubeObject, path: FieldPath) -> Iterator[DocumentAt]:
    for inner in _configs_in_values(item.get(path) if path else item.value):
        yield DocumentAt(Place(item, (*path, *inner)), "values")


def _configs_in_values(values: Value) -> Iterator[FieldPath]:
    """The paths, within Helm values, of what holds OSMO's pools or the templates of their pods.

    The values are those of its chart, or of one that depends on it.
    """
    if not isinstance(values, dict):
        return
    for prefix, part in [((), values), *(((key,), part) for key, part in values.items())]:
        for path in _CONFIGS:
            pools = _entry(part, (*path, "pools"))
            entries = pools.values() if isinstance(pools, dict) else ()
            is_pool = any(isinstance(pool, dict) and _POOL_FIELDS & pool.keys() for pool in entries)
            if is_pool or any(pod_templates(_entry(part, path))):
                yield (*prefix, *path)


def pod_templates(configs: Value) -> Iterator[tuple[FieldPath, dict[str, Value]]]:
    """The templates that OSMO lays over the pods of its pools, each with its path; they stand beside the pools."""
    for key in _POD_TEMPLATES:
        templates = _entry(configs, (key,))
        for name, template in templates.items() if isinstance(templates, dict) else ():
            if isinstance(template, dict) and any(
                isinstance(template.get(part), dict) for part in ("spec", "metadata")
            ):
                yield (key, name), template


def _entry(value: Value, path: FieldPath) -> Value:
    for step in path:
        value = value.get(str(step)) if isinstance(value, dict) else None
    return value


# Workloads that the scheduler may group itself: the candidates among the input. Imported in every run.


_OF_OTHERS = frozenset(kind.key for kind in KINDS if kind is not POD)
_WORDS = ("schedulerName", "kai.scheduler/")
"""One of these stands in the text of each workload that names a scheduler, or has a key of KAI's."""
_TYPED, _TYPES = "kubeflow.org", "ReplicaSpecs"
"""The group whose jobs have replicas by type, and what the fields of these end with: without, no pod has a template."""


def candidates(index: Index) -> Iterator[KubeObject]:
    """The users' objects that may be workloads of the scheduler, by their texts alone."""
    seen: dict[str, bool] = {}
    for key, items in index.by_kind.items():
        if key in _OF_OTHERS:
            continue
        for item in items:
            if not item.written or (key[0] == _TYPED and _TYPES not in item.source.text):
                yield item
                continue
            # The objects of a file share its text.
            text = item.source.text
            if text not in seen:
                seen[text] = any(word in text for word in _WORDS)
            if seen[text]:
                yield item


def has_candidates(index: Index) -> bool:
    """True if there is any."""
    return next(candidates(index), None) is not None


def candidate_key_findings(index: Index, kai_version: str | None, kai_name: str) -> Iterator[Finding]:
    """The keys of candidates that nobody reads; the release of KAI is named, and pods ask for KAI by its name."""
    if has_candidates(index):
        # Few inputs have workloads that KAI groups itself.
        from packwise.frontends.workloads.keys import workload_key_findings

        yield from workload_key_findings(index, kai_version, kai_name)


def candidate_metadata(index: Index, kai_name: str) -> Iterator[tuple[KubeObject, FieldPath, Mapping[str, Value]]]:
    """Each metadata of the candidates that KAI schedules, and of the templates in them, with its path."""
    if has_candidates(index):
        # Few inputs have one.
        from packwise.frontends.workloads.keys import metadata_of_workloads

        yield from metadata_of_workloads(index, kai_name)
