"""The AdmissionChecks and Cohorts that make a ClusterQueue inactive, so that it admits no job.

Source: spec/kueue.md#5.3; Kueue v0.19.2, clusterqueue.go (inactiveReason), snapshot.go and the reconcilers of checks.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.lenient import entries, mapping_at, mappings_by_place, strings, text, text_at, value_at
from packwise.objects.index import is_placeholder
from packwise.wording import did_you_mean, list_known

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

GROUP = "kueue.x-k8s.io"
MULTIKUEUE, PROVISIONING = f"{GROUP}/multikueue", f"{GROUP}/provisioning-request"
"""The controllers of Kueue's own checks. The first one places pods in another cluster, and the second one later."""

_MULTIKUEUE_CONFIG, _CLUSTER = "MultiKueueConfig", "MultiKueueCluster"
_CONFIGS = {MULTIKUEUE: _MULTIKUEUE_CONFIG, PROVISIONING: "ProvisioningRequestConfig"}
"""The kind that the parameters of a check must name, by the controller of the check."""

KINDS = ((GROUP, _MULTIKUEUE_CONFIG), (GROUP, _CLUSTER), (GROUP, "ProvisioningRequestConfig"))
"""The API groups and names of the kinds that checks refer to."""


class NamedCheck(Record):
    """A check that a ClusterQueue names at `path`. It applies to `flavors`, or to all flavors if the tuple is empty."""

    name: str
    path: FieldPath
    flavors: tuple[str, ...] = ()


class KnownChecks(Record):
    """The AdmissionChecks by name, and the objects of `KINDS` by kind and name."""

    checks: Mapping[str, Mapping[str, Value]]
    configs: Mapping[str, Mapping[str, Mapping[str, Value]]]

    def controller(self, name: str) -> str:
        """Return the controller of a check. Return "" if it is unknown."""
        return text_at(self.checks.get(name), "spec", "controllerName")


class CheckFault(Record):
    """The reason why a ClusterQueue is inactive: Kueue's `text`, and packwise's words for the cause at `path`."""

    text: str
    path: FieldPath
    cause: str
    hint: str = ""


def named_checks(spec: Value) -> tuple[NamedCheck, ...]:
    """Return the checks that the spec of a ClusterQueue names, in `admissionChecksStrategy` and `admissionChecks`.

    Only v1beta1 has the second field.
    """
    path: FieldPath = ("spec", "admissionChecksStrategy", "admissionChecks")
    named = [
        NamedCheck(
            text(check.get("name")),
            (*path, place, "name"),
            tuple(strings(check.get("onFlavors"))),
        )
        for place, check in mappings_by_place(value_at(spec, *path[1:]))
    ]
    named += [
        NamedCheck(text(name), ("spec", "admissionChecks", place))
        for place, name in enumerate(entries(value_at(spec, "admissionChecks")))
    ]
    return tuple([each for each in named if each.name and not is_placeholder(each.name)])


def check_faults(named: Sequence[NamedCheck], flavors: Collection[str], known: KnownChecks) -> Iterator[CheckFault]:
    """Yield the faults of the checks that a ClusterQueue with these flavors names, in the order of Kueue's condition.

    An object counts as missing only if the input has other objects of its kind.
    """
    missing = [each for each in named if known.checks and each.name not in known.checks]
    if missing:
        first = missing[0]
        cause, near = f'the AdmissionCheck "{first.name}" is not in the input', did_you_mean(first.name, known.checks)
        yield _fault("references missing AdmissionCheck(s): ", missing, cause, near)
    inactive = [(each, why) for each in named if (why := _inactive_reason(each.name, known))]
    if inactive:
        cause = f'the AdmissionCheck "{inactive[0][0].name}" is inactive: {inactive[0][1]}'
        yield _fault("references inactive AdmissionCheck(s): ", [each for each, _ in inactive], cause)
    several = [each for each in named if known.controller(each.name) == MULTIKUEUE]
    if len(_names(several)) > 1:
        text = "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: "
        yield _fault(text, several, f"a ClusterQueue can have only one check of MultiKueue; it has {_list(several)}")
    every = set(flavors)
    partial = [each for each in several if each.flavors and not every <= set(each.flavors)]
    if partial:
        cause = f'the check of MultiKueue "{partial[0].name}" must be for all flavors; remove `onFlavors`'
        yield _fault("Cannot specify MultiKueue AdmissionCheck per flavor, found: ", partial, cause)
    provisioning = [each for each in named if known.controller(each.name) == PROVISIONING]
    if several and provisioning:
        text = f"Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: {_join(several)}, "
        cause = (
            f"checks of MultiKueue ({_list(several)}) and of ProvisioningRequests ({_list(provisioning)}) conflict; "
            "remove one of the two kinds"
        )
        yield _fault(text, provisioning, cause)


