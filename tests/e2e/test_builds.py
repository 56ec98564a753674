"""packwise builds the same objects that Argo CD and Flux apply.

Each object is compared with the one that the API server got.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from packwise.build.builder import Builder
from packwise.build.deliveries import deliver, repository_of
from packwise.build.files import built_files
from packwise.build.links import Trees
from packwise.build.tree import DiskTree
from packwise.inputs.reader import is_readable
from tests.cli.calling import write
from tests.e2e import apiserver, argocd, flux
from tests.e2e.apiserver import ApiServer
from tests.e2e.argocd import ArgoCd
from tests.e2e.flux import Flux
from tests.e2e.gitserver import Clone, GitServer
from tests.e2e.process import Servers, wait_for
from tests.e2e.tools import manifests_of
from tests.places import ROOT, TOOLS, missing

pytestmark = pytest.mark.e2e

TRACKING = "argocd.argoproj.io/tracking-id"
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
HELM = "helm.toolkit.fluxcd.io/"
MANAGED_BY = "app.kubernetes.io/managed-by"

CHART = {
    "charts/llm/Chart.yaml": "apiVersion: v2\nname: llm\nversion: 0.1.0\n",
    "charts/llm/values.yaml": "replicas: 1\nmodel: small\nenv: {a: values}\n",
    "charts/llm/prod.yaml": "replicas: 2\nmodel: large\nenv: {b: prod}\n",
    "charts/llm/templates/settings.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-settings
  labels: {release: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}
data:
  replicas: {{ .Values.replicas | quote }}
  model: {{ .Values.model | quote }}
  env: {{ .Values.env | toJson | quote }}
""",
    "charts/llm/templates/hook.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: checked, annotations: {helm.sh/hook: test}}
""",
}
TRAINING = {
    "charts/train/Chart.yaml": "apiVersion: v2\nname: train\nversion: 0.1.0\n",
    "charts/train/values.yaml": "queue: research\n",
    "charts/train/templates/job.yaml": """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels: {kai.scheduler/queue: {{ .Values.queue }}}
spec:
  template:
    spec:
      schedulerName: kai-scheduler
      restartPolicy: Never
      containers:
      - {name: main, image: registry.example.com/train:1}
