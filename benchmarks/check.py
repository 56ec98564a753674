"""Compare the time of `packwise check` and kubectl-validate on a folder with some invalid workloads.

    python benchmarks/check.py [--workloads 1000] [--wrong 50] [--runs 3] [--crds ../shared/crds/alpha7]

kubectl-validate knows only the schemas of the CRDs. Some workloads are invalid for both (an unknown field, a value of
another type), others only for Grove's webhook (a broader child, an unknown level).
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workloads import configuration, workload

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".cache" / "bench" / "check"
CRDS = Path(os.environ.get("PACKWISE_CRDS") or ROOT.parent / "shared" / "crds") / "alpha7"
VALIDATE = ROOT / ".cache" / "tools" / "kubectl-validate-v0.0.4" / "kubectl-validate"

MISTAKES = (
    ("cliqueNames:", "cliques:"),
    ("roleName:", "role:"),
    ("packDomain: zone", "packDomain: host"),
    ("packDomain: zone", "packDomain: planet"),
    ("minAvailable: 1", "minAvailable: 99"),
)
"""Replacements that make a workload invalid. The invalid workloads use them in turn."""


def write_folder(workloads: int, wrong: int) -> None:
    """Write a file for each workload, and the configuration. The invalid workloads are spread evenly."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    every = workloads // wrong if wrong else workloads + 1
    for number in range(workloads):
        text = workload(number)
        if number % every == 0 and number // every < wrong:
            old, new = MISTAKES[number // every % len(MISTAKES)]
            if old not in text:
                old, new = MISTAKES[0]
            text = text.replace(old, new, 1)
        (FOLDER / f"inference-{number:05}.yaml").write_text(text, encoding="utf-8")
    (FOLDER / "topology.yaml").write_text(configuration(), encoding="utf-8")


def run(name: str, command: list[str]) -> tuple[float, float]:
    """Run a checker, and return its wall time and CPU time. Raise SystemExit if it finds no error."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    wall = perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 1:
        raise SystemExit(f"{name} must find errors and exit 1; got {done.returncode}: {done.stderr[:500]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(
    packwise: str, workloads: int = 1000, wrong: int = 50, crds: Path = CRDS, *, runs: int = 1
) -> Iterator[str]:
    """Yield a row for each checker, with the medians of `runs` runs. The checkers run in turn."""
    write_folder(workloads, wrong)
    commands = {"packwise check": [packwise, "check", str(FOLDER)]}
    if VALIDATE.exists() and crds.is_dir():
        manifests = FOLDER.with_name("check-manifests")
        shutil.rmtree(manifests, ignore_errors=True)
        shutil.copytree(FOLDER, manifests, ignore=shutil.ignore_patterns("topology.yaml"))
        commands["kubectl-validate"] = [str(VALIDATE), str(manifests), "--local-crds", str(crds)]
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            taken[name].append(run(name, command))
    medians = {name: (median(wall for wall, _ in each), median(cpu for _, cpu in each)) for name, each in taken.items()}
    for name, (wall, cpu) in medians.items():
        ours = name == "packwise check" and len(medians) > 1
        ratio = f"{wall / medians['kubectl-validate'][0]:.2f}" if ours else ""
        yield f"| {name} | {wall:.2f} | {cpu:.2f} | {ratio} |"


def main() -> None:
    """Measure and print the rows."""
    parser = argparse.ArgumentParser(description="Times `packwise check` beside kubectl-validate.")
    parser.add_argument("--workloads", type=int, default=1000, help="default: %(default)s")
    parser.add_argument("--wrong", type=int, default=50, help="default: %(default)s")
    parser.add_argument("--runs", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--packwise", default=str(ROOT / ".venv/bin/packwise"), help="default: %(default)s")
    parser.add_argument("--crds", type=Path, default=CRDS, help="default: %(default)s")
    options = parser.parse_args()
    print("\n".join(compare(options.packwise, options.workloads, options.wrong, options.crds, runs=options.runs)))


if __name__ == "__main__":
    main()
