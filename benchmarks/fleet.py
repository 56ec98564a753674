"""A synthetic fleet, and what `packwise fleet` takes for it: time, memory, and the same bytes on every kind of worker.

    python benchmarks/fleet.py generate DIR [--clusters 2000] [--workloads 20] [--seed 0]
    python benchmarks/fleet.py measure DIR [--sample 40] [--small DIR] [--only cold,warm,...]

A fleet has three times as many applications as a cluster runs, each a base of kustomize with a workload, a Service
and a ConfigMap. Of the clusters, seven in ten are overlays over such bases, two in ten plain folders, one in ten
packages of kpt. The same seed gives the same bytes, and the first clusters are the same in a fleet of any size.

`measure` prints a table. `--small` is a fleet with a tenth of the clusters, for the memory of the driver.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from random import Random
from time import perf_counter, sleep

sys.path.insert(0, str(Path(__file__).resolve().parent))
from krmfn.record import NamedTuple
from workloads import workload

__all__ = ["generate", "main", "paths_and_texts"]

ROOT = Path(__file__).resolve().parents[1]
SCRATCH = ROOT / ".cache" / "bench" / "fleet"
BIN = Path(sys.executable).parent

CONFIGURATION = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata:
  name: topology
{annotations}spec:
  topologyAwareScheduling:
    enabled: true
    levels:
{levels}  scheduler:
    profiles:
    - name: kai-scheduler
      default: true
"""

FUNCTION = """\
  annotations:
    config.kubernetes.io/function: |
      exec: {path: packwise, args: [fn]}
"""

LEVELS = (
    ("zone", "topology.kubernetes.io/zone"),
    ("block", "example.com/block"),
    ("rack", "example.com/rack"),
    ("host", "kubernetes.io/hostname"),
)

KPTFILE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: {cluster}
pipeline:
  mutators:
  - exec: packwise fn
    configPath: topology.yaml
"""

SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: inference-{number}
  namespace: team-{team}
spec:
  selector:
    app: inference-{number}
  ports:
  - port: 8000
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: inference-{number}
  namespace: team-{team}
data:
  MODEL: example/large-70b
  MAX_TOKENS: "4096"
"""

PATCH = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata:
  name: inference-{number}
  namespace: team-{team}
spec:
  replicas: {replicas}
"""


# --- The generator ---


def paths_and_texts(clusters: int, workloads: int, seed: int) -> Iterator[tuple[str, str]]:
    """Every file of a fleet."""
    applications = 3 * workloads
    for number in range(applications):
        base = f"bases/inference-{number}"
        yield f"{base}/kustomization.yaml", "resources: [workload.yaml, service.yaml]\n"
        yield f"{base}/workload.yaml", workload(number)
        yield f"{base}/service.yaml", SERVICE.format(number=number, team=number % 20)
    for index in range(clusters):
        # By its number, so that a cluster is the same one in a fleet of any size.
        random = Random(f"{seed} {index}")  # noqa: S311
        chosen = sorted(random.sample(range(applications), workloads))
        name = f"clusters/region-{index % 10}/cluster-{index:05}"
        (kind,) = random.choices((_overlay, _plain, _kpt), (7, 2, 1))
        for path, text in kind(random, index, chosen):
            yield f"{name}/{path}", text


def _overlay(random: Random, index: int, chosen: list[int]) -> Iterator[tuple[str, str]]:
    patched = random.choice(chosen)
    resources = "".join([f"- ../../../bases/inference-{number}\n" for number in chosen])
    yield (
        "kustomization.yaml",
        f"resources:\n{resources}"
        "transformers: [topology.yaml]\n"
        "patches:\n- path: replicas.yaml\n"
        "images:\n"
        f"- {{name: registry.example.com/serving/engine, newTag: 2.4.{random.randrange(20)}}}\n"
        f"commonAnnotations: {{example.com/cluster: cluster-{index:05}}}\n",
    )
    yield "replicas.yaml", PATCH.format(number=patched, team=patched % 20, replicas=random.randint(1, 4))
    yield "topology.yaml", _configuration(random, FUNCTION)


def _plain(random: Random, _: int, chosen: list[int]) -> Iterator[tuple[str, str]]:
    for number in chosen:
        tag = f"engine:2.4.{random.randrange(20)}"
        yield f"inference-{number}.yaml", workload(number).replace("engine:2.4.1", tag)
        yield f"service-{number}.yaml", SERVICE.format(number=number, team=number % 20)
    yield "topology.yaml", _configuration(random, "")


def _kpt(random: Random, index: int, chosen: list[int]) -> Iterator[tuple[str, str]]:
    yield "Kptfile", KPTFILE.format(cluster=f"cluster-{index:05}")
    yield from _plain(random, index, chosen)


def _configuration(random: Random, annotations: str) -> str:
    """Levels of a cluster: every other one has blocks of racks."""
    levels = [level for level in LEVELS if level[0] != "block" or random.randrange(2)]
    lines = "".join([f"    - domain: {domain}\n      key: {key}\n" for domain, key in levels])
    return CONFIGURATION.format(annotations=annotations, levels=lines)


def generate(folder: Path, clusters: int, workloads: int, seed: int) -> int:
    """Writes a fleet into an empty folder; returns how many files that are. Raises SystemExit where it is not empty."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f'"{folder}" must be empty, or not there')
    written = 0
    for path, text in paths_and_texts(clusters, workloads, seed):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        written += 1
    return written


