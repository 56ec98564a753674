"""The last line of every command has the number of checked workloads, and of the others with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, WORKLOAD, Call, write
from tests.cli.test_cli_place import cluster


def scheduled(api_version: str, kind: str, line: str) -> str:
    """Return a template of an object, with one more line."""
    return f"apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: {{{{ .name }}}}\nspec:\n  {line}\n"


CHART = {"chart/Chart.yaml": "apiVersion: v2\nname: web\n"}
TEMPLATE = WORKLOAD.replace("name: web", "name: {{ .Release.Name }}")
HELM = "1 Helm template holds workloads that were not checked: helm template … | packwise check -"
CHECKED = "1 workload checked with Grove grep-244-multi (in/topology.yaml)"
CASES: dict[str, tuple[dict[str, str], str]] = {
    "a workload": ({"app/web.yaml": WORKLOAD}, CHECKED),
    "none": ({}, "no workload checked"),
    "a Helm template": (
        CHART | {"chart/templates/web.yaml": TEMPLATE},
        f"no workload checked; {HELM}; skipped: 1 Helm template, 1 Helm chart",
    ),
    "Helm templates, of which two hold workloads": (
        CHART
        | {f"chart/templates/{name}.yaml": TEMPLATE for name in "ab"}
        | {"chart/templates/c.yaml": "a: {{ b }}\n"},
        "no workload checked; 2 Helm templates hold workloads that were not checked: helm template … | packwise check "
        "-; skipped: 3 Helm templates, 1 Helm chart",
    ),
    "a template that is YAML": (
        CHART | {"chart/templates/web.yaml": WORKLOAD, "app/web.yaml": WORKLOAD},
        f"{CHECKED}; {HELM}; skipped: 1 Helm template, 1 Helm chart",
    ),
    "a template of another tool": (
        {"app/web.yaml": TEMPLATE + "{% if a %}\n"},
        "no workload checked; 1 template holds workloads that were not checked; skipped: 1 template",
    ),
    "an encrypted file": (
        {"app/web.yaml": WORKLOAD + "sops: {mac: a}\n"},
        "no workload checked; 1 encrypted file holds workloads that were not checked: sops --decrypt … | packwise "
        "check -; skipped: 1 encrypted file",
    ),
    "a component": (
        {"part/kustomization.yaml": "kind: Component\nresources: [web.yaml]\n", "part/web.yaml": WORKLOAD},
        "no workload checked; 1 file of a component holds workloads that were not checked: kustomize build … | "
        "packwise check -; skipped: 2 files of components",
    ),
    "a patch": (
        {
            "kustomization.yaml": "resources: [web.yaml]\npatches: [{path: patch.yaml}]\n",
            "web.yaml": WORKLOAD,
            "patch.yaml": WORKLOAD,
        },
        f"{CHECKED}; skipped: 1 patch",
    ),
    "an ignored file": (
        {".gitignore": "web.yaml\n", "app/web.yaml": WORKLOAD},
        "no workload checked; 1 ignored path holds workloads that were not checked; skipped: 1 ignored path",
    ),
    "what a configuration excludes": (
        {"topology.yaml": CONFIG + "  exclude: [app]\n", "app/web.yaml": WORKLOAD},
        "no workload checked; 1 excluded path holds workloads that were not checked; skipped: 1 excluded path",
    ),
    "a Dynamo graph in a list within a template": (
        CHART
        | {
            "chart/templates/all.yaml": "{{ if a }}\nkind: List\nitems:\n- apiVersion: nvidia.com/v1beta1\n"
            "  kind: DynamoGraphDeployment\n{{ end }}\n"
        },
        f"no workload checked; {HELM}; skipped: 1 Helm template, 1 Helm chart",
    ),
    "templates of workloads that KAI or Kueue schedules": (
        CHART
        | {
            "chart/templates/job.yaml": scheduled("batch/v1", "Job", "schedulerName: kai-scheduler"),
            "chart/templates/set.yaml": scheduled("jobset.x-k8s.io/v1alpha2", "JobSet", "kai.scheduler/queue: q"),
            "chart/templates/lws.yaml": scheduled(
                '{{ include "api" . }}', "LeaderWorkerSet", "kueue.x-k8s.io/queue-name: q"
            ),
            "chart/templates/group.yaml": scheduled(
                "workloads.x-k8s.io/v1alpha1", "RoleBasedGroup", 'schedulerName: {{ .name | default "kai-scheduler" }}'
            ),
        },
        "no workload checked; 4 Helm templates hold workloads that were not checked: helm template … | packwise check "
        "-; skipped: 4 Helm templates, 1 Helm chart",
    ),
    "templates that neither KAI nor Kueue reads": (
        CHART
        | {
            "chart/templates/job.yaml": scheduled("batch/v1", "Job", "schedulerName: default-scheduler"),
            "chart/templates/service.yaml": scheduled("v1", "Service", "kai.scheduler/queue: q"),
            "chart/templates/queue.yaml": scheduled("scheduling.run.ai/v2", "Queue", "kai.scheduler/queue: q"),
            "chart/templates/local.yaml": scheduled("kueue.x-k8s.io/v1beta1", "LocalQueue", "a: b"),
            "chart/templates/deployment.yaml": scheduled("apps/v1", "Deployment", "image: kai-scheduler"),
            "chart/templates/two.yaml": scheduled("batch/v1", "Job", "a: b")
            + "---\n"
            + scheduled("v1", "ConfigMap", "kai.scheduler/queue: q"),
        },
        "no workload checked; skipped: 6 Helm templates, 1 Helm chart",
    ),
    "a template of another tool with a Job for KAI": (
        {"app/job.yaml": scheduled("batch/v1", "Job", "schedulerName: kai-scheduler") + "{% if a %}\n"},
        "no workload checked; 1 template holds workloads that were not checked; skipped: 1 template",
    ),
    "a reference in a template": (
        CHART | {"chart/templates/hpa.yaml": "spec:\n  scaleTargetRef:\n    kind: PodCliqueSet\n    name: {{ a }}\n"},
        "no workload checked; skipped: 1 Helm template, 1 Helm chart",
    ),
}
WRONG: dict[str, dict[str, str]] = {
    "a configuration with a slip": {"topology.yaml": CONFIG.replace("enabled", "enable"), "app/web.yaml": WORKLOAD},
    "a configuration that is no YAML": {"topology.yaml": CONFIG + "  - ]\n", "app/web.yaml": WORKLOAD},
    "a workload that is no YAML": {"app/web.yaml": WORKLOAD + "  - ]\n"},
}
COMMANDS = (
    "check in",
    "check in -o json",
    "render in",
    "render in -o out",
    "explain in",
    "topologies in",
    "comment in",
    "diff in in",
    "doctor in",
    "migrate --to v0.1.0-alpha.14 --dry-run in",
    "place in --nodes nodes.json",
    "report in -o out.svg --nodes nodes.json",
)


@pytest.fixture(autouse=True)
def repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()


@pytest.mark.parametrize("case", CASES)
def test_the_last_line(call: Call, tmp_path: Path, case: str) -> None:
    files, said = CASES[case]
    write(tmp_path / "in", {"topology.yaml": CONFIG} | files)

    assert call("check", "in").closing.partition("; ")[2] == said


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("case", ["a workload", "none", "a Helm template", "a template that is YAML"])
def test_every_command_has_it(call: Call, tmp_path: Path, case: str, command: str) -> None:
    files, said = CASES[case]
    write(tmp_path, {f"in/{name}": text for name, text in ({"topology.yaml": CONFIG} | files).items()})
    write(tmp_path, {"nodes.json": cluster()})
    if command.split(maxsplit=1)[0] in ("diff", "migrate"):
        said = said.replace(CHECKED, "1 workload read").replace("checked", "read")

    closing = call(*command.split()).closing

    assert closing.endswith(said), closing


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize(
    "command", ["check in", "render in", "explain in", "comment in", "place in --nodes nodes.json"]
)
def test_errors_keep_workloads_from_being_checked(call: Call, tmp_path: Path, command: str, wrong: str) -> None:
    write(tmp_path, {f"in/{name}": text for name, text in ({"topology.yaml": CONFIG} | WRONG[wrong]).items()})
    write(tmp_path, {"nodes.json": cluster()})

    ran = call(*command.split())

    assert ran.code == 1
    assert ran.closing.endswith("no workload checked; 1 workload was not checked, because of errors")


SAME: dict[str, str] = {
    "kinds without a rule of KAI's": """\
