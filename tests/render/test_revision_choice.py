"""The revision of a render: the names that it may have, and input that contradicts the assumed one."""

from __future__ import annotations

import pytest

from krmfn import KubeObject
from krmfn.result import Result, Severity
from krmfn.yamltext import split_documents
from packwise.output.findings_text import sentence
from packwise.pipeline import Rendered, render
from packwise.pipeline.selection import Package
from packwise.placement import Gang
from packwise.revisions.grove import NEWEST
from tests.cli import calling
from tests.cli.calling import UNNAMED_CONFIG, WORKLOAD

CONFIG = UNNAMED_CONFIG


def rendered(*texts: str) -> Rendered:
    documents = [document.text for text in texts for document in split_documents(text)]
    return render(Package(tuple([KubeObject.parse(text) for text in documents])))


def lines(results: tuple[Result, ...]) -> list[str]:
    return [f"{result.severity.value}: {sentence(result)} [{result.tags['rule']}]" for result in results]


def named(revision: str, more: str = "") -> str:
    return f"{CONFIG}  revision: {revision}\n{more}"


NEAR = 'must be a release of Grove that packwise knows; got "{}"; did you mean "{}"?'
PROTOTYPE = (
    'must be a release of Grove; got "{}", which is off Grove\'s main branch and was never released; use '
    '"v0.1.0-alpha.10"'
)
DESIGNS = '"design-1", "design-2", "grep-244", "grep-244-multi", "upstream"'


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("alpha.13", NEAR.format("alpha.13", "v0.1.0-alpha.13")),
        ("0.1.0-alpha.13", NEAR.format("0.1.0-alpha.13", "v0.1.0-alpha.13")),
        ("v0.1.0-alpha13", NEAR.format("v0.1.0-alpha13", "v0.1.0-alpha.13")),
        ("V0.1.0-Alpha.13", NEAR.format("V0.1.0-Alpha.13", "v0.1.0-alpha.13")),
        ("alpha.12-rc.2", NEAR.format("alpha.12-rc.2", "v0.1.0-alpha.12-rc2")),
        ("v0.1.0-alpha.11-rc1", NEAR.format("v0.1.0-alpha.11-rc1", "v0.1.0-alpha.14-rc1")),
        ("v0.1.0-alpah.13", NEAR.format("v0.1.0-alpah.13", "v0.1.0-alpha.13")),
        ("v2", f'must be a release of Grove that packwise knows; got "v2"; the newest is {NEWEST.name}'),
        ("v0.1.0-alpha.10-rc1", PROTOTYPE.format("v0.1.0-alpha.10-rc1")),
        ("alpha.10-rc1", PROTOTYPE.format("alpha.10-rc1")),
        ("grep-245", f'must be one of {DESIGNS}; got "grep-245"'),
        ("latest", f'must be one of {DESIGNS}; got "latest"'),
    ],
)
def test_a_name_that_no_revision_has(name: str, message: str) -> None:
    assert lines(rendered(named(name)).results) == [
        f"error: TopologyRender topology spec.revision: {message} [configuration-fields]"
    ]


def test_each_revision_has_its_own_key_of_the_topology_section() -> None:
    assert lines(rendered(named("design-1")).results) == [
        'error: TopologyRender topology spec.topologyAwareScheduling: revision "design-1" reads "topology", not '
        '"topologyAwareScheduling"; rename the section [revision]'
    ]


def test_a_release_that_is_newer_than_all_that_are_known_is_refused() -> None:
    assert lines(rendered(named("v99.0.0"), WORKLOAD).results)[0] == (
        f'error: TopologyRender topology spec.revision: "v99.0.0" is newer than "{NEWEST.name}", the newest release '
        "of Grove that packwise knows. Upgrade packwise, or set `newerRevision: Warn` to use the rules of the newest "
        "known release [revision]"
    )


def test_a_newer_release_is_taken_for_the_newest_known_one_where_that_is_allowed() -> None:
    newer = rendered(named("v0.1.0", "  newerRevision: Warn\n"))
    known = rendered(named(NEWEST.name, "  newerRevision: Warn\n"))

    assert lines(newer.results)[0] == (
        "warning: TopologyRender topology spec.revision: packwise does not know this release and uses "
        f'"{NEWEST.name}", the newest release of Grove that packwise knows [revision-newer]'
    )
    assert newer.selection is not None
    assert known.selection is not None
    assert newer.selection.revision == known.selection.revision.replace(name="v0.1.0")