# --- The measurements ---


class Run(NamedTuple):
    """What one run took: seconds, peak MiB of the driver alone, and a digest of all that it wrote."""

    seconds: float
    memory: float
    digest: str


def run_fleet(
    folder: Path, *options: str, cache: Path | None = None, meanwhile: Callable[[], None] | None = None
) -> Run:
    """One `packwise fleet render`. Raises SystemExit where it fails: such a time means nothing."""
    output = SCRATCH / "rendered"
    shutil.rmtree(output, ignore_errors=True)
    kept = ["--no-cache"] if cache is None else ["--cache", str(cache)]
    command = [BIN / "packwise", "fleet", "render", folder, "-o", output, "--report", "json", *kept, *options]
    environment = {**os.environ, "PATH": f"{kustomize().parent}{os.pathsep}{os.environ['PATH']}"}
    started, memory = perf_counter(), 0.0
    with (SCRATCH / "report.json").open("wb") as report, (SCRATCH / "stderr").open("wb") as errors:
        process = subprocess.Popen(command, stdout=report, stderr=errors, env=environment)
        if meanwhile is not None:
            meanwhile()
        while process.poll() is None:
            memory = max(memory, _peak(process.pid))
            sleep(0.02)
    seconds = perf_counter() - started
    if process.returncode != 0:
        raise SystemExit(f"{command} ended with {process.returncode}: {(SCRATCH / 'stderr').read_text()[-2000:]}")
    return Run(seconds, memory, digest_of(output))


