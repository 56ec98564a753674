"""The surroundings of the input: the nearest configuration above the input, and the definitions next to the input.

With them, an editor checks a single file as in its folder. The surroundings themselves are neither checked nor written.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record
from packwise.inputs.paths import SUFFIXES, InputPath, contains, find_files, folder_of, real, top_of
from packwise.inputs.reader import (
    InputFile,
    content_of,
    decode,
    is_readable,
    readable_items,
)
from packwise.inputs.request import UsageError
from packwise.inputs.unread import READ_BY_TEXT, heads_of, is_unread
from packwise.nearest import UNREADABLE, Traits, nearest_folder
from packwise.objects.index import group_and_kind
from packwise.objects.kinds import KINDS
from packwise.pipeline import clusters
from packwise.settings.configuration import OPERATOR_GROUP, OPERATOR_KIND, is_operator, is_settings
from packwise.settings.topologyrender import GROUP, KIND
from packwise.validate.crds import is_definition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.kubeobject import KubeObject
    from krmfn.yamltext.reader import Tree
    from packwise.inputs.reader import Document


class _Wanted(Record):
    """Texts that identify an object of interest. Each text contains one of `words`.

    Most files contain none of the words, and a search for a word takes a tenth of the time of the pattern.
    """

    words: tuple[bytes, ...]
    pattern: re.Pattern[bytes]

    def is_in(self, data: bytes) -> bool:
        """Return True if `data` has one of the texts."""
        return any(word in data for word in self.words) and self.pattern.search(data) is not None


_CONFIGURATION = _Wanted(
    (b"TopologyRender", b"operator.config.grove.io/"),
    re.compile(rb"\bTopologyRender\b|\boperator\.config\.grove\.io/"),
)

_DEFINITION = _Wanted(
    (b"Topology", b"operator.config.grove.io/", b"Queue", b"CustomResourceDefinition", b"topology_keys", b"pools"),
    re.compile(
        rb"\bTopologyRender\b|\boperator\.config\.grove\.io/|Topology(Binding)?\b|\bQueue\b|"
        rb"\bCustomResourceDefinition\b|\btopology_keys\b|\bpools\b"
    ),
)

_DEFINING = frozenset(kind.key for kind in KINDS if kind.before_workloads)

_MAY_DEFINE = _DEFINING | READ_BY_TEXT | {(GROUP, KIND), (OPERATOR_GROUP, OPERATOR_KIND)}
"""The kinds of all objects that `definitions_of` can keep."""


class Surroundings(Record):
    """The files around the input, reduced to their definitions. `errors` are the errors of unreadable definitions."""

    files: tuple[InputFile, ...] = ()
    errors: tuple[FieldError, ...] = ()


def path_of(file: InputFile) -> str:
    """Return the real path of a file, which identifies the file, or "-" for stdin."""
    return file.path.real_path


def traits_of(file: InputFile) -> Traits:
    """Return the traits of a file that decide which configuration applies to it. Unreadable objects have no traits."""
    if is_broken_configuration(file):
        return UNREADABLE
    traits = clusters.traits_of(readable_items(file))
    return traits.replace(workloads=True) if file.foreign_documents else traits


def is_broken_configuration(file: InputFile) -> bool:
    """Return True if the file has an unreadable configuration. Its effect is then unknown."""
    broken = [item.source.text for item in file.items if not is_readable(item)]
    return bool(broken) and any(_CONFIGURATION.is_in(text.encode("utf-8", "replace")) for text in broken)


def surroundings_of(paths: Iterable[str], files: Iterable[InputFile]) -> Surroundings:
    """Return the surroundings of `files`, which were read for `paths`. The files themselves are not among them."""
    search = _Search(paths, files)
    for path in search.paths:
        search.look_above(path)
    search.look_elsewhere()
    return Surroundings(tuple(search.around.values()), tuple(each for own in search.errors.values() for each in own))


class _Search:
    """A search from the folder of each file upwards. Each folder is searched once. Keys are real paths."""

    __slots__ = ("_configured", "_folders", "_looked", "_traits", "around", "errors", "paths")

    def __init__(self, paths: Iterable[str], files: Iterable[InputFile]) -> None:
        self._folders = [real(path) for path in paths if Path(path).is_dir()]
        read = [(file.path, traits_of(file)) for file in files if file.path.name is not None]
        self.paths = [path for path, _ in read]
        self._traits = {path.real_path: traits for path, traits in read}
        self._configured = {folder_of(at) for at, traits in self._traits.items() if traits.configures}
        self._looked = dict[str, str | None]()
        self.around = dict[str, InputFile]()
        self.errors = dict[str, tuple[FieldError, ...]]()

    def look_above(self, path: InputPath) -> None:
        """Read the package around the file at `path`, and keep the definitions in it."""
        start = folder_of(path.real_path)
        if start in self._looked:
            return
        folder = nearest_folder(path.real_path, self._holds_configuration, top_of(start))
        self._looked[start] = folder
        if folder is None:
            if path.is_named:
                self._keep(_yaml_files(start), _DEFINITION)
        elif not self._is_read_whole(folder):
            self._keep(_files_to_check(folder), _DEFINITION)

    def look_elsewhere(self) -> None:
        """Keep the repository's configurations if no configuration is above a workload.

        As in a check of the whole repository, a single configuration applies to all workloads. If
        there are several, none of them applies.
        """
        lost = [at for at, traits in self._traits.items() if traits.workloads and not self._configures(at)]
        for top in dict.fromkeys([top_of(folder) for folder in dict.fromkeys(map(folder_of, lost))]):
            if os.path.lexists(Path(top) / ".git") and not self._is_read_whole(top):
                self._keep(_files_to_check(top), _CONFIGURATION, only_configured=True)
        around = {folder_of(at) for at, file in self.around.items() if traits_of(file).configures}
        folders = self._configured | around
        if lost and len(folders) == 1:
            (only,) = folders
            self._keep([] if self._is_read_whole(only) else _files_to_check(only), _DEFINITION)

    def _configures(self, at: str) -> bool:
        """Return True if there is a configuration above the file."""
        return self._looked.get(folder_of(at)) is not None

    def _is_read_whole(self, folder: str) -> bool:
        return any(contains(named, folder) for named in self._folders)

    def _holds_configuration(self, folder: str) -> bool:
        if folder not in self._configured and not self._is_read_whole(folder):
            self._keep(_yaml_files(folder), _CONFIGURATION, only_configured=True)
            if any(folder_of(at) == folder and traits_of(file).configures for at, file in self.around.items()):
                self._configured.add(folder)
        return folder in self._configured

    def _keep(self, paths: Iterable[InputPath], wanted: _Wanted, *, only_configured: bool = False) -> None:
        for path in paths:
            at = path.real_path
            if at in self._traits or at in self.around:
                continue
            try:
                data = content_of(path)
                file = decode(data, path, _defines_nothing) if wanted.is_in(data) else None
            except FieldError as error:
                # The content of the file is unknown, so report the error.
                self._report(path, [error])
                continue
            if file is None:
                continue
            file, errors = definitions_of(file, wanted)
            self._report(path, errors)
            if file.documents and (not only_configured or traits_of(file).configures):
                self.around[at] = file

    def _report(self, path: InputPath, errors: Iterable[FieldError]) -> None:
        """Keep the errors of a file once, because several searches may read it."""
        self.errors.setdefault(path.real_path, tuple(errors))


def _defines_nothing(text: str, tree: Tree) -> bool:
    """Return True if no rule reads the document, or if its kinds alone show that it defines nothing for
    other objects.
    """
    heads = heads_of(tree)
    return bool(heads) and (_MAY_DEFINE.isdisjoint(heads) or is_unread(text, tree))


def _files_to_check(folder: str) -> list[InputPath]:
    """Return the files in a folder that are not skipped."""
    try:
        inside, _ = find_files(_relative(folder))
    except UsageError:
        return []
    return [path for path in inside if path.skip_reason is None]


def _yaml_files(folder: str) -> list[InputPath]:
    """Return the YAML files directly in a folder."""
    try:
        with os.scandir(folder) as scanned:
            names = sorted(entry.name for entry in scanned if _is_listed(entry))
    except OSError:
        return []
    shown, at = Path(_relative(folder)), Path(folder)
    return [InputPath((shown / name).as_posix(), name, is_named=False, at=str(at / name)) for name in names]


def _is_listed(entry: os.DirEntry[str]) -> bool:
    name = entry.name
    return name.endswith(SUFFIXES) and not name.startswith(".") and not entry.is_symlink() and entry.is_file()


def _relative(folder: str) -> str:
    """Return `folder` as the user would name it from the current folder."""
    here = real(".")
    if contains(here, folder):
        return Path(folder).relative_to(here).as_posix()
    for steps, above in enumerate(Path(here).parents, 1):
        if contains(str(above), folder):
            return Path(*[".."] * steps, Path(folder).relative_to(above)).as_posix()
    return folder


def definitions_of(file: InputFile, wanted: _Wanted = _DEFINITION) -> tuple[InputFile, list[FieldError]]:
    """Return the part of a file that configures the package around it, and the errors of unreadable objects.

    Only errors of objects that seem to be `wanted` are returned.
    """
    return keep_definitions(file), _errors_of(file, wanted)


def keep_definitions(file: InputFile) -> InputFile:
    """Return the file with only the documents that define names for workloads.

    Return it unchanged if its configuration is unreadable.
    """
    if is_broken_configuration(file):
        return file
    return file.replace(documents=tuple(document for document in file.documents if _defines(document)))


def _defines(document: Document) -> bool:
    if document.foreign is not None:
        return is_readable(document.foreign) and "workflow" not in document.foreign.value
    return any(_is_defining(item) for item in document.items if is_readable(item))


def _is_defining(item: KubeObject) -> bool:
    kind = group_and_kind(item.value)
    return kind in _DEFINING or is_settings(item) or is_operator(item) or is_definition(item)


def _errors_of(file: InputFile, wanted: _Wanted) -> list[FieldError]:
    """Return the errors of unreadable objects with a text that seems to be wanted."""
    errors: list[FieldError] = []
    for item in file.items:
        try:
            _ = item.value
        except FieldError as error:
            if wanted.is_in(item.source.text.encode("utf-8", "replace")):
                errors.append(error)
    return errors
