"""What `packwise check` judges: each file by the nearest configuration, one group of files for each of these."""

from __future__ import annotations

import os
import posixpath
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from krmfn.result import exit_code
from packwise.cli.arguments import STDIN
from packwise.cli.input_paths import real
from packwise.cli.inputs import (
    COMMIT,
    assigned,
    baseline_files,
    configured,
    configured_before,
    definitions_in,
    documents_of,
    is_broken_configuration,
    kustomizations_among,
    path_of,
    read_around,
    readable,
    refuse_stdin_twice,
    text_among,
    traits_of,
)
from packwise.cli.reader import Reader, has_own_errors, is_readable, readable_items
from packwise.discovery import nearest_folder_among, nearest_folders
from packwise.select import Package

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Literal

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.cli.arguments import Named
    from packwise.cli.reader import Document, InputFile
    from packwise.discovery import LeftOut
    from packwise.select import Configured

__all__ = ["Checkup", "Group", "judged_together", "read_groups", "readable"]

_APPLICATIONS = ("Application", "ApplicationSet")
"""Kinds of Argo CD."""


class Group(Record):
    """Files that one configuration judges; `configurations` are the names of its files, empty where there is none.

    `around` are the names of files that are read for their definitions, and not judged. Of the `files`, those whose
    names are `unchanged` are judged with the others, and what is said of them counts where it is new to the package as
    it stood `before` the change.
    `applied` is what a client applies together where no kustomization says so: "all" of it, each "folder", or each
    "file"; `kustomizations` are the names of those among the input, of all groups.
    """

    package: Package
    configurations: tuple[str, ...] = ()
    around: frozenset[str] = frozenset()
    files: tuple[InputFile, ...] = ()
    unchanged: frozenset[str] = frozenset()
    before: tuple[Package, ...] = ()
    applied: Literal["all", "folder", "file"] = "all"
    kustomizations: tuple[str, ...] = ()

    def after(self, configured: Configured | None) -> Group:
        """The group, whose baseline was configured so."""
        return self.replace(package=self.package.replace(configured_before=configured))


class Checkup(Record):
    """What is judged, and what could not be read; the readable rest is judged all the same.

    `around` are files that are read for their definitions, and not judged.
    """

    groups: tuple[Group, ...]
    files: tuple[InputFile, ...]
    results: tuple[Result, ...]
    read: tuple[InputFile, ...]
    left_out: tuple[tuple[str, LeftOut], ...]
    around: tuple[InputFile, ...] = ()

    @property
    def number(self) -> int:
        """How many files are judged."""
        return len([file for file in self.files if file.left_out is None])

    def text_of(self, name: str | None) -> str | None:
        """The text of the file of that name, of stdin for None; None for a file that was not read."""
        return text_among(self.read, name)

    def on(self, nodes: tuple[Mapping[str, Value], ...]) -> Checkup:
        """What is judged, on a cluster of these objects."""
        groups = [
            group.replace(
                package=group.package.replace(nodes=nodes),
                before=tuple(package.replace(nodes=nodes) for package in group.before),
            )
            for group in self.groups
        ]
        return self.replace(groups=tuple(groups))


def read_groups(named: Named) -> Checkup:
    """What `named` names, by the configuration nearest to each file. Raises UsageError as `read_inputs` does."""
    refuse_stdin_twice(named)
    reader = Reader(named.exclude, force_exclude=named.force_exclude)
    files = reader.read(named.paths)
    left_out, read = tuple(reader.left_out), len(reader.results)
    before = None if named.baseline is None else baseline_files(named.baseline, named.paths, reader)
    asked_for = len(reader.results)
    chosen = configured(named, files, reader)
    crds = definitions_in(named.crds, reader)
    around: tuple[InputFile, ...] = ()
    if has_own_errors(reader.results[read:asked_for]) or exit_code(reader.results[asked_for:]):
        # Without the baseline, the configuration or the definitions that were asked for, every answer would be a guess.
        groups = []
    elif named.config is not None or chosen.function_config is not None:
        group = _group(files, (), before, chosen, crds).after(configured_before(named, ()))
        groups = [group.replace(package=group.package.replace(is_chosen=named.config is not None), applied="folder")]
    else:
        around = read_around(named.paths, files, reader)
        groups = _groups(files, around, _placed(before, named), crds)
        groups = [
            group.after(configured_before(named, [file for file in around if str(file.path.name) in group.around]))
            for group in groups
        ]
    results = [*reader.results, *_application_results(files)]
    values = assigned(named.values)
    kustomizations = kustomizations_among(files)
    groups = [
        group.replace(package=group.package.replace(values=values), kustomizations=kustomizations) for group in groups
    ]
    return Checkup(tuple(groups), tuple(files), tuple(results), tuple(reader.files), left_out, around)


