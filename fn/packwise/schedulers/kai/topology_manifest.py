"""KAI's Topology: node label keys, broadest first, and what KAI refuses in them.

Source: spec/kai.md, spec/grove.md#9.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from packwise.findings import Problem
from packwise.kubernetes.field_error import ErrorType, OperatorError
from packwise.objects.kinds import TOPOLOGY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.value import Value

__all__ = ["NAME", "PROFILE", "read_keys", "topology_problems", "topology_value"]

NAME = "KAI"
"""What messages call the scheduler."""

PROFILE = "kai-scheduler"
"""What Grove's scheduler profiles, and pods, call it."""

_LEVELS = ("spec", "levels")
_MAX_LEVELS = 16
_MAX_LABEL = 316
_HOSTNAME = "kubernetes.io/hostname"
_LOWEST = f"the {_HOSTNAME} label can only be used at the lowest level of topology"
_PATTERN = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
_LABEL = re.compile(_PATTERN.strip("^$"))


def topology_value(name: str, keys: Sequence[str], labels: Mapping[str, str] | None = None) -> dict[str, Value]:
    """`kai.scheduler/v1alpha1 Topology`, cluster-scoped, of these node label keys, broadest first."""
    metadata: dict[str, Value] = {"name": name}
    if labels is not None:
        metadata["labels"] = dict(labels)
    levels: list[Value] = [{"nodeLabel": key} for key in keys]
    return {"apiVersion": TOPOLOGY.api_version, "kind": TOPOLOGY.name, "metadata": metadata, "spec": {"levels": levels}}


def read_keys(value: Mapping[str, Value]) -> list[str]:
    """The node label keys of a Topology, broadest first: `spec.levels[].nodeLabel`; what is no text is left out."""
    spec = value.get("spec")
    levels = spec.get("levels") if isinstance(spec, dict) else None
    labels = [level.get("nodeLabel") for level in levels if isinstance(level, dict)] if isinstance(levels, list) else []
    return [label for label in labels if isinstance(label, str)]


def topology_problems(keys: Sequence[str]) -> list[Problem]:
    """What KAI's API server would refuse in a Topology with these node label keys, all versions alike.

    Source: crds/kai-v0.12.0 to v0.17.0, schema and CEL of spec.levels.
    """
    problems: list[Problem] = []
    if not keys:
        text = _levels(0, "spec.levels in body should have at least 1 items")
        problems.append(Problem(_LEVELS, "must hold at least one level; got none", text))
    if len(keys) > _MAX_LEVELS:
        text = _levels(len(keys), f"must have at most {_MAX_LEVELS} items", ErrorType.TOO_MANY)
        problems.append(Problem(_LEVELS, f"must hold at most {_MAX_LEVELS} levels; got {len(keys)}", text))
    for position, key in enumerate(keys):
        if len(key) > _MAX_LABEL or not _LABEL.fullmatch(key):
            message = f'must be a label key with a prefix in lower case, if any; got "{key}"'
            problems.append(Problem((*_LEVELS, position), message, _label(position, key)))
    for position, key in enumerate(keys):
        if key in keys[:position]:
            message = f'must be unique among the levels; got "{key}" again'
            problems.append(Problem((*_LEVELS, position), message, _levels("array", "must be unique")))
        if key == _HOSTNAME and position < len(keys) - 1:
            message = f'must be the lowest level where it is "{key}"; "{keys[-1]}" is below it'
            problems.append(Problem((*_LEVELS, position), message, _levels("array", _LOWEST)))
    return problems


def _levels(value: Value, detail: str, kind: ErrorType = ErrorType.INVALID) -> str:
    return OperatorError("spec.levels", kind, value, detail).text()


def _label(index: int, key: str) -> str:
    field = f"spec.levels[{index}].nodeLabel"
    if len(key) > _MAX_LABEL:
        return OperatorError(field, ErrorType.TOO_LONG, key, f"may not be more than {_MAX_LABEL} bytes").text()
    if not key:
        return OperatorError(field, ErrorType.INVALID, key, f"{field} in body should be at least 1 chars long").text()
    return OperatorError(field, ErrorType.INVALID, key, f"{field} in body should match '{_PATTERN}'").text()
