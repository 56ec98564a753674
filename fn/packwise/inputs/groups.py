"""The objects of a run, and the configuration for each: one for all objects, or the one that is nearest to
each file.
"""

from __future__ import annotations

import os
import posixpath
from functools import partial
from pathlib import Path

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import exit_code
from packwise.discovery import KUSTOMIZATIONS
from packwise.inputs.paths import folder_of, real
from packwise.inputs.reader import (
    InputFile,
    Reader,
    error_result,
    has_own_errors,
    is_readable,
    items_of,
    readable_items,
    stdin_results,
)
from packwise.inputs.request import STDIN, UsageError, refuse_stdin_twice
from packwise.inputs.surroundings import is_broken_configuration, keep_definitions, path_of, surroundings_of, traits_of
from packwise.nearest import nearest_folder, nearest_folders
from packwise.objects.index import identity
from packwise.pipeline.selection import Configured, Package
from packwise.settings.configuration import OPERATOR_KIND, held_configuration, is_operator, is_settings
from packwise.settings.topologyrender import KIND
from packwise.validate.crds import is_definition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Literal

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.discovery import SkipReason
    from packwise.inputs.reader import Document, Sources
    from packwise.inputs.request import Builder, Named
    from packwise.inputs.unread import Unread


def read_assignments(words: Iterable[str]) -> Mapping[str, Value]:
    """Return the values of words such as `gpus=4`, as `osmo workflow submit --set` reads them.

    The last of several values counts.
    """
    parts = (word.partition("=") for word in words)
    return {name: _read(text) for name, _, text in parts}


