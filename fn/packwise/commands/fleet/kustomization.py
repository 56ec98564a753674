"""What a kustomization reaches: every file that a build of it reads, and what keeps a fleet from building it.

Nothing is fetched and no function runs: a fleet builds with kustomize's own transformers alone, from a copy of exactly
these files. Source: kustomize v5.8.2, types.Kustomization, loader, internal/git; clients.md 2a.
"""

from __future__ import annotations

import posixpath
import re

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.yamltext import YamlError
from packwise.commands.doctor.client import Problem, is_settings_value, words_of
from packwise.commands.fleet.documents import mapping_at, objects_at, objects_in
from packwise.discovery import KUSTOMIZATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.commands.fleet.tree import Tree

__all__ = ["PLUGINS", "Inputs", "Kustomizations", "PluginEntry", "file_of", "plugin_entries"]

PLUGINS = ("transformers", "validators", "generators")
"""Lists of a kustomization whose entries configure plugins and functions."""

_MOST_BASES = 100
"""How many kustomizations may build on each other."""

_REMOTE = re.compile(r"://|^[^/]*[@:]|^(www\.)?github\.com(/|$)", re.IGNORECASE)
"""Entries that kustomize fetches, or may take for such where a file of that name is there."""

_FOLDERS = ("resources", "bases", "components")
_FILES = ("crds", "configurations")
_WITH_PATH = ("patches", "patchesJson6902", "replacements")
_MAKERS = ("configMapGenerator", "secretGenerator")
_HELM = ("helmCharts", "helmChartInflationGenerator")


class Inputs(NamedTuple):
    """The sorted paths of the files that a build reads, and what keeps a fleet from it."""

    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class PluginEntry(NamedTuple):
    """An entry of a list of plugins: its list and its place there, and the objects that it configures plugins by."""

    field: str
    position: int
    objects: tuple[KubeObject, ...]
    inputs: Inputs

    @property
    def is_packwise(self) -> bool:
        """Whether packwise is all that the entry runs."""
        return bool(self.objects) and all(is_settings_value(item.value) for item in self.objects)


def file_of(tree: Tree, folder: str) -> str | None:
    """The kustomization in a folder; None where there is none."""
    return next((path for name in KUSTOMIZATIONS if tree.is_file(path := posixpath.join(folder, name))), None)


def plugin_entries(tree: Tree, folder: str, value: Mapping[str, Value]) -> list[PluginEntry]:
    """The plugins that the kustomization of `folder` runs itself, in its order."""
    return [
        _plugin_entry(tree, folder, field, position, entry)
        for field in PLUGINS
        for position, entry in enumerate(words_of(value.get(field)))
    ]


def _plugin_entry(tree: Tree, folder: str, field: str, position: int, entry: str) -> PluginEntry:
    name = file_of(tree, folder) or folder
    if "\n" in entry:
        return PluginEntry(field, position, tuple(objects_in(entry, name)), Inputs())
    target, problem = _target(tree, name, entry)
    if problem is not None:
        return PluginEntry(field, position, (), Inputs((), (problem,)))
    if tree.is_file(target):
        return PluginEntry(field, position, tuple(objects_at(tree, target)), Inputs((target,)))
    inner = file_of(tree, target)
    if inner is None:
        absent = Problem(name, f'"{entry}" must hold a kustomization')
        return PluginEntry(field, position, (), Inputs((), (absent,)))
    try:
        listed = words_of(mapping_at(tree, inner).get("resources"))
    except YamlError as error:
        return PluginEntry(field, position, (), Inputs((inner,), (_unreadable(inner, error),)))
    files = [path for each in listed if (path := _target(tree, inner, each)[0]) and tree.is_file(path)]
    objects = [item for file in files for item in objects_at(tree, file)]
    return PluginEntry(field, position, tuple(objects), Inputs((inner, *files)))


class Kustomizations:
    """The kustomizations of a tree; what others build on is looked at once, however many do.

    `data` are the files among these that become the data of ConfigMaps and Secrets, byte for byte.
    """

    __slots__ = ("_bases", "_plugged", "_tree", "data")

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.data = set[str]()
        self._bases: dict[str, Inputs] = {}
        self._plugged: dict[str, str | None] = {}

    def inputs(self, folder: str) -> Inputs:
        """What a build of the kustomization in `folder` reads."""
        return self._inputs(folder, ())

    def _inputs(self, folder: str, outer: tuple[str, ...]) -> Inputs:
        known = self._bases.get(folder)
        if known is not None:
            return known
        file = file_of(self._tree, folder)
        if file is None:
            return Inputs((), (Problem(folder or ".", "must hold a kustomization"),))
        if folder in outer:
            chain = " → ".join([each or "." for each in (*outer[outer.index(folder) :], folder)])
            return Inputs((), (Problem(file, f"must not build on itself: {chain}"),))
        if len(outer) >= _MOST_BASES:
            message = f"at most {_MOST_BASES} kustomizations may build on each other; more do from {outer[0] or '.'} on"
            return Inputs((), (Problem(file, message),))
        try:
            value = mapping_at(self._tree, file)
        except YamlError as error:
            return Inputs((file,), (_unreadable(file, error),))
        walk = _Walk(self._tree, file)
        walk.look_at(value)
        self.data |= walk.data
        for base in dict.fromkeys(walk.bases):
            walk.add(self._inputs(base, (*outer, folder)))
            inner = self._running_packwise(base)
            if inner is not None:
                message = (
                    f"packwise belongs in the outermost kustomization: {file} builds on this one, and what it changes "
                    "comes after packwise"
                )
                walk.problems.append(Problem(inner, message))
        inputs = Inputs(tuple(sorted(walk.files)), tuple(dict.fromkeys(walk.problems)))
        if outer:
            # Within a cycle this depends on where it was entered; what builds on a cycle has that problem in any case.
            self._bases[folder] = inputs
        return inputs

    def _running_packwise(self, base: str) -> str | None:
        """The kustomization in the folder `base`, where it runs packwise itself."""
        if base not in self._plugged:
            file = file_of(self._tree, base)
            self._plugged[base] = file if file is not None and self._runs_packwise(base, file) else None
        return self._plugged[base]

    def _runs_packwise(self, folder: str, file: str) -> bool:
        try:
            entries = plugin_entries(self._tree, folder, mapping_at(self._tree, file))
        except YamlError:
            return False
        return any(entry.is_packwise for entry in entries)