def delaying_checks(named: Iterable[NamedCheck], known: KnownChecks) -> tuple[str, ...]:
    """Return the names of the checks that place pods later or in another cluster."""
    return tuple(sorted({each.name for each in named if known.controller(each.name) in _CONFIGS}))


def lacks_multikueue(named: Iterable[NamedCheck], known: KnownChecks) -> bool:
    """Return True if no check of a ClusterQueue is or may be a check of MultiKueue. An unknown check may be one."""
    return all(known.controller(each.name) not in ("", MULTIKUEUE) for each in named)


def find_cycles(parents: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    """Map each cohort to the cycle of cohorts that contains it or one of its ancestors, or to () if there is none.

    `parents` maps each cohort to its parent.
    """
    cycles: dict[str, tuple[str, ...]] = {}
    for start in parents:
        above: dict[str, None] = {}
        name = start
        while name and name not in above and name not in cycles:
            above[name] = None
            name = parents.get(name, "")
        names = tuple(above)
        cycle = cycles[name] if name in cycles else names[names.index(name) :] if name else ()
        cycles |= dict.fromkeys(above, cycle)
    return cycles


def cycle_fault(cycle: Iterable[str]) -> str:
    """Return the words for a cycle of cohorts, for a message."""
    return f"the Cohorts {list_known(sorted(cycle))} are each other's parents; remove a parentName"


def read_checks(objects: Callable[[str], Mapping[str, Mapping[str, Value]]]) -> KnownChecks:
    """Return the AdmissionChecks and the objects that they refer to.

    `objects` is a function that returns the objects of a kind of Kueue by name.
    """
    return KnownChecks(objects("AdmissionCheck"), {kind: objects(kind) for _, kind in KINDS})


def _fault(text: str, checks: Sequence[NamedCheck], cause: str, hint: str = "") -> CheckFault:
    return CheckFault(f"{text}{_join(checks)}", checks[0].path, cause, hint)


def _names(checks: Iterable[NamedCheck]) -> list[str]:
    # Kueue sorts the names.
    return sorted({each.name for each in checks})


def _join(checks: Iterable[NamedCheck]) -> str:
    return ",".join(_names(checks))


def _list(checks: Iterable[NamedCheck]) -> str:
    return list_known(_names(checks))


def _inactive_reason(name: str, known: KnownChecks) -> str:
    """Return the reason why the controller of the check `name` sets it inactive. Return "" if it does not."""
    kind = _CONFIGS.get(known.controller(name))
    if kind is None:
        return ""
    parameters = mapping_at(known.checks[name], "spec", "parameters")
    if not parameters:
        return f"spec.parameters must name a {kind}"
    if (parameters.get("apiGroup"), parameters.get("kind")) != (GROUP, kind):
        return f'spec.parameters must name a {kind} of the group "{GROUP}"'
    config, configs = text(parameters.get("name")), known.configs[kind]
    if is_placeholder(config) or not configs:
        return ""
    if config not in configs:
        return f'the {kind} "{config}" is not in the input'
    return _unusable_clusters(configs[config], known) if kind == _MULTIKUEUE_CONFIG else ""


def _unusable_clusters(config: Mapping[str, Value], known: KnownChecks) -> str:
    """Return the reason why MultiKueue has no cluster to use. Return "" if it has one."""
    names = strings(value_at(config, "spec", "clusters"))
    clusters = known.configs[_CLUSTER]
    if not clusters or any(name in clusters or is_placeholder(name) for name in names):
        return ""
    return f"no {_CLUSTER} of its {_MULTIKUEUE_CONFIG} is in the input"
