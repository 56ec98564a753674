"""Rules of the API server about pods that an operator creates, and requests that no node of a cluster meets.

Source: Kubernetes v1.34, pkg/apis/core/validation (ValidateContainerResourceRequirements, validateContainerCommon,
ValidateTolerations).

The API server does not validate a pod template inside a custom resource. It accepts the workload. When the operator
creates the pods, the API server refuses each of them.
"""

from __future__ import annotations

import re
from functools import lru_cache

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Problem, Rule, Stage
from packwise.kubernetes import (
    NANOS,
    ErrorType,
    canonical_quantity,
    dns_label,
    field_error,
    label_value,
    qualified_name,
    read_nanos,
)
from packwise.lenient import entries, mapping
from packwise.objects.index import is_placeholder
from packwise.wording import letters_apart, list_known, near_miss

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

_NAMES = (
    "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/pgpu", "nvidia.com/vgpu", "nvidia.com/hostdev",
    "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi", "intel.com/gpu", "google.com/tpu",
    "aws.amazon.com/neuron", "aws.amazon.com/neuroncore", "aws.amazon.com/neurondevice", "vpc.amazonaws.com/efa",
    "rdma/hca", "rdma/ib", "rdma/roce",
)  # fmt: skip
"""Resource names from the documentation of the device plugins."""

_OTHER_PROCESSOR = r"[a-z]{1,2}pu"
"""Match a kind of device that is not a GPU, and that differs only in the letters before `pu`: an LPU or a DPU."""

_FAMILIES = ("nvidia.com/mig-", "nvidia.com/gpu-")
"""Prefixes of resources that a device plugin names after a profile of the device or as its configuration says."""

_MIG = r"mig-(\d+c\.)?\d+g\.\d+gb([.-][a-z]+)*"
"""Match a MIG profile of NVIDIA, such as `mig-1g.10gb.me`. A configuration can use other names."""

_LIKE_MIG = r"mig[-._]?(?P<slices>\d)g?[-._]?(?P<memory>\d+)(g|gb|gi|gib|mb)?"
"""Match a name that was probably meant as a MIG profile."""

_LABEL_OF_NODES = r"gpus?[-._](count|num|number|product|memory|family|replicas|machine|present)"
"""Match a label of NVIDIA's GPU feature discovery. It describes nodes, and no container can request it."""

_VENDORS = ("nvidia", "amd", "intel")
"""Vendors of GPUs. If the device is `gpu`, a similar word in the domain identifies the vendor."""

_MAX_TYPOS = 2

_MILLI = NANOS // 1000


def misspelt_resource(name: str) -> str:
    """Return `; did you mean "x"?` if `name` is similar to the resource name of a known device, or ""."""
    if name in _NAMES or "/" not in name:
        return ""
    domain, _, device = name.partition("/")
    if domain == "nvidia.com" and re.fullmatch(_LABEL_OF_NODES, device):
        return '; did you mean "nvidia.com/gpu"?'
    profile = re.fullmatch(_LIKE_MIG, device, re.IGNORECASE)
    if profile is not None and not re.fullmatch(_MIG, device):
        return f'; did you mean "nvidia.com/mig-{profile["slices"]}g.{profile["memory"]}gb"?'
    if name.startswith(_FAMILIES):
        return ""
    is_other = re.fullmatch(_OTHER_PROCESSOR, device) is not None and device != "gpu"
    known = [] if is_other else [each for each in _NAMES if letters_apart(name.casefold(), each) <= _typo_letters(each)]
    if not known and device.casefold() in ("gpu", "gpus"):
        words = domain.casefold().replace("-", ".").split(".")
        known = [f"{vendor}.com/gpu" for vendor in _VENDORS if any(_is_near(word, vendor) for word in words)]
    best = min(known, key=lambda each: (letters_apart(name.casefold(), each), each), default="")
    return f'; did you mean "{best}"?' if best else ""


def near_resource(name: str) -> str:
    """Return `; did you mean "x"?` for a name that no container may request. Return "" if no name is similar."""
    short = name.casefold()
    if "gpu" in short:
        return '; did you mean "nvidia.com/gpu"?'
    return near_miss(name, ("cpu", "memory", "ephemeral-storage"))


def _typo_letters(name: str) -> int:
    """Return the number of letters that a typo may change. A short name with two other letters is a different name."""
    return _MAX_TYPOS if len(name) > len("nvidia.com/") else 1


def _is_near(word: str, vendor: str) -> bool:
    return letters_apart(word, vendor) <= (_MAX_TYPOS if len(vendor) > len("intel") else 0)