UNCONSTRAINED = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: a, namespace: team-a}
spec:
  replicas: 1
  template:
    cliques:
    - name: worker
      spec: {roleName: worker, replicas: 2, podSpec: {containers: [{name: worker, image: example.com/worker}]}}
"""


def test_no_configuration_at_all_counts_as_disabled() -> None:
    without = rendered(UNCONSTRAINED)

    assert lines(without.results) == [
        "info: PodCliqueSet team-a/a metadata.name: the epochs of the PodGangs are unknown, so their names and labels "
        "contain the placeholder 1000000000000000000. To get the cluster's names, add its PodGangMaps to the "
        f'input or the baseline; Grove "{NEWEST.name}" is assumed [podgang-epoch-unknown]',
        f'warning: the release of Grove is not set; packwise assumes the newest one, "{NEWEST.name}". Add `revision: '
        f"{NEWEST.name}`, or your cluster's release, to the `spec` of a TopologyRender [revision-unnamed]",
    ]
    assert [item.get("spec") for item in without.generated] == [
        {"podgroups": [{"name": "a-0-worker", "podReferences": [], "minReplicas": 1}]}
    ]
    assert [item.kind for item in without.generated] == ["PodGang"]


DESIGN_ASSUMED = (
    "warning: TopologyRender topology spec: the release of Grove is not set; packwise assumes the design "
    '"grep-244-multi" because of the key {}, which releases also have. Add '
    "`revision: v0.1.0-alpha.8`, or your cluster's release, to the `spec` of the TopologyRender [revision-unnamed]"
)
CONSTRAINT = "    topologyConstraint: {packDomain: rack}\n"
STRATEGY = "  updateStrategy: {type: Coherent}\n"
ROLLING = "      rollingUpdate: {maxUnavailable: 1}\n"
ASSUMED = 'packwise assumed "grep-244-multi" because the release is not set'
SET = "set `revision` in a TopologyRender to the release that your cluster runs"


def workload(constraint: str = "{packDomain: rack}", *, strategy: str = "", rolling: str = "") -> str:
    text = WORKLOAD.replace(CONSTRAINT, f"    topologyConstraint: {constraint}\n")
    return text.replace("  template:\n", f"{strategy}  template:\n") + rolling


@pytest.mark.parametrize(
    ("text", "path", "release"),
    [
        (workload("{topologyName: gb200, packDomain: rack}"), "spec.template.topologyConstraint.topologyName", 9),
        (workload("{packDomain: leaf-switch}"), "spec.template.topologyConstraint.packDomain", 9),
        (workload("{topologyName: gb200, pack: {required: rack}}"), "spec.template.topologyConstraint.pack", 10),
        (workload(strategy=STRATEGY), "spec.updateStrategy.type", 14),
        (workload(rolling=ROLLING), "spec.template.cliques[0].rollingUpdate", 14),
        (workload("{pack: {required: rack}}", rolling=ROLLING), "spec.template.cliques[0].rollingUpdate", 14),
    ],
)
def test_the_api_of_a_later_release_is_one_error(text: str, path: str, release: int) -> None:
    assert lines(rendered(CONFIG, text).results) == [
        f"error: PodCliqueSet shop/web {path}: only v0.1.0-alpha.{release} and later releases have this "
        f"field, but {ASSUMED}; {SET} [revision-contradicted]"
    ]


def test_what_does_not_follow_from_the_api_is_reported_beside_it() -> None:
    text = workload("{pack: {required: rack}}").replace("replicas: 2", "replicas: two")

    assert [result.tags["rule"] for result in rendered(CONFIG, text).results] == [
        "workload-decode",
        "revision-contradicted",
    ]


def test_a_slip_of_the_pen_in_a_domain_is_no_evidence() -> None:
    results = rendered(CONFIG, workload("{packDomain: rak}")).results

    assert "revision-contradicted" not in [result.tags["rule"] for result in results]


def test_where_a_release_is_named_every_unknown_field_is_an_error() -> None:
    results = rendered(named("grep-244"), workload("{topologyName: a, pack: {required: rack}}")).results

    assert {(result.tags["rule"], result.field.path) for result in results if result.field is not None} == {
        ("topology-domain-unknown", "spec.template.topologyConstraint.packDomain"),
        ("unknown-field", "spec.template.topologyConstraint.pack"),
        ("unknown-field", "spec.template.topologyConstraint.topologyName"),
        ("workload-schema", "spec.template.topologyConstraint.packDomain"),
    }


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: grove-operator}
spec:
  template:
    spec:
      containers:
      - {name: operator, image: "ghcr.io/ai-dynamo/grove/grove-operator:v0.1.0-alpha.13"}
"""
HELM_RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: grove}
spec:
  chart:
    spec: {chart: grove-charts, version: 0.1.0-alpha.13}
