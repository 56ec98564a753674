"""The rules of the API server and the webhook about a graph, its components and its update, and the function that runs
them.

Source: spec/dynamo.md#2.6, #3.11.
"""

from __future__ import annotations

import re

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Problem, Rule, Stage
from packwise.frontends.dynamo.graph import BACKENDS, CPU_TYPES, WORKERS
from packwise.frontends.dynamo.shape import (
    MAX_COMBINED_LENGTH,
    MAX_RANKS,
    STRATEGY,
    clique_names,
    combined_length,
    longest_clique,
)
from packwise.kubernetes import ErrorType, field_error, refusal
from packwise.lenient import mappings_in_place
from packwise.lenient import text as text_of
from packwise.revisions.dynamo import Known, Texts
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from krmfn.value import Value
    from packwise.frontends.dynamo.graph import Component, Graph
    from packwise.revisions.dynamo import DynamoRelease
    from packwise.revisions.grove import Revision
    from packwise.settings.topologyrender import Dynamo
    from packwise.topology.known import ClusterTopology


class Subject(Record):
    """A graph, and the facts that its checks need."""

    graph: Graph
    release: DynamoRelease
    settings: Dynamo
    revision: Revision
    """The revision of Grove."""
    topologies: Mapping[str, ClusterTopology]
    """The topologies of the input, by name."""
    set_name: str
    """The name of the graph's PodCliqueSet."""
    before: Graph | None = None
    """The graph before the change, or None if the graph is new or there is no baseline."""
    is_new: bool = True
    """True if the change creates the graph, and false if the cluster already has it."""
    is_export: bool = False
    """True if the manifest was read from a cluster."""
    revision_is_named: bool = False
    """True if the user's settings name the revision of Grove."""
    kai_version: str | None = None
    queues: tuple[str, ...] = ()
    """The names of the queues in the input."""
    nodes: tuple[Mapping[str, Value], ...] = ()
    """The known Node objects."""

    @property
    def topology(self) -> ClusterTopology | None:
        """Return the topology of the input that the graph names, or None."""
        return self.topologies.get(self.graph.topology_name)


class GraphCheck(Record):
    """A rule, and the function that returns its problems. Their paths are fields of v1beta1."""

    rule: Rule
    problems: Callable[[Subject], Iterable[Problem]]


def run(checks: Iterable[GraphCheck], subject: Subject) -> list[tuple[Rule, Problem]]:
    """Return all problems with their rules, in the order of the checks."""
    return [(check.rule, problem.short_form) for check in checks for problem in check.problems(subject)]


def webhook_field(subject: Subject, component: Component, *steps: str) -> str:
    """Return the path of a component's field as the webhook of the release spells it."""
    texts = subject.release.texts
    if texts is Texts.FIELDS:
        return format_path(component.path(*steps))
    list_name = "services" if texts is Texts.SERVICES else "components"
    return ".".join([f"spec.{list_name}[{component.name}]", *steps])


PROVIDER = "nvidia.com/workload-provider"

MAX_COMPONENTS = 25
"""The largest number of components in a graph."""

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?")
_NAME_LENGTH = 63
_TYPES = (*CPU_TYPES, *WORKERS, "lpx")
_STRATEGIES = ("RollingRecreate", "OnDelete")
_COHERENT = "Coherent"


def _components(at: Subject) -> Iterator[Problem]:
    graph = at.graph
    if not graph.components:
        path = ("spec", "components")
        message = "must have at least one component"
        yield field_error(path, ErrorType.REQUIRED, None, "must have at least one component", message)
    elif len(graph.components) > MAX_COMPONENTS:
        message = f"must have at most {MAX_COMPONENTS} components; got {len(graph.components)}"
        yield Problem(("spec", "components"), message, stage=Stage.SCHEMA)


def _names(at: Subject) -> Iterator[Problem]:
    """Yield problems of component names, and of the names that Grove makes from them.

    Grove's names are in lower case. If a component has several nodes, they have suffixes.
    """
    cliques: dict[str, Component] = {}
    names: dict[str, Component] = {}
    for component in at.graph.components:
        path, name = component.path("name"), component.name
        if len(name) > _NAME_LENGTH or not _NAME.fullmatch(name):
            message = (
                f'must have 1 to {_NAME_LENGTH} letters, digits and dashes, without a dash at either end; got "{name}"'
            )
            yield Problem(path, message, stage=Stage.SCHEMA)
            continue
        first = names.setdefault(component.lower_name, component)
        if first is not component:
            message = f'"{name}" and "{first.name}" become the same name in Grove, which uses lower case'
            text = "component names must be unique case-insensitively"
            yield Problem(path, message) if at.graph.is_alpha else refusal(path, message, text, Stage.SCHEMA)
            continue
        for clique in clique_names(component):
            other = cliques.setdefault(clique, component)
            if other is not component:
                yield Problem(path, f'"{other.name}" becomes the same clique, "{clique}"; rename one of the two')


