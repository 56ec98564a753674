"""An explanation for programs: docs/reference/explain.schema.json."""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from packwise.cli.console import json_text
from packwise.commands.check.formats import finding_fields
from packwise.commands.explain import location_of
from packwise.objects import identity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from packwise.cli.findings_text import Coverage
    from packwise.commands.explain import (
        Cause,
        Emitted,
        EmittedValue,
        GangTree,
        QueuedSet,
        SetTree,
        TopologyNode,
        WorkloadTree,
    )
    from packwise.commands.explain.text import Explained
    from packwise.objects import Origin, Place
    from packwise.placement import Bounds, Gang, Omission
    from packwise.topology.known import Level

_DIFFERENT = {"topologyAwareScheduling": None}
"""What stands where configurations differ, if that is not an empty text."""


def as_json(explanations: Sequence[Explained], coverage: Coverage) -> str:
    """What was asked about, of all configurations in one object; each configuration is listed too."""
    first, *others = [_whole(each) for each in explanations]
    for other in others:
        for key, value in other.items():
            # What is said of all of them is said where they agree.
            first[key] = first[key] + value if isinstance(value, list) else _common(key, first[key], value)
    return json_text({**first, "coverage": coverage.fields})


def _common(key: str, value: Any, other: Any) -> Any:
    if key == "rendered":
        return value and other
    return value if value == other else _DIFFERENT.get(key, "")


def _whole(explained: Explained) -> dict[str, Any]:
    """What was asked about; the trees of all workloads where that is everything."""
    explanation, chosen = explained.explanation, explained.chosen
    revision = explanation.revision
    trees = explanation.workloads if chosen is None else chosen.workloads
    state: dict[str, Any] = {
        "revision": revision,
        "revisionChosenBy": explanation.chosen_by,
        "topologyAwareScheduling": explanation.enabled,
        "rendered": explanation.rendered,
    }
    whole: dict[str, Any] = {
        **state,
        "configurations": [{"files": list(explained.configurations), **state}],
        "topologies": [_topology(topology) for topology in explanation.topologies],
        "workloads": [_workload(tree, revision) for tree in trees],
        "objects": [],
        "annotations": [],
        "fields": [],
        "around": "",
        "copies": [],
        "missing": [],
    }
    if chosen is not None:
        whole["objects"] = [_object(each.emitted, each.values, revision) for each in chosen.objects]
        whole["annotations"] = [
            {"workload": tree.source, "values": _values(values, revision)} for tree, values in chosen.added
        ]
        whole["fields"] = list(chosen.fields)
        whole["around"] = chosen.around
        whole["copies"] = [each.name for each in chosen.copies]
        whole["missing"] = [_missing(omission, revision) for omission in chosen.missing]
    return whole


def _topology(topology: TopologyNode) -> dict[str, Any]:
    levels = [
        {"domain": each.level.domain, "key": each.level.key, "place": _place(each.place)} for each in topology.levels
    ]
    return {"name": topology.name, "place": _place(topology.place), "levels": levels}


def _workload(tree: WorkloadTree, revision: str) -> dict[str, Any]:
    place = location_of(tree.item)
    return {
        "workload": tree.source,
        "file": place.file,
        "line": place.line,
        "gangs": [_gang(gang, revision) for gang in tree.gangs],
        "objects": [each.name for each in tree.objects],
        "missing": [_missing(omission, revision) for omission in tree.missing],
        "findings": [finding_fields(result) for result in tree.results],
        **({"queued": [_queued(each) for each in tree.queued]} if tree.queued else {}),
    }


def _queued(tree: QueuedSet) -> dict[str, Any]:
    pods = tree.pods
    return {
        "name": pods.name,
        "pods": pods.count,
        "scheduler": pods.scheduler,
        "queue": pods.queue or None,
        "topologies": list(pods.topologies),
        "required": _node_label(tree.required),
        "preferred": _node_label(tree.preferred),
        "unconstrained": pods.is_unconstrained,
        "slices": [{"level": _node_label(level), "pods": size} for level, size in tree.slices],
        "group": pods.group,
        "place": _place(pods.place),
    }


