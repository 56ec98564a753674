"""Rules of providerOverrides. Source: spec/dynamo.md#2.7."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Rule
from packwise.frontends.dynamo.rules.check import Check, field_error
from packwise.frontends.dynamo.values import mapping
from packwise.kubernetes.validation import ErrorType
from packwise.revisions.dynamo import Known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings.finding import Problem
    from packwise.frontends.dynamo.graph import Override
    from packwise.frontends.dynamo.rules.check import Subject

__all__ = ["OVERRIDE"]

_API = "grove.io/v1alpha1"
_LARGEST = 2**31 - 1


class _Scope(NamedTuple):
    """What an override may be of: the target it has, and the path of its parts in the value."""

    target: str
    constraint: tuple[str, ...]
    least: tuple[str, ...] | None


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
        yield from _override(override, _scope(at, override))
        if at.graph.is_constrained and _part(override.value, _scope(at, override).constraint) is not None:
            detail = (
                "cannot be combined with spec.topologyConstraint or components[].topologyConstraint; use either the "
                "typed topology API or provider-native Grove topology overrides"
            )
            message = "must not have a topologyConstraint beside those of the graph; keep the one or the other"
            path = (*override.path, "value", *_scope(at, override).constraint)
            yield field_error(path, ErrorType.FORBIDDEN, None, detail, message)
    for component in at.graph.components:
        if component.value.get("roles") and not component.is_multinode:
            for override in at.graph.overrides:
                if override.path[:4] == component.path("roles"):
                    detail = 'scope "roles.leader" requires a multinode component'
                    message = "must be left out: the component has one node"
                    yield field_error(override.path, ErrorType.FORBIDDEN, None, detail, message)


def _override(override: Override, scope: _Scope) -> Iterator[Problem]:
    path, value = override.path, override.value
    if override.api_version != _API:
        detail = f'unsupported Grove apiVersion "{override.api_version}"; supported value is "{_API}"'
        message = f'must be "{_API}"; got "{override.api_version}"'
        yield field_error((*path, "apiVersion"), ErrorType.INVALID, override.api_version, detail, message)
    if override.target is not None and override.target != scope.target:
        detail = f'unsupported Grove target "{override.target}"; resolved target is "{scope.target}"'
        message = f'must be "{scope.target}", or left out; got "{override.target}"'
        yield field_error((*path, "target"), ErrorType.INVALID, override.target, detail, message)
    if not isinstance(value, dict):
        yield field_error((*path, "value"), ErrorType.INVALID, None, "must be a JSON object", "must be a mapping")
        return
    allowed = [scope.constraint, *([scope.least, ("rollingUpdate", "maxUnavailable")] if scope.least else [])]
    leaves = list(_leaves(mapping(value), allowed))
    for leaf in leaves:
        if leaf not in allowed:
            detail = "is Dynamo-owned or not enabled for provider override"
            if leaf[-1] == "minAvailable" and "roles" in path:
                detail = (
                    "minAvailable is supported only at component scope; member cliques use the owning scaling group's "
                    "minimum"
                )
            message = "must be left out: an override may not say it here"
            yield field_error((*path, "value", *leaf), ErrorType.FORBIDDEN, None, detail, message)
    if not leaves:
        detail = "topologyConstraint, minAvailable or rollingUpdate is required"
        message = "must override something: a topologyConstraint, minAvailable or rollingUpdate"
        yield field_error((*path, "value"), ErrorType.REQUIRED, None, detail, message)
    least = None if scope.least is None else _part(value, scope.least)
    if least is not None and not (type(least) is int and 1 <= least <= _LARGEST):
        message = f"must be a whole number from 1 to {_LARGEST}; got {least}"
        at = (*path, "value", *(scope.least or ()))
        yield field_error(at, ErrorType.INVALID, least, "must be a positive 32-bit integer", message)


def _leaves(value: Mapping[str, Value], allowed: list[tuple[str, ...]], path: FieldPath = ()) -> Iterator[FieldPath]:
    """The paths that an override sets: those that are allowed as they are, and others down to their ends."""
    for key, part in value.items():
        here = (*path, key)
        if here not in allowed and isinstance(part, dict) and part:
            yield from _leaves(part, allowed, here)
        else:
            yield here


def _part(value: Value, path: tuple[str, ...]) -> Value:
    for step in path:
        value = mapping(value).get(step)
    return value


OVERRIDE = (
    Check(Rule("dynamo-override", "An override says what its scope may say, and nothing twice.", "spec/dynamo.md#2.7"),
          _overrides),
)  # fmt: skip
"""Rules of overrides."""