_CONTAINER = Rule(
    "pod-container",
    "A pod has no container, or a container without a unique name or an image.",
    "spec/kubernetes.md#2.1",
)
_RESOURCE = Rule(
    "pod-resource", "The API server refuses the resources that a container requests.", "spec/kubernetes.md#2.2"
)
_TOLERATION = Rule("pod-toleration", "The API server refuses a toleration of a pod.", "spec/kubernetes.md#2.3")
_NAME = Rule(
    "pod-resource-name",
    "A resource name resembles the name of a device, but no known device plugin offers it.",
    "spec/kubernetes.md#2.8",
    Severity.WARNING,
)
_HUGE = Rule(
    "pod-huge-pages",
    "A container requests huge pages without an equal limit.",
    "spec/kubernetes.md#2.7",
    Severity.WARNING,
)
SCHEDULER_NAME = Rule("pod-scheduler-name", "The name of a pod's scheduler is not a string.", "spec/kubernetes.md#2.10")
PRIORITY_CLASS = Rule(
    "pod-priority-class", "A pod names a PriorityClass that does not exist.", "spec/kubernetes.md#2.6"
)
UNKNOWN_FIELD = Rule(
    "pod-unknown-field", "The API server does not know a field of a pod.", "spec/kubernetes.md#2.11", Severity.WARNING
)
RULES = (_CONTAINER, _RESOURCE, _TOLERATION, _NAME, _HUGE, SCHEDULER_NAME, PRIORITY_CLASS, UNKNOWN_FIELD)
"""The rules of pods, whatever component creates them."""

_CONTAINER_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_USUAL_UNITS = {"cpu": 1, "memory": 1, "ephemeral-storage": 1, "nvidia.com/gpu": NANOS}
"""The names of most resources, each with a unit in billionths. Zero and positive multiples of the unit are valid."""
_STRINGS = frozenset({str})
_HUGE_PAGES = "hugepages-"
_QUOTA_NAMES = frozenset({
    "configmaps", "limits.cpu", "limits.ephemeral-storage", "limits.memory", "persistentvolumeclaims", "pods",
    "replicationcontrollers", "requests.cpu", "requests.ephemeral-storage", "requests.memory", "requests.storage",
    "resourcequotas", "secrets", "services", "services.loadbalancers", "services.nodeports", "storage",
})  # fmt: skip
"""Names without a domain that are valid only in quotas. No container may request them."""

_OPERATORS = ("Equal", "Exists")
_LATER_OPERATORS = ("Gt", "Lt")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def partial_pod_problems(spec: Mapping[str, Value]) -> Iterator[tuple[Rule, Problem]]:
    """Yield problems of a part of a pod's spec. Another part may have the missing values, so these are no problem."""
    for rule, problem in pod_problems(spec):
        if ": Required value" not in (problem.operator_message or ""):
            # The text of the API server has paths in the whole pod, and would be misleading for a part.
            yield rule, problem.replace(operator_message=None, stage=None)


def pod_problems(
    spec: Mapping[str, Value], image_of: str = "", *, has_unique_names: bool = False
) -> Iterator[tuple[Rule, Problem]]:
    """Yield problems of a pod with this spec, each with its rule. Paths are relative to the spec.

    `image_of` is the name of a container that gets its image from an operator, or "". `has_unique_names` is true if a
    schema already refuses two containers with one name in one list.
    """
    if spec.get("containers") == []:
        yield _CONTAINER, _refusal(("containers",), ErrorType.REQUIRED, None, "", "must have a container")
    yield from ((_CONTAINER, problem) for problem in _duplicate_names(spec, has_unique_names=has_unique_names))
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(entries(spec.get(kind))):
            if isinstance(container, dict):
                yield from _container(container, (kind, index), image_of)
    for index, toleration in enumerate(entries(spec.get("tolerations"))):
        if isinstance(toleration, dict):
            yield from ((_TOLERATION, problem) for problem in _toleration(toleration, ("tolerations", index)))


def _duplicate_names(spec: Mapping[str, Value], *, has_unique_names: bool) -> Iterator[Problem]:
    """Yield a problem for each container with the name of an earlier one.

    As in the API server, regular containers come before init containers.
    """
    seen: dict[str, str] = {}
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(entries(spec.get(kind))):
            name = _text(container.get("name")) if isinstance(container, dict) else ""
            if name and (name not in seen or (seen[name] == kind and has_unique_names)):
                seen.setdefault(name, kind)
            elif name:
                message = f'two containers of the pod have the name "{name}"'
                yield _refusal((kind, index, "name"), ErrorType.DUPLICATE, name, "", message)


