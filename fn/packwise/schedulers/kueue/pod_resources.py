"""The resources of pods as Kueue adjusts them by RuntimeClasses and LimitRanges, and checks them before the quota.

Source: spec/kueue.md#6.13; Kueue v0.19.2, pkg/workload/resources.go and pkg/util/limitrange/limitrange.go.
"""

from __future__ import annotations

from dataclasses import replace

from krmfn.hints import TYPE_CHECKING, Record
from packwise.kubernetes import amounts, container_requests
from packwise.lenient import mapping, mapping_at, mappings, mappings_by_place, text_at
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.schedulers.kueue.podsets import KueueJob, KueuePodSet

    Amounts = Mapping[str, int]

KINDS = (("", "LimitRange"), ("node.k8s.io", "RuntimeClass"))
"""The API groups and names of the kinds by which Kueue adjusts the resources of pods."""

_CONTAINER, _POD = "Container", "Pod"
_PARTS = ("initContainers", "containers")
_POD_RESOURCES, _HUGE_PAGES = ("cpu", "memory"), "hugepages-"
"""The resources that a pod can request in `spec.resources`, and the prefix of huge pages, which it can request too."""
_ABOVE, _BELOW = (
    "requests must not be above the limitRange max",
    "requests must not be below the limitRange min",
)
_INVALID = "resources validation failed"
_OUT_OF_RANGE = "resources didn't satisfy LimitRange constraints"


class Limits(Record):
    """The limits for one type, `Container` or `Pod`, that all LimitRanges of a namespace set together."""

    defaults: Mapping[str, Value] = {}
    default_requests: Mapping[str, Value] = {}
    maximums: Mapping[str, int] = {}
    minimums: Mapping[str, int] = {}


class ResourceRules(Record):
    """The limits of LimitRanges by namespace and type, and the overheads of RuntimeClasses by name."""

    limits: Mapping[str, Mapping[str, Limits]] = {}
    overheads: Mapping[str, Mapping[str, Value]] = {}


class ResourceFault(Record):
    """The reason why Kueue never admits a pod set: packwise's words for the `cause`, and Kueue's `text`.

    `path` is the place of the cause in the pod's spec.
    """

    path: FieldPath
    cause: str
    text: str

    @property
    def subject(self) -> str:
        """Return the noun for the part of the pod set that is wrong: `container` or `pod`."""
        return "container" if self.path[:1] in (("containers",), ("initContainers",)) else "pod"


def read_rules(values: Iterable[Mapping[str, Value]]) -> ResourceRules:
    """Return the rules that the LimitRanges and RuntimeClasses among the objects set."""
    limits: dict[str, dict[str, Limits]] = {}
    overheads: dict[str, Mapping[str, Value]] = {}
    for value in values:
        kind = text_at(value, "kind")
        if kind == "RuntimeClass":
            overheads[text_at(value, "metadata", "name")] = mapping_at(value, "overhead", "podFixed")
        elif kind == "LimitRange":
            by_type = limits.setdefault(text_at(value, "metadata", "namespace"), {})
            for entry in mappings(mapping_at(value, "spec").get("limits")):
                name = text_at(entry, "type")
                by_type[name] = _merge(by_type.get(name, Limits()), entry)
    return ResourceRules(limits, overheads)


def _merge(known: Limits, entry: Mapping[str, Value]) -> Limits:
    own = {field: mapping(entry.get(field)) for field in ("max", "min", "default", "defaultRequest")}
    if entry.get("type") == _CONTAINER:
        # The API server sets these defaults (SetDefaults_LimitRangeItem).
        own["default"] = {**own["max"], **own["default"]}
        own["defaultRequest"] = {**own["min"], **own["default"], **own["defaultRequest"]}
    most, least = amounts(own["max"]), amounts(own["min"])
    return Limits(
        {**own["default"], **known.defaults},
        {**own["defaultRequest"], **known.default_requests},
        {name: min(most.get(name, known.maximums.get(name, 0)), known.maximums.get(name, most.get(name, 0)))
         for name in (*known.maximums, *most)},
        {name: max(least.get(name, 0), known.minimums.get(name, 0)) for name in (*known.minimums, *least)},
    )  # fmt: skip


def pod_requests(spec: Mapping[str, Value]) -> dict[str, int]:
    """Return the requests of a pod, with its overhead.

    The requests in `spec.resources` replace the sum of the containers' requests.
    """
    resources = mapping(spec.get("resources"))
    own = amounts({**mapping(resources.get("limits")), **mapping(resources.get("requests"))})
    whole = {name: amount for name, amount in own.items() if name in _POD_RESOURCES or name.startswith(_HUGE_PAGES)}
    if not whole:
        return container_requests(spec)
    total = {**container_requests({**spec, "overhead": None}), **whole}
    for name, amount in amounts(mapping(spec.get("overhead"))).items():
        total[name] = total.get(name, 0) + amount
    return {name: amount for name, amount in sorted(total.items()) if amount > 0}


