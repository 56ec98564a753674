"""A fleet: the packages of many clusters in one repository, what a change reaches, and what becomes of each.

`command` runs it and `report` prints; `tree`, `kustomization`, `packages` and `result` are about a tree of files and
what is said of it; `requests` go to workers, where `work` answers them with `kustomize` at hand; `output` is the folder
that is written.
"""
