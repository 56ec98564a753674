"""Checks that the API server does not make: unused fields, images, pods on one node, incompatible releases.

Source: spec/dynamo.md#1.1, #4.
"""

from __future__ import annotations

import re
from itertools import islice

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Problem, Rule
from packwise.frontends.dynamo.convert import MAIN
from packwise.frontends.dynamo.graph import CPU_TYPES, WORKERS
from packwise.frontends.dynamo.rules.admission import GraphCheck
from packwise.frontends.dynamo.shape import DEFAULT_QUEUE, QUEUE, STRATEGY
from packwise.kubernetes import ErrorType, amounts, container_requests, field_error, refusal
from packwise.lenient import mapping, mapping_at, mappings_in_place, text, texts, value_at
from packwise.objects.index import is_placeholder
from packwise.revisions.dynamo import RELEASES, STUCK_AT_ZERO, Known
from packwise.revisions.grove import REVISIONS, precedes
from packwise.wording import known_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Finding
    from packwise.frontends.dynamo.graph import Component
    from packwise.frontends.dynamo.rules.admission import Subject

_GPU = "nvidia.com/gpu"
_GPUS_OF_LARGEST_NODE = 8
"""The number of GPUs in the largest common node."""

_GPUS_OF_GRACE_NODE = 4
"""The number of GPUs in a node with GB200 or GB300. Such a node has ARM processors."""

_ARCHITECTURE, _PRODUCT = "kubernetes.io/arch", "nvidia.com/gpu.product"
_COMPUTE_DOMAIN = "compute-domain"
_ARM_LIBRARIES = "/aarch64-linux-gnu/"
"""The folder in which Debian has libraries for ARM processors."""


