"""ResourceLists of any size for the benchmark: the same number gives the same bytes.

Each PodCliqueSet has about 3 KB, three cliques, a scaling group, comments, and the annotations a client adds. With
findings each has an autoscaler, about which there is a warning. Where they differ, no two have a clique in common.

    python benchmarks/workloads.py 1000 [findings] [different] > list.yaml
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

__all__ = ["configuration", "resource_list", "workload"]

ROLES = ("router", "prefill", "decode")

CLIQUE = """\
      - name: {role}
        labels:
          role: {role}
        # the router starts first, the engines wait for it
        spec:
          roleName: {role}
          replicas: 2
          minAvailable: 1
          podSpec:
            schedulerName: kai-scheduler
            tolerations:
            - key: nvidia.com/gpu
              operator: Exists
              effect: NoSchedule
            containers:
            - name: main
              image: registry.example.com/serving/engine:2.4.1
              command: ["python3", "-m", "server", "--role", "{role}"]
              env:
              - name: MODEL
                value: "example/large-70b"
              - name: LOG_LEVEL
                value: info
              ports:
              - containerPort: 8000
                name: http
              resources:
                requests:
                  cpu: "8"
                  memory: 64Gi
                limits:
                  nvidia.com/gpu: "8"
"""

WORKLOAD = """\
- apiVersion: grove.io/v1alpha1
  kind: PodCliqueSet
  metadata:
    name: inference-{number}   # numbered, so that no two are alike
    namespace: team-{team}
    labels:
      app: inference-{number}
      tier: "gold"
      kai.scheduler/queue: team-{team}
    annotations:
      config.kubernetes.io/index: '0'
      config.kubernetes.io/path: 'workloads/inference-{number}.yaml'
      internal.config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/path: 'workloads/inference-{number}.yaml'
  spec:
    replicas: 2
    template:
      cliqueStartupType: CliqueStartupTypeInOrder
      terminationDelay: 4h
      topologyConstraint:
        packDomain: zone
      cliques:
{cliques}\
      podCliqueScalingGroups:
      - name: engines
        cliqueNames: [prefill, decode]
        replicas: 3
        minAvailable: 1   # the rest may come later
        topologyConstraint:
          packDomain: rack
"""

_LEAST = "        minAvailable: 1   # the rest may come later\n"
_AUTOSCALER = "        scaleConfig:\n          minReplicas: 1\n          maxReplicas: 4\n"

HEAD = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
"""

TAIL = """\
functionConfig:
  apiVersion: packwise.dev/v1alpha1
  kind: TopologyRender
  metadata:
    name: topology
  spec:
    topologyAwareScheduling:
      enabled: true
      levels:
      - domain: zone
        key: topology.kubernetes.io/zone
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
"""What lets a list of more than some nine thousand be rendered."""


def resource_list(count: int, *, findings: bool = False, different: bool = False) -> Iterator[str]:
    """A ResourceList with `count` PodCliqueSets, piece by piece: a whole one of 10,000 is 30 MB."""
    yield HEAD
    for number in range(count):
        entry = _entry(number)
        if findings:
            entry = entry.replace(_LEAST, _LEAST + _AUTOSCALER)
        yield entry.replace("engine:2.4.1", f"engine:2.4.{number}") if different else entry
    yield TAIL + MANY * (count > 9000)


def workload(number: int) -> str:
    """The PodCliqueSet of that number as a file of its own, without what a client adds."""
    lines = [line[2:] for line in _entry(number).splitlines(keepends=True) if "config.kubernetes.io/" not in line]
    return "".join(lines).replace("  annotations:\n", "")


def configuration() -> str:
    """The configuration as a file of its own."""
    return "".join([line[2:] for line in TAIL.splitlines(keepends=True)[1:]])


def _entry(number: int) -> str:
    return WORKLOAD.format(number=number, team=number % 20, cliques="".join(CLIQUE.format(role=role) for role in ROLES))


if __name__ == "__main__":
    words = sys.argv[2:]
    sys.stdout.writelines(resource_list(int(sys.argv[1]), findings="findings" in words, different="different" in words))