def _types(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        # v1alpha1 accepts any type.
        if component.type and component.type not in _TYPES and not at.graph.is_alpha:
            message = f'must be one of {list_known(_TYPES)}; got "{component.type}"'
            yield Problem(component.path("type"), message, stage=Stage.SCHEMA)
    if at.graph.backend and at.graph.backend not in BACKENDS:
        message = f'must be one of {list_known(BACKENDS)}; got "{at.graph.backend}"'
        yield Problem(("spec", "backendFramework"), message, stage=Stage.SCHEMA)


def _counts(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        if component.replicas < 0:
            message = f"must be at least 0; got {component.replicas}"
            yield Problem(component.path("replicas"), message, stage=Stage.SCHEMA)
        if component.value.get("multinode") is not None and component.nodes < 2:
            message = f"must be at least 2; got {component.nodes}. For one node, remove `multinode`"
            yield Problem(component.path("multinode", "nodeCount"), message, stage=Stage.SCHEMA)
        if component.inter_pod and component.nodes > MAX_RANKS:
            message = f"must be at most {MAX_RANKS} if pods share GPU memory; got {component.nodes}"
            yield Problem(component.path("multinode", "nodeCount"), message)


def _check_min_available(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        least, path = component.min_available, component.path("minAvailable")
        if least is None or at.release.min_available is Known.NO:
            continue
        if least < 1:
            yield Problem(path, f"must be at least 1; got {least}", stage=Stage.SCHEMA)
        elif component.replicas and least > component.replicas:
            text = "minAvailable must be less than or equal to replicas unless replicas is 0"
            yield refusal(path, f"must be at most {component.replicas}, the replicas; got {least}", text, Stage.SCHEMA)


def _restart(at: Subject) -> Iterator[Problem]:
    if at.is_new and at.graph.restart:
        message = "must not be set in a new graph: it requests a restart of running pods"
        text = "spec.restart must be unset on create; set spec.restart.id after creation to request a restart"
        yield refusal(("spec", "restart"), message, text, Stage.SCHEMA)


def _epp(at: Subject) -> Iterator[Problem]:
    pickers = [component for component in at.graph.components if component.type == "epp"]
    for component in pickers[1:]:
        message = f'the graph already has a component of type epp, "{pickers[0].name}"'
        text = "at most one component may have type epp"
        yield refusal(component.path("type"), message, text, Stage.SCHEMA)
    for component in at.graph.components:
        if component.value.get("eppConfig") is not None and component.type != "epp":
            text = "eppConfig may only be set when type is epp"
            yield refusal(component.path("eppConfig"), "must not be set unless the type is epp", text, Stage.SCHEMA)
    for component in pickers:
        if component.is_multinode:
            yield refusal(
                component.path("multinode"), "must not be set for an EPP", "EPP component cannot be multinode"
            )
        if component.replicas != 1:
            text = "EPP component must have exactly 1 replica"
            yield refusal(component.path("replicas"), f"must be 1 for an EPP; got {component.replicas}", text)


def _length(at: Subject) -> Iterator[Problem]:
    if not at.release.shortens_names:
        return
    for component in at.graph.components:
        length = combined_length(component, at.set_name)
        if length <= MAX_COMBINED_LENGTH:
            continue
        grouped = component.is_multinode or component.inter_pod
        longest = f'PCSG name + longest PodClique name "{longest_clique(component)}"' if grouped else "component name"
        detail = (
            f"combined resource name length {length} exceeds the {MAX_COMBINED_LENGTH}-character pod-name limit "
            f"(PCS name + {longest}); "
            f'shorten DynamoGraphDeployment name "{at.graph.name}" or component name "{component.name}"'
        )
        message = (
            f'"{component.name}" and the PodCliqueSet "{at.set_name}" make names of {length} characters, but '
            f"{MAX_COMBINED_LENGTH} are allowed; shorten the name of the component or of the graph"
        )
        yield field_error(component.path("name"), ErrorType.INVALID, component.name, detail, message)


def _provider(at: Subject) -> Iterator[Problem]:
    # The operator sets this annotation, so a graph that was read from a cluster may have it.
    if PROVIDER in at.graph.annotations and not at.is_export:
        message = "must not be set: only the operator sets this annotation"
        text = "may only be materialized by the Dynamo operator"
        yield refusal(("metadata", "annotations", PROVIDER), message, text)


def _strategy(at: Subject) -> Iterator[Problem]:
    strategy = at.graph.annotations.get(STRATEGY)
    known = (*_STRATEGIES, _COHERENT) if at.release.coherent is not Known.NO else _STRATEGIES
    if strategy is not None and strategy not in known:
        message = f'must be exactly one of {list_known(known)}; got "{strategy}"'
        text = (
            f'unsupported Grove update strategy annotation "{STRATEGY}"="{strategy}": supported values are '
            '"RollingRecreate" and "OnDelete"'
        )
        yield refusal(("metadata", "annotations", STRATEGY), message, text)


def _backend(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        if component.type not in WORKERS or not component.backends:
            continue
        path = component.path("podTemplate", "spec", "containers")
        first = component.backends[0]
        if len(component.backends) > 1:
            # The backend in the graph decides.
            if at.graph.backend:
                continue
            message = f"the command runs several backends: {list_known(component.backends)}"
            shown = " ".join(component.backends)
            yield refusal(path, message, f"multiple backend frameworks detected from command: [{shown}]")
        elif at.graph.backend and first != at.graph.backend:
            message = f'the command runs "{first}", but the graph names "{at.graph.backend}"; fix one of the two'
            text = f'backend framework mismatch: detected "{first}" from command but explicitly configured as '
            yield refusal(path, message, f'{text}"{at.graph.backend}"')


def _memory(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        backend = at.graph.backend_of(component)
        if component.inter_pod and backend not in ("vllm", ""):
            message = f'must not be InterPod with "{backend}": only vLLM shares GPU memory between pods'
            text = f"the inter-pod GMS layout is currently supported only for vLLM (detected backend: {backend})"
            yield refusal(component.path("experimental", "gpuMemoryService", "mode"), message, text)


def _roles(at: Subject) -> Iterator[Problem]:
    for component in at.graph.components:
        roles = mappings_in_place(component.value.get("roles"))
        if at.release.roles is Known.NO or component.value.get("roles") is None:
            continue
        if sorted(text_of(role.get("name")) for role in roles) != ["leader", "worker"]:
            yield Problem(component.path("roles"), "must be exactly one leader and one worker")
            continue
        for index, role in enumerate(roles):
            wanted = 1 if role["name"] == "leader" else component.nodes - 1
            if role.get("replicas") not in (None, wanted):
                message = f"must be {wanted} for the {role['name']} of {component.nodes} nodes; got {role['replicas']}"
                yield Problem(component.path("roles", index, "replicas"), message)


def _off_grove(at: Subject) -> Iterator[Problem]:
    """Yield a problem for each field that needs Grove, if the graph does not use Grove."""
    opted_out = at.graph.annotations.get("nvidia.com/enable-grove", "").lower() == "false"
    if at.settings.grove and not opted_out:
        return
    text = "requires the Grove pathway, but Grove is disabled in the operator configuration"
    if opted_out:
        shown = at.graph.annotations["nvidia.com/enable-grove"]
        text = f'requires the Grove pathway; remove or unset annotation "nvidia.com/enable-grove" (currently "{shown}")'
    if at.graph.priority_class:
        path = ("spec", "priorityClassName")
        yield field_error(path, ErrorType.FORBIDDEN, None, text, "must not be set: the graph does not use Grove")
    for component in at.graph.components:
        if component.inter_pod:
            path = component.path("experimental", "gpuMemoryService")
            yield field_error(path, ErrorType.FORBIDDEN, None, text, "must not be set: the graph does not use Grove")
        if component.min_available is not None and at.release.min_available is not Known.NO:
            detail = "is currently supported only for Grove-backed DynamoGraphDeployment components"
            message = "must not be set: the graph does not use Grove"
            yield field_error(component.path("minAvailable"), ErrorType.FORBIDDEN, None, detail, message)


def _check_derivable(at: Subject) -> Iterator[Problem]:
    """Yield a problem for each part from which packwise cannot derive the pods. Source: spec/dynamo.md#4."""
    for component in at.graph.components:
        message = (
            "packwise cannot derive the pods of this component; remove the graph from the input, or the "
            "component from the graph"
        )
        if component.type == "lpx":
            yield Problem(component.path("type"), message)
            if component.constraint is not None:
                text = f"{webhook_field(at, component)}: LPX does not support Grove topologyConstraint"
                yield refusal(component.path("topologyConstraint"), "must not be set for an LPX component", text)
        if component.value.get("engineGroup") is not None:
            yield Problem(component.path("engineGroup"), message)
    if at.graph.experimental_fields.get("componentGroups"):
        message = "must not be set: no release of Dynamo has this field, and packwise cannot derive the pods"
        yield Problem(("spec", "experimental", "componentGroups"), message)


COMPONENTS = GraphCheck(
    Rule("dynamo-components", "A graph has no components, or more than 25.", "spec/dynamo.md#2.6.6"), _components
)
"""The check that limits the number of components for all other checks."""

ADMISSION = (
    COMPONENTS,
    GraphCheck(Rule("dynamo-component-name",
                    "A component has an invalid name, or two components get the same name in Grove.",
               "spec/dynamo.md#2.2.2"), _names),
    GraphCheck(Rule("dynamo-type", "The type of a component or the backend of a graph is unknown.",
                    "spec/dynamo.md#2.2.2"), _types),
    GraphCheck(
        Rule("dynamo-count", "A number of replicas or nodes is out of range.", "spec/dynamo.md#2.2.2"), _counts,
    ),
    GraphCheck(Rule("dynamo-min-available", "minAvailable of a component is less than 1, or greater than its replicas.",
               "spec/dynamo.md#2.6.4"), _check_min_available),
    GraphCheck(Rule("dynamo-restart", "A new graph requests a restart.", "spec/dynamo.md#2.6.1"), _restart),
    GraphCheck(
        Rule("dynamo-epp", "A graph has two endpoint pickers, or an endpoint picker with several pods.",
             "spec/dynamo.md#2.6.18"), _epp,
    ),
    GraphCheck(Rule("dynamo-name-length", "The names of a graph's pods are too long.",
               "spec/dynamo.md#2.6.14"), _length),
    GraphCheck(
        Rule("dynamo-provider", "A graph sets an annotation that only the operator may set.",
             "spec/dynamo.md#2.4"), _provider,
    ),
    GraphCheck(
        Rule("dynamo-update-strategy", "Grove does not know the update strategy of a graph.",
             "spec/dynamo.md#2.4"), _strategy,
    ),
    GraphCheck(Rule("dynamo-backend",
                    "The command of a component runs another backend than `backendFramework`, or several.",
                    "spec/dynamo.md#2.6.32"), _backend),
    GraphCheck(Rule("dynamo-gpu-memory", "A graph shares GPU memory between pods without vLLM.",
               "spec/dynamo.md#2.6.19"), _memory),
    GraphCheck(Rule("dynamo-roles", "The roles of a component are not one leader and its workers.",
                    "spec/dynamo.md#2.2.2"), _roles),
    GraphCheck(
        Rule("dynamo-needs-grove", "A graph without Grove uses a field that only Grove supports.",
             "spec/dynamo.md#2.6.16"), _off_grove,
    ),
    GraphCheck(Rule("dynamo-underivable", "packwise cannot derive the pods of a component.",
               "spec/dynamo.md#4.2"), _check_derivable),
)  # fmt: skip
"""Checks of a graph and its components."""


def _pairs(at: Subject) -> Iterator[tuple[Component, Component]]:
    """Yield each component that the graph also had before the change: first before, then after the change."""
    before = {component.name: component for component in at.before.components} if at.before is not None else {}
    for component in at.graph.components:
        if component.name in before:
            yield before[component.name], component


def _set(at: Subject) -> Iterator[Problem]:
    if at.before is None:
        return
    old = [component.name for component in at.before.components]
    new = [component.name for component in at.graph.components]
    added, removed = sorted(set(new) - set(old)), sorted(set(old) - set(new))
    text = "component topology is immutable and cannot be modified after creation: components "
    for word, names in (("added", added), ("removed", removed)):
        if names:
            shown = ", ".join(f'"{name}"' for name in names)
            was = "was" if len(names) == 1 else "were"
            message = f"the components are immutable, but {shown} {was} {word}; delete the graph and create it again"
            yield refusal(("spec", "components"), message, f"{text}{word}: [{' '.join(names)}]")


def _nodes(at: Subject) -> Iterator[Problem]:
    for old, new in _pairs(at):
        if old.is_multinode != new.is_multinode:
            field = webhook_field(at, new)
            text = f"{field}: cannot change node topology between single-node and multi-node after creation"
            message = (
                f"must stay {'multinode' if old.is_multinode else 'single-node'}; delete the graph and create it again"
            )
            yield refusal(new.path("multinode"), message, text)
        if old.inter_pod != new.inter_pod:
            text = (
                "the inter-pod GMS layout cannot be toggled after creation; delete and recreate the "
                "DynamoGraphDeployment"
            )
            message = "GPU memory sharing between pods is immutable after creation"
            yield refusal(new.path("experimental", "gpuMemoryService"), message, text)


def _constraints(at: Subject) -> Iterator[Problem]:
    if at.before is None:
        return
    detail = (
        "is immutable and cannot be added, removed, or changed after creation; delete and recreate the "
        "DynamoGraphDeployment to change topology constraints"
    )
    message = "the constraint is immutable after creation; delete the graph and create it again"
    if at.before.constraint != at.graph.constraint:
        yield field_error(("spec", "topologyConstraint"), ErrorType.FORBIDDEN, None, detail, message)
    for old, new in _pairs(at):
        if old.constraint != new.constraint:
            yield field_error(new.path("topologyConstraint"), ErrorType.FORBIDDEN, None, detail, message)


def _immutable_fields(at: Subject) -> Iterator[Problem]:
    for old, new in _pairs(at):
        fixed = at.release.min_available is not Known.NO and old.min_available is not None
        if fixed and old.min_available != new.min_available:
            message = f"must stay {old.min_available}"
            yield refusal(new.path("minAvailable"), message, "minAvailable is immutable after creation", Stage.SCHEMA)
        if old.type and old.type != new.type:
            message = f'must stay "{old.type}"; got "{new.type}"'
            yield refusal(new.path("type"), message, "type is immutable after it is set", Stage.SCHEMA)


def _adapter(at: Subject) -> Iterator[Problem]:
    for old, new in _pairs(at):
        if new.scaling_adapter and old.scaling_adapter and old.replicas != new.replicas:
            message = (
                f"must stay {old.replicas}; got {new.replicas}. The DynamoGraphDeploymentScalingAdapter sets the "
                "replicas; change it instead"
            )
            detail = (
                "cannot be modified directly when scaling adapter is enabled; scale or update the related "
                "DynamoGraphDeploymentScalingAdapter instead"
            )
            yield field_error(new.path("replicas"), ErrorType.FORBIDDEN, None, detail, message)


def _replica_changes(at: Subject) -> Iterator[Problem]:
    for old, new in _pairs(at):
        if old.replicas != new.replicas and not (new.scaling_adapter and old.scaling_adapter):
            kind = "PodCliqueScalingGroup" if new.uses_group else "PodClique"
            message = (
                f"the operator changes {old.replicas} to {new.replicas} only in the {kind}, and keeps the template of "
                "the existing PodCliqueSet"
            )
            yield Problem(new.path("replicas"), message)


UPDATE = (
    GraphCheck(Rule("dynamo-update-components", "An update adds, removes or renames a component.",
                    "spec/dynamo.md#2.6.17"), _set),
    GraphCheck(
        Rule("dynamo-update-nodes", "An update changes a component from one node to several, or back.",
             "spec/dynamo.md#2.6.17"), _nodes,
    ),
    GraphCheck(Rule("dynamo-update-topology", "An update changes a topology constraint of a graph.",
               "spec/dynamo.md#2.6.13"), _constraints),
    GraphCheck(Rule("dynamo-update-fixed", "An update changes minAvailable or the type of a component.",
               "spec/dynamo.md#2.6.4"), _immutable_fields),
    GraphCheck(
        Rule("dynamo-update-replicas", "An update changes replicas that a scaling adapter sets.",
             "spec/dynamo.md#2.6.17"), _adapter,
    ),
    GraphCheck(Rule("dynamo-replicas-live", "The operator does not copy changed replicas to the existing PodCliqueSet.",
               "spec/dynamo.md#3.11.1", Severity.INFO), _replica_changes),
)  # fmt: skip
"""Checks of an update."""
