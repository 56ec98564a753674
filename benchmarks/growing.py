"""Measure inputs that grow: many documents in one file, a long List, and a comment on many workloads.

    python benchmarks/growing.py [--documents 1300000] [--entries 100000] [--workloads 3000] [--runs 1]

`packwise check` and kubeconform read the documents and the List. `packwise comment` has a baseline and the nodes of a
cluster. It is compared with `diff` and `place` on the same baseline, one after the other.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent))
from foreign import MIB, ROOT, Run, kubeconform, run
from workloads import configuration, workload

__all__ = ["compare"]

FOLDER = ROOT / ".cache" / "bench" / "growing"
DOCUMENT = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: map-{}}}\n"
ENTRY = "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: map-{}}}\n"
NODES = 256


def compare(
    packwise: str, documents: int = 1_300_000, entries: int = 100_000, workloads: int = 3000, *, runs: int = 1
) -> Iterator[str]:
    """Yield a row for each program, with the medians of `runs` runs. The programs run in turn."""
    # The path is absolute, because commands run in other folders.
    packwise = str(Path(packwise).absolute())
    shutil.rmtree(FOLDER, ignore_errors=True)
    for title, folder in (
        (f"{documents:,} documents in one file", _documents(documents)),
        (f"a List of {entries:,} objects", _list(entries)),
    ):
        check = [packwise, "check", str(folder)]
        yield from _rows(title, {"packwise check": [check], "kubeconform": _peer(folder)}, runs)
    _change(FOLDER / "comment", workloads)
    baseline = ["--baseline", "before"]
    placed = [*baseline, "--nodes", "nodes.json"]
    commands = {
        "packwise comment": [[packwise, "comment", "now", *placed]],
        "packwise diff, packwise place": [
            [packwise, "diff", "before", "now"],
            [packwise, "place", "now", *placed],
        ],
    }
    yield from _rows(f"a change of {workloads:,} workloads", commands, runs, FOLDER / "comment")


def _peer(folder: Path) -> list[list[str]]:
    command = kubeconform(folder)
    return [] if command is None else [command]


def _rows(title: str, commands: dict[str, list[list[str]]], runs: int, where: Path = ROOT) -> Iterator[str]:
    """Yield the rows of one input. The first program is compared with the second one if that is installed."""
    taken: dict[str, list[Run]] = {name: [] for name, parts in commands.items() if parts}
    for _ in range(runs):
        for name, each in taken.items():
            parts = [run(command, where) for command in commands[name]]
            each.append(
                Run(
                    wall=sum(part.wall for part in parts),
                    cpu=sum(part.cpu for part in parts),
                    faults=sum(part.faults for part in parts),
                    memory=max(part.memory for part in parts),
                )
            )
    medians = {
        name: (median(one.wall for one in each), median(one.cpu for one in each), median(one.memory for one in each))
        for name, each in taken.items()
    }
    first, *peers = medians
    for name, (wall, cpu, memory) in medians.items():
        ratios = ["", "", ""]
        if name == first and peers:
            ratios = [
                f"{ours / max(theirs, 0.001):.2f}"
                for ours, theirs in zip(medians[first], medians[peers[0]], strict=True)
            ]
        cells = (title, name, f"{wall:.2f}", f"{cpu:.2f}", f"{memory / MIB:.0f}", *ratios)
        yield "| " + " | ".join(cells) + " |"


def _documents(number: int) -> Path:
    """Return a folder with one file of this number of ConfigMaps."""
    folder = FOLDER / "documents"
    folder.mkdir(parents=True)
    with (folder / "maps.yaml").open("w", encoding="utf-8") as stream:
        stream.writelines(map(DOCUMENT.format, range(number)))
    return folder


def _list(number: int) -> Path:
    """Return a folder with one List of this number of ConfigMaps."""
    folder = FOLDER / "list"
    folder.mkdir(parents=True)
    with (folder / "list.yaml").open("w", encoding="utf-8") as stream:
        stream.write("apiVersion: v1\nkind: List\nitems:\n")
        stream.writelines(map(ENTRY.format, range(number)))
    return folder


def _change(folder: Path, number: int) -> None:
    """Write the folders `before` and `now`, and the nodes of a cluster.

    In `now`, every tenth workload has other replicas.
    """
    for side in "before", "now":
        (folder / side).mkdir(parents=True)
        (folder / side / "topology.yaml").write_text(configuration(), encoding="utf-8")
        with (folder / side / "workloads.yaml").open("w", encoding="utf-8") as stream:
            for each in range(number):
                text = workload(each)
                changes = side == "now" and each % 10 == 0
                stream.write(f"---\n{text.replace('replicas: 2', 'replicas: 3') if changes else text}")
    listed = {"apiVersion": "v1", "kind": "List", "items": [_node(each) for each in range(NODES)]}
    (folder / "nodes.json").write_text(json.dumps(listed), encoding="utf-8")


def _node(number: int) -> dict[str, object]:
    labels = {
        "topology.kubernetes.io/zone": f"z{number // 64}",
        "example.com/block": f"b{number // 16}",
        "example.com/rack": f"r{number // 4}",
        "kubernetes.io/hostname": f"n{number}",
    }
    allocatable = {"cpu": "192", "memory": "2Ti", "nvidia.com/gpu": "8", "pods": "110"}
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"allocatable": allocatable, "conditions": conditions}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number}", "labels": labels}, "status": status}


def main() -> None:
    """Measure and print the rows."""
    parser = argparse.ArgumentParser(description="Times what grows.")
    parser.add_argument("--documents", type=int, default=1_300_000, help="default: %(default)s")
    parser.add_argument("--entries", type=int, default=100_000, help="default: %(default)s")
    parser.add_argument("--workloads", type=int, default=3000, help="default: %(default)s")
    parser.add_argument("--runs", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--packwise", default=str(ROOT / ".venv/bin/packwise"), help="default: %(default)s")
    options = parser.parse_args()
    sizes = (options.documents, options.entries, options.workloads)
    for row in compare(options.packwise, *sizes, runs=options.runs):
        print(row, flush=True)


if __name__ == "__main__":
    main()
