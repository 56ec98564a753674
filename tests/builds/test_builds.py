"""Charts and kustomizations that the real programs build: their output, findings at the templates, and confinement."""

from __future__ import annotations

import http.server
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from packwise.build import charts, kustomizations
from packwise.build.builder import Builder, Built
from packwise.build.confinement import Bounds, run
from packwise.build.deliveries import deliver, repository_of
from packwise.build.tree import DiskTree
from tests.builds.planning import QUEUE, URL, application
from tests.cli.calling import Call, write

pytestmark = pytest.mark.client

EACH_HELM = pytest.mark.parametrize("helm", ["v3.22.0", "v4.3.1"], indirect=True)

TOPOLOGY = f"""\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {{name: prod}}
spec:
  revision: v0.1.0-alpha.8
  topologyAwareScheduling:
    enabled: true
    levels:
      - {{domain: zone, key: topology.kubernetes.io/zone}}
      - {{domain: rack, key: example.com/rack}}
---
{QUEUE}"""
TEMPLATE = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata:
  name: {{ .Release.Name }}
  labels:
    kai.scheduler/queue: {{ .Values.queue }}
spec:
  replicas: 1
  template:
    topologyConstraint:
      packDomain: {{ .Values.domain }}
    cliques:
      - name: worker
        spec:
          roleName: worker
          replicas: {{ .Values.replicas }}
          podSpec:
            schedulerName: kai-scheduler
            containers:
              - name: main
                image: vllm
                resources:
                  limits:
                    nvidia.com/gpu: {{ .Values.gpus | quote }}
"""
CHART = {
    "charts/llm/Chart.yaml": "apiVersion: v2\nname: llm\nversion: 0.1.0\n",
    "charts/llm/values.yaml": 'replicas: 2\nqueue: research\ndomain: rack\ngpus: "8"\n',
    "charts/llm/templates/pcs.yaml": TEMPLATE,
    "charts/llm/templates/tests/test.yaml": (
        'apiVersion: v1\nkind: Pod\nmetadata:\n  name: t\n  annotations: {"helm.sh/hook": test}\n'
    ),
}
BASE = (
    TEMPLATE.replace("{{ .Release.Name }}", "base")
    .replace("{{ .Values.queue }}", "research")
    .replace("{{ .Values.replicas }}", "2")
    .replace("{{ .Values.gpus | quote }}", '"8"')
)
KUSTOMIZATION = {
    "kust/base/pcs.yaml": BASE.replace("{{ .Values.domain }}", "TODO"),
    "kust/base/kustomization.yaml": "resources: [pcs.yaml]\n",
    "kust/dev/kustomization.yaml": (
        "resources: [../base]\nnamespace: dev\npatches:\n- target: {kind: PodCliqueSet}\n  patch: |\n"
        "    - {op: replace, path: /spec/template/topologyConstraint/packDomain, value: rack}\n"
    ),
}


@pytest.fixture(autouse=True)
def _programs(helm: Path, kustomize: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the real programs first on PATH. Each test has a separate cache, and a repository around its folder."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(helm.parent), str(kustomize.parent), os.environ["PATH"]]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path.parent / f"{tmp_path.name}-cache"))
    caches = (charts.helm, kustomizations.kustomize, kustomizations._kustomize_with)  # pyright: ignore[reportPrivateUsage]
    for each in caches:
        each.cache_clear()
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True)
    subprocess.run(["git", "-C", str(tmp_path), "remote", "add", "origin", URL], check=True)
    yield
    for each in caches:
        each.cache_clear()


def builds(folder: Path, *failing: str) -> list[Built]:
    tree = DiskTree(str(folder), "")
    delivered = deliver(repository_of(tree, [URL], ["main"]), Builder(tree), lambda _: True)
    assert [each for each in delivered.unbuilt if each.folder not in failing] == []
    return list(delivered.built)


def output(folder: Path, *words: str) -> str:
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout


@EACH_HELM
def test_builds_are_those_of_the_programs_by_hand(tmp_path: Path) -> None:
    helm = {"valueFiles": ["prod.yaml"], "parameters": [{"name": "gpus", "value": "4", "forceString": True}]}
    owned = {"charts/llm/prod.yaml": "replicas: 3\n", "apps/a.yaml": application({"helm": helm})}
    write(
        tmp_path,
        CHART | KUSTOMIZATION | owned | {"charts/own/Chart.yaml": "apiVersion: v2\nname: own\nversion: 1.0.0\n"},
    )
    write(tmp_path, {"charts/own/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})

    charts_of_kustomization = {
        "kust/helm/kustomization.yaml": "helmCharts:\n- {name: llm, releaseName: x, valuesInline: {replicas: 4}}\n",
        **{name.replace("charts/", "kust/helm/charts/"): content for name, content in CHART.items()},
    }
    write(tmp_path, charts_of_kustomization)

    outputs = {each.delivery.owner.title: each.output for each in builds(tmp_path, "kust/helm")}

    words = ("helm", "template", "charts/llm", "--name-template=llm", "--namespace=team-a", "--include-crds")
    assert outputs["Application argocd/llm"] == output(
        tmp_path, *words, "--values=charts/llm/prod.yaml", "--set-string=gpus=4"
    )
    assert outputs["chart charts/own"] == output(tmp_path, "helm", "template", "own", "charts/own", "--include-crds")
    assert outputs["kustomization kust/dev"] == output(tmp_path, "kustomize", "build", "kust/dev")
    if "v3" in output(tmp_path, "helm", "version", "--short"):
        # kustomize v5.8.2 itself does not know Helm 4.
        build = output(tmp_path, "kustomize", "build", "--enable-helm", "kust/helm")
        assert outputs["kustomization kust/helm"] == build
    assert len(outputs) in (3, 4)


def test_of_two_equal_keys_of_a_kustomization_the_last_one_is_built(tmp_path: Path) -> None:
    twice = "resources: [none.yaml]\nnamePrefix: a-\nnamePrefix: b-\nresources: [map.yaml]\n"
    write(tmp_path, {"kust/kustomization.yaml": twice})
    write(tmp_path, {"kust/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n"})

    (built,) = builds(tmp_path)

    assert built.output == output(tmp_path, "kustomize", "build", "kust")
    assert "name: b-m" in built.output


def test_an_error_of_kustomize_comes_without_its_warnings(call: Call, tmp_path: Path) -> None:
    deprecated = "commonLabels: {a: b}\nresources: [map.yaml]\n"
    failing = "replacements: [{source: {kind: Secret, name: none}, targets: [{select: {kind: ConfigMap}}]}]\n"
    write(tmp_path, {"kust/kustomization.yaml": deprecated + failing})
    write(tmp_path, {"kust/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n"})

    ran = call("check", ".", "--build")

    assert ran.code == 1
    assert "packwise cannot build it: kustomize fails: nothing selected by Secret.[noVer].[noGrp]/none" in ran.stdout


_POD = """\
schedulerName: kai-scheduler
restartPolicy: Never
containers:
- name: main
  image: a
  resources: {limits: {nvidia.com/gpu: "{{ .Values.gpus }}"}}
