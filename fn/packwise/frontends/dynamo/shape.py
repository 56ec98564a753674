"""The PodCliqueSet that a release of Dynamo's operator makes from a graph, and the origin of each part.

It has everything that decides gangs, validation and placement. It lacks probes, environment variables, volumes and
launch flags that the operator adds to pods (spec/dynamo.md#3.2 and #3.4). Source: spec/dynamo.md#3.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.frontends.dynamo.convert import MAIN, Trace, Written
from packwise.frontends.dynamo.graph import WORKERS
from packwise.keys import KAI_QUEUE
from packwise.kubernetes import parse_natural
from packwise.lenient import mapping, mappings_in_place, text, texts, whole_number
from packwise.objects.kinds import POD_CLIQUE_SET
from packwise.revisions.dynamo import Known
from packwise.settings.topologyrender import KAI_PROFILE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.dynamo.graph import Component, Graph, GraphConstraint
    from packwise.revisions.dynamo import DynamoRelease
    from packwise.settings.topologyrender import Dynamo

MAX_COMBINED_LENGTH = 45
"""The largest number of characters in the names of the set, the group and the clique together.

Names of pods contain all three.
"""

MAX_RANKS = 256
"""The largest number of nodes of a replica whose pods share GPU memory. packwise writes two cliques for each node."""

_MIN_SET_NAME = 8
"""The smallest number of characters to which the name of a set is cut."""
_SUFFIX_LENGTH = 5


def set_name(graph: Graph) -> str:
    """Return the name of the PodCliqueSet. This is the name of the graph.

    If the names of pods would be too long, the name is shortened and ends with a hash.
    """
    name = graph.name
    longest = max([_own_length(component, grouped=component.uses_group) for component in graph.components], default=0)
    budget = max(_MIN_SET_NAME, MAX_COMBINED_LENGTH - longest)
    if len(name) <= budget:
        return name
    return f"{name[: budget - _SUFFIX_LENGTH]}-{_fnv1a(name) & 0xFFFF:04x}"


def combined_length(component: Component, pcs: str) -> int:
    """Return the combined length of the names of a component's pods. `pcs` is the name of the set.

    The webhook compares it with MAX_COMBINED_LENGTH, and ignores forceScalingGroup. Source: spec/dynamo.md#2.6.
    """
    return len(pcs) + _own_length(component, grouped=component.is_multinode or component.inter_pod)


def longest_clique(component: Component) -> str:
    """Return the longest name of a component's cliques. Return the first if several have this length."""
    return max(clique_names(component), key=len)


def clique_names(component: Component) -> list[str]:
    """Return the names of a component's cliques, in the order of the PodCliqueSet."""
    lower = component.lower_name
    if component.inter_pod:
        ranks = range(min(component.nodes, MAX_RANKS))
        engines = [lower if not component.is_multinode else _role_name(lower, rank) for rank in ranks]
        return [name for rank in ranks for name in (f"{lower}-gms-{rank}", engines[rank])]
    return [f"{lower}-ldr", f"{lower}-wkr"] if component.is_multinode else [lower]


def _role_name(lower: str, rank: int) -> str:
    return f"{lower}-ldr" if rank == 0 else f"{lower}-wkr-{rank}"


def _own_length(component: Component, *, grouped: bool) -> int:
    return len(component.lower_name) + (len(longest_clique(component)) if grouped else 0)


def _fnv1a(name: str) -> int:
    """Return the 32-bit FNV-1a hash of a name."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


QUEUE = "nvidia.com/kai-scheduler-queue"
STRATEGY = "nvidia.com/grove-update-strategy"
DEFAULT_QUEUE = "dynamo"
"""The queue of a graph without the annotation for a queue."""

_TEMPLATE: FieldPath = ("spec", "template")
_GPU = "nvidia.com/gpu"


class Shape(Record):
    """A PodCliqueSet, and the place in the graph of v1beta1 for each part."""

    value: Mapping[str, Any]
    trace: Trace


def shape_of(graph: Graph, release: DynamoRelease, settings: Dynamo) -> Shape:
    """Return the PodCliqueSet that a release of Dynamo makes from a valid graph."""
    return _SetBuilder(graph, release, settings).build()


class _Role(Record):
    """One clique of a component. `written` is the path of the component's field that decides its replicas."""

    name: str
    replicas: int
    min_available: int
    written: tuple[str, ...]
    starts_after: tuple[str, ...] = ()
    role: str = ""


