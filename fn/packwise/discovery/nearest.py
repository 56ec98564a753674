"""Which configuration a file is judged by: that of the nearest folder, from the file's own upwards.

Files below no configuration have the only one there is. Where there are several they are judged without: what a
kustomize base holds is complete only in an overlay. Folders are slash-separated; "" is the top.
"""

from __future__ import annotations

import posixpath

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

__all__ = ["Traits", "configured_folders", "nearest_folder_among", "nearest_folders"]


class Traits(NamedTuple):
    """What of a file counts: it holds a TopologyRender (`settings`), a topology section, a workload."""

    settings: bool = False
    topology: bool = False
    workloads: bool = False

    @property
    def configures(self) -> bool:
        """Whether the file holds a configuration."""
        return self.settings or self.topology

    def __or__(self, other: Traits) -> Traits:
        return Traits(*(mine or others for mine, others in zip(self, other, strict=True)))


def _folders_above(path: str) -> Iterator[str]:
    """The folders that `path` is in, the nearest first."""
    while path not in ("", "/"):
        path = posixpath.dirname(path)
        yield path


def nearest_folders(files: Mapping[str, Traits]) -> dict[str, str | None]:
    """The folder whose configuration each of `files` is judged by; None: it is judged without.

    Several operators' configurations in a folder without workloads are no cluster's: each is judged alone, by itself.
    """
    alone = _samples(files)
    chosen = configured_folders({path: Traits() if path in alone else traits for path, traits in files.items()})
    return chosen | {path: path for path in alone}


def _samples(files: Mapping[str, Traits]) -> list[str]:
    """The files of operators' configurations that stand beside each other, and nothing below them that they are for."""
    beside: dict[str, list[str]] = {}
    for path, traits in files.items():
        if traits.configures:
            beside.setdefault(posixpath.dirname(path), []).append(path)
    used = {nearest_folder_among(beside, path) for path, traits in files.items() if traits.workloads}
    return [
        path
        for folder, paths in beside.items()
        if len(paths) > 1 and folder not in used and not any(files[path].settings for path in paths)
        for path in paths
    ]


def configured_folders(files: Mapping[str, Traits]) -> dict[str, str | None]:
    """As `nearest_folders`, where every configuration is a cluster's."""
    configured: dict[str, Traits] = {}
    for path, traits in files.items():
        if traits.configures:
            folder = posixpath.dirname(path)
            configured[folder] = configured.get(folder, Traits()) | traits
    nearest = {path: nearest_folder_among(configured, path) for path in files}
    used = {nearest[path] for path, traits in files.items() if traits.workloads}
    taken = _completing(configured, used)
    chosen = {path: taken.get(folder, folder) if folder is not None else None for path, folder in nearest.items()}
    folders = {folder for folder in chosen.values() if folder is not None}
    if len(folders) == 1:
        (only,) = folders
        return dict.fromkeys(files, only)
    return chosen


def nearest_folder_among(folders: Container[str], path: str) -> str | None:
    """The nearest of `folders` that `path` is in; None where it is in none of them."""
    return next((folder for folder in _folders_above(path) if folder in folders), None)


def _completing(configured: Mapping[str, Traits], used: set[str | None]) -> dict[str, str]:
    """The folders without workloads whose operator's configuration completes that of a folder above.

    That one has packwise's settings and no topology, and there is no second candidate for it.
    """
    candidates: dict[str, list[str]] = {}
    for folder, traits in configured.items():
        above = nearest_folder_among(configured, folder)
        if folder not in used and not traits.settings and above is not None and not configured[above].topology:
            candidates.setdefault(above, []).append(folder)
    return {folders[0]: above for above, folders in candidates.items() if len(folders) == 1}
