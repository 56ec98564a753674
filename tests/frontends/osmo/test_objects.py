"""Rendered objects pass KAI's CRDs of every version, and KAI's webhook, for the goldens and for any input."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn.kubeobject import KubeObject
from packwise.kubernetes import dns_label, dns_subdomain, label_value, qualified_name
from packwise.validate.definition import Definition, read_definition
from tests.frontends.osmo.rendering import HOST, POOL, Rendered, of_kind, rendered, webhook_refusals
from tests.golden.cases import GOLDEN
from tests.places import CRDS, NO_CRDS

VERSIONS = sorted(path.name for path in CRDS.glob("kai-*"))
GOLDENS = sorted(path.parent for path in (GOLDEN / "osmo").glob("*/workflow.yaml"))

DEEP_POOL = POOL + HOST


@cache
def definition(version: str, kind: str) -> Definition:
    file = {"Topology": "kai.scheduler_topologies.yaml", "PodGroup": "scheduling.run.ai_podgroups.yaml"}[kind]
    path = CRDS / version / file
    return read_definition(KubeObject.parse(path.read_text(encoding="utf-8"), file=str(path)))


def refusals(found: Rendered) -> list[str]:
    """Return the errors of an API server or of KAI's webhook about the objects."""
    said: list[str] = []
    for one in found.objects:
        name, labels = one["metadata"]["name"], one["metadata"]["labels"]
        said += dns_subdomain(name) if one["kind"] == "Topology" else dns_label(name)
        said += [text for key in labels for text in qualified_name(key)]
        said += [text for value in labels.values() for text in label_value(value)]
        for version in VERSIONS if one["kind"] in {"Topology", "PodGroup"} else ():
            said += [f"{version} {each.path} {each.message}" for each in definition(version, one["kind"]).problems(one)]
    for group in of_kind(found.objects, "PodGroup"):
        said += webhook_refusals(group)
        said += placed_wrong(group, of_kind(found.objects, "Pod"), of_kind(found.objects, "Topology"))
    return said


def placed_wrong(group: Any, pods: list[Any], topologies: list[Any]) -> list[str]:
    """Return the faults that keep KAI from placing the pods: missing levels, pods outside leaves, leaves that are too
    large.
    """
    levels = {t["metadata"]["name"]: [each["nodeLabel"] for each in t["spec"]["levels"]] for t in topologies}
    subs: list[dict[str, Any]] = group["spec"].get("subGroups", [])
    said: list[str] = []
    for holder in [group["spec"], *subs]:
        constraint: dict[str, str] | None = holder.get("topologyConstraint")
        if constraint is not None:
            asked = [value for key, value in constraint.items() if key != "topology"]
            said += [f"no level {one}" for one in asked if one not in levels.get(constraint["topology"], [])]
            said += [] if asked else ["a constraint without a level"]
    own = [pod for pod in pods if pod["metadata"]["annotations"]["pod-group-name"] == group["metadata"]["name"]]
    inside = [pod["metadata"]["labels"].get("kai.scheduler/subgroup-name") for pod in own]
    leaves = {sub["name"]: sub["minMember"] for sub in subs if "minMember" in sub} or {
        None: group["spec"].get("minMember")
    }
    said += [f"leaf {name} is never full" for name, members in leaves.items() if inside.count(name) != members]
    return said + [f"a pod in {name}" for name in inside if name not in leaves]


@pytest.mark.skipif(not VERSIONS, reason=NO_CRDS)
@pytest.mark.parametrize("policy", ["Uniform", "Pad"])
@pytest.mark.parametrize("folder", GOLDENS, ids=lambda folder: folder.name)
def test_the_goldens_become_objects_that_kai_takes(folder: Path, policy: str) -> None:
    texts = [(folder / name).read_text(encoding="utf-8") for name in ("pool.yaml", "workflow.yaml")]

    assert refusals(rendered(*texts, osmo=f"{{keySets: {policy}}}")) == []


names = st.from_regex(r"[a-zA-Z]([a-zA-Z0-9_-]{0,62}[a-zA-Z0-9])?", fullmatch=True)
# Another text is a template.
plain = st.text(max_size=70).filter(lambda text: not any(mark in text for mark in ("{{", "{%", "{#")))
asks = st.lists(
    st.fixed_dictionaries({
        "key": st.sampled_from(["zone", "rack", "host"]),
        "group": plain,
        "requirementType": st.sampled_from(["required", "preferred"]),
    }),
    unique_by=lambda each: each["key"],
)  # fmt: skip


