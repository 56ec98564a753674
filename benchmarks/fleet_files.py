"""A synthetic fleet of any size. The same seed gives the same bytes, and a smaller fleet is the beginning of a larger
one.

The fleet has three times as many applications as a cluster runs. Each application is a kustomize base with a workload,
a Service and a ConfigMap. Of ten clusters, seven are overlays over these bases, two are plain folders, and one is a kpt
package.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workloads import workload

__all__ = ["generate", "paths_and_texts"]

CONFIGURATION = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata:
  name: topology
{annotations}spec:
  revision: v0.1.0-alpha.7 # Grove
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


def paths_and_texts(clusters: int, workloads: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of every file of a fleet."""
    applications = 3 * workloads
    for number in range(applications):
        base = f"bases/inference-{number}"
        yield f"{base}/kustomization.yaml", "resources: [workload.yaml, service.yaml]\n"
        yield f"{base}/workload.yaml", _application(number)
        yield f"{base}/service.yaml", SERVICE.format(number=number, team=number % 20)
    for index in range(clusters):
        # The seed includes the number of the cluster, so that a cluster is the same in a fleet of any size.
        random = Random(f"{seed} {index}")  # noqa: S311
        chosen = sorted(random.sample(range(applications), workloads))
        name = f"clusters/region-{index % 10}/cluster-{index:05}"
        (kind,) = random.choices((_overlay, _plain, _kpt), (7, 2, 1))
        for path, text in kind(random, index, chosen):
            yield f"{name}/{path}", text


def _application(number: int) -> str:
    """Return the workload with that number, in the namespace of its team.

    It asks for racks instead of blocks, because not every cluster has blocks.
    """
    text = workload(number, name=f"inference-{number}").replace("packDomain: block", "packDomain: rack")
    return re.sub("^( +namespace: ).*", rf"\g<1>team-{number % 20}", text, count=1, flags=re.MULTILINE)


def _overlay(random: Random, index: int, chosen: list[int]) -> Iterator[tuple[str, str]]:
    patched = random.choice(chosen)
    resources = "".join([f"- ../../../bases/inference-{number}\n" for number in chosen])
    yield (
        "kustomization.yaml",
        f"resources:\n{resources}"
        "transformers: [topology.yaml]\n"
        "patches:\n- path: replicas.yaml\n"
        "images:\n"
        f"- {{name: registry.example.com/serving/vllm-openai, newTag: v0.11.{random.randrange(20)}}}\n"
        f"commonAnnotations: {{example.com/cluster: cluster-{index:05}}}\n",
    )
    yield "replicas.yaml", PATCH.format(number=patched, team=patched % 20, replicas=random.randint(1, 4))
    yield "topology.yaml", _configuration(random, FUNCTION)


def _plain(random: Random, _: int, chosen: list[int]) -> Iterator[tuple[str, str]]:
    for number in chosen:
        tag = f"vllm-openai:v0.11.{random.randrange(20)}"
        yield f"inference-{number}.yaml", _application(number).replace("vllm-openai:v0.11.0", tag)
        yield f"service-{number}.yaml", SERVICE.format(number=number, team=number % 20)
    yield "topology.yaml", _configuration(random, "")


def _kpt(random: Random, index: int, chosen: list[int]) -> Iterator[tuple[str, str]]:
    yield "Kptfile", KPTFILE.format(cluster=f"cluster-{index:05}")
    yield from _plain(random, index, chosen)


def _configuration(random: Random, annotations: str) -> str:
    """Return the configuration of a cluster. About half of the clusters have blocks."""
    levels = [level for level in LEVELS if level[0] != "block" or random.randrange(2)]
    lines = "".join([f"    - domain: {domain}\n      key: {key}\n" for domain, key in levels])
    return CONFIGURATION.format(annotations=annotations, levels=lines)


def generate(folder: Path, clusters: int, workloads: int, seed: int) -> int:
    """Write a fleet into an empty folder, and return the number of its files. Raise SystemExit if it is not empty."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f'"{folder}" must be empty, or not there')
    written = 0
    for path, text in paths_and_texts(clusters, workloads, seed):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        written += 1
    return written
