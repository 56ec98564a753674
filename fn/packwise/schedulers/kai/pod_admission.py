"""The pods that KAI's webhook refuses: wrong requests for GPU shares, and any such request if sharing is disabled.

The webhook checks each new pod that KAI schedules. The mutating webhook looks for the container of a share. The
validating webhook stops at the first error. Source: spec/kai.md#6; KAI Scheduler v0.12 to v0.17,
pkg/admission/webhook/v1alpha2/gpusharing, pkg/binder/plugins/gpusharing/gpu-request, pkg/binder/common.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Finding, Problem, Rule, Stage
from packwise.kubernetes import quantity_fault
from packwise.lenient import mapping_at, mappings, mappings_by_place, text_at, texts
from packwise.objects.index import is_placeholder
from packwise.objects.kinds import KAI_CONFIG, POD
from packwise.placement import Gang, GangPod
from packwise.schedulers.kai.installation import installation_of
from packwise.schedulers.kai.pod_places import metadata_place, spec_place
from packwise.settings.topologyrender import KAI_PROFILE
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Place
    from packwise.objects.index import Index
    from packwise.placement import Placement
    from packwise.schedulers import SchedulerInput
    from packwise.schedulers.kai.installation import Installation

FRACTION, MEMORY = "gpu-fraction", "gpu-memory"
DEVICES, CONTAINER = "gpu-fraction-num-devices", "gpu-fraction-container-name"
_MPS = "mps"
_GPU = "nvidia.com/gpu"
_VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES"
_HIDDEN = ("void", "none")

REFUSED = Rule("gpu-share", "KAI's webhook refuses the GPU share that a pod requests.", "spec/kai.md#6.1")
OFF = Rule(
    "gpu-sharing-off",
    "A pod requests a GPU share, but GPU sharing is disabled.",
    "spec/kai.md#6.3",
    Severity.WARNING,
    once=True,
)
VISIBLE = Rule(
    "visible-devices", "A pod sets NVIDIA_VISIBLE_DEVICES, but KAI's configuration forbids it.", "spec/kai.md#6.4"
)
RULES = (REFUSED, OFF, VISIBLE)
"""Rules of KAI's pod webhook."""


class PodManifest(Record):
    """A pod: its place in the input, and the fields that the webhook reads. `is_pod` is true for a Pod of the input."""

    place: Place
    namespace: str
    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Value]
    is_pod: bool


def check_pods(source: SchedulerInput) -> Iterator[Finding]:
    """Yield a finding for each pod of a placement that the webhook refuses. Check each place once."""
    installation = installation_of(source.inventory.items)
    seen: set[tuple[int, FieldPath]] = set()
    first_share: PodManifest | None = None
    for pod in _pods(source.placements):
        at = id(pod.place.item), (*pod.place.path, *pod.place.inner)
        if at in seen or not _is_seen(pod, installation, source.inventory.items):
            continue
        seen.add(at)
        if first_share is None and not {FRACTION, MEMORY}.isdisjoint(pod.annotations):
            first_share = pod
        stage = Stage.WEBHOOK if pod.is_pod else Stage.POD
        for order, problem in enumerate(share_problems(pod.annotations, pod.spec)):
            key = str(problem.path[0])
            place = metadata_place(pod.place, "annotations", key)
            yield place.finding(
                REFUSED,
                f"{problem.message}; KAI's webhook refuses the pods",
                # The webhook stops at the first problem.
                operator_message=None if order else problem.operator_message,
                stage=stage,
                order=order,
                at_key=problem.at_key,
            )
        if installation.blocks_visible_devices:
            yield from _visible_devices(pod, stage)
    if first_share is not None and installation.sharing is False:
        yield _sharing_is_off(first_share, installation)


def _pods(placements: Iterable[Placement]) -> Iterator[PodManifest]:
    """Yield the pods that KAI schedules: each pod of a service, and one pod for each leaf of a gang."""
    for placement in placements:
        node, is_pod = placement.node, placement.subject.kind == POD.name
        if isinstance(node, GangPod):
            spec, metadata = mapping_at(node.value, "spec"), mapping_at(node.value, "metadata")
            if text_at(spec, "schedulerName") == KAI_PROFILE:
                name, namespace = text_at(metadata, "name"), text_at(metadata, "namespace")
                labels, annotations = texts(metadata.get("labels")), texts(metadata.get("annotations"))
                yield PodManifest(node.origin.place, namespace, name, labels, annotations, spec, is_pod)
        elif isinstance(node, Gang):
            for leaf in node.leaves:
                if leaf.pod_spec is not None and (leaf.scheduler or node.scheduler) == KAI_PROFILE:
                    yield PodManifest(
                        leaf.origin.place,
                        node.namespace,
                        placement.subject.name if is_pod else "",
                        leaf.labels,
                        leaf.annotations,
                        leaf.pod_spec,
                        is_pod,
                    )


