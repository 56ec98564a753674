"""A scenario: nodes, topologies, queues and jobs in one JSON document, and the answer for each job.

Source: spec/placement.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from krmfn.hints import TYPE_CHECKING
from packwise.schedulers.kai.allocate.scene import (
    CPU,
    GPU,
    MEMORY,
    PODS,
    Job,
    KaiTopology,
    LevelConstraint,
    Node,
    Pod,
    QueueShare,
    Scene,
    Share,
    SubGroupInfo,
)
from packwise.schedulers.kai.allocate.state import mig_strategy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from packwise.schedulers.kai.allocate import SessionAnswer
    from packwise.schedulers.kai.allocate.fit_errors import FitError

_GIB = 1 << 30
_PODS = 110
_NAMES = {"gpu": GPU, "cpu": CPU, "memoryGi": MEMORY}
_UNITS = {"gpu": 1, "cpu": 1000, "memoryGi": _GIB}


class ScenarioError(Exception):
    """A field of a scenario that cannot be read; the text says which and what it must be."""


def is_scenario(value: object) -> bool:
    """Whether a JSON value is a scenario, and not a Kubernetes object."""
    return isinstance(value, dict) and "nodes" in value and "jobs" in value and "kind" not in value


def read_scenario(value: Mapping[str, Any]) -> Scene:
    """The scenario as a session's start. Raises ScenarioError."""
    fields = _Fields(value, "")
    fields.known("topologies", "queues", "nodes", "jobs")
    scene = Scene(
        tuple(_node(entry) for entry in fields.entries("nodes")),
        tuple(_topology(entry) for entry in fields.entries("topologies")),
        tuple(_queue(entry) for entry in fields.entries("queues")),
        tuple(_job(entry) for entry in fields.entries("jobs")),
    )
    _check_names("nodes", [node.name for node in scene.nodes])
    _check_names("topologies", [topology.name for topology in scene.topologies])
    _check_names("jobs", [job.name for job in scene.jobs])
    _check_names("jobs[].tasks", [pod.name for job in scene.jobs for pod in job.pods])
    return scene


def answers(answer: SessionAnswer) -> dict[str, Any]:
    """The answer, as JSON has it; `errors` and `message` only where there are errors."""
    return {"jobs": [_answer(job.name, job.state, job.nodes, job.errors, job.message) for job in answer.jobs]}


def _answer(
    name: str, state: str, nodes: Mapping[str, str], errors: tuple[FitError, ...], message: str
) -> dict[str, Any]:
    answer: dict[str, Any] = {"name": name, "state": state, "placement": dict(nodes)}
    if errors:
        answer["errors"] = [
            {"reason": error.reason, "messages": list(error.messages), "detail": error.detail}
            for error in sorted(errors, key=lambda error: error.detail)
        ]
        answer["message"] = message
    return answer


