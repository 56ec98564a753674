"""Kubernetes' own gangs: Workloads, PodGroups and CompositePodGroups, and the Jobs and pods that become such groups."""