def _is_seen(pod: PodManifest, installation: Installation, items: Index) -> bool:
    """Return False if the Config excludes the pod from the webhook by its labels or its namespace's labels."""
    if any(pod.labels.get(key) != value for key, value in installation.pod_labels.items()):
        return False
    wanted = installation.namespace_labels
    namespaces = [each for each in items.of_kind("", "Namespace") if each.name == pod.namespace] if wanted else ()
    labels = [texts(mapping_at(each.value, "metadata").get("labels")) for each in namespaces]
    return all(each.get(key) == value for each in labels for key, value in wanted.items())


_DECIMAL = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[+-]?(?:inf|infinity|nan|0x[0-9a-f_]*+(?:\.[0-9a-f_]*+)?p[+-]?[0-9]++)", re.IGNORECASE)
_MAX_UINT64 = (1 << 64) - 1
_SHOWN_LENGTH = 40
"""The number of characters of a wrong value that a message shows."""


def share_problems(annotations: Mapping[str, str], spec: Mapping[str, Value]) -> Iterator[Problem]:
    """Yield the problems of a pod's request for GPU shares, in the order of the webhook.

    The path of a problem is the annotation. Placeholders are not checked.
    """
    fraction, memory = annotations.get(FRACTION), annotations.get(MEMORY)
    devices = annotations.get(DEVICES)
    shares = fraction is not None or memory is not None
    named = annotations.get(CONTAINER)
    containers, init_containers = mappings(spec.get("containers")), mappings(spec.get("initContainers"))
    if shares and named is not None and not is_placeholder(named) and containers:
        names = [text_at(each, "name") for each in (*init_containers, *containers)]
        if named not in names:
            message = f'the pod has no container "{named}"; it has {list_known(names)}'
            text = f"failed to get fraction container ref: container with name {named} not found for fraction request"
            yield Problem((CONTAINER,), message, text)
    if not shares and annotations.get(_MPS) == "true":
        message = f"the annotation needs a GPU share; add {FRACTION} or {MEMORY}, or remove it"
        yield Problem((_MPS,), message, "MPS is only supported with GPU fraction request")
    owner = _container_with_gpus(containers, init_containers)
    if fraction is not None and owner is not None:
        message = f'conflicts with the limit {_GPU} of container "{owner}"; request a share or whole GPUs, not both'
        text = "cannot have both GPU fraction request and whole GPU resource request/limit"
        yield Problem((FRACTION,), message, text, at_key=True)
    if memory is not None and (fraction is not None or owner is not None):
        other = FRACTION if fraction is not None else f'the limit {_GPU} of container "{owner}"'
        message = f"conflicts with {other}; request only one of them"
        yield Problem((MEMORY,), message, "cannot request both GPU and GPU memory", at_key=True)
    if devices is not None and not shares:
        message = f"the annotation needs a share for each device; add {FRACTION} or {MEMORY}, or remove it"
        text = "cannot request multiple fractional devices without specifying fraction portion or gpu-memory"
        yield Problem((DEVICES,), message, text, at_key=True)
    if memory is not None and not _is_positive(memory) and not is_placeholder(memory):
        message = f'must be a whole number of MiB, without a unit; got "{memory[:_SHOWN_LENGTH]}"'
        yield Problem((MEMORY,), message, "gpu-memory annotation value must be a positive integer greater than 0")
    if fraction is not None and not is_placeholder(fraction):
        yield from _fraction_problems(fraction)
    if devices is not None and not _is_positive(devices) and not is_placeholder(devices):
        message = f'must be a whole number of devices, at least 1; got "{devices[:_SHOWN_LENGTH]}"'
        yield Problem((DEVICES,), message, "fraction count annotation value must be a positive integer greater than 0")


