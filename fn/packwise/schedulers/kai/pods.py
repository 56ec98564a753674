"""A pod as KAI reads it: its request, its rules for nodes, and the objects that it needs.

Source: spec/placement.md#9; KAI Scheduler v0.17.0, api/pod_info and k8s_internal/predicates.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, Record, cast
from packwise.kubernetes import amounts, container_requests, parse_natural
from packwise.lenient import entries, mapping_at, mappings, text_at
from packwise.placement import MNNVL_CLAIM
from packwise.schedulers.kai.allocate.scene import (
    GPU,
    AffinityTerm,
    GpuPortion,
    HostPort,
    Pod,
    PodRules,
)
from packwise.schedulers.kai.allocate.state import EVERY_NAMESPACE
from packwise.schedulers.node_selection import read_node_terms, read_selector, read_tolerations, selects_labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.value import Value
    from packwise.schedulers.node_selection import LabelRequirement

_FRACTION, _MEMORY, _DEVICES = "gpu-fraction", "gpu-memory", "gpu-fraction-num-devices"
_NUMBER = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_AMD = "amd.com/gpu"
_SHARED_CONFIG_MAP = "runai/shared-gpu-configmap"


class KnownObjects(Record):
    """The cluster's objects that pods need, by namespace and name. None means that the kind was not listed."""

    config_maps: frozenset[tuple[str, str]] | None = None
    claims: Mapping[tuple[str, str], Mapping[str, Value]] | None = None
    namespaces: Mapping[str, Mapping[str, str]] | None = None
    runtime_classes: Mapping[str, Mapping[str, Value]] | None = None


class Manifest(Record):
    """The template of a pod: its namespace, spec, labels and annotations."""

    namespace: str
    spec: Mapping[str, Value]
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


def texts_at(value: Value, *steps: str) -> dict[str, str]:
    """Return the mapping at the path `steps`, such as labels or annotations, with all values as text."""
    return {key: str(written) for key, written in mapping_at(value, *steps).items()}


def known_objects(by_kind: Mapping[str, Iterable[Mapping[str, Value]]]) -> KnownObjects:
    """Return the objects that pods need. `by_kind` holds the cluster's objects.

    A kind in `by_kind` counts as listed even if it has no objects.
    """

    def objects_of(kind: str) -> dict[tuple[str, str], Mapping[str, Value]] | None:
        if kind not in by_kind and f"{kind}List" not in by_kind:
            return None
        return {
            (text_at(value, "metadata", "namespace"), text_at(value, "metadata", "name")): value
            for value in by_kind.get(kind, ())
        }

    config_maps, namespaces, classes = objects_of("ConfigMap"), objects_of("Namespace"), objects_of("RuntimeClass")
    return KnownObjects(
        None if config_maps is None else frozenset(config_maps),
        objects_of("PersistentVolumeClaim"),
        None
        if namespaces is None
        else {name: texts_at(value, "metadata", "labels") for (_, name), value in namespaces.items()},
        None if classes is None else {name: value for (_, name), value in classes.items()},
    )


def with_objects(known: KnownObjects, by_kind: Mapping[str, Iterable[Mapping[str, Value]]]) -> KnownObjects:
    """Return `known` with the objects in `by_kind` added.

    If ConfigMaps, PersistentVolumeClaims or Namespaces are not listed in `known`, they stay unlisted.
    """
    own = known_objects(by_kind)
    return KnownObjects(
        None if known.config_maps is None else known.config_maps | (own.config_maps or frozenset()),
        None if known.claims is None else {**known.claims, **(own.claims or {})},
        None if known.namespaces is None else {**known.namespaces, **(own.namespaces or {})},
        {**(known.runtime_classes or {}), **(own.runtime_classes or {})},
    )


def node_amounts(quantities: Mapping[str, Value]) -> dict[str, int]:
    """Return a node's amounts of resources as KAI counts them. `amd.com/gpu` counts as `nvidia.com/gpu`."""
    return _with_gpus(amounts(quantities))


