"""A scenario: nodes, topologies, queues and jobs in one JSON document, and the answer for each job.

Source: placement.md "Data".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krmfn.record import NamedTuple
from packwise.schedulers.kai.allocate.given import (
    CPU,
    GPU,
    MEMORY,
    PODS,
    Constraint,
    Given,
    Job,
    KaiTopology,
    Node,
    Pod,
    QueueShare,
    SubGroup,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packwise.schedulers.kai.allocate.fit_errors import FitError
    from packwise.schedulers.kai.allocate.session import SessionAnswer

__all__ = ["ScenarioError", "answers", "is_scenario", "read_scenario"]

_GIB = 1 << 30
_PODS = 110
_NAMES = {"gpu": GPU, "cpu": CPU, "memoryGi": MEMORY}
_UNITS = {"gpu": 1, "cpu": 1000, "memoryGi": _GIB}


class ScenarioError(Exception):
    """A field of a scenario that cannot be read; the text says which and what it must be."""


def is_scenario(value: object) -> bool:
    """Whether a JSON value is a scenario, and not a Kubernetes object."""
    return isinstance(value, dict) and "nodes" in value and "jobs" in value and "kind" not in value


def read_scenario(value: Mapping[str, Any]) -> Given:
    """The scenario as a session's start. Raises ScenarioError."""
    whole = _Fields(value, "")
    whole.known("topologies", "queues", "nodes", "jobs")
    given = Given(
        tuple([_node(fields) for fields in whole.list("nodes")]),
        tuple([_topology(fields) for fields in whole.list("topologies")]),
        tuple([_queue(fields) for fields in whole.list("queues")]),
        tuple([_job(fields) for fields in whole.list("jobs")]),
    )
    _check_names("nodes", [node.name for node in given.nodes])
    _check_names("jobs", [job.name for job in given.jobs])
    _check_names("jobs[].tasks", [pod.name for job in given.jobs for pod in job.pods])
    return given


def answers(answer: SessionAnswer) -> dict[str, Any]:
    """The answer, as JSON has it; `errors` and `message` only where there are errors."""
    return {"jobs": [_answer(job.name, job.state, job.nodes, job.errors, job.message) for job in answer.jobs]}


def _answer(
    name: str, state: str, nodes: Mapping[str, str], errors: tuple[FitError, ...], message: str
) -> dict[str, Any]:
    answer: dict[str, Any] = {"name": name, "state": state, "placement": dict(nodes)}
    if errors:
        answer["errors"] = [
            {"reason": error.reason, "messages": list(error.messages), "detail": error.detail} for error in sorted(errors, key=lambda error: error.detail)
        ]
        answer["message"] = message
    return answer


class _Fields(NamedTuple):
    """A mapping of the scenario at `path`, with typed access."""

    value: Mapping[str, Any]
    path: str

    def at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def known(self, *keys: str) -> None:
        for key in self.value:
            if key not in keys:
                raise ScenarioError(f'{self.at(key)}: unknown field; known: {", ".join(keys)}')

    def text(self, key: str, default: str | None = None) -> str:
        found = self.value.get(key, default)
        if not isinstance(found, str) or (default is None and not found):
            raise ScenarioError(f"{self.at(key)}: must be a text; got {_shown(found)}")
        return found

    def number(self, key: str, default: float | None = None) -> float | None:
        found = self.value.get(key)
        if found is None:
            return default
        if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < 1 << 53:
            raise ScenarioError(f"{self.at(key)}: must be a number of 0 or more; got {_shown(found)}")
        return found

    def count(self, key: str, default: int | None = None) -> int | None:
        found = self.number(key)
        if found is not None and found != int(found):
            raise ScenarioError(f"{self.at(key)}: must be a whole number; got {_shown(found)}")
        return default if found is None else int(found)

    def mapping(self, key: str) -> _Fields | None:
        found = self.value.get(key)
        if found is None:
            return None
        if not isinstance(found, dict):
            raise ScenarioError(f"{self.at(key)}: must be a mapping; got {_shown(found)}")
        return _Fields(found, self.at(key))

    def texts(self, key: str) -> dict[str, str]:
        fields = self.mapping(key)
        return {} if fields is None else {name: fields.text(name, "") for name in fields.value}

    def list(self, key: str) -> list[_Fields]:
        found = self.value.get(key) or []
        if not isinstance(found, list):
            raise ScenarioError(f"{self.at(key)}: must be a list; got {_shown(found)}")
        for index, entry in enumerate(found):
            if not isinstance(entry, dict):
                raise ScenarioError(f"{self.at(key)}[{index}]: must be a mapping; got {_shown(entry)}")
        return [_Fields(entry, f"{self.at(key)}[{index}]") for index, entry in enumerate(found)]

    def amounts(self) -> dict[str, int]:
        amounts: dict[str, int] = {}
        for key, name in _NAMES.items():
            amount = self.number(key)
            if key == "gpu" and amount is not None and amount != int(amount):
                raise ScenarioError(f"{self.at(key)}: must be a whole number, for fractions are not simulated")
            if amount:
                amounts[name] = round(amount * _UNITS[key])
        return amounts


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else "nothing" if value is None else str(value)[:60]


