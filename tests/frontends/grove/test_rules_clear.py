"""The quick look at a part says that no rule reports anything only where none does."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.workloads import workload
from krmfn.yamltext import read
from packwise.frontends.grove.default import default
from packwise.frontends.grove.podcliqueset import PodCliqueSet
from packwise.frontends.grove.rules import Context
from packwise.frontends.grove.rules.check import Check, Node, Scope, run
from packwise.frontends.grove.tables import rulebook
from packwise.placement.plan import Schedulers
from packwise.revisions import REVISIONS

from .cases import TOPOLOGIES, edited

if TYPE_CHECKING:
    from packwise.revisions import Revision

PLAIN = {
    "metadata.labels": {"app": "a", "kai.scheduler/queue": "team"},
    "metadata.annotations": {"example.com/owner": "team"},
    "spec.template.cliques[0].labels": {"role": "a"},
    "spec.template.cliques[0].spec.podSpec.containers[0].env": [{"name": "A", "value": "1"}, {"name": "B"}],
    "spec.template.cliques[0].topologyConstraint": {"packDomain": "host"},
    "spec.template.podCliqueScalingGroups[0].scaleConfig": {"minReplicas": 3, "maxReplicas": 4},
}
"""What the rules look at and refuse nothing of."""

ODD: st.SearchStrategy[Any] = st.sampled_from([
    None, "", "A b", "a", "é" * 23, "kai-scheduler", "volcano", 0, -1, 1, 5, "0s", "1h", "zone", "rack", "host", "numa",
    "CliqueStartupTypeExplicit", "Coherent", [], ["a"], ["prefill", "prefill"], {}, {"A b": "c"}, {"a": "b" * 64},
    {"packDomain": "zone"}, {"packDomain": ""}, {"packDomain": "none"}, {"maxUnavailable": 0}, {"minReplicas": 0},
    {"minReplicas": 9, "maxReplicas": 1}, {"grove.io/auto-mnnvl": "enabled"}, {"a": "b" * 300_000},
    [{"name": "A"}, {"name": "A"}], [{"name": "1 a"}], [{"name": "a", "env": [{"name": "B"}, None]}], [{"name": "x"}],
])  # fmt: skip


def plain() -> dict[str, Any]:
    return edited(PLAIN)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of each value within `value`."""
    if not isinstance(value, (dict, list)):
        return []
    steps = cast("list[Any]", [*value] if isinstance(value, dict) else range(len(cast("list[Any]", value))))
    return [path for step in steps for path in [(*at, step), *places(value[step], (*at, step))]]


MORE = [
    *[("metadata", name) for name in ("generateName", "generation", "ownerReferences", "finalizers")],
    *[("spec", "template", name) for name in ("clusterTopologyName", "resourceClaimTemplates", "resourceSharing")],
    ("spec", "updateStrategy"),
    *[("spec", "template", "cliques", 1, name) for name in ("annotations", "rollingUpdate", "resourceSharing")],
    *[("spec", "template", "cliques", 1, "spec", name) for name in ("startsAfter", "autoScalingConfig")],
    *[("spec", "template", "podCliqueScalingGroups", 0, name) for name in ("rollingUpdate", "resourceSharing")],
    *[
        ("spec", "template", "cliques", 0, "spec", "podSpec", name)
        for name in ("nodeName", "topologySpreadConstraints", "initContainers", "schedulerName")
    ],
]
"""Fields beside those of `PLAIN`."""

PATHS = [path for path in places(plain()) if path[0] in ("metadata", "spec")] + MORE


def changed(changes: list[tuple[tuple[Any, ...], Any]]) -> dict[str, Any]:
    value = plain()
    for (*parents, last), new in changes:
        at: Any = value
        try:
            for step in parents:
                at = at.setdefault(step, {}) if isinstance(step, str) else at[step]
            at[last] = copy.deepcopy(new)
        except (AttributeError, IndexError, KeyError, TypeError):
            # The other change has taken the place away.
            continue
    return value


def context_of(revision: Revision, *, enabled: bool) -> Context:
    names = ("default-scheduler", "kai-scheduler")
    schedulers = Schedulers(names, names[0]) if revision.scheduler_backends else None
    return Context(revision, enabled, ("zone", "rack", "host"), TOPOLOGIES, schedulers=schedulers)


