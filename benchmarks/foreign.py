"""A repository of other tools, without any workload. The same size gives the same bytes.

It holds values of charts, an index of a chart repository in flow style, workflows of a forge, numbers in JSON, and
manifests that packwise does not judge, for example a CustomResourceDefinition. It resembles a clone of kserve, for
which `packwise check` took 20 s of system time for 2.3 million numbers.

    python benchmarks/foreign.py FOLDER [MEBIBYTES]

`compare` times `packwise check` on it against kubeconform, which looks for the schema of each object and finds no
schema. `make bench` builds kubeconform.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

__all__ = ["compare", "write_repository"]

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".cache" / "bench" / "foreign"
KUBECONFORM = ROOT / ".cache" / "tools" / "kubeconform-v0.8.0" / "kubeconform"
MIB = 1 << 20


def write_repository(folder: Path, mebibytes: float) -> None:
    """Write files of each kind in turn until they have so many MiB together."""
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
"""The names and the texts of files; {} is their number."""


def compare(packwise: str, mebibytes: float = 48, *, runs: int = 1) -> Iterator[str]:
    """Return a row for each checker: medians of this number of runs, in turn."""
    write_repository(FOLDER, mebibytes)
    commands = {"packwise check": [packwise, "check", str(FOLDER)]}
    if KUBECONFORM.exists():
        # No network: a schema that is not there is one that is missing.
        nowhere = ["-ignore-missing-schemas", "-schema-location", os.devnull]
        commands["kubeconform"] = [str(KUBECONFORM), *nowhere, str(FOLDER)]
    taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            taken[name].append(_run(command))
    medians = {name: [median(column) for column in zip(*figures, strict=True)] for name, figures in taken.items()}
    peer = medians.get("kubeconform")
    for name, (wall, cpu, faults) in medians.items():
        ratios = f"{wall / peer[0]:.2f} | {cpu / peer[1]:.2f}" if peer is not None and name != "kubeconform" else " | "
        yield f"| {name} | {wall:.2f} | {cpu:.2f} | {faults:,.0f} | {ratios} |"


def _run(command: list[str]) -> tuple[float, float, float]:
    """Return seconds of wall clock and CPU, and page faults. The checker may find errors in foreign files."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = perf_counter()
    subprocess.run(command, capture_output=True, check=False)
    wall = perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, after.ru_minflt - before.ru_minflt


if __name__ == "__main__":
    write_repository(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 48)