def _container(container: Mapping[str, Value], path: FieldPath, image_of: str) -> Iterator[tuple[Rule, Problem]]:
    name, image = container.get("name"), container.get("image")
    # A value with a placeholder cannot be checked before another tool replaces the placeholder.
    if not name:
        yield _CONTAINER, _refusal(path, ErrorType.REQUIRED, None, "", "must have a name", field=(*path, "name"))
    elif isinstance(name, str) and not is_placeholder(name):
        for wrong in dns_label(name):
            message = f'must be a DNS label; got "{name}": {wrong}'
            yield _CONTAINER, _refusal((*path, "name"), ErrorType.INVALID, name, wrong, message)
    if not image and (not name or name != image_of):
        yield _CONTAINER, _refusal(path, ErrorType.REQUIRED, None, "", "must have an image", field=(*path, "image"))
    elif isinstance(image, str) and image != image.strip():
        detail = "must not have leading or trailing whitespace"
        yield _CONTAINER, _refusal((*path, "image"), ErrorType.INVALID, image, detail, detail)
    resources = container.get("resources")
    if isinstance(resources, dict):
        yield from _resources(resources, (*path, "resources"))


def _resources(resources: Mapping[str, Value], path: FieldPath) -> Iterator[tuple[Rule, Problem]]:
    limits, requests = mapping(resources.get("limits")), mapping(resources.get("requests"))
    # Only texts may be keys of the cache, because 1 and True are equal as keys.
    is_text = _STRINGS.issuperset(map(type, (*limits.values(), *requests.values())))
    if not is_text or _has_problem(tuple(limits.items()), tuple(requests.items())):
        yield from _resource_problems(_quantities(limits), _quantities(requests), path)


@lru_cache(maxsize=1024)
def _has_problem(limits: tuple[tuple[str, Value], ...], requests: tuple[tuple[str, Value], ...]) -> bool:
    """Return True if limits and requests have a problem. The result is cached, because containers often repeat."""
    problems = _resource_problems(_quantities(dict(limits)), _quantities(dict(requests)), ())
    return next(problems, None) is not None


def _resource_problems(
    limits: Mapping[str, tuple[str, int]], requests: Mapping[str, tuple[str, int]], path: FieldPath
) -> Iterator[tuple[Rule, Problem]]:
    for side, amounts in (("limits", limits), ("requests", requests)):
        for name, (text, amount) in amounts.items():
            if name in _USUAL_UNITS and amount >= 0 and not amount % _USUAL_UNITS[name]:
                continue
            at = (*path, side, name)
            wrong = next(_resource_name(name, at), None) or _amount(name, text, amount, at)
            if wrong is not None:
                yield _RESOURCE, wrong
            elif side == "limits" or name not in limits:
                misspelt = misspelt_resource(name)
                if misspelt:
                    message = f'pods stay pending because no known device plugin offers the resource "{name}"{misspelt}'
                    yield _NAME, Problem(at, message, at_key=True)
    for name, requested in requests.items():
        problem = _request_problem(name, requested, limits.get(name), path)
        if problem is not None:
            # The goldens of KAI contain pods with huge pages only in requests, so this is only a warning.
            is_huge = name.startswith(_HUGE_PAGES) and name not in limits
            yield (_HUGE if is_huge else _RESOURCE), problem


def _resource_name(name: str, at: FieldPath) -> Iterator[Problem]:
    """Yield problems of a resource's name. Callers use only the first."""
    for wrong in qualified_name(name):
        yield _refusal(at, ErrorType.INVALID, name, wrong, f'must be the name of a resource; got "{name}": {wrong}')
    if "/" not in name and name not in _CONTAINER_RESOURCES and not name.startswith(_HUGE_PAGES):
        detail = "must be a standard resource type or fully qualified"
        if name in _QUOTA_NAMES:
            detail = "must be a standard resource for containers"
        message = (
            f"must be one of {list_known(_CONTAINER_RESOURCES)}, hugepages, or a name with the domain of its device "
            f'plugin; got "{name}"{near_resource(name)}'
        )
        yield _refusal(at, ErrorType.INVALID, name, detail, message)
    elif "/" in name and not _is_native(name) and (name.startswith("requests.") or qualified_name(f"requests.{name}")):
        detail = "doesn't follow extended resource name standard"
        message = f'must be the name of a resource that nodes offer; got "{name}"{near_resource(name)}'
        yield _refusal(at, ErrorType.INVALID, name, detail, message)