def asking_all(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The nodes without any quick look."""
    return tuple([
        node._replace(nodes=asking_all(node.nodes), is_clear=None) if isinstance(node, Scope) else node
        for node in nodes
    ])  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(PATHS), ODD), max_size=2),
    st.sampled_from(sorted(REVISIONS)),
    st.booleans(),
    st.booleans(),
)
def test_nothing_that_a_rule_reports_is_missed(
    changes: list[tuple[tuple[Any, ...], Any]], name: str, enabled: bool, create: bool
) -> None:
    revision = REVISIONS[name]
    context = context_of(revision, enabled=enabled)._replace(create=create)
    pcs = PodCliqueSet.read(default(changed(changes), revision, create=create))
    rules = rulebook(revision).create

    assert run(rules, pcs, context) == run(asking_all(rules), pcs, context)


CLIQUE, GROUP = "spec.template.cliques[0]", "spec.template.podCliqueScalingGroups[0]"
ENV = f"{CLIQUE}.spec.podSpec.containers[0].env"


@pytest.mark.parametrize(("edit", "rule", "name"), [
    ({f"{CLIQUE}.labels": {"A b": "c"}}, "clique-labels", "v0.1.0-alpha.14"),
    ({f"{CLIQUE}.annotations": {"A b": "c"}}, "clique-annotations", "v0.1.0-alpha.14"),
    ({f"{CLIQUE}.name": "prefill"}, "clique-names-unique", "v0.1.0-alpha.14"),
    ({f"{CLIQUE}.spec.roleName": "role-decode"}, "clique-roles-unique", "v0.1.0-alpha.14"),
    ({f"{CLIQUE}.rollingUpdate": {}, "spec.updateStrategy": {"type": "OnDelete"}}, "rolling-update-on-delete",
     "v0.1.0-alpha.14"),
    ({f"{CLIQUE}.rollingUpdate": {"maxUnavailable": 9}}, "rolling-update-max", "v0.1.0-alpha.14"),
    ({f"{CLIQUE}.rollingUpdate": {"progressDeadline": "-1s"}}, "rolling-update-deadline", "v0.1.0-alpha.14"),
    ({ENV: [{"name": "A"}, {"name": "A"}]}, "env-unique", "grep-244-multi"),
    ({ENV: [{"name": "1 A"}]}, "env-name", "grep-244-multi"),
    ({f"{GROUP}.cliqueNames": ["prefill", "prefill"]}, "clique-in-one-group", "grep-244-multi"),
    ({"spec.template.podCliqueScalingGroups[1]": {"name": "workers", "cliqueNames": ["frontend"]}},
     "group-names-unique", "grep-244-multi"),
    ({f"{GROUP}.name": "é"}, "group-name-dns", "grep-244-multi"),
    ({"spec.template.resourceSharing": [{"scope": "PerReplica"}]}, "resource-sharing-name", "v0.1.0-alpha.14"),
    ({"metadata.name": ""}, "metadata-name", "grep-244-multi"),
    ({"metadata.annotations": {"a": "b" * 300_000}}, "metadata-annotations", "grep-244-multi"),
    ({"spec.template.terminationDelay": "0s"}, "termination-delay", "grep-244-multi"),
])  # fmt: skip
def test_a_single_mistake_is_reported(edit: dict[str, Any], rule: str, name: str) -> None:
    revision = REVISIONS[name]
    pcs = PodCliqueSet.read(default(edited({**PLAIN, **edit}), revision))
    problems = run(rulebook(revision).whole, pcs, context_of(revision, enabled=True))

    assert {each.name for each, _ in problems} == {rule}


def called(nodes: tuple[Node, ...], names: list[str]) -> tuple[Node, ...]:
    """The nodes with checks that report nothing and note the name of their rule."""

    def noted(name: str) -> Any:
        def problems(_part: Any, _context: Context) -> tuple[()]:
            names.append(name)
            return ()

        return problems

    return tuple([
        node._replace(nodes=called(node.nodes, names))
        if isinstance(node, Scope)
        else Check(node.rule, noted(node.rule.name), node.create_only)
        for node in nodes
    ])  # fmt: skip


@pytest.mark.parametrize("name", sorted(REVISIONS))
def test_of_a_workload_as_most_are_no_whole_object_rule_is_called(name: str) -> None:
    revision = REVISIONS[name]
    names: list[str] = []
    pcs = PodCliqueSet.read(default(plain(), revision))

    assert run(called(rulebook(revision).whole, names), pcs, context_of(revision, enabled=True)) == []
    assert set(names) <= {"release-undetermined"}


def test_no_rule_is_called_for_the_workloads_of_the_benchmark() -> None:
    revision = REVISIONS["grep-244-multi"]
    value: Any = read(workload(0))
    topology = TOPOLOGIES["grove-topology"]
    context = context_of(revision, enabled=True)._replace(topologies={revision.default_topology or "": topology})
    names: list[str] = []

    run(called(rulebook(revision).create, names), PodCliqueSet.read(default(value, revision)), context)

    assert names == ["mnnvl-value", "mnnvl-feature"]
