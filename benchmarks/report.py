"""Measure the size of a report of 10,000 nodes and 1,000 gangs, and the time to write, load and use it in Chromium.

`python benchmarks/report.py [NODES] [GANGS]` prints the figures without and with a baseline. The last line
names the folder of the page.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from place import HOST, LEVELS, node

CONFIGURATION = f"""\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {{name: topology}}
spec:
  topologyAwareScheduling:
    enabled: true
    levels:
    - {{domain: zone, key: {LEVELS[0]}}}
    - {{domain: block, key: {LEVELS[1]}}}
    - {{domain: rack, key: {LEVELS[2]}}}
    - {{domain: host, key: {HOST}}}
  scheduler: {{profiles: [{{name: kai-scheduler, default: true}}]}}
"""
WORKLOAD = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {{name: w{number:03}, namespace: team-{team}, labels: {{kai.scheduler/queue: team-{team}}}}}
spec:
  replicas: {replicas}
  template:
    topologyConstraint: {{packDomain: {domain}}}
    cliques:
    - name: worker
      spec:
        roleName: worker
        replicas: 8
        minAvailable: 8
        podSpec:
          schedulerName: kai-scheduler
          containers: [{{name: engine, image: e, resources: {{limits: {{nvidia.com/gpu: "8"}}}}}}]
"""
GANGS_OF_A_WORKLOAD = 10


def workloads(gangs: int) -> Iterator[str]:
    """Yield the workloads. Every tenth one asks for one rack per gang, the others ask for one block."""
    for number in range(-(-gangs // GANGS_OF_A_WORKLOAD)):
        domain = "rack" if number % 10 == 0 else "block"
        replicas = min(GANGS_OF_A_WORKLOAD, gangs - number * GANGS_OF_A_WORKLOAD)
        yield WORKLOAD.format(number=number, team=number % 7, replicas=replicas, domain=domain)


def kubernetes_node(index: int) -> dict[str, Any]:
    """Return the node as `kubectl get nodes -o json` prints it."""
    value = node(index)
    return {
        "kind": "Node",
        "metadata": {"name": value.name, "labels": dict(value.labels)},
        "status": {"allocatable": {"cpu": "192", "memory": "2Ti", "nvidia.com/gpu": "8", "pods": "110"}},
    }


def main() -> None:
    """Write the report, and measure it in the browser."""
    nodes, gangs = (int(argument) for argument in (sys.argv[1:] + ["10000", "1000"][len(sys.argv) - 1 :])[:2])
    folder = Path(tempfile.mkdtemp(prefix="packwise-report-"))
    (folder / "topology.yaml").write_text(CONFIGURATION, encoding="utf-8")
    (folder / "workloads.yaml").write_text("---\n".join(workloads(gangs)), encoding="utf-8")
    listed = {"kind": "List", "items": [kubernetes_node(index) for index in range(nodes)]}
    (folder / "nodes.json").write_text(json.dumps(listed), encoding="utf-8")
    files = ["topology.yaml", "workloads.yaml", "--nodes", "nodes.json"]
    for more in ([], ["--baseline", "workloads.yaml"]):
        start = time.perf_counter()
        command = [sys.executable, "-m", "packwise", "report", *files, *more, "-o", "report.html", "-o", "map.svg"]
        subprocess.run(command, cwd=folder, check=False, stderr=subprocess.DEVNULL)
        took = time.perf_counter() - start
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
        sizes = ", ".join(
            f"{name} {(folder / name).stat().st_size / 1e6:.2f} MB" for name in ("report.html", "map.svg")
        )
        print(f"{nodes} nodes, {gangs} gangs{', baseline' if more else ''}: {took:.1f} s, {memory} MiB; {sizes}")
        browse(folder / "report.html")
    print(folder)


def browse(page_file: Path) -> None:
    """Open the page, search in it, show a gang and all nodes. Print the milliseconds of each action."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page()
        steps = {
            "load": lambda: page.goto(page_file.as_uri()),
            "search": lambda: page.evaluate(
                "() => { const q = document.getElementById('query'); q.value = 'n0123';"
                " document.getElementById('search').requestSubmit(); document.body.offsetHeight; }"
            ),
            "search cleared": lambda: page.evaluate(
                "() => { document.getElementById('query').value = '';"
                " document.getElementById('search').requestSubmit(); document.body.offsetHeight; }"
            ),
            "gang shown": lambda: page.evaluate(
                "() => { document.querySelectorAll('.pick')[40].click(); document.body.offsetHeight; }"
            ),
            "all nodes shown": lambda: page.evaluate(
                "() => { const s = document.getElementById('down'); s.selectedIndex = s.options.length - 1;"
                " s.dispatchEvent(new Event('change')); document.body.offsetHeight; }"
            ),
        }
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            elements = page.evaluate("document.querySelectorAll('*').length")
            print(f"  {name}: {(time.perf_counter() - start) * 1000:.0f} ms, {elements} elements")
        browser.close()


if __name__ == "__main__":
    main()
