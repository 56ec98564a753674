"""Kustomizations: all files that a build reads, and the problems that prevent a build in a fleet.

A fleet fetches no file and runs no function. It uses only kustomize's own transformers, on a copy of exactly these
files. In the copy, packwise rewrites kustomizations and configurations of plugins from the fields that it knows.
kustomize can then read each path in them only as a path. Source: kustomize v5.8.2, types.Kustomization, loader,
internal/git; spec/clients.md#2a.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter

from krmfn.fieldpath import FieldPath, describe, format_path
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.yamltext import YamlError
from krmfn.yamltext.places import nearest_position
from packwise.build.kustomization_fields import (
    BUILTIN,
    HELM_CHART,
    HELM_GLOBALS,
    HELM_PLUGIN,
    KUSTOMIZATION,
    OF_PLUGINS,
    PLUGINS,
    FieldsShape,
    LeafShape,
    ListShape,
    NamedShape,
    Shape,
    suggest_name,
)
from packwise.build.problems import ClientProblem, is_settings_value
from packwise.build.tree import documents_in, kustomization_at, text_at
from packwise.discovery import KUSTOMIZATIONS
from packwise.lenient import entries, strings, value_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.build.tree import FileTree

_MAX_BASES = 100
"""The largest number of kustomizations in a chain, and of folders below an entry of plugins."""

_MAX_REPEATED = 4000
"""The largest number of files that a build may read again, because kustomize builds a base for each reference to it."""

_MAX_NAMED = 12
"""The largest number of folders of a chain that a message lists."""

_LONGEST_KEY = 1000
"""The largest number of characters in a plain key that kustomize's reader accepts."""

_REMOTE = re.compile(r"://|^[^/]*[@:]|^(www\.)?github\.com(/|$)", re.IGNORECASE)
"""Entries that kustomize downloads, or may download even if a file has that name."""