def read_pod(name: str, manifest: Manifest, known: KnownObjects) -> tuple[Pod, list[str]]:
    """Return the pod `name`, and notes on facts that packwise ignores.

    Each note is a sentence without its subject, the pods.
    """
    namespace, spec = manifest.namespace, manifest.spec
    labels, annotations = manifest.labels, manifest.annotations
    notes: list[str] = []
    runtime = text_at(spec, "runtimeClassName")
    if runtime and (known.runtime_classes is None or runtime not in known.runtime_classes):
        notes.append(
            f'use the RuntimeClass "{runtime}", which is not in the cluster\'s objects; its overhead and node selector '
            "are not counted"
        )
    elif runtime and known.runtime_classes is not None:
        spec = _with_class(spec, known.runtime_classes[runtime])
    claims = [text_at(claim, "name") for claim in mappings(spec.get("resourceClaims"))]
    if MNNVL_CLAIM in claims:
        notes.append(
            "get a resource claim of automatic MNNVL, and each node has only one channel; packwise ignores that no two "
            "of them fit on one node"
        )
    if any(claim != MNNVL_CLAIM for claim in claims):
        notes.append("claim devices, which are not counted")
    request = _with_gpus(container_requests(spec))
    share = _share(annotations)
    if share is not None:
        request.pop(GPU, None)
    lacks = (
        *_config_maps(namespace, spec, annotations, known, notes),
        *_claims(name, namespace, spec, known, notes),
    )
    pod = Pod(
        name,
        tuple(sorted((key, amount) for key, amount in request.items() if amount > 0)),
        rules=_rules(spec, namespace, labels, known, notes),
        labels=labels,
        namespace=namespace,
        share=share,
        is_gated=bool(spec.get("schedulingGates")),
        lacks=lacks,
    )
    return pod, notes


def _with_gpus(request: Mapping[str, int]) -> dict[str, int]:
    if _AMD not in request:
        return dict(request)
    merged = {key: amount for key, amount in request.items() if key != _AMD}
    merged[GPU] = merged.get(GPU, 0) + request[_AMD]
    return merged