"""
_METADATA = """\
metadata:
  name: {{ .Release.Name }}
  labels:
    kai.scheduler/queue: {{ .Values.queue }}
  annotations:
    kai.scheduler/topology: cluster
    kai.scheduler/topology-required-placement: {{ .Values.level }}
"""


def _workload(version: str, kind: str, *steps: str) -> str:
    lines = [f"apiVersion: {version}\nkind: {kind}\n{_METADATA}"]
    for depth, step in enumerate(steps):
        lines.append(f"{'  ' * depth}{step}:\n")
    indent = "  " * len(steps)
    return "".join([*lines, *[f"{indent}{line}\n" for line in _POD.splitlines()]])


TEMPLATES = {
    "pcs": TEMPLATE,
    "job": _workload("batch/v1", "Job", "spec", "template", "spec"),
    "lws": _workload(
        "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "spec", "leaderWorkerTemplate", "workerTemplate", "spec"
    ),
    "fixed": _workload("batch/v1", "Job", "spec", "template", "spec").replace("{{ .Release.Name }}", "fixed"),
}
RIGHT = {"replicas": "2", "queue": "research", "domain": "rack", "level": "example.com/rack", "gpus": "8"}
WRONG = {"domain": {"domain": "rak", "level": "example.com/rak"}, "queue": {"queue": "reserch"}, "gpus": {"gpus": "-1"}}
REPORTED = {
    "domain": r"topologyConstraint\.packDomain|topology-required-placement",
    "queue": r"metadata\.labels\[kai\.scheduler/queue\]",
    "gpus": r"resources\.limits\[nvidia\.com/gpu\]",
}
PLACES = {
    "domain": r"packDomain: |topology-required-placement: ",
    "queue": r"kai\.scheduler/queue: ",
    "gpus": r"nvidia\.com/gpu: ",
}
KAI_TOPOLOGY = """\
---
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: cluster}
spec: {levels: [{nodeLabel: topology.kubernetes.io/zone}, {nodeLabel: example.com/rack}]}
"""


def test_twelve_wrong_charts_are_each_reported_at_their_template(call: Call, tmp_path: Path) -> None:
    for kind, template in TEMPLATES.items():
        for wrong, values in WRONG.items():
            folder, own = f"charts/{kind}-{wrong}", RIGHT | values
            write(
                tmp_path,
                {
                    f"{folder}/Chart.yaml": f"apiVersion: v2\nname: {kind}-{wrong}\nversion: 0.1.0\n",
                    f"{folder}/values.yaml": "".join([f"{key}: '{value}'\n" for key, value in own.items()]),
                    f"{folder}/templates/w.yaml": template,
                },
            )
    write(tmp_path, {"topology.yaml": TOPOLOGY + KAI_TOPOLOGY})

    ran = call("check", ".", "--build", "-v")

    findings = [line for line in ran.stdout.splitlines() if line.startswith(("error: charts/", "warning: charts/"))]
    missing: list[str] = []
    for kind, template in TEMPLATES.items():
        for wrong in WRONG:
            lines = [number for number, line in enumerate(template.splitlines(), 1) if re.search(PLACES[wrong], line)]
            places = [f"charts/{kind}-{wrong}/templates/w.yaml:{number}: " for number in lines]
            of_chart = [line for line in findings if any(place in line for place in places)]
            if not any(re.search(REPORTED[wrong], line) for line in of_chart):
                missing.append(f"{kind}-{wrong}")
    assert missing == []
    assert all("; built by chart charts/" in line for line in findings)


def test_findings_name_the_owner_and_the_values_files(call: Call, tmp_path: Path) -> None:
    sources = "  sources:\n    - {chart: charts/llm, values: [prod.yaml], set: {gpus: 4}}\n"
    topology = TOPOLOGY.replace("---\n", f"{sources}---\n")
    write(tmp_path, CHART | {"topology.yaml": topology, "prod.yaml": "domain: rak\n"})

    ran = call("check", ".", "--build")

    assert "charts/llm/templates/pcs.yaml:11: PodCliqueSet default/llm spec.template." in ran.stdout
    assert "; built by TopologyRender prod: llm with prod.yaml, gpus=4 [" in ran.stdout


def test_what_is_delivered_is_checked_and_what_a_build_reads_is_not(call: Call, tmp_path: Path) -> None:
    write(tmp_path, CHART | KUSTOMIZATION | {"topology.yaml": TOPOLOGY})

    assert "TODO" in call("check", ".").stdout
    ran = call("check", ".", "--build")

    assert ran.stdout == ""
    assert (ran.code, ran.stderr.splitlines()[-1]) == (
        0,
        "no findings in 4 files; 2 workloads checked with Grove v0.1.0-alpha.8 (topology.yaml); 2 sources built",
    )


def test_one_chart_delivered_twice_is_checked_twice(call: Call, tmp_path: Path) -> None:
    apps = [
        application({"helm": {"values": f"domain: {domain}"}}, name=name)
        for name, domain in (("good", "rack"), ("bad", "rak"))
    ]
    write(tmp_path, CHART | {"topology.yaml": TOPOLOGY, "apps/a.yaml": "---\n".join(apps)})

    ran = call("check", ".", "--build")

    errors = [line for line in ran.stdout.splitlines() if line.startswith("error:")]
    assert [line.split(" ")[3] for line in errors] == ["team-a/bad"]


def test_sources_that_are_not_built_are_counted_and_an_error_where_all_must_be(call: Call, tmp_path: Path) -> None:
    remote = application({"chart": "redis", "repoURL": "https://charts.example.com"}, name="redis")
    write(tmp_path, CHART | {"topology.yaml": TOPOLOGY, "apps/a.yaml": remote})

    ran = call("check", ".", "--build")
    required = call("check", ".", "--require-build")

    assert (ran.code, ran.stderr.splitlines()[-1].endswith("1 source built, 1 not built: 1 remote chart")) == (0, True)
    assert required.code == 1
    assert (
        "apps/a.yaml:1:1: Application argocd/redis: packwise did not build it (remote chart): chart redis"
    ) in required.stdout


@EACH_HELM
def test_go_templates_of_sets_and_apps_of_apps(tmp_path: Path) -> None:
    template = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": "set", "namespace": "argocd"},
        "spec": {
            "goTemplate": True,
            "generators": [{"git": {"repoURL": URL, "files": [{"path": "teams/*.yaml"}]}}],
            "template": {
                "metadata": {"name": "llm-{{ .team | lower }}"},
                "spec": {
                    "destination": {"namespace": "team-{{ .path.basename }}", "name": "in-cluster"},
                    "source": {"repoURL": URL, "path": "charts/llm", "helm": {"values": "gpus: '{{ .gpus }}'"}},
                },
            },
        },
    }
    root = application({"path": "apps", "directory": {"recurse": True}}, name="root")
    write(tmp_path, CHART | {"root.yaml": root, "apps/set.yaml": json.dumps(template)})
    write(tmp_path, {"teams/a.yaml": "team: Blue\ngpus: 4\n", "teams/b.yaml": "- {team: Red, gpus: 2}\n"})

    outputs = {each.delivery.owner.title: each.output for each in builds(tmp_path)}

    assert list(outputs) == ["Application argocd/root", "Application argocd/llm-blue", "Application argocd/llm-red"]
    assert 'nvidia.com/gpu: "4"' in outputs["Application argocd/llm-blue"]
    assert 'nvidia.com/gpu: "2"' in outputs["Application argocd/llm-red"]


NODES = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {example.com/rack: r1, topology.kubernetes.io/zone: z}}
status: {allocatable: {cpu: "64", memory: 512Gi, nvidia.com/gpu: "16", pods: "110"}}
"""


