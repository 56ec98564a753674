"""The resources of a cluster that commands list, by command."""

from __future__ import annotations

from krmfn.hints import Record


class Resource(Record):
    """A resource that is listed in all namespaces: its plural name and its API group, "" for the core group."""

    name: str
    group: str = ""

    @property
    def full_name(self) -> str:
        """Return the unambiguous name for kubectl, such as `queues.scheduling.run.ai`."""
        return f"{self.name}.{self.group}" if self.group else self.name


NODES = (Resource("nodes"), Resource("pods"))
TOPOLOGIES = (
    Resource("topologies", "kai.scheduler"),
    Resource("clustertopologies", "grove.io"),
    Resource("clustertopologybindings", "grove.io"),
    Resource("topologies", "kueue.x-k8s.io"),
    Resource("resourceflavors", "kueue.x-k8s.io"),
    Resource("clusterqueues", "kueue.x-k8s.io"),
    Resource("localqueues", "kueue.x-k8s.io"),
    Resource("queues", "scheduling.run.ai"),
)
GANGS = (
    Resource("podgangs", "scheduler.grove.io"),
    Resource("podgroups", "scheduling.run.ai"),
    Resource("podcliquesets", "grove.io"),
    Resource("podcliques", "grove.io"),
)
POOLS = (Resource("schedulingshards", "kai.scheduler"), Resource("configs", "kai.scheduler"))
"""Resources that define KAI's node pools, and the label that marks their nodes."""
OPERATORS = (Resource("deployments", "apps"), Resource("configmaps"))

FOR_PLACE = (*NODES, *TOPOLOGIES, *GANGS[:2])
FOR_TOPOLOGIES = (*NODES[:1], *TOPOLOGIES, *POOLS, *GANGS[2:])
FOR_INIT = (*NODES[:1], *TOPOLOGIES, *OPERATORS)
FOR_DOCTOR = (*TOPOLOGIES, *GANGS, *OPERATORS)
FOR_DIFF = (*TOPOLOGIES, *GANGS)
RESOURCES = tuple(dict.fromkeys([*FOR_PLACE, *FOR_TOPOLOGIES, *FOR_INIT, *FOR_DOCTOR, *FOR_DIFF]))
"""All resources that a command lists."""
