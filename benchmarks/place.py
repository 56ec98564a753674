"""Measure time and memory of KAI's allocate action in packwise: 10,000 nodes and 1,000 gangs.

`python benchmarks/place.py [NODES] [GANGS]` prints one line for each mix of gangs.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

from packwise.schedulers.kai.allocate.scene import (
    CPU,
    GPU,
    MEMORY,
    PODS,
    Job,
    KaiTopology,
    LevelConstraint,
    Node,
    Pod,
    QueueShare,
    Request,
    Scene,
    SubGroupInfo,
)
from packwise.schedulers.kai.allocate.session import allocate

LEVELS = ("topology.kubernetes.io/zone", "example.com/block", "example.com/rack", "kubernetes.io/hostname")
ZONE, BLOCK, RACK, HOST = LEVELS
WHOLE: Request = ((CPU, 8000), (MEMORY, 64 << 30), (GPU, 8))
ROUTER: Request = ((CPU, 4000), (MEMORY, 8 << 30))


def node(index: int) -> Node:
    """Return a node. A rack has 18 nodes, a block 16 racks, a zone 8 blocks."""
    rack, block, zone = index // 18, index // 288, index // 2304
    labels = {ZONE: f"z{zone}", BLOCK: f"b{block}", RACK: f"r{rack}", HOST: f"n{index:05}"}
    return Node(f"n{index:05}", labels, {GPU: 8, CPU: 192_000, MEMORY: 2 << 40, PODS: 110})


def flat(index: int, constraint: LevelConstraint | None) -> Job:
    """Return a gang that needs eight whole nodes under one constraint."""
    pods = tuple(Pod(f"g{index}-{number}", WHOLE) for number in range(8))
    return Job(f"g{index}", "q", 50, pods, min_members=8, constraint=constraint)


def serving(index: int) -> Job:
    """Return a base gang of Grove in one block: a router, and two groups in a rack each."""
    name = f"g{index}"
    sizes = {"prefill": 2, "decode": 4}
    groups = [SubGroupInfo(part, constraint=LevelConstraint("t", RACK, HOST)) for part in sizes]
    leaves = [SubGroupInfo(f"{part}-worker", part, size) for part, size in sizes.items()]
    pods = [Pod(f"{name}-{part}-{n}", WHOLE, f"{part}-worker") for part, size in sizes.items() for n in range(size)]
    return Job(
        name,
        "q",
        50,
        (Pod(f"{name}-router", ROUTER, "router"), *pods),
        (*groups, *leaves, SubGroupInfo("router", None, 1)),
        constraint=LevelConstraint("t", BLOCK),
    )


MIXES: dict[str, Callable[[int], Job]] = {
    "required rack": lambda index: flat(index, LevelConstraint("t", RACK)),
    "required block, preferred rack": lambda index: flat(index, LevelConstraint("t", BLOCK, RACK)),
    "preferred host": lambda index: flat(index, LevelConstraint("t", "", HOST)),
    "no constraint": lambda index: flat(index, None),
    "serving": serving,
}


def main() -> None:
    """Place every mix of gangs, and print the seconds and the memory."""
    nodes, gangs = (int(argument) for argument in (sys.argv[1:] + ["10000", "1000"][len(sys.argv) - 1 :])[:2])
    for name, job in MIXES.items():
        scene = Scene(
            tuple(map(node, range(nodes))),
            (KaiTopology("t", LEVELS),),
            (QueueShare("q"),),
            tuple(map(job, range(gangs))),
        )
        start = time.perf_counter()
        answer = allocate(scene)
        took = time.perf_counter() - start
        placed = sum(job.state == "allocated" for job in answer.jobs)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(f"{name}: {took:.1f} s, {placed} of {gangs} gangs placed, {memory} MiB at most so far")


if __name__ == "__main__":
    main()