"""
VALUES = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: operators}
spec:
  values:
    image: {repository: ghcr.io/ai-dynamo/grove/grove-operator, tag: v0.1.0-alpha.13}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: grove}
spec:
  source: {repoURL: ghcr.io/ai-dynamo/grove, chart: grove-charts, targetRevision: v0.1.0-alpha.13}
"""
OCI_REPOSITORY = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: grove}
spec:
  url: oci://ghcr.io/ai-dynamo/grove/grove-charts
  ref: {tag: v0.1.0-alpha.13}
"""
KUSTOMIZATION = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
images:
- {name: ghcr.io/ai-dynamo/grove/grove-operator, newTag: v0.1.0-alpha.13}
"""


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (DEPLOYMENT, "Deployment grove-operator spec.template.spec.containers[0].image"),
        (HELM_RELEASE, "HelmRelease grove spec.chart.spec.version"),
        (VALUES, "HelmRelease operators spec.values.image.tag"),
        (APPLICATION, "Application grove spec.source.targetRevision"),
        (OCI_REPOSITORY, "OCIRepository grove spec.ref.tag"),
        (KUSTOMIZATION, "Kustomization images[0].newTag"),
    ],
)
def test_a_release_that_is_deployed_is_offered(text: str, where: str) -> None:
    found = rendered(CONFIG, WORKLOAD, text)

    assert lines(found.results) == [
        f"warning: {where}: the release of Grove is not set: packwise assumed "
        '"grep-244-multi", but this object deploys Grove v0.1.0-alpha.13. If your cluster runs this release, set '
        "`revision: v0.1.0-alpha.13` in a TopologyRender [revision-unnamed]"
    ]
    assert found.generated


@pytest.mark.parametrize(
    "text",
    [
        DEPLOYMENT.replace("grove-operator:", "grove-operator:v9.").replace("/grove", "/grove"),
        DEPLOYMENT.replace("grove/grove-operator", "other"),
        DEPLOYMENT.replace(":v0.1.0-alpha.13", "@sha256:0123"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: grove}\ndata: {image: 'grove:v0.1.0-alpha.13'}\n",
    ],
)
def test_what_deploys_no_known_release_is_no_evidence(text: str) -> None:
    assert lines(rendered(CONFIG, WORKLOAD, text).results) == [DESIGN_ASSUMED.format("topologyAwareScheduling")]


def test_an_error_names_the_release_that_is_deployed() -> None:
    results = rendered(CONFIG, workload("{pack: {required: rack}}"), DEPLOYMENT).results

    assert lines(results) == [
        "error: PodCliqueSet shop/web spec.template.topologyConstraint.pack: only v0.1.0-alpha.10 and later "
        f"releases have this field, but {ASSUMED}; set `revision: v0.1.0-alpha.13` in a TopologyRender, the release "
        "that <stdin>:1:1 Deployment grove-operator deploys [revision-contradicted]"
    ]


def test_an_older_release_that_is_deployed_is_no_advice() -> None:
    older = DEPLOYMENT.replace("alpha.13", "alpha.9")
    results = rendered(CONFIG, workload("{pack: {required: rack}}"), older).results

    assert [SET in result.message for result in results] == [True]


def test_a_release_that_is_named_is_not_contradicted_by_what_is_deployed() -> None:
    assert "revision-unnamed" not in str(rendered(named("grep-244"), WORKLOAD, DEPLOYMENT).results)


