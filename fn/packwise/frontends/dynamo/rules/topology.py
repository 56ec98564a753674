"""The rules about topology constraints and providerOverrides, with the texts of each release.

Source: spec/dynamo.md#2.6, #2.7, #4.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Problem, Rule, Stage
from packwise.frontends.dynamo.rules.admission import GraphCheck, webhook_field
from packwise.kubernetes import ErrorType, field_error, refusal
from packwise.lenient import mapping, value_at
from packwise.revisions.dynamo import Known, Texts
from packwise.wording import known_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.frontends.dynamo.graph import Component, Override
    from packwise.frontends.dynamo.rules.admission import Subject

_DOMAIN = r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
_DOMAIN_RE = re.compile(_DOMAIN)
_SPEC: FieldPath = ("spec", "topologyConstraint")


def _missing_constraint(at: Subject) -> Iterator[Problem]:
    """Yield a problem if there are constraints, but the constraint of the graph is missing or names no topology."""
    graph, texts = at.graph, at.release.texts
    if not graph.is_constrained:
        return
    constrained = [component for component in graph.components if component.constraint is not None]
    field = "topologyProfile" if texts is Texts.SERVICES else "clusterTopologyName"
    level = "service" if texts is Texts.SERVICES else "component"
    if graph.constraint is None:
        message = f"a {level} has a constraint, but the topologyConstraint of the graph names no topology"
        path = constrained[0].path("topologyConstraint")
        if texts is Texts.FIELDS:
            problem = field_error(
                _SPEC, ErrorType.REQUIRED, None, "is required when any component topology constraint is set", message
            )
            yield problem.replace(path=path)
        else:
            yield refusal(
                path,
                message,
                f"spec.topologyConstraint with {field} is required when any topology constraint is set "
                f"(at spec or {level} level)",
            )
    elif not graph.constraint.topology_name:
        path, message = (*_SPEC, "clusterTopologyName"), "must name the topology of the domains"
        text = f"spec.topologyConstraint.{field} is required when any topology constraint is set"
        newer = texts is Texts.FIELDS
        yield Problem(path, message, stage=Stage.SCHEMA) if newer else refusal(path, message, text)


def _check_some_domain(at: Subject) -> Iterator[Problem]:
    """Yield problems if the graph has a constraint without a domain, and components lack constraints.

    Some releases then require a constraint in at least one component, and others in every component.
    """
    graph, release = at.graph, at.release
    if graph.constraint is None or graph.pack_domain:
        return
    without = [component for component in graph.components if component.constraint is None]
    if release.component_topology_alone is Known.YES:
        if len(without) == len(graph.components):
            detail = "is required when no component topologyConstraint is set"
            message = "the graph or a component must have a domain"
            yield field_error((*_SPEC, "packDomain"), ErrorType.REQUIRED, None, detail, message)
        return
    if release.component_topology_alone is Known.UNSURE:
        return
    for component in without:
        here = webhook_field(at, component, "topologyConstraint")
        named = "service" if release.texts is Texts.SERVICES else "component"
        yield refusal(
            component.path(),
            f"must have a topologyConstraint: the graph has no packDomain, and Dynamo {release.name} then requires a "
            f"constraint for every {named}. Add it, or set `packDomain` in the graph",
            f"{here} is required because spec.topologyConstraint.packDomain is not set; either set a spec-level "
            f"packDomain or provide a topologyConstraint for every {named}",
        )


def _alone_unsure(at: Subject) -> Iterator[Problem]:
    graph = at.graph
    if graph.constraint is None or graph.pack_domain or at.release.component_topology_alone is not Known.UNSURE:
        return
    for component in graph.components:
        if component.constraint is None:
            message = (
                "the component has no topologyConstraint, and the graph has no packDomain. Only some patch releases of "
                f"Dynamo {at.release.name} accept this. packwise renders it as later releases do"
            )
            yield Problem(component.path(), message)


def _pattern(at: Subject) -> Iterator[Problem]:
    for path, domain, component in _domains(at):
        if domain and not _DOMAIN_RE.fullmatch(domain):
            message = f'must be a lower-case name of letters, digits and dashes; got "{domain}"'
            text = (
                f'{_holder(at, component)}.packDomain "{domain}" is not a valid topology domain; must match {_DOMAIN}'
            )
            yield refusal(path, message, text) if at.release.texts is not Texts.FIELDS else Problem(path, message)
        elif not domain and component is not None:
            text = f"{_holder(at, component)}.packDomain is required"
            yield refusal(path, "must name the domain of each replica", text)


def _unknown_topology(at: Subject) -> Iterator[Problem]:
    """Yield a problem if the input has topologies, but not the topology of the graph.

    As in the webhook, only new graphs are checked.
    """
    name = at.graph.topology_name
    if not name or name in at.topologies or not at.topologies or not at.is_new:
        return
    path = (*_SPEC, "clusterTopologyName")
    message = f'must be a topology of the input; got "{name}"{known_names(name, sorted(at.topologies))}'
    if at.release.texts is Texts.FIELDS:
        detail = "references a ClusterTopologyBinding resource that was not found"
        yield field_error(path, ErrorType.INVALID, name, detail, message)
    else:
        yield refusal(
            path,
            message,
            f'topology-aware scheduling requires a ClusterTopology resource "{name}" but it was not found; ensure the '
            "cluster topology is configured per the framework documentation",
        )


def _domain_known(at: Subject) -> Iterator[Problem]:
    topology = at.topology
    if topology is None:
        return
    available = sorted(topology.domains)
    shown = f"[{' '.join(available)}]"
    for path, domain, component in _domains(at):
        if domain and topology.level_of(domain) is None:
            message = (
                f'must be a domain of "{topology.name}"; got "{domain}"{known_names(domain, list(topology.domains))}'
            )
            if at.release.texts is Texts.FIELDS:
                detail = f'does not exist in ClusterTopologyBinding "{topology.name}"; available domains: {shown}'
                yield field_error(path, ErrorType.INVALID, domain, detail, message)
            else:
                text = f'{_holder(at, component)}: domain "{domain}" does not exist in ClusterTopology '
                yield refusal(path, message, f'{text}"{topology.name}"; available domains: {shown}')


def _check_narrower(at: Subject) -> Iterator[Problem]:
    graph, topology = at.graph, at.topology
    if topology is None or topology.level_of(graph.pack_domain) is None:
        return
    whole = topology.domains.index(graph.pack_domain)
    for component in graph.components:
        domain = component.pack_domain
        if topology.level_of(domain) is None or topology.domains.index(domain) >= whole:
            continue
        path = component.path("topologyConstraint", "packDomain")
        message = f'must not be broader than "{graph.pack_domain}", the domain of the whole graph; got "{domain}"'
        if at.release.texts is Texts.FIELDS:
            detail = f'must be equal to or narrower than the deployment-level domain "{graph.pack_domain}"'
            yield field_error(path, ErrorType.INVALID, domain, detail, message)
        else:
            yield refusal(
                path,
                message,
                f'{webhook_field(at, component)}: topologyConstraint.packDomain "{domain}" is broader than spec-level '
                f'"{graph.pack_domain}"; component constraints must be equal to or narrower than the deployment-level '
                "constraint",
            )


def _transfer(at: Subject) -> Iterator[Problem]:
    """Yield problems of the policy for KV transfers: its topology or label, its weight and its domain."""
    policy = mapping(at.graph.experimental_fields.get("kvTransferPolicy"))
    if not policy:
        return
    path: FieldPath = ("spec", "experimental", "kvTransferPolicy")
    name, weight = policy.get("clusterTopologyName"), policy.get("preferredWeight")
    if (policy.get("labelKey") is None) == (name is None):
        text = "exactly one of labelKey or clusterTopologyName is required"
        yield refusal(path, "must have either labelKey or clusterTopologyName", text, Stage.SCHEMA)
    if policy.get("enforcement") == "preferred" and weight is None:
        text = "preferredWeight is required when enforcement is preferred"
        yield refusal(path, "must have preferredWeight if enforcement is preferred", text, Stage.SCHEMA)
    if policy.get("enforcement") != "preferred" and weight is not None:
        text = "preferredWeight may only be set when enforcement is preferred"
        yield refusal((*path, "preferredWeight"), "must not be set unless enforcement is preferred", text, Stage.SCHEMA)
    if isinstance(name, str) and at.topologies and name not in at.topologies:
        text = (
            f'spec.experimental.kvTransferPolicy.clusterTopologyName "{name}" references a ClusterTopologyBinding '
            "resource that was not found"
        )
        message = f'must be a topology of the input; got "{name}"{known_names(name, sorted(at.topologies))}'
        yield refusal((*path, "clusterTopologyName"), message, text)
    topology, domain = at.topologies.get(name) if isinstance(name, str) else None, policy.get("domain")
    if topology is not None and isinstance(domain, str) and topology.level_of(domain) is None:
        text = (
            f'spec.experimental.kvTransferPolicy.domain "{domain}" does not exist in ClusterTopologyBinding "{name}"; '
            f"available domains: [{' '.join(sorted(topology.domains))}]"
        )
        message = f'must be a domain of "{name}"; got "{domain}"{known_names(domain, list(topology.domains))}'
        yield refusal((*path, "domain"), message, text)


def _domains(at: Subject) -> Iterator[tuple[FieldPath, str, Component | None]]:
    """Yield the path and the value of every packDomain, with its component.

    The packDomain of the graph is first, with None as its component.
    """
    if at.graph.constraint is not None:
        yield (*_SPEC, "packDomain"), at.graph.pack_domain, None
    for component in at.graph.components:
        if component.constraint is not None:
            yield component.path("topologyConstraint", "packDomain"), component.constraint.pack_domain, component


def _holder(at: Subject, component: Component | None) -> str:
    """Return the path of a constraint as the webhook spells it. None as component means the whole graph."""
    return "spec.topologyConstraint" if component is None else webhook_field(at, component, "topologyConstraint")


TOPOLOGY = (
    GraphCheck(Rule("dynamo-topology-name", "A graph requests a domain without naming a topology.",
               "spec/dynamo.md#2.6.7"), _missing_constraint),
    GraphCheck(Rule("dynamo-topology-everywhere", "A graph names a topology, but a domain is missing.",
               "spec/dynamo.md#2.6.8"), _check_some_domain),
    GraphCheck(Rule("dynamo-topology-unsure", "A component has no constraint, and the release may require one.",
               "spec/dynamo.md#1.2", Severity.WARNING), _alone_unsure),
    GraphCheck(Rule("dynamo-domain-name", "The domain of a constraint is missing or contains invalid characters.",
                    "spec/dynamo.md#2.6.27"), _pattern),
    GraphCheck(Rule("dynamo-topology-found", "The topology of a graph does not exist.",
               "spec/dynamo.md#2.6.10"), _unknown_topology),
    GraphCheck(
        Rule("dynamo-domain-known", "The domain of a constraint is not a level of the topology.",
             "spec/dynamo.md#2.6.11"), _domain_known,
    ),
    GraphCheck(Rule("dynamo-domain-broader", "The domain of a component is broader than the domain of its graph.",
               "spec/dynamo.md#2.6.12"), _check_narrower),
    GraphCheck(
        Rule("dynamo-kv-transfer", "A policy of KV transfers contradicts itself.", "spec/dynamo.md#2.6.5"), _transfer,
    ),
)  # fmt: skip
"""Checks of topology constraints, in the order of the webhook."""


_API = "grove.io/v1alpha1"
_MAX_INT32 = 2**31 - 1


class _Scope(Record):
    """The scope of an override: its target, and the paths of its constraint and its minAvailable in the value.

    The path of minAvailable is None if the override cannot set it.
    """

    target: str
    constraint: tuple[str, ...]
    min_available: tuple[str, ...] | None


def _scope(at: Subject, override: Override) -> _Scope:
    if override.path[1] == "providerOverride":
        return _Scope("PodCliqueSet", ("spec", "template", "topologyConstraint"), None)
    component = next(each for each in at.graph.components if each.place == override.path[2])
    if "roles" in override.path:
        return _Scope("PodCliqueTemplateSpec", ("topologyConstraint",), None)
    if component.uses_group:
        return _Scope("PodCliqueScalingGroupConfig", ("topologyConstraint",), ("minAvailable",))
    return _Scope("PodCliqueTemplateSpec", ("topologyConstraint",), ("spec", "minAvailable"))


def _overrides(at: Subject) -> Iterator[Problem]:
    if at.release.provider_override is Known.NO:
        return
    for override in at.graph.overrides:
        scope = _scope(at, override)
        yield from _override(override, scope)
        if at.graph.is_constrained and value_at(override.value, *scope.constraint) is not None:
            detail = (
                "cannot be combined with spec.topologyConstraint or components[].topologyConstraint; use either the "
                "typed topology API or provider-native Grove topology overrides"
            )
            message = "conflicts with the topologyConstraints of the graph; keep only one of them"
            path = (*override.path, "value", *scope.constraint)
            yield field_error(path, ErrorType.FORBIDDEN, None, detail, message)
    for component in at.graph.components:
        if component.value.get("roles") and not component.is_multinode:
            for override in at.graph.overrides:
                if override.path[:4] == component.path("roles"):
                    detail = 'scope "roles.leader" requires a multinode component'
                    message = "must not be set: the component has one node"
                    yield field_error(override.path, ErrorType.FORBIDDEN, None, detail, message)


def _override(override: Override, scope: _Scope) -> Iterator[Problem]:
    path, value = override.path, override.value
    if override.api_version != _API:
        detail = f'unsupported Grove apiVersion "{override.api_version}"; supported value is "{_API}"'
        message = f'must be "{_API}"; got "{override.api_version}"'
        yield field_error((*path, "apiVersion"), ErrorType.INVALID, override.api_version, detail, message)
    if override.target is not None and override.target != scope.target:
        detail = f'unsupported Grove target "{override.target}"; resolved target is "{scope.target}"'
        message = f'must be "{scope.target}" or unset; got "{override.target}"'
        yield field_error((*path, "target"), ErrorType.INVALID, override.target, detail, message)
    if not isinstance(value, dict):
        yield field_error((*path, "value"), ErrorType.INVALID, None, "must be a JSON object", "must be a mapping")
        return
    allowed = [
        scope.constraint,
        *([scope.min_available, ("rollingUpdate", "maxUnavailable")] if scope.min_available else []),
    ]
    leaves = list(_leaves(mapping(value), allowed))
    for leaf in leaves:
        if leaf not in allowed:
            detail = "is Dynamo-owned or not enabled for provider override"
            if leaf[-1] == "minAvailable" and "roles" in path:
                detail = (
                    "minAvailable is supported only at component scope; member cliques use the owning scaling group's "
                    "minimum"
                )
            message = "must not be set: an override cannot change this field here"
            yield field_error((*path, "value", *leaf), ErrorType.FORBIDDEN, None, detail, message)
    if not leaves:
        detail = "topologyConstraint, minAvailable or rollingUpdate is required"
        message = "must override a topologyConstraint, minAvailable or rollingUpdate"
        yield field_error((*path, "value"), ErrorType.REQUIRED, None, detail, message)
    least = None if scope.min_available is None else value_at(value, *scope.min_available)
    if least is not None and not (type(least) is int and 1 <= least <= _MAX_INT32):
        message = f"must be a whole number from 1 to {_MAX_INT32}; got {least}"
        at = (*path, "value", *(scope.min_available or ()))
        yield field_error(at, ErrorType.INVALID, least, "must be a positive 32-bit integer", message)


def _leaves(value: Mapping[str, Value], allowed: list[tuple[str, ...]], path: FieldPath = ()) -> Iterator[FieldPath]:
    """Yield the paths that an override sets.

    A path in `allowed` is yielded as a whole. For other mappings, the path of each value within them is yielded.
    """
    for key, part in value.items():
        here = (*path, key)
        if here not in allowed and isinstance(part, dict) and part:
            yield from _leaves(part, allowed, here)
        else:
            yield here


OVERRIDE = (
    GraphCheck(Rule("dynamo-override", "A provider override sets a field that it must not set.",
               "spec/dynamo.md#2.7"), _overrides),
)  # fmt: skip
"""Checks of overrides."""