def _amount(name: str, text: str, amount: int, at: FieldPath) -> Problem | None:
    if amount < 0:
        shown = canonical_quantity(text)
        detail = "must be greater than or equal to 0"
        return _refusal(at, ErrorType.INVALID, shown, detail, f'must be at least 0; got "{text}"')
    if not _is_native(name) and -(-amount // _MILLI) % 1000:
        message = f'must be a whole number because devices are not shared; got "{text}"'
        if name == "nvidia.com/gpu":
            message += "; to share a GPU, KAI uses the annotation gpu-fraction of the pod"
        return _refusal(at, ErrorType.INVALID, canonical_quantity(text), "must be an integer", message)
    return None


def _request_problem(
    name: str, requested: tuple[str, int], limit: tuple[str, int] | None, path: FieldPath
) -> Problem | None:
    """Return the problem of a request without a limit or with a different limit, or None."""
    text, amount = requested
    overcommits = _is_native(name) and not name.startswith(_HUGE_PAGES)
    if overcommits if limit is None else amount == limit[1] or (overcommits and amount < limit[1]):
        return None
    at = (*path, "requests", name)
    if limit is None:
        if next(_resource_name(name, at), None) is not None:
            return None
        detail = "Limit must be set for non overcommitable resources"
        message = "must be set in limits; the request of a device follows from its limit"
        if name.startswith(_HUGE_PAGES):
            message = "must also be set in limits: the API server refuses huge pages without an equal limit"
        return _refusal(at, ErrorType.REQUIRED, None, detail, message, field=(*path, "limits"), at_key=True)
    words = "less than or equal to" if overcommits else "equal to"
    detail = f"must be {words} {name} limit of {canonical_quantity(limit[0])}"
    message = f'must be {"at most" if overcommits else ""} "{limit[0]}", the limit; got "{text}"'.replace("  ", " ")
    shown = canonical_quantity(text)
    return _refusal(at, ErrorType.INVALID, shown, detail, message, field=(*path, "requests"))


def _toleration(toleration: Mapping[str, Value], path: FieldPath) -> Iterator[Problem]:
    key, operator, effect = [_text(toleration.get(field)) for field in ("key", "operator", "effect")]
    at: FieldPath = (*path, "operator")
    for wrong in qualified_name(key) if key else ():
        message = f'must be the key of a taint; got "{key}": {wrong}'
        yield _refusal((*path, "key"), ErrorType.INVALID, key, wrong, message)
    if operator not in ("", *_OPERATORS, *_LATER_OPERATORS):
        yield _unsupported_value(at, operator, _OPERATORS)
    elif not toleration.get("key") and operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        message = 'must be "Exists" if the key is not set; the toleration then matches every taint'
        place = at if operator else path
        yield _refusal(place, ErrorType.INVALID, operator, detail, message, field=at)
    elif operator == "Exists" and toleration.get("value"):
        message = 'must not be set if the operator is "Exists"'
        yield Problem((*path, "value"), message, stage=Stage.POD)
    elif operator in ("", "Equal"):
        value = _text(toleration.get("value"))
        wrong = ";".join(label_value(value))
        if wrong:
            message = f'must be the value of a taint; got "{value}": {wrong}'
            yield _refusal((*path, "value"), ErrorType.INVALID, value, wrong, message, field=at)
    if effect not in ("", *_EFFECTS):
        yield _unsupported_value((*path, "effect"), effect, _EFFECTS)
    elif toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        message = f'must be "NoExecute" if tolerationSeconds is set; got "{effect}"'
        place = (*path, "effect") if effect else path
        yield _refusal(place, ErrorType.INVALID, effect, detail, message, field=(*path, "effect"))


def _unsupported_value(at: FieldPath, value: str, known: tuple[str, ...]) -> Problem:
    shown = list_known(known)
    message = f'must be one of {shown}; got "{value}"{near_miss(value, known)}'
    return _refusal(at, ErrorType.NOT_SUPPORTED, value, f"supported values: {shown}", message)


def _refusal(
    path: FieldPath,
    kind: ErrorType,
    value: Value,
    detail: str,
    message: str,
    *,
    field: FieldPath | None = None,
    at_key: bool = False,
) -> Problem:
    """Return a problem at `path`. The API server's text names `field` instead of `path` if it is given."""
    shown = ("spec", *(path if field is None else field))
    return field_error(path, kind, value, detail, message, stage=Stage.POD, field=_pod_path(shown), at_key=at_key)


def _pod_path(path: FieldPath) -> str:
    """Return the path as the API server spells it. The name of a resource is in brackets."""
    at = path.index("resources") + 2 if "resources" in path else len(path)
    return format_path(path[:at]) + "".join([f"[{step}]" for step in path[at:]])


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _quantities(amounts: Mapping[str, Value]) -> dict[str, tuple[str, int]]:
    """Return each valid quantity as its text and its amount in billionths. Another rule reports invalid quantities."""
    read: dict[str, tuple[str, int]] = {}
    for name, written in amounts.items():
        amount = read_nanos(written)
        if amount is not None and (name in _USUAL_UNITS or not is_placeholder(name)):
            read[name] = str(written).strip(), amount
    return read


def _text(value: Value) -> str:
    return value if isinstance(value, str) and not is_placeholder(value) else ""