def test_a_podgangmap_tells_that_podgangs_are_made_of_it() -> None:
    text = "apiVersion: grove.io/v1alpha1\nkind: PodGangMap\nmetadata: {name: web-0, namespace: shop}\n"

    assert lines(rendered(CONFIG, WORKLOAD, text).results) == [
        (
            "warning: PodGangMap shop/web-0 kind: only v0.1.0-alpha.12 and later releases have this kind, but "
            f"{ASSUMED}; {SET} [revision-unnamed]"
        )
    ]


def test_a_binding_chooses_upstream_which_later_fields_contradict() -> None:
    binding = (
        "apiVersion: grove.io/v1alpha1\nkind: ClusterTopologyBinding\nmetadata: {name: gb200}\n"
        "spec: {levels: [{domain: rack, key: example.com/rack}]}\n"
    )
    text = workload("{topologyName: gb200, pack: {required: rack}}", rolling=ROLLING)
    found = rendered(binding, text.replace("name: web # short", "name: web\n  labels: {kai.scheduler/queue: q}"))

    assert [result.tags["rule"] for result in found.results] == ["binding-reference", "revision-contradicted"]
    assert 'packwise assumed "upstream"' in found.results[1].message
    assert found.selection is not None
    assert found.selection.chosen_by == "a ClusterTopologyBinding in the input"


CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: podcliquesets.grove.io}
spec:
  group: grove.io
  names: {kind: PodCliqueSet, plural: podcliquesets}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              template:
                type: object
                x-kubernetes-preserve-unknown-fields: true
                properties:
                  cliques:
                    type: array
                    maxItems: 8
                    items:
                      type: object
                      x-kubernetes-preserve-unknown-fields: true
                      properties:
                        topologyConstraint:
                          type: object
                          x-kubernetes-preserve-unknown-fields: true
                          properties: {packDomain: {type: string}}
                    x-kubernetes-validations:
                    - {rule: "self.all(c, !has(c.topologyConstraint.packDomain))", message: use pack}
"""


def test_the_rules_of_a_later_crd_are_not_held_against_what_the_assumed_release_fills_in() -> None:
    """The webhook of an earlier release adds `packDomain: ""`. No user wrote it."""
    pytest.importorskip("cel_expr_python")
    later = WORKLOAD.replace("    topologyConstraint: {packDomain: rack}\n", "").replace(
        "    - name: router\n",
        "    - name: router\n      topologyConstraint: {topologyName: t, pack: {required: rack}}\n",
    )

    assert [
        result.tags["rule"] for result in rendered(CONFIG, later, CRD).results if result.severity is Severity.ERROR
    ] == ["revision-contradicted"]


GUESSED = (
    f'warning: {{}}: the release of Grove is not set; packwise assumes the newest one, "{NEWEST.name}". Add '
    f"`revision: {NEWEST.name}`, or your cluster's release, to the `spec` of {{}} [revision-unnamed]"
)
EMPTY = CONFIG.partition("  topologyAwareScheduling:")[0] + "  emit: [PodGang]\n"
FREE = WORKLOAD.replace(CONSTRAINT, "").replace(
    "namespace: shop\n", "namespace: shop\n  labels: {kai.scheduler/queue: q}\n"
)


def of_the_release(*texts: str) -> list[str]:
    return [line for line in lines(rendered(*texts).results) if "[revision-" in line]


def test_where_workloads_are_of_a_later_api_the_newest_is_assumed_and_one_warning_says_so() -> None:
    found = rendered(EMPTY, FREE + ROLLING, FREE.replace("name: web", "name: shop"))

    assert of_the_release(EMPTY, FREE + ROLLING, FREE.replace("name: web", "name: shop")) == [
        GUESSED.format("TopologyRender topology spec", "the TopologyRender")
    ]
    assert found.selection is not None
    assert found.selection.revision.name == NEWEST.name


def test_without_a_configuration_the_warning_names_what_to_write() -> None:
    found = rendered(workload("{topologyName: gb200, pack: {required: rack}}", rolling=ROLLING))

    assert [
        line.partition(": the release of Grove is not set")[0] for line in lines(found.results) if "[revision-" in line
    ] == ["warning"]
    assert {result.tags["rule"] for result in found.results} == {"configuration-absent", "revision-unnamed"}


def test_a_release_that_is_named_is_no_guess() -> None:
    assert of_the_release(EMPTY + f"  revision: {NEWEST.name}\n", FREE) == []


def test_an_input_without_workloads_of_grove_needs_no_release() -> None:
    assert of_the_release(EMPTY) == []


@pytest.mark.parametrize(
    ("texts", "revision", "reason"),
    [
        (
            (CONFIG, FREE.replace("  template:\n", "  template:\n    clusterTopologyName: west\n")),
            "grep-244-multi",
            "the key topologyAwareScheduling",
        ),
        (
            (FREE.replace("  template:\n", "  template:\n    clusterTopologyName: west\n"),),
            "grep-244-multi",
            "the key clusterTopologyName",
        ),
        (
            ("apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {name: west}\n", FREE),
            "grep-244-multi",
            "a ClusterTopology in the input",
        ),
        (
            (CONFIG, FREE.replace("  template:\n", "  template:\n    resourceClaimTemplates: []\n")),
            "v0.1.0-alpha.8",
            "levels in the configuration, and resourceClaimTemplates",
        ),
    ],
)
def test_own_fields_of_a_design_show_it(texts: tuple[str, ...], revision: str, reason: str) -> None:
    found = rendered(*texts)

    assert found.selection is not None
    assert (found.selection.revision.name, found.selection.chosen_by) == (revision, reason)
    assert "release of Grove is not set" not in str(found.results)


MNNVL = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: web, namespace: shop, annotations: {grove.io/mnnvl-group: a}}
spec:
  replicas: 1
  template:
    topologyConstraint: {topologyName: t, pack: {required: rack}}
    cliques:
    - name: router
      spec: {roleName: router, replicas: 1, podSpec: {containers: [{name: router, image: x}]}}
"""