def digest_of(folder: Path) -> str:
    """A digest of all files of a folder, by their paths."""
    digest = sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            digest.update(f"{file.relative_to(folder)} {file.stat().st_size}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _peak(process: int) -> float:
    """The most memory that a process had so far, in MiB; of children nothing is counted."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0.0)


def kustomize() -> Path:
    """The kustomize of `make tools`, else the one on PATH. Raises SystemExit where there is none."""
    built = sorted((ROOT / ".cache" / "tools").glob("kustomize-v*/kustomize"))
    found = str(built[-1]) if built else shutil.which("kustomize")
    if found is None:
        raise SystemExit("kustomize must be on PATH, or built: make tools")
    return Path(found)


def shell_loop(folder: Path, sample: int) -> tuple[float, int, int]:
    """Seconds of `kustomize build` for a sample of the overlays, one after the other; its size, and that of all."""
    overlays = sorted(folder.glob("clusters/*/*/kustomization.yaml"))
    chosen = overlays[:: max(1, len(overlays) // sample)][:sample]
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    words = [kustomize(), "build", "--enable-alpha-plugins", "--enable-exec"]
    started = perf_counter()
    for each in chosen:
        subprocess.run([*words, each.parent], stdout=subprocess.DEVNULL, env=environment, check=True)
    return perf_counter() - started, len(chosen), len(overlays)


@contextmanager
def dask(workers: int) -> Generator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler of Dask on this machine, and workers of one thread each."""
    port = "18786"
    address = f"tcp://127.0.0.1:{port}"
    environment = {**os.environ, "PATH": f"{kustomize().parent}{os.pathsep}{os.environ['PATH']}"}
    common = ["--no-dashboard"]
    with ExitStack() as stack:
        log = stack.enter_context((SCRATCH / "dask.log").open("wb"))

        def start(*words: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen([BIN / "dask", *words, *common], stdout=log, stderr=log, env=environment)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        start("scheduler", "--host", "127.0.0.1", "--port", port)
        scratch = ["--local-directory", str(SCRATCH)]
        yield (
            address,
            [start("worker", address, "--nthreads", "1", "--no-nanny", *scratch) for _ in range(workers)],
        )


class Measured(NamedTuple):
    """A row of the table."""

    name: str
    text: str


def measure(folder: Path, small: Path | None, sample: int, only: frozenset[str]) -> Iterator[Measured]:
    """The rows of the table, as they are measured."""
    clusters = len(list(folder.glob("clusters/*/*")))
    cache = SCRATCH / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    SCRATCH.mkdir(parents=True, exist_ok=True)
    yield Measured("packages", f"{clusters:,}")

    def wanted(name: str) -> bool:
        return not only or name in only

    cold = run_fleet(folder, cache=cache)
    yield Measured("cold, 1 process", _row(cold, clusters))
    if wanted("warm"):
        warm = run_fleet(folder, cache=cache)
        share = 100 * warm.seconds / cold.seconds
        yield Measured("warm, 1 process", f"{_row(warm, clusters)}; {share:.1f}% of cold, {_same(cold, warm)}")
    if wanted("processes"):
        two = run_fleet(folder, "--jobs", "2")
        yield Measured(
            "cold, 2 processes",
            f"{_row(two, clusters)}; {cold.seconds / two.seconds:.2f} × as fast, {_same(cold, two)}",
        )
    if wanted("loop"):
        seconds, number, overlays = shell_loop(folder, sample)
        each = seconds / number
        yield Measured(
            "shell loop of kustomize build",
            f"{each * overlays:.1f} s for {overlays:,} overlays, extrapolated from {number}: {1000 * each:.0f} ms each",
        )
    if wanted("dask"):
        yield from _dask_rows(folder, clusters, cold)
    if small is not None and wanted("memory"):
        few = run_fleet(small, "--jobs", "2")
        many = run_fleet(folder, "--jobs", "2")
        fewer = len(list(small.glob("clusters/*/*")))
        yield Measured(
            "memory of the driver",
            f"{few.memory:.0f} MiB with {fewer:,} packages, {many.memory:.0f} MiB with {clusters:,}",
        )


def _dask_rows(folder: Path, clusters: int, cold: Run) -> Iterator[Measured]:
    with dask(2) as (address, _):
        both = run_fleet(folder, "--scheduler", address)
    yield Measured("cold, Dask, 2 workers", f"{_row(both, clusters)}; {_same(cold, both)}")
    with dask(2) as (address, workers):

        def kill_in_the_middle() -> None:
            sleep(both.seconds / 2)
            workers[0].send_signal(signal.SIGKILL)

        survived = run_fleet(folder, "--scheduler", address, meanwhile=kill_in_the_middle)
    yield Measured("the same, 1 of them killed", f"{_row(survived, clusters)}; {_same(cold, survived)}")


def _row(run: Run, clusters: int) -> str:
    return f"{run.seconds:.2f} s, {1000 * run.seconds / clusters:.1f} ms each, driver {run.memory:.0f} MiB"


def _same(run: Run, other: Run) -> str:
    return "same bytes" if run.digest == other.digest else "OTHER BYTES"


def main() -> None:
    """Generates a fleet, or measures one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    generating = verbs.add_parser("generate")
    generating.add_argument("folder", type=Path)
    generating.add_argument("--clusters", type=int, default=2000)
    generating.add_argument("--workloads", type=int, default=20)
    generating.add_argument("--seed", type=int, default=0)
    measuring = verbs.add_parser("measure")
    measuring.add_argument("folder", type=Path)
    measuring.add_argument("--small", type=Path)
    measuring.add_argument("--sample", type=int, default=40)
    measuring.add_argument("--only", default="", help="of warm,processes,loop,dask,memory; cold is always measured")
    options = parser.parse_args()
    if options.verb == "generate":
        written = generate(options.folder, options.clusters, options.workloads, options.seed)
        print(f"{options.folder}: {written:,} files")
        return
    names: str = options.only
    only = frozenset(names.split(",")) if names else frozenset[str]()
    for row in measure(options.folder, options.small, options.sample, only):
        print(f"{row.name:<32}{row.text}", flush=True)


if __name__ == "__main__":
    main()
