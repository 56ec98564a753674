"""The configuration of a file: the nearest one from the file's own folder upwards.

These are pure functions of paths on disk, in a commit or in a ResourceList. Callers describe the content of the files.
Source: docs/reference/discovery.md#the-nearest-configuration.
"""

from __future__ import annotations

import posixpath

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Traits(Record):
    """The contents of a file that matter here: a TopologyRender (`settings`), a topology section, a workload."""

    settings: bool = False
    topology: bool = False
    workloads: bool = False

    @property
    def configures(self) -> bool:
        """True if the file holds a configuration."""
        return self.settings or self.topology

    def __or__(self, other: Traits) -> Traits:
        return Traits(
            self.settings or other.settings, self.topology or other.topology, self.workloads or other.workloads
        )


UNREADABLE = Traits(settings=True, topology=True)
"""The traits of an unreadable configuration. It may have any part."""


def nearest_folder(path: str, is_wanted: Callable[[str], bool], top: str = "") -> str | None:
    """Return the nearest folder above `path`, up to `top`, for which `is_wanted` returns True, or None."""
    while path not in ("", "/", top):
        path = posixpath.dirname(path)
        if is_wanted(path):
            return path
    return None


def configurations_by_folder(
    configuring: Mapping[str, Traits], is_used: Callable[[str], bool], *, takes_samples: bool = False
) -> dict[str, list[str]]:
    """Return the folders with a configuration, each with the files of the configuration.

    `is_used` returns True if a folder has the nearest configuration of a workload. An operator's configuration in an
    unused folder completes the nearest TopologyRender above it that has no topology. If several folders could complete
    the same one, none does. Several operator's configurations in one unused folder are samples. Samples apply to no
    files unless `takes_samples` is set.
    """
    traits: dict[str, Traits] = {}
    files: dict[str, list[str]] = {}
    for path, own in configuring.items():
        folder = posixpath.dirname(path)
        traits[folder] = traits.get(folder, Traits()) | own
        files.setdefault(folder, []).append(path)
    # To decide whether a folder is used, the caller may have to read files. Most folders need no decision.
    operators = [folder for folder, own in traits.items() if not own.settings]
    if not takes_samples:
        samples = [folder for folder in operators if len(files[folder]) > 1 and not is_used(folder)]
        operators = [folder for folder in operators if folder not in samples]
        files = {folder: paths for folder, paths in files.items() if folder not in samples}
    completing: dict[str, list[str]] = {}
    for folder in operators:
        above = nearest_folder(folder, files.__contains__)
        if above is not None and not traits[above].topology and not is_used(folder):
            completing.setdefault(above, []).append(folder)
    for above, folders in completing.items():
        if len(folders) == 1:
            files[above] += files.pop(folders[0])
    return files


def nearest_folders(files: Mapping[str, Traits], *, takes_samples: bool = False) -> dict[str, str | None]:
    """Map each of `files` to the folder of its configuration, or to None if no configuration applies.

    A single configuration applies to all files. A sample maps to its own path, because it is checked alone.
    """
    configuring = {path: traits for path, traits in files.items() if traits.configures}
    folders = {posixpath.dirname(path) for path in configuring}
    used = {nearest_folder(path, folders.__contains__) for path, traits in files.items() if traits.workloads}
    by_configuration = configurations_by_folder(configuring, used.__contains__, takes_samples=takes_samples)
    only = next(iter(by_configuration)) if len(by_configuration) == 1 else None
    chosen = {path: only if only is not None else nearest_folder(path, by_configuration.__contains__) for path in files}
    covered = {path for paths in by_configuration.values() for path in paths}
    return chosen | {path: path for path in configuring if path not in covered}