""",
}
KUSTOMIZATION = {
    "kust/base/kustomization.yaml": "resources: [settings.yaml]\nconfigMapGenerator: [{name: made, literals: [a=b]}]\n",
    "kust/base/settings.yaml": 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: "1", b: "2"}\n',
    "kust/east/kustomization.yaml": "resources: [../base]\nnameSuffix: -east\npatches:\n"
    '- {target: {kind: ConfigMap, name: settings}, patch: "- {op: remove, path: /data/b}"}\n',
}
BOTH = {
    "both/Chart.yaml": "apiVersion: v2\nname: both\nversion: 0.1.0\n",
    "both/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-the-chart}\n",
    "both/kustomization.yaml": "resources: [b.yaml]\n",
    "both/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-the-kustomization}\n",
}
PLAIN = {
    "plain/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain-a}\ndata: {a: b}\n",
    "plain/left.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: left}\n",
    "plain/more/b.json": '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain-b"}}\n',
}
VARIABLES = {
    "variables/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: variables-${cluster}\n"
    'data:\n  a: "${a:=default}"\n  b: "${b}"\n  c: "$${a}"\n',
    "variables/off.yaml": "apiVersion: v1\nkind: ConfigMap\n"
    "metadata: {name: off, annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}\ndata: {a: '${a}'}\n",
}


def application(url: str, name: str, source: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "argocd"},
        "spec": {
            "project": "default",
            "source": {"repoURL": url, "targetRevision": "main", **source},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": name},
            "syncPolicy": {"automated": {}, "syncOptions": ["CreateNamespace=true"]},
        },
    }


APPLICATIONS: Mapping[str, Mapping[str, Any]] = {
    "files": {
        "path": "charts/llm",
        "helm": {
            "valueFiles": ["prod.yaml"],
            "valuesObject": {"model": "{huge, really}", "env": {"c": 3}},
            "parameters": [
                {"name": "replicas", "value": "007", "forceString": True},
                {"name": "env.d", "value": "x,y"},
            ],
        },
    },
    "text": {"path": "charts/llm", "helm": {"releaseName": "named", "values": "model: text\n"}},
    "overlay": {
        "path": "kust/east",
        "kustomize": {"namePrefix": "argo-", "commonLabels": {"team": "a"}, "commonAnnotations": {"b": "c"}},
    },
    "folder": {"path": "plain", "directory": {"recurse": True, "exclude": "left*"}},
    "train": {"path": "charts/train"},
    "both": {"path": "both"},
}


def kustomization(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": "flux-system"},
        "spec": {
            "interval": "10m",
            "prune": True,
            "targetNamespace": "default",
            "sourceRef": {"kind": "GitRepository", "name": "west"},
            **spec,
        },
    }


KUSTOMIZATIONS = (
    kustomization(
        "variables",
        path="./variables",
        postBuild={"substitute": {"cluster": "west"}, "substituteFrom": [{"kind": "ConfigMap", "name": "values"}]},
    ),
    kustomization(
        "overlays",
        path="./kust/east",
        namePrefix="flux-",
        commonMetadata={"labels": {"team": "b"}, "annotations": {"d": "e"}},
        patches=[{"target": {"kind": "ConfigMap"}, "patch": "- {op: add, path: /data/patched, value: 'yes'}"}],
    ),
)
VALUES = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "values", "namespace": "flux-system"},
    "data": {"b": "from values", "cluster": "not this"},
}
SETTINGS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings", "namespace": "flux-system"},
    "data": {
        "values.yaml": "model: from the ConfigMap\nenv: {c: the ConfigMap, d: the ConfigMap}\n",
        "count": "'07'",
    },
}
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "secret", "namespace": "flux-system"},
    "data": {"hidden": "ZGF0YQ==", "model": "ZGF0YQ=="},
    "stringData": {"model": "text"},
}


def release(name: str, chart: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    source = {"sourceRef": {"kind": "GitRepository", "name": "west"}, "reconcileStrategy": "Revision"}
    return {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": name, "namespace": "flux-system"},
        "spec": {"interval": "10m", "chart": {"spec": {**source, **chart}}, **spec},
    }


RELEASES = (
    release(
        "layers",
        {"chart": "./charts/llm", "valuesFiles": ["charts/llm/values.yaml", "charts/llm/prod.yaml"]},
        targetNamespace="default",
        valuesFrom=[
            {"kind": "ConfigMap", "name": "settings"},
            {"kind": "ConfigMap", "name": "settings", "valuesKey": "count", "targetPath": "replicas"},
            {"kind": "Secret", "name": "secret", "valuesKey": "hidden", "targetPath": "env.f"},
            {"kind": "Secret", "name": "secret", "valuesKey": "model", "targetPath": "env.g"},
            {"kind": "ConfigMap", "name": "absent", "optional": True},
        ],
        values={"env": {"d": "inline", "e": [1, 2]}},
    ),
    release(
        "patched",
        {"chart": "./charts/llm"},
        releaseName="own",
        values={"model": "inline"},
        commonMetadata={"labels": {"team": "c"}},
        postRenderers=[
            {
                "kustomize": {
                    "patches": [
                        {"target": {"kind": "ConfigMap"}, "patch": "- {op: add, path: /data/patched, value: 'yes'}"}
                    ]
                }
            }
        ],
    ),
)
APPLICATION_SET: dict[str, Any] = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "ApplicationSet",
    "metadata": {"name": "clusters", "namespace": "argocd"},
    "spec": {
        "goTemplate": True,
        "generators": [
            {
                "matrix": {
                    "generators": [
                        {
                            "git": {
                                "repoURL": "SOURCE",
                                "revision": "main",
                                "files": [{"path": "clusters/*/config.json"}],
                            }
                        },
                        {"list": {"elements": [{"model": "small"}, {"model": "large"}]}},
                    ]
                }
            }
        ],
        "template": {
            "metadata": {"name": "{{.path.basename}}-{{.model}}"},
            "spec": {
                "project": "default",
                "source": {
                    "repoURL": "SOURCE",
                    "targetRevision": "main",
                    "path": "charts/llm",
                    "helm": {"valuesObject": {"replicas": "{{.replicas}}", "model": "{{.model}}"}},
                },
                "destination": {"server": "https://kubernetes.default.svc", "namespace": "{{.path.basename}}"},
                "syncPolicy": {"automated": {}, "syncOptions": ["CreateNamespace=true"]},
            },
        },
    },
}
CLUSTERS = {f"clusters/{name}/config.json": f'{{"replicas": {at}}}\n' for at, name in enumerate(("west", "east"), 3)}


@pytest.fixture(scope="module")
def cluster(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> ApiServer:
    return apiserver.start(servers, tmp_path_factory.mktemp("builds") / "cluster")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Generator[Clone]:
    folder = tmp_path_factory.mktemp("git")
    server = GitServer(folder)
    made = server.create("gitops.git", folder / "clone", "")
    url = server.url("gitops.git")
    source = {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "west", "namespace": "flux-system"},
        "spec": {"interval": "10m", "url": url, "ref": {"branch": "main"}},
    }
    apps = [application(url, name, each) for name, each in APPLICATIONS.items()]
    owners = {
        "owners/argocd.yaml": yaml.safe_dump_all(apps),
        "owners/sets.yaml": yaml.safe_dump(APPLICATION_SET).replace("SOURCE", url),
        "owners/flux.yaml": yaml.safe_dump_all([VALUES, SETTINGS, SECRET, source, *KUSTOMIZATIONS, *RELEASES]),
    }
    write(made.folder, CHART | TRAINING | KUSTOMIZATION | PLAIN | VARIABLES | CLUSTERS | BOTH | owners)
    made.push("Deliver")
    made.git("switch", "--quiet", "--create", "my-branch")
    write(made.folder, {"charts/train/values.yaml": "queue: serving\n"})
    made.push("Train in another queue")
    made.git("switch", "--quiet", "main")
    yield made
    server.stop()


@pytest.fixture(scope="module")
def helm() -> Path:
    """Return the path of Helm 3, the version that Argo CD contains."""
    path = TOOLS / "helm-v3.22.0" / "helm"
    if not path.exists():
        missing(f"helm v3.22.0 is not built: `make tools` puts it at {path.relative_to(ROOT)}")
    return path


@pytest.fixture(scope="module")
def builds(clone: Clone, helm: Path, kustomize: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the objects that packwise builds for each owner, by kind, namespace and name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.pathsep.join([str(helm.parent), str(kustomize.parent), os.environ["PATH"]]))
        tree = DiskTree(str(clone.folder), "")
        url = clone.git("remote", "get-url", "origin")
        delivered = deliver(repository_of(tree, [url], ["main"]), Builder(tree), lambda _: True)
    assert [(each.owner.title, each.reason) for each in delivered.unbuilt] == []
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for file in built_files(delivered.built, Trees.of(tree), str(clone.folder), str):
        assert file.built is not None
        objects = found.setdefault(file.built.owner, {})
        for item in file.items:
            assert is_readable(item)
            value = json.loads(json.dumps(item.value))
            objects[address(value)] = value
    return found


def address(value: Mapping[str, Any]) -> str:
    return f"{value['kind']} {value['metadata'].get('namespace', '')}/{value['metadata']['name']}"


def without_keys(value: dict[str, Any], field: str, *keys: str) -> dict[str, Any]:
    """Return the object without these keys of a metadata field. If the field is then empty, remove it too."""
    kept = {key: each for key, each in value["metadata"].get(field, {}).items() if key not in keys}
    metadata = {key: each for key, each in value["metadata"].items() if key != field}
    return {**value, "metadata": {**metadata, field: kept} if kept else metadata}


def as_sent(value: dict[str, Any]) -> dict[str, Any]:
    """Return the object without the API server's additions."""
    added = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
    return {**value, "metadata": {key: each for key, each in value["metadata"].items() if key not in added}}


