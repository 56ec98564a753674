"""Fill in the defaults of admission: of the CRD and of the webhook (D1 to D9), and the values that Go writes back.

Source: spec/grove.md#2; spec/grove-releases.md#2.6, #n1 to #n4, Grove's API at HEAD (ResourceClaimTemplateConfig,
ResourceSharingSpec), k8s.io/api resource/v1; spec/grove.md#3.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, Record
from packwise.frontends.grove.podcliqueset import known_fields
from packwise.kubernetes import format_duration, parse_duration
from packwise.lenient import entries, mapping, mapping_at, value_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krmfn.value import Value
    from packwise.frontends.grove.podcliqueset import KnownFields
    from packwise.revisions.grove import Revision

_GPU = "nvidia.com/gpu"
_ZERO_QUANTITY = r"[+-]?[0.]*(?:[A-Za-z].*)?"
_TEXT_MAPS = frozenset({"labels", "annotations"})
_SHARED = frozenset({"resourceSharing", "resourceClaimTemplates"})
_KEPT_EMPTY = frozenset({"containers", "topologySpreadConstraints"})
_CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")


def default(
    value: Mapping[str, Value], revision: Revision, *, auto_mnnvl: bool = False, create: bool = True
) -> Mapping[str, Value]:
    """Return the PodCliqueSet `value` as the API server stores it. `value` is not changed, but shares parts with it.

    `auto_mnnvl` is network.autoMNNVLEnabled of the operator (D9). It applies only to new objects, with `create`.
    Unknown fields of Grove are pruned, and the status is kept. Values of a wrong type are kept, because
    `podcliqueset.check_shape` reports them.
    """
    fields = known_fields(revision)
    out = dict(value)
    metadata: dict[str, Value] = {
        key: entry for key, entry in mapping_at(value, "metadata").items() if entry is not None
    }
    if _is_blank(metadata.get("namespace")):
        metadata["namespace"] = "default"
    spec = _keep(mapping_at(value, "spec"), fields.spec)
    template = _template(mapping(spec.pop("template", None)), fields, revision)
    if spec.get("replicas") == 0 and spec.get("replicas") is not False:
        del spec["replicas"]
    strategy = spec.get("updateStrategy")
    if isinstance(strategy, dict) or (strategy is None and revision.rolling_updates):
        chosen = value_at(strategy, "type") or "RollingRecreate"
        spec["updateStrategy"] = {"type": chosen}
        if revision.rolling_updates and chosen != "OnDelete":
            _default_rolling_updates(template, chosen)
    spec["template"] = template
    annotation = revision.mnnvl_annotation
    if create and auto_mnnvl and annotation is not None:
        annotations = mapping_at(metadata, "annotations")
        if annotation not in annotations and _wants_gpu(template):
            metadata["annotations"] = {**annotations, annotation: "enabled"}
    out["metadata"] = metadata
    out["spec"] = spec
    return out


def _template(value: Mapping[str, Value], fields: KnownFields, revision: Revision) -> dict[str, Value]:
    out = _keep(value, fields.template)
    _default_constraint(out, fields)
    if "cliqueStartupType" not in out:
        out["cliqueStartupType"] = "CliqueStartupTypeAnyOrder"
    cliques = out.get("cliques", [])
    out["cliques"] = (
        [_clique(entry, fields, revision) if isinstance(entry, dict) else entry for entry in cliques]
        if isinstance(cliques, list)
        else cliques
    )
    groups = out.get("podCliqueScalingGroups")
    if isinstance(groups, list):
        out["podCliqueScalingGroups"] = [
            _group(_zero_entry(entry), fields) if entry is None or isinstance(entry, dict) else entry
            for entry in groups
        ]
    delay = out.get("terminationDelay")
    if delay is None:
        out["terminationDelay"] = "4h0m0s"
    elif isinstance(delay, str):
        parsed = parse_duration(delay)
        out["terminationDelay"] = delay if parsed is None else format_duration(parsed)
    headless = out.get("headlessServiceConfig")
    if headless is None:
        out["headlessServiceConfig"] = {"publishNotReadyAddresses": True}
    elif isinstance(headless, dict):
        published = headless.get("publishNotReadyAddresses")
        out["headlessServiceConfig"] = {"publishNotReadyAddresses": True if published is None else published}
    _default_sharing(out)
    return _without_empty(out, ("podCliqueScalingGroups", "priorityClassName"))


def _clique(value: Mapping[str, Value], fields: KnownFields, revision: Revision) -> Mapping[str, Value]:
    out = _keep(value, fields.clique)
    spec = _keep(mapping(out.get("spec")), fields.clique_spec)
    written = spec.get("replicas", 0)
    replicas = spec["replicas"] = 1 if written == 0 and written is not False else written
    spec.setdefault("minAvailable", 1 if revision.min_available_default == "One" else written)
    scaling = spec.get("autoScalingConfig")
    if isinstance(scaling, dict):
        least = replicas if revision.min_replicas_default == "Replicas" else written
        spec["autoScalingConfig"] = _auto_scaling(scaling, least, fields)
    spec.setdefault("roleName", "")
    pod_spec = spec.get("podSpec")
    spec["podSpec"] = _pod_spec(mapping(pod_spec)) if pod_spec is None or isinstance(pod_spec, dict) else pod_spec
    out["spec"] = spec
    out.setdefault("name", "")
    return _part(out, fields)


def _group(value: Mapping[str, Value], fields: KnownFields) -> Mapping[str, Value]:
    out = _keep(value, fields.group)
    out.setdefault("replicas", 1)
    out.setdefault("minAvailable", 1)
    out.setdefault("name", "")
    scaling = out.get("scaleConfig")
    if isinstance(scaling, dict):
        out["scaleConfig"] = _auto_scaling(scaling, out["replicas"], fields)
    return _part(out, fields)


def _part(out: dict[str, Value], fields: KnownFields) -> dict[str, Value]:
    """Fill in the defaults that cliques and scaling groups have in common."""
    if "rollingUpdate" in out:
        _keep_rolling_update(out, fields)
    if "topologyConstraint" in out:
        _default_constraint(out, fields)
    _default_sharing(out)
    return out if _TEXT_MAPS.isdisjoint(out) else _without_empty(_without_nulls(out), _TEXT_MAPS)


def _keep_rolling_update(owner: dict[str, Value], fields: KnownFields) -> None:
    rolling = owner.get("rollingUpdate")
    if not isinstance(rolling, dict):
        return
    out = _keep(rolling, fields.rolling_update)
    deadline = out.get("progressDeadline")
    parsed = parse_duration(deadline) if isinstance(deadline, str) else None
    if parsed is not None:
        out["progressDeadline"] = format_duration(parsed)
    owner["rollingUpdate"] = out


def _default_rolling_updates(template: dict[str, Value], strategy: Value) -> None:
    """Fill in maxUnavailable of every scaling group and standalone clique.

    The default is 1. With the strategy Coherent, it is minAvailable.
    """
    groups, cliques = _mappings(template.get("podCliqueScalingGroups")), _mappings(template.get("cliques"))
    listed = [group.get("cliqueNames") for group in groups]
    members = [name for names in listed for name in entries(names)]
    alone = [clique for clique in cliques if clique.get("name") not in members]
    for owner, numbers in (*[(group, group) for group in groups], *[(own, mapping_at(own, "spec")) for own in alone]):
        rolling = owner.get("rollingUpdate")
        if rolling is None or isinstance(rolling, dict):
            most = numbers.get("minAvailable", 1) if strategy == "Coherent" else 1
            owner["rollingUpdate"] = {"maxUnavailable": most, **mapping(rolling)}


def _mappings(entries: Value) -> list[dict[str, Value]]:
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _default_constraint(owner: dict[str, Value], fields: KnownFields) -> None:
    constraint = owner.get("topologyConstraint")
    if not isinstance(constraint, dict):
        return
    out = _keep(constraint, fields.constraint)
    for name in fields.constraint_texts:
        out[name] = out.get(name) or ""
    pack = out.get("pack")
    if isinstance(pack, dict):
        out["pack"] = _without_empty(_keep(pack, fields.pack), fields.pack)
    owner["topologyConstraint"] = _without_empty(out, fields.constraint.difference(fields.constraint_texts, ("pack",)))


def _default_sharing(owner: dict[str, Value]) -> None:
    if _SHARED.isdisjoint(owner):
        return
    # Only few workloads get here.

    for key, defaulted in (("resourceSharing", resource_sharing), ("resourceClaimTemplates", claim_templates)):
        entries = owner.pop(key, None)
        if isinstance(entries, list):
            # An empty list is kept, because the webhook's patch removes no field. Errors of an update print it as `[]`.
            owner[key] = defaulted(entries)
        elif entries:
            owner[key] = entries


def _auto_scaling(value: Mapping[str, Value], replicas: Value, fields: KnownFields) -> Mapping[str, Value]:
    out = _keep(value, fields.auto_scaling)
    out.setdefault("minReplicas", replicas)
    out.setdefault("maxReplicas", 0)
    return _without_empty(out, ("metrics",))


def _pod_spec(value: Mapping[str, Value]) -> Mapping[str, Value]:
    out: dict[str, Value] = {
        key: entry
        for key, entry in value.items()
        if entry or (entry is not None and (entry != [] or key in _KEPT_EMPTY))
    }
    if "containers" not in out:
        out["containers"] = None
    if _is_blank(out.get("restartPolicy")):
        out["restartPolicy"] = "Always"
    out.setdefault("terminationGracePeriodSeconds", 30)
    for key in _CONTAINER_LISTS:
        if key in out and isinstance(containers := out[key], list):
            out[key] = [
                _container(_zero_entry(entry)) if entry is None or isinstance(entry, dict) else entry
                for entry in containers
            ]
    return out


def _container(value: Mapping[str, Value]) -> Mapping[str, Value]:
    out = {key: entry for key, entry in value.items() if entry or (entry is not None and entry != [])}
    out.setdefault("name", "")
    resources = out.setdefault("resources", {})
    if isinstance(resources, dict) and _has_number(resources):
        out["resources"] = {key: _quantities(amounts) for key, amounts in resources.items()}
    ports = out.get("ports")
    if isinstance(ports, list):
        out["ports"] = [{"protocol": "TCP", **port} if isinstance(port, dict) else port for port in ports]
    return out


def _has_number(resources: Mapping[str, Value]) -> bool:
    for amounts in resources.values():  # noqa: SIM110 (a generator costs as much again)
        if isinstance(amounts, dict) and int in map(type, amounts.values()):
            return True
    return False


def _quantities(amounts: Value) -> Value:
    """Return `amounts` with each number as a string, because Go writes a quantity back as a string."""
    if not isinstance(amounts, dict):
        return amounts
    return {name: str(amount) if type(amount) is int else amount for name, amount in amounts.items()}


def _wants_gpu(template: Mapping[str, Value]) -> bool:
    cliques = template.get("cliques")
    for clique in entries(cliques):
        pod_spec = mapping_at(clique, "spec", "podSpec")
        for key in ("containers", "initContainers"):
            containers = pod_spec.get(key)
            if any(_has_gpu(container) for container in entries(containers)):
                return True
    return False


def _has_gpu(container: Value) -> bool:
    resources = mapping_at(container, "resources")
    amounts = [value_at(resources, key, _GPU) for key in ("limits", "requests")]
    return any(amount is not None and not re.fullmatch(_ZERO_QUANTITY, str(amount)) for amount in amounts)


def _zero_entry(entry: Mapping[str, Value] | None) -> Mapping[str, Value]:
    """Return an entry of a list as Go reads it. Null becomes an object without fields."""
    return {} if entry is None else entry


def _without_nulls(owner: dict[str, Value]) -> dict[str, Value]:
    """Return `owner` without labels and annotations that are null, because the API server prunes them."""
    for key in _TEXT_MAPS:
        texts = owner.get(key)
        if isinstance(texts, dict) and None in texts.values():
            owner[key] = {name: text for name, text in texts.items() if text is not None}
    return owner


def _is_blank(value: Value) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _keep(value: Mapping[str, Value], known: frozenset[str]) -> dict[str, Value]:
    if known.issuperset(value) and None not in value.values():
        # Usually, all fields are known and set.
        return dict(value)
    return {key: entry for key, entry in value.items() if entry is not None and key in known}


def _without_empty(value: dict[str, Value], keys: Iterable[str]) -> dict[str, Value]:
    for key in keys:
        if key in value and not value[key] and value[key] in ("", [], {}):
            del value[key]
    return value


class _ClaimPart(Record):
    """A mapping, or a list of mappings, with its fields in Go's order.

    If a field in `zeros` is absent, its zero value is written. Other absent or empty fields are omitted. `parts` has
    the fields that are mappings or lists of mappings themselves.
    """

    order: tuple[str, ...]
    zeros: Mapping[str, Value] = {}
    parts: Mapping[str, _ClaimPart] = {}


_SELECTOR = _ClaimPart(("cel",), parts={"cel": _ClaimPart(("expression",), {"expression": ""})})
# The API server sets this default. The other values are those that Go writes back.
_TOLERATION = _ClaimPart(("key", "operator", "value", "effect", "tolerationSeconds"), {"operator": "Equal"})
_CAPACITY = _ClaimPart(("requests",))
_DEVICE = ("selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")
_DEVICE_PARTS = {"selectors": _SELECTOR, "tolerations": _TOLERATION, "capacity": _CAPACITY}
_EXACTLY = _ClaimPart(("deviceClassName", *_DEVICE), {"deviceClassName": ""}, _DEVICE_PARTS)
_SUB_REQUEST = _ClaimPart(("name", "deviceClassName", *_DEVICE), {"name": "", "deviceClassName": ""}, _DEVICE_PARTS)
_REQUEST = _ClaimPart(
    ("name", "exactly", "firstAvailable"), {"name": ""}, {"exactly": _EXACTLY, "firstAvailable": _SUB_REQUEST}
)
_CONSTRAINT = _ClaimPart(("requests", "matchAttribute", "distinctAttribute"))
_OPAQUE = _ClaimPart(("driver", "parameters"), {"driver": "", "parameters": None})
_CONFIG = _ClaimPart(("requests", "opaque"), parts={"opaque": _OPAQUE})
_DEVICES = _ClaimPart(
    ("requests", "constraints", "config"),
    parts={"requests": _REQUEST, "constraints": _CONSTRAINT, "config": _CONFIG},
)
_SPEC = _ClaimPart(("devices",), {"devices": {}}, {"devices": _DEVICES})
_NO_SPEC: Mapping[str, Value] = {"metadata": {}, "spec": {"devices": {}}}
_TEMPLATE_SPEC = _ClaimPart(("metadata", "spec"), _NO_SPEC, {"metadata": _ClaimPart(()), "spec": _SPEC})
_TEMPLATE = _ClaimPart(
    ("name", "templateSpec"), {"name": "", "templateSpec": dict(_NO_SPEC)}, {"templateSpec": _TEMPLATE_SPEC}
)
_FILTER = _ClaimPart(("childCliqueNames", "childScalingGroupNames"))
_SHARING = _ClaimPart(("name", "namespace", "scope", "filter"), {"name": "", "scope": ""}, {"filter": _FILTER})

_POINTERS = frozenset({
    "exactly", "opaque", "filter", "cel", "capacity", "adminAccess", "matchAttribute", "distinctAttribute",
    "tolerationSeconds",
})  # fmt: skip
"""Fields that Go writes even if they have their zero value, because they are pointers."""


def claim_templates(entries: Sequence[Value]) -> list[Value]:
    """Return the entries of `spec.template.resourceClaimTemplates` with their defaults."""
    return [_marshal(entry, _TEMPLATE) for entry in entries]


def resource_sharing(entries: Sequence[Value]) -> list[Value]:
    """Return the entries of a `resourceSharing` with their defaults."""
    return [_marshal(entry, _SHARING) for entry in entries]


def _marshal(value: Value, part: _ClaimPart) -> Value:
    if isinstance(value, list):
        return [_marshal(entry, part) for entry in value]
    if not isinstance(value, dict):
        return value
    out: dict[str, Value] = {}
    for name in part.order:
        field = value.get(name)
        inner = part.parts.get(name)
        if field is not None and inner is not None:
            field = _marshal(field, inner)
        if name == "parameters":
            field = _sort_keys(field)
        if field is not None and (name in _POINTERS or field not in ("", 0, [], {})):
            out[name] = field
        elif name in part.zeros:
            out[name] = part.zeros[name]
    return out


def _sort_keys(value: Value) -> Value:
    """Return a value of unknown type with sorted keys, as the API server writes it."""
    if isinstance(value, dict):
        return {key: _sort_keys(value[key]) for key in sorted(value)}
    return [_sort_keys(entry) for entry in value] if isinstance(value, list) else value