def test_a_change_of_a_values_file_is_compared_explained_and_placed(call: Call, tmp_path: Path) -> None:
    app = application({"helm": {"valueFiles": ["prod.yaml"]}})
    write(tmp_path, CHART | {"topology.yaml": TOPOLOGY, "apps/a.yaml": app, "charts/llm/prod.yaml": "replicas: 2\n"})
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "a"], check=True)
    write(tmp_path, {"charts/llm/prod.yaml": "replicas: 3\n"})
    (tmp_path.parent / "nodes.yaml").write_text(NODES, encoding="utf-8")

    compared = call("diff", "git:HEAD", ".", "--build")
    commented = call("comment", ".", "--build", "--baseline", "git:HEAD")
    explained = call("explain", ".", "--build")
    placed = call("place", ".", "--build", "--nodes", "../nodes.yaml")

    assert "spec.podgroups[llm-0-worker].minReplicas: 2 → 3" in compared.stdout
    assert "; built by Application argocd/llm with charts/llm/prod.yaml [update-" in compared.stdout
    assert "llm-0-worker" in commented.stdout
    assert "llm-0-worker" in explained.stdout
    assert "team-a/llm-0 (queue research): does not fit" in placed.stdout
    assert placed.stderr.endswith("1 source built\n")


def test_a_changed_values_file_reaches_the_release_that_reads_it(call: Call, tmp_path: Path) -> None:
    apps = {
        f"apps/{name}.yaml": application({"helm": {"valueFiles": [f"{name}.yaml"]}}, name=name)
        for name in ("east", "west")
    }
    values = {f"charts/llm/{name}.yaml": "domain: rak\n" for name in ("east", "west")}
    write(tmp_path, CHART | apps | values | {"topology.yaml": TOPOLOGY})
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "a"], check=True)
    write(tmp_path, {"charts/llm/west.yaml": "domain: rakk\n", "apps/a.yaml": application({}, name="another")})

    ran = call("check", ".", "--build", "--changed-since", "HEAD")

    errors = [line for line in ran.stdout.splitlines() if line.startswith("error: ")]
    assert [line.partition(" spec")[0] for line in errors] == [
        "error: charts/llm/templates/pcs.yaml:11: PodCliqueSet team-a/west"
    ]


