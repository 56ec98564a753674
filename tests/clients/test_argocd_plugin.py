"""The files under argocd-plugin/ as Argo CD uses them: the script, the components, and the health checks in
a real Lua.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from lupa.lua51 import LuaRuntime

from tests.cli.calling import CONFIG, SERVICE, WORKLOAD, write
from tests.places import ROOT

pytestmark = pytest.mark.client

FOLDER = ROOT / "argocd-plugin"
GITOPS = CONFIG.replace("spec:\n", "spec:\n  gitops: [argocd]\n")
PLUGIN: dict[str, Any] = yaml.safe_load((FOLDER / "plugin.yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Ran:
    code: int
    stdout: str
    stderr: str

    @property
    def kinds(self) -> list[str]:
        return [value["kind"] for value in yaml.safe_load_all(self.stdout) if value is not None]


Plugin = Callable[..., Ran]


@pytest.fixture
def plugin(packwise: Path, kustomize: Path, tmp_path: Path) -> Plugin:
    """Return a function that runs a command of plugin.yaml in a folder, with the parameters as Argo CD sets them in the
    environment.
    """
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "packwise-argocd").symlink_to(FOLDER / "generate.sh")
    path = os.pathsep.join([str(programs), str(packwise.parent), str(kustomize.parent), os.environ["PATH"]])
    spec = PLUGIN["spec"]
    commands = {"discover": spec["discover"]["find"]["command"], "generate": spec["generate"]["command"]}

    def one(name: str, folder: Path, **parameters: str) -> Ran:
        environment = {**os.environ, **parameters, "PATH": path, "TMPDIR": str(tmp_path)}
        done = subprocess.run(
            commands[name], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert sorted(left.name for left in tmp_path.iterdir()) == ["app", "bin"], "nothing stays behind"
        return Ran(done.returncode, done.stdout, done.stderr)

    return one


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """Return the folder of an application."""
    folder = tmp_path / "app"
    write(folder, {"topology.yaml": GITOPS, "web/workload.yaml": WORKLOAD, "service.yaml": SERVICE})
    return folder


@pytest.fixture
def kustomization(app: Path) -> Path:
    """Return the folder of a kustomization with its configuration."""
    write(app, {"overlay/kustomization.yaml": "namePrefix: east-\nresources: [workload.yaml]\n"})
    write(app, {"overlay/workload.yaml": WORKLOAD})
    return app / "overlay"


def test_a_folder_with_a_topologyrender_is_found(plugin: Plugin, app: Path) -> None:
    assert plugin("discover", app) == Ran(0, "./topology.yaml\n", "")
    (app / "topology.yaml").unlink()
    assert plugin("discover", app) == Ran(0, "", "")


def test_a_kustomization_is_found_by_its_parameter_alone(plugin: Plugin, app: Path, kustomization: Path) -> None:
    shutil.copy(app / "topology.yaml", kustomization)

    assert plugin("discover", kustomization) == Ran(0, "", "")
    assert plugin("discover", kustomization, PARAM_CONFIG="topology.yaml") == Ran(0, "topology.yaml\n", "")


def test_a_folder_becomes_manifests_without_configuration(plugin: Plugin, app: Path) -> None:
    ran = plugin("generate", app)

    assert (ran.code, ran.stderr.partition(" to ")[0]) == (0, "wrote 6 files")
    assert sorted(ran.kinds) == ["ClusterTopology", "PodCliqueSet", "PodGang", "Service", "Topology"]


def test_a_kustomization_becomes_manifests_with_its_names(plugin: Plugin, kustomization: Path) -> None:
    ran = plugin("generate", kustomization, PARAM_CONFIG="../topology.yaml", ARGOCD_APP_SOURCE_PATH="overlay")

    assert ran.code == 0, ran.stderr
    assert sorted(ran.kinds) == ["ClusterTopology", "PodCliqueSet", "PodGang", "Topology"]
    assert "name: east-web-0\n" in ran.stdout


def test_an_error_leaves_stdout_empty(plugin: Plugin, app: Path) -> None:
    write(app, {"web/workload.yaml": WORKLOAD.replace("rack", "block")})

    ran = plugin("generate", app)

    assert (ran.code, ran.stdout) == (1, "")
    assert ran.stderr.startswith("error: web/workload.yaml:10:38: ")


def test_a_kustomization_that_cannot_be_built_leaves_stdout_empty(plugin: Plugin, kustomization: Path) -> None:
    (kustomization / "workload.yaml").unlink()

    ran = plugin("generate", kustomization, PARAM_CONFIG="../topology.yaml", ARGOCD_APP_SOURCE_PATH="overlay")

    assert (ran.code, ran.stdout) == (1, "")


def test_a_configuration_that_does_not_name_argocd_is_refused(plugin: Plugin, app: Path) -> None:
    write(app, {"topology.yaml": CONFIG})

    ran = plugin("generate", app)

    assert (ran.code, ran.stdout, ran.stderr.splitlines()[-1]) == (
        1,
        "",
        "error: spec.gitops of the TopologyRender does not name argocd; add it, so that Argo CD can apply the output",
    )


@pytest.mark.parametrize("path", ["/etc/hosts", "../../bin/packwise-argocd", "../../app-2/topology.yaml", "out.yaml"])
@pytest.mark.parametrize("parameter", ["PARAM_CONFIG", "PARAM_CRDS_0"])
def test_no_parameter_leads_out_of_the_repository(
    parameter: str, path: str, plugin: Plugin, kustomization: Path
) -> None:
    (kustomization / "out.yaml").symlink_to("/etc/hosts")

    ran = plugin("generate", kustomization, ARGOCD_APP_SOURCE_PATH="overlay", **{parameter: path})

    assert (ran.code, ran.stdout, ran.stderr) == (
        1,
        "",
        f'error: "{path}" is outside the repository; correct the parameters of the Application\n',
    )


@pytest.mark.parametrize("path", ["overlay", "east/overlay", "clusters/east/overlay"])
def test_a_part_of_the_repository_is_enough(plugin: Plugin, kustomization: Path, path: str) -> None:
    """With manifest-generate-paths, the repo-server sends files from below the top of the repository."""
    ran = plugin("generate", kustomization, PARAM_CONFIG="../topology.yaml", ARGOCD_APP_SOURCE_PATH=path)

    assert ran.code == 0, ran.stderr


@pytest.mark.parametrize("path", ["overlay", "clusters/east/overlay", "tmp/overlay", "app/overlay/overlay"])
def test_a_part_of_the_repository_ends_at_its_top(plugin: Plugin, kustomization: Path, path: str) -> None:
    ran = plugin("generate", kustomization, PARAM_CONFIG="../../bin/packwise-argocd", ARGOCD_APP_SOURCE_PATH=path)

    assert (ran.code, ran.stdout) == (1, "")
    assert "is outside the repository" in ran.stderr


def test_crds_are_a_list_of_paths(plugin: Plugin, app: Path) -> None:
    ran = plugin("generate", app, PARAM_CRDS_0="service.yaml", PARAM_CRDS_1="web")

    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr.startswith('error: --crds "service.yaml", "web" has no CRD')


def test_parameters_are_those_of_the_script() -> None:
    announced = {one["name"] for one in PLUGIN["spec"]["parameters"]["static"]}
    used = re.findall(r"PARAM_([A-Z]+)", (FOLDER / "generate.sh").read_text(encoding="utf-8"))

    assert {name.lower() for name in used} == announced


CONFIGMAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata: {kept: as it was}\n"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-repo-server}
spec:
  template:
    spec:
      containers:
      - {name: argocd-repo-server, image: "quay.io/argoproj/argocd:v3.2.11"}
"""