def _node_label(level: Level | None) -> dict[str, Any] | None:
    return None if level is None else {"domain": level.domain, "key": level.key}


def _gang(tree: GangTree, revision: str) -> dict[str, Any]:
    gang = tree.gang
    return {
        "name": gang.name,
        "namespace": gang.namespace,
        "pods": gang.members,
        "topology": gang.topology,
        "queue": gang.queue,
        "priorityClassName": gang.priority_class,
        "scheduler": gang.scheduler,
        **_of_owner(gang),
        **_bounds(gang.bounds, revision),
        "origin": _origin(gang.origin, revision),
        "copies": [_origin(origin, revision) for origin in gang.copies],
        "objects": [each.name for each in (*tree.objects, *tree.members)],
        "sets": [_set(part, revision) for part in tree.parts],
    }


def _of_owner(gang: Gang) -> dict[str, Any]:
    """What gangs alone have that the scheduler makes of the object which owns the pods."""
    fields = {
        "needed": gang.needed,
        "preemptibility": gang.preemptibility or None,
        "preemptionDelay": gang.preemption_delay or None,
        "stalenessGracePeriod": gang.grace_period or None,
        "alike": gang.alike if gang.alike > 1 else None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _set(tree: SetTree, revision: str) -> dict[str, Any]:
    pods = tree.pods
    return {
        "name": pods.name,
        "pods": pods.members,
        "scheduler": pods.scheduler,
        **({} if pods.needed is None else {"needed": pods.needed}),
        **_bounds(pods.bounds, revision),
        "origin": _origin(pods.origin, revision),
        "objects": [each.name for each in tree.members],
        "sets": [_set(part, revision) for part in tree.parts],
    }


def _bounds(bounds: Bounds | None, revision: str) -> dict[str, Any]:
    required, preferred = (None, None) if bounds is None else (bounds.required, bounds.preferred)
    origin = None if bounds is None else bounds.origin
    return {
        "required": _level(required, origin and origin.of("required"), revision),
        "preferred": _level(preferred, origin and origin.of("preferred"), revision),
    }


def _level(level: Level | None, origin: Origin | None, revision: str) -> dict[str, Any] | None:
    if level is None:
        return None
    return {"domain": level.domain, "key": level.key, "origin": None if origin is None else _origin(origin, revision)}


def _missing(omission: Omission, revision: str) -> dict[str, Any]:
    return {
        "asked": omission.asked,
        "why": omission.why,
        "remedy": omission.remedy,
        "origin": _origin(omission.origin, revision),
    }


def _object(emitted: Emitted, values: Iterable[EmittedValue], revision: str) -> dict[str, Any]:
    _, kind, namespace, name = identity(emitted.item.value)
    return {
        "apiVersion": emitted.item.value["apiVersion"],
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "renderedFrom": emitted.generated.source,
        "copies": [_origin(origin, revision) for origin in emitted.copies],
        "values": _values(values, revision),
    }


def _values(values: Iterable[EmittedValue], revision: str) -> list[dict[str, Any]]:
    return [
        {"path": format_path(each.path), "value": each.value, "origin": _cause(each.cause, revision)} for each in values
    ]


def _cause(cause: Cause, revision: str) -> dict[str, Any]:
    return {
        "by": "packwise" if cause.is_own else "input",
        "place": None if cause.place is None else _place(cause.place),
        "through": None if cause.through is None else _place(cause.through),
        "rule": cause.rule,
        "revision": revision,
    }


def _origin(origin: Origin, revision: str) -> dict[str, Any]:
    return {"by": "input", "place": _place(origin.place), "through": None, "rule": origin.rule, "revision": revision}


def _place(place: Place) -> dict[str, Any]:
    location = place.location()
    return {"file": location.file, "line": location.line, "column": location.column, "field": place.field}