@pytest.fixture(scope="module")
def tool(servers: Servers, cluster: ApiServer, packwise: Path, kustomize: Path, helm: Path) -> Generator[ArgoCd]:
    cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "argocd"}}])
    cluster.kubectl("apply", "--server-side", "-n", "argocd", "-f", manifests_of("argocd") / "install.yaml")
    with tempfile.TemporaryDirectory(prefix="packwise-argocd-") as short:
        plugin = Path(short) / "plugin"
        plugin.mkdir()
        shutil.copy(ROOT / "argocd-plugin" / "plugin.yaml", plugin)
        path = os.pathsep.join([str(packwise.parent), str(kustomize.parent), str(helm.parent)])
        yield argocd.start(servers, cluster, Path(short), plugin, path)
        servers.stop()


def applied_by(tool: ArgoCd, cluster: ApiServer, name: str, revision: str) -> list[dict[str, Any]]:
    """Return the objects of an Application as Argo CD applied them."""
    found: list[dict[str, Any]] = []
    for one in tool.synced(name, revision)["resources"]:
        live = cluster.get(one["kind"], one["name"], one["namespace"])
        assert live is not None
        found.append(without_keys(json.loads(live["metadata"]["annotations"][APPLIED]), "annotations", TRACKING))
    return found


def test_argocd_applies_what_packwise_builds(
    tool: ArgoCd, cluster: ApiServer, clone: Clone, builds: dict[str, dict[str, dict[str, Any]]]
) -> None:
    revision = clone.git("rev-parse", "HEAD")
    cluster.kubectl("apply", "-f", clone.folder / "owners" / "argocd.yaml")

    applied = {
        f"Application argocd/{name}": {address(value): value for value in applied_by(tool, cluster, name, revision)}
        for name in APPLICATIONS
    }

    assert applied == {owner: builds[owner] for owner in applied}
    assert sum(map(len, applied.values())) == 8