def installed(component: str, kustomize: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the objects of an installation with a component of argocd-plugin/, by kind."""
    shutil.copytree(FOLDER, folder / "argocd-plugin")
    kustomization = f"resources: [cm.yaml, deployment.yaml]\ncomponents: [{component}]\n"
    write(folder, {"kustomization.yaml": kustomization, "cm.yaml": CONFIGMAP, "deployment.yaml": DEPLOYMENT})
    done = subprocess.run([kustomize, "build", folder], capture_output=True, text=True, check=True)
    return {value["kind"]: value for value in yaml.safe_load_all(done.stdout)}


def test_the_component_adds_the_sidecar_and_the_customizations(kustomize: Path, tmp_path: Path) -> None:
    found = installed("argocd-plugin", kustomize, tmp_path)

    server, sidecar = found["Deployment"]["spec"]["template"]["spec"]["containers"]
    if sidecar["name"] != "packwise":
        server, sidecar = sidecar, server
    assert server["image"] == "quay.io/argoproj/argocd:v3.2.11"
    assert sidecar["command"] == ["/var/run/argocd/argocd-cmp-server"]
    kinds = {
        "health": [
            "grove.io_ClusterTopology",
            "grove.io_ClusterTopologyBinding",
            "grove.io_PodCliqueSet",
            "kai.scheduler_Topology",
            "scheduler.grove.io_PodGang",
            "scheduling.run.ai_PodGroup",
        ],
        "ignoreDifferences": ["scheduler.grove.io_PodGang", "scheduling.run.ai_PodGroup"],
    }
    keys = [f"resource.customizations.{what}.{kind}" for what, names in kinds.items() for kind in names]
    assert sorted(found["ConfigMap"]["data"]) == sorted(["kept", *keys])


def test_without_the_plugin_kustomize_runs_functions(kustomize: Path, tmp_path: Path) -> None:
    found = installed("argocd-plugin/without-plugin", kustomize, tmp_path)

    (server,) = found["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert server == {"name": "argocd-repo-server", "image": "packwise-argocd-repo-server:0.1.0"}
    data = found["ConfigMap"]["data"]
    assert data["kustomize.buildOptions"] == "--enable-alpha-plugins --enable-exec"
    assert "resource.customizations.health.grove.io_PodCliqueSet" in data


def condition(kind: str, status: str, message: str = "") -> dict[str, str]:
    return {"type": kind, "status": status, "message": message}


READY = {"observedGeneration": 3, "availableReplicas": 2}

HEALTH: dict[str, tuple[str, dict[str, Any] | None, str, str]] = {
    "a workload that no operator saw": ("podcliqueset", None, "Progressing", "the operator has not looked"),
    "a workload of which the operator saw an older generation": (
        "podcliqueset",
        {**READY, "observedGeneration": 2},
        "Progressing",
        "the operator has not looked",
    ),
    "a workload with all replicas": ("podcliqueset", READY, "Healthy", ""),
    "a workload with some replicas": (
        "podcliqueset",
        {**READY, "availableReplicas": 1},
        "Progressing",
        "1 of 2 replicas are available",
    ),
    "a workload with none yet": (
        "podcliqueset",
        {"observedGeneration": 3},
        "Progressing",
        "0 of 2 replicas are available",
    ),
    "a workload whose level is gone": (
        "podcliqueset",
        {**READY, "conditions": [condition("TopologyLevelsUnavailable", "True", "rack is gone")]},
        "Degraded",
        "rack is gone",
    ),
    "a workload whose topology is gone": (
        "podcliqueset",
        {**READY, "conditions": [condition("TopologyLevelsUnavailable", "Unknown", "no topology")]},
        "Degraded",
        "no topology",
    ),
    "a workload whose levels are there": (
        "podcliqueset",
        {**READY, "conditions": [condition("TopologyLevelsUnavailable", "False")]},
        "Healthy",
        "",
    ),
    "a workload that the operator failed on": (
        "podcliqueset",
        {**READY, "lastErrors": [{"code": "ERR_X", "description": "no"}]},
        "Degraded",
        "ERR_X: no",
    ),
    "a workload under update": (
        "podcliqueset",
        {**READY, "updateProgress": {"updateStartedAt": "now"}},
        "Progressing",
        "replicas are being updated",
    ),
    "a workload after its update": (
        "podcliqueset",
        {**READY, "updateProgress": {"updateStartedAt": "now", "updateEndedAt": "now"}},
        "Healthy",
        "",
    ),
    "a gang that nobody reports on": ("podgang", None, "Healthy", ""),
    "a gang that runs": ("podgang", {"phase": "Running"}, "Healthy", ""),
    "a gang that is ready": (
        "podgang",
        {"phase": "Starting", "conditions": [condition("Ready", "True")]},
        "Healthy",
        "",
    ),
    "a gang that waits for pods": (
        "podgang",
        {"phase": "Pending", "conditions": [condition("Initialized", "False", "no pods yet")]},
        "Progressing",
        "no pods yet",
    ),
    "a gang that waits for nodes": (
        "podgang",
        {"phase": "Pending", "conditions": [condition("Scheduled", "False", "no rack has room")]},
        "Progressing",
        "no rack has room",
    ),
    "a gang that is unhealthy": (
        "podgang",
        {"phase": "Running", "conditions": [condition("Unhealthy", "True", "a pod is lost")]},
        "Degraded",
        "a pod is lost",
    ),
    "a gang that failed": ("podgang", {"phase": "Failed"}, "Degraded", "the gang failed"),
    "a topology without a status": ("topology", None, "Healthy", ""),
    "a topology that is ready": ("topology", {"conditions": [condition("Ready", "True")]}, "Healthy", ""),
    "a topology that is not ready": (
        "topology",
        {"conditions": [condition("Ready", "False", "KAI refused it")]},
        "Degraded",
        "KAI refused it",
    ),
    "a binding in sync": ("topology", {"conditions": [condition("SchedulerTopologyDrift", "False")]}, "Healthy", ""),
    "a binding that drifted": (
        "topology",
        {"conditions": [condition("SchedulerTopologyDrift", "True", "is not owned by")]},
        "Degraded",
        "is not owned by",
    ),
    "a group that nobody reports on": ("podgroup", None, "Healthy", ""),
    "a group that waits": (
        "podgroup",
        {
            "schedulingConditions": [
                {**condition("UnschedulableOnNodePool", "True"), "reasons": [{"message": "over quota"}]},
            ]
        },
        "Progressing",
        "over quota",
    ),
    "a group that an older KAI lets wait": (
        "podgroup",
        {"schedulingConditions": [condition("UnschedulableOnNodePool", "True", "no room")]},
        "Progressing",
        "no room",
    ),
}


@pytest.mark.parametrize("case", HEALTH)
def test_health(case: str) -> None:
    script, status, wanted, message = HEALTH[case]
    lua = cast("Any", LuaRuntime)()
    # Libraries that Argo CD's Lua does not have.
    lua.execute("string, io, debug, math, package = nil, nil, nil, nil, nil")
    value: dict[str, Any] = {"metadata": {"generation": 3}, "spec": {"replicas": 2}}
    if status is not None:
        value["status"] = status
    lua.globals().obj = lua.table_from(value, recursive=True)

    health = lua.execute((FOLDER / "customizations/health" / f"{script}.lua").read_text(encoding="utf-8"))

    assert health.status == wanted
    assert (health.message or "").startswith(message)
    assert bool(health.message) == bool(message)


def test_every_health_check_is_tested() -> None:
    scripts = {path.stem for path in (FOLDER / "customizations/health").iterdir()}

    assert scripts == {script for script, *_ in HEALTH.values()}