apiVersion: workloads.x-k8s.io/v1alpha2
kind: RoleBasedGroup
metadata: {name: web, namespace: ml}
spec: {roles: [{template: {spec: {schedulerName: kai-scheduler, containers: [{name: c}]}}}]}
""",
    "pods that Kueue queues one by one": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: ml, labels: {kueue.x-k8s.io/queue-name: lq}}
spec: {replicas: 3, template: {spec: {containers: [{name: c}]}}}
""",
    "a TrainJob without its runtime": """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: web, namespace: ml, labels: {kueue.x-k8s.io/queue-name: lq}}
spec: {runtimeRef: {name: torch}}
""",
    "a job without a namespace, and queues of its name in two": """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: a}
spec: {clusterQueue: a}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: b}
spec: {clusterQueue: b}
---
apiVersion: batch/v1
kind: Job
metadata: {name: web, labels: {kueue.x-k8s.io/queue-name: lq}}
spec: {template: {spec: {containers: [{name: c}]}}}
""",
}


@pytest.mark.parametrize("case", SAME)
def test_all_commands_count_alike(call: Call, tmp_path: Path, case: str) -> None:
    write(tmp_path, {"in/w.yaml": SAME[case]})

    for command in ("check", "doctor", "explain", "topologies"):
        ran = call(command, "in")
        assert ran.closing.endswith("1 workload checked"), command
        if command in ("explain", "topologies"):
            assert "/web" in ran.stdout, command


