"""Gangs of the default scheduler: Workloads, PodGroups and CompositePodGroups, and the Jobs and pods in such groups."""