class _Walk:
    """What one kustomization names."""

    __slots__ = ("_file", "_folder", "_tree", "bases", "data", "files", "problems")

    def __init__(self, tree: Tree, file: str) -> None:
        self._tree = tree
        self._file = file
        self._folder = posixpath.dirname(file)
        self.bases: list[str] = []
        self.files = {file}
        self.data = set[str]()
        self.problems: list[Problem] = []

    def add(self, inputs: Inputs) -> None:
        self.files.update(inputs.files)
        self.problems += inputs.problems

    def look_at(self, value: Mapping[str, Value]) -> None:
        for field in _HELM:
            if value.get(field):
                self.problems.append(Problem(self._file, f"{field} needs Helm, which a fleet does not run"))
        for field in _FOLDERS:
            self._names(words_of(value.get(field)), may_be_folder=True)
        for field in _FILES:
            self._names(words_of(value.get(field)))
        for field in _WITH_PATH:
            self._names(_texts(value.get(field), "path"))
        merged = words_of(value.get("patchesStrategicMerge"))
        self._names(entry for entry in merged if "\n" not in entry)
        self._names(_texts([value.get("openapi")], "path"))
        for field in _MAKERS:
            self._of_makers(value.get(field))
        for entry in plugin_entries(self._tree, self._folder, value):
            self._plugin(entry)

    def _plugin(self, entry: PluginEntry) -> None:
        self.add(entry.inputs)
        for item in entry.objects:
            if item.value.get("apiVersion") == "builtin":
                self._names(_texts([item.value], "path"))
                self._names(entry for entry in words_of(item.value.get("paths")) if "\n" not in entry)
                self._of_makers([item.value])
                self._names(_texts(item.value.get("replacements"), "path"))
            elif not is_settings_value(item.value):
                kind = f"{item.value.get('kind')} of {item.value.get('apiVersion')}"
                self.problems.append(
                    Problem(
                        self._file,
                        f"{entry.field} must name packwise and kustomize's own alone, since a fleet runs no program "
                        f"that a repository names; got {kind}: build this package with kustomize itself",
                    )
                )

    def _of_makers(self, makers: Value) -> None:
        for maker in makers if isinstance(makers, list) else ():
            if isinstance(maker, dict):
                files = [entry.rpartition("=")[2] for entry in words_of(maker.get("files"))]
                files += [*words_of(maker.get("envs")), *_texts([maker], "env")]
                self._names(files)
                self.data |= {_target(self._tree, self._file, entry)[0] for entry in files}

    def _names(self, entries: Iterable[str], *, may_be_folder: bool = False) -> None:
        for entry in entries:
            target, problem = _target(self._tree, self._file, entry)
            if problem is not None:
                self.problems.append(problem)
            elif self._tree.is_file(target):
                self.files.add(target)
            elif may_be_folder:
                self.bases.append(target)
            else:
                message = f'"{entry}" must be a file; there is a folder of this name'
                self.problems.append(Problem(self._file, message))


def _target(tree: Tree, file: str, entry: str) -> tuple[str, Problem | None]:
    """The path that the kustomization at `file` calls `entry`, or why it is none."""
    if _REMOTE.search(entry):
        return "", Problem(file, f'"{entry}" must stand in the repository: a fleet fetches nothing; copy it here')
    if not entry.isprintable():
        return "", Problem(file, f"a path must have no control characters; got {entry!r}")
    folder = file.rpartition("/")[0]
    target = posixpath.normpath(f"{folder}/{entry}" if folder else entry)
    if entry.startswith("/") or target == ".." or target.startswith("../"):
        return "", Problem(file, f'"{entry}" must stand in the repository; it leads out of it')
    target = "" if target == "." else target
    if not tree.is_file(target) and not tree.is_folder(target):
        return "", Problem(file, f'"{entry}" must be a file or folder that is there, and no link')
    return target, None


def _unreadable(file: str, error: YamlError) -> Problem:
    return Problem(file, f"must be readable; {error.message}", error.line, error.column)


def _texts(entries: Value, key: str) -> list[str]:
    """The texts that stand under `key` in the entries of a list."""
    listed = entries if isinstance(entries, list) else []
    texts = [entry.get(key) for entry in listed if isinstance(entry, dict)]
    return [text for text in texts if isinstance(text, str) and text]
