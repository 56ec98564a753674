"""What admission fills in: CRD defaults, the webhook's D1..D9, Go's typed round trip. Source: operator.md 2."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packwise.frontends.grove.duration import format_duration, parse_duration
from packwise.revisions import GREP_244

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value
    from packwise.revisions import Revision

__all__ = ["default"]

_MNNVL = "grove.io/auto-mnnvl"
_GPU = "nvidia.com/gpu"
_ZERO_QUANTITY = re.compile(r"[+-]?[0.]*(?:[A-Za-z].*)?")
_CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")

_TEMPLATE_FIELDS = frozenset({
    "cliques", "cliqueStartupType", "priorityClassName", "headlessServiceConfig", "topologyConstraint",
    "terminationDelay", "podCliqueScalingGroups",
})  # fmt: skip
_CLIQUE_FIELDS = frozenset({"name", "labels", "annotations", "topologyConstraint", "spec"})
_CLIQUE_SPEC_FIELDS = frozenset({"roleName", "podSpec", "replicas", "minAvailable", "startsAfter", "autoScalingConfig"})
_GROUP_FIELDS = frozenset({"name", "cliqueNames", "replicas", "minAvailable", "scaleConfig", "topologyConstraint"})


_CONSTRAINT_FIELDS = frozenset({"topologyName", "pack", "packDomain"})
_PACK_FIELDS = frozenset({"required", "preferred"})


_KNOWN = {
    "alpha7": (_TEMPLATE_FIELDS, _CLIQUE_FIELDS, _GROUP_FIELDS),
    "head": (
        _TEMPLATE_FIELDS | {"resourceClaimTemplates", "resourceSharing"},
        _CLIQUE_FIELDS | {"resourceSharing"},
        _GROUP_FIELDS | {"annotations", "resourceSharing"},
    ),
}
"""The fields of the template, a clique and a group that are kept, by API."""

_WITH_PACK_DOMAIN = frozenset({"alpha7"})
"""APIs in which a constraint is a packDomain and nothing else; and which know grove.io/auto-mnnvl (D9)."""


def default(
    value: Mapping[str, Value], revision: Revision = GREP_244, *, auto_mnnvl: bool = False, create: bool = True
) -> Mapping[str, Value]:
    """`value`, a PodCliqueSet, as the API server stores it; `value` itself is not changed, parts of it are shared.

    `auto_mnnvl` is the operator's network.autoMNNVLEnabled (D9, for new objects only). Unknown fields of Grove's own
    are pruned, status is left as it is. A value of a wrong type stays: `schema.check_shape` reports it.
    """
    out = dict(value)
    metadata: dict[str, Value] = {
        key: entry for key, entry in _mapping(value.get("metadata")).items() if entry is not None
    }
    if _is_blank(metadata.get("namespace")):
        metadata["namespace"] = "default"
    spec = dict(_mapping(value.get("spec")))
    given = spec.get("template")
    api = revision.workload_api
    template = _template(_mapping(given), api, revision.topology_name_field)
    if given is None:
        # The API server fills in nothing below an object that is not there.
        del template["cliqueStartupType"]
    spec = _keep(spec, frozenset({"replicas", "updateStrategy"}))
    if spec.get("replicas") == 0 and spec.get("replicas") is not False:
        del spec["replicas"]
    strategy = spec.get("updateStrategy")
    if isinstance(strategy, dict):
        spec["updateStrategy"] = {"type": strategy.get("type") or "RollingRecreate"}
    spec["template"] = template
    if (
        create
        and auto_mnnvl
        and api in _WITH_PACK_DOMAIN
        and _MNNVL not in _mapping(metadata.get("annotations"))
        and _wants_gpu(template)
    ):
        metadata["annotations"] = {**_mapping(metadata.get("annotations")), _MNNVL: "enabled"}
    out["metadata"] = metadata
    out["spec"] = spec
    return out


def _template(value: Mapping[str, Value], api: str, topology_name_field: str | None) -> dict[str, Value]:
    known = _KNOWN[api][0]
    if topology_name_field:
        known |= {topology_name_field}
    out = _keep(value, known)
    _default_constraint(out, api)
    if "cliqueStartupType" not in out:
        out["cliqueStartupType"] = "CliqueStartupTypeAnyOrder"
    cliques = out.get("cliques", [])
    out["cliques"] = (
        [_clique(entry, api) if isinstance(entry, dict) else entry for entry in cliques]
        if isinstance(cliques, list)
        else cliques
    )
    groups = out.get("podCliqueScalingGroups")
    if isinstance(groups, list):
        out["podCliqueScalingGroups"] = [_group(entry, api) if isinstance(entry, dict) else entry for entry in groups]
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
    _default_sharing(out, api)
    return _without_empty(out, ("podCliqueScalingGroups", "priorityClassName"))


def _clique(value: Mapping[str, Value], api: str) -> Mapping[str, Value]:
    out = _keep(value, _KNOWN[api][1])
    spec = _keep(_mapping(out.get("spec")), _CLIQUE_SPEC_FIELDS)
    replicas = spec.get("replicas", 0)
    spec["replicas"] = 1 if replicas == 0 and replicas is not False else replicas
    # Both follow what the author wrote, not the 1 that stands in for it.
    spec.setdefault("minAvailable", replicas)
    scaling = spec.get("autoScalingConfig")
    if isinstance(scaling, dict):
        spec["autoScalingConfig"] = _auto_scaling(scaling, replicas)
    spec.setdefault("roleName", "")
    pod_spec = spec.get("podSpec")
    spec["podSpec"] = _pod_spec(_mapping(pod_spec)) if pod_spec is None or isinstance(pod_spec, dict) else pod_spec
    out["spec"] = _without_empty(spec, ("startsAfter",))
    out.setdefault("name", "")
    _default_constraint(out, api)
    _default_sharing(out, api)
    return _without_empty(out, ("labels", "annotations"))


def _group(value: Mapping[str, Value], api: str) -> Mapping[str, Value]:
    out = _keep(value, _KNOWN[api][2])
    out.setdefault("replicas", 1)
    out.setdefault("minAvailable", 1)
    out.setdefault("name", "")
    scaling = out.get("scaleConfig")
    if isinstance(scaling, dict):
        out["scaleConfig"] = _auto_scaling(scaling, out["replicas"])
    _default_constraint(out, api)
    _default_sharing(out, api)
    return _without_empty(out, ("annotations",))


def _default_constraint(owner: dict[str, Value], api: str) -> None:
    found = owner.get("topologyConstraint")
    if not isinstance(found, dict):
        return
    if api in _WITH_PACK_DOMAIN:
        owner["topologyConstraint"] = {"packDomain": found.get("packDomain") or ""}
        return
    out = _without_empty(_keep(found, _CONSTRAINT_FIELDS), ("topologyName", "packDomain"))
    pack = out.get("pack")
    if isinstance(pack, dict):
        out["pack"] = _without_empty(_keep(pack, _PACK_FIELDS), ("required", "preferred"))
    owner["topologyConstraint"] = out


def _default_sharing(owner: dict[str, Value], api: str) -> None:
    if api in _WITH_PACK_DOMAIN or owner.keys().isdisjoint(("resourceSharing", "resourceClaimTemplates")):
        return
    # Few workloads have any.
    from packwise.frontends.grove.resourceclaims import claim_templates, resource_sharing

    for key, read in (("resourceSharing", resource_sharing), ("resourceClaimTemplates", claim_templates)):
        found = owner.pop(key, None)
        if found:
            owner[key] = read(found) if isinstance(found, list) else found


def _auto_scaling(value: Mapping[str, Value], replicas: Value) -> Mapping[str, Value]:
    out = _keep(value, frozenset({"minReplicas", "maxReplicas", "metrics"}))
    out.setdefault("minReplicas", replicas)
    out.setdefault("maxReplicas", 0)
    return _without_empty(out, ("metrics",))


def _pod_spec(value: Mapping[str, Value]) -> Mapping[str, Value]:
    out: dict[str, Value] = {
        key: entry for key, entry in value.items() if entry is not None and (entry != [] or key == "containers")
    }
    if "containers" not in out:
        out["containers"] = None
    if _is_blank(out.get("restartPolicy")):
        out["restartPolicy"] = "Always"
    out.setdefault("terminationGracePeriodSeconds", 30)
    for key in _CONTAINER_LISTS:
        containers = out.get(key)
        if isinstance(containers, list):
            out[key] = [_container(entry) if isinstance(entry, dict) else entry for entry in containers]
    return out


def _container(value: Mapping[str, Value]) -> Mapping[str, Value]:
    out = {key: entry for key, entry in value.items() if entry is not None and entry != []}
    out.setdefault("name", "")
    resources = out.setdefault("resources", {})
    if isinstance(resources, dict) and _has_number(resources):
        out["resources"] = {key: _quantities(amounts) for key, amounts in resources.items()}
    ports = out.get("ports")
    if isinstance(ports, list):
        out["ports"] = [{"protocol": "TCP", **port} if isinstance(port, dict) else port for port in ports]
    return out


def _has_number(resources: Mapping[str, Value]) -> bool:
    return any(isinstance(amounts, dict) and int in map(type, amounts.values()) for amounts in resources.values())


def _quantities(amounts: Value) -> Value:
    """Go writes a quantity back as a text, also one that was a number."""
    if not isinstance(amounts, dict):
        return amounts
    return {name: str(found) if type(found) is int else found for name, found in amounts.items()}


def _wants_gpu(template: Mapping[str, Value]) -> bool:
    cliques = template.get("cliques")
    for clique in cliques if isinstance(cliques, list) else ():
        pod_spec = _mapping(_mapping(_mapping(clique).get("spec")).get("podSpec"))
        for key in ("containers", "initContainers"):
            containers = pod_spec.get(key)
            if any(_has_gpu(container) for container in (containers if isinstance(containers, list) else ())):
                return True
    return False


def _has_gpu(container: Value) -> bool:
    resources = _mapping(_mapping(container).get("resources"))
    amounts = [_mapping(resources.get(key)).get(_GPU) for key in ("limits", "requests")]
    return any(amount is not None and not _ZERO_QUANTITY.fullmatch(str(amount)) for amount in amounts)


def _mapping(value: Value) -> Mapping[str, Value]:
    return value if isinstance(value, dict) else {}


def _is_blank(value: Value) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _keep(value: Mapping[str, Value], known: frozenset[str]) -> dict[str, Value]:
    return {key: entry for key, entry in value.items() if entry is not None and key in known}


def _without_empty(value: dict[str, Value], keys: tuple[str, ...]) -> dict[str, Value]:
    for key in keys:
        if key in value and value[key] in ("", [], {}):
            del value[key]
    return value
