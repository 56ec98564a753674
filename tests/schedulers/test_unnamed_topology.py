"""KAI makes no PodGroup of a gang with a constraint but no topology."""

from __future__ import annotations

from typing import Any

from krmfn.result import Severity
from packwise.findings import Origin, Place
from packwise.placement import Grouper, Placement
from packwise.schedulers.kai.scheduler import KAI
from tests.schedulers.gangs import SUBJECT, gang_of, input_of

PODGANG: dict[str, Any] = {
    "metadata": {"name": "web-0", "namespace": "shop", "labels": {}},
    "spec": {
        "podgroups": [{"name": "web-0-router", "minReplicas": 1}],
        "topologyConstraint": {"packConstraint": {"required": "example.com/rack"}},
    },
}


def test_a_constraint_of_no_topology_is_refused() -> None:
    origin = Origin(Place(SUBJECT, ("metadata", "name")), "test")
    gang = gang_of(PODGANG, Grouper.OPERATOR, topology="").replace(queues=("shop",), origin=origin)

    answer = KAI.objects(input_of("  emit: [PodGroup]\n", [Placement(gang, "workload web", SUBJECT)]))

    assert answer.generated == ()
    assert [
        (finding.rule, finding.severity, finding.path, finding.message, finding.operator_message)
        for finding in answer.findings
    ] == [
        (
            "scheduler-podgroup",
            Severity.ERROR,
            ("metadata", "name"),
            "the constraint of the PodGang names no topology, and KAI refuses the PodGroup; change it, or remove "
            "PodGroup from `emit`",
            "topology name cannot be empty when topology constraints are defined",
        )
    ]