def test_variables_are_put_into_releases_and_values_before_these_are_read(call: Call, tmp_path: Path) -> None:
    kustomization = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  path: ./apps
  targetNamespace: team-b
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild: {substitute: {domain: rak, count: "5"}}
"""
    release = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: llm}
spec:
  chart: {spec: {chart: charts/llm, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}
  valuesFrom: [{kind: ConfigMap, name: values}]
  values:
    replicas: ${count}
"""
    values = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values}\ndata: {values.yaml: 'domain: ${domain}'}\n"
    files = {"clusters/ks.yaml": kustomization, "apps/release.yaml": release, "apps/values.yaml": values}
    write(tmp_path, CHART | files | {"topology.yaml": TOPOLOGY})

    outputs = {each.delivery.owner.title: each.output for each in builds(tmp_path)}
    ran = call("check", ".", "--build")

    assert list(outputs) == ["Kustomization flux-system/apps", "HelmRelease team-b/llm"]
    assert "packDomain: rak\n" in outputs["HelmRelease team-b/llm"]
    assert "replicas: 5\n" in outputs["HelmRelease team-b/llm"]
    assert "pcs.yaml:11: PodCliqueSet team-b/team-b-llm spec." not in ran.stdout
    assert "charts/llm/templates/pcs.yaml:11: PodCliqueSet team-b/llm spec.template." in ran.stdout


