"""A repository of other tools without workloads. The same size gives the same bytes.

It has values of charts, an index of a chart repository in flow style, workflows of a forge, and numbers in JSON. It
also has manifests that packwise does not check, such as a CustomResourceDefinition. It resembles a clone of kserve, for
which `packwise check` took 20 s of system time for 2.3 million numbers.

    python benchmarks/foreign.py FOLDER [MEBIBYTES]

`compare` compares the time of `packwise check` and kubeconform on this repository. kubeconform looks for the schema of
each object and finds none. `make bench` builds kubeconform.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

__all__ = ["MIB", "ROOT", "Run", "compare", "kubeconform", "run", "write_repository"]

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".cache" / "bench" / "foreign" / "repository"
KUBECONFORM = ROOT / ".cache" / "tools" / "kubeconform-v0.8.0" / "kubeconform"
MIB = 1 << 20
# Linux counts the peak in KiB, macOS in bytes.
RSS_UNIT = 1 if sys.platform == "darwin" else 1024


def write_repository(folder: Path, mebibytes: float) -> None:
    """Write files of each kind in turn until they have this number of MiB together."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    left, number = int(mebibytes * MIB), 0
    while left > 0:
        name, text = _KINDS[number % len(_KINDS)]
        content = text(number)
        (folder / name.format(number)).write_text(content, encoding="utf-8")
        left -= len(content)
        number += 1


def _values(number: int) -> str:
    entry = "entry-{0}-{1}:\n  name: x{1}\n  value: [1, 2, 3]\n  note: any text at all\n"
    return "".join(entry.format(number, each) for each in range(700))


def _index(number: int) -> str:
    line = "- {{name: r{0}, version: 1.{1}.{0}, urls: ['https://example.com/{0}.tgz'], digest: abc{0}}}\n"
    return "releases:\n" + "".join(line.format(each, number) for each in range(500))


def _workflow(number: int) -> str:
    step = "      - name: step {0}\n        run: |\n          make test-{0}\n          echo done\n"
    steps = "".join(step.format(each) for each in range(300))
    return f"name: run {number}\non: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n{steps}"


def _numbers(number: int) -> str:
    row = ", ".join(f"{(each * 7919 + number) % 1000 / 997:.6f}" for each in range(64))
    return '{"instances": [\n' + ",\n".join([f"  [{row}]"] * 70) + "\n]}\n"


def _maps(number: int) -> str:
    head = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map-{0}-{1}\n"
    one = head + "data:\n  a.conf: |\n    a = {1}\n    b = 2\n"
    return "".join(one.format(number, each) for each in range(300))


def _definition(number: int) -> str:
    head = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n"
        f"  name: things{number}.example.com\nspec:\n  group: example.com\n  scope: Namespaced\n"
        f"  names: {{kind: Thing{number}, plural: things{number}}}\n  versions:\n  - name: v1\n    served: true\n"
        "    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n"
    )
    one = (
        "          field{0}:\n            description: What the field {0} is for, in a sentence or two.\n"
        "            type: string\n"
    )
    return head + "".join(one.format(each) for each in range(250))


_KINDS: tuple[tuple[str, Callable[[int], str]], ...] = (
    ("values-{}.yaml", _values),
    ("index-{}.yaml", _index),
    ("workflow-{}.yml", _workflow),
    ("numbers-{}.json", _numbers),
    ("maps-{}.yaml", _maps),
    ("definition-{}.yaml", _definition),
)
"""The names and the texts of files. `{}` in a name is the number of the file."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run: seconds of wall clock and of CPU, page faults, bytes of peak memory."""

    wall: float
    cpu: float
    faults: int
    memory: int


def run(command: list[str], folder: Path = ROOT) -> Run:
    """Run a command in a folder. It may fail, because a checker may report errors in files of other tools."""
    started = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    _, status, usage = os.wait4(process.pid, 0)
    wall = perf_counter() - started
    # Without this, Popen would wait for the process again when it is collected.
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with exit code {process.returncode}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_minflt, usage.ru_maxrss * RSS_UNIT)


def kubeconform(folder: Path) -> list[str] | None:
    """Return the command that checks a folder with kubeconform without a network, or None if kubeconform is missing."""
    if not KUBECONFORM.exists():
        return None
    # Without a location of schemas, kubeconform finds no schema.
    return [str(KUBECONFORM), "-ignore-missing-schemas", "-schema-location", os.devnull, str(folder)]


def compare(packwise: str, mebibytes: float = 48, *, runs: int = 1) -> Iterator[str]:
    """Yield a row for each checker, with the medians of `runs` runs. The checkers run in turn."""
    write_repository(FOLDER, mebibytes)
    peer = kubeconform(FOLDER)
    commands = {"packwise check": [packwise, "check", str(FOLDER)], **({} if peer is None else {"kubeconform": peer})}
    taken: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            taken[name].append(run(command))
    medians = {
        name: (median(one.wall for one in each), median(one.cpu for one in each), median(one.faults for one in each))
        for name, each in taken.items()
    }
    there = medians.get("kubeconform")
    for name, (wall, cpu, faults) in medians.items():
        ratios = (
            f"{wall / there[0]:.2f} | {cpu / there[1]:.2f}" if there is not None and name != "kubeconform" else " | "
        )
        yield f"| {name} | {wall:.2f} | {cpu:.2f} | {faults:,.0f} | {ratios} |"


if __name__ == "__main__":
    write_repository(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 48)
