"""Workloads that a controller makes from parts of other objects: the roles of DisaggregatedSets, the components of
KServe's services, and the contents of AppWrappers.

packwise checks each resulting workload, and reports its findings at the field from which it is made. Source:
spec/podgrouper.md#4, spec/kueue.md#3; LWS, pkg/controllers/disaggregatedset/lws_manager.go; AppWrapper, v1beta2.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.kubeobject import KubeObject
from packwise.lenient import mapping, mapping_at, mappings_by_place, text, texts, value_at
from packwise.objects.index import identity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Finding
    from packwise.objects.index import Index

DISAGGREGATED_SET = ("disaggregatedset.x-k8s.io", "DisaggregatedSet")
APP_WRAPPER = ("workload.codeflare.dev", "AppWrapper")
INFERENCE_SERVICE = ("serving.kserve.io", "InferenceService")
LLM_SERVICE = ("serving.kserve.io", "LLMInferenceService")
WORKLOAD_SOURCES = (DISAGGREGATED_SET, INFERENCE_SERVICE, LLM_SERVICE)
"""The kinds of objects from which controllers create workloads. Kueue sees only the workloads."""

WRAPPERS = (*WORKLOAD_SOURCES, APP_WRAPPER)
"""The kinds of objects that contain workloads."""


class Wrapped(Record):
    """A workload `item` that a controller makes from the part of `outer` at `path`."""

    outer: KubeObject
    item: KubeObject
    path: FieldPath
    origins: tuple[tuple[FieldPath, FieldPath], ...] = ()
    """Parts of the workload that are made from other fields of `outer`. Each pair has the path in the workload, and the
    path in `outer`. The first pair that matches counts.
    """

    def path_of(self, path: FieldPath) -> FieldPath:
        """Return the path in the outer object from which the field at `path` of the workload is made."""
        for part, origin in self.origins:
            if path[: len(part)] == part:
                return (*origin, *path[len(part) :])
        return (*self.path, *path)

    def finding(self, finding: Finding) -> Finding:
        """Return a finding about the workload, moved to the field of the outer object from which its field is made."""
        return finding.replace(subject=self.outer, path=self.path_of(finding.path))

    def key_findings(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield findings about labels and annotations, moved to the fields of the outer object.

        A controller can copy a label or annotation to several places. Its finding is yielded once, and only if every
        copy has one.
        """
        by_source: dict[FieldPath, dict[FieldPath, list[Finding]]] = {}
        for finding in findings:
            by_source.setdefault(self.path_of(finding.path), {}).setdefault(finding.path, []).append(finding)
        for path, copies in by_source.items():
            places = dict.fromkeys([(*part, path[-1]) for part, _ in self.origins])
            holders = [place for place in places if self.path_of(place) == path and self.item.get(place) is not None]
            if len(copies) >= len(holders):
                yield from map(self.finding, next(iter(copies.values())))


def wrapped_objects(index: Index) -> Iterator[Wrapped]:
    """Yield the workloads within the objects of the input, kind by kind."""
    for kind in WRAPPERS:
        for outer in index.of_kind(*kind):
            yield from unwrap(outer)


def unwrap(outer: KubeObject) -> Iterator[Wrapped]:
    """Yield the workloads within an object. Objects of other kinds have none."""
    key = identity(outer.value)[:2]
    if key == DISAGGREGATED_SET:
        yield from _roles(outer)
    elif key == APP_WRAPPER:
        yield from _components(outer)
    elif key in (INFERENCE_SERVICE, LLM_SERVICE):
        # The import is lazy, because few inputs have a service of KServe.
        from packwise.objects.kserve import objects_of_inference_service, objects_of_llm_service

        make = objects_of_inference_service if key == INFERENCE_SERVICE else objects_of_llm_service
        for value, path, origins in make(outer.value):
            yield Wrapped(outer, KubeObject.new(value), path, origins)


_UNREAD: Mapping[tuple[str, str], str] = {
    DISAGGREGATED_SET: "each role becomes a LeaderWorkerSet with the metadata of the role, spec.roles[].metadata",
    LLM_SERVICE: "KServe copies only Kueue's keys from here; pods get their own from spec.labels and spec.annotations",
}


def unread_keys(outer: KubeObject, parts: Iterable[Wrapped], prefix: str) -> Iterator[tuple[FieldPath, str]]:
    """Yield the path of each label and annotation of an object that no workload made from it gets, and the reason.

    Only keys that begin with `prefix` are considered. `parts` are the workloads within the object.
    """
    why = _UNREAD.get(identity(outer.value)[:2])
    workloads = tuple(parts)
    for form in ("labels", "annotations") if why is not None else ():
        for key in mapping(outer.get(("metadata", form))):
            path: FieldPath = ("metadata", form, key)
            is_copied = any(each.origins and each.item.get(path) is not None for each in workloads)
            if key.startswith(prefix) and not is_copied:
                yield path, f"no component reads this here: {why}"


def _roles(outer: KubeObject) -> Iterator[Wrapped]:
    """Yield the LeaderWorkerSet of each role, with the metadata of the role. Metadata of the set is not copied."""
    for place, role in mappings_by_place(value_at(outer.value, "spec", "roles")):
        metadata = mapping_at(role, "metadata")
        value: dict[str, Value] = {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "metadata": _metadata(outer, f"{outer.name}-{text(role.get('name'))}", metadata),
            "spec": role.get("spec"),
        }
        yield Wrapped(outer, KubeObject.new(value), ("spec", "roles", place))


def _components(outer: KubeObject) -> Iterator[Wrapped]:
    """Yield the objects in the templates of an AppWrapper. They get its namespace."""
    for place, component in mappings_by_place(value_at(outer.value, "spec", "components")):
        template = mapping(component.get("template"))
        if isinstance(template.get("kind"), str) and isinstance(template.get("apiVersion"), str):
            metadata = mapping(template.get("metadata"))
            value = {**template, "metadata": _metadata(outer, text(metadata.get("name")), metadata)}
            yield Wrapped(outer, KubeObject.new(value), ("spec", "components", place, "template"))


def _metadata(outer: KubeObject, name: str, written: Mapping[str, Value]) -> dict[str, Value]:
    own: dict[str, Value] = {"name": name}
    namespace = identity(outer.value)[2]
    if namespace:
        own["namespace"] = namespace
    return own | {form: dict(texts(written.get(form))) for form in ("labels", "annotations") if form in written}