def test_what_only_the_operators_configuration_tells_is_no_error_where_the_release_is_assumed() -> None:
    """No file shows if MNNVL is enabled."""
    rules = {result.tags["rule"] for result in rendered(MNNVL).results}

    assert "revision-unnamed" in rules
    assert "mnnvl-group-feature" not in rules
    assert "mnnvl-group-feature" in {result.tags["rule"] for result in rendered(named(NEWEST.name), MNNVL).results}


NO_LEVELS = EMPTY + "  topologyAwareScheduling: {enabled: true}\n"
DESIGNS_DOMAIN = workload("{packDomain: rack}")
GRAPH = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: llm, namespace: shop}
spec:
  components:
  - name: worker
    type: worker
    podTemplate: {spec: {containers: [{name: main, image: "example.com/runtime:1.6.0"}]}}
"""


@pytest.mark.parametrize("configuration", [EMPTY, NO_LEVELS])
@pytest.mark.parametrize("text", [FREE, GRAPH])
def test_where_nothing_shows_a_release_the_newest_is_assumed_and_one_warning_says_so(
    configuration: str, text: str
) -> None:
    found = rendered(configuration, text)

    assert of_the_release(configuration, text) == [GUESSED.format("TopologyRender topology spec", "the TopologyRender")]
    assert found.selection is not None
    assert (found.selection.revision.name, found.selection.chosen_by) == (NEWEST.name, "the default")


def test_without_a_configuration_the_warning_names_what_to_write_for_any_workload() -> None:
    assert [line.partition(f'"{NEWEST.name}". ')[2] for line in of_the_release(FREE)] == [
        f"Add `revision: {NEWEST.name}`, or your cluster's release, to the `spec` of a TopologyRender "
        "[revision-unnamed]"
    ]


BINDING_ALONE = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: t}
spec: {levels: [{domain: rack, key: example.com/rack}]}
"""


@pytest.mark.parametrize(
    "texts",
    [
        (NO_LEVELS,),
        (DEPLOYMENT,),
        (BINDING_ALONE, DEPLOYMENT),
        ("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n",),
    ],
)
def test_no_release_is_asked_for_where_nothing_is_checked_by_one(texts: tuple[str, ...]) -> None:
    assert of_the_release(*texts) == []


def test_a_release_that_is_deployed_and_assumed_is_told_by_what_deploys_it() -> None:
    assert of_the_release(FREE, DEPLOYMENT.replace("v0.1.0-alpha.13", NEWEST.name)) == []