def _check_spread(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        if not component.is_multinode or value_at(component.pod_spec, "affinity", "podAntiAffinity"):
            continue
        gpus, room = container_requests(component.pod_spec).get(_GPU, 0), _most_gpus(at, component)
        if gpus * 2 <= room:
            known = f"requests {gpus} of the {room} GPUs of a node"
            assumed = f"requests {gpus} GPU{'s' if gpus > 1 else ''}, and a node may have {room}"
            asked = (known if at.nodes else assumed) if gpus else "requests no GPU"
            message = (
                f"the {component.nodes} pods of a replica can share a node: each {asked}. Request all GPUs of a node, "
                "or add a podAntiAffinity"
            )
            yield Problem(component.path("multinode", "nodeCount"), message)


def _most_gpus(at: Subject, component: Component) -> int:
    """Return the number of GPUs in the largest node that fits the node selector.

    If the nodes are unknown, assume the largest common node for the processors that the pods need.
    """
    selector = texts(component.pod_spec.get("nodeSelector"))
    if at.nodes:
        fitting = [
            node for node in at.nodes if selector.items() <= texts(mapping_at(node, "metadata", "labels")).items()
        ]
        return max([amounts(mapping_at(node, "status", "allocatable")).get(_GPU, 0) for node in fitting], default=0)
    return _GPUS_OF_GRACE_NODE if _needs_grace(component, selector) else _GPUS_OF_LARGEST_NODE


def _needs_grace(component: Component, selector: Mapping[str, str]) -> bool:
    """Return True if the pods can only run on GB200 or GB300, by product, architecture, NVLink claims and
    libraries.
    """
    claims = [str(claim.get("name", "")) for claim in mappings_in_place(component.pod_spec.get("resourceClaims"))]
    by_claim = any(name.startswith(_COMPUTE_DOMAIN) for name in claims)
    by_selector = selector.get(_ARCHITECTURE) == "arm64" or "-GB" in selector.get(_PRODUCT, "")
    by_library = any(
        _ARM_LIBRARIES in str(entry.get("value", "")) for entry in mappings_in_place(component.main.get("env"))
    )
    return by_claim or by_selector or by_library


def _pack_per_replica(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        if component.nodes > 2 and not at.release.multinode_min_available:
            message = (
                f"with Dynamo {at.release.name}, the gang has only the leader and one worker; the pods of the other "
                f"{component.nodes - 2} nodes may never start. Dynamo 1.1 waits for all nodes"
            )
            yield Problem(component.path("multinode", "nodeCount"), message)


def _pinned_components(at: Subject) -> Iterator[Problem]:
    if not at.graph.pack_domain:
        return
    for component in at.graph.components:
        if component.type in CPU_TYPES and component.constraint is None and not _has_gpu(component):
            message = (
                f'"{component.name}" inherits the constraint of the graph and must be in the same '
                f"{at.graph.pack_domain} as the GPUs. It uses CPUs there, and no pod starts if it does not fit. "
                "Constrain the workers instead of the graph"
            )
            yield Problem(component.path(), message)


def _has_gpu(component: Component) -> bool:
    resources = mapping(component.main.get("resources"))
    return any("gpu" in name for side in ("limits", "requests") for name in mapping(resources.get(side)))


def _narrow_packs(at: Subject) -> Iterator[Problem]:
    topology = at.topology
    lowest = (
        topology.narrowest_level.domain if topology is not None and topology.narrowest_level is not None else "host"
    )
    for component in at.graph.components:
        own = component.constraint is not None
        domain = component.pack_domain if own else at.graph.pack_domain
        if component.is_multinode and domain == lowest and domain:
            message = (
                f'all {component.nodes} nodes of a replica must fit into one "{domain}", the narrowest domain; '
                "use a broader domain"
            )
            owner: FieldPath = component.path() if own else ("spec",)
            yield Problem((*owner, "topologyConstraint", "packDomain"), message)


def _shortened_name(at: Subject) -> Iterator[Problem]:
    if at.set_name != at.graph.name:
        message = (
            f'the name is too long for pods, and the operator shortens it to "{at.set_name}" for the PodCliqueSet, its '
            "PodGangs and pods. The last four digits are a hash that another graph may share"
        )
        yield Problem(("metadata", "name"), message)


def _lost_annotations(at: Subject) -> Iterator[Problem]:
    for key in at.graph.annotations:
        if key.startswith(("grove.io/", "scheduling.grove.io/")):
            message = "the operator does not copy this annotation to the PodCliqueSet; move it to spec.annotations"
            yield Problem(("metadata", "annotations", key), message, at_key=True)


def _zero_replicas(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        if component.replicas_written and component.replicas == 0 and at.revision.name in STUCK_AT_ZERO:
            message = f'pods stay gated after scaling up from 0 with Grove "{at.revision.name}" (grove#809)'
            yield Problem(component.path("replicas"), message)


def _failover(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        experimental = mapping(component.value.get("experimental"))
        if experimental.get("failover") is not None and experimental.get("gpuMemoryService") is None:
            message = "failover needs `gpuMemoryService`; later releases of Dynamo refuse the graph without it"
            yield Problem(component.path("experimental", "failover"), message)


def _check_unsure_fields(at: Subject) -> Iterator[Problem]:
    """Yield a problem for each field that the release does not have, or has only since an unknown patch release."""
    release = at.release
    for component in at.graph.components:
        experimental = mapping(component.value.get("experimental"))
        fields = (
            (release.min_available, component.min_available is not None, ("minAvailable",)),
            (release.force_scaling_group, "grove" in experimental, ("experimental", "grove")),
            (release.provider_override, component.override is not None, ("providerOverride",)),
            (release.roles, component.value.get("roles") is not None, ("roles",)),
        )
        for known, is_there, steps in fields:
            if is_there and known is not Known.YES:
                yield Problem(component.path(*steps), _dropped_field_text(release.name, known), at_key=True)
    if at.graph.override is not None and release.provider_override is not Known.YES:
        yield Problem(
            ("spec", "providerOverride"), _dropped_field_text(release.name, release.provider_override), at_key=True
        )
    if release.coherent is Known.UNSURE and at.graph.annotations.get(STRATEGY) == "Coherent":
        message = f"Dynamo {release.name} may refuse this; 1.6 accepts it"
        yield Problem(("metadata", "annotations", STRATEGY), message)


def _dropped_field_text(release: str, known: Known) -> str:
    if known is Known.NO:
        return f"Dynamo {release} does not have this field, and the API server drops it"
    return f"only later patch releases of Dynamo {release} have this field; for earlier ones, the API server drops it"


def _queue(at: Subject) -> Iterator[Problem]:
    if not at.settings.kai_scheduler or not at.queues:
        return
    queue = at.graph.annotations.get(QUEUE, "").strip() or DEFAULT_QUEUE
    if queue not in at.queues:
        message = (
            f'the queue "{queue}" is not in the input. Without it, the operator makes no PodCliqueSet'
            f"{known_names(queue, at.queues)}"
        )
        yield Problem(("metadata", "annotations", QUEUE), message)


def _checkpoint_waits(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        if component.waits_for_checkpoint:
            path = component.path("experimental", "checkpoint", "startupPolicy")
            yield Problem(
                path, "the operator keeps the replicas at 0 until the checkpoint is ready, and packwise renders 0"
            )


def _rigid_scaling(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        moves = component.scaling_adapter and component.type in WORKERS
        if moves and at.graph.pack_domain:
            message = (
                "the constraint of the graph also applies to replicas that an autoscaler adds: they wait if they do "
                f"not fit into the same {at.graph.pack_domain}"
            )
            yield Problem(component.path("scalingAdapter"), message)


ADVICE = (
    GraphCheck(Rule("dynamo-gang-partial", "A gang needs only some nodes of a replica.", "spec/dynamo.md#4.7",
               Severity.WARNING), _pack_per_replica),
    GraphCheck(Rule("dynamo-cpu-pinned", "A component without GPUs must run in the same domain as the GPUs.",
                    "spec/dynamo.md#4.15",
               Severity.WARNING), _pinned_components),
    GraphCheck(Rule("dynamo-nodes-apart", "Pods of one replica can share a node.", "spec/dynamo.md#4.14",
               Severity.WARNING), _check_spread),
    GraphCheck(Rule("dynamo-domain-narrow", "All nodes of a replica must fit into a domain of the narrowest level.",
               "spec/dynamo.md#4.12", Severity.WARNING), _narrow_packs),
    GraphCheck(Rule("dynamo-domain-scaled", "Pods that an autoscaler adds must fit into the domain of the graph.",
               "spec/dynamo.md#4.13", Severity.WARNING), _rigid_scaling),
    GraphCheck(Rule("dynamo-name-shortened", "The operator shortens the name of the PodCliqueSet.",
                    "spec/dynamo.md#3.2.2",
               Severity.WARNING), _shortened_name),
    GraphCheck(Rule("dynamo-annotation-lost", "The operator does not copy an annotation to the PodCliqueSet.",
               "spec/dynamo.md#4.19", Severity.WARNING), _lost_annotations),
    GraphCheck(Rule("dynamo-scale-to-zero", "Pods stay gated after a component scales up from zero replicas.",
               "spec/dynamo.md#4.16", Severity.WARNING), _zero_replicas),
    GraphCheck(Rule("dynamo-failover", "Failover is set without the GPU memory service that it needs.",
                    "spec/dynamo.md#3.4.6",
               Severity.WARNING), _failover),
    GraphCheck(
        Rule("dynamo-queue", "The queue of a graph does not exist.", "spec/dynamo.md#2.6.33", Severity.WARNING), _queue,
    ),
    GraphCheck(Rule("dynamo-checkpoint", "A component waits for a checkpoint and has no replicas yet.",
               "spec/dynamo.md#3.11.4", Severity.INFO), _checkpoint_waits),
    GraphCheck(Rule("dynamo-unsure", "The release of Dynamo does not have a field, or may not have it.",
                    "spec/dynamo.md#1.2",
               Severity.WARNING), _check_unsure_fields),
)  # fmt: skip
"""Checks with warnings about a graph."""


_NUMBER = r"(0|[1-9][0-9]*)"
_WORD = r"(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(
    rf"[vV]?{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_WORD}(\.{_WORD})*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)
"""Match a tag that the operator accepts as a semantic version."""

_OVERRIDE = "runtimeVersionOverride"
_UNVERSIONED = "is required when the specified main container image has no parseable semantic-version tag"
_LPX = "lpx"


def _missing_versions(at: Subject) -> Iterator[Problem]:
    """Yield a problem for each component without a version.

    As in the webhook, an existing component is checked only if its image or version changes.
    """
    if not at.is_new and at.before is None:
        # The cluster already has the graph, and without a baseline no component is known to have changed.
        return
    before = {} if at.before is None else {component.name: component for component in at.before.components}
    for component in at.graph.components:
        if component.type == _LPX or any(
            "podTemplate" in role for role in mappings_in_place(component.value.get("roles"))
        ):
            continue
        old = before.get(component.name)
        image, version = _runtime(component)
        if not image:
            if old is None or _runtime(old)[0]:
                yield _without_image(at, component)
        elif not (version or is_placeholder(image) or _VERSION.fullmatch(_tag(image))) and (
            old is None or _runtime(old) != (image, version)
        ):
            yield _without_version(at, component, image)


def _runtime(component: Component) -> tuple[str, str]:
    """Return the image of the main container and `runtimeVersionOverride`. Each is "" if it is not set."""
    return text(component.main.get("image")), text(component.value.get(_OVERRIDE))


def _tag(image: str) -> str:
    return image.strip().partition("@")[0].rpartition("/")[2].partition(":")[2].strip()


def _without_image(at: Subject, component: Component) -> Problem:
    path, place = component.path("podTemplate", "spec", "containers"), _main_place(component)
    if place is not None:
        path = (*path, place, "image")
    field = f"{_service(component)}.extraPodSpec.mainContainer.image" if at.graph.is_alpha else format_path(path)
    written = "`extraPodSpec.mainContainer`" if at.graph.is_alpha else f'the container "{MAIN}"'
    return _required_value(path, f"must be set: {written} names the image of the component", field, "is required")


def _without_version(at: Subject, component: Component, image: str) -> Problem:
    path = component.path("podTemplate", "spec", "containers", _main_place(component) or 0, "image")
    owner = _service(component) if at.graph.is_alpha else format_path(component.path())
    message = f'the image "{image}" has no version as its tag (":1.5.0"); change the tag, or set `{_OVERRIDE}`'
    return _required_value(path, message, f"{owner}.{_OVERRIDE}", _UNVERSIONED)


def _required_value(path: FieldPath, message: str, field: str, detail: str) -> Problem:
    return field_error(path, ErrorType.REQUIRED, None, detail, message, field=field)


def _service(component: Component) -> str:
    return f"spec.services[{component.name}]"


def _main_place(component: Component) -> int | None:
    containers = mappings_in_place(component.pod_spec.get("containers"))
    return next((place for place, each in enumerate(containers) if each.get("name") == MAIN), None)


def _is_version_required(at: Subject) -> bool:
    """Return True if the settings name a release, and its webhook requires a version."""
    return at.release.runtime_version is Known.YES and at.settings.release is not None


def _runtime_refusals(at: Subject) -> Iterable[Problem]:
    return _missing_versions(at) if _is_version_required(at) else ()


def _runtime_warnings(at: Subject) -> Iterator[Problem]:
    if at.release.runtime_version is Known.NO or _is_version_required(at):
        return
    lacks = _missing_versions(at)
    refusing = "Dynamo 1.5 and newer refuse it"
    if at.release.runtime_version is Known.UNSURE:
        lacks = (problem for problem in lacks if _UNVERSIONED in (problem.operator_message or ""))
        refusing = f"later patch releases of Dynamo {at.release.name} refuse it"
    for problem in islice(lacks, 1):
        yield Problem(problem.path, f"{problem.message}: {refusing} otherwise")


def report_version_once(findings: Sequence[tuple[Finding, ...]]) -> list[tuple[Finding, ...]]:
    """Return the findings of each graph. If several are about RUNTIME_VERSION, keep only the first, with a count."""
    graphs = sum(any(finding.rule == RUNTIME_VERSION.name for finding in each) for each in findings)
    answer: list[tuple[Finding, ...]] = []
    is_reported = False
    for each in findings:
        kept: list[Finding] = []
        for finding in each:
            if finding.rule != RUNTIME_VERSION.name:
                kept.append(finding)
            elif not is_reported:
                is_reported = True
                others = "1 other graph lacks" if graphs == 2 else f"{graphs - 1} other graphs lack"
                more = f"; {others} it too" if graphs > 1 else ""
                kept.append(finding.replace(message=finding.message + more))
        answer.append(tuple(kept))
    return answer


RUNTIME_VERSION = Rule(
    "dynamo-runtime-version",
    "An image does not show the version of Dynamo, and the release may require it.",
    "spec/dynamo.md#2.6.20",
    Severity.WARNING,
    once=True,
)

IMAGES = (
    GraphCheck(Rule("dynamo-main-image", "The image of a main container does not show the version of Dynamo.",
               "spec/dynamo.md#2.6.20"), _runtime_refusals),
    GraphCheck(RUNTIME_VERSION, _runtime_warnings),
)  # fmt: skip
"""Checks of the images of main containers."""


_DEPRECATED = "packDomain is deprecated and cannot be used on new workloads; use pack.required"


def _constraint(at: Subject) -> Iterator[Problem]:
    """Yield a problem if Grove refuses or drops a constraint in the form that the release of Dynamo writes."""
    path = _first_constraint(at)
    release, revision = at.release, at.revision
    is_old = release.constraint == "packDomain"
    goes_on = not revision.constraints_choose if is_old else revision.deprecates_pack_domain
    if path is None or goes_on:
        return
    dynamo = f"Dynamo {release.name}"
    if at.settings.release is None:
        dynamo += ", assumed because `dynamo.release` is not set"
    grove = f'Grove "{revision.name}"'
    if not at.revision_is_named:
        grove += ", assumed because `revision` is not set,"
    other = [each.name for each in RELEASES if each.constraint != release.constraint]
    fitting = f"{other[0]} to {other[-1]}"
    if is_old:
        message = (
            f"becomes `packDomain` with {dynamo}, but {grove} refuses `packDomain`. Set the release that "
            f"your cluster runs: `dynamo.release` from {fitting}, or `revision` before v0.1.0-alpha.9"
        )
        yield refusal(path, message, _DEPRECATED) if revision.deprecates_pack_domain else Problem(path, message)
    else:
        message = (
            f"becomes `pack` with {dynamo}, but {grove} drops this unknown field, and the pods can start on any node. "
            f"Set the release that your cluster runs: `dynamo.release` from {fitting}, or `revision` from "
            "v0.1.0-alpha.10 on"
        )
        yield Problem(path, message)


def _first_constraint(at: Subject) -> FieldPath | None:
    """Return the path of the first constraint of the graph, in a topologyConstraint or in an override, or None."""
    if at.graph.constraint is not None:
        return ("spec", "topologyConstraint")
    typed = [each.path("topologyConstraint") for each in at.graph.components if each.constraint is not None]
    overrides = at.graph.overrides if at.release.provider_override is not Known.NO else ()
    native = [each.path for each in overrides if "topologyConstraint" in _keys(each.value)]
    return next(iter([*typed, *native]), None)


def _keys(value: Value) -> set[str]:
    """Return the keys of an override's value, and of the mappings `spec` and `template` within it."""
    keys: set[str] = set()
    part = mapping(value)
    while part:
        keys |= part.keys()
        part = mapping(part.get("spec")) or mapping(part.get("template"))
    return keys


def _coherent_updates(at: Subject) -> Iterator[Problem]:
    if at.graph.annotations.get(STRATEGY) == "Coherent" and not at.revision.rolling_updates:
        message = f'Grove "{at.revision.name}" does not know "Coherent"; use another strategy, or v0.1.0-alpha.14'
        yield Problem(("metadata", "annotations", STRATEGY), message)


def _incompatible_releases(at: Subject) -> Iterator[Problem]:
    """Yield a problem if Dynamo's compatibility table does not have this combination of releases.

    If a combination makes an operator refuse the graph, other rules report an error.
    """
    release, revision = at.release, at.revision
    if at.settings.release is None:
        return
    tag = revision.name if revision.name in REVISIONS and at.revision_is_named else None
    if tag is not None:
        floor, end = REVISIONS.get(release.grove), release.grove_before
        if floor is not None and tag.startswith("v") and precedes(revision, floor):
            message = f'Dynamo {release.name} expects Grove "{release.grove}" or newer, but the input names "{tag}"'
            yield Problem(("spec",), message)
        elif end is not None and tag.startswith("v") and not precedes(revision, REVISIONS[end]):
            message = f'Dynamo {release.name} expects Grove before "{end}", but the input names "{tag}"'
            yield Problem(("spec",), message)
    if at.kai_version is not None and release.kai and _numbers(at.kai_version) < _numbers(release.kai)[:2]:
        message = f'Dynamo {release.name} expects KAI "{release.kai}" or newer, but the input names "{at.kai_version}"'
        yield Problem(("spec",), message)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.removeprefix("v").split(".") if part.isdecimal())


PAIRING = (
    GraphCheck(Rule("dynamo-grove-constraint", "Grove does not accept the constraint that Dynamo writes.",
               "spec/dynamo.md#4.8"), _constraint),
    GraphCheck(Rule("dynamo-grove-coherent", "Grove does not know the update strategy that Dynamo writes.",
               "spec/dynamo.md#1.1"), _coherent_updates),
    GraphCheck(Rule("dynamo-floors", "The releases of Dynamo, Grove and KAI were not tested together.",
               "spec/dynamo.md#1.1", Severity.WARNING), _incompatible_releases),
)  # fmt: skip
"""Checks of the combination of releases."""
