"""Reports about sources that cannot be built, and about assumptions for other sources. These tests need no program."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from packwise.build import charts, kustomizations
from tests.builds.planning import CHART, URL, application
from tests.cli.calling import Call, Ran, write


def _absent(_: str) -> None:
    """Leave PATH without any program."""


@pytest.fixture(autouse=True)
def _no_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a repository with a remote. Neither helm nor kustomize is on PATH."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True)
    subprocess.run(["git", "-C", str(tmp_path), "remote", "add", "origin", URL], check=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path.parent / f"{tmp_path.name}-cache"))
    for module in (charts, kustomizations):
        monkeypatch.setattr(module, "program_on_path", _absent)
    charts.helm.cache_clear()
    kustomizations.kustomize.cache_clear()


WORKLOAD = """\
apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: b, labels: {kai.scheduler/queue: q}}
spec: {template: {spec: {schedulerName: kai-scheduler, restartPolicy: Never, containers: [{name: a, image: b}]}}}
"""
GPUS = 'image: b, resources: {limits: {nvidia.com/gpu: "-1"}}'
QUEUE = "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: q}\nspec: {}\n"


def test_a_missing_values_file_is_an_error_that_names_it(call: Call, tmp_path: Path) -> None:
    write(tmp_path, CHART | {"apps/a.yaml": application({"helm": {"valueFiles": ["none.yaml"]}})})

    ran = call("check", ".", "--build")

    assert ran == Ran(
        1,
        "error: apps/a.yaml:15:9: Application argocd/llm spec.source.helm.valueFiles[0]: packwise cannot build it: "
        'values file "charts/llm/none.yaml" does not exist [source-build]\n  14 |       valueFiles:\n  15 |       - '
        "none.yaml\n     |         ^~~~~~~~~\n\n",
        "1 error in 1 file; no workload checked; 0 sources built, 1 not built: 1 missing values; skipped: 1 Helm "
        "chart, 1 values file\n",
    )


def test_without_programs_nothing_is_checked_and_all_is_counted(call: Call, tmp_path: Path) -> None:
    files = {"kust/job.yaml": WORKLOAD, "kust/kustomization.yaml": "resources: [job.yaml]\n"}
    write(tmp_path, CHART | files)

    ran = call("check", ".", "--build")
    required = call("check", ".", "--require-build")

    counted = (
        "no workload checked; 0 sources built, 2 not built: 2 programs not on PATH; 1 file of a source that is not "
        "built holds workloads that were not checked; skipped: 1 Helm chart, 1 values file, 2 files of sources that "
        "are not built\n"
    )
    assert ran == Ran(0, "", f"1 info (-v lists it) in 0 files; {counted}")
    assert required == Ran(
        1,
        "error: charts/llm/Chart.yaml: packwise did not build it (program not on PATH): helm is not on PATH: "
        "https://helm.sh/docs/intro/install [source-not-built]\nerror: kust/kustomization.yaml: packwise did not "
        "build it (program not on PATH): kustomize is not on PATH: "
        "https://kubectl.docs.kubernetes.io/installation/kustomize [source-not-built]\n",
        f"2 errors in 0 files; {counted}",
    )


def test_what_is_assumed_is_an_info(call: Call, tmp_path: Path) -> None:
    """A directory needs no program."""
    app = application({"path": "plain", "targetRevision": "v1"})
    write(tmp_path, {"apps/a.yaml": app, "plain/job.yaml": WORKLOAD})

    ran = call("check", ".", "--build", "-v")

    assert ran == Ran(
        0,
        'info: apps/a.yaml:1:1: Application argocd/llm: built the files of the checkout instead of the revision "v1" '
        "[source-assumed]\n  1 | apiVersion: argoproj.io/v1alpha1\n    | ^~~~~~~~~~\n\n",
        "by rule: 1 source-assumed (info)\n1 info in 2 files; 1 workload checked; 1 source built\n",
    )


def test_findings_about_files_that_are_delivered_as_they_are_are_at_their_lines(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"apps/a.yaml": application({"path": "plain"}), "plain/job.yaml": f"{WORKLOAD}---\n{QUEUE}"})

    ran = call("check", ".", "--build")

    assert ran == Ran(
        1,
        "error: plain/job.yaml:9:7: Queue q spec: the Queue has no resources, and KAI's webhook refuses it. Set cpu, "
        "gpu and memory, each with `quota` and `limit` (-1 is unlimited) [queue-resources]\n"
        "  8 | metadata: {name: q}\n"
        "  9 | spec: {}\n"
        "    |       ^~\n"
        "  KAI: resources must be specified\n"
        "\n",
        "1 error in 2 files; 1 workload checked; 1 source built\n",
    )


def _commit(folder: Path) -> None:
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "a"], check=True)


def test_a_change_is_checked_in_the_builds_that_it_reaches(call: Call, tmp_path: Path) -> None:
    """A build that failed before the change is not reported again."""
    wrong = {
        f"{name}/job.yaml": WORKLOAD.replace("{name: a,", f"{{name: {name},").replace("image: b", GPUS)
        for name in ("old", "new", "later")
    }
    apps = {f"apps/{name}.yaml": application({"path": name}, name=name) for name in ("old", "new", "later")}
    failing = application({"helm": {"valueFiles": ["none.yaml"]}}, name="failing")
    write(tmp_path, CHART | apps | {"apps/failing.yaml": failing, "old/job.yaml": wrong["old/job.yaml"]})
    _commit(tmp_path)
    write(tmp_path, wrong)

    ran = call("check", ".", "--build", "--changed-since", "HEAD")
    whole = call("check", ".", "--build")

    errors = [line.partition(": ")[2].partition(":")[0] for line in ran.stdout.splitlines() if line.startswith("error")]
    assert errors == ["later/job.yaml", "new/job.yaml"]
    assert whole.stdout.count("error: ") == 4


def test_a_change_by_which_a_build_fails_is_reported_at_its_unchanged_owner(call: Call, tmp_path: Path) -> None:
    app = application({"helm": {"valueFiles": ["prod.yaml"]}})
    write(tmp_path, CHART | {"apps/a.yaml": app, "charts/llm/prod.yaml": "a: 1\n"})
    _commit(tmp_path)
    (tmp_path / "charts/llm/prod.yaml").unlink()

    ran = call("check", ".", "--build", "--changed-since", "HEAD")

    assert 'packwise cannot build it: values file "charts/llm/prod.yaml" does not exist [source-build]' in ran.stdout
    assert ran.code == 1


def test_files_of_a_suspended_kustomization_are_counted(call: Call, tmp_path: Path) -> None:
    kustomization = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {path: ./apps, suspend: true, sourceRef: {kind: GitRepository, name: flux-system}}
"""
    write(tmp_path, {"flux/ks.yaml": kustomization, "apps/job.yaml": WORKLOAD})

    ran = call("check", ".", "--build")

    assert ran == Ran(
        0,
        "",
        "1 info (-v lists it) in 1 file; no workload checked; 0 sources built, 1 not built: 1 suspended; 1 file of a "
        "source that is not built holds workloads that were not checked; skipped: 1 file of a source that is not "
        "built\n",
    )


