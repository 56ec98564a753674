"""Warnings about facts in a cluster that a change may conflict with and that its files do not show, in the webhook's
words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from krmfn import KubeObject
from krmfn.yamltext import split_documents
from packwise.frontends.grove import admission
from packwise.pipeline import render
from packwise.pipeline.selection import Package

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value
    from packwise.objects.index import Inventory

SETTINGS = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: settings}
spec: {revision: RELEASE, topologyAwareScheduling: {enabled: true}}
---
"""
WORKLOAD = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: wl, namespace: team-a, labels: {kai.scheduler/queue: q}}
spec:
  updateStrategy: {type: STRATEGY}
  template:
    cliques:
    - name: router
      ROUTER
      spec:
        roleName: router
        replicas: 3
        podSpec: {containers: [{name: main, image: "registry.example.com/app:1"}]}
    - name: worker
      spec:
        roleName: worker
        replicas: 2
        podSpec: {containers: [{name: main, image: "registry.example.com/app:1"}]}
    podCliqueScalingGroups:
    - {name: workers, cliqueNames: [worker], replicas: 2, minAvailable: 2GROUP}
"""
ROUTER = "spec.template.cliques[0]"
WORKER = "spec.template.cliques[1]"
GROUP = "spec.template.podCliqueScalingGroups[0]"
ALPHA_13, ALPHA_14 = "v0.1.0-alpha.13", "v0.1.0-alpha.14"
OURS = {"rolling-update-stored", "min-available-default"}


def workload(
    strategy: str = "RollingRecreate", router: str = "", replicas: int = 3, group: str = "", least: int | None = None
) -> str:
    text = WORKLOAD.replace("STRATEGY", strategy).replace("GROUP", group)
    text = text.replace("      ROUTER\n", f"      {router}\n" if router else "")
    size = f"replicas: {replicas}" if least is None else f"replicas: {replicas}\n        minAvailable: {least}"
    return text.replace("replicas: 3", size)


def package(text: str, release: str = ALPHA_14) -> tuple[KubeObject, ...]:
    whole = SETTINGS.replace("RELEASE", release) + text
    return tuple([KubeObject.parse(document.text, line=document.line) for document in split_documents(whole)])


def warnings(new: str, old: str | None, before: str = ALPHA_14, release: str = ALPHA_14) -> list[tuple[str, str]]:
    """Return path and message of the warnings. The state before the change is of the release `before`."""
    baseline = None if old is None else package(old, before)
    results = render(Package(package(new, release), baseline=baseline)).results
    assert [result.message for result in results if result.severity == "error"] == []
    return [(result.field.path, result.message) for result in results if result.tags["rule"] in OURS and result.field]


LEFT_OUT = "the field is not set here, but `kubectl apply` keeps the stored value in the cluster. The webhook answers: "
ON_DELETE = "Forbidden: rollingUpdate must not be set when the update strategy is OnDelete; replace the object once "
COHERENT = "must not be less than minAvailable (2) under the Coherent update strategy; write it here"

STORED: list[tuple[str, str, str | None, list[tuple[str, str]]]] = [
    ("a workload that nobody knows", workload("OnDelete"), None, []),
    ("nothing changes", workload(), workload(), []),
    ("OnDelete since ever", workload("OnDelete"), workload("OnDelete"), []),
    ("OnDelete after an update was filled in", workload("OnDelete"), workload(), [
        (f"{ROUTER}.rollingUpdate", f"{LEFT_OUT}{ROUTER}.rollingUpdate: {ON_DELETE}with `kubectl replace`"),
        (f"{GROUP}.rollingUpdate", f"{LEFT_OUT}{GROUP}.rollingUpdate: {ON_DELETE}with `kubectl replace`"),
    ]),
    ("Coherent after 1 was filled in", workload("Coherent", least=2), workload(least=2), [
        (f"{ROUTER}.rollingUpdate",
         f"{LEFT_OUT}{ROUTER}.rollingUpdate.maxUnavailable: Invalid value: 1: {COHERENT}"),
        (f"{GROUP}.rollingUpdate", f"{LEFT_OUT}{GROUP}.rollingUpdate.maxUnavailable: Invalid value: 1: {COHERENT}"),
    ]),
    ("Coherent with a number of its own",
     workload("Coherent", "rollingUpdate: {maxUnavailable: 2}", group=", rollingUpdate: {maxUnavailable: 2}", least=2),
     workload(least=2), []),
    ("fewer replicas than may be unavailable",
     workload(replicas=2), workload(router="rollingUpdate: {maxUnavailable: 3}"), [
        (f"{ROUTER}.rollingUpdate",
         f"{LEFT_OUT}{ROUTER}.rollingUpdate.maxUnavailable: Invalid value: 3: must not be greater than replicas (2); "
         "write it here"),
    ]),
    ("a deadline that stays is as good as before", workload(router="rollingUpdate: {maxUnavailable: 2}"),
     workload(router="rollingUpdate: {progressDeadline: 5m}"), []),
]  # fmt: skip


@pytest.mark.parametrize(("new", "old", "expected"), [case[1:] for case in STORED], ids=[case[0] for case in STORED])
def test_a_rolling_update_that_stays(new: str, old: str | None, expected: list[tuple[str, str]]) -> None:
    assert warnings(new, old) == expected


def test_earlier_releases_store_none() -> None:
    assert warnings(workload("OnDelete"), workload(), ALPHA_13, ALPHA_13) == []


def smaller(path: str, replicas: int) -> tuple[str, str]:
    return (
        f"{path}.spec.minAvailable",
        f'minAvailable is not set. Its default is "1" in {ALPHA_14}, and was "{replicas}", like replicas, in earlier '
        "releases. A gang no longer waits for all pods of the clique. Set minAvailable",
    )


def rendered(*podgroups: str) -> str:
    entries = "".join([f"\n  - {{{podgroup}, podReferences: []}}" for podgroup in podgroups])
    return (
        "apiVersion: scheduler.grove.io/v1alpha1\nkind: PodGang\nmetadata: {name: wl-0, namespace: team-a}\n"
        f"spec:\n  podgroups:{entries}\n"
    )


def test_gangs_of_an_earlier_render_were_larger() -> None:
    assert warnings(workload(), rendered("name: wl-0-router, minReplicas: 3")) == [smaller(ROUTER, 3)]
    assert warnings(workload(), rendered("name: wl-0-workers-0-worker, minReplicas: 2")) == [smaller(WORKER, 2)]
    assert (
        warnings(workload(), rendered("name: wl-0-router, minReplicas: 1", "name: other-0-router, minReplicas: 3"))
        == []
    )


def test_the_gangs_before_a_change_are_listed_once_for_all_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[object] = []

    def earlier_podgangs(inventory: Inventory) -> dict[tuple[str, str], Mapping[str, Value]]:
        listed.append(inventory)
        return {}

    monkeypatch.setattr(admission, "earlier_podgangs", earlier_podgangs)
    assert warnings("---\n".join([workload().replace("wl", f"wl-{number}") for number in range(3)]), None) == []
    assert len(listed) == 1
