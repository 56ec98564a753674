"""Charts and controllers' sources as packages: built once, checked one by one, and kept in the cache."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from packwise.build import charts, kustomizations
from tests.builds.planning import HELM_RELEASE, QUEUE, URL, application
from tests.builds.test_builds import CHART, KUSTOMIZATION, TOPOLOGY
from tests.cli.calling import CONFIG, WORKLOAD, Call, write
from tests.fleet.trees import KPTFILE

HELM = """\
#!/bin/sh
if [ "$1" = version ]; then echo v3.22.0; exit 0; fi
while read -r key value; do domain=$value; done < values/000.yaml
while IFS= read -r line; do
  case $line in *DOMAIN*) line="    topologyConstraint: {packDomain: $domain}";; esac
  printf '%s\\n' "$line"
done < chart/templates/pcs.yaml
"""
"""A program that fills in one value as Helm does, for tests without Helm."""

TEMPLATE = WORKLOAD.replace("packDomain: rack", "packDomain: DOMAIN").replace("  namespace: shop\n", "")
LLM = {
    "charts/llm/Chart.yaml": "apiVersion: v2\nname: llm\nversion: 0.1.0\n",
    "charts/llm/templates/pcs.yaml": f"# Source: llm/templates/pcs.yaml\n{TEMPLATE}",
    "values/east.yaml": "domain: zone\n",
    "values/west.yaml": "domain: rack\n",
}
APPS = {
    "apps/east.yaml": application({"helm": {"valueFiles": ["/values/east.yaml"]}}, "east"),
    "apps/west.yaml": application({"helm": {"valueFiles": ["/values/west.yaml"]}}, "west"),
}
SHOP = {"topology.yaml": CONFIG} | LLM | APPS


def node(name: str, cpu: str, labels: dict[str, str]) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}},
    }


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make a repository around the test's folder, and a separate cache. Programs are searched again."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path.parent / f"{tmp_path.name}-cache"))
    git(tmp_path, "init", "-q", "-b", "main", ".")
    git(tmp_path, "remote", "add", "origin", URL)
    caches = (charts.helm, kustomizations.kustomize, kustomizations._kustomize_with)  # pyright: ignore[reportPrivateUsage]
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


def git(folder: Path, *words: str) -> None:
    options = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(folder)]
    subprocess.run(["git", *options, *words], check=True, capture_output=True)


def provide(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program with the name helm first on PATH."""
    path = folder.parent / f"{folder.name}-bin/helm"
    path.parent.mkdir(exist_ok=True)
    path.write_text(script, encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")


def directory(path: str, name: str, **spec: object) -> str:
    return application({"path": path, "directory": {}}, name, **spec)


def test_each_application_is_a_package(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provide(tmp_path, HELM, monkeypatch)
    write(tmp_path, SHOP)
    write(tmp_path, {"values/west.yaml": "domain: rak\n"})

    ran = call("fleet", "check", ".", "--build", "--jobs", "2")

    message = (
        "charts/llm/templates/pcs.yaml: PodCliqueSet team-a/web spec.template.topologyConstraint.packDomain: must be "
        'a level of ClusterTopology "grove-topology": "zone", "rack"; got "rak"; did you mean "rack"?; built by '
        "Application argocd/west with values/west.yaml [topology-domain-unknown]"
    )
    lines = [re.sub(r"(pcs\.yaml):\d+", r"\1", line) for line in ran.stdout.splitlines()]
    assert (ran.code, lines) == (
        1,
        [
            "2 packages: 1 failing, 1 passing",
            "  1 error",
            "  2 workloads checked",
            "  2 sources built",
            "",
            "failing: 1 error: apps/west.yaml (Application argocd/west)",
            f"  error: {message}",
        ],
    )


def test_without_builds_the_same_folders_are_packages(call: Call, tmp_path: Path) -> None:
    write(tmp_path, SHOP)

    assert call("fleet", "check", ".").stdout.startswith("1 package: 1 nothing checked\n")


def test_an_unchanged_build_comes_from_the_cache_and_changed_values_do_not(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provide(tmp_path, HELM, monkeypatch)
    write(tmp_path, SHOP)
    first = call("fleet", "check", ".", "--build")
    charts.helm.cache_clear()
    provide(tmp_path, '#!/bin/sh\n[ "$1" = version ] && echo v3.22.0 && exit\necho broken >&2; exit 1\n', monkeypatch)

    again = call("fleet", "check", ".", "--build")
    write(tmp_path, {"values/east.yaml": "domain: rack\n"})
    changed = call("fleet", "check", ".", "--build")

    assert first.code == 0
    assert again == first
    assert changed.stdout.splitlines()[0] == "2 packages: 1 failing, 1 passing"
    assert "apps/east.yaml:11:5: Application argocd/east spec.source: packwise cannot build it: " in changed.stdout


def test_a_changed_values_file_reaches_the_applications_that_use_it(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provide(tmp_path, HELM, monkeypatch)
    write(tmp_path, SHOP)
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "x")
    write(tmp_path, {"values/west.yaml": "domain: zone\n"})

    ran = call("fleet", "diff", ".", "--build", "--changed-since", "git:HEAD", "-o", "json")

    changed = {each["package"]: each["gangs"]["changed"] for each in json.loads(ran.stdout)["packages"]}
    assert changed == {"apps/east.yaml (Application argocd/east)": 0, "apps/west.yaml (Application argocd/west)": 1}


def test_files_of_a_delivery_are_checked_as_delivered_and_the_rest_in_its_folder(call: Call, tmp_path: Path) -> None:
    files = {
        "topology.yaml": CONFIG,
        "apps/a.yaml": directory("manifests/a", "a"),
        "manifests/a/web.yaml": WORKLOAD.replace("  namespace: shop\n", ""),
        "manifests/b/web.yaml": WORKLOAD.replace("packDomain: rack", "packDomain: rak"),
    }
    write(tmp_path, files)

    ran = call("fleet", "check", ".", "--build", "-o", "json")

    packages = {each["package"]: (each["status"], each["workloads"]) for each in json.loads(ran.stdout)["packages"]}
    assert packages == {".": ("failing", 1), "apps/a.yaml (Application argocd/a)": ("passing", 1)}
    assert "error: manifests/b/web.yaml:10:38: " in call("fleet", "check", ".", "--build").stdout


def test_definitions_of_one_delivery_count_for_others_of_the_same_cluster(call: Call, tmp_path: Path) -> None:
    workload = WORKLOAD.replace("  namespace: shop\n", "  labels: {kai.scheduler/queue: research}\n")
    destinations = {name: {"namespace": "shop", "server": f"https://{name}.example.com"} for name in ("here", "there")}
    files = {
        "topology.yaml": CONFIG,
        "apps/queues.yaml": directory("queues", "queues", destination=destinations["here"]),
        "apps/here.yaml": directory("llm", "here", destination=destinations["here"]),
        "apps/there.yaml": directory("llm", "there", destination=destinations["there"]),
        "queues/queue.yaml": QUEUE,
        "queues/other.yaml": QUEUE.replace("research", "default"),
        "llm/web.yaml": workload,
    }
    write(tmp_path, files)

    def lacking() -> list[str]:
        ran = call("fleet", "check", ".", "--build", "-o", "json")
        packages = json.loads(ran.stdout)["packages"]
        return [each["package"] for each in packages if "queue" in json.dumps(each["findings"])]

    assert lacking() == []
    write(tmp_path, {"queues/queue.yaml": QUEUE.replace("research", "reserch")})
    assert lacking() == ["apps/here.yaml (Application argocd/here)"]


def test_a_package_of_a_function_keeps_its_client_beside_sources(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provide(tmp_path, HELM, monkeypatch)
    sources = "  sources:\n  - {chart: ../../charts/llm, values: [../../values/west.yaml]}\n"
    files = {f"clusters/a/{name}": text for name, text in (("Kptfile", KPTFILE), ("web.yaml", WORKLOAD))}
    write(tmp_path, LLM | files | {"clusters/a/topology.yaml": CONFIG + sources})

    ran = call("fleet", "check", "clusters", "--build", "-o", "json")

    (package,) = json.loads(ran.stdout)["packages"]
    assert (package["package"], package["client"], package["workloads"]) == ("clusters/a", "kpt", 2)


def test_a_source_that_is_not_built_is_counted_and_an_error_if_builds_are_required(call: Call, tmp_path: Path) -> None:
    remote = application({"chart": "llm", "repoURL": "https://charts.example.com"}, "remote")
    write(tmp_path, {"web.yaml": WORKLOAD, "topology.yaml": CONFIG, "apps/remote.yaml": remote})

    counted = call("fleet", "check", ".", "--build", "-v")
    required = call("fleet", "check", ".", "--require-build")

    reason = "chart llm of https://charts.example.com is remote, and packwise fetches nothing"
    assert (counted.code, counted.stdout.splitlines()[-1]) == (0, f"not built: Application argocd/remote: {reason}")
    assert "  0 sources built, 1 not built: 1 remote chart" in counted.stdout.splitlines()
    assert (required.code, required.stdout.splitlines()[-1]) == (
        1,
        "  error: apps/remote.yaml:1:1: Application argocd/remote: packwise did not build it (remote chart): "
        f"{reason} [source-not-built]",
    )


def test_without_a_program_the_error_counts_the_sources(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, LLM | APPS)
    monkeypatch.setenv("PATH", str(tmp_path))

    ran = call("fleet", "check", ".", "--build")

    assert ran.code == 2
    assert "; 0 sources built, 2 not built: 2 programs not on PATH" in ran.stderr


def test_an_object_is_placed_on_the_nodes_of_the_nearest_folder(call: Call, tmp_path: Path) -> None:
    labels = {"topology.kubernetes.io/zone": "a", "example.com/rack": "r"}
    nodes = {
        f"nodes/{cluster}.json": json.dumps({"kind": "List", "items": [node(cluster, cpu, labels)]})
        for cluster, cpu in (("east", "8"), ("west", "1"))
    }
    requesting = WORKLOAD.replace('router:1"}', 'router:1", resources: {requests: {cpu: "2"}}}')
    files = {"llm/web.yaml": requesting.replace("  namespace: shop\n", "")}
    for cluster in ("east", "west"):
        files |= {f"clusters/{cluster}/apps/llm.yaml": directory("llm", cluster)}
    write(tmp_path, files | nodes | {"clusters/topology.yaml": CONFIG})

    ran = call("fleet", "place", "clusters", "--build", "--nodes", "nodes", "-o", "json")

    pending = {each["package"]: each["placed"]["pending"] for each in json.loads(ran.stdout)["packages"]}
    assert pending == {
        "clusters/east/apps/llm.yaml (Application argocd/east)": [],
        "clusters/west/apps/llm.yaml (Application argocd/west)": ["team-a/web-0"],
    }


def test_a_render_builds_no_sources(call: Call) -> None:
    assert "render has no --build" in call("fleet", "render", ".", "--build").stderr


SOURCES = f"""\
{HELM_RELEASE}  values: {{domain: release}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: apps, namespace: flux-system}}
spec:
  path: ./kust/dev
  sourceRef: {{kind: GitRepository, name: gitops}}
  patches:
  - target: {{kind: PodCliqueSet}}
    patch: |
      - {{op: replace, path: /spec/template/topologyConstraint/packDomain, value: flux}}
"""


@pytest.mark.client
def test_every_kind_of_source_is_checked_as_by_check(
    call: Call, tmp_path: Path, helm: Path, kustomize: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join([str(helm.parent), str(kustomize.parent), os.environ["PATH"]]))
    named = "  sources:\n    - {chart: charts/llm, release: named, set: {domain: named}}\n"
    plain = {name.replace("charts/llm", "charts/plain"): text for name, text in CHART.items()}
    own = {name.replace("kust/", "own/"): text for name, text in KUSTOMIZATION.items()}
    files = {
        **CHART,
        **KUSTOMIZATION,
        **plain,
        **own,
        "topology.yaml": TOPOLOGY.replace("---\n", f"{named}---\n"),
        "apps/a.yaml": application({"helm": {"valuesObject": {"domain": "application"}}}),
        "flux/sources.yaml": SOURCES,
        "charts/plain/values.yaml": CHART["charts/llm/values.yaml"].replace("rack", "plain"),
        "own/dev/kustomization.yaml": KUSTOMIZATION["kust/dev/kustomization.yaml"].replace("rack", "kustomized"),
    }
    write(tmp_path, files)

    ran = call("fleet", "check", ".", "--build", "-o", "json")
    checked = call("check", ".", "--build", "-o", "json")

    domain = re.compile(r'got "(\w+)"')
    packages = {
        each["package"]: [domain.findall(finding["message"])[0] for finding in each["findings"]]
        for each in json.loads(ran.stdout)["packages"]
    }
    assert packages == {
        ".": ["named"],
        "apps/a.yaml (Application argocd/llm)": ["application"],
        "charts/plain": ["plain"],
        "flux/sources.yaml (HelmRelease flux-system/release)": ["release"],
        "flux/sources.yaml (Kustomization flux-system/apps)": ["flux"],
        "own/dev": ["kustomized"],
    }
    messages = {each["message"] for each in json.loads(checked.stdout)}
    assert {
        each["message"] for package in json.loads(ran.stdout)["packages"] for each in package["findings"]
    } == messages
