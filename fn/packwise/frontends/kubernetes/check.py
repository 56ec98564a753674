"""Check one object of group scheduling as the API server does: its version, types, gates, values and changes.

Source: spec/kubernetes-gangs.md#2 to #7.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Finding, has_errors
from packwise.frontends.kubernetes import rules
from packwise.frontends.kubernetes.gates import prepare_group, prepare_job, with_defaults
from packwise.frontends.kubernetes.schema import POD_GATE, SCHEDULING_GROUP, job_scheduling, spec_of
from packwise.frontends.kubernetes.validation import decode, group_problems, job_problems, pod_problems
from packwise.lenient import mapping, mapping_at, value_at
from packwise.objects.index import identity
from packwise.objects.scheduling_groups import FIELD
from packwise.revisions.kubernetes import COMPOSITE, GROUP, RELEASES
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings import Problem
    from packwise.frontends.kubernetes.gates import Dropped
    from packwise.frontends.kubernetes.schema import Struct
    from packwise.objects.scheduling_groups import Pods
    from packwise.revisions.kubernetes import KubernetesRelease

SCHEDULING: FieldPath = ("spec", "scheduling")
"""The field of a Job that configures the scheduling of its pods."""
_POD = ("", "Pod")


class CheckedObject(Record):
    """An object with its findings.

    `kept` is the object in the form that the API server stores. It is None if the API server refuses the object or
    drops all its fields of group scheduling. `dropped` are the dropped fields.
    """

    item: KubeObject
    findings: tuple[Finding, ...]
    kept: Mapping[str, Value] | None = None
    dropped: tuple[Dropped, ...] = ()


class Server(Record):
    """The API server: its release and its enabled gates. `unknown` is the severity of unknown fields.

    `is_assumed` is true if packwise assumes the release, because the settings name none.
    """

    release: KubernetesRelease
    gates: frozenset[str]
    unknown: Severity = Severity.ERROR
    is_assumed: bool = False


def check_group(item: KubeObject, before: Mapping[str, Value] | None, server: Server) -> CheckedObject:
    """Check a Workload, PodGroup or CompositePodGroup, and return it with its findings.

    `before` is the object before the change, or None.
    """
    kind, value, release, gates = item.kind, item.value, server.release, server.gates
    version = item.api_version.rpartition("/")[2]
    wrong = version_message(kind, version, server)
    if wrong is not None:
        return CheckedObject(item, (Finding.of(rules.VERSION, item, ("apiVersion",), wrong),))
    if not release.is_validated:
        message = (
            f"packwise does not know the rules of Kubernetes {release.short_name} for this object, and did not check it"
        )
        return CheckedObject(item, (Finding.of(rules.UNCHECKED, item, ("apiVersion",), message),))
    table = spec_of(kind, release)
    decoded = _decode(item, version, ("spec",), table, server)
    if has_errors(decoded):
        return CheckedObject(item, decoded)
    if before is not None and decode(kind, version, before.get("spec"), table, ("spec",)).decode:
        before = None
    prepared = prepare_group(kind, value, release, gates)
    new = with_defaults(kind, prepared.value, gates)
    old = None
    if before is not None:
        old = with_defaults(kind, prepare_group(kind, before, release, gates).value, gates)
    verdict = _verdict(item, lambda stored: group_problems(kind, new, stored, release), old)
    findings = (*decoded, *[_drop_finding(item, each) for each in prepared.dropped], *verdict)
    return CheckedObject(item, findings, None if has_errors(findings) else prepared.value, prepared.dropped)


def check_job(item: KubeObject, before: Mapping[str, Value] | None, server: Server) -> CheckedObject:
    """Check `spec.scheduling` of a Job, and return the Job with its findings.

    `before` is the Job before the change, or None.
    """
    table = job_scheduling()
    decoded = _decode(item, "v1", SCHEDULING, table, server)
    if has_errors(decoded):
        return CheckedObject(item, decoded)
    if before is not None and decode("Job", "v1", value_at(before, *SCHEDULING), table, SCHEDULING).decode:
        before = None
    prepared = prepare_job(item.value, server.gates)
    old = None if before is None else prepare_job(before, server.gates).value
    verdict = _verdict(item, lambda stored: job_problems(prepared.value, stored), old)
    findings = (*decoded, *[_drop_finding(item, each) for each in prepared.dropped], *verdict)
    return CheckedObject(item, findings, None if has_errors(findings) else _without_group(prepared.value, server.gates))


def check_pods(pods: Pods, before: Mapping[str, Value] | None, server: Server) -> CheckedObject:
    """Check `schedulingGroup` of a pod or a pod template, and return the object with its findings.

    `before` is the object before the change, or None.
    """
    item, path, group = pods.item, (*pods.path, FIELD), mapping(pods.spec.get(FIELD))
    decoded = _decode(item, "v1", path, SCHEDULING_GROUP, server)
    if has_errors(decoded):
        return CheckedObject(item, decoded)
    if POD_GATE not in server.gates:
        dropped = Finding.of(rules.GATE_DROPPED, item, path, _drop_text(POD_GATE), at_key=True)
        return CheckedObject(item, (*decoded, dropped))
    findings = [Finding.of(rules.OBJECT, item, problem) for problem in pod_problems(group, path)]
    if not findings and before is not None and identity(item.value)[:2] == _POD:
        findings += _pod_change(pods, before)
    return CheckedObject(item, (*decoded, *findings))


def version_message(kind: str, version: str, server: Server) -> str | None:
    """Return a message if the API server does not serve a kind in this version, otherwise None."""
    release = server.release
    served, name = release.served_versions.get(kind, ()), f"Kubernetes {release.short_name}"
    if version not in served:
        instead = f"; use {GROUP}/{served[0]}" if served else " or any other version"
        others = (
            [each.name for each in RELEASES if version in each.served_versions.get(kind, ())]
            if server.is_assumed
            else []
        )
        hint = f". For a cluster of {list_known(others)}, set spec.kubernetes.version" if others else ""
        return f"{name} does not serve {kind} in {GROUP}/{version}{instead}{hint}"
    gate = COMPOSITE if kind == "CompositePodGroup" else POD_GATE
    if release.is_validated and gate not in server.gates:
        return f"{name} serves {kind} only with the feature gate {gate}"
    return None


def _decode(item: KubeObject, version: str, path: FieldPath, table: Struct, server: Server) -> tuple[Finding, ...]:
    whole = item.value if path == ("spec",) else None
    decoded = decode(item.kind, version, item.get(path), table, path, whole=whole)
    about = [(rules.DECODE, problem, None) for problem in decoded.decode]
    about += [(rules.UNKNOWN, problem, server.unknown) for problem in decoded.unknown]
    return tuple(
        Finding.of(rule, item, problem, order=order, severity=severity)
        for order, (rule, problem, severity) in enumerate(about)
    )


def _verdict(
    item: KubeObject,
    problems: Callable[[Mapping[str, Value] | None], Sequence[Problem]],
    old: Mapping[str, Value] | None,
) -> Iterator[Finding]:
    """Yield the problems for which the API server refuses an object, compared with the stored object `old`.

    If it would accept the object as a new one, also yield a finding that the object must be created again.
    """
    refused, as_new = problems(old), problems(None) if old is not None else None
    fresh = refused if as_new is None else [problem for problem in refused if problem in as_new]
    for order, problem in enumerate(refused):
        rule = rules.OBJECT if problem in fresh else rules.UPDATE
        yield Finding.of(rule, item, problem, order=order)
    if refused and as_new is not None and not as_new:
        yield _replacement(item)


def _replacement(item: KubeObject) -> Finding:
    message = "the API server refuses this update; delete the object and create it again"
    return Finding.of(rules.REPLACED, item, ("metadata", "name"), message)


def _pod_change(pods: Pods, before: Mapping[str, Value]) -> Iterable[Finding]:
    path = (*pods.path, FIELD, "podGroupName")
    was = value_at(before, *path)
    return () if was == pods.group else _moved_pod(pods.item, path, was)


def check_ungrouped_pod(item: KubeObject, before: Mapping[str, Value] | None) -> CheckedObject:
    """Return the error about a Pod that loses its group by the change."""
    return CheckedObject(item, _moved_pod(item, ("spec",), value_at(before, "spec", FIELD, "podGroupName")))


def _moved_pod(item: KubeObject, path: FieldPath, was: Value) -> tuple[Finding, ...]:
    message = f"the group of a pod is immutable; it was {was or 'none'}. Delete the pod and create it again"
    return (Finding.of(rules.UPDATE, item, path, message), _replacement(item))


def _drop_finding(item: KubeObject, dropped: Dropped) -> Finding:
    message = _drop_text(dropped.gate)
    if len(dropped.path) > len(SCHEDULING) and dropped.path[: len(SCHEDULING)] == SCHEDULING:
        message = f"the Workload of this Job loses this field because the feature gate {dropped.gate} is off"
    return Finding.of(rules.GATE_DROPPED, item, dropped.path, message, at_key=True)


def _drop_text(gate: str) -> str:
    return f"the API server silently drops this field because the feature gate {gate} is off"


def _without_group(value: Mapping[str, Value], gates: frozenset[str]) -> Mapping[str, Value]:
    """Return a Job, without the field `schedulingGroup` of its pods if the gate of this field is off."""
    if POD_GATE in gates:
        return value
    spec, template = mapping_at(value, "spec"), mapping_at(value, "spec", "template")
    pods: dict[str, Value] = {name: entry for name, entry in mapping(template.get("spec")).items() if name != FIELD}
    return {**value, "spec": {**spec, "template": {**template, "spec": pods}}}