def _with_class(spec: Mapping[str, Value], runtime: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return the spec after admission, with the overhead, selector and tolerations of its RuntimeClass."""
    fixed = mapping_at(runtime, "overhead", "podFixed")
    scheduling = mapping_at(runtime, "scheduling")
    changed: dict[str, Value] = dict(spec)
    if fixed and not isinstance(spec.get("overhead"), dict):
        changed["overhead"] = dict(fixed)
    selector = mapping_at(scheduling, "nodeSelector")
    if selector:
        changed["nodeSelector"] = {**mapping_at(spec, "nodeSelector"), **selector}
    tolerations = mappings(scheduling.get("tolerations"))
    if tolerations:
        changed["tolerations"] = [*entries(spec.get("tolerations")), *cast("list[Value]", tolerations)]
    return changed


def _share(annotations: Mapping[str, str]) -> GpuPortion | None:
    mebibytes = parse_natural(annotations.get(_MEMORY, "")) or 0
    written = annotations.get(_FRACTION, "")
    portion = float(written) if _NUMBER.fullmatch(written) else 0.0
    if not 0 < portion <= 1:
        portion = 0.0
    if not portion and not mebibytes:
        return None
    devices = parse_natural(annotations.get(_DEVICES, ""))
    if devices is not None:
        return GpuPortion(devices, portion, mebibytes)
    return GpuPortion(1, portion, 0 if portion else mebibytes)


def _rules(
    spec: Mapping[str, Value], namespace: str, labels: Mapping[str, str], known: KnownObjects, notes: list[str]
) -> PodRules:
    return PodRules(
        tuple(sorted(texts_at(spec, "nodeSelector").items())),
        read_node_terms(spec),
        read_tolerations(spec.get("tolerations")),
        tuple(_ports(spec)),
        tuple(_terms(mapping_at(spec, "affinity", "podAffinity"), namespace, labels, known, notes)),
        tuple(_terms(mapping_at(spec, "affinity", "podAntiAffinity"), namespace, labels, known, notes)),
    )  # fmt: skip


def _ports(spec: Mapping[str, Value]) -> Iterator[HostPort]:
    sidecars = [each for each in mappings(spec.get("initContainers")) if each.get("restartPolicy") == "Always"]
    for container in (*mappings(spec.get("containers")), *sidecars):
        for port in mappings(container.get("ports")):
            # With host networking, every port of a container is a port of the node.
            number = port.get("hostPort") or (port.get("containerPort") if spec.get("hostNetwork") is True else None)
            if isinstance(number, int) and number > 0:
                yield HostPort(number, text_at(port, "protocol") or "TCP", text_at(port, "hostIP"))


def _terms(
    affinity: Mapping[str, Value], namespace: str, labels: Mapping[str, str], known: KnownObjects, notes: list[str]
) -> Iterator[AffinityTerm]:
    for term in mappings(affinity.get("requiredDuringSchedulingIgnoredDuringExecution")):
        selector = term.get("labelSelector")
        requirements = (
            None if not isinstance(selector, dict) else (*read_selector(selector), *_own_requirements(term, labels))
        )
        yield AffinityTerm(
            text_at(term, "topologyKey"), requirements, tuple(_namespaces(term, namespace, known, notes))
        )  # fmt: skip


def _own_requirements(term: Mapping[str, Value], labels: Mapping[str, str]) -> Iterator[LabelRequirement]:
    """Yield the requirements that the API server adds to a term for `matchLabelKeys` and `mismatchLabelKeys`."""
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in entries(term.get(field)):
            if isinstance(key, str) and key in labels:
                yield key, operator, (labels[key],)


def _namespaces(term: Mapping[str, Value], own: str, known: KnownObjects, notes: list[str]) -> list[str]:
    listed = [str(name) for name in entries(term.get("namespaces"))]
    selector = term.get("namespaceSelector")
    if not isinstance(selector, dict):
        return listed or [own]
    requirements = read_selector(selector)
    if not requirements:
        return [EVERY_NAMESPACE]
    if known.namespaces is None:
        notes.append(
            "have an affinity to pods in namespaces with a label; it is not counted, because the cluster's objects "
            "include no namespaces"
        )
        return listed or [own]
    return sorted({
        *listed,
        *(name for name, labels in known.namespaces.items() if selects_labels(requirements, labels)),
    })  # fmt: skip


def _config_maps(
    namespace: str, spec: Mapping[str, Value], annotations: Mapping[str, str], known: KnownObjects, notes: list[str]
) -> Iterator[str]:
    """Yield KAI's text about ConfigMaps that the pod needs and that do not exist.

    If ConfigMaps were not listed, add a note instead.
    """
    shared = annotations.get(_SHARED_CONFIG_MAP)
    names = sorted({
        name
        for name in _needed_config_maps(spec)
        if known.config_maps is None or (namespace, name) not in known.config_maps
        if shared is None or not name.startswith(shared)
    })  # fmt: skip
    if names and known.config_maps is None:
        notes.append(
            f"need the ConfigMaps {_quote_all(names)}, which are not in the cluster's objects and may not exist"
        )
    elif names:
        yield f"ConfigMap: Missing required configmaps: [{' '.join(names)}]"


def _needed_config_maps(spec: Mapping[str, Value]) -> Iterator[str]:
    containers = [entry for key in ("initContainers", "containers") for entry in mappings(spec.get(key))]
    mounted = {text_at(mount, "name") for each in containers for mount in mappings(each.get("volumeMounts"))}
    sources: list[Mapping[str, Value]] = []
    for volume in mappings(spec.get("volumes")):
        if text_at(volume, "name") in mounted:
            sources.append(mapping_at(volume, "configMap"))
            sources += [
                mapping_at(source, "configMap") for source in mappings(mapping_at(volume, "projected").get("sources"))
            ]
    for container in containers:
        sources += [mapping_at(entry, "valueFrom", "configMapKeyRef") for entry in mappings(container.get("env"))]
        sources += [mapping_at(entry, "configMapRef") for entry in mappings(container.get("envFrom"))]
    for source in sources:
        if source and source.get("optional") is not True:
            yield text_at(source, "name")


def _claims(
    pod: str, namespace: str, spec: Mapping[str, Value], known: KnownObjects, notes: list[str]
) -> Iterator[str]:
    """Yield KAI's text about each PersistentVolumeClaim of the pod that is missing or being deleted.

    Add notes about unknown claims, and about volumes that only some nodes may reach.
    """
    unknown: list[str] = []
    there: list[str] = []
    for volume in mappings(spec.get("volumes")):
        name = text_at(volume, "persistentVolumeClaim", "claimName")
        if isinstance(volume.get("ephemeral"), dict):
            there.append(f"{pod}-{text_at(volume, 'name')}" if pod else text_at(volume, "name"))
        if not name:
            continue
        if known.claims is None:
            unknown.append(name)
        elif (namespace, name) not in known.claims:
            yield f'VolumeBinding: persistentvolumeclaim "{name}" not found'
        elif mapping_at(known.claims[namespace, name], "metadata").get("deletionTimestamp"):
            yield f'VolumeBinding: persistentvolumeclaim "{name}" is being deleted'
        else:
            there.append(name)
    if unknown:
        notes.append(
            f"need the PersistentVolumeClaims {_quote_all(unknown)}, "
            "which are not in the cluster's objects and may not exist"
        )
    if there:
        notes.append(f"have the volumes {_quote_all(there)}; packwise ignores which nodes can reach them")


def _quote_all(names: Iterable[str]) -> str:
    return ", ".join([f'"{name}"' for name in names])
