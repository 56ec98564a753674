"""The Workload that Grove's planned backend for the default scheduler makes of a PodGang: a preview of GREP-531.

No release of Grove has this backend. packwise follows the proposal and its open branch. Source:
spec/kubernetes-gangs.md#13.
"""

from __future__ import annotations

import hashlib

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Finding, Rule, Stage
from packwise.kubernetes import ErrorType, OperatorError
from packwise.objects.kinds import KUBERNETES_WORKLOAD
from packwise.revisions.kubernetes import GROUP, kubernetes_release
from packwise.settings.topologyrender import settings_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Origin
    from packwise.placement import Bounds, Gang, PodSet
    from packwise.schedulers import SchedulerInput

_SOURCE = "spec/kubernetes-gangs.md#13"
UNRELEASED = Rule(
    "kubernetes-unreleased", "`emit` requests Workloads of Kubernetes, which no release of Grove creates.", _SOURCE
)
REFUSED = Rule(
    "kubernetes-backend", "Grove's future backend cannot create a Workload of Kubernetes for a gang.", _SOURCE
)
LOST = Rule(
    "kubernetes-preferred", "Grove's future backend drops the preferred level of a gang.", _SOURCE, Severity.WARNING
)  # fmt: skip
RULES = (UNRELEASED, REFUSED, LOST)
"""Rules about the Workloads that Grove's backend makes of gangs."""

SCHEDULER = "default-scheduler"
_MOST = 8
_LEAVES, _COMPOSITES = "podGroupTemplates", "compositePodGroupTemplates"
_ROOT: FieldPath = ("spec", _COMPOSITES, 0)


def unreleased_findings(source: SchedulerInput) -> Iterator[Finding]:
    """Yield an error if `emit` lists Workloads but the settings do not set `unreleased`."""
    settings = source.settings
    if settings.emits(KUBERNETES_WORKLOAD.emit_word) and not settings.kubernetes.unreleased:
        message = "no release of Grove makes Workloads; set spec.kubernetes.unreleased: true to preview GREP-531"
        yield settings_place(settings).child("emit").finding(UNRELEASED, message)


def api_version(version: str | None) -> str:
    """Return the API version in which this version of Kubernetes serves Workloads with composite groups."""
    composite = kubernetes_release(version).served_versions.get("CompositePodGroup", ("v1alpha3",))
    return f"{GROUP}/{composite[0]}"


def workload_value(gang: Gang, version: str) -> Mapping[str, Value]:
    """Return the manifest of a gang's Workload. It has no owner reference, because a render knows no UID."""
    root = _template("root", None, gang.bounds, gang)
    leaves: list[Value] = []
    groups: list[Value] = []
    for pods in gang.leaves:
        if pods.parent is None:
            leaves.append(_leaf(pods, gang))
    for group in gang.inner_sets:
        members = [pods for pods in gang.leaves if pods.parent == group.name]
        # The operator skips a group without members.
        if members:
            template = _template(f"group-{_digest(group.name)}", len(members), group.bounds, gang)
            groups.append({**template, _LEAVES: [_leaf(pods, gang) for pods in members]})
    root["schedulingPolicy"] = {"gang": {"minGroupCount": len(leaves) + len(groups)}}
    root |= {name: listed for name, listed in ((_LEAVES, leaves), (_COMPOSITES, groups)) if listed}
    return {
        "apiVersion": version,
        "kind": KUBERNETES_WORKLOAD.name,
        "metadata": {
            "name": gang.name,
            "namespace": gang.namespace,
            "labels": {**gang.labels, "grove.io/podgang": gang.name},
        },
        "spec": {
            "controllerRef": {"apiGroup": "scheduler.grove.io", "kind": "PodGang", "name": gang.name},
            _COMPOSITES: [root],
        },
    }


def _template(name: str, groups: int | None, bounds: Bounds | None, gang: Gang) -> dict[str, Value]:
    template: dict[str, Value] = {"name": name, "schedulingPolicy": {"gang": {"minGroupCount": groups or 0}}}
    if bounds is not None and bounds.required is not None:
        template["schedulingConstraints"] = {"topology": [{"key": bounds.required.key}]}
    if gang.priority_class:
        template["priorityClassName"] = gang.priority_class
    return template


def _leaf(pods: PodSet, gang: Gang) -> dict[str, Value]:
    template = _template(f"leaf-{_digest(pods.name)}", None, pods.bounds, gang)
    template["schedulingPolicy"] = {"gang": {"minCount": pods.members or 0}}
    return template


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:20]


def workload_origins(gang: Gang) -> Mapping[FieldPath, Origin]:
    """Return the origin of each part of the Workload, by path."""
    origins: dict[FieldPath, Origin] = {
        (): gang.origin.replace(rule=_SOURCE),
        ("metadata", "name"): gang.owner.of("name"),
        ("metadata", "namespace"): gang.owner.of("namespace"),
        ("metadata", "labels"): gang.owner.of("labels"),
    }
    alone = [pods for pods in gang.leaves if pods.parent is None]
    groups = [group for group in gang.inner_sets if any(pods.parent == group.name for pods in gang.leaves)]
    origins |= {(*_ROOT, _LEAVES, place): pods.origin for place, pods in enumerate(alone)}
    for place, group in enumerate(groups):
        path = (*_ROOT, _COMPOSITES, place)
        origins[path] = group.origin
        members = [pods for pods in gang.leaves if pods.parent == group.name]
        origins |= {(*path, _LEAVES, position): pods.origin for position, pods in enumerate(members)}
    return origins


def gang_findings(gang: Gang) -> Iterator[Finding]:
    """Yield a finding for each reason why the backend refuses a gang, and for each preferred level that it drops."""
    groups = [group for group in gang.inner_sets if any(pods.parent == group.name for pods in gang.leaves)]
    lists: list[tuple[FieldPath, Sequence[PodSet], str, Origin]] = [
        (
            (*_ROOT, _LEAVES),
            [pods for pods in gang.leaves if pods.parent is None],
            "cliques beside groups",
            gang.origin,
        ),
        ((*_ROOT, _COMPOSITES), groups, "groups", gang.origin),
    ]
    for place, group in enumerate(groups):
        members = [pods for pods in gang.leaves if pods.parent == group.name]
        lists.append(((*_ROOT, _COMPOSITES, place, _LEAVES), members, f"cliques in {group.name}", group.origin))
    for path, members, noun, origin in lists:
        if len(members) > _MOST:
            error = OperatorError(
                format_path(path), ErrorType.TOO_MANY, len(members), f"must have at most {_MOST} items"
            )
            message = f"a Workload can list at most {_MOST}, but {gang.name} has {len(members)} {noun}"
            yield origin.place.finding(REFUSED, message, operator_message=error.text(), stage=Stage.WEBHOOK)
    bounds = [each for each in (gang.bounds, *[pods.bounds for pods in gang.sets]) if each is not None]
    for each in bounds:
        if each.preferred is not None and each.origin is not None:
            message = (
                f"the preferred level {each.preferred.key} is dropped because Kubernetes supports only required levels"
            )
            yield each.origin.of("preferred").place.finding(LOST, message)
