"""Recognize OSMO's documents in the input: pools, workflows, and configurations with pools."""

from __future__ import annotations

from krmfn.fieldpath import FieldError, FieldPath
from krmfn.hints import TYPE_CHECKING, Record
from packwise.findings import Place
from packwise.lenient import mapping

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Literal, TypeAlias

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index, Inventory


Form: TypeAlias = 'Literal["file", "labelled", "values", "service"]'
"""The form in which the input has a document of OSMO: see DocumentAt."""


LABEL = "packwise.dev/osmo"
"""The label of a ConfigMap with a document of OSMO. Its value is `pool` or `workflow`."""


_CONFIGS: tuple[FieldPath, ...] = (("services", "configs"), ("configuration",))
"""Paths to OSMO's configuration in the values of the charts `service` and `osmo`."""


_RELEASES: tuple[tuple[str, str, FieldPath], ...] = (
    ("helm.toolkit.fluxcd.io", "HelmRelease", ("spec", "values")),
    ("argoproj.io", "Application", ("spec", "source", "helm", "valuesObject")),
)
"""The kinds of objects with Helm values, each with the path of the values."""


_SERVICE_KEY = "config.yaml"
"""The key of the ConfigMap in which the chart writes OSMO's whole configuration."""


_POD_TEMPLATES = ("podTemplates", "pod_templates")
"""The key of pod templates in the values of the charts, and the key in OSMO's own configuration."""


KEYS = ("workflow", "topology_keys", "pools", "backend", *_POD_TEMPLATES)
"""Every document of OSMO has one of these keys, at any depth. `is_document` returns False for all other documents."""


_POOL_FIELDS = frozenset({"backend", "platforms", "topology_keys", "default_platform", "common_pod_template"})


_KNOWN_FIELDS = _POOL_FIELDS | {
    "name", "description", "status", "enable_maintenance", "default_exec_timeout", "default_queue_timeout",
    "max_exec_timeout", "max_queue_timeout", "default_exit_actions", "resources", "common_default_variables",
    "common_resource_validations", "common_group_templates",
}  # fmt: skip


_POOL_ONLY_FIELDS = _POOL_FIELDS - {"backend"}


_SECTIONS = frozenset({"workflow", "version", "default-values"})
_WORKFLOW_FIELDS = frozenset({"name", "tasks", "groups", "resources"})


_GITLAB_FIELDS = frozenset({"rules", "auto_cancel"})


class DocumentAt(Record):
    """The place of an OSMO document.

    `form` is one of these:

    - `file`: a whole document of a file.
    - `labelled`: the data of a ConfigMap with the label LABEL.
    - `values`: pools or pod templates in Helm values.
    - `service`: the data of the ConfigMap that the chart makes for OSMO's service.
    """

    place: Place
    form: Form


def is_document(value: Value) -> bool:
    """Return True if the content of a YAML document shows that it is a document of OSMO."""
    if not isinstance(value, dict) or all(isinstance(value.get(key), str) for key in ("apiVersion", "kind")):
        return False
    if "workflow" in value:
        workflow = value["workflow"]
        # Pipelines of GitLab and Helm values of Argo Workflows also have a section `workflow`.
        is_chart = isinstance(workflow, dict) and not _WORKFLOW_FIELDS & workflow.keys() and value.keys() - _SECTIONS
        return not (is_chart or (isinstance(workflow, dict) and _GITLAB_FIELDS & workflow.keys()))
    if "topology_keys" in value or isinstance(value.get("pools"), dict):
        return True
    return _is_pool(value) or any(_configs_in_values(value))


def _is_pool(value: Mapping[str, Value]) -> bool:
    """Return True if the document is a single pool.

    A backend and a name are not sufficient, because OSMO's answers about workflows also have these fields.
    """
    keys = value.keys()
    return {"backend", "name"} <= keys and (keys <= _KNOWN_FIELDS or not _POOL_ONLY_FIELDS.isdisjoint(keys))


def may_be_document(text: str) -> bool:
    """Return True if a text that is not valid YAML may be a workflow spec. A workflow spec can be a template."""
    lines = text.splitlines()
    return any(line.startswith("workflow:") for line in lines) and not any(line.startswith("kind:") for line in lines)


def document_places(inventory: Inventory) -> tuple[DocumentAt, ...]:
    """Return the places of OSMO's documents: first in files, then in ConfigMaps, last in objects with Helm values."""
    return tuple(_places(inventory.documents, inventory.items))


def document_places_before(inventory: Inventory) -> tuple[DocumentAt, ...]:
    """Return the places of OSMO's documents in the baseline, in the same order."""
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
            # Users may choose the key. The front end reports a ConfigMap without exactly one key.
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
    """Yield the places of OSMO's pools if the document is a file of Helm values. Other documents have none."""
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
    """Yield each path in Helm values at which OSMO's pools or pod templates are configured.

    The values may be for OSMO's chart, or for a chart that depends on it.
    """
    if not isinstance(values, dict):
        return
    for prefix, part in [((), values), *(((key,), part) for key, part in values.items())]:
        for path in _CONFIGS:
            pools = _entry(part, (*path, "pools"))
            entries = mapping(pools).values()
            is_pool = any(isinstance(pool, dict) and _POOL_FIELDS & pool.keys() for pool in entries)
            if is_pool or any(pod_templates(_entry(part, path))):
                yield (*prefix, *path)


def pod_templates(configs: Value) -> Iterator[tuple[FieldPath, dict[str, Value]]]:
    """Yield the path and the value of each pod template in a configuration. OSMO merges them into the pods of pools."""
    for key in _POD_TEMPLATES:
        templates = _entry(configs, (key,))
        for name, template in mapping(templates).items():
            if isinstance(template, dict) and any(
                isinstance(template.get(part), dict) for part in ("spec", "metadata")
            ):
                yield (key, name), template


def _entry(value: Value, path: FieldPath) -> Value:
    for step in path:
        value = value.get(str(step)) if isinstance(value, dict) else None
    return value
