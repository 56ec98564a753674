"""Measure time and memory of Kueue's admission in packwise: 10,000 nodes in three levels and 1,000 jobs.

`python benchmarks/place_kueue.py [NODES] [JOBS]` prints one line for each mix of jobs.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

from packwise.schedulers.kueue.allocate.scene import (
    ClusterQueue,
    Flavor,
    Job,
    LocalQueue,
    Node,
    PodRequest,
    PodSet,
    Quota,
    ResourceGroup,
    Scene,
)
from packwise.schedulers.kueue.allocate.session import admit_jobs
from packwise.schedulers.kueue.request import SliceLayer, TopologyRequest

LEVELS = ("example.com/block", "example.com/rack", "kubernetes.io/hostname")
BLOCK, RACK, HOST = LEVELS
GPU = "nvidia.com/gpu"
WHOLE: PodRequest = (("cpu", 8000), ("memory", 64 << 30), (GPU, 8))
SMALL: PodRequest = (("cpu", 4000), ("memory", 8 << 30))


def node(index: int) -> Node:
    """Return a node. A rack has 18 nodes, a block 16 racks."""
    labels = {BLOCK: f"b{index // 288}", RACK: f"r{index // 18}", HOST: f"n{index:05}"}
    return Node(f"n{index:05}", labels, {GPU: 8, "cpu": 192_000, "memory": 2 << 40, "pods": 110})


def flat(index: int, topology: TopologyRequest) -> Job:
    """Return a job that needs eight whole nodes."""
    return Job("ml", f"j{index}", f"q{index % 4}", (PodSet("main", 8, WHOLE, topology),))


def with_leader(index: int) -> Job:
    """Return a job with a leader and eight workers in one rack."""
    together = TopologyRequest(required=RACK, group="g")
    sets = (PodSet("leader", 1, SMALL, together), PodSet("worker", 8, WHOLE, together))
    return Job("ml", f"j{index}", f"q{index % 4}", sets)


MIXES: dict[str, Callable[[int], Job]] = {
    "required rack": lambda index: flat(index, TopologyRequest(required=RACK)),
    "preferred host": lambda index: flat(index, TopologyRequest(preferred=HOST)),
    "unconstrained": lambda index: flat(index, TopologyRequest(unconstrained=True)),
    "slices of four in a rack": lambda index: flat(
        index, TopologyRequest(required=BLOCK, layers=(SliceLayer(RACK, 4),))
    ),
    "leader and workers": with_leader,
    "too large": lambda index: flat(index, TopologyRequest(required=HOST)),
}


def scene(nodes: int, jobs: int, job: Callable[[int], Job]) -> Scene:
    """Return a cluster with four ClusterQueues and the jobs."""
    quotas = {("h100", name): Quota(10**15) for name in (GPU, "cpu", "memory")}
    group = ResourceGroup((GPU, "cpu", "memory"), ("h100",))
    return Scene(
        nodes=tuple(map(node, range(nodes))),
        topologies={"t": LEVELS},
        flavors={"h100": Flavor("h100", topology="t")},
        local_queues=tuple(LocalQueue("ml", f"q{number}", f"q{number}") for number in range(4)),
        cluster_queues={f"q{number}": ClusterQueue(f"q{number}", (group,), quotas, selector=()) for number in range(4)},
        cohorts={},
        namespaces={},
        jobs=tuple(map(job, range(jobs))),
    )


def main() -> None:
    """Admit every mix of jobs, and print the seconds and the memory."""
    nodes, jobs = (int(argument) for argument in (sys.argv[1:] + ["10000", "1000"][len(sys.argv) - 1 :])[:2])
    for name, job in MIXES.items():
        start = time.process_time()
        answers = admit_jobs(scene(nodes, jobs, job)).answers
        took = time.process_time() - start
        admitted = sum(answer.is_admitted for answer in answers)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(f"{name}: {took:.1f} s, {admitted} of {jobs} jobs admitted, {memory} MiB at most so far")


if __name__ == "__main__":
    main()
