"""The configuration that judges a file: the nearest one, from the file's own folder upwards.

Pure functions of paths, on disk, in a commit or in a ResourceList; who looks at files there says what they hold.
Source: docs/reference/discovery.md#the-nearest-configuration.
"""

from __future__ import annotations

import posixpath

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Traits(Record):
    """The parts of a file that count: a TopologyRender (`settings`), a topology section, a workload."""

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
"""The traits of a configuration that cannot be read: nobody knows which parts it has."""


def nearest_folder(path: str, is_wanted: Callable[[str], bool], top: str = "") -> str | None:
    """The nearest wanted folder that `path` is in, up to the folder `top`; None where there is none."""
    while path not in ("", "/", top):
        path = posixpath.dirname(path)
        if is_wanted(path):
            return path
    return None


def configurations_by_folder(
    configuring: Mapping[str, Traits], is_used: Callable[[str], bool], *, takes_samples: bool = False
) -> dict[str, list[str]]:
    """The files of configurations by the folder whose files they judge, and those below it that none is nearer to.

    `is_used` tells of a folder whether a workload has no nearer configuration. Without workloads, an operator's
    configuration completes a TopologyRender above that has no topology, where no other one does; several beside each
    other are samples, which judge nothing unless a caller `takes_samples`.
    """
    traits: dict[str, Traits] = {}
    files: dict[str, list[str]] = {}
    for path, own in configuring.items():
        folder = posixpath.dirname(path)
        traits[folder] = traits.get(folder, Traits()) | own
        files.setdefault(folder, []).append(path)
    # Who asks whether a folder is used may have to read files for it: most folders need no answer.
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
    """The folder whose configuration each of `files` is judged by; None: it is judged without.

    Where there is one configuration, it is that of all files. Samples are judged alone, each by itself.
    """
    configuring = {path: traits for path, traits in files.items() if traits.configures}
    folders = {posixpath.dirname(path) for path in configuring}
    used = {nearest_folder(path, folders.__contains__) for path, traits in files.items() if traits.workloads}
    judging = configurations_by_folder(configuring, used.__contains__, takes_samples=takes_samples)
    only = next(iter(judging)) if len(judging) == 1 else None
    chosen = {path: only if only is not None else nearest_folder(path, judging.__contains__) for path in files}
    judged = {path for paths in judging.values() for path in paths}
    return chosen | {path: path for path in configuring if path not in judged}