def _check_names(what: str, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ScenarioError(f'{what}: names must be unique; got "{name}" more than once')
        seen.add(name)


def _node(fields: _Fields) -> Node:
    fields.known("name", "labels", "gpu", "cpu", "memoryGi", "pods", "used", "unschedulable")
    used = fields.mapping("used")
    if used is not None:
        used.known(*_NAMES)
    return Node(
        fields.text("name"),
        fields.texts("labels"),
        {**fields.amounts(), PODS: fields.count("pods", _PODS) or 0},
        {**used.amounts(), PODS: 1} if used is not None else {},
        fields.value.get("unschedulable") is True,
    )


def _topology(fields: _Fields) -> KaiTopology:
    fields.known("name", "levels", "aliases")
    levels = fields.value.get("levels")
    if not isinstance(levels, list) or not levels or not all(isinstance(level, str) for level in levels):
        raise ScenarioError(f"{fields.at('levels')}: must be a list of node label keys; got {_shown(levels)}")
    return KaiTopology(fields.text("name"), tuple(levels), fields.texts("aliases"))


def _queue(fields: _Fields) -> QueueShare:
    fields.known("name", "gpuQuota", "gpuLimit")
    return QueueShare(fields.text("name"), fields.number("gpuQuota"), fields.number("gpuLimit"))


def _constraint(fields: _Fields) -> Constraint | None:
    found = fields.mapping("topologyConstraint")
    if found is None:
        return None
    found.known("topology", "required", "preferred")
    return Constraint(found.text("topology", ""), found.text("required", ""), found.text("preferred", ""))


def _job(fields: _Fields) -> Job:
    fields.known("name", "queue", "priority", "minMember", "minSubGroup", "topologyConstraint", "subGroups", "tasks")
    return Job(
        fields.text("name"),
        fields.text("queue", ""),
        fields.count("priority", 50) or 0,
        tuple([_pod(task) for task in fields.list("tasks")]),
        tuple([_sub_group(group) for group in fields.list("subGroups")]),
        fields.count("minMember", 1) or 0,
        fields.count("minSubGroup"),
        _constraint(fields),
    )


def _sub_group(fields: _Fields) -> SubGroup:
    fields.known("name", "parent", "minMember", "minSubGroup", "topologyConstraint")
    return SubGroup(
        fields.text("name"),
        fields.text("parent", "") or None,
        fields.count("minMember"),
        fields.count("minSubGroup"),
        _constraint(fields),
    )


def _pod(fields: _Fields) -> Pod:
    fields.known("name", "subGroup", "gpu", "cpu", "memoryGi", "node")
    return Pod(
        fields.text("name"), tuple(sorted(fields.amounts().items())), fields.text("subGroup", ""), fields.text("node", "")
    )