@dataclass(frozen=True, slots=True)
class _Fields:
    """A mapping of the scenario at `path`, with typed access."""

    value: Mapping[str, Any]
    path: str

    def at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def known(self, *keys: str) -> None:
        for key in self.value:
            if key not in keys:
                raise ScenarioError(f"{self.at(key)}: unknown field; known: {', '.join(keys)}")

    def text(self, key: str, default: str | None = None) -> str:
        written = self.value.get(key, default)
        if not isinstance(written, str) or (default is None and not written):
            raise ScenarioError(f"{self.at(key)}: must be a text; got {_shown(written)}")
        return written

    def number(self, key: str, default: float | None = None) -> float | None:
        written = self.value.get(key)
        if written is None:
            return default
        if isinstance(written, bool) or not isinstance(written, int | float) or not 0 <= written < 1 << 53:
            raise ScenarioError(f"{self.at(key)}: must be a number of 0 or more; got {_shown(written)}")
        return written

    def whole(self, key: str, default: int | None = None) -> int | None:
        written = self.number(key)
        if written is not None and written != int(written):
            raise ScenarioError(f"{self.at(key)}: must be a whole number; got {_shown(written)}")
        return default if written is None else int(written)

    def mapping(self, key: str) -> _Fields | None:
        written: dict[str, Any] | None = self.value.get(key)
        if written is None:
            return None
        if not isinstance(written, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ScenarioError(f"{self.at(key)}: must be a mapping; got {_shown(written)}")
        return _Fields(written, self.at(key))

    def texts(self, key: str) -> dict[str, str]:
        fields = self.mapping(key)
        return {} if fields is None else {name: fields.text(name, "") for name in fields.value}

    def entries(self, key: str) -> list[_Fields]:
        written: list[Any] | None = self.value.get(key)
        if written is None:
            return []
        if not isinstance(written, list):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ScenarioError(f"{self.at(key)}: must be a list; got {_shown(written)}")
        for index, entry in enumerate(written):
            if not isinstance(entry, dict):
                raise ScenarioError(f"{self.at(key)}[{index}]: must be a mapping; got {_shown(entry)}")
        return [_Fields(entry, f"{self.at(key)}[{index}]") for index, entry in enumerate(written)]

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
    labels = fields.texts("labels")
    allocatable = {**fields.amounts(), PODS: fields.whole("pods", _PODS) or 0}
    return Node(
        fields.text("name"),
        labels,
        allocatable,
        {**used.amounts(), PODS: 1} if used is not None else {},
        fields.value.get("unschedulable") is True,
        mig=mig_strategy(labels, allocatable),
    )


def _topology(fields: _Fields) -> KaiTopology:
    fields.known("name", "levels", "aliases")
    levels: list[Any] | None = fields.value.get("levels")
    if not isinstance(levels, list) or not levels or not all(isinstance(level, str) for level in levels):
        raise ScenarioError(f"{fields.at('levels')}: must be a list of node label keys; got {_shown(levels)}")
    return KaiTopology(fields.text("name"), tuple(levels), fields.texts("aliases"))


def _queue(fields: _Fields) -> QueueShare:
    fields.known("name", "gpuQuota", "gpuLimit")
    return QueueShare(fields.text("name"), gpu=Share(fields.number("gpuQuota"), fields.number("gpuLimit")))


def _constraint(fields: _Fields) -> LevelConstraint | None:
    written = fields.mapping("topologyConstraint")
    if written is None:
        return None
    written.known("topology", "required", "preferred")
    return LevelConstraint(written.text("topology", ""), written.text("required", ""), written.text("preferred", ""))


def _job(fields: _Fields) -> Job:
    fields.known("name", "queue", "priority", "minMember", "minSubGroup", "topologyConstraint", "subGroups", "tasks")
    job = Job(
        fields.text("name"),
        fields.text("queue", ""),
        fields.whole("priority", 50) or 0,
        tuple(_pod(task) for task in fields.entries("tasks")),
        tuple(_sub_group(group) for group in fields.entries("subGroups")),
        fields.whole("minMember", 1) or 0,
        fields.whole("minSubGroup"),
        _constraint(fields),
    )
    _check_tree(job, fields)
    return job


def _check_tree(job: Job, fields: _Fields) -> None:
    """The subgroups must be a tree, with pods in its leaves, as KAI's webhook wants them."""
    at = fields.at("subGroups")
    _check_names(at, [group.name for group in job.sub_groups])
    parents = {group.name: group.parent for group in job.sub_groups}
    for name, parent in parents.items():
        if parent is not None and parent not in parents:
            raise ScenarioError(f'{at}: the parent of "{name}" must be a subgroup; got "{parent}"')
        above, steps = parent, 0
        while above is not None and steps <= len(parents):
            above, steps = parents[above], steps + 1
        if above is not None:
            raise ScenarioError(f'{at}: subgroups must be a tree; "{name}" is below itself')
    leaves = parents.keys() - set(parents.values())
    for pod in job.pods:
        if parents and pod.sub_group not in leaves:
            raise ScenarioError(
                f'{fields.at("tasks")}: "{pod.name}" must be in a subgroup of pods; got "{pod.sub_group}"; '
                f"known: {', '.join(sorted(leaves))}"
            )


def _sub_group(fields: _Fields) -> SubGroupInfo:
    fields.known("name", "parent", "minMember", "minSubGroup", "topologyConstraint")
    return SubGroupInfo(
        fields.text("name"),
        fields.text("parent", "") or None,
        fields.whole("minMember"),
        fields.whole("minSubGroup"),
        _constraint(fields),
    )


def _pod(fields: _Fields) -> Pod:
    fields.known("name", "subGroup", "gpu", "cpu", "memoryGi", "node")
    return Pod(
        fields.text("name"),
        tuple(sorted(fields.amounts().items())),
        fields.text("subGroup", ""),
        fields.text("node", ""),
    )