class _SetBuilder:
    def __init__(self, graph: Graph, release: DynamoRelease, settings: Dynamo) -> None:
        self._graph, self._release, self._settings = graph, release, settings
        self._name = set_name(graph) if release.shortens_names else graph.name
        self._entries: dict[FieldPath, Written] = {(): Written(())}
        self._cliques: list[dict[str, Any]] = []
        self._groups: list[dict[str, Any]] = []
        self._claims: list[dict[str, Any]] = []
        self._has_epp = any(component.type == "epp" for component in graph.components)

    def build(self) -> Shape:
        """Return the whole PodCliqueSet."""
        graph = self._graph
        for component in graph.components:
            self._component(component)
        template: dict[str, Any] = {"headlessServiceConfig": {"publishNotReadyAddresses": True}}
        explicit = any("startsAfter" in clique["spec"] for clique in self._cliques)
        template["cliqueStartupType"] = f"CliqueStartupType{'Explicit' if explicit else 'AnyOrder'}"
        template["terminationDelay"] = self._settings.termination_delay
        if graph.priority_class:
            template["priorityClassName"] = graph.priority_class
            self._record_origin((*_TEMPLATE, "priorityClassName"), ("spec", "priorityClassName"))
        if graph.pack_domain and graph.constraint is not None:
            template["topologyConstraint"] = self._constraint(graph.constraint, _TEMPLATE, ("spec",), whole=True)
        template["cliques"] = self._cliques
        if self._groups:
            template["podCliqueScalingGroups"] = self._groups
        if self._claims:
            template["resourceClaimTemplates"] = self._claims
        spec: dict[str, Any] = {"replicas": 1}
        strategy = graph.annotations.get(STRATEGY)
        if strategy is not None:
            spec["updateStrategy"] = {"type": strategy}
            self._record_origin(("spec", "updateStrategy"), ("metadata", "annotations", STRATEGY))
        value = {
            "apiVersion": POD_CLIQUE_SET.api_version,
            "kind": POD_CLIQUE_SET.name,
            "metadata": self._metadata(),
            "spec": {**spec, "template": template},
        }
        self._override(value)
        self._record_origin(("spec", "template", "cliques"), ("spec", "components"))
        self._record_origin(("spec", "template", "podCliqueScalingGroups"), ("spec", "components"))
        return Shape(value, Trace(self._entries))

    def _record_origin(self, path: FieldPath, written: FieldPath, *, maps_parts: bool = False) -> None:
        self._entries.setdefault(path, Written(written, maps_parts=maps_parts))

    def _metadata(self) -> dict[str, Any]:
        graph = self._graph
        metadata: dict[str, Any] = {"name": self._name}
        self._record_origin(("metadata", "name"), ("metadata", "name"))
        self._record_origin(("metadata", "namespace"), ("metadata", "namespace"))
        self._record_origin(("metadata", "labels"), ("spec", "labels"), maps_parts=True)
        self._record_origin(("metadata", "annotations"), ("spec", "annotations"), maps_parts=True)
        self._record_origin(("metadata",), ("metadata",))
        if graph.namespace:
            metadata["namespace"] = graph.namespace
        labels = dict(graph.own_labels)
        if self._release.names_graph:
            labels["nvidia.com/dynamo-graph-deployment-name"] = graph.name
            self._record_origin(("metadata", "labels", "nvidia.com/dynamo-graph-deployment-name"), ("metadata", "name"))
        if labels:
            metadata["labels"] = labels
        if graph.own_annotations:
            metadata["annotations"] = dict(graph.own_annotations)
        return metadata

    def _component(self, component: Component) -> None:
        roles = self._roles(component)
        for role in roles:
            self._clique(component, role)
        if component.uses_group:
            self._group(component, roles)

    def _roles(self, component: Component) -> list[_Role]:
        """Return the cliques of a component. Source: spec/dynamo.md#3.4 and #3.6."""
        names, replicas = clique_names(component), self._replicas(component)
        if component.inter_pod:
            return self._memory_roles(component, names)
        if not component.is_multinode:
            if component.forced_group:
                return [_Role(names[0], 1, 1, ("experimental",))]
            return [_Role(names[0], replicas, self._min_available(component), ("replicas",))]
        leader, worker = names
        workers = component.nodes - 1
        after = (worker,) if self._graph.backend_of(component) == "trtllm" else ()
        least = workers if self._release.multinode_min_available else 1
        nodes = ("multinode", "nodeCount")
        return [
            _Role(leader, 1, 1, nodes, after, "leader"),
            _Role(worker, workers, least, nodes, role="worker"),
        ]

    def _memory_roles(self, component: Component, names: list[str]) -> list[_Role]:
        """Return the cliques of a component with pods that share GPU memory.

        Each rank has first the clique of the memory service, then the clique of the engine.
        """
        roles: list[_Role] = []
        mode: tuple[str, ...] = ("experimental", "gpuMemoryService")
        engines = names[1::2]
        trt = component.is_multinode and self._graph.backend_of(component) == "trtllm"
        for rank, (memory, engine) in enumerate(zip(names[::2], engines, strict=True)):
            after = (memory, *(engines[1:] if trt and rank == 0 else ()))
            roles += [_Role(memory, 1, 1, mode), _Role(engine, 1 + component.shadows, 1, mode, after)]
        return roles

    def _replicas(self, component: Component) -> int:
        # packwise does not know whether the checkpoint is ready, so the component has no replicas yet.
        return 0 if component.waits_for_checkpoint else component.replicas

    def _min_available(self, component: Component) -> int:
        """Return the component's own minAvailable, or the override's, or 1. Source: spec/dynamo.md#2.5."""
        if self._release.min_available is Known.NO:
            return 1
        if component.min_available is not None:
            return component.min_available
        override = component.override
        if override is None or self._release.provider_override is Known.NO:
            return 1
        value = mapping(override.value)
        return whole_number((value if component.uses_group else mapping(value.get("spec"))).get("minAvailable"), 1)

    def _least_path(self, component: Component) -> FieldPath:
        if component.min_available is None:
            return component.path() if component.override is None else component.path("providerOverride")
        return component.path("minAvailable")

    def _clique(self, component: Component, role: _Role) -> None:
        at: FieldPath = (*_TEMPLATE, "cliques", len(self._cliques))
        self._record_origin(at, component.path())
        self._record_origin((*at, "name"), component.path("name"))
        self._record_origin((*at, "spec", "replicas"), component.path(*role.written))
        least = component.path(*role.written) if component.uses_group else self._least_path(component)
        self._record_origin((*at, "spec", "minAvailable"), least)
        self._record_origin((*at, "labels"), component.path())
        self._record_origin(
            (*at, "annotations"), component.path("podTemplate", "metadata", "annotations"), maps_parts=True
        )
        spec: dict[str, Any] = {
            "roleName": role.name,
            "replicas": role.replicas,
            "minAvailable": role.min_available,
            "podSpec": self._pod_spec(component, at),
        }
        if role.starts_after:
            spec["startsAfter"] = list(role.starts_after)
        clique: dict[str, Any] = {"name": role.name, "labels": self._labels(component, at)}
        annotations = {**self._graph.own_annotations, **texts(self._pod_metadata(component).get("annotations"))}
        if annotations:
            clique["annotations"] = annotations
            for key in self._graph.own_annotations:
                self._record_origin((*at, "annotations", key), ("spec", "annotations", key))
        if component.constraint is not None and not component.uses_group:
            clique["topologyConstraint"] = self._constraint(component.constraint, at, component.path())
        self._cliques.append({**clique, "spec": spec})

    def _pod_metadata(self, component: Component) -> Mapping[str, Any]:
        return mapping(component.template.get("metadata"))

    def _labels(self, component: Component, at: FieldPath) -> dict[str, str]:
        """Return the labels of a clique. Source: spec/dynamo.md#3.9."""
        graph = self._graph
        namespace = f"{graph.namespace or 'default'}-{graph.name}".replace(".", "-")
        is_global = component.value.get("globalDynamoNamespace") is True
        own: dict[str, str] = {
            "nvidia.com/selector": f"{graph.name}-{component.lower_name}",
            "nvidia.com/dynamo-graph-deployment-name": graph.name,
            "nvidia.com/dynamo-component": component.name,
            "nvidia.com/dynamo-namespace": "dynamo" if is_global else namespace,
        }
        self._record_origin((*at, "labels", "nvidia.com/dynamo-component"), component.path("name"))
        if component.type:
            is_alpha = graph.is_alpha and not self._release.stores_v1beta1
            is_sub = is_alpha and component.type in ("prefill", "decode")
            own["nvidia.com/dynamo-component-type"] = "worker" if is_sub else component.type
            self._record_origin((*at, "labels", "nvidia.com/dynamo-component-type"), component.path("type"))
            if is_sub:
                own["nvidia.com/dynamo-sub-component-type"] = component.type
        if self._has_epp and component.type in WORKERS:
            own["nvidia.com/dynamo-component-class"] = "worker"
        queue = self._queue(component)
        if queue is not None:
            own[KAI_QUEUE] = queue
            self._record_origin((*at, "labels", KAI_QUEUE), ("metadata", "annotations", QUEUE))
        pods = texts(self._pod_metadata(component).get("labels"))
        for key in pods:
            self._record_origin(
                (*at, "labels", key), component.path("podTemplate", "metadata", "labels", key), maps_parts=True
            )
        for key in graph.own_labels:
            self._record_origin((*at, "labels", key), ("spec", "labels", key), maps_parts=True)
        users = {**graph.own_labels, **pods}
        if graph.annotations.get("nvidia.com/enable-metrics") != "false":
            # Users can override this label. They cannot override the operator's other labels.
            users.setdefault("nvidia.com/metrics-enabled", "true")
        return dict(sorted({**users, **own}.items()))

    def _queue(self, component: Component) -> str | None:
        """Return the queue of a component's pods. Return None if KAI does not schedule them. Source:
        spec/dynamo.md#3.8.
        """
        named = component.pod_spec.get("schedulerName")
        if not self._settings.kai_scheduler or (named and named != KAI_PROFILE):
            return None
        return self._graph.annotations.get(QUEUE, "").strip() or DEFAULT_QUEUE

    def _pod_spec(self, component: Component, at: FieldPath) -> dict[str, Any]:
        spec = dict(component.pod_spec)
        here = (*at, "spec", "podSpec")
        self._record_origin(here, component.path("podTemplate", "spec"), maps_parts=True)
        containers = mappings_in_place(spec.get("containers"))
        if all(container.get("name") != MAIN for container in containers):
            # The operator adds the main container if it is missing.
            spec["containers"] = [{"name": MAIN}, *containers]
            self._record_origin((*here, "containers", 0), component.path())
            for index in range(len(containers)):
                written = component.path("podTemplate", "spec", "containers", index)
                self._record_origin((*here, "containers", index + 1), written, maps_parts=True)
        if self._queue(component) is not None:
            if not spec.get("schedulerName"):
                self._record_origin((*here, "schedulerName"), component.path())
            spec["schedulerName"] = KAI_PROFILE
        return spec

    def _group(self, component: Component, roles: list[_Role]) -> None:
        at: FieldPath = (*_TEMPLATE, "podCliqueScalingGroups", len(self._groups))
        self._record_origin(at, component.path())
        self._record_origin((*at, "name"), component.path("name"))
        self._record_origin((*at, "replicas"), component.path("replicas"))
        self._record_origin((*at, "minAvailable"), self._least_path(component))
        group: dict[str, Any] = {
            "name": component.lower_name,
            "cliqueNames": [role.name for role in roles],
            "replicas": self._replicas(component),
            "minAvailable": self._min_available(component),
        }
        if component.constraint is not None:
            group["topologyConstraint"] = self._constraint(component.constraint, at, component.path())
        if component.inter_pod:
            group["resourceSharing"] = self._sharing(component, roles)
        self._groups.append(group)

    def _sharing(self, component: Component, roles: list[_Role]) -> list[dict[str, Any]]:
        """Return the entries of `resourceSharing`, one for each rank, and add the claim templates of their GPUs.

        Source: spec/dynamo.md#3.4, inter-pod GMS.
        """
        memory = mapping(mapping(component.value.get("experimental")).get("gpuMemoryService"))
        device = text(memory.get("deviceClassName")) or "gpu.nvidia.com"
        limits = mapping(mapping(component.main.get("resources")).get("limits"))
        gpus = parse_natural(str(limits.get(_GPU)))
        count = 1 if gpus is None else gpus
        sharing: list[dict[str, Any]] = []
        for rank in range(len(roles) // 2):
            name = f"{component.lower_name}-gpu-rank-{rank}"
            exactly = {"deviceClassName": device, "allocationMode": "ExactCount", "count": count}
            requests = [{"name": "gpu", "exactly": exactly}]
            spec: dict[str, Any] = {"devices": {"requests": requests}}
            self._record_origin(
                (*_TEMPLATE, "resourceClaimTemplates", len(self._claims)), component.path("experimental")
            )
            self._claims.append({"name": name, "templateSpec": {"spec": spec}})
            children = [role.name for role in roles[2 * rank : 2 * rank + 2]]
            sharing.append({"name": name, "scope": "PerReplica", "filter": {"childCliqueNames": children}})
        return sharing

    def _constraint(
        self, constraint: GraphConstraint, at: FieldPath, owner: FieldPath, *, whole: bool = False
    ) -> dict[str, Any]:
        """Return a topologyConstraint with the fields of this release. Source: spec/dynamo.md#3.7."""
        here, domain = (*at, "topologyConstraint"), (*owner, "topologyConstraint", "packDomain")
        self._record_origin(here, (*owner, "topologyConstraint"))
        if self._release.constraint == "packDomain":
            self._record_origin((*here, "packDomain"), domain)
            return {"packDomain": constraint.pack_domain}
        self._record_origin((*here, "pack"), domain)
        spelt: dict[str, Any] = {"pack": {"required": constraint.pack_domain}}
        graph = self._graph
        if graph.constraint is None or (graph.pack_domain and not whole):
            return spelt
        self._record_origin((*here, "topologyName"), ("spec", "topologyConstraint", "clusterTopologyName"))
        return {"topologyName": graph.constraint.topology_name, **spelt}

    def _override(self, value: dict[str, Any]) -> None:
        """Replace constraints and update settings in `value` by the values in overrides. Source: spec/dynamo.md#2.7."""
        if self._release.provider_override is Known.NO:
            return
        template = value["spec"]["template"]
        if self._graph.override is not None:
            written = mapping(mapping(mapping(self._graph.override.value).get("spec")).get("template"))
            path = (*self._graph.override.path, "value", "spec", "template")
            self._replace(template, _TEMPLATE, written, path)
        for component in self._graph.components:
            if component.override is not None:
                parts = (self._groups, "podCliqueScalingGroups") if component.uses_group else (self._cliques, "cliques")
                self._replace_named(*parts, component.lower_name, component.override.value, component.override.path)
            for place, role in enumerate(mappings_in_place(component.value.get("roles"))):
                override = mapping(role.get("providerOverride"))
                suffix = {"leader": "ldr", "worker": "wkr"}.get(text(role.get("name")), "")
                path = component.path("roles", place, "providerOverride")
                name = f"{component.lower_name}-{suffix}"
                self._replace_named(self._cliques, "cliques", name, override.get("value"), path)

    def _replace_named(self, parts: list[dict[str, Any]], key: str, name: str, written: Any, path: FieldPath) -> None:
        for index, part in enumerate(parts):
            if part["name"] == name:
                self._replace(part, (*_TEMPLATE, key, index), mapping(written), (*path, "value"))

    def _replace(self, part: dict[str, Any], at: FieldPath, written: Mapping[str, Any], path: FieldPath) -> None:
        constraint = written.get("topologyConstraint")
        if isinstance(constraint, dict):
            part["topologyConstraint"] = constraint
            here = (*at, "topologyConstraint")
            self._entries = {known: entry for known, entry in self._entries.items() if known[: len(here)] != here}
            self._entries[here] = Written((*path, "topologyConstraint"), maps_parts=True)
        if isinstance(written.get("rollingUpdate"), dict):
            part["rollingUpdate"] = written["rollingUpdate"]
            self._entries[*at, "rollingUpdate"] = Written((*path, "rollingUpdate"), maps_parts=True)
