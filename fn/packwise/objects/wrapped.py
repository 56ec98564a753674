"""Workloads that a controller makes from parts of other objects: the roles of DisaggregatedSets, and the contents of
AppWrappers.

Each is judged as the resulting object. Findings are reported at the field that it is read from. Source:
spec/podgrouper.md#4, spec/kueue.md#3; LWS, pkg/controllers/disaggregatedset/lws_manager.go; AppWrapper, v1beta2.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.kubeobject import KubeObject
from krmfn.record import Record
from packwise.lenient import mapping, mapping_at, mappings_by_place, text, texts, value_at
from packwise.objects.identity import identity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings.finding import Finding
    from packwise.objects.index import Index

DISAGGREGATED_SET = ("disaggregatedset.x-k8s.io", "DisaggregatedSet")
APP_WRAPPER = ("workload.codeflare.dev", "AppWrapper")
WRAPPERS = (DISAGGREGATED_SET, APP_WRAPPER)
"""The kinds of objects that have workloads within them."""


class Wrapped(Record):
    """A workload `item` that a controller makes of the part of `outer` at `path`."""

    outer: KubeObject
    item: KubeObject
    path: FieldPath

    def finding(self, finding: Finding) -> Finding:
        """A finding about the workload, at the field of the outer object that it is read from."""
        return finding.replace(subject=self.outer, path=(*self.path, *finding.path))


def wrapped_objects(index: Index) -> Iterator[Wrapped]:
    """The workloads within the objects of the input, in their order."""
    for kind in WRAPPERS:
        for outer in index.of_kind(*kind):
            yield from unwrap(outer)


def unwrap(outer: KubeObject) -> Iterator[Wrapped]:
    """Yield the workloads within an object, if any."""
    key = identity(outer.value)[:2]
    if key == DISAGGREGATED_SET:
        yield from _roles(outer)
    elif key == APP_WRAPPER:
        yield from _components(outer)


def _roles(outer: KubeObject) -> Iterator[Wrapped]:
    """Yield the LeaderWorkerSet of each role with the role's metadata instead of the set's."""
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
    """Yield the objects in an AppWrapper's templates. They are made in its namespace."""
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