def test_the_last_of_several_sources_counts(call: Call, tmp_path: Path) -> None:
    one = {"repoURL": URL, "path": "charts/llm", "helm": {"values": "domain: rak"}}
    other = {"repoURL": URL, "path": "charts/llm", "helm": {"values": "domain: rack"}}

    def errors(*sources: Mapping[str, object]) -> int:
        write(tmp_path, CHART | {"topology.yaml": TOPOLOGY, "apps/a.yaml": application({}, sources=list(sources))})
        return call("check", ".", "--build").stdout.count("error: ")

    assert errors(one, other) == 0
    assert errors(other, one) == 1


def test_the_nearest_configuration_of_the_owner_counts(call: Call, tmp_path: Path) -> None:
    other = TOPOLOGY.replace("domain: rack", "domain: block")
    app = {"clusters/west/app.yaml": application({})}
    write(tmp_path, CHART | app | {"clusters/west/topology.yaml": other, "charts/topology.yaml": TOPOLOGY})

    assert (
        'must be a level of ClusterTopology "grove-topology": "zone", "block"' in call("check", ".", "--build").stdout
    )

    (tmp_path / "clusters/west/topology.yaml").rename(tmp_path / "clusters/elsewhere.txt")
    assert "error: " not in call("check", ".", "--build").stdout


def test_what_helm_prints_is_compared_as_the_page_says(call: Call, tmp_path: Path) -> None:
    """The page is docs/how-to/beside-other-tools.md."""
    write(tmp_path, CHART | {"topology.yaml": TOPOLOGY})
    words = ("helm", "template", "llm", "charts/llm", "--skip-tests", "--set=replicas=2")
    (tmp_path / "before.yaml").write_text(output(tmp_path, *words), encoding="utf-8")
    after = output(tmp_path, *words[:-1], "--set=replicas=3")

    ran = call("diff", "before.yaml", "-", "--config", "topology.yaml", stdin=after)

    assert "spec.podgroups[llm-0-worker].minReplicas: 2 → 3" in ran.stdout


