"""Any number of workloads as people write them. The same number gives the same bytes.

`manifests/` has a dozen PodCliqueSets in the style of public recipes: engines on several nodes, trainers, routers. They
have indented and unindented lists, scripts, folded text, flow mappings, quoted numbers, comments and long environments.
A list repeats them in turn under different names. Each has an autoscaler in a comment. With `findings`, the comment
marks are removed, and packwise warns about the autoscaler.

    python benchmarks/workloads.py 1000 [findings] > list.yaml
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["MANIFESTS", "REGULAR", "configuration", "resource_list", "workload"]

MANIFESTS = Path(__file__).resolve().parent / "manifests"
REGULAR = MANIFESTS.with_name("regular")
"""The folder of one short manifest in the style of a serializer. In a list of it, workloads differ only in
their names.
"""

_AUTOSCALER = re.compile(r"# (scaleConfig:|  +(?:min|max)Replicas: \d+)$", re.MULTILINE)

HEAD = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
"""

ANNOTATIONS = """\
  annotations:
    config.kubernetes.io/index: '0'
    config.kubernetes.io/path: 'workloads/{name}.yaml'
    internal.config.kubernetes.io/index: '0'
    internal.config.kubernetes.io/path: 'workloads/{name}.yaml'
"""
"""The annotations that a client adds to each item."""

TAIL = """\
functionConfig:
  apiVersion: packwise.dev/v1alpha1
  kind: TopologyRender
  metadata:
    name: topology
  spec:
    revision: v0.1.0-alpha.7 # Grove
    topologyAwareScheduling:
      enabled: true
      levels:
      - domain: zone
        key: topology.kubernetes.io/zone
      - domain: block
        key: example.com/block
      - domain: rack
        key: example.com/rack
      - domain: host
        key: kubernetes.io/hostname
    scheduler:
      profiles:
      - name: kai-scheduler
        default: true
"""

MANY = """\
    limits:
      gangs: 10000000
"""
"""A limit of the configuration that permits more than about nine thousand workloads in a list."""


def resource_list(count: int, *, findings: bool = False, manifests: Path = MANIFESTS) -> Iterator[str]:
    """Yield a ResourceList with `count` PodCliqueSets in pieces. A list of 10,000 has 40 MB."""
    yield HEAD
    for number in range(count):
        lines = _with_annotations(workload(number, findings=findings, manifests=manifests)).splitlines(keepends=True)
        comments = [line for line in lines if line[0] == "#"]
        head, *rest = lines[len(comments) :]
        yield "".join([*comments, "- ", head, *["  " + line if line != "\n" else line for line in rest]])
    yield TAIL + MANY * (count > 9000)


def workload(number: int, *, name: str = "", findings: bool = False, manifests: Path = MANIFESTS) -> str:
    """Return the PodCliqueSet with this number as a separate file.

    Its name is `name`, or the manifest's with the number.
    """
    texts = _manifests(manifests)
    own = [*texts][number % len(texts)]
    text = texts[own].replace(own, name or f"{own}-{number}")
    return _AUTOSCALER.sub(r"\1", text) if findings else text


def configuration() -> str:
    """Return the configuration as a separate file."""
    return "".join([line[2:] for line in TAIL.splitlines(keepends=True)[1:]])


@cache
def _manifests(folder: Path) -> dict[str, str]:
    """Return the manifests by name, without the line that begins a document."""
    return {path.stem: path.read_text("utf-8").removeprefix("---\n") for path in sorted(folder.glob("*.yaml"))}


def _with_annotations(text: str) -> str:
    own = re.search(r"^ +name: (.*)\n", text, re.MULTILINE)
    if own is None:
        raise ValueError("a manifest must have a name")
    indent = len(own[0]) - len(own[0].lstrip())
    added = ANNOTATIONS.format(name=own[1]).replace("  ", " " * indent)
    written = re.search(rf"^ {{{indent}}}annotations:\n", text, re.MULTILINE)
    if written is not None:
        head, _, lines = added.partition("\n")
        return text[: written.start()] + head + "\n" + lines + text[written.end() :]
    return text[: own.end()] + added + text[own.end() :]


if __name__ == "__main__":
    sys.stdout.writelines(resource_list(int(sys.argv[1]), findings="findings" in sys.argv[2:]))