_ESCAPED = re.compile(r"[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""Characters that a YAML reader refuses or folds unless they are escaped."""

_HELM = "needs Helm, which does not run here"

FETCHES = "packwise fetches nothing"
"""Part of each problem about files outside the repository."""

_CHART_HOME = "charts"


class BuildInputs(Record):
    """The sorted paths of the files that a build reads, and the problems that prevent it in a fleet.

    `reads` is the number of reads. A file counts as often as kustomize reads it.
    """

    files: tuple[str, ...] = ()
    problems: tuple[ClientProblem, ...] = ()
    reads: int = 0


class PluginEntry(Record):
    """An entry of a list of plugins. `field` is the list, and `position` is the entry's place in it.

    `files` has each path with objects that configure plugins, and these objects. The path "" is the kustomization
    itself. `folders` has the rewritten kustomizations that lead to the files.
    """

    field: str
    position: int
    files: tuple[tuple[str, tuple[KubeObject, ...]], ...]
    inputs: BuildInputs
    folders: tuple[tuple[str, Value], ...] = ()

    @property
    def objects(self) -> tuple[KubeObject, ...]:
        """Return the objects of all files, in order."""
        return tuple(item for _, objects in self.files for item in objects)

    @property
    def is_packwise(self) -> bool:
        """Return True if the entry runs only packwise."""
        return bool(self.objects) and all(is_settings_value(item.value) for item in self.objects)


class BuildCopy(Record):
    """The files that kustomize reads instead of the tree, by path, and the problems that prevent the build in a fleet.

    `kustomization` is the outermost one, from `file`, without packwise. `kustomizations` are all rewritten documents.
    `data` are the paths of files that become the data of ConfigMaps and Secrets unchanged.
    """

    contents: Mapping[str, bytes]
    file: str
    kustomization: Value
    data: frozenset[str]
    problems: tuple[ClientProblem, ...]
    kustomizations: tuple[Value, ...] = ()


def file_of(tree: FileTree, folder: str) -> str | None:
    """Return the path of the kustomization in a folder, or None."""
    return next((path for name in KUSTOMIZATIONS if tree.is_file(path := posixpath.join(folder, name))), None)


def copy_of(tree: FileTree, folder: str, *, helm: bool = False) -> BuildCopy:
    """Return the copy from which kustomize builds the kustomization in `folder`. With `helm`, it includes charts."""
    walked = Kustomizations(tree, keeps=True, helm=helm)
    inputs = walked.inputs(folder)
    file = file_of(tree, folder) or folder
    both = sorted(walked.rewritten.keys() & walked.data)
    message = "a generator uses this file as data, but kustomize also reads it as objects; use a copy for the generator"
    repeated = walked.repetition_problem(folder)
    problems = [*inputs.problems, *[ClientProblem(path, message) for path in both], *([repeated] if repeated else [])]
    contents = {path: tree.read(path) for path in inputs.files}
    contents |= {path: "\n---\n".join(map(as_json, values)).encode() for path, values in walked.rewritten.items()}
    kustomization = walked.rewritten[file][0] if file in walked.rewritten else None
    return BuildCopy(
        contents,
        file,
        kustomization,
        frozenset(walked.data),
        tuple(problems),
        tuple(value for values in walked.rewritten.values() for value in values),
    )


def as_json(value: object) -> str:
    """Return the value as JSON on one line with the same meaning in YAML 1.1 and 1.2."""
    text = json.dumps(value, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def folders_named_by(tree: FileTree, folder: str) -> set[str]:
    """Return the folders from which the kustomization of `folder` reads bases or plugins.

    If the kustomization is a component, also return `folder` itself.
    """
    file = file_of(tree, folder) or folder
    try:
        value = kustomization_at(tree, file)
    except YamlError:
        return set()
    walk = _KustomizationWalk(tree, file)
    walk.copy(value)
    plugins = {posixpath.dirname(path) for entry in plugin_entries(tree, folder, value) for path, _ in entry.folders}
    return {*walk.bases, *plugins, *([folder] if value.get("kind") == "Component" else [])}


def plugin_entries(tree: FileTree, folder: str, value: Mapping[str, Value]) -> list[PluginEntry]:
    """Return the entries of plugins in the kustomization of `folder`, in its order."""
    return [
        _plugin_entry(tree, folder, field, position, entry)
        for field in PLUGINS
        for position, entry in enumerate(strings(value.get(field)))
    ]


def _plugin_entry(tree: FileTree, folder: str, field: str, position: int, entry: str) -> PluginEntry:
    name = file_of(tree, folder) or folder
    if "\n" in entry:
        objects, problems = _objects(entry, name)
        return PluginEntry(field, position, (("", objects),), BuildInputs((), problems))
    target, problem = _target(tree, name, entry)
    if problem is not None:
        return PluginEntry(field, position, (), BuildInputs((), (problem,)))
    walk = _PluginFiles(tree)
    walk.add(name, entry, target)
    inputs = BuildInputs(tuple(dict.fromkeys(walk.read)), tuple(walk.problems), len(walk.read))
    return PluginEntry(field, position, tuple(walk.files), inputs, tuple(walk.folders.items()))


def _objects(text: str, path: str) -> tuple[tuple[KubeObject, ...], tuple[ClientProblem, ...]]:
    """Return the objects of a text, and a problem for each document that is not an object."""
    objects: list[KubeObject] = []
    problems: list[ClientProblem] = []
    for each in documents_in(text, path):
        if isinstance(each, YamlError):
            problems.append(_unreadable_problem(path, each))
        else:
            objects.append(each)
    return tuple(objects), tuple(problems)


class _PluginFiles:
    """The files of an entry in a list of plugins.

    kustomize also builds a folder in such a list, and the output configures plugins. The folder's kustomization may
    only list files and folders, because the effect of other fields is known only after kustomize has read the files.
    """

    __slots__ = ("_tree", "_visited", "files", "folders", "problems", "read")

    def __init__(self, tree: FileTree) -> None:
        self._tree = tree
        self._visited = 0
        self.read: list[str] = []
        self.files: list[tuple[str, tuple[KubeObject, ...]]] = []
        self.folders: dict[str, Value] = {}
        self.problems: list[ClientProblem] = []

    def add(self, name: str, entry: str, target: str) -> None:
        """Add the file or folder at `target`. The kustomization `name` refers to it as `entry`."""
        if self._tree.is_file(target):
            objects, problems = _objects(text_at(self._tree, target), target)
            self.read.append(target)
            self.files.append((target, objects))
            self.problems += problems
            return
        self._visited += 1
        inner = file_of(self._tree, target)
        if inner is None:
            self.problems.append(ClientProblem(name, f'the folder "{entry}" has no kustomization'))
        elif self._visited > _MAX_BASES + 1:
            pass
        elif self._visited > _MAX_BASES:
            message = f'the configuration of plugins in "{entry}" needs more than {_MAX_BASES} folders'
            self.problems.append(ClientProblem(name, message))
        else:
            self._add_folder(inner)

    def _add_folder(self, file: str) -> None:
        self.read.append(file)
        self.problems += _ambiguous_problem(self._tree, file)
        try:
            value = kustomization_at(self._tree, file)
        except YamlError as error:
            self.problems.append(_unreadable_problem(file, error))
            return
        walk = _KustomizationWalk(self._tree, file)
        known = {"apiVersion", "kind", "metadata", "resources"}
        self.folders[file] = walk.copy({key: each for key, each in value.items() if key in known})
        self.problems += walk.problems
        for key in value:
            if key not in known:
                message = (
                    f"a kustomization of plugins must not have {key}: packwise reads only the files in its "
                    f"resources{suggest_name(key, known)}"
                )
                self.problems.append(_locate_problem(ClientProblem(file, message), text_at(self._tree, file), (key,)))
        for entry in strings(value.get("resources")):
            target, problem = _target(self._tree, file, entry)
            if problem is None:
                self.add(file, entry, target)


class Kustomizations:
    """The kustomizations of a tree. A base is read once even if many kustomizations build on it.

    `data` are the paths of files that become the data of ConfigMaps and Secrets unchanged. With `keeps`, `rewritten`
    has the rewritten documents of kustomizations and plugin configurations. With `helm`, charts in the repository are
    built too.
    """

    __slots__ = ("_bases", "_heaviest", "_helm", "_keeps", "_plugged", "_tree", "data", "rewritten")

    def __init__(self, tree: FileTree, *, keeps: bool = False, helm: bool = False) -> None:
        self._tree = tree
        self._helm = helm
        self._keeps = keeps
        self.data = set[str]()
        self.rewritten: dict[str, list[Value]] = {}
        self._bases: dict[str, BuildInputs] = {}
        self._heaviest: dict[str, str] = {}
        self._plugged: dict[str, str | None] = {}

    def inputs(self, folder: str) -> BuildInputs:
        """Return the files that a build of the kustomization in `folder` reads, and its problems."""
        return self._inputs(folder, ())

    def repetition_problem(self, folder: str) -> ClientProblem | None:
        """Return the problem if a build in `folder` reads too many files repeatedly, otherwise None."""
        inputs = self.inputs(folder)
        if inputs.reads - len(inputs.files) <= _MAX_REPEATED:
            return None
        message = (
            f"{self._chain(folder)} has {len(inputs.files)} files, but kustomize reads {_number(inputs.reads)}, "
            f"because it builds a base again for each entry that names the base. At most {_MAX_REPEATED} files may "
            "be read again; name each base once"
        )
        return ClientProblem(file_of(self._tree, folder) or folder, message)

    def _chain(self, folder: str) -> str:
        """Return a chain of folders as text. Each step leads to the base with the most reads."""
        chain = [folder]
        while chain[-1] in self._heaviest and len(chain) <= _MAX_BASES:
            chain.append(self._heaviest[chain[-1]])
        named = [each or "." for each in chain]
        if len(named) > _MAX_NAMED:
            named = [*named[: _MAX_NAMED - 1], "…", named[-1]]
        return " → ".join(named)

    def _inputs(self, folder: str, outer: tuple[str, ...]) -> BuildInputs:
        known = self._bases.get(folder)
        if known is not None:
            return known
        file = file_of(self._tree, folder)
        if file is None:
            return BuildInputs((), (ClientProblem(folder or ".", "the folder has no kustomization"),))
        if folder in outer:
            chain = " → ".join([each or "." for each in (*outer[outer.index(folder) :], folder)])
            return BuildInputs((), (ClientProblem(file, f"the kustomization builds on itself: {chain}"),))
        if len(outer) >= _MAX_BASES:
            message = (
                f"at most {_MAX_BASES} kustomizations may build on each other; there are more from {outer[0] or '.'} on"
            )
            return BuildInputs((), (ClientProblem(file, message),))
        try:
            value = kustomization_at(self._tree, file)
        except YamlError as error:
            return BuildInputs((file,), (_unreadable_problem(file, error),))
        walk = _KustomizationWalk(self._tree, file, helm=self._helm)
        walk.problems += _ambiguous_problem(self._tree, file)
        copied = walk.copy(value)
        self.data |= walk.data
        if self._keeps:
            self.rewritten |= {**walk.rewritten, file: [copied]}
        reads, most = walk.reads, 0
        for base, times in Counter(walk.bases).items():
            inner = self._inputs(base, (*outer, folder))
            walk.add(inner)
            reads += times * inner.reads
            if times * inner.reads > most:
                most, self._heaviest[folder] = times * inner.reads, base
            plugged = self._running_packwise(base)
            if plugged is not None:
                message = (
                    f"packwise belongs in the outermost kustomization: {file} builds on this one, and changes objects "
                    "after packwise"
                )
                walk.problems.append(ClientProblem(plugged, message))
        inputs = BuildInputs(tuple(sorted(walk.files)), tuple(dict.fromkeys(walk.problems)), reads)
        if outer:
            # In a cycle, the inputs depend on the member that is visited first. Every kustomization that builds on a
            # cycle has that problem anyway.
            self._bases[folder] = inputs
        return inputs

    def _running_packwise(self, base: str) -> str | None:
        """Return the kustomization in the folder `base` if it runs packwise itself, or None."""
        if base not in self._plugged:
            file = file_of(self._tree, base)
            self._plugged[base] = file if file is not None and self._runs_packwise(base, file) else None
        return self._plugged[base]

    def _runs_packwise(self, folder: str, file: str) -> bool:
        try:
            entries = plugin_entries(self._tree, folder, kustomization_at(self._tree, file))
        except YamlError:
            return False
        return any(entry.is_packwise for entry in entries)


class _KustomizationWalk:
    """The files and bases of one kustomization, found while it is copied field by field.

    `reads` is the number of files that kustomize reads for it without its bases. `bases` repeat as in the
    kustomization.
    """

    __slots__ = (
        "_chart_home", "_file", "_folder", "_helm", "_place", "_tree", "bases", "data", "files", "problems", "reads",
        "rewritten",
    )  # fmt: skip

    def __init__(self, tree: FileTree, file: str, *, helm: bool = False) -> None:
        self._tree = tree
        self._helm = helm
        self._chart_home = _CHART_HOME
        self._file = file
        self._folder = posixpath.dirname(file)
        # The file and the object with the checked fields, unless these are in the kustomization itself.
        self._place: tuple[str, KubeObject | None] | None = None
        self.bases: list[str] = []
        self.files = {file}
        self.data = set[str]()
        self.rewritten: dict[str, list[Value]] = {}
        self.problems: list[ClientProblem] = []
        self.reads = 1

    def add(self, inputs: BuildInputs) -> None:
        """Add the files and problems of a base, or of an entry of plugins."""
        self.files.update(inputs.files)
        self.problems += inputs.problems

    def copy(self, value: Mapping[str, Value]) -> Value:
        """Return the rewritten kustomization: its known fields, without packwise."""
        helm = value.get("helmGlobals")
        home = value_at(helm, "chartHome")
        self._chart_home = home if isinstance(home, str) and home else _CHART_HOME
        return self._copy_value(KUSTOMIZATION, value, ())

    def _copy_value(self, shape: Shape, value: Value, path: FieldPath) -> Value:
        if isinstance(shape, ListShape):
            return self._list(shape, value, path)
        if isinstance(shape, (NamedShape, FieldsShape)):
            return self._mapping(shape, value, path)
        return self._leaf(shape, value, path)

    def _list(self, shape: ListShape, value: Value, path: FieldPath) -> Value:
        if not isinstance(value, list):
            self._refuse(path, f"must be a list; got {describe(value)}")
            return []
        copied: list[Value] = []
        words = 0
        for position, entry in enumerate(value):
            at = (*path, position)
            if shape.of is not LeafShape.PLUGIN:
                copied.append(self._copy_value(shape.of, entry, at))
            elif isinstance(entry, str):
                copied += self._plugin(str(path[-1]), words, entry)
                words += 1
            else:
                self._refuse(at, f"must be text; got {describe(entry)}")
        return copied

    def _mapping(self, shape: NamedShape | FieldsShape, value: Value, path: FieldPath) -> Value:
        if not isinstance(value, dict):
            self._refuse(path, f"must be a mapping; got {describe(value)}")
            return {}
        copied: dict[str, Value] = {}
        for key, each in value.items():
            of = shape.by_name.get(key) if isinstance(shape, FieldsShape) else shape.of
            at = (*path, key)
            if of is None:
                known = shape.by_name if isinstance(shape, FieldsShape) else ()
                message = f"must be a field of kustomize, with the same capitals{suggest_name(key, known)}"
                self._refuse(at, message, key=True)
            elif len(as_json(key)) > _LONGEST_KEY:
                self._refuse(path, f"must have keys of at most {_LONGEST_KEY} characters; got {describe(key)}")
            elif each is not None:
                copied[key] = self._copy_value(of, each, at)
            elif isinstance(shape, NamedShape):
                copied[key] = None
        return copied

    def _leaf(self, shape: LeafShape, value: Value, path: FieldPath) -> Value:
        if shape is LeafShape.HELM:
            if value and self._helm and path[0] in ("helmGlobals", "helmCharts"):
                return self._helm_field(value, path)
            if value:
                self._problem(f"{format_path(path)} {_HELM}")
            return None
        if shape is LeafShape.FLAG:
            if not isinstance(value, bool):
                self._refuse(path, f"must be true or false; got {describe(value)}")
            return value
        if shape is LeafShape.NUMBER:
            if not isinstance(value, int) or isinstance(value, bool):
                self._refuse(path, f"must be a whole number; got {describe(value)}")
            return value
        if not isinstance(value, str):
            self._refuse(path, f"must be text; got {describe(value)}")
            return ""
        return value if shape is LeafShape.TEXT else self._copy_entry(shape, value, path)

    def _copy_entry(self, shape: LeafShape, entry: str, path: FieldPath) -> str:
        """Return the rewritten entry and add its target to the files or bases."""
        if shape is LeafShape.MERGE and "\n" in entry:
            self._refuse_no_objects(entry, path)
            return entry
        if not entry and isinstance(path[-1], str):
            # The field is empty and counts as absent.
            return entry
        key, separator, name = entry.rpartition("=") if shape is LeafShape.DATA else ("", "", entry)
        if "=" in key:
            self._refuse(path, f'must have one "=" at most, after the key; got {describe(entry)}')
            return entry
        target, problem = _target(self._tree, self._file, name)
        is_file = self._tree.is_file(target)
        if problem is not None:
            self.problems.append(problem)
            return entry
        if not is_file and shape in (LeafShape.BASE, LeafShape.FOLDER):
            self.bases.append(target)
        elif is_file and shape is LeafShape.FOLDER:
            self._problem(f'"{name}" must be a folder with a kustomization, but it is a file')
        elif is_file:
            self._read(target)
            if shape is LeafShape.DATA:
                self.data.add(target)
        else:
            self._problem(f'"{name}" must be a file, but it is a folder')
        return f"{key}{separator}{_spelt(self._folder, target)}"

    def _helm_field(self, value: Value, path: FieldPath) -> Value:
        """Return the rewritten charts for kustomize and add their files to its reads."""
        if path[0] == "helmGlobals":
            return self._copy_value(HELM_GLOBALS, value, path)
        copied: list[Value] = []
        for position, entry in enumerate(entries(value)):
            at = (*path, position)
            if not isinstance(entry, dict):
                self._refuse(at, f"must be a mapping; got {describe(entry)}")
                continue
            fields = {key: each for key, each in entry.items() if key != "valuesInline"}
            chart = self._mapping(HELM_CHART, fields, at)
            if isinstance(chart, dict):
                self._add_chart(chart, at)
                inline = entry.get("valuesInline")
                copied.append({**chart, **({} if inline is None else {"valuesInline": inline})})
        return copied

    def _add_chart(self, chart: Mapping[str, Value], path: FieldPath) -> None:
        name, version, release = (chart.get(field) for field in ("name", "version", "releaseName"))
        # The name becomes an argument of Helm, where it could be read as an option.
        if isinstance(release, str) and release.startswith("-"):
            self._refuse((*path, "releaseName"), f"must be a name; got {describe(release)}")
        homes = [f"{self._chart_home}/{name}"]
        if version and chart.get("repo"):
            homes.insert(0, f"{self._chart_home}/{name}-{version}/{name}")
        folders = [posixpath.normpath(f"{self._folder}/{home}" if self._folder else home) for home in homes]
        folder = next((each for each in folders if self._tree.is_file(f"{each}/Chart.yaml")), None)
        if folder is None or folder.startswith("../"):
            self._problem(f"{format_path(path)}: chart {name} is not in {homes[-1]}, and {FETCHES}")
            return
        for file in self._tree.files_below(folder):
            self._read(file)

    def _read(self, target: str) -> None:
        self.files.add(target)
        self.reads += 1

    def _refuse_no_objects(self, text: str, path: FieldPath) -> None:
        """Add a problem for an inline patch without objects, which kustomize would read as the name of a file."""
        objects, problems = _objects(text, self._file)
        if problems or not objects:
            reason = problems[0].message if problems else "the text has no object"
            self._refuse(path, f"must be a file, or a patch over several lines; {reason}")

    def _plugin(self, field: str, position: int, text: str) -> list[Value]:
        """Return the rewritten entries for one entry of plugins, or none for packwise's own."""
        entry = _plugin_entry(self._tree, self._folder, field, position, text)
        self.add(entry.inputs)
        if entry.is_packwise:
            return []
        self.reads += entry.inputs.reads
        if "\n" in text:
            # Write each object as a separate entry. kustomize reads an entry as a path if it cannot read objects in it.
            return [as_json(self._configuration(item, "", field)) for item in entry.objects]
        for file, objects in entry.files:
            self.rewritten[file] = [self._configuration(item, file, field) for item in objects]
        self.rewritten |= {file: [value] for file, value in entry.folders}
        return [_spelt(self._folder, _target(self._tree, self._file, text)[0])]

    def _configuration(self, item: KubeObject, file: str, field: str) -> Value:
        """Return the rewritten configuration of one of kustomize's own plugins. Add a problem for any other plugin.

        `file` has the configuration. It is "" if the configuration is in the kustomization itself.
        """
        value = item.value
        kind, version = value.get("kind"), value.get("apiVersion")
        if is_settings_value(value):
            self._problem(f"packwise must be a separate entry of {field}, because `packwise fleet` removes that entry")
        elif version != BUILTIN:
            self._problem(
                f"{field} names {kind} of {version}, but `packwise fleet` runs only packwise and kustomize's own "
                "plugins. Build this package with kustomize itself"
            )
        elif kind == HELM_PLUGIN:
            self._problem(f"{field}: {HELM_PLUGIN} {_HELM}")
        elif not isinstance(kind, str) or kind not in OF_PLUGINS:
            self._problem(f"kustomize does not have the plugin {kind} of {field}{suggest_name(str(kind), OF_PLUGINS)}")
        else:
            return self._own_configuration(item, file, kind)
        return {}

    def _own_configuration(self, item: KubeObject, file: str, kind: str) -> Value:
        self._place = (file, item) if file else (self._file, None)
        copied = self._copy_value(OF_PLUGINS[kind], item.value, ())
        metadata = value_at(copied, "metadata")
        if not (isinstance(metadata, dict) and metadata.get("name")):
            self._refuse(("metadata", "name"), f"must be set: the {kind} needs a name")
        if kind == "ValueAddTransformer" and isinstance(copied, dict) and not copied.get("value"):
            self._refuse(("value",), "must be set: without it, kustomize adds the name of a temporary folder")
        self._place = None
        return copied

    def _problem(self, message: str) -> None:
        self.problems.append(ClientProblem(self._file, message))

    def _refuse(self, path: FieldPath, message: str, *, key: bool = False) -> None:
        """Add the problem of a field, at its place."""
        named = f"{format_path(path)} {message}" if path else message
        if self._place is None:
            problem = ClientProblem(self._file, named)
            self.problems.append(_locate_problem(problem, text_at(self._tree, self._file), path, key=key))
            return
        file, item = self._place
        # Lines of a text within the kustomization are counted from the start of the text, so they are not reported.
        place = None if item is None else item.location(path)
        problem = ClientProblem(file, named) if place is None else ClientProblem(file, named, place.line, place.column)
        self.problems.append(problem)


def _locate_problem(problem: ClientProblem, text: str, path: FieldPath, *, key: bool = True) -> ClientProblem:
    """Return the problem with the place of a field in the text of its file, or unchanged if the text is unreadable."""
    try:
        line, column = nearest_position(text, path, key=key)
    except YamlError:
        return problem
    return problem.replace(line=line, column=column)


def _ambiguous_problem(tree: FileTree, file: str) -> list[ClientProblem]:
    """Return a problem for each other kustomization in the folder of the kustomization `file`."""
    folder = posixpath.dirname(file)
    paths = [posixpath.join(folder, name) for name in KUSTOMIZATIONS]
    others = [path for path in paths if path != file and tree.is_file(path)]
    return [ClientProblem(file, f"must be the only kustomization of its folder; {path} exists too") for path in others]


def _target(tree: FileTree, file: str, entry: str) -> tuple[str, ClientProblem | None]:
    """Return the path to which `entry` of the kustomization `file` leads and None, or "" and the problem with it."""
    if _REMOTE.search(entry):
        return "", ClientProblem(
            file, f'"{entry}" is outside the repository, and {FETCHES}; copy it into the repository'
        )
    if not entry.isprintable():
        return "", ClientProblem(file, f"the path has control characters: {entry!r}")
    if "\\" in entry:
        return "", ClientProblem(file, f'"{entry}" contains a backslash; write "/" between folders')
    folder = file.rpartition("/")[0]
    target = posixpath.normpath(f"{folder}/{entry}" if folder else entry)
    if entry.startswith("/") or target == ".." or target.startswith("../"):
        return "", ClientProblem(file, f'"{entry}" leads out of the repository')
    target = "" if target == "." else target
    if not tree.is_file(target) and not tree.is_folder(target):
        return "", ClientProblem(file, f'"{entry}" is not an existing file or folder, or is a link')
    return target, None


def _spelt(folder: str, target: str) -> str:
    """Return the path from `folder` to `target`, with "./" or "../" first.

    kustomize then reads it neither as an address nor as a YAML mapping.
    """
    path = posixpath.relpath(f"/{target}", f"/{folder}")
    return path if path == ".." or path.startswith("../") else f"./{path}"


def _number(reads: int) -> str:
    return f"{reads:,}" if reads < 10**9 else "more than a billion"


def _unreadable_problem(file: str, error: YamlError) -> ClientProblem:
    return ClientProblem(file, f"is not readable YAML: {error.message}", error.line, error.column)