def test_argocd_applies_what_packwise_builds_of_an_applicationset(
    tool: ArgoCd, servers: Servers, cluster: ApiServer, clone: Clone, builds: dict[str, dict[str, dict[str, Any]]]
) -> None:
    argocd.generate(servers, tool)
    revision = clone.git("rev-parse", "HEAD")
    cluster.kubectl("apply", "-f", clone.folder / "owners" / "sets.yaml")

    names = [f"{folder}-{model}" for folder in ("west", "east") for model in ("small", "large")]
    applied = {
        f"Application argocd/{name}": {address(value): value for value in applied_by(tool, cluster, name, revision)}
        for name in names
    }

    assert applied == {owner: builds[owner] for owner in applied}
    assert sum(map(len, applied.values())) == 4


def test_what_argocd_prints_is_compared_as_the_page_says(
    tool: ArgoCd, servers: Servers, packwise: Path, tmp_path: Path
) -> None:
    """The page is docs/how-to/beside-other-tools.md."""
    words = argocd.serve(servers, tool)
    environment = {**os.environ, "HOME": str(tmp_path)}

    def manifests(*options: str) -> str:
        asked = [*words, "app", "manifests", "train", *options]
        done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=False, timeout=120)
        failures.append(done.stderr)
        return done.stdout

    failures: list[str] = []
    before = wait_for("the manifests", lambda: manifests("--source", "git", "--revision", "main"))
    changed = manifests("--source", "git", "--revision", "my-branch")
    others = [manifests("--source", "git"), manifests("--source", "live")]
    (tmp_path / "before.yaml").write_text(before, encoding="utf-8")
    ran = subprocess.run(
        [packwise, "diff", "before.yaml", "-"], cwd=tmp_path, input=changed, capture_output=True, text=True, check=False
    )

    assert changed, failures
    assert ["namespace: train" in text for text in (before, changed, *others)] == [False, False, True, True]
    assert (ran.returncode, ran.stdout) == (
        0,
        "PodGroup\n"
        "  ~ default/pg-train-uid-job-train\n"
        "      metadata.labels[kai.scheduler/queue]: research → serving\n"
        "      spec.queue: research → serving\n"
        "\n"
        "before.yaml → <stdin>: PodGroup 1 changed\n",
    )


def test_flux_applies_what_packwise_builds(
    servers: Servers,
    cluster: ApiServer,
    clone: Clone,
    builds: dict[str, dict[str, dict[str, Any]]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    controllers: Flux = flux.start(servers, cluster, tmp_path_factory.mktemp("flux"), releases=True)
    revision = clone.git("rev-parse", "HEAD")
    cluster.kubectl("apply", "-f", clone.folder / "owners" / "flux.yaml")

    applied: dict[str, dict[str, dict[str, Any]]] = {}
    for each in KUSTOMIZATIONS:
        name = each["metadata"]["name"]
        inventory = controllers.applied(name, revision)["status"]["inventory"]["entries"]
        objects = applied.setdefault(f"Kustomization flux-system/{name}", {})
        for entry in inventory:
            namespace, called, _, kind = entry["id"].split("_")
            live = cluster.get(kind, called, namespace)
            assert live is not None
            value = without_keys(
                live, "labels", *[f"kustomize.toolkit.fluxcd.io/{key}" for key in ("name", "namespace")]
            )
            objects[address(value)] = as_sent(value)
    for each in RELEASES:
        name = each["metadata"]["name"]
        controllers.released(name)
        found = json.loads(cluster.kubectl("get", "configmap", "-A", "-o", "json", "-l", f"{HELM}name={name}"))["items"]
        objects = applied.setdefault(f"HelmRelease flux-system/{name}", {})
        for live in found:
            value = without_keys(live, "labels", MANAGED_BY, f"{HELM}name", f"{HELM}namespace")
            value = without_keys(
                value, "annotations", *[f"meta.helm.sh/release-{key}" for key in ("name", "namespace")]
            )
            objects[address(value)] = as_sent({**value, "apiVersion": "v1", "kind": "ConfigMap"})

    assert applied == {owner: builds[owner] for owner in applied}
    assert sum(map(len, applied.values())) == 6
