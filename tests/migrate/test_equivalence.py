"""A migration names each object and field that the scheduler would get in another form."""

from __future__ import annotations

import pytest

from krmfn import KubeObject
from packwise.migrate import rewrite
from packwise.migrate.rewrite import as_admitted, changed_meanings
from packwise.pipeline.selection import Package
from packwise.revisions.grove import GREP_244_MULTI, UPSTREAM, Step
from tests.cli.calling import CONFIG, WORKLOAD

STEP = Step(GREP_244_MULTI, UPSTREAM, "grove-topology")


def package(*texts: str) -> Package:
    return Package(tuple([KubeObject.parse(text) for text in texts]))


@pytest.mark.parametrize(
    ("after", "messages"),
    [
        (package(CONFIG, WORKLOAD), []),
        (package(CONFIG, WORKLOAD.replace("name: web # short", "name: web\n  labels: {team: a}")), []),
        (
            package(CONFIG, WORKLOAD.replace("packDomain: rack", "packDomain: zone")),
            [
                "PodGang shop/web-0 would change for the scheduler: spec.topologyConstraint.packConstraint.required "
                'would change from "example.com/rack" to "topology.kubernetes.io/zone"'
            ],
        ),
        (
            package(CONFIG, WORKLOAD.replace("minAvailable: 2", "minAvailable: 1")),
            [
                "PodGang shop/web-0 would change for the scheduler: spec.podgroups[web-0-router].minReplicas would "
                "change from 2 to 1"
            ],
        ),
        (
            package(CONFIG.replace("example.com/rack", "example.com/shelf"), WORKLOAD),
            [
                "Topology grove-topology would change for the scheduler: spec.levels[1].nodeLabel would change from "
                '"example.com/rack" to "example.com/shelf"',
                "PodGang shop/web-0 would change for the scheduler: spec.topologyConstraint.packConstraint.required "
                'would change from "example.com/rack" to "example.com/shelf"',
            ],
        ),
        (package(CONFIG), ["packwise would no longer render PodGang shop/web-0"]),
        (
            package(CONFIG, WORKLOAD.replace("replicas: 2", "replicas: two")),
            [
                'with revision "upstream": must be an integer; got "two"',
            ],
        ),
    ],
)  # fmt: skip
def test_what_changes_is_reported(after: Package, messages: list[str]) -> None:
    assert [result.message for result in changed_meanings(package(CONFIG, WORKLOAD), after, STEP)] == messages


def test_a_comment_that_would_go_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """No migration loses a comment. If one ever did, nothing would be written."""
    commented = package(CONFIG, WORKLOAD)

    def without_comments(item: KubeObject, _step: Step) -> KubeObject:
        return KubeObject.new(dict(item.value)) if item.kind == "PodCliqueSet" else item

    monkeypatch.setattr(rewrite, "migrate_workload", without_comments)
    migrated = rewrite.migrate(commented, UPSTREAM)

    assert migrated.items == commented.items
    assert [(result.tags["rule"], result.message) for result in migrated.results] == [
        ("migrate-comment", f'migrate would lose the comment "{text}"; move it to a separate line above the object')
        for text in ("# A router.", "# short")
    ]


def test_a_package_without_a_configuration_gets_the_least_that_names_the_revision() -> None:
    configuration = as_admitted(package(WORKLOAD), "Existing", "upstream").function_config

    assert configuration is not None
    assert configuration.value == {
        "apiVersion": "packwise.dev/v1alpha1",
        "kind": "TopologyRender",
        "metadata": {"name": "migrate"},
        "spec": {"admission": "Existing", "revision": "upstream"},
    }