def test_programs_get_the_numbers(call: Call, tmp_path: Path) -> None:
    files = {f"in/{name}": text for name, text in (CASES["a Helm template"][0] | {"topology.yaml": CONFIG}).items()}
    write(tmp_path, files | {"nodes.json": cluster()})
    expected = {"workloads": 0, "passedOver": {"Helm template": 1}}

    for command in ("explain in", "topologies in", "doctor in", "place in --nodes nodes.json"):
        assert json.loads(call(*command.split(), "-o", "json").stdout)["coverage"] == expected
    compared = json.loads(call("diff", "in", "in", "-o", "json").stdout)
    assert compared["before"]["coverage"] == compared["after"]["coverage"] == expected
    assert json.loads(call("check", "in", "-o", "sarif").stdout)["runs"][0]["properties"]["coverage"] == expected
    (found,) = call("check", "in", "-o", "json").findings
    assert (found["rule"], found["severity"]) == ("no-workloads", "info")
    assert found["message"].endswith(f"; {HELM}")


@pytest.mark.parametrize("case", CASES)
def test_workloads_can_be_required(call: Call, tmp_path: Path, case: str) -> None:
    files, said = CASES[case]
    write(tmp_path / "in", {"topology.yaml": CONFIG} | files)

    ran = call("check", "in", "--require-workloads")

    error = "error: no workload was checked (--require-workloads)\n"
    assert (ran.code, error in ran.stderr) == ((1, True) if said.startswith("no workload") else (0, False))


def test_a_change_need_not_reach_workloads(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "in", {"topology.yaml": CONFIG})

    assert call("check", "in", "--require-workloads", "--changed-since", "main").code == 2


@pytest.mark.parametrize("verb", ["check", "render", "place"])
def test_a_package_without_any_is_not_a_passing_one(call: Call, tmp_path: Path, verb: str) -> None:
    write(tmp_path, {f"chart/{name}": text for name, text in CASES["a Helm template"][0].items()})
    write(tmp_path, {"chart/topology.yaml": CONFIG, "web/topology.yaml": CONFIG, "web/web.yaml": WORKLOAD})
    write(tmp_path / "beside", {"nodes.json": cluster()})
    nodes = ("--nodes", "beside/nodes.json") if verb == "place" else ()
    json_output = ("--report", "json") if verb == "render" else ("-o", "json")

    ran = call("fleet", verb, ".", "--no-cache", *nodes)
    listed = json.loads(call("fleet", verb, ".", "--no-cache", *nodes, *json_output).stdout)

    assert ran.code == 0
    assert ran.stdout.startswith("2 packages: 1 nothing checked, 1 passing\n")
    assert f"nothing checked: {HELM}: chart\n" in ran.stdout
    assert [each["status"] for each in listed["packages"]] == ["nothing checked", "passing"]
    assert listed["summary"]["passedOver"] == {"Helm template": 1}
    required = call("fleet", verb, ".", "--no-cache", *nodes, "--require-workloads")
    assert required.code == 1
    assert required.stderr.endswith("error: no workload was checked in 1 package (--require-workloads)\n")


POD = "{template: {spec: {schedulerName: SCHEDULER, containers: [{name: main}]}}}"
JOB = f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: train}}\nspec: {POD}\n"
DEPLOYMENT = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: serve}}\nspec: {POD}\n"
OF_KAI = {"job.yaml": JOB.replace("SCHEDULER", "kai-scheduler")}
OF_KUEUE = {
    "queued.yaml": JOB.replace("SCHEDULER", "default-scheduler").replace(
        "train}", "queued, labels: {kueue.x-k8s.io/queue-name: lq}}"
    )
}
OF_NOBODY = {"serve.yaml": DEPLOYMENT.replace("SCHEDULER", "volcano")}


@pytest.mark.parametrize(
    ("files", "line"),
    [
        (OF_KAI | OF_KUEUE | OF_NOBODY, "2 workloads read (2 Job)"),
        (OF_KAI | {"web.yaml": WORKLOAD}, "2 workloads read (among them 1 Job)"),
        ({"web.yaml": WORKLOAD}, "1 workload read"),
        (OF_NOBODY, "no workload read"),
    ],
)
def test_workloads_of_kai_and_kueue_are_counted_by_kind_where_they_are_only_read(
    tmp_path: Path, call: Call, files: dict[str, str], line: str
) -> None:
    write(tmp_path, {"topology.yaml": CONFIG} | files)

    assert call("diff", str(tmp_path), str(tmp_path)).closing.endswith(f": {line}")


def test_without_workloads_nobody_asks_for_the_release_of_kai(call: Call, tmp_path: Path) -> None:
    image = "ghcr.io/nvidia/kai-scheduler/operator:v0.16.7"
    meta = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: operator, namespace: kai-scheduler}\n"
    pods = f"template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{{name: o, image: {image}}}]}}}}"
    spec = f"spec: {{selector: {{matchLabels: {{a: b}}}}, {pods}}}\n"
    write(tmp_path, {"in/operator.yaml": f"{meta}{spec}"})
    write(tmp_path, {"both/operator.yaml": f"{meta}{spec}", "both/topology.yaml": CONFIG, "both/web.yaml": WORKLOAD})

    found = [[each["rule"] for each in call("check", name, "-o", "json").findings] for name in ("in", "both")]

    assert ["kai-unnamed" in rules for rules in found] == [False, True]