def test_files_of_a_source_that_is_not_built_define_what_others_name(call: Call, tmp_path: Path) -> None:
    queue = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: NAME, namespace: ml}\n"
    queue += "spec: {clusterQueue: all}\n---\n"
    job = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: NAME\n  namespace: ml\n"
    job += "  labels: {kueue.x-k8s.io/queue-name: NAME}\n"
    job += "spec: {template: {spec: {containers: [{name: a, image: b}]}}}\n"
    base = queue.replace("NAME", "team-a") + job.replace("NAME", "not-checked")
    write(tmp_path, {"queues/kustomization.yaml": "resources: [base.yaml, 'https://example.com/more.yaml']\n"})
    write(tmp_path, {"queues/base.yaml": base, "other.yaml": queue.replace("NAME", "team-b")})
    write(tmp_path, {"here.yaml": job.replace("NAME", "team-a"), "nowhere.yaml": job.replace("NAME", "team-c")})

    ran = call("check", ".", "--build")

    assert [line for line in ran.stdout.splitlines() if line.startswith(("error: ", "warning: "))] == [
        "warning: nowhere.yaml:6:39: Job ml/team-c metadata.labels[kueue.x-k8s.io/queue-name]: the namespace has no "
        'LocalQueue "team-c", and the job waits for it; did you mean "team-a"? [kueue-queue]'
    ]
    assert "2 workloads checked; 0 sources built, 1 not built: 1 remote source" in ran.stderr


def test_a_kustomization_reads_nothing_outside_and_fetches_nothing(call: Call, tmp_path: Path) -> None:
    (tmp_path.parent / "outside.yaml").write_text(WORKLOAD, encoding="utf-8")
    outside = {"out/kustomization.yaml": "resources: [../../outside.yaml]\n"}
    remote = {"remote/kustomization.yaml": "resources: ['github.com/acme/base//deploy?ref=v1']\n"}
    write(tmp_path, outside | remote | {"link/kustomization.yaml": "resources: [job.yaml]\n"})
    (tmp_path / "link/job.yaml").symlink_to("../../outside.yaml")

    ran = call("check", ".", "--require-build")

    assert [line for line in ran.stdout.splitlines() if line.startswith("error: ")] == [
        'error: link/kustomization.yaml: packwise cannot build it: link/kustomization.yaml: "job.yaml" is not an '
        "existing file or folder, or is a link [source-build]",
        'error: out/kustomization.yaml: packwise cannot build it: out/kustomization.yaml: "../../outside.yaml" '
        "leads out of the repository [source-build]",
        "error: remote/kustomization.yaml: packwise did not build it (remote source): remote/kustomization.yaml: "
        '"github.com/acme/base//deploy?ref=v1" is outside the repository, and packwise fetches nothing; copy it '
        "into the repository "
        "[source-not-built]",
    ]
    assert "; 0 sources built, 3 not built: 2 failed builds, 1 remote source" in ran.stderr


def test_a_chart_that_another_one_depends_on_is_not_built_alone(call: Call, tmp_path: Path) -> None:
    parent = "apiVersion: v2\nname: p\nversion: 1.0.0\n"
    parent += "dependencies: [{name: llm, version: 1.x, repository: file://../llm}]\n"
    write(tmp_path, CHART | {"charts/p/Chart.yaml": parent})

    ran = call("check", ".", "--build", "-v")

    assert "not built: chart charts/p: " in ran.stderr
    assert "not built: chart charts/llm: " not in ran.stderr


def test_a_chart_with_a_remote_dependency_is_not_built(call: Call, tmp_path: Path) -> None:
    chart = "apiVersion: v2\nname: p\nversion: 1.0.0\n"
    chart += "dependencies: [{name: redis, version: 1.x, repository: https://x.example}]\n"
    write(tmp_path, {"charts/p/Chart.yaml": chart, "charts/p/values.yaml": "a: 1\n"})

    ran = call("check", ".", "--build", "-v")

    assert "chart redis of https://x.example is remote, and packwise fetches nothing" in ran.stderr
    assert "1 not built: 1 " in ran.stderr