@st.composite
def workflows(draw: st.DrawFn) -> Any:
    """Draw a workflow that OSMO's schema accepts. Its groups may conflict, and packwise refuses such a workflow."""
    resources = draw(st.dictionaries(names, asks.map(lambda topology: {"topology": topology}), min_size=1, max_size=4))
    unique = draw(st.lists(names, min_size=3, max_size=9, unique_by=lambda n: n.lower().replace("_", "-")))
    workflow, group, *rest = unique
    tasks: list[dict[str, Any]] = [
        {"name": name, "image": "i", "command": ["c"], "resource": draw(st.sampled_from(sorted(resources)))}
        for name in rest
    ]
    tasks[0]["lead"] = True
    return {"workflow": {"name": workflow, "groups": [{"name": group, "tasks": tasks}], "resources": resources}}


@pytest.mark.skipif(not VERSIONS, reason=NO_CRDS)
@given(workflows(), st.sampled_from(["Uniform", "Pad"]))
def test_whatever_is_rendered_is_taken(workflow: Any, policy: str) -> None:
    found = rendered(DEEP_POOL, KubeObject.new(workflow).text, osmo=f"{{keySets: {policy}}}")

    assert refusals(found) == []
    if policy == "Pad":
        assert {rule for rule, _, _ in found.said()} <= {"osmo-requirement-conflict"}


def test_a_user_cannot_put_a_pod_elsewhere() -> None:
    labels = "{kai.scheduler/queue: mine, runai/queue: mine, kai.scheduler/subgroup-name: mine, osmo.pool: mine, a: b}"
    flow = f"workflow:\n  name: w\n  labels: {labels}\n  tasks:\n  - {{name: t, image: i, command: [c]}}\n"

    (pod,) = of_kind(rendered(DEEP_POOL, flow).objects, "Pod")

    found = pod["metadata"]["labels"]
    assert (found["a"], found["osmo.pool"], found["kai.scheduler/queue"]) == (
        "b",
        "gb200",
        "osmo-pool-osmo-workflows-gb200",
    )
    assert found["runai/queue"] == found["kai.scheduler/queue"]
    assert "kai.scheduler/subgroup-name" not in found


@pytest.mark.parametrize(("written", "label"), [
    ("alice", "alice"),
    ("alice@example.com", "alice"),
    ("a b", None),
    ("@example.com", None),
])  # fmt: skip
def test_the_submitter_is_reported_where_a_label_can_say_it(written: str, label: str | None) -> None:
    flow = "workflow:\n  name: w\n  tasks:\n  - {name: t, image: i, command: [c]}\n"

    (group,) = of_kind(rendered(DEEP_POOL, flow, osmo=f'{{submittedBy: "{written}"}}').objects, "PodGroup")

    assert group["metadata"]["labels"].get("osmo.submitted_by") == label


@pytest.mark.parametrize(("written", "quantity"), [
    ("10", "10"),
    ("10Gi", "10Gi"),
    ("10G", "10Gi"),
    ("1.5TiB", "1.5Ti"),
    ("100B", "100"),
    ("5m", "5m"),
])  # fmt: skip
def test_quantities_are_kubernetes_own(written: str, quantity: str) -> None:
    flow = (
        "workflow:\n  name: w\n  tasks:\n  - {name: t, image: i, command: [c]}\n"
        f'  resources: {{default: {{memory: "{written}"}}}}\n'
    )

    (pod,) = of_kind(rendered(DEEP_POOL, flow).objects, "Pod")

    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"memory": quantity}


@pytest.mark.parametrize("version", [f"v0.{minor}" for minor in range(12, 18)])
def test_what_is_rendered_suits_every_version_of_kai(version: str) -> None:
    flow = "workflow:\n  name: w\n  tasks:\n  - {name: t, image: i, command: [c]}\n"

    assert (
        rendered(DEEP_POOL, flow, more=f"  kai: {{version: {version}}}\n").objects == rendered(DEEP_POOL, flow).objects
    )