def _read(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


COMMIT = "git:"
"""The start of a baseline that is a commit: `git:main`, `git:HEAD~1`, `git:v1.2`."""


class Inputs(Record):
    """The files in their order, the pipeline's package, and the read errors.

    With an error among `results`, the package has only the readable objects. `is_lost` is True if the requested
    baseline, configuration or CRDs are unreadable, because every answer would then be a guess. `read` are all files,
    including files of the configuration and the baseline. `skipped` are the skipped files and folders by name.
    `applied` is the unit that a client applies together outside kustomizations.
    """

    files: tuple[InputFile, ...]
    package: Package
    results: tuple[Result, ...]
    read: tuple[InputFile, ...]
    skipped: tuple[tuple[str, SkipReason], ...] = ()
    is_lost: bool = False
    applied: Literal["folder", "file"] = "file"
    sources: Sources | None = None

    @property
    def group(self) -> Group:
        """Return the group of all files."""
        kustomizations = kustomizations_among(self.files)
        return Group(self.package, files=self.files, applied=self.applied, kustomizations=kustomizations)

    def text_of(self, name: str | None) -> str | None:
        """Return the text of the file `name`, or of stdin for None. Return None if it was not read."""
        return text_among(self.read, name)

    @property
    def is_broken(self) -> bool:
        """Return True if the requested input is unreadable. Unreadable files of other tools do not count."""
        return self.is_lost or has_own_errors(self.results)


def read_inputs(named: Named, output: str | None = None) -> Inputs:
    """Return the inputs of `named`. The folder `output` is not read if it is inside a named folder.

    If no file configures a render, the nearest configuration above the input applies. Raise UsageError if a path is
    missing or options conflict.
    """
    asked = _read_sources(named, output)
    files, reader = asked.files, asked.reader
    is_unconfigured = _is_unconfigured(named, files, asked.chosen)
    definitions = read_around(named.paths, files, reader) if is_unconfigured else ()
    by_path = {path_of(file): file for file in (*definitions, *asked.around)}
    around = _share_configuration(files, tuple(by_path.values()))
    package = package_of(files, around, asked.before, asked.chosen, asked.crds).replace(
        values=read_assignments(named.values),
        configured_before=configuration_before(named, around),
        is_chosen=named.config is not None,
    )
    return Inputs(
        files=tuple(files),
        package=package,
        results=tuple(reader.results),
        read=tuple(reader.files),
        skipped=asked.skipped,
        is_lost=asked.is_lost or any(is_broken_configuration(file) for file in (*files, *around)),
        applied=_unit_of_apply((*files, *around), package),
        sources=asked.sources,
    )


def read_used_inputs(named: Named) -> Inputs:
    """Return the inputs of the only configuration that has workloads. Return all inputs if there are several.

    As in a check, configurations of samples and other folders do not apply to these workloads. Raise UsageError as
    `read_inputs` does.
    """
    inputs = read_inputs(named)
    if STDIN in named.paths or inputs.package.is_chosen or inputs.package.function_config is not None:
        return inputs
    folders = nearest_folders({path_of(file): traits_of(file) for file in inputs.files})
    if inputs.is_lost or len(set(folders.values())) < 2:
        return inputs
    used = [
        group
        for group in read_groups(named).groups
        if any(traits_of(file).workloads for file in group.files)
    ]  # fmt: skip
    if len(used) != 1:
        return inputs
    return inputs.replace(package=used[0].package, applied=_unit_of_apply(used[0].files, used[0].package))


class _SourcesRead(Record):
    """The requested files and their configuration, as `reader` reads them.

    `around` are files of sources that are not built. `before` are the files of the baseline. `is_lost` is True if the
    requested baseline, configuration or CRDs are unreadable, because every answer would then be a guess.
    """

    reader: Reader
    files: list[InputFile]
    skipped: tuple[tuple[str, SkipReason], ...]
    before: list[InputFile] | None
    chosen: Configured
    crds: tuple[KubeObject, ...]
    is_lost: bool
    sources: Sources | None = None
    around: tuple[InputFile, ...] = ()


def _read_sources(named: Named, output: str | None = None, is_unread: Unread | None = None) -> _SourcesRead:
    refuse_stdin_twice([STDIN in named.paths, named.config == STDIN, named.baseline == STDIN, STDIN in named.crds])
    reader = Reader(named.exclude, force_exclude=named.force_exclude, apart=named.apart)
    files = reader.read(named.paths, output, is_unread if named.builder is None else None)
    reader.results += stdin_results(files)
    skipped = tuple(reader.skipped)
    sources, around = None, ()
    if named.builder is not None:
        built = named.builder(named.paths, files, skipped, None)
        files, skipped, sources, around = list(built.files), built.skipped, built.sources, built.around
        reader.results += built.results
        reader.files += [file for file in files if file.built is not None]
    own = len(reader.results)
    before = None if named.baseline is None else _baseline(named, named.baseline, reader)
    asked_for = len(reader.results)
    chosen = choose_configuration(named, files, reader)
    crds = definitions_in(named.crds, reader)
    is_lost = has_own_errors(reader.results[own:asked_for]) or bool(exit_code(reader.results[asked_for:]))
    return _SourcesRead(
        reader=reader,
        files=files,
        skipped=skipped,
        before=before,
        chosen=chosen,
        crds=crds,
        is_lost=is_lost,
        sources=sources,
        around=around,
    )


def package_of(
    files: Iterable[InputFile],
    around: Iterable[InputFile],
    before: Iterable[InputFile] | None,
    chosen: Configured,
    crds: tuple[KubeObject, ...],
) -> Package:
    """Return the package of `files`.

    Its configuration is `chosen`, or comes from the definitions `around` the files.
    """
    files, around = tuple(files), tuple(around)
    before = None if before is None else tuple(before)
    return Package(
        items=readable_objects(files),
        function_config=chosen.function_config,
        baseline=None if before is None else readable_objects(before),
        crds=crds,
        documents=(*documents_of(files), *documents_of(around)),
        documents_before=documents_of(before or ()),
        context=(*chosen.context, *readable_objects(around)),
        folders={
            posixpath.dirname(file.path.name): folder_of(file.path.real_path)
            for file in (*files, *around)
            if file.path.name is not None
        },
    )


def _unit_of_apply(files: Iterable[InputFile], package: Package) -> Literal["folder", "file"]:
    """Return the unit that a client applies together outside kustomizations: a folder if there is a configuration, else
    a file.
    """
    is_configured = package.is_chosen or package.function_config is not None
    return "folder" if is_configured or any(traits_of(file).configures for file in files) else "file"


def kustomizations_among(files: Iterable[InputFile]) -> tuple[str, ...]:
    """Return the names of the files that are kustomizations."""
    names = [str(file.path.name) for file in files]
    return tuple(name for name in names if posixpath.basename(name) in KUSTOMIZATIONS)


def readable_objects(files: Iterable[InputFile]) -> tuple[KubeObject, ...]:
    """Return the readable objects of files."""
    return tuple(item for file in files for item in readable_items(file))


def _share_configuration(files: Iterable[InputFile], around: tuple[InputFile, ...]) -> tuple[InputFile, ...]:
    """Return the files `around` the input that have the same configuration as the input."""
    if not around:
        return ()
    folders = nearest_folders({path_of(file): traits_of(file) for file in (*files, *around)})
    own = {folders[path_of(file)] for file in files}
    return tuple(file for file in around if folders[path_of(file)] in own)


def _is_unconfigured(named: Named, files: Iterable[InputFile], chosen: Configured) -> bool:
    if named.config is not None or chosen.function_config is not None:
        return False
    return not any(traits_of(file).configures for file in files)


def text_among(files: Iterable[InputFile], name: str | None) -> str | None:
    """Return the text of the file `name` in `files`. The name None is stdin. Return None if `files` lacks the name."""
    return next((file.text for file in files if file.path.name == name), None)


class Sides(Record):
    """The two sides of a comparison: `before` and `after` are files, folders, `-`, `git:COMMIT` or `git:COMMIT:PATH`.

    A commit without a path uses the path of the other side, or the current folder if both are commits. With a
    `builder`, both sides are built.
    """

    before: str
    after: str
    config: str | None = None
    crds: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    builder: Builder | None = None


def read_sides(sides: Sides) -> tuple[Inputs, Inputs]:
    """Return the inputs of both sides. The configuration of a side in a commit is read from that commit.

    Raise UsageError if a path is missing or options conflict.
    """
    refuse_stdin_twice([each == STDIN for each in (sides.before, sides.after, sides.config, *sides.crds)])
    shared = Reader()
    crds = definitions_in(sides.crds, shared)
    before, after = (
        _side(side, other, sides, crds) for side, other in ((sides.before, sides.after), (sides.after, sides.before))
    )
    return before.replace(results=(*shared.results, *before.results)), after


def _side(name: str, other: str, sides: Sides, crds: tuple[KubeObject, ...]) -> Inputs:
    reader, config = Reader(sides.exclude), sides.config
    commit: str | None = None
    path = name
    if not name.startswith(COMMIT):
        files = reader.read([name])
        reader.results += stdin_results(files)
        own = len(reader.skipped)
        chosen = Configured() if config is None else _config(config, reader, lambda: reader.read([config]))
    else:
        commit, colon, path = name.removeprefix(COMMIT).partition(":")
        if not colon:
            path = "." if other.startswith(COMMIT) else other
        if path == STDIN or (colon and not path):
            raise UsageError(f'"{name}" needs a path too, as in git:main:clusters/west')
        files = reader.read_commit(commit, [path])
        if colon and not files:
            raise UsageError(f'"{path}" has no YAML files in the commit "{commit}"')
        own = len(reader.skipped)
        read = partial(reader.read_commit, commit)
        chosen = Configured() if config is None else _config(config, reader, lambda: read([config]))
    skipped, sources = tuple(reader.skipped[:own]), None
    if sides.builder is not None and path != STDIN:
        built = sides.builder([path], files, skipped, commit)
        files, skipped, sources = list(built.files), built.skipped, built.sources
        reader.results += built.results
    if config is None:
        chosen = Configured(_sent_configuration(files))
    package = package_of(files, (), None, chosen, crds).replace(is_chosen=config is not None)
    return Inputs(
        tuple(files),
        package,
        tuple(reader.results),
        tuple(reader.files),
        skipped,
        applied=_unit_of_apply(files, package),
        sources=sources,
    )


def baseline_files(baseline: str, paths: tuple[str, ...], reader: Reader) -> list[InputFile]:
    """Return the files of a baseline: a folder or a file.

    For `git:COMMIT`, they are the input's own paths in that commit.
    """
    if not baseline.startswith(COMMIT):
        return reader.read([baseline])
    if STDIN in paths:
        raise UsageError(f'--baseline "{baseline}" needs files or folders, because git has no earlier version of stdin')
    return reader.read_commit(baseline.removeprefix(COMMIT), paths)


def _baseline(named: Named, baseline: str, reader: Reader) -> list[InputFile]:
    """Return the files of the baseline, with built sources if the input's sources are built."""
    own = len(reader.skipped)
    files = baseline_files(baseline, named.paths, reader)
    if named.builder is None:
        return files
    is_commit = baseline.startswith(COMMIT)
    paths = named.paths if is_commit else (baseline,)
    built = named.builder(paths, files, reader.skipped[own:], baseline.removeprefix(COMMIT) if is_commit else None)
    return list(built.files)


def documents_of(files: Iterable[InputFile]) -> tuple[KubeObject, ...]:
    """Return the documents of `files` that are not Kubernetes objects, but belong to a front end."""
    return tuple(document for file in files for document in file.foreign_documents)


def read_around(paths: tuple[str, ...], files: Sequence[InputFile], reader: Reader) -> tuple[InputFile, ...]:
    """Return the nearest configuration above `files` and the definitions around them."""
    around = surroundings_of(paths, files)
    reader.files += around.files
    reader.results += [error_result(error) for error in around.errors]
    return around.files


def definitions_in(paths: tuple[str, ...], reader: Reader) -> tuple[KubeObject, ...]:
    """Return the cluster's relevant CRDs in files and folders. Return an empty tuple if one is unreadable.

    Raise UsageError if there are none.
    """
    before = len(reader.results)
    items = items_of(reader.read(paths))
    if not paths or exit_code(reader.results[before:]):
        return ()
    definitions = tuple(item for item in items if is_definition(item))
    if not definitions:
        listed_paths = ", ".join([f'"{path}"' for path in paths])
        raise UsageError(f"--crds {listed_paths} has no CRD of a kind that packwise reads or writes")
    return definitions


def choose_configuration(named: Named, files: Iterable[InputFile], reader: Reader) -> Configured:
    """Return the configuration that the user names, otherwise the one that a client sends in a ResourceList."""
    if named.config is None:
        return Configured(_sent_configuration(files))
    return _config(named.config, reader, lambda: reader.read([str(named.config)]))


def configuration_before(named: Named, around: Iterable[InputFile]) -> Configured | None:
    """Return the configuration of the baseline: the files of `--config`, or the files `around`, in the baseline's
    commit.

    Return None if the baseline is not a commit, or if the commit lacks these files.
    """
    if named.baseline is None or not named.baseline.startswith(COMMIT):
        return None
    reader, commit = Reader(), named.baseline.removeprefix(COMMIT)
    if named.config is not None:
        files = [] if named.config == STDIN else reader.read_commit(commit, [named.config])
        return _config(named.config, reader, lambda: files) if files and not exit_code(reader.results) else None
    names = [file.path.name for file in around if file.path.name is not None]
    files = reader.read_commit(commit, names)
    return Configured(context=items_of(files)) if files and not exit_code(reader.results) else None


def _sent_configuration(files: Iterable[InputFile]) -> KubeObject | None:
    """Return the configuration that a client sends in a ResourceList, or None.

    Raise UsageError if there are several.
    """
    carried = [file.function_config for file in files if file.function_config is not None]
    if len(carried) > 1:
        places = " and ".join([str(config.location()) for config in carried[:2]])
        raise UsageError(f"found {len(carried)} configurations ({places}). Pass --config FILE, or name one folder")
    return carried[0] if carried else None


def _config(path: str, reader: Reader, read: Callable[[], list[InputFile]]) -> Configured:
    """Return the one configuration that `read` returns from the file `path`. Return an empty one if the file is
    unreadable.

    Raise UsageError if the file has no configuration or several.
    """
    before = len(reader.results)
    items = items_of(read())
    if exit_code(reader.results[before:]):
        return Configured()
    held = [(item, held_configuration(item)) for item in items]
    own = [item for item in items if is_settings(item)] or [inner for _, inner in held if inner is not None]
    chosen = own or [item for item in items if is_operator(item)] or items
    if len(chosen) != 1:
        noun = f"{len(chosen)} objects" if chosen else "no object"
        raise UsageError(f'--config "{path}" must contain one {KIND} or {OPERATOR_KIND}; got {noun}')
    return Configured(chosen[0]) if own else Configured.of(chosen[0])


_APPLICATIONS = ("Application", "ApplicationSet")
"""Kinds of Argo CD that deliver sources."""


class Group(Record):
    """Files with one configuration. `configurations` are the names of its files, or empty.

    `around` are the names of files that are read only for their definitions. Files with an `unchanged` name are checked
    too. Their findings count only if the packages `before` the change did not have them.

    `applied` is the unit that a client applies together outside kustomizations: "all" files, each "folder" or each
    "file". `kustomizations` are the names of the input's kustomizations in all groups.
    """

    package: Package
    configurations: tuple[str, ...] = ()
    around: frozenset[str] = frozenset()
    files: tuple[InputFile, ...] = ()
    unchanged: frozenset[str] = frozenset()
    before: tuple[Package, ...] = ()
    applied: Literal["all", "folder", "file"] = "all"
    kustomizations: tuple[str, ...] = ()

    def with_configuration_before(self, configured: Configured | None) -> Group:
        """Return the group with `configured` as the configuration of its baseline."""
        return self.replace(package=self.package.replace(configured_before=configured))


class Checkup(Record):
    """The groups to check and the read errors. Readable files are checked in spite of errors.

    `around` are files that are read only for their definitions.
    """

    groups: tuple[Group, ...]
    files: tuple[InputFile, ...]
    results: tuple[Result, ...]
    read: tuple[InputFile, ...]
    skipped: tuple[tuple[str, SkipReason], ...]
    around: tuple[InputFile, ...] = ()
    sources: Sources | None = None

    @property
    def number(self) -> int:
        """Return the number of files that are checked."""
        return len([file for file in self.files if file.skip_reason is None])

    def text_of(self, name: str | None) -> str | None:
        """Return the text of the file `name`, or of stdin for None. Return None if it was not read."""
        return text_among(self.read, name)

    def with_nodes(self, nodes: tuple[Mapping[str, Value], ...]) -> Checkup:
        """Return the same groups for a cluster with these nodes and other objects."""
        groups = [
            group.replace(
                package=group.package.replace(nodes=nodes),
                before=tuple(package.replace(nodes=nodes) for package in group.before),
            )
            for group in self.groups
        ]
        return self.replace(groups=tuple(groups))


def read_groups(named: Named, is_unread: Unread | None = None) -> Checkup:
    """Return the files of `named`, grouped by their nearest configuration, without the objects that `is_unread`
    selects.

    If sources are built, all objects are read, because a build may use any of them. Raise UsageError as `read_inputs`
    does.
    """
    asked = _read_sources(named, is_unread=is_unread)
    files, reader, chosen = asked.files, asked.reader, asked.chosen
    around: tuple[InputFile, ...] = ()
    if asked.is_lost:
        groups = []
    elif named.config is not None or chosen.function_config is not None:
        group = _group(files, (), asked.before, chosen, asked.crds)
        group = group.with_configuration_before(configuration_before(named, ()))
        groups = [group.replace(package=group.package.replace(is_chosen=named.config is not None), applied="folder")]
    else:
        around = (*read_around(named.paths, files, reader), *asked.around)
        groups = _groups(files, around, _by_place(asked.before, named), asked.crds)
        groups = [
            group.with_configuration_before(
                configuration_before(named, [file for file in around if str(file.path.name) in group.around])
            )
            for group in groups
        ]
    results = [*reader.results, *_application_results(files)]
    values = read_assignments(named.values)
    kustomizations = kustomizations_among(files)
    groups = [
        group.replace(package=group.package.replace(values=values), kustomizations=kustomizations) for group in groups
    ]
    return Checkup(
        tuple(groups), tuple(files), tuple(results), tuple(reader.files), asked.skipped, around, asked.sources
    )


def files_checked_together(files: Mapping[str, InputFile], *, is_chosen: bool = False) -> dict[str, str | None]:
    """Return the folder of the configuration of each file, or None for each file if one configuration `is_chosen` for
    all.
    """
    if is_chosen:
        return dict.fromkeys(files)
    return nearest_folders({path: traits_of(file) for path, file in files.items()})


def _application_results(files: Sequence[InputFile]) -> list[Result]:
    """Return results about the Applications in the files. If there are none, no further module is imported."""
    applications = [
        (file, item) for file in files for item in readable_items(file) if item.value.get("kind") in _APPLICATIONS
    ]
    if not applications:
        return []
    from packwise.inputs.applications import application_results

    return application_results(applications, files)


def _groups(
    files: list[InputFile],
    around: tuple[InputFile, ...],
    before: Mapping[str, InputFile] | None,
    crds: tuple[KubeObject, ...],
) -> list[Group]:
    by_path = {path: part for file in (*files, *around) for path, part in _parts(file)}
    traits = {path: traits_of(file) for path, file in by_path.items()}
    folders = nearest_folders(traits)
    around_paths = {path_of(file) for file in around}
    mine: dict[tuple[str | None, str], list[InputFile]] = {}
    beside: dict[str | None, list[InputFile]] = {}
    configuring: dict[str | None, list[str]] = {}
    for path, file in by_path.items():
        if path in around_paths:
            beside.setdefault(folders[path], []).append(file)
        else:
            # A delivery to another cluster, or to an unknown one, does not belong to the cluster of the plain files.
            mine.setdefault((folders[path], _cluster_of(file)), []).append(file)
        if traits[path].configures:
            configuring.setdefault(folders[path], []).append(str(file.path.name))
    old = None if before is None else _by_folder(before, folders)
    is_split = len(set(folders.values())) > 1
    return [
        _group(
            own,
            others,
            None if old is None else [file for file in old.get(folder, ()) if _cluster_of(file) == cluster],
            Configured(),
            crds,
            configuring=configuring.get(folder, ()),
            is_part=folder is None and is_split,
        ).replace(applied="all" if cluster else "file" if folder is None else "folder")
        for (folder, cluster), own in mine.items()
        for others in [[*beside.get(folder, ()), *_defined_elsewhere(folder, cluster, mine)]]
        if not any(is_broken_configuration(file) for file in (*own, *others))
    ]


def _cluster_of(file: InputFile) -> str:
    return "" if file.built is None else file.built.cluster


def _defined_elsewhere(
    folder: str | None, cluster: str, mine: Mapping[tuple[str | None, str], Sequence[InputFile]]
) -> list[InputFile]:
    """Return the definitions in other groups of the same configuration that apply to the files of one group.

    Plain files define objects for all clusters. So does a source without a known cluster. If several files define an
    object, the first one counts.
    """
    others = [
        file
        for (where, other), files in mine.items()
        if where == folder and other != cluster
        for file in files
        if not other or (file.built is not None and file.built.owner == file.built.cluster)
    ]
    if not others or len(mine) < 2:
        return []
    known = {identity(item.value) for file in mine[folder, cluster] for item in readable_items(file)}
    defined: list[InputFile] = []
    for file in map(keep_definitions, others):
        kept: list[Document] = []
        for document in file.documents:
            own = {identity(item.value) for item in document.items if is_readable(item)}
            if not own & known:
                known |= own
                kept.append(document)
        if kept:
            defined.append(file.replace(documents=tuple(kept)))
    return defined


def _parts(file: InputFile) -> Iterator[tuple[str, InputFile]]:
    """Yield the file with its path. The objects of stdin are divided by their path annotations."""
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
    """Return the files of the baseline by the folder of the configuration that applies to their place now."""
    known = {folder for folder in folders.values() if folder is not None}
    only = next(iter(known), None) if len(set(folders.values())) == 1 else None
    by_folder: dict[str | None, list[InputFile]] = {}
    for path, file in before.items():
        folder = only or folders.get(path, nearest_folder(path, known.__contains__))
        by_folder.setdefault(folder, []).append(file)
    return by_folder


def _group(
    files: Iterable[InputFile],
    around: Iterable[InputFile],
    before: Iterable[InputFile] | None,
    chosen: Configured,
    crds: tuple[KubeObject, ...],
    *,
    configuring: Iterable[str] = (),
    is_part: bool = False,
) -> Group:
    """Return the group of `files`. Its configuration is `chosen`, or is in the files named `configuring`."""
    files, around = list(files), list(around)
    package = package_of(files, around, before, chosen, crds).replace(is_part=is_part)
    settings = (chosen.function_config, *chosen.context)
    names = [*(str(item.location().file) for item in settings if item is not None), *configuring]
    around_names = frozenset(str(file.path.name) for file in around)
    return Group(package, tuple(dict.fromkeys(names)), around_names, tuple(files))


def _by_place(before: list[InputFile] | None, named: Named) -> dict[str, InputFile] | None:
    """Return the files of the baseline, each by the real path of the input file that it is compared with."""
    if before is None:
        return None
    if named.baseline is not None and named.baseline.startswith(COMMIT):
        commit = named.baseline.removeprefix(COMMIT)
        return {
            file.path.real_path if file.built else real(str(file.path.name).removeprefix(f"{commit}:")): file
            for file in before
        }
    folder = next((path for path in named.paths if Path(path).is_dir()), ".")
    return {
        file.path.real_path if file.built else os.path.join(real(folder), str(file.path.target)): file  # noqa: PTH118
        for file in before
    }