def test_a_release_that_is_deployed_is_offered_in_the_place_of_the_newest() -> None:
    (line,) = of_the_release(FREE, DEPLOYMENT)

    assert "deploys Grove v0.1.0-alpha.13" in line
    assert f'packwise assumed "{NEWEST.name}"' in line


def test_a_domain_in_the_designs_field_shows_the_design() -> None:
    found = rendered(DESIGNS_DOMAIN)

    assert found.selection is not None
    assert (found.selection.revision.name, found.selection.chosen_by) == ("grep-244-multi", "the key packDomain")
    assert of_the_release(DESIGNS_DOMAIN) == [
        DESIGN_ASSUMED.format("packDomain")
        .replace("the Topo", "a Topo", 1)
        .replace("warning: TopologyRender topology spec: ", "warning: ")
    ]


def test_levels_without_a_release_show_no_design_of_their_own() -> None:
    """Releases have this key too. No workload names a topology, which only the design permits."""
    found = rendered(CONFIG, FREE)

    assert found.selection is not None
    assert (found.selection.revision.name, found.selection.chosen_by) == (
        "grep-244-multi",
        "the key topologyAwareScheduling",
    )
    assert of_the_release(CONFIG, FREE) == [DESIGN_ASSUMED.format("topologyAwareScheduling")]
    assert of_the_release(calling.CONFIG, FREE) == []
    assert of_the_release(named("v0.1.0-alpha.8"), FREE) == []
    assert of_the_release(CONFIG) == []


ASSUMES = f'; Grove "{NEWEST.name}" is assumed'
LATER_WRONG = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: web, namespace: shop, labels: {kai.scheduler/queue: q}}
spec:
  replicas: 1
  updateStrategy: {type: Rolling}
  template:
    shedule: none
    clusterTopologyNam: a
    cliques:
    - name: router
      rollingUpdate: {maxUnavailable: 0}
      spec:
        roleName: router
        replicas: -1
        podSpec: {schedulerName: other, containers: [{name: router, image: x, comand: [a]}]}
"""


def test_findings_that_another_release_might_not_give_say_that_they_rest_on_the_assumed_one() -> None:
    said = {
        (
            result.tags["rule"],
            None if result.field is None else result.field.path.rpartition(".")[2],
        ): result.message.endswith(ASSUMES)
        for result in rendered(LATER_WRONG).results
        if result.severity is Severity.ERROR
    }

    assert said == {
        ("workload-schema", "type"): True,
        ("unknown-field", "shedule"): False,
        ("unknown-field", "clusterTopologyNam"): False,
        ("unknown-field", "comand"): False,
        ("rolling-update-max", "maxUnavailable"): True,
        ("scheduler-enabled", "schedulerName"): True,
        ("clique-replicas", "replicas"): False,
        ("clique-min-available-max", "minAvailable"): False,
    }


def test_no_finding_rests_on_a_release_that_is_named() -> None:
    assert ASSUMES not in str(rendered(EMPTY + f"  revision: {NEWEST.name}\n", LATER_WRONG).results)


def test_the_operators_text_stays_as_it_is() -> None:
    texts = [result.tags.get("operatorMessage", "") for result in rendered(LATER_WRONG).results]

    assert not any("assumed" in text for text in texts)


SCHEDULED = EMPTY + "  scheduler: {{profiles: [{{name: {}, default: true}}]}}\n"


def schedulers(found: Rendered) -> set[object]:
    assert found.scheduled is not None
    return {each.node.scheduler for each in found.scheduled.placements if isinstance(each.node, Gang)}


@pytest.mark.parametrize("revision", ["", f"  revision: {NEWEST.name}\n"])
@pytest.mark.parametrize("name", ["kai-scheduler", "default-scheduler"])
def test_the_schedulers_of_the_settings_count_also_without_a_topology(name: str, revision: str) -> None:
    assert schedulers(rendered(SCHEDULED.format(name) + revision, FREE)) == {name}


def test_the_network_of_the_settings_counts_also_without_a_topology() -> None:
    """If the settings disable MNNVL, a request for it is reported even if the release is assumed."""
    off, on = [
        {result.tags["rule"] for result in rendered(f"{EMPTY}  network: {{autoMNNVLEnabled: {flag}}}\n", MNNVL).results}
        for flag in ("false", "true")
    ]

    assert "mnnvl-group-feature" in off
    assert "mnnvl-group-feature" not in on
