"""Prepare objects for validation as the API server does: drop the fields of disabled gates, and fill in defaults.

Source: spec/kubernetes-gangs.md#3, #7.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.frontends.kubernetes.schema import JOB_GATE, POD_GATE, Listing, Struct, job_scheduling, spec_of
from packwise.lenient import mapping, mapping_at
from packwise.revisions.kubernetes import COMPOSITE, GENERIC, NEEDS, PREEMPTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.revisions.kubernetes import KubernetesRelease
    from packwise.settings.topologyrender import Kubernetes

_DEFAULT_MODE: Mapping[str, Value] = {"single": {}}
_DEFAULT_PREEMPTION = "PreemptLowerPriority"


class Dropped(Record):
    """A field that the API server drops silently, and its feature gate, which is off."""

    path: FieldPath
    gate: str


class Prepared(Record):
    """An object in the form that the API server validates, and the dropped fields."""

    value: Mapping[str, Value]
    dropped: tuple[Dropped, ...] = ()


def prepare_group(kind: str, value: Mapping[str, Value], release: KubernetesRelease, gates: frozenset[str]) -> Prepared:
    """Return a Workload, PodGroup or CompositePodGroup without the fields of disabled gates."""
    dropped: list[Dropped] = []
    spec = _drop_gated(mapping(value.get("spec")), spec_of(kind, release), ("spec",), gates, dropped)
    return Prepared({**value, "spec": spec}, tuple(dropped))


def prepare_job(value: Mapping[str, Value], gates: frozenset[str]) -> Prepared:
    """Return a Job, without `spec.scheduling` if the gate of this field is off.

    If the gate is on, the API server stores the whole field. It drops parts with another disabled gate only in the
    Workload that the Job controller makes.
    """
    spec = mapping(value.get("spec"))
    scheduling = spec.get("scheduling")
    path = ("spec", "scheduling")
    if scheduling is None:
        return Prepared(value)
    if JOB_GATE not in gates:
        rest = {name: entry for name, entry in spec.items() if name != "scheduling"}
        return Prepared({**value, "spec": rest}, (Dropped(path, JOB_GATE),))
    dropped: list[Dropped] = []
    _drop_gated(mapping(scheduling), job_scheduling(), path, gates, dropped)
    return Prepared(value, tuple(dropped))


def with_defaults(kind: str, value: Mapping[str, Value], gates: frozenset[str]) -> Mapping[str, Value]:
    """Return a PodGroup or CompositePodGroup with the API server's defaults. A Workload has no defaults."""
    if kind == "Workload":
        return value
    defaults: dict[str, Value] = {"disruptionMode": dict(_DEFAULT_MODE)}
    if PREEMPTION in gates:
        defaults["preemptionPolicy"] = _DEFAULT_PREEMPTION
    spec = mapping(value.get("spec"))
    return {**value, "spec": {**spec, **{name: text for name, text in defaults.items() if spec.get(name) is None}}}


def _drop_gated(
    value: Mapping[str, Value], table: Struct, path: FieldPath, gates: frozenset[str], dropped: list[Dropped]
) -> dict[str, Value]:
    kept: dict[str, Value] = {}
    for name, entry in value.items():
        member, at = table.members.get(name), (*path, name)
        if member is None or entry is None:
            kept[name] = entry
        elif member.gate and member.gate not in gates:
            # Go treats an empty list as absent, but not an empty mapping.
            if entry != []:
                dropped.append(Dropped(at, member.gate))
        elif isinstance(member.of, Struct) and isinstance(entry, dict):
            kept[name] = _drop_gated(entry, member.of, at, gates, dropped)
        elif isinstance(member.of, Listing) and isinstance(entry, list):
            item = member.of.item()
            kept[name] = [
                _drop_gated(each, item, (*at, place), gates, dropped) if isinstance(each, dict) else each
                for place, each in enumerate(entry)
            ]
        else:
            kept[name] = entry
    return kept


# The feature gates that packwise assumes.


class Gates(Record):
    """The enabled gates. If the settings have none, `needed` are the gates that the objects need."""

    on: frozenset[str]
    needed: tuple[str, ...] = ()


def gates_of(settings: Kubernetes, release: KubernetesRelease, needed: Iterable[str]) -> Gates:
    """Return the gates in the settings. Return `needed` and the gates that these need if the settings have none."""
    if settings.feature_gates is not None:
        return Gates(release.effective_gates([gate for gate, is_on in settings.feature_gates.items() if is_on]))
    wanted = set(needed)
    wanted |= {before for gate in wanted for before in NEEDS[gate]}
    return Gates(release.effective_gates(wanted), tuple(gate for gate in NEEDS if gate in wanted))


def unmet_gates(settings: Kubernetes, release: KubernetesRelease) -> Iterator[tuple[str, str]]:
    """Yield pairs of gates: a gate that is on, and a gate that it needs but that is off."""
    wanted = settings.feature_gates or {}
    for gate, is_on in wanted.items():
        if is_on and gate in release.gates:
            yield from ((gate, need) for need in NEEDS[gate] if not wanted.get(need, False))


def needed_gates(kind: str, value: Mapping[str, Value], release: KubernetesRelease) -> Iterator[str]:
    """Yield the gates that a Workload, PodGroup or CompositePodGroup needs."""
    yield GENERIC
    if kind == "CompositePodGroup":
        yield COMPOSITE
    # If the field of composite groups is dropped, the gates of the fields within it are unknown. So look again with it.
    for kept in (frozenset[str](), frozenset({COMPOSITE})):
        yield from (each.gate for each in prepare_group(kind, value, release, kept).dropped)


def job_gates(value: Mapping[str, Value]) -> Iterator[str]:
    """Yield the gates that `spec.scheduling` of a Job needs."""
    if mapping_at(value, "spec").get("scheduling") is not None:
        yield JOB_GATE
        yield from (each.gate for each in prepare_job(value, frozenset({JOB_GATE})).dropped)


POD_NEEDS = (POD_GATE,)
"""The gates that a pod needs if it names a group."""