def adjust(job: KueueJob, rules: ResourceRules) -> KueueJob:
    """Return the job, with the resources of its pods as Kueue counts them."""
    container = rules.limits.get(job.item.namespace or "", {}).get(_CONTAINER)
    if container is None and not rules.overheads:
        return job
    return replace(job, sets=tuple([replace(each, pod_spec=_spec(each, container, rules)) for each in job.sets]))


def _spec(each: KueuePodSet, limits: Limits | None, rules: ResourceRules) -> Mapping[str, Value]:
    spec: dict[str, Value] = dict(each.pod_spec)
    overhead = rules.overheads.get(text_at(spec, "runtimeClassName"))
    if overhead is not None:
        spec.setdefault("overhead", dict(overhead))
    if limits is not None:
        for part in _PARTS:
            if part in spec:
                containers: list[Value] = [_container(own, limits) for own in mappings(spec[part])]
                spec[part] = containers
    return spec


def _container(container: Mapping[str, Value], limits: Limits) -> dict[str, Value]:
    resources = mapping(container.get("resources"))
    most = {**limits.defaults, **mapping(resources.get("limits"))}
    # Kueue uses a limit as the request only if the namespace has no default request for the resource.
    requests = {**most, **limits.default_requests, **mapping(resources.get("requests"))}
    return {**container, "resources": {**resources, "limits": most, "requests": requests}}


def resource_fault(
    sets: Sequence[KueuePodSet], namespace: str, rules: ResourceRules
) -> tuple[KueuePodSet, ResourceFault] | None:
    """Return the first pod set of an adjusted job that Kueue refuses for its resources, and the fault, or None.

    The text of the fault is about all pod sets.
    """
    limits = rules.limits.get(namespace, {})
    for title, faults in ((_INVALID, _excess), (_OUT_OF_RANGE, _range_errors)):
        refused = [
            (each, fault)
            for place, each in enumerate(sets)
            for fault in faults(each.pod_spec, f"spec.podSets[{place}].template.spec", limits)
        ]
        if refused:
            each, fault = refused[0]
            texts = list(dict.fromkeys(fault.text for _, fault in refused))
            shown = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
            return each, fault.replace(text=f"{title}: {shown}")
    return None


def _containers(spec: Mapping[str, Value]) -> Iterator[tuple[FieldPath, str, Mapping[str, Value]]]:
    for part in _PARTS:
        for place, container in mappings_by_place(spec.get(part)):
            yield (part, place), f".{part}[{place}]", container


def _excess(spec: Mapping[str, Value], field: str, limits: Mapping[str, Limits]) -> Iterator[ResourceFault]:
    """Yield a fault for each container that requests more than its limits, and one for the pod itself."""
    whole: tuple[FieldPath, str, Mapping[str, Value]] = ((), ".resources", spec)
    for path, suffix, container in (*_containers(spec), whole):
        requests, most = (amounts(mapping_at(container, "resources", each)) for each in ("requests", "limits"))
        names = _greater_resources(requests, most)
        if names:
            default = ", which a LimitRange of the namespace may set" if limits else ""
            cause = f"requests more {list_known(names)} than its limit{default}"
            yield ResourceFault(
                (*path, "resources", "requests", names[0]), cause,
                _invalid_text(f"{field}{suffix}", names, "requests must not exceed its limits"),
            )  # fmt: skip


def _range_errors(spec: Mapping[str, Value], field: str, limits: Mapping[str, Limits]) -> Iterator[ResourceFault]:
    container_limits, pod_limits = limits.get(_CONTAINER), limits.get(_POD)
    for path, suffix, container in _containers(spec):
        if container_limits is None:
            break
        own = [amounts(mapping_at(container, "resources", each)) for each in ("requests", "limits")]
        least = {name: min(each[name] for each in own if name in each) for name in (*own[0], *own[1])}
        most = {name: max(each[name] for each in own if name in each) for name in (*own[0], *own[1])}
        yield from _range_faults(path, f"{field}{suffix}", (least, most), container_limits, "container")
    if pod_limits is not None:
        total = pod_requests(spec)
        yield from _range_faults((), field, (total, total), pod_limits, "pod")


def _range_faults(
    path: FieldPath, field: str, own: tuple[Amounts, Amounts], limits: Limits, subject: str
) -> Iterator[ResourceFault]:
    least, most = own
    for names, word, text in (
        (_greater_resources(most, limits.maximums), "most", _ABOVE),
        (_greater_resources(limits.minimums, least), "least", _BELOW),
    ):
        if names:
            side = "more" if word == "most" else "less"
            cause = f"requests {side} {list_known(names)} than a LimitRange of the namespace allows for a {subject}"
            yield ResourceFault(path, cause, _invalid_text(field, names, text))


def _greater_resources(amounts: Amounts, others: Amounts) -> list[str]:
    """Return the resources with a larger amount than in `others`. Resources that `others` lacks do not count."""
    return sorted(name for name, amount in amounts.items() if name in others and amount > others[name])


def _invalid_text(field: str, names: Sequence[str], detail: str) -> str:
    listed = ",".join([f'"{name}"' for name in names])
    return f"{field}: Invalid value: [{listed}]: {detail}"
