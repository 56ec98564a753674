"""KAI's Topology: the node label keys of a ClusterTopology, in its order. Source: kai.md, operator.md 9."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packwise.kubernetes.field_error import ErrorType, OperatorError
from packwise.schedulers.scheduler import Refusal, Scheduler

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.value import Value
    from packwise.plan import GangTraits
    from packwise.request import Asked
    from packwise.schedulers.fault import Fault, Target
    from packwise.schedulers.kai.versions import Versions
    from packwise.topology import ClusterTopology

__all__ = ["API_VERSION", "KAI", "TOPOLOGY_KIND"]

_GROUP = "kai.scheduler"
API_VERSION = f"{_GROUP}/v1alpha1"
TOPOLOGY_KIND = "Topology"

_MAX_LEVELS = 16
_MAX_LABEL = 316
_HOSTNAME = "kubernetes.io/hostname"
_LOWEST = f"the {_HOSTNAME} label can only be used at the lowest level of topology"
_PATTERN = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
_LABEL = re.compile(_PATTERN.strip("^$"))


class _Kai:
    """KAI from v0.12 on; the rules of a Topology are the same up to v0.17."""

    name = "KAI"
    profile = "kai-scheduler"
    group = _GROUP
    topology_kind = TOPOLOGY_KIND
    topology_immutable = True
    podgroup_group = "scheduling.run.ai"
    podgroup_kind = "PodGroup"
    default_queue = "default-queue"

    def topology_value(self, topology: ClusterTopology) -> dict[str, Value]:
        """`kai.scheduler/v1alpha1 Topology`, cluster-scoped, of the same name."""
        levels: list[Value] = [{"nodeLabel": level.key} for level in topology.levels]
        return {
            "apiVersion": API_VERSION,
            "kind": TOPOLOGY_KIND,
            "metadata": {"name": topology.name},
            "spec": {"levels": levels},
        }

    def read_keys(self, value: Mapping[str, Value]) -> list[str]:
        """`spec.levels[].nodeLabel`."""
        spec = value.get("spec")
        levels = spec.get("levels") if isinstance(spec, dict) else None
        labels = (
            [level.get("nodeLabel") for level in levels if isinstance(level, dict)] if isinstance(levels, list) else []
        )
        return [label for label in labels if isinstance(label, str)]

    def refusals(self, keys: Sequence[str]) -> list[Refusal]:
        """Source: crds/kai-v0.12.0 to v0.17.0, schema and CEL of spec.levels."""
        found: list[Refusal] = []
        if not keys:
            text = _levels(0, "spec.levels in body should have at least 1 items")
            found.append(Refusal(None, "must hold at least one level; got none", text))
        if len(keys) > _MAX_LEVELS:
            text = _levels(len(keys), f"must have at most {_MAX_LEVELS} items", ErrorType.TOO_MANY)
            found.append(Refusal(None, f"must hold at most {_MAX_LEVELS} levels; got {len(keys)}", text))
        for index, key in enumerate(keys):
            if len(key) > _MAX_LABEL or not _LABEL.fullmatch(key):
                message = f'must be a label key with a prefix in lower case, if any; got "{key}"'
                found.append(Refusal(index, message, _label(index, key)))
        for index, key in enumerate(keys):
            if key in keys[:index]:
                message = f'must be unique among the levels; got "{key}" again'
                found.append(Refusal(index, message, _levels("array", "must be unique")))
            if key == _HOSTNAME and index < len(keys) - 1:
                message = f'must be the lowest level where it is "{key}"; "{keys[-1]}" is below it'
                found.append(Refusal(index, message, _levels("array", _LOWEST)))
        return found

    def requested_value(self, asked: Asked) -> Mapping[str, Value]:
        """Topology, Queue, PodGroup, or the pod with KAI's labels."""
        from packwise.schedulers.kai.requested import requested_value

        return requested_value(asked)

    def podgroup_value(self, podgang: Mapping[str, Value], traits: GangTraits, target: Target) -> Mapping[str, Value]:
        """The PodGroup of a PodGang. Raises ValueError where a constraint is of no topology."""
        from packwise.schedulers.kai.podgang import podgroup
        from packwise.schedulers.kai.versions import SUBGROUP_COUNTS

        counts = target.by_operator and _suits(target).first >= SUBGROUP_COUNTS
        queue = traits.queue or self.default_queue
        return podgroup(
            podgang, queue, traits.topology, by_operator=target.by_operator, counts_subgroups=counts
        ).to_value()

    def podgroup_notes(self, target: Target) -> Sequence[str]:
        """That minSubGroup is left out, where the operator writes it and the version does not know it."""
        from packwise.schedulers.kai.versions import SUBGROUP_COUNTS

        first = _suits(target).first
        if not target.by_operator or first >= SUBGROUP_COUNTS:
            return ()
        return [
            f"PodGroups do without minSubGroup, which KAI v0.{first} does not know; all subgroups of a group are "
            "needed all the same"
        ]

    def podgroup_faults(
        self, value: Mapping[str, Value], target: Target, *, update: bool = False, schema: bool = True
    ) -> Sequence[Fault]:
        """By the CRD, the webhook and the scheduler of every version that is rendered for."""
        from packwise.schedulers.kai.podgroup_rules import podgroup_faults

        return podgroup_faults(value, _suits(target), update=update, schema=schema)

    def topology_faults(self, value: Mapping[str, Value], target: Target, *, schema: bool = True) -> Sequence[Fault]:
        """Its API version, and the aliases of its levels."""
        from packwise.schedulers.kai.aliases import alias_faults
        from packwise.schedulers.kai.podgroup_schema import refused

        suits, version = _suits(target), value.get("apiVersion")
        found = list(alias_faults(value, suits, schema=schema))
        if version != API_VERSION:
            found.append(refused(("apiVersion",), f'must be "{API_VERSION}"; got "{version}"', suits))
        return found

    def level_names(self, value: Mapping[str, Value]) -> Sequence[str]:
        """Node labels and aliases."""
        from packwise.schedulers.kai.aliases import level_names

        return level_names(value)


def _suits(target: Target) -> Versions:
    from packwise.schedulers.kai.versions import suited

    return suited(target.version, counts_subgroups=target.by_operator)


def _levels(value: Value, detail: str, kind: ErrorType = ErrorType.INVALID) -> str:
    return OperatorError("spec.levels", kind, value, detail).text()


def _label(index: int, key: str) -> str:
    field = f"spec.levels[{index}].nodeLabel"
    if len(key) > _MAX_LABEL:
        return OperatorError(field, ErrorType.TOO_LONG, key, f"may not be more than {_MAX_LABEL} bytes").text()
    if not key:
        return OperatorError(field, ErrorType.INVALID, key, f"{field} in body should be at least 1 chars long").text()
    return OperatorError(field, ErrorType.INVALID, key, f"{field} in body should match '{_PATTERN}'").text()


KAI: Scheduler = _Kai()
"""The KAI Scheduler."""