def _fraction_problems(fraction: str) -> Iterator[Problem]:
    shown = fraction[:_SHOWN_LENGTH]
    number = float(fraction) if _DECIMAL.fullmatch(fraction) else None
    if number is not None and 0 < number < 1:
        if quantity_fault(fraction) is None:
            return
    elif number is not None or not _WORD.fullmatch(fraction):
        message = f'must be above 0 and below 1; got "{shown}"'
        if number is not None and number >= 1:
            message += f"; request whole GPUs with the limit {_GPU} of a container"
        text = "gpu-fraction annotation value must be a positive number smaller than 1.0"
        yield Problem((FRACTION,), message, text)
        return
    # The webhook of releases before v0.14.7 and v0.16.8 accepts some of these values, but the binder cannot read them.
    text = (
        "gpu-fraction annotation value must be a float written with a decimal point or a scientific notation "
        f".given value: {fraction}"
    )
    yield Problem((FRACTION,), f'must be written with a decimal point, as in 0.5; got "{shown}"', text)


def _is_positive(text: str) -> bool:
    """Return True if Go's ParseUint reads `text` as a 64-bit number above 0."""
    digits = text.lstrip("0")
    return text.isascii() and text.isdigit() and 0 < len(digits) <= len(str(_MAX_UINT64)) and int(digits) <= _MAX_UINT64


def _container_with_gpus(containers: Iterable[Mapping[str, Value]], init: Iterable[Mapping[str, Value]]) -> str | None:
    """Return the name of the first container with a limit for GPUs, even a limit of 0, or None."""
    for container in (*containers, *init):
        if _GPU in mapping_at(container, "resources", "limits"):
            return text_at(container, "name")
    return None


def _visible_devices(pod: PodManifest, stage: Stage) -> Iterator[Finding]:
    """Yield a finding for the first container that selects GPUs by an environment variable. The Config forbids it."""
    shares = not {FRACTION, MEMORY}.isdisjoint(pod.annotations)
    regular = mappings(pod.spec.get("containers"))
    own = pod.annotations.get(CONTAINER, text_at(regular[0], "name") if regular else "") if shares else None
    for field in ("initContainers", "containers"):
        for index, container in mappings_by_place(pod.spec.get(field)):
            name = text_at(container, "name")
            for number, entry in mappings_by_place(container.get("env")) if name != own else ():
                text = _why_visible(name, entry)
                if text:
                    message = (
                        f'KAI\'s Config forbids this variable in container "{name}" (blockNvidiaVisibleDevices). '
                        "Remove it; KAI assigns the GPUs"
                    )
                    place = spec_place(pod.place, field, index, "env", number)
                    yield place.finding(VISIBLE, message, operator_message=text, stage=stage)
                    return


def _why_visible(container: str, entry: Mapping[str, Value]) -> str:
    """Return the webhook's text about a variable of a container. Return "" if it is accepted."""
    value = text_at(entry, "value")
    if text_at(entry, "name") != _VISIBLE_DEVICES or value in _HIDDEN:
        return ""
    if value:
        return (
            f"container {container} has an environment variable {_VISIBLE_DEVICES} defined with a value of {value}. "
            "This is forbidden due to conflicts with Nvidia's device plugin. The only values that are allowed are "
            "'void' or 'none'"
        )
    if entry.get("valueFrom") is None:
        return ""
    return (
        f"container {container} has an environment variable {_VISIBLE_DEVICES} defined with a valueFrom reference. "
        "This is forbidden due to possible conflicts with Nvidia's device plugin"
    )


def _sharing_is_off(pod: PodManifest, installation: Installation) -> Finding:
    key = FRACTION if FRACTION in pod.annotations else MEMORY
    where = installation.sharing_place
    at = "the input" if where is None else where.description
    is_config = where is not None and where.item.kind == KAI_CONFIG.name
    field = "spec.admission.gpuSharing" if is_config else "the value global.gpuSharing"
    message = (
        f"the pod requests a GPU share, but GPU sharing is disabled in KAI ({at}), and its webhook refuses the pod. "
        f"Set {field} to true"
    )
    # KAI's text names the pod. The names of pods that controllers create are not known.
    text = (
        f"attempting to create a pod {pod.namespace}/{pod.name} with gpu sharing request, while GPU sharing is disabled"
        if pod.name
        else None
    )
    stage = Stage.WEBHOOK if pod.is_pod else Stage.POD
    return metadata_place(pod.place, "annotations", key).finding(OFF, message, operator_message=text, stage=stage)
