"""What a front end asks for is judged by the rules of what is rendered of PodGangs."""

from __future__ import annotations

import pytest

from krmfn import KubeObject
from packwise.finding import Severity
from packwise.request import Bounds, Gang, PodSet, Request
from packwise.schedulers.kai import KAI
from packwise.schedulers.requests import answers
from packwise.select import Package, select

HEAD = "apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata:\n  name: topology\nspec:\n"
SUBJECT = KubeObject.parse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: workflow\n")


def told(spec: str, *sets: PodSet) -> list[tuple[str, Severity, str]]:
    """Rule, severity and message of everything that is found in a gang of these sets."""
    gang = Gang("training", "osmo", "gpus", "normal", "pool", None, 2, sets, {})
    selection = select(Package((KubeObject.parse(HEAD + spec),)))
    _, findings = answers(KAI, [Request(gang, "workflow training", SUBJECT, unasked=True)], selection)
    return [(finding.rule, finding.severity, finding.message) for finding in findings]


LEAF = PodSet("workers", None, 2, Bounds())


def test_a_gang_that_kai_takes() -> None:
    assert told("  apply: true\n", LEAF) == []


@pytest.mark.parametrize(
    ("spec", "severity"), [("  apply: true\n", Severity.ERROR), ("  emit: [Queue]\n", Severity.WARNING)]
)
def test_a_gang_that_kai_refuses(spec: str, severity: Severity) -> None:
    assert told(spec, LEAF, LEAF) == [(
        "scheduler-podgroup", severity,
        'becomes subgroup "workers" of PodGroup osmo/training: name must be unique among the subgroups; got "workers" '
        "again: KAI refuses it",
    )]  # fmt: skip


@pytest.mark.parametrize(("spec", "count"), [
    ("  apply: true\n", 1),
    ("  kai: {version: v0.13}\n", 0),
    ("  emit: [Queue]\n", 0),
])  # fmt: skip
def test_a_gang_of_which_an_old_kai_passes_over_pods(spec: str, count: int) -> None:
    found = told(spec, PodSet("rack", None, None, Bounds()), LEAF._replace(parent="rack"), LEAF._replace(name="lone"))

    assert [(rule, severity) for rule, severity, _ in found] == [("scheduler-ignores", Severity.WARNING)] * count
