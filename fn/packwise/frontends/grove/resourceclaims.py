"""Claims on devices that pods share, as Go writes them back: its fields in its order, with their zero values.

Source: Grove's API at HEAD (ResourceClaimTemplateConfig, ResourceSharingSpec), k8s.io/api resource/v1; spec/grove.md#3.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.value import Value

__all__ = ["claim_templates", "resource_sharing"]


class _Part(NamedTuple):
    """A mapping or a list of mappings: its fields in Go's order; `whole`, those that are parts in turn.

    `zeros` are written where they are absent; what else is absent or empty is left out.
    """

    order: tuple[str, ...]
    zeros: Mapping[str, Value] = {}
    whole: Mapping[str, _Part] = {}


_SELECTOR = _Part(("cel",), whole={"cel": _Part(("expression",), {"expression": ""})})
# The API server, not Go, fills in this operator.
_TOLERATION = _Part(("key", "operator", "value", "effect", "tolerationSeconds"), {"operator": "Equal"})
_CAPACITY = _Part(("requests",))
_DEVICE = ("selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")
_DEVICE_PARTS = {"selectors": _SELECTOR, "tolerations": _TOLERATION, "capacity": _CAPACITY}
_EXACTLY = _Part(("deviceClassName", *_DEVICE), {"deviceClassName": ""}, _DEVICE_PARTS)
_SUB_REQUEST = _Part(("name", "deviceClassName", *_DEVICE), {"name": "", "deviceClassName": ""}, _DEVICE_PARTS)
_REQUEST = _Part(
    ("name", "exactly", "firstAvailable"), {"name": ""}, {"exactly": _EXACTLY, "firstAvailable": _SUB_REQUEST}
)
_CONSTRAINT = _Part(("requests", "matchAttribute", "distinctAttribute"))
_OPAQUE = _Part(("driver", "parameters"), {"driver": "", "parameters": None})
_CONFIG = _Part(("requests", "opaque"), whole={"opaque": _OPAQUE})
_DEVICES = _Part(
    ("requests", "constraints", "config"),
    whole={"requests": _REQUEST, "constraints": _CONSTRAINT, "config": _CONFIG},
)
_SPEC = _Part(("devices",), {"devices": {}}, {"devices": _DEVICES})
_NO_SPEC: Mapping[str, Value] = {"metadata": {}, "spec": {"devices": {}}}
_TEMPLATE_SPEC = _Part(("metadata", "spec"), _NO_SPEC, {"metadata": _Part(()), "spec": _SPEC})
_TEMPLATE = _Part(
    ("name", "templateSpec"), {"name": "", "templateSpec": dict(_NO_SPEC)}, {"templateSpec": _TEMPLATE_SPEC}
)
_FILTER = _Part(("childCliqueNames", "childScalingGroupNames"))
_SHARING = _Part(("name", "namespace", "scope", "filter"), {"name": "", "scope": ""}, {"filter": _FILTER})

_POINTERS = frozenset({
    "exactly", "opaque", "filter", "cel", "capacity", "adminAccess", "matchAttribute", "distinctAttribute",
    "tolerationSeconds",
})  # fmt: skip
"""Written wherever they are set, even to their zero value."""


def claim_templates(entries: Sequence[Value]) -> list[Value]:
    """The entries of `spec.template.resourceClaimTemplates`, defaulted."""
    return [_written(entry, _TEMPLATE) for entry in entries]


def resource_sharing(entries: Sequence[Value]) -> list[Value]:
    """The entries of a `resourceSharing`, defaulted."""
    return [_written(entry, _SHARING) for entry in entries]


def _written(value: Value, part: _Part) -> Value:
    if isinstance(value, list):
        return [_written(entry, part) for entry in value]
    if not isinstance(value, dict):
        return value
    out: dict[str, Value] = {}
    for name in part.order:
        field = value.get(name)
        inner = part.whole.get(name)
        if field is not None and inner is not None:
            field = _written(field, inner)
        if name == "parameters":
            field = _ordered(field)
        if field is not None and (name in _POINTERS or field not in ("", 0, [], {})):
            out[name] = field
        elif name in part.zeros:
            out[name] = part.zeros[name]
    return out


def _ordered(value: Value) -> Value:
    """What has no fields of Go's own: the API server writes keys in the order of the alphabet."""
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(entry) for entry in value] if isinstance(value, list) else value
