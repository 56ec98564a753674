"""Kubernetes' own gangs: Workloads, PodGroups and CompositePodGroups, and the Jobs and pods of such groups."""
