"""Kueue's own configuration in the input, a file or a document in a ConfigMap, and the DeviceClasses that it maps.

Source: spec/kueue.md#6.16 and #7; Kueue v0.19.2, apis/config/v1beta2 and pkg/dra/claims.go.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.yamltext import YamlError, read
from packwise.lenient import mapping, mapping_at, mappings, mappings_by_place, strings, text, text_at, value_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index
    from packwise.schedulers.kueue.podsets import KueuePodSet

_GROUP = "config.kueue.x-k8s.io"
_GATE = "KueueDRAIntegration"
_RESERVED = "pods"


class Configuration(Record):
    """A configuration of Kueue. `item` is the configuration itself, or a ConfigMap with the document at `path`."""

    item: KubeObject
    path: FieldPath
    value: Mapping[str, Value]

    @property
    def mappings(self) -> list[Mapping[str, Value]]:
        """Return the entries of `deviceClassMappings`. Each maps DeviceClasses to a resource."""
        return mappings(value_at(self.value, "resources", "deviceClassMappings"))

    @property
    def uses_reserved_name(self) -> bool:
        """Return True if devices are mapped to `pods`, the resource by which Kueue counts pods."""
        return any(each.get("name") == _RESERVED for each in self.mappings)


def read_configurations(items: Index) -> tuple[Configuration, ...]:
    """Return Kueue's configurations in the input. Unreadable documents are skipped."""
    files = [Configuration(item, (), item.value) for item in items.of_kind(_GROUP, "Configuration")]
    documents = [
        Configuration(item, ("data", key), value)
        for item in items.of_kind("", "ConfigMap")
        for key, document in mapping(item.get("data")).items()
        if isinstance(document, str) and _GROUP in document and (value := _read(document))
    ]
    return (*files, *documents)


def _read(document: str) -> Mapping[str, Value]:
    try:
        value = mapping(read(document))
    except YamlError:
        return {}
    return value if text_at(value, "apiVersion").startswith(f"{_GROUP}/") else {}


def device_classes(configurations: Iterable[Configuration]) -> frozenset[str] | None:
    """Return the DeviceClasses that Kueue maps to resources.

    Return None if there are no configurations, or if one of them disables the gate by which Kueue counts devices.
    """
    known = list(configurations)
    if not known or any(value_at(each.value, "featureGates", _GATE) is False for each in known):
        return None
    names = [name for each in known for entry in each.mappings for name in strings(entry.get("deviceClassNames"))]
    return frozenset(names)


class UnmappedClass(Record):
    """A claim of a pod set for the unmapped DeviceClass `name`. `path` is its path in the pod's spec.

    `text` is Kueue's own text.
    """

    pods: KueuePodSet
    path: FieldPath
    name: str
    text: str


class KnownDevices(Record):
    """The mapped DeviceClasses, or None if they are unknown, and ResourceClaimTemplates by namespace and name."""

    classes: frozenset[str] | None
    templates: Mapping[tuple[str, str], Mapping[str, Value]]


def read_devices(items: Index) -> KnownDevices:
    """Return the DeviceClasses that the input's configurations map, and the ResourceClaimTemplates in the input."""
    classes = device_classes(read_configurations(items))
    written = items.of_kind("resource.k8s.io", "ResourceClaimTemplate") if classes is not None else ()
    return KnownDevices(classes, {(item.namespace or "", item.name): item.value for item in written})


def unmapped_class(sets: Sequence[KueuePodSet], namespace: str, known: KnownDevices) -> UnmappedClass | None:
    """Return the first claim for a DeviceClass that Kueue does not map to a resource, or None."""
    for index, each in enumerate(sets if known.classes is not None else ()):
        for place, claim in mappings_by_place(each.pod_spec.get("resourceClaims")):
            field = "resourceClaimTemplateName"
            template = known.templates.get((namespace, text(claim.get(field))))
            for request in mappings(mapping_at(template, "spec", "spec", "devices").get("requests")):
                # In resource.k8s.io/v1beta1, the class is a field of the request itself.
                name = text_at(request, "exactly", "deviceClassName") or text_at(request, "deviceClassName")
                if name and name not in (known.classes or ()):
                    return UnmappedClass(
                        each, ("resourceClaims", place, field), name,
                        f"spec.podSets[{index}].template.spec.resourceClaims[{place}].{field}: Not found: "
                        f'"DeviceClass {name} is not mapped in DRA configuration for podset {each.name}"',
                    )  # fmt: skip
    return None
