"""A gang that a service submits is checked by the rules about PodGroups that are rendered for PodGangs."""

from __future__ import annotations

import pytest

from krmfn.result import Severity
from packwise.findings import Finding
from packwise.placement import Bounds, Gang, Grouper, Placement, PodSet
from packwise.schedulers.kai.scheduler import KAI
from tests.schedulers.gangs import ORIGIN, SUBJECT, input_of

LEAF = PodSet("workers", None, 2, Bounds(), ORIGIN)


def check_gang(spec: str, *sets: PodSet) -> list[Finding]:
    """Return every finding about a gang of these pod sets."""
    gang = Gang(
        name="training",
        namespace="osmo",
        workload="training",
        sets=sets,
        bounds=None,
        members=None,
        topology="pool",
        grouper=Grouper.SERVICE,
        origin=ORIGIN,
        owner=ORIGIN,
        queue="gpus",
        priority_class="normal",
    )
    placement = Placement(gang, "workflow training", SUBJECT, emit_by_default=True)
    return list(KAI.objects(input_of(spec, [placement])).findings)


def findings_of(spec: str, *sets: PodSet) -> list[tuple[str, Severity, str]]:
    """Return rule, severity and message of every finding about a gang of these pod sets."""
    return [(finding.rule, finding.severity, finding.message) for finding in check_gang(spec, *sets)]


def test_a_gang_that_kai_takes() -> None:
    assert findings_of("  apply: true\n", LEAF) == []


@pytest.mark.parametrize(
    ("spec", "severity"), [("  apply: true\n", Severity.ERROR), ("  emit: [Queue]\n", Severity.WARNING)]
)
def test_a_gang_that_kai_refuses(spec: str, severity: Severity) -> None:
    assert findings_of(spec, LEAF, LEAF) == [(
        "scheduler-podgroup", severity,
        'becomes subgroup "workers" of PodGroup osmo/training: name: must be unique among the subgroups; got "workers" '
        "again. KAI refuses it",
    )]  # fmt: skip


def test_refusals_of_a_gang_stand_in_kais_order() -> None:
    findings = check_gang("  apply: true\n", LEAF, LEAF, LEAF.replace(name="Leaders"))

    assert [(finding.order, "unique" in finding.message) for finding in findings] == [(0, False), (1, True)]


@pytest.mark.parametrize(("spec", "count"), [
    ("  revision: grep-244-multi\n", 1),
    ("  kai: {version: v0.13}\n", 0),
    ("  emit: [Queue]\n", 0),
])  # fmt: skip
def test_a_gang_of_which_an_old_kai_passes_over_pods(spec: str, count: int) -> None:
    rack = PodSet("rack", None, None, Bounds(), ORIGIN)

    findings = findings_of(spec, rack, LEAF.replace(parent="rack"), LEAF.replace(name="lone"))

    assert [(rule, severity) for rule, severity, _ in findings] == [("scheduler-ignores", Severity.WARNING)] * count