HOSTILE = {
    "an endless loop": ("{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}", "seconds"),
    "much memory": ("{{ range until 1000000 }}{{ range until 100000 }}{{ end }}{{ end }}", ""),
    "much output": ('{{ repeat 3000000 "x" }}', "writes more than 1 MiB"),
    "a template in itself": (
        '{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}',
        "nested",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_chart_is_stopped_with_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    body, expected = HOSTILE[name]
    small = Bounds(processor_seconds=2, seconds=5, memory=300 << 20, output=1 << 20)
    monkeypatch.setattr(charts, "BOUNDS", small)
    write(tmp_path, {"c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "c/templates/a.yaml": f"a: {body}\n"})
    tree = DiskTree(str(tmp_path), "")

    delivered = deliver(repository_of(tree, [], []), Builder(tree), lambda _: True)

    (unbuilt,) = delivered.unbuilt
    assert expected in unbuilt.reason
    assert any(each in unbuilt.reason for each in ("needs more than", "runs longer than", "writes more than", "nested"))
    assert len(unbuilt.reason) < 2100


def test_a_kustomization_that_prints_too_much_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kustomizations, "run", partial(run, bounds=Bounds(output=1 << 20)))
    large = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{a: {'x' * (2 << 20)}}}\n"
    write(tmp_path, {"k/kustomization.yaml": "resources: [a.yaml]\n", "k/a.yaml": large})
    tree = DiskTree(str(tmp_path), "")

    delivered = deliver(repository_of(tree, [], []), Builder(tree), lambda _: True)

    (unbuilt,) = delivered.unbuilt
    assert unbuilt.reason == "kustomize writes more than 1 MiB"


class _Asked(http.server.BaseHTTPRequestHandler):
    requests: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.requests.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")


@EACH_HELM
@pytest.mark.parametrize("is_known", [True, False])
def test_a_chart_reaches_no_network_and_no_file_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    """This holds even for references that packwise does not know, because the program itself is confined."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Asked)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    secret = tmp_path.parent / "secret.json"
    secret.write_text('{"type": "object"}', encoding="utf-8")
    if not is_known:
        monkeypatch.setattr(charts, "_REFERENCE", re.compile("(?!)"))
    for number, reference in enumerate((f"http://127.0.0.1:{server.server_port}/x", f"file://{secret}")):
        chart = {f"c{number}/Chart.yaml": f"apiVersion: v2\nname: c{number}\nversion: 1.0.0\n"}
        schema = {f"c{number}/values.schema.json": json.dumps({"$ref": reference})}
        write(tmp_path, chart | schema | {f"c{number}/templates/a.yaml": "a: b\n", f"c{number}/values.yaml": "a: 1\n"})
    tree = DiskTree(str(tmp_path), "")

    delivered = deliver(repository_of(tree, [], []), Builder(tree), lambda _: True)
    server.shutdown()

    program, _ = charts.helm()
    if is_known or (program.confinement.landlock and program.confinement.wrapper):
        assert delivered.built == ()
        assert _Asked.requests == []


def test_nothing_runs_that_a_repository_names(tmp_path: Path) -> None:
    marker = tmp_path.parent / "ran"
    write(tmp_path, CHART | {"run.sh": f"#!/bin/sh\ntouch {marker}\n"})
    (tmp_path / "run.sh").chmod(0o755)
    helm = {"releaseName": f"--post-renderer={tmp_path}/run.sh"}
    write(tmp_path, {"apps/a.yaml": application({"helm": helm})})
    tree = DiskTree(str(tmp_path), "")

    delivered = deliver(repository_of(tree, [URL], []), Builder(tree), lambda _: True)

    assert not marker.exists()
    assert delivered.built == ()
    assert "invalid release name" in delivered.unbuilt[0].reason


def test_what_a_chart_of_applications_delivers_is_not_built_alone(call: Call, tmp_path: Path) -> None:
    source = {"path": "charts/llm", "repoURL": URL, "helm": {"valuesObject": {"domain": "rak"}}}
    files = {
        "apps/Chart.yaml": "apiVersion: v2\nname: apps\nversion: 0.1.0\n",
        "apps/templates/llm.yaml": application(source),
        "apps/templates/plugin.yaml": application({"path": "kust/dev", "plugin": {"name": "cdk"}}, "plugin"),
        "topology.yaml": TOPOLOGY,
    }
    write(tmp_path, CHART | KUSTOMIZATION | files)

    ran = call("check", ".", "--build", "-v")

    assert "built by Application argocd/llm with valuesObject" in ran.stdout
    assert "2 sources built, 1 not built: 1 unsupported feature" in ran.stderr


@pytest.mark.parametrize(
    ("required", "named", "is_built"),
    [(">=1.30.0-0", "", True), ("<1.10.0-0", "", False), (">=1.30.0-0", "v1.29.0", None)],
)
def test_a_chart_is_built_for_a_kubernetes_that_it_accepts(
    call: Call, tmp_path: Path, required: str, named: str, is_built: bool | None
) -> None:
    text = f"{CHART['charts/llm/Chart.yaml']}kubeVersion: '{required}'\n"
    helm = {"kubeVersion": named} if named else {}
    write(
        tmp_path,
        CHART | {"charts/llm/Chart.yaml": text, "topology.yaml": TOPOLOGY, "a.yaml": application({"helm": helm})},
    )

    ran = call("check", ".", "--build")

    assert f"; {'1 source' if is_built else '0 sources'} built" in ran.stderr
    # The release of the cluster is unknown, unless the Application names it.
    assert ("source-build" in ran.stdout) is (is_built is None)