def judged_together(files: Mapping[str, InputFile], *, is_chosen: bool = False) -> dict[str, str | None]:
    """The folder whose configuration each of `files` is judged by; where one `is_chosen` for all, none."""
    if is_chosen:
        return dict.fromkeys(files)
    return nearest_folders({path: traits_of(file) for path, file in files.items()})


def _application_results(files: Sequence[InputFile]) -> list[Result]:
    """What is wrong with the Applications among the files; where there is none, nothing more is imported."""
    applications = [
        (file, item) for file in files for item in readable_items(file) if item.value.get("kind") in _APPLICATIONS
    ]
    if not applications:
        return []
    from packwise.cli.applications import application_results

    return application_results(applications, files)


def _groups(
    files: list[InputFile],
    around: tuple[InputFile, ...],
    before: Mapping[str, InputFile] | None,
    crds: tuple[KubeObject, ...],
) -> list[Group]:
    by_path = {path: part for file in (*files, *around) for path, part in _parts(file)}
    folders = nearest_folders({path: traits_of(file) for path, file in by_path.items()})
    around_paths = {path_of(file) for file in around}
    mine: dict[str | None, list[InputFile]] = {}
    beside: dict[str | None, list[InputFile]] = {}
    for path, file in by_path.items():
        (beside if path in around_paths else mine).setdefault(folders[path], []).append(file)
    old = None if before is None else _by_folder(before, folders)
    is_split = len(set(folders.values())) > 1
    return [
        _group(
            own,
            beside.get(folder, ()),
            None if old is None else old.get(folder, ()),
            None,
            crds,
            is_part=folder is None and is_split,
        ).replace(applied="file" if folder is None else "folder")
        for folder, own in mine.items()
        if not any(is_broken_configuration(file) for file in (*own, *beside.get(folder, ())))
    ]


def _parts(file: InputFile) -> Iterator[tuple[str, InputFile]]:
    """The file by its path; what stdin holds by the paths that a client gives its objects."""
    if file.path.name is not None or not file.documents:
        yield path_of(file), file
        return
    parts: dict[str, list[Document]] = {}
    for document in file.documents:
        item = document.item
        path = item.path if item is not None and is_readable(item) else None
        parts.setdefault(STDIN if path is None else posixpath.normpath(path), []).append(document)
    for path, documents in parts.items():
        yield path, file.replace(documents=tuple(documents))


def _by_folder(before: Mapping[str, InputFile], folders: Mapping[str, str | None]) -> dict[str | None, list[InputFile]]:
    """The files of the baseline by the configuration that judges now what stood there."""
    known = {folder for folder in folders.values() if folder is not None}
    only = next(iter(known), None) if len(set(folders.values())) == 1 else None
    by_folder: dict[str | None, list[InputFile]] = {}
    for path, file in before.items():
        folder = only or folders.get(path, nearest_folder_among(known, path))
        by_folder.setdefault(folder, []).append(file)
    return by_folder


def _group(
    files: Iterable[InputFile],
    around: Iterable[InputFile],
    before: Iterable[InputFile] | None,
    chosen: Configured | None,
    crds: tuple[KubeObject, ...],
    *,
    is_part: bool = False,
) -> Group:
    files, around = list(files), list(around)
    package = Package(
        readable(files),
        None if chosen is None else chosen.function_config,
        None if before is None else readable(before),
        crds,
        (*documents_of(files), *documents_of(around)),
        documents_of(before or ()),
        context=(*(() if chosen is None else chosen.context), *readable(around)),
        is_part=is_part,
    )
    configuring = [*(() if chosen is None else (chosen.function_config, *chosen.context))]
    names = [str(item.location().file) for item in configuring if item is not None]
    names += [str(file.path.name) for file in (*files, *around) if chosen is None and traits_of(file).configures]
    around_names = frozenset([str(file.path.name) for file in around])
    return Group(package, tuple(dict.fromkeys(names)), around_names, tuple(files))


def _placed(before: list[InputFile] | None, named: Named) -> dict[str, InputFile] | None:
    """The files of the baseline by where they stood, or would stand, among the named paths."""
    if before is None:
        return None
    if named.baseline is not None and named.baseline.startswith(COMMIT):
        commit = named.baseline.removeprefix(COMMIT)
        return {real(str(file.path.name).removeprefix(f"{commit}:")): file for file in before}
    folder = next((path for path in named.paths if Path(path).is_dir()), ".")
    return {os.path.join(real(folder), str(file.path.target)): file for file in before}  # noqa: PTH118
